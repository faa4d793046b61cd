import {
  type Chain,
  emptyChain,
  emptyHead,
  endingWith,
  problemsOfEnd,
  problemsOfLink,
  problemsOfPosition,
  type Sha256,
} from '../../core/chain.ts'
import {
  at,
  attempt,
  type Finding,
  type FindingProblem,
  type FindingSubject,
  found,
  moneyText,
  type PromiseName,
  problem,
  type Verifier,
} from '../../core/finding.ts'
import type { CustomerId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { LineDigest } from '../../core/line-digest.ts'
import { type Kopecks, negate, subtract, zero } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import {
  type Account,
  apiSpentAfter,
  type Checkpoint,
  type CheckpointContent,
  checkpointText,
  fieldsOf,
  isFunding,
  mayLeaveDebt,
  type Posting,
} from './rules.ts'
import * as store from './store.ts'

/** A checkpoint covers postings up to this long ago: longer than any transaction runs, with room for clock skew. */
const settledMs = 60_000
/** How many of the newest checkpoints `verify` recomputes from postings; the hash chain covers older ones. */
export const checkpointsVerified = 32
/** How many checkpoints one call makes while new versions of rows are left: 10 million versions. */
const maxAtOnce = 1000
const page = 500

export type LedgerAudit = ReturnType<typeof createLedgerAudit>
export type Charges = ReadonlyMap<number, Posting>

/** The row history, which checkpoints cover beside the accounts. */
export type History = {
  readonly stamp: (tx: Tx, checkpoint: number) => Promise<Checkpoint['history'] & { readonly isComplete: boolean }>
  readonly digestOf: (reader: Reader, checkpoint: number) => Promise<Checkpoint['history']>
  readonly lastStamp: (reader: Reader) => Promise<number>
  /** The changes that erasures made to a checkpoint's versions, in order. */
  readonly amendmentsOf: (reader: Reader, checkpoint: number) => Promise<readonly Amendment[]>
  readonly countErased: (reader: Reader, checkpoint: number) => Promise<number>
}
type Amendment = Record<'number' | 'versions', number> & Record<'before' | 'after', Uint8Array>

/** A checkpoint that was kept outside the database. */
type KeptCheckpoint = { readonly number: number | undefined; readonly hash: string }

type Folded = { readonly checkpoint: Checkpoint; readonly fold: CheckpointFold }

type LedgerAuditDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sha256: Sha256
  readonly history: History
}

export const createLedgerAudit = (deps: LedgerAuditDeps) => ({
  /** The charge that an order names, if there is one. */
  async charge(reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> {
    const posting = await store.findPosting(reader, customer, seq)
    return posting?.kind === 'charge' ? posting : undefined
  },

  /** The postings of these payments, without operators' adjustments. */
  byReference: store.postingsByReference,
  countByReference: store.countByReference,
  countAccounts: store.countAccounts,
  refundsOf: store.listRefundsOf,
  verify: (...given: VerifyArguments) => verifyLedger(deps, ...given),
  newest: (): Promise<Checkpoint | undefined> => store.latestCheckpoint(deps.db),
  makeCheckpoint: () => makeCheckpoint(deps),
  compareWith: (kept: readonly KeptCheckpoint[]) => compareWith(deps, kept),
  houseBalances: () => store.houseBalances(deps.db),
})

type VerifyArguments = [
  reader: Reader,
  /** The spending caps of capped tokens. */
  caps: ReadonlyMap<string, Kopecks>,
  /** Compares a customer's charges with the orders. */
  onCustomer: (customer: CustomerId, charges: Charges) => Promise<readonly Finding[]>,
  onProgress?: (done: number) => void,
]

/** Recomputes every promise about money from the postings. */
async function verifyLedger(
  { sha256, history }: LedgerAuditDeps,
  ...[reader, caps, onCustomer, onProgress]: VerifyArguments
): Promise<{ findings: Finding[]; accounts: number; postings: number; checkpoints: number }> {
  const chain = await walkCheckpoints(reader, sha256, history)
  const findings: Finding[] = [...chain.findings]
  const folds = chain.newest.map((checkpoint) => ({ checkpoint, fold: new CheckpointFold(sha256) }))
  const spent = new Map<string, Kopecks>()
  let accounts = 0
  let walked = 0
  let balances = 0n
  for await (const batch of allAccounts(reader)) {
    for (const account of batch) {
      accounts += 1
      walked += account.seq
      const { customer } = account
      await attempt(findings, { promise: 'balance', where: at('account', { customer }) }, async () => {
        balances += account.balance
        const walk = await walkAccount(reader, account, folds, sha256)
        findings.push(...walk.findings, ...(await onCustomer(customer, walk.charges)))
        for (const [token, amount] of walk.spentByToken) spent.set(token, amount)
      })
    }
    onProgress?.(walked)
  }
  findings.push(...(await checkTotals(reader, walked, balances)))
  findings.push(...(await checkSpending(reader, spent, caps)))
  findings.push(...checkFolds(folds))
  return { findings, accounts, postings: walked, checkpoints: chain.count }
}

/** Walks one account from its first posting and adds its state at each checkpoint to that checkpoint's fold. */
async function walkAccount(
  reader: Reader,
  account: Account,
  folds: readonly Folded[],
  sha256: Sha256,
): Promise<AccountWalk> {
  const walk = new AccountWalk(account.customer, sha256)
  const lastOf: (Posting | undefined)[] = folds.map(() => undefined)
  for await (const postings of postingsOf(reader, account.customer)) {
    for (const posting of postings) {
      walk.step(posting)
      for (const [index, { checkpoint }] of folds.entries()) {
        if (posting.at <= checkpoint.upto) lastOf[index] = posting
      }
    }
  }
  walk.finish(account)
  for (const [index, { fold }] of folds.entries()) fold.addPosting(lastOf[index])
  return walk
}

/**
 * Records the state of every account, and every new version of a row: one checkpoint covers a bounded number, so more
 * follow at once, over the same accounts. The hash of the last, which is returned, covers the others. Undefined if a
 * checkpoint of this moment exists already.
 */
async function makeCheckpoint(deps: LedgerAuditDeps): Promise<Checkpoint | undefined> {
  const { db, clock, sha256 } = deps
  const upto = clock() - settledMs
  const state = await db.snapshot(async (reader) => {
    const previous = await store.latestCheckpoint(reader)
    if (previous && previous.upto >= upto) return undefined
    const fold = new CheckpointFold(sha256)
    for await (const batch of allAccounts(reader)) {
      for (const account of batch) await foldAccount(reader, fold, account, upto)
    }
    return { previous, totals: fold.totals() }
  })
  if (!state) return undefined
  let last: Checkpoint | undefined
  for (let made = 0; made < maxAtOnce; made += 1) {
    const previous: Checkpoint | undefined = last ?? state.previous
    const content = { number: (previous?.number ?? 0) + 1, upto, ...state.totals, madeAt: clock() }
    const next = await coverVersions(deps, previous?.hash ?? emptyHead, content)
    last = next?.checkpoint ?? last
    if (!next || next.isComplete) break
  }
  return last
}

/** Writes a checkpoint, and its number into every version that it covers, in one commit. Undefined if one exists. */
async function coverVersions(
  { db, sha256, history }: LedgerAuditDeps,
  head: Uint8Array,
  content: Omit<CheckpointContent, 'history'>,
): Promise<{ readonly checkpoint: Checkpoint; readonly isComplete: boolean } | undefined> {
  return db
    .transact(async (tx) => {
      const { isComplete, ...stamped } = await history.stamp(tx, content.number)
      const covered = { ...content, history: stamped }
      const checkpoint = { ...covered, hash: sha256(checkpointText(head, covered)) }
      if (!(await store.insertCheckpoint(tx, checkpoint))) throw new MadeByAnother()
      return { checkpoint, isComplete }
    })
    .catch((error: unknown) => {
      if (error instanceof MadeByAnother) return undefined
      throw error
    })
}

/** Reports checkpoints that were kept elsewhere and are not here: postings were rewritten or cut off. */
async function compareWith(
  { db }: LedgerAuditDeps,
  kept: readonly KeptCheckpoint[],
): Promise<{ findings: Finding[]; compared: number }> {
  const hashes = new Map<string, number>()
  await db.snapshot(async (reader) => {
    for await (const batch of allCheckpoints(reader)) {
      for (const each of batch) hashes.set(each.hash.toHex(), each.number)
    }
  })
  const isHere = ({ number, hash }: KeptCheckpoint): boolean =>
    hashes.has(hash) && (number === undefined || number === hashes.get(hash))
  const findings = kept
    .filter((each) => !isHere(each))
    .map(({ number = null, hash }) => found('checkpoint', at('checkpoint_kept', { number, hash }), 'checkpoint_absent'))
  return { findings, compared: kept.length }
}

/** Rolls back a checkpoint whose number another process has inserted. */
class MadeByAnother extends Error {}

function allAccounts(reader: Reader) {
  const read = (after: string, limit: number) => store.accountsAfter(reader, after, limit)
  return keysetPages(read, { start: '', size: page, keyOf: (account) => account.customer })
}

function allCheckpoints(reader: Reader) {
  const read = (after: number, limit: number) => store.checkpointsAfter(reader, after, limit)
  return keysetPages(read, { start: 0, size: page, keyOf: (checkpoint) => checkpoint.number })
}

function postingsOf(reader: Reader, customer: CustomerId) {
  const read = (after: number, limit: number) => store.postingsAfter(reader, customer, after, limit)
  return keysetPages(read, { start: 0, size: page, keyOf: (posting) => posting.seq })
}

/** Adds an account as it was at a moment: its row if it did not change since, else its last posting by then. */
export async function foldAccount(reader: Reader, fold: CheckpointFold, account: Account, upto: number): Promise<void> {
  if (account.seq === 0) return
  if (account.lastAt <= upto) fold.add(account.customer, account.seq, account.head, account.balance)
  else fold.addPosting(await store.lastPostingAt(reader, account.customer, upto))
}

/** Checks that no posting is outside the accounts, and that customers and house sum to zero. */
async function checkTotals(reader: Reader, walked: number, balances: bigint): Promise<Finding[]> {
  const findings: Finding[] = []
  const posted = await store.countPostings(reader)
  if (posted !== walked) {
    const counts = { rows: posted, counted: walked, by: 'accounts' } as const
    findings.push(found('chain', at('table', { table: 'postings' }), 'rows_counted', counts))
  }
  const house = (await store.houseBalances(reader)).reduce((sum, each) => sum + each.balance, 0n)
  if (house + balances !== 0n) {
    findings.push(found('sum', at('accounts'), 'sum_not_zero', { kopecks: String(house + balances) }))
  }
  return findings
}

export async function checkSpending(
  reader: Reader,
  spent: ReadonlyMap<string, Kopecks>,
  caps: ReadonlyMap<string, Kopecks>,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const stored = await store.tokenSpending(reader)
  for (const token of new Set([...stored.keys(), ...caps.keys()])) {
    const posted = spent.get(token) ?? zero
    const where = at('token', { id: token })
    const recorded = stored.get(token) ?? zero
    if (recorded !== posted) {
      const spending = { stored: moneyText(recorded), expected: moneyText(posted) }
      findings.push(found('cap', where, 'token_spent', spending))
    }
    const cap = caps.get(token)
    if (cap !== undefined && posted > cap) {
      findings.push(found('cap', where, 'token_over_cap', { spent: moneyText(posted), cap: moneyText(cap) }))
    }
  }
  return findings
}

/** Follows the chain of checkpoints from the first. Returns the newest, whose folds are recomputed. */
async function walkCheckpoints(
  reader: Reader,
  sha256: Sha256,
  history: History,
): Promise<{ findings: Finding[]; newest: Checkpoint[]; count: number }> {
  const findings: Finding[] = []
  let newest: Checkpoint[] = []
  let previous: Checkpoint | undefined
  let count = 0
  for await (const batch of allCheckpoints(reader)) {
    for (const checkpoint of batch) {
      const problems = [
        ...problemsOfCheckpoint(checkpoint, previous, sha256),
        ...(await problemsOfHistory(reader, checkpoint, history)),
      ]
      const of = { promise: 'checkpoint', where: at('checkpoint', { number: checkpoint.number }) } as const
      findings.push(...problems.map((each) => ({ ...of, ...each })))
      previous = checkpoint
    }
    count += batch.length
    newest = [...newest, ...batch].slice(-checkpointsVerified)
  }
  const [stored, last] = [await history.lastStamp(reader), previous?.number ?? 0]
  if (stored > last) {
    findings.push(found('checkpoint', at('table', { table: 'checkpoints' }), 'checkpoint_stamp', { stored, last }))
  }
  return { findings, newest, count }
}

/**
 * Compares the row versions that a checkpoint covers with its digest. Each erasure recorded the digest before and after
 * it, so these amendments lead from the checkpoint's digest to the current one.
 */
export async function problemsOfHistory(
  reader: Reader,
  checkpoint: Checkpoint,
  history: History,
): Promise<FindingProblem[]> {
  const now = await history.digestOf(reader, checkpoint.number)
  let digest = checkpoint.history.digest
  let erased = 0
  for (const [index, amendment] of (await history.amendmentsOf(reader, checkpoint.number)).entries()) {
    if (amendment.number !== index + 1 || amendment.before.toHex() !== digest.toHex()) {
      return [problem('checkpoint_amendments')]
    }
    digest = amendment.after
    erased += amendment.versions
  }
  if (now.versions !== checkpoint.history.versions || now.digest.toHex() !== digest.toHex()) {
    return [problem('checkpoint_versions', { stored: checkpoint.history.versions, found: now.versions })]
  }
  // Versions that were blanked before a checkpoint covered them have no amendment, so more may be blank.
  const blank = await history.countErased(reader, checkpoint.number)
  return erased > blank ? [problem('checkpoint_erased', { expected: erased, found: blank })] : []
}

export function problemsOfCheckpoint(
  checkpoint: Checkpoint,
  previous: Checkpoint | undefined,
  sha256: Sha256,
): FindingProblem[] {
  const hash = sha256(checkpointText(previous?.hash ?? emptyHead, checkpoint))
  return [
    ...problemsOfPosition({ seq: previous?.number ?? 0 }, { seq: checkpoint.number }, 'checkpoint'),
    ...(hash.toHex() === checkpoint.hash.toHex() ? [] : [problem('chain_hash', { entry: 'checkpoint' })]),
  ]
}

export function checkFolds(folds: readonly Folded[]): Finding[] {
  const changed = folds.filter(
    ({ checkpoint, fold }) =>
      fold.totals().digest.toHex() !== checkpoint.digest.toHex() ||
      fold.balances !== checkpoint.balances ||
      fold.accounts !== checkpoint.accounts ||
      fold.postings !== checkpoint.postings,
  )
  return changed.map(({ checkpoint, fold }) =>
    found('checkpoint', at('checkpoint', { number: checkpoint.number }), 'checkpoint_accounts', {
      stored: sumsText(checkpoint),
      found: sumsText(fold),
    }),
  )
}

const sumsText = (of: Pick<CheckpointContent, 'accounts' | 'postings' | 'balances'>): string =>
  `${of.accounts} accounts, ${of.postings} postings, ${moneyText(of.balances)} RUB`

/** Checks that each checkpoint kept elsewhere is in this database. */
export const createKeptVerifier = (
  audit: Pick<LedgerAudit, 'compareWith'>,
  kept: readonly KeptCheckpoint[],
): Verifier => ({
  name: 'checkpoints kept elsewhere',
  async verify() {
    const { findings, compared } = await audit.compareWith(kept)
    return { findings, covered: { 'checkpoints kept elsewhere': compared } }
  },
})

/** Digests the state of all accounts at one moment, one account after another. */
export class CheckpointFold {
  accounts = 0
  postings = 0
  balances = 0n
  private readonly lines: LineDigest

  constructor(sha256: Sha256) {
    this.lines = new LineDigest(sha256)
  }

  add(customer: string, seq: number, hash: Uint8Array, balance: bigint): void {
    this.accounts += 1
    this.postings += seq
    this.balances += balance
    this.lines.add(`${customer} ${seq} ${hash.toHex()}\n`)
  }

  /** Adds the account whose last posting this is; none if it had no posting. */
  addPosting(last: Posting | undefined): void {
    if (last) this.add(last.customer, last.seq, last.hash, last.balanceAfter)
  }

  totals(): Pick<CheckpointContent, 'accounts' | 'postings' | 'balances' | 'digest'> {
    const { accounts, postings, balances } = this
    return { accounts, postings, balances, digest: this.lines.finish() }
  }
}

/** Where the walk of an account continues: behind a checked posting, with the earlier charges that it needs. */
type WalkStart = {
  readonly chain: Chain
  readonly balance: Kopecks
  readonly apiSpent: Kopecks
  readonly charges: readonly Posting[]
  /** The sum of the refunds of a charge so far. */
  readonly refunded: ReadonlyMap<number, bigint>
}

/** Walks one account's postings from the first and checks that each can follow the one before. */
export class AccountWalk {
  readonly findings: Finding[] = []
  readonly charges = new Map<number, Posting>()
  /** Each token's spending on this account, less refunds. */
  readonly spentByToken = new Map<string, Kopecks>()
  private readonly refunded = new Map<number, bigint>()
  private chain: Chain
  private balance: Kopecks
  private apiSpent: Kopecks

  constructor(
    private readonly customer: string,
    private readonly sha256: Sha256,
    from: Partial<WalkStart> = {},
  ) {
    this.chain = from.chain ?? emptyChain
    this.balance = from.balance ?? zero
    this.apiSpent = from.apiSpent ?? zero
    for (const charge of from.charges ?? []) this.charges.set(charge.seq, charge)
    for (const [charge, refunded] of from.refunded ?? []) this.refunded.set(charge, refunded)
  }

  /** Money spent through tokens so far. */
  get spent(): Kopecks {
    return this.apiSpent
  }

  step(posting: Posting): void {
    const where = at('posting', { seq: posting.seq, customer: this.customer })
    const options = { sha256: this.sha256, entry: 'posting' } as const
    this.note('chain', where, problemsOfLink(this.chain, posting, fieldsOf(posting), options))
    const [stored, sum] = [posting.balanceAfter, this.balance + posting.amount]
    if (stored !== sum) {
      const sums = { stored: moneyText(stored), expected: moneyText(sum) }
      this.note('balance', where, [problem('balance_after', sums)])
    }
    if (stored < 0n && !mayLeaveDebt(posting)) {
      this.note('balance', where, [problem('balance_negative', { kind: posting.kind, stored: moneyText(stored) })])
    }
    this.checkKind(posting, where)
    this.chain = endingWith(posting)
    // Not `add`, which throws out of range: `finish` reports such a sum.
    this.balance = (this.balance + posting.amount) as Kopecks
    this.apiSpent = apiSpentAfter(this.apiSpent, posting)
    if (posting.token && !isFunding(posting.kind)) {
      this.spentByToken.set(posting.token, subtract(this.spentByToken.get(posting.token) ?? zero, posting.amount))
    }
  }

  /** Compares the account's row with its postings. */
  finish(account: Account): void {
    const where = at('account', { customer: this.customer })
    const [has, sum] = [moneyText(account.balance), moneyText(this.balance)]
    if (has !== sum) this.note('balance', where, [problem('balance_differs', { stored: has, expected: sum })])
    const [spent, posted] = [moneyText(account.apiSpent), moneyText(this.apiSpent)]
    if (spent !== posted) this.note('api_spent', where, [problem('api_spent', { stored: spent, expected: posted })])
    this.note('chain', where, problemsOfEnd(account, this.chain, 'posting'))
  }

  private checkKind(posting: Posting, where: FindingSubject): void {
    const { kind, house, amount } = posting
    const sign = ['charge', 'debit'].includes(kind) ? 'negative' : 'positive'
    if ((sign === 'negative') !== amount < 0n) {
      const stored = `${amount > 0n ? '+' : ''}${moneyText(amount)}`
      this.note('posting', where, [problem('posting_sign', { kind, stored, sign })])
    }
    if (house.startsWith('revenue:') === isFunding(kind)) {
      this.note('posting', where, [problem('posting_house', { kind, house })])
    }
    if (posting.kind === 'charge') this.charges.set(posting.seq, posting)
    if (posting.kind === 'refund') this.checkRefund(posting, where)
  }

  private checkRefund(posting: Posting, where: FindingSubject): void {
    const charge = this.charges.get(posting.refundOf ?? 0)
    if (!charge) {
      return this.note('refund', where, [problem('refund_without_charge', { charge: posting.refundOf })])
    }
    const refunded = (this.refunded.get(charge.seq) ?? 0n) + posting.amount
    const max = negate(charge.amount)
    if (refunded > max) {
      const sums = { charge: charge.seq, stored: moneyText(refunded), max: moneyText(max) }
      this.note('refund', where, [problem('refund_too_large', sums)])
    }
    if (posting.order !== charge.order || posting.token !== charge.token || posting.house !== charge.house) {
      this.note('refund', where, [problem('refund_elsewhere', { charge: charge.seq })])
    }
    this.refunded.set(charge.seq, refunded)
  }

  private note(promise: PromiseName, where: FindingSubject, problems: readonly FindingProblem[]): void {
    this.findings.push(...problems.map((each) => ({ promise, where, ...each })))
  }
}
