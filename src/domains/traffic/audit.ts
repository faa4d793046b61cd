import { type Chain, emptyChain, endingWith, problemsOfEnd, problemsOfLink, type Sha256 } from '../../core/chain.ts'
import { type Audit, attempt, type Finding, maxFindings, type Verifier } from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { ByteAccount, ByteMovement } from './accounts/rules.ts'
import { accountSubjects, fieldsOf, readSubject, subjectOf, usedBy } from './accounts/rules.ts'
import * as store from './accounts/store.ts'
import { strayBudgets, unsoundCounts } from './counts/store.ts'
import * as leases from './leases/store.ts'

const page = 500

/** Recomputes accounts from movements and lots, and leases from accounts. Claims in quarantine are no finding. */
export function createTrafficVerifier(deps: { db: Database; sha256: Sha256 }): Verifier {
  return {
    name: 'traffic',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const books = await checkAccounts(reader, deps.sha256, onProgress)
        const lines = await checkLeases(reader, books.totals)
        return {
          findings: [...books.findings, ...lines.findings].slice(0, maxFindings),
          covered: {
            'traffic accounts': books.totals.size,
            'traffic movements': books.movements,
            'leased subjects': lines.subjects,
            'subjects with claims in quarantine': lines.quarantined,
          },
        }
      }),
  }
}

const found = (promise: string, where: string, problem: string): Finding => ({ promise, where, problem })

/** Checks every account, that no movement or lot is outside of one, and that moves take out what they put in. */
async function checkAccounts(reader: Reader, sha256: Sha256, onProgress?: (done: number) => void) {
  const findings: Finding[] = []
  const totals = new Map<string, leases.LeaseTotals>()
  let movements = 0
  const all = keysetPages(
    (after: { subuser: string; pool: string }, limit) => store.accountsAfter(reader, after, limit),
    {
      start: { subuser: '', pool: '' },
      size: page,
      keyOf: (account) => account,
    },
  )
  for await (const batch of all) {
    for (const account of batch) {
      movements += account.seq
      const where = `account of ${account.pool} traffic of ${account.subuser}`
      await attempt(findings, { promise: 'bytes', where }, async () => {
        totals.set(subjectOf(account), await walkAccount(reader, account, sha256, findings))
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
    const where = `${lot.pool} traffic of ${lot.subuser_id}`
    findings.push(found('lots', where, 'lots belong to an account that is not there'))
  }
  return { findings, totals, movements }
}

/** Walks one account's movements from the first, and compares the account and its lots with their sums. */
async function walkAccount(
  reader: Reader,
  account: ByteAccount,
  sha256: Sha256,
  findings: Finding[],
): Promise<leases.LeaseTotals> {
  const name = `${account.pool} traffic of ${account.subuser}`
  const sum = { balance: 0n, aside: 0n, owed: 0n, used: 0n, arrived: 0n }
  const totals = { leased: 0n, back: 0n, settled: 0n, late: 0n }
  let chain: Chain = emptyChain
  const all = keysetPages((after: number, limit) => store.movementsAfter(reader, account, after, limit), {
    start: 0,
    size: page,
    keyOf: (movement) => movement.seq,
  })
  for await (const movements of all) {
    for (const movement of movements) {
      const where = `movement ${movement.seq} of ${name}`
      const problems = problemsOfLink(chain, movement, fieldsOf(movement), { sha256, entry: 'movement' })
      sum.balance += movement.amount
      sum.aside += movement.aside
      sum.owed += movement.owed
      sum.used += usedBy(movement)
      const { balanceAfter, asideAfter, owedAfter } = movement
      const isSum = balanceAfter === sum.balance && asideAfter === sum.aside && owedAfter === sum.owed
      if (!isSum) problems.push('the balance after it is not the sum up to it')
      if (sum.balance < 0n || sum.aside < 0n || sum.owed < 0n) problems.push('something is below zero')
      findings.push(...problems.map((problem) => found('bytes', where, problem)))
      if (movement.kind === 'bought' || movement.kind === 'moved_in') sum.arrived += movement.amount
      addToTotals(totals, movement)
      chain = endingWith(movement)
    }
  }
  const where = `account of ${name}`
  if (account.balance !== sum.balance) {
    findings.push(found('bytes', where, `the balance is ${account.balance}, its movements sum to ${sum.balance}`))
  }
  if (account.aside !== sum.aside || account.owed !== sum.owed || account.used !== sum.used) {
    findings.push(found('bytes', where, 'what is set aside, owed or used is not what its movements say'))
  }
  for (const problem of problemsOfEnd(account, chain, 'movement')) findings.push(found('bytes', where, problem))
  const [lots, held] = [await store.sumLots(reader, account), account.balance + account.aside]
  if (lots.rest !== held) {
    findings.push(found('lots', where, `its lots hold ${lots.rest} bytes, the account ${held}`))
  }
  if (lots.size !== sum.arrived) {
    findings.push(found('lots', where, `its lots came with ${lots.size} bytes, ${sum.arrived} have arrived`))
  }
  return { ...totals, aside: account.aside }
}

function addToTotals(totals: Record<'leased' | 'back' | 'settled' | 'late', bigint>, movement: ByteMovement): void {
  if (movement.kind === 'leased') totals.leased += movement.aside
  if (movement.kind === 'returned' || movement.kind === 'lapsed') totals.back += movement.amount
  if (movement.kind !== 'used') return
  // Bytes that come back and pay a debt are neither carried nor settled: the node's line counts them as come back.
  if (movement.owed < 0n) totals.back -= movement.aside
  else if (movement.aside < 0n) totals.settled -= movement.aside
  else totals.late += movement.owed - movement.amount
}

/** Compares the nodes' lines with the totals of the accounts' movements. */
async function checkLeases(reader: Reader, totals: ReadonlyMap<string, leases.LeaseTotals>) {
  const findings: Finding[] = []
  const unseen = new Map(totals)
  let [seen, quarantined] = [0, 0]
  const all = keysetPages((after: string, limit) => leases.totalsAfter(reader, after, limit), {
    start: accountSubjects,
    size: page,
    keyOf: (line) => line.subject,
  })
  for await (const batch of all) {
    for (const line of batch) {
      if (!readSubject(line.subject)) continue
      seen += 1
      if (line.quarantined > 0n) quarantined += 1
      if (!isSame(line, totals.get(line.subject))) {
        findings.push(found('lease', line.subject, 'what its nodes were allowed is not what the account set aside'))
      }
      unseen.delete(line.subject)
    }
  }
  for (const [subject, account] of unseen) {
    if (account.leased > 0n) findings.push(found('lease', subject, 'bytes were set aside and no node has them'))
  }
  const addLine = (line: { readonly node: string; readonly subject: string }, problem: string) =>
    findings.push(found('lease', `${line.subject} at ${line.node}`, problem))
  for (const line of await leases.miscounted(reader, page)) {
    addLine(line, 'its count is not what the node reported, or more was billed than is believed of it')
  }
  for (const line of [...(await leases.unsoundLines(reader, page)), ...(await unsoundCounts(reader, page))]) {
    addLine(line, 'its figures are not those that were last written')
  }
  for (const budget of await strayBudgets(reader, page)) {
    findings.push(found('budget', `budget of ${budget.node}`, budget.problem))
  }
  for (const count of await leases.strayCounts(reader, accountSubjects, page)) addLine(count, count.problem)
  return { findings, subjects: seen, quarantined }
}

const isSame = (line: leases.LeaseTotals, account: leases.LeaseTotals | undefined): boolean =>
  (['leased', 'back', 'settled', 'late', 'aside'] as const).every((name) => line[name] === (account?.[name] ?? 0n))
