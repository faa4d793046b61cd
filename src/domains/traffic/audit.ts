import { type Chain, emptyChain, endingWith, problemsOfEnd, problemsOfLink, type Sha256 } from '../../core/chain.ts'
import {
  type Audit,
  at,
  attempt,
  type Finding,
  type FindingProblem,
  type FindingSubject,
  found,
  maxFindings,
  problem,
  type Verifier,
} from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { ByteAccount, ByteMovement } from './accounts/rules.ts'
import { accountSubjects, fieldsOf, readSubject, subjectOf, usedBy } from './accounts/rules.ts'
import * as store from './accounts/store.ts'
import { type StrayBudget, strayBudgets, unsoundCounts } from './counts/store.ts'
import * as leases from './leases/store.ts'

const page = 500

/** Reads a table with a store function, a page at a time. */
const pages = <Item, Key>(
  reader: Reader,
  read: (reader: Reader, after: Key, limit: number) => Promise<readonly Item[]>,
  start: Key,
  keyOf: (item: Item) => Key,
) => keysetPages((after: Key, limit) => read(reader, after, limit), { start, size: page, keyOf })

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

/** Checks every account, that no movement or lot is outside of one, and that moves take out what they put in. */
async function checkAccounts(reader: Reader, sha256: Sha256, onProgress?: (done: number) => void) {
  const findings: Finding[] = []
  const totals = new Map<string, leases.LeaseTotals>()
  let movements = 0
  for await (const batch of pages(reader, store.accountsAfter, { subuser: '', pool: '' }, (account) => account)) {
    for (const account of batch) {
      movements += account.seq
      const where = at('traffic_account', nameOf(account))
      await attempt(findings, { promise: 'bytes', where }, async () => {
        totals.set(subjectOf(account), await walkAccount(reader, account, sha256, findings))
      })
    }
    onProgress?.(movements)
  }
  const there = await store.countMovements(reader)
  if (there !== movements) {
    const counts = { rows: there, counted: movements, by: 'accounts' } as const
    findings.push(found('bytes', at('table', { table: 'movements' }), 'rows_counted', counts))
  }
  for (const { order, bytes } of await store.movedByOrder(reader, page)) {
    findings.push(found('bytes', at('order', { id: order }), 'moved_uneven', { bytes: String(bytes) }))
  }
  for (const lot of await store.strayLots(reader, page)) findings.push(found('lots', at('traffic', lot), 'lots_stray'))
  return { findings, totals, movements }
}

const nameOf = ({ pool, subuser }: ByteAccount) => ({ pool, subuser })

type Sums = { balance: bigint; aside: bigint; owed: bigint; used: bigint; arrived: bigint }

const sumsText = ({ balance, aside, owed }: Pick<Sums, 'balance' | 'aside' | 'owed'>): string =>
  `balance ${balance}, aside ${aside}, owed ${owed}`

/** Walks one account's movements from the first, and compares the account and its lots with their sums. */
async function walkAccount(reader: Reader, account: ByteAccount, sha256: Sha256, findings: Finding[]) {
  const sum: Sums = { balance: 0n, aside: 0n, owed: 0n, used: 0n, arrived: 0n }
  const totals = { leased: 0n, back: 0n, settled: 0n, late: 0n }
  let chain: Chain = emptyChain
  const read = (from: Reader, after: number, limit: number) => store.movementsAfter(from, account, after, limit)
  for await (const movements of pages(reader, read, 0, (movement) => movement.seq)) {
    for (const movement of movements) {
      const where = at('movement', { seq: movement.seq, ...nameOf(account) })
      const link = problemsOfLink(chain, movement, fieldsOf(movement), { sha256, entry: 'movement' })
      const problems = [...link, ...addMovement(sum, movement)]
      findings.push(...problems.map((each) => ({ promise: 'bytes' as const, where, ...each })))
      addToTotals(totals, movement)
      chain = endingWith(movement)
    }
  }
  const where = at('traffic_account', nameOf(account))
  const problems = [...problemsOfSums(account, sum), ...problemsOfEnd(account, chain, 'movement')]
  findings.push(...problems.map((each) => ({ promise: 'bytes' as const, where, ...each })))
  findings.push(...(await checkLots(reader, account, sum.arrived, where)))
  return { ...totals, aside: account.aside }
}

/** Adds a movement to the sums, and compares them with those that the movement records. */
function addMovement(sum: Sums, movement: ByteMovement): FindingProblem[] {
  sum.balance += movement.amount
  sum.aside += movement.aside
  sum.owed += movement.owed
  sum.used += usedBy(movement)
  if (movement.kind === 'bought' || movement.kind === 'moved_in') sum.arrived += movement.amount
  const { balanceAfter: balance, asideAfter: aside, owedAfter: owed } = movement
  const isSum = balance === sum.balance && aside === sum.aside && owed === sum.owed
  const isNegative = sum.balance < 0n || sum.aside < 0n || sum.owed < 0n
  const sums = { stored: sumsText({ balance, aside, owed }), expected: sumsText(sum) }
  return [
    ...(isSum ? [] : [problem('movement_sums', sums)]),
    ...(isNegative ? [problem('movement_negative', { found: sumsText(sum) })] : []),
  ]
}

function problemsOfSums(account: ByteAccount, sum: Sums): FindingProblem[] {
  const { balance, aside, owed, used } = account
  if (balance === sum.balance && aside === sum.aside && owed === sum.owed && used === sum.used) return []
  const text = (of: Sums | ByteAccount): string => `${sumsText(of)}, used ${of.used}`
  return [problem('bytes_differ', { stored: text(account), expected: text(sum) })]
}

/** Compares an account with the sums of its lots. */
async function checkLots(
  reader: Reader,
  account: ByteAccount,
  arrived: bigint,
  where: FindingSubject,
): Promise<Finding[]> {
  const [lots, held] = [await store.sumLots(reader, account), account.balance + account.aside]
  const bytes = (stored: bigint, expected: bigint) => ({ stored: String(stored), expected: String(expected) })
  return [
    ...(lots.rest === held ? [] : [found('lots', where, 'lots_rest', bytes(lots.rest, held))]),
    ...(lots.size === arrived ? [] : [found('lots', where, 'lots_size', bytes(lots.size, arrived))]),
  ]
}

function addToTotals(totals: Record<'leased' | 'back' | 'settled' | 'late', bigint>, movement: ByteMovement): void {
  if (movement.kind === 'leased') totals.leased += movement.aside
  if (movement.kind === 'returned' || movement.kind === 'lapsed') totals.back += movement.amount
  if (movement.kind !== 'used') return
  // Bytes that come back and pay a debt are neither relayed nor settled: the node's line counts them as come back.
  if (movement.owed < 0n) totals.back -= movement.aside
  else if (movement.aside < 0n) totals.settled -= movement.aside
  else totals.late += movement.owed - movement.amount
}

/** Compares the nodes' lines with the totals of the accounts' movements. */
async function checkLeases(reader: Reader, totals: ReadonlyMap<string, leases.LeaseTotals>) {
  const findings: Finding[] = []
  const unseen = new Map(totals)
  let [seen, quarantined] = [0, 0]
  for await (const batch of pages(reader, leases.totalsAfter, accountSubjects, (line) => line.subject)) {
    for (const line of batch) {
      if (!readSubject(line.subject)) continue
      seen += 1
      if (line.quarantined > 0n) quarantined += 1
      if (!isSame(line, totals.get(line.subject))) {
        const sums = { stored: leaseText(line), expected: leaseText(totals.get(line.subject) ?? noLease) }
        findings.push(found('lease', at('subject', { subject: line.subject }), 'lease_totals', sums))
      }
      unseen.delete(line.subject)
    }
  }
  for (const [subject, account] of unseen) {
    if (account.leased <= 0n) continue
    const bytes = String(account.leased)
    findings.push(found('lease', at('subject', { subject }), 'lease_bytes_lost', { bytes }))
  }
  return { findings: [...findings, ...(await checkLines(reader))], subjects: seen, quarantined }
}

/** Checks each line, count and budget of a node by itself. */
async function checkLines(reader: Reader): Promise<Finding[]> {
  const findings: Finding[] = []
  const addLine = ({ subject, node }: { readonly node: string; readonly subject: string }, wrong: FindingProblem) =>
    findings.push({ promise: 'lease', where: at('subject_at_node', { subject, node }), ...wrong })
  for (const line of await leases.miscounted(reader, page)) addLine(line, problem('lease_count'))
  for (const line of [...(await leases.unsoundLines(reader, page)), ...(await unsoundCounts(reader, page))]) {
    addLine(line, problem('checksum'))
  }
  for (const { node, reason } of await strayBudgets(reader, page)) {
    findings.push({ promise: 'budget', where: at('budget', { node }), ...budgetProblems[reason] })
  }
  for (const count of await leases.strayCounts(reader, accountSubjects, page)) {
    addLine(count, countProblems[count.reason])
  }
  return findings
}

const budgetProblems: Readonly<Record<StrayBudget['reason'], FindingProblem>> = {
  checksum: problem('checksum'),
  no_boot: problem('budget_node'),
  none_for_counts: problem('budget_missing', { of: 'counts' }),
  none_for_leases: problem('budget_missing', { of: 'leases' }),
}

const countProblems: Readonly<Record<leases.StrayCount['reason'], FindingProblem>> = {
  no_lease: problem('count_without_lease'),
  no_boot_of_count: problem('boot_unknown', { of: 'count' }),
  no_boot_of_lease: problem('boot_unknown', { of: 'lease' }),
}

const noLease: leases.LeaseTotals = { leased: 0n, back: 0n, settled: 0n, late: 0n, aside: 0n }

const leaseText = ({ leased, back, settled, late, aside }: leases.LeaseTotals): string =>
  `leased ${leased}, back ${back}, settled ${settled}, late ${late}, aside ${aside}`

const isSame = (line: leases.LeaseTotals, account: leases.LeaseTotals | undefined): boolean =>
  (['leased', 'back', 'settled', 'late', 'aside'] as const).every((name) => line[name] === (account?.[name] ?? 0n))
