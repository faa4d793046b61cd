import { type Chain, emptyChain, endingWith, problemsOfEnd, problemsOfLink, type Sha256 } from '../../core/chain.ts'
import { type Audit, attempt, type Finding, maxFindings, type Verifier } from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import {
  accountSubjects,
  type ByteAccount,
  type ByteMovement,
  fieldsOf,
  readSubject,
  subjectOf,
  usedBy,
} from './accounts/rules.ts'
import * as store from './accounts/store.ts'
import { strayBudgets, unsoundCounts } from './counts/store.ts'
import * as leases from './leases/store.ts'

const page = 500

/**
 * Recomputes every account from its movements and lots, and every lease from its account. Claims in quarantine are
 * counted, and are not a finding.
 */
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
        const walk = await walkAccount(reader, account, sha256)
        totals.set(subjectOf(account), walk.finish(await store.sumLots(reader, account)))
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
    const where = `${lot.pool} traffic of ${lot.subuser_id}`
    findings.push(found('lots', where, 'lots belong to an account that is not there'))
  }
  return { findings, totals, movements }
}

async function walkAccount(reader: Reader, account: ByteAccount, sha256: Sha256): Promise<ByteAccountWalk> {
  const walk = new ByteAccountWalk(account, sha256)
  const all = keysetPages((after: number, limit) => store.movementsAfter(reader, account, after, limit), {
    start: 0,
    size: page,
    keyOf: (movement) => movement.seq,
  })
  for await (const movements of all) for (const movement of movements) walk.step(movement)
  return walk
}

/** Walks one account's movements from the first, and checks that each can follow the one before. */
class ByteAccountWalk {
  readonly findings: Finding[] = []
  private chain: Chain = emptyChain
  private balance = 0n
  private aside = 0n
  private owed = 0n
  private used = 0n
  private leased = 0n
  private back = 0n
  private settled = 0n
  private late = 0n
  private arrived = 0n
  private readonly name: string

  constructor(
    private readonly account: ByteAccount,
    private readonly sha256: Sha256,
  ) {
    this.name = `${account.pool} traffic of ${account.subuser}`
  }

  step(movement: ByteMovement): void {
    const where = `movement ${movement.seq} of ${this.name}`
    const words = { sha256: this.sha256, entry: 'movement' }
    for (const problem of problemsOfLink(this.chain, movement, fieldsOf(movement), words)) this.found(where, problem)
    this.balance += movement.amount
    this.aside += movement.aside
    this.owed += movement.owed
    this.used += usedBy(movement)
    const isSum =
      movement.balanceAfter === this.balance && movement.asideAfter === this.aside && movement.owedAfter === this.owed
    if (!isSum) this.found(where, 'what stands after it is not the sum up to it')
    if (this.balance < 0n || this.aside < 0n || this.owed < 0n) this.found(where, 'something is below zero')
    this.addToTotals(movement)
    this.chain = endingWith(movement)
  }

  /** Compares the account with the sums of its movements, and its lots with the account. */
  finish(lots: { readonly rest: bigint; readonly size: bigint }): leases.LeaseTotals {
    const { account, leased, back, settled, late } = this
    const where = `account of ${this.name}`
    if (account.balance !== this.balance) {
      this.found(where, `the balance is ${account.balance}, its movements sum to ${this.balance}`)
    }
    if (account.aside !== this.aside || account.owed !== this.owed || account.used !== this.used) {
      this.found(where, 'what is set aside, owed or used is not what its movements say')
    }
    for (const problem of problemsOfEnd(account, this.chain, 'movement')) this.found(where, problem)
    const held = account.balance + account.aside
    if (lots.rest !== held) this.found(where, `its lots hold ${lots.rest} bytes, the account ${held}`, 'lots')
    if (lots.size !== this.arrived) {
      this.found(where, `its lots came with ${lots.size} bytes, ${this.arrived} have arrived`, 'lots')
    }
    return { leased, back, settled, late, aside: account.aside }
  }

  private addToTotals(movement: ByteMovement): void {
    if (movement.kind === 'bought' || movement.kind === 'moved_in') this.arrived += movement.amount
    if (movement.kind === 'leased') this.leased += movement.aside
    if (movement.kind === 'returned' || movement.kind === 'lapsed') this.back += movement.amount
    if (movement.kind !== 'used') return
    // Bytes that come back and pay a debt are neither carried nor settled: the node's line counts them as come back.
    if (movement.owed < 0n) this.back -= movement.aside
    else if (movement.aside < 0n) this.settled -= movement.aside
    else this.late += movement.owed - movement.amount
  }

  private found(where: string, problem: string, promise = 'bytes'): void {
    this.findings.push({ promise, where, problem })
  }
}

const noLeases: leases.LeaseTotals = { leased: 0n, back: 0n, settled: 0n, late: 0n, aside: 0n }

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
      if (!isSame(line, totals.get(line.subject) ?? noLeases)) {
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

const isSame = (line: leases.LeaseTotals, account: leases.LeaseTotals): boolean =>
  line.leased === account.leased &&
  line.back === account.back &&
  line.settled === account.settled &&
  line.late === account.late &&
  line.aside === account.aside
