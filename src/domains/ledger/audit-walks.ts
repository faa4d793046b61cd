import { emptyChain, endingWith, type Sha256 } from '../../core/chain.ts'
import { at, attempt, type Finding, found } from '../../core/finding.ts'
import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, zero } from '../../core/money.ts'
import { pageWalk, positionedWalk, type TableWalk, wholeWalk } from '../../db/audit-walks.ts'
import type { Reader } from '../../db/transaction.ts'
import {
  AccountWalk,
  type Charges,
  CheckpointFold,
  checkFolds,
  checkpointsVerified,
  checkSpending,
  foldAccount,
  type History,
  problemsOfCheckpoint,
  problemsOfHistory,
} from './audit.ts'
import type { Account, Checkpoint, Posting } from './rules.ts'
import * as store from './store.ts'

const rowsPerStep = 5_000
const accountsPerPage = 500
const checkpointsPerStep = 100

type Deps = { readonly sha256: Sha256; readonly history: History }

/** What the orders say of charges: of some of an account, and of the account as a whole. */
export type OrdersBeside = {
  readonly onCharges: (reader: Reader, customer: CustomerId, charges: Charges) => Promise<readonly Finding[]>
  readonly onAccount: (reader: Reader, customer: CustomerId) => Promise<readonly Finding[]>
}

/** Seq 0 is behind the account; another one is behind that posting of it. */
type Position = { readonly customer: string; readonly seq: number; readonly apiSpent: bigint }
const start: Position = { customer: '', seq: 0, apiSpent: 0n }

export type LedgerWalks = ReturnType<typeof createLedgerWalks>

export const createLedgerWalks = (deps: Deps) => ({
  walks: (beside: OrdersBeside, caps: ReadCaps): readonly TableWalk[] => walksOf(deps, beside, caps),
  checkSince: (beside: OrdersBeside, reader: Reader, sinceAt: number) =>
    checkPostingsSince(deps, beside, reader, sinceAt),
})

/** The spending caps of capped tokens. */
type ReadCaps = (reader: Reader) => Promise<ReadonlyMap<string, Kopecks>>

/**
 * The promises about money, some rows at a time: the memory that a step takes does not depend on the length of an
 * account.
 */
const walksOf = (deps: Deps, beside: OrdersBeside, caps: ReadCaps): readonly TableWalk[] => [
  positionedWalk('accounts', start, (reader, after) => stepAccounts(deps, beside, reader, after)),
  checkpointWalk(deps),
  wholeWalk('sums', (reader, findings) => checkSums(deps, reader, findings, caps)),
]

async function stepAccounts({ sha256 }: Deps, beside: OrdersBeside, reader: Reader, after: Position) {
  const findings: Finding[] = []
  let [position, rows, accounts]: [Position | undefined, number, number] = [after, 0, 0]
  while (position && rows < rowsPerStep) {
    const from: Position = position
    const page: Account[] =
      from.seq === 0
        ? await store.accountsAfter(reader, from.customer, accountsPerPage)
        : await store.accountsFrom(reader, from.customer, accountsPerPage)
    position = page.length < accountsPerPage ? undefined : { ...start, customer: page.at(-1)?.customer ?? '' }
    for (const [index, account] of page.entries()) {
      const isContinued = index === 0 && from.seq > 0 && account.customer === from.customer
      const max = Math.max(accountsPerPage, rowsPerStep - rows)
      const step = await walkPart(sha256, reader, beside, account, isContinued ? from : start, max, findings)
      rows += step.rows
      if (step.next === undefined) accounts += 1
      const isLast = index === page.length - 1
      if (step.next !== undefined) position = step.next
      else if (rows >= rowsPerStep && !(isLast && position === undefined))
        position = { ...start, customer: account.customer }
      else continue
      break
    }
  }
  return { findings, covered: { accounts, postings: rows }, rows, next: position }
}

/** Walks at most so many postings of an account from a position on. `next` is undefined at the account's end. */
async function walkPart(
  sha256: Sha256,
  reader: Reader,
  beside: OrdersBeside,
  account: Account,
  from: Position,
  max: number,
  findings: Finding[],
): Promise<{ readonly rows: number; readonly next: Position | undefined }> {
  const { customer } = account
  let result: { rows: number; next: Position | undefined } = { rows: 1, next: undefined }
  await attempt(findings, { promise: 'balance', where: at('account', { customer }) }, async () => {
    const before = from.seq > 0 ? await store.findPosting(reader, customer, from.seq) : undefined
    const postings = await store.postingsAfter(reader, customer, before?.seq ?? 0, max)
    const walk = await walkPostings(sha256, reader, beside, { customer, before, apiSpent: from.apiSpent }, postings)
    findings.push(...walk.findings)
    const last = postings.at(-1)
    if (last && postings.length === max) {
      result = { rows: postings.length, next: { customer, seq: last.seq, apiSpent: walk.spent } }
      return
    }
    const known = walk.findings.length
    walk.finish(account)
    findings.push(...walk.findings.slice(known), ...(await beside.onAccount(reader, customer)))
    result = { rows: postings.length + 1, next: undefined }
  })
  return result
}

/** Checks postings that follow one that was checked, and their orders. */
async function walkPostings(
  sha256: Sha256,
  reader: Reader,
  beside: OrdersBeside,
  of: { readonly customer: CustomerId; readonly before: Posting | undefined; readonly apiSpent: bigint },
  postings: readonly Posting[],
): Promise<AccountWalk> {
  const { customer, before, apiSpent } = of
  const walk = new AccountWalk(customer, sha256, {
    chain: before ? endingWith(before) : emptyChain,
    balance: before?.balanceAfter ?? zero,
    apiSpent: apiSpent as Kopecks,
    ...(await readRefunded(reader, customer, postings)),
  })
  for (const posting of postings) walk.step(posting)
  const first = postings[0]?.seq ?? 0
  const charges = new Map([...walk.charges].filter(([seq]) => seq >= first))
  walk.findings.push(...(await beside.onCharges(reader, customer, charges)))
  return walk
}

/** The earlier charges that these refunds name, and what was refunded of each before. */
async function readRefunded(reader: Reader, customer: CustomerId, postings: readonly Posting[]) {
  const first = postings[0]?.seq ?? 0
  const named = new Set(postings.flatMap(({ refundOf }) => (refundOf !== null && refundOf < first ? [refundOf] : [])))
  const charges: Posting[] = []
  const refunded = new Map<number, bigint>()
  for (const seq of named) {
    const charge = await store.findPosting(reader, customer, seq)
    if (charge?.kind === 'charge') charges.push(charge)
    const earlier = (await store.listRefundsOf(reader, customer, seq)).filter((each) => each.seq < first)
    refunded.set(
      seq,
      earlier.reduce((sum, { amount }) => sum + amount, 0n),
    )
  }
  return { charges, refunded }
}

/** New postings since a moment, of every account that has some: the nightly work on money. */
async function checkPostingsSince(
  { sha256 }: Deps,
  beside: OrdersBeside,
  reader: Reader,
  sinceAt: number,
): Promise<{ findings: Finding[]; postings: number }> {
  const findings: Finding[] = []
  let count = 0
  for (let after = ''; ; ) {
    const page = await store.accountsSince(reader, sinceAt, after, accountsPerPage)
    for (const account of page) {
      const { customer } = account
      await attempt(findings, { promise: 'balance', where: at('account', { customer }) }, async () => {
        let before = await store.lastPostingAt(reader, customer, sinceAt)
        for (;;) {
          const postings = await store.postingsAfter(reader, customer, before?.seq ?? 0, rowsPerStep)
          const walk = await walkPostings(sha256, reader, beside, { customer, before, apiSpent: 0n }, postings)
          count += postings.length
          const isEnd = postings.length < rowsPerStep
          // Spending through tokens before the first of these postings is not read.
          if (isEnd) walk.finish({ ...account, apiSpent: walk.spent })
          findings.push(...walk.findings)
          if (isEnd) break
          before = postings.at(-1)
        }
      })
    }
    const last = page.at(-1)
    if (!last || page.length < accountsPerPage) return { findings, postings: count }
    after = last.customer
  }
}

/** The chain of checkpoints, and the row versions that each covers. */
const checkpointWalk = ({ sha256, history }: Deps): TableWalk =>
  pageWalk<Checkpoint, number>({
    name: 'checkpoints',
    start: 0,
    size: checkpointsPerStep,
    read: (reader, after, limit) => store.checkpointsAfter(reader, after, limit),
    keyOf: ({ number }) => number,
    async check(reader, page, findings) {
      const first = page[0]?.number ?? 1
      let [previous] = first > 1 ? await store.checkpointsAfter(reader, first - 2, 1) : []
      if (previous && previous.number >= first) previous = undefined
      for (const checkpoint of page) {
        const problems = [
          ...problemsOfCheckpoint(checkpoint, previous, sha256),
          ...(await problemsOfHistory(reader, checkpoint, history)),
        ]
        const of = { promise: 'checkpoint', where: at('checkpoint', { number: checkpoint.number }) } as const
        findings.push(...problems.map((each) => ({ ...of, ...each })))
        previous = checkpoint
      }
      return { checkpoints: page.length }
    },
  })

/**
 * Sums over all accounts, which the database computes; what capped tokens have spent; and the newest checkpoints, from
 * the accounts that have not changed since and the last postings of those that have.
 */
async function checkSums(
  { sha256, history }: Deps,
  reader: Reader,
  findings: Finding[],
  capsOf: ReadCaps,
): Promise<void> {
  const [{ postings, balances }, posted] = [await store.sumAccounts(reader), await store.countPostings(reader)]
  if (posted !== postings) {
    const counts = { rows: posted, counted: postings, by: 'accounts' } as const
    findings.push(found('chain', at('table', { table: 'postings' }), 'rows_counted', counts))
  }
  const house = (await store.houseBalances(reader)).reduce((sum, each) => sum + each.balance, 0n)
  if (house + balances !== 0n) {
    findings.push(found('sum', at('accounts'), 'sum_not_zero', { kopecks: String(house + balances) }))
  }
  const [caps, recorded] = [await capsOf(reader), await store.tokenSpending(reader)]
  const spent = await store.postedSpending(reader, [...new Set([...recorded.keys(), ...caps.keys()])])
  findings.push(...(await checkSpending(reader, spent, caps)))
  const last = await store.latestCheckpoint(reader)
  const newest = last
    ? await store.checkpointsAfter(reader, last.number - checkpointsVerified, checkpointsVerified)
    : []
  const stored = await history.lastStamp(reader)
  if (stored > (last?.number ?? 0)) {
    const numbers = { stored, last: last?.number ?? 0 }
    findings.push(found('checkpoint', at('table', { table: 'checkpoints' }), 'checkpoint_stamp', numbers))
  }
  const folds = newest.map((checkpoint) => ({ checkpoint, fold: new CheckpointFold(sha256) }))
  for (let after = ''; ; ) {
    const page = await store.accountsAfter(reader, after, accountsPerPage)
    for (const account of page) {
      for (const { checkpoint, fold } of folds) await foldAccount(reader, fold, account, checkpoint.upto)
    }
    const end = page.at(-1)
    if (!end || page.length < accountsPerPage) break
    after = end.customer
  }
  findings.push(...checkFolds(folds))
}
