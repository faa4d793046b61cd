import type { Sha256 } from '../../core/chain.ts'
import { type Audit, attempt, type Finding, mostFindings, type Verifier } from '../../core/finding.ts'
import { pagesOf } from '../../core/pages.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import { type ByteAccount, readSubject, subjectOf, subjects } from './accounts/rules.ts'
import { AccountWalk, type LeaseSums } from './accounts/rules-audit.ts'
import * as store from './accounts/store.ts'
import { strayBudgets, unsoundCounts } from './counts/store.ts'
import * as leases from './leases/store.ts'

const page = 500

/**
 * Recomputes the promises about bytes: every account from its movements and its lots, every lease from its account.
 * Claims in quarantine are counted and told, and are no fault of the books.
 */
export function createTrafficVerifier(deps: { db: Database; sha256: Sha256 }): Verifier {
  return {
    name: 'traffic',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const books = await checkAccounts(reader, deps.sha256, onProgress)
        const lines = await checkLeases(reader, books.sums)
        return {
          findings: [...books.findings, ...lines.findings].slice(0, mostFindings),
          covered: {
            'traffic accounts': books.sums.size,
            'traffic movements': books.movements,
            'leased subjects': lines.subjects,
            'subjects with claims in quarantine': lines.quarantined,
          },
        }
      }),
  }
}

const found = (promise: string, where: string, problem: string): Finding => ({ promise, where, problem })

/** Every account from its first movement on; no movement outside of them; and what a move took out it put in. */
async function checkAccounts(reader: Reader, sha256: Sha256, onProgress?: (done: number) => void) {
  const findings: Finding[] = []
  const sums = new Map<string, LeaseSums>()
  let movements = 0
  const all = pagesOf((after: { subuser: string; pool: string }, limit) => store.accountsAfter(reader, after, limit), {
    start: { subuser: '', pool: '' },
    size: page,
    keyOf: (account) => account,
  })
  for await (const batch of all) {
    for (const account of batch) {
      movements += account.seq
      const where = `account of ${account.pool} traffic of ${account.subuser}`
      await attempt(findings, { promise: 'bytes', where }, async () => {
        const walk = await walkAccount(reader, account, sha256)
        sums.set(subjectOf(account), walk.finish(await store.sumLots(reader, account)))
        findings.push(...walk.findings)
      })
    }
    onProgress?.(movements)
  }
  const there = await store.countMovements(reader)
  if (there !== movements) {
    findings.push(found('bytes', 'movements', `${there} exist, the accounts count ${movements}`))
  }
  for (const { order, bytes } of await store.movedByOrder(reader, page)) {
    findings.push(found('bytes', `order ${order}`, `it moved ${bytes} bytes more in than out`))
  }
  for (const lot of await store.strayLots(reader, page)) {
    findings.push(
      found('lots', `${lot.pool} traffic of ${lot.subuser_id}`, 'lots belong to an account that is not there'),
    )
  }
  return { findings, sums, movements }
}

async function walkAccount(reader: Reader, account: ByteAccount, sha256: Sha256): Promise<AccountWalk> {
  const walk = new AccountWalk(account, sha256)
  const all = pagesOf((after: number, limit) => store.movementsAfter(reader, account, after, limit), {
    start: 0,
    size: page,
    keyOf: (movement) => movement.seq,
  })
  for await (const movements of all) for (const movement of movements) walk.step(movement)
  return walk
}

/** What nodes' lines say was set aside, given back and settled is what the accounts moved for them. */
async function checkLeases(reader: Reader, sums: ReadonlyMap<string, LeaseSums>) {
  const findings: Finding[] = []
  const unseen = new Map(sums)
  let [seen, quarantined] = [0, 0]
  const all = pagesOf((after: string, limit) => leases.totalsAfter(reader, after, limit), {
    start: subjects,
    size: page,
    keyOf: (line) => line.subject,
  })
  for await (const batch of all) {
    for (const line of batch) {
      if (!readSubject(line.subject)) continue
      seen += 1
      if (line.quarantined > 0n) quarantined += 1
      if (!isSame(line, sums.get(line.subject))) {
        findings.push(found('lease', line.subject, 'what its nodes were allowed is not what the account set aside'))
      }
      unseen.delete(line.subject)
    }
  }
  for (const [subject, account] of unseen) {
    if (account.leased > 0n) findings.push(found('lease', subject, 'bytes were set aside and no node has them'))
  }
  for (const line of await leases.miscounted(reader, page)) {
    findings.push(
      found(
        'lease',
        `${line.subject} at ${line.node}`,
        'its count is not what the node reported, or more was billed than is believed of it',
      ),
    )
  }
  for (const line of [...(await leases.unsoundLines(reader, page)), ...(await unsoundCounts(reader, page))]) {
    findings.push(found('lease', `${line.subject} at ${line.node}`, 'its figures are not those that were last written'))
  }
  for (const budget of await strayBudgets(reader, page)) {
    findings.push(found('budget', `budget of ${budget.node}`, budget.problem))
  }
  for (const count of await leases.strayCounts(reader, subjects, page)) {
    findings.push(found('lease', `${count.subject} at ${count.node}`, count.problem))
  }
  return { findings, subjects: seen, quarantined }
}

const isSame = (line: leases.LineTotals, account: LeaseSums | undefined): boolean =>
  line.granted === (account?.leased ?? 0n) &&
  line.returned + line.lapsed === (account?.back ?? 0n) &&
  line.settled === (account?.settled ?? 0n) &&
  line.aside === (account?.aside ?? 0n) &&
  line.late === (account?.late ?? 0n)
