import { type Chain, emptyChain, endingWith, problemsOfEnd, problemsOfLink, type Sha256 } from '../../core/chain.ts'
import {
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
import { createWalkingVerifier, pageWalk, type TableWalk, wholeWalk } from '../../db/audit-walks.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { ByteAccount, ByteMovement } from './accounts/rules.ts'
import { accountSubjects, fieldsOf, readSubject, subjectOf, usedBy } from './accounts/rules.ts'
import * as store from './accounts/store.ts'
import { type StrayBudget, strayBudgets, unsoundCounts } from './counts/store.ts'
import * as leases from './leases/store.ts'

const page = 500

/** Recomputes accounts from movements and lots, and leases from accounts. Claims in quarantine are no finding. */
export const createTrafficVerifier = ({ db, sha256 }: { db: Database; sha256: Sha256 }): Verifier =>
  createWalkingVerifier(db, 'traffic', [accountWalk(sha256), lineWalk, sumWalk], maxFindings)

/** Every account with its movements, lots and leases. */
const accountWalk = (sha256: Sha256): TableWalk =>
  pageWalk({
    name: 'accounts',
    start: { subuser: '', pool: '' },
    size: page,
    read: store.accountsAfter,
    keyOf: (account) => account,
    async check(reader, accounts, findings) {
      const lines = await leases.totalsOf(reader, accounts.map(subjectOf))
      let movements = 0
      for (const account of accounts) {
        movements += account.seq
        const where = at('traffic_account', nameOf(account))
        await attempt(findings, { promise: 'bytes', where }, async () => {
          const totals = await walkAccount(reader, account, sha256, findings)
          const [subject, line] = [subjectOf(account), lines.get(subjectOf(account))]
          if (line && !isSame(line, totals)) findings.push(differentTotals(line, totals))
          if (line || totals.leased <= 0n) return
          const bytes = String(totals.leased)
          findings.push(found('lease', at('subject', { subject }), 'lease_bytes_lost', { bytes }))
        })
      }
      return { 'traffic accounts': accounts.length, 'traffic movements': movements }
    },
  })

/** Lines of nodes whose account does not exist. */
const lineWalk: TableWalk = pageWalk({
  name: 'lines',
  start: accountSubjects,
  size: page,
  read: leases.totalsAfter,
  keyOf: ({ subject }): string => subject,
  async check(reader, lines, findings) {
    const named = lines.flatMap((line) => {
      const account = readSubject(line.subject)
      return account ? [{ line, account }] : []
    })
    const owners = [...new Set(named.map(({ account }) => account.subuser))]
    const known = new Set((await store.accountsOf(reader, owners)).map(subjectOf))
    for (const { line } of named) {
      if (!known.has(line.subject) && !isSame(line, noLease)) findings.push(differentTotals(line, noLease))
    }
    const quarantined = named.filter(({ line }) => line.quarantined > 0n).length
    return { 'leased subjects': named.length, 'subjects with claims in quarantine': quarantined }
  },
})

function differentTotals(line: leases.LeaseTotals & { readonly subject: string }, totals: leases.LeaseTotals): Finding {
  const sums = { stored: leaseText(line), expected: leaseText(totals) }
  return found('lease', at('subject', { subject: line.subject }), 'lease_totals', sums)
}

/** Rows outside of accounts, which the database counts, and each line, count and budget of a node by itself. */
const sumWalk: TableWalk = wholeWalk('sums', async (reader, findings) => {
  const { rows, counted } = await store.countMovements(reader)
  if (rows !== counted) {
    const counts = { rows, counted, by: 'accounts' } as const
    findings.push(found('bytes', at('table', { table: 'movements' }), 'rows_counted', counts))
  }
  for (const { order, bytes } of await store.movedByOrder(reader, page)) {
    findings.push(found('bytes', at('order', { id: order }), 'moved_uneven', { bytes: String(bytes) }))
  }
  for (const lot of await store.strayLots(reader, page)) findings.push(found('lots', at('traffic', lot), 'lots_stray'))
  findings.push(...(await checkLines(reader)))
})

const nameOf = ({ pool, subuser }: ByteAccount) => ({ pool, subuser })

type Sums = { balance: bigint; aside: bigint; owed: bigint; used: bigint; arrived: bigint }

const sumsText = ({ balance, aside, owed }: Pick<Sums, 'balance' | 'aside' | 'owed'>): string =>
  `balance ${balance}, aside ${aside}, owed ${owed}`

/** Walks one account's movements from the first, and compares the account and its lots with their sums. */
async function walkAccount(reader: Reader, account: ByteAccount, sha256: Sha256, findings: Finding[]) {
  const sum: Sums = { balance: 0n, aside: 0n, owed: 0n, used: 0n, arrived: 0n }
  const totals = { leased: 0n, back: 0n, settled: 0n, late: 0n }
  let chain: Chain = emptyChain
  const read = (after: number, limit: number) => store.movementsAfter(reader, account, after, limit)
  const from = { start: 0, size: page, keyOf: (movement: ByteMovement) => movement.seq }
  for await (const movements of keysetPages(read, from)) {
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

const isSame = (line: leases.LeaseTotals, account: leases.LeaseTotals): boolean =>
  (['leased', 'back', 'settled', 'late', 'aside'] as const).every((name) => line[name] === account[name])
