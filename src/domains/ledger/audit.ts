import {
  type Chain,
  emptyChain,
  emptyHead,
  endingWith,
  problemsOfEnd,
  problemsOfLink,
  type Sha256,
} from '../../core/chain.ts'
import { attempt, type Finding, type Verifier } from '../../core/finding.ts'
import type { CustomerId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { LineDigest } from '../../core/line-digest.ts'
import { type Kopecks, negate, subtract, toRoubleText, zero } from '../../core/money.ts'

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
const checkpointsVerified = 32
const page = 500

export type LedgerAudit = ReturnType<typeof createLedgerAudit>
export type Charges = ReadonlyMap<number, Posting>

/** The row history, which checkpoints cover beside the accounts. */
type History = {
  readonly stamp: (tx: Tx, checkpoint: number) => Promise<Covered>
  readonly digestOf: (reader: Reader, checkpoint: number) => Promise<Covered>
  readonly lastStamp: (reader: Reader) => Promise<number>
  /** The changes that erasures made to a checkpoint's versions, in order. */
  readonly amendmentsOf: (reader: Reader, checkpoint: number) => Promise<readonly Amendment[]>
  readonly countErased: (reader: Reader, checkpoint: number) => Promise<number>
}
type Amendment = {
  readonly number: number
  readonly versions: number
  readonly before: Uint8Array
  readonly after: Uint8Array
}
type Covered = { readonly versions: number; readonly digest: Uint8Array }

/** A checkpoint that was kept outside the database. */
type KeptCheckpoint = { readonly number: number | undefined; readonly hash: string }

type Folded = { readonly checkpoint: Checkpoint; readonly fold: CheckpointFold }

export function createLedgerAudit(deps: { db: Database; clock: Clock; sha256: Sha256; history: History }) {
  const { db, sha256, history } = deps

  /** Walks one account from its first posting and adds its state at each checkpoint to that checkpoint's fold. */
  async function walkAccount(reader: Reader, account: Account, folds: readonly Folded[]): Promise<AccountWalk> {
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

  /** Inserts the checkpoint and stamps the new row versions with its number, in one commit. */
  async function insert(
    tx: Tx,
    previous: Checkpoint | undefined,
    content: Omit<CheckpointContent, 'history'>,
  ): Promise<Checkpoint> {
    const covered = { ...content, history: await history.stamp(tx, content.number) }
    const made = { ...covered, hash: sha256(checkpointText(previous?.hash ?? emptyHead, covered)) }
    if (!(await store.insertCheckpoint(tx, made))) throw new MadeByAnother()
    return made
  }

  return {
    /** The charge that an order names, if there is one. */
    async charge(reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> {
      const posting = await store.findPosting(reader, customer, seq)
      return posting?.kind === 'charge' ? posting : undefined
    },

    /** The postings of these payments, without operators' adjustments. */
    byReference: store.postingsByReference,
    countByReference: store.countByReference,
    refundOf: store.findRefundOf,

    /**
     * Recomputes every promise about money from the postings. `onCustomer` compares a customer's charges with the
     * orders. `caps` are the spending caps of capped tokens.
     */
    async verify(
      reader: Reader,
      caps: ReadonlyMap<string, Kopecks>,
      onCustomer: (customer: CustomerId, charges: Charges) => Promise<readonly Finding[]>,
      onProgress?: (done: number) => void,
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
          await attempt(findings, { promise: 'balance', where: `account of ${account.customer}` }, async () => {
            balances += account.balance
            const walk = await walkAccount(reader, account, folds)
            findings.push(...walk.findings, ...(await onCustomer(account.customer, walk.charges)))
            for (const [token, amount] of walk.spentByToken) spent.set(token, amount)
          })
        }
        onProgress?.(walked)
      }
      findings.push(...(await checkTotals(reader, walked, balances)))
      findings.push(...(await checkSpending(reader, spent, caps)))
      findings.push(...checkFolds(folds))
      return { findings, accounts, postings: walked, checkpoints: chain.count }
    },

    newest: (): Promise<Checkpoint | undefined> => store.latestCheckpoint(db),

    /** Records the state of every account. Undefined if a checkpoint of this moment exists already. */
    async makeCheckpoint(): Promise<Checkpoint | undefined> {
      const upto = deps.clock() - settledMs
      const made = await db.snapshot(async (reader) => {
        const previous = await store.latestCheckpoint(reader)
        if (previous && previous.upto >= upto) return undefined
        const fold = new CheckpointFold(sha256)
        for await (const batch of allAccounts(reader)) {
          for (const account of batch) await foldAccount(reader, fold, account, upto)
        }
        const number = (previous?.number ?? 0) + 1
        return { previous, content: { number, upto, ...fold.totals(), madeAt: deps.clock() } }
      })
      if (!made) return undefined
      return db
        .transact((tx) => insert(tx, made.previous, made.content))
        .catch((error: unknown) => {
          if (error instanceof MadeByAnother) return undefined
          throw error
        })
    },

    /** Reports checkpoints that were kept elsewhere and are not here: postings were rewritten or cut off. */
    async compareWith(kept: readonly KeptCheckpoint[]): Promise<{ findings: Finding[]; compared: number }> {
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
        .map(({ number, hash }) => ({
          promise: 'checkpoint',
          where: number === undefined ? `checkpoint ${hash}` : `checkpoint ${number}, ${hash}`,
          problem: 'it was kept elsewhere and is not in this database',
        }))
      return { findings, compared: kept.length }
    },

    houseBalances: () => store.houseBalances(db),
  }
}

/** Rolls back a checkpoint whose number another process has inserted. */
class MadeByAnother extends Error {}

const allAccounts = (reader: Reader) =>
  keysetPages((after: string, limit) => store.accountsAfter(reader, after, limit), {
    start: '',
    size: page,
    keyOf: (account) => account.customer,
  })

const allCheckpoints = (reader: Reader) =>
  keysetPages((after: number, limit) => store.checkpointsAfter(reader, after, limit), {
    start: 0,
    size: page,
    keyOf: (checkpoint) => checkpoint.number,
  })

const postingsOf = (reader: Reader, customer: CustomerId) =>
  keysetPages((after: number, limit) => store.postingsAfter(reader, customer, after, limit), {
    start: 0,
    size: page,
    keyOf: (posting) => posting.seq,
  })

/** Adds an account as it was at a moment: its row if it did not change since, else its last posting by then. */
async function foldAccount(reader: Reader, fold: CheckpointFold, account: Account, upto: number): Promise<void> {
  if (account.seq === 0) return
  if (account.lastAt <= upto) fold.add(account.customer, account.seq, account.head, account.balance)
  else fold.addPosting(await store.lastPostingAt(reader, account.customer, upto))
}

/** Checks that no posting is outside the accounts, and that customers and house sum to zero. */
async function checkTotals(reader: Reader, walked: number, balances: bigint): Promise<Finding[]> {
  const findings: Finding[] = []
  const posted = await store.countPostings(reader)
  if (posted !== walked) {
    findings.push({ promise: 'chain', where: 'postings', problem: `${posted} exist, the accounts count ${walked}` })
  }
  const house = (await store.houseBalances(reader)).reduce((sum, each) => sum + each.balance, 0n)
  if (house + balances !== 0n) {
    const problem = `they sum to ${house + balances} kopecks, not to 0`
    findings.push({ promise: 'sum', where: 'all accounts', problem })
  }
  return findings
}

async function checkSpending(
  reader: Reader,
  spent: ReadonlyMap<string, Kopecks>,
  caps: ReadonlyMap<string, Kopecks>,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const stored = await store.tokenSpending(reader)
  for (const token of new Set([...stored.keys(), ...caps.keys()])) {
    const posted = spent.get(token) ?? zero
    const found = (problem: string) => findings.push({ promise: 'cap', where: `token ${token}`, problem })
    if ((stored.get(token) ?? zero) !== posted) found(`its spending is not ${toRoubleText(posted)} as posted`)
    const cap = caps.get(token)
    if (cap !== undefined && posted > cap) found('it spent more than its cap')
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
      const where = `checkpoint ${checkpoint.number}`
      findings.push(...problems.map((problem) => ({ promise: 'checkpoint', where, problem })))
      previous = checkpoint
    }
    count += batch.length
    newest = [...newest, ...batch].slice(-checkpointsVerified)
  }
  if ((await history.lastStamp(reader)) > (previous?.number ?? 0)) {
    findings.push({ promise: 'checkpoint', where: 'checkpoints', problem: 'versions of rows name a later one' })
  }
  return { findings, newest, count }
}

/**
 * Compares the row versions that a checkpoint covers with its digest. Each erasure recorded the digest before and after
 * it, so these amendments lead from the checkpoint's digest to the current one.
 */
async function problemsOfHistory(reader: Reader, checkpoint: Checkpoint, history: History): Promise<string[]> {
  const now = await history.digestOf(reader, checkpoint.number)
  let digest = checkpoint.history.digest
  let erased = 0
  for (const [index, amendment] of (await history.amendmentsOf(reader, checkpoint.number)).entries()) {
    if (amendment.number !== index + 1 || amendment.before.toHex() !== digest.toHex()) {
      return ['what erasures made of its versions does not follow one from the other']
    }
    digest = amendment.after
    erased += amendment.versions
  }
  if (now.versions !== checkpoint.history.versions || now.digest.toHex() !== digest.toHex()) {
    return ['the versions of rows are not those it was made over']
  }
  // Versions that were blanked before a checkpoint covered them have no amendment, so more may be blank.
  const isShort = erased > (await history.countErased(reader, checkpoint.number))
  return isShort ? ['fewer versions are blank than erasures have blanked'] : []
}

function problemsOfCheckpoint(checkpoint: Checkpoint, previous: Checkpoint | undefined, sha256: Sha256): string[] {
  const before = previous?.number ?? 0
  const hash = sha256(checkpointText(previous?.hash ?? emptyHead, checkpoint))
  return [
    ...(checkpoint.number === before + 1 ? [] : [`it follows number ${before}: checkpoints are missing`]),
    ...(hash.toHex() === checkpoint.hash.toHex() ? [] : ['its hash does not match its content and the one before it']),
  ]
}

function checkFolds(folds: readonly Folded[]): Finding[] {
  const changed = folds.filter(
    ({ checkpoint, fold }) =>
      fold.totals().digest.toHex() !== checkpoint.digest.toHex() ||
      fold.balances !== checkpoint.balances ||
      fold.accounts !== checkpoint.accounts ||
      fold.postings !== checkpoint.postings,
  )
  return changed.map(({ checkpoint }) => ({
    promise: 'checkpoint',
    where: `checkpoint ${checkpoint.number}`,
    problem: 'the accounts are not as they stood when it was made',
  }))
}

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

/** Walks one account's postings from the first and checks that each can follow the one before. */
export class AccountWalk {
  readonly findings: Finding[] = []
  readonly charges = new Map<number, Posting>()
  /** Each token's spending on this account, less refunds. */
  readonly spentByToken = new Map<string, Kopecks>()
  private readonly refunded = new Map<number, bigint>()
  private chain: Chain = emptyChain
  private balance: Kopecks = zero
  private apiSpent: Kopecks = zero

  constructor(
    private readonly customer: string,
    private readonly sha256: Sha256,
  ) {}

  step(posting: Posting): void {
    const where = `posting ${posting.seq} of ${this.customer}`
    const words = { sha256: this.sha256, entry: 'posting' }
    for (const problem of problemsOfLink(this.chain, posting, fieldsOf(posting), words)) {
      this.found('chain', where, problem)
    }
    if (posting.balanceAfter !== this.balance + posting.amount) {
      this.found('balance', where, `balance_after is ${toRoubleText(posting.balanceAfter)}, not the sum up to it`)
    }
    if (posting.balanceAfter < 0n && !mayLeaveDebt(posting)) this.found('balance', where, 'the balance is below zero')
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
    const where = `account of ${this.customer}`
    const [has, sum] = [toRoubleText(account.balance), toRoubleText(this.balance)]
    if (has !== sum) this.found('balance', where, `the balance is ${has}, its postings sum to ${sum}`)
    const [spent, posted] = [toRoubleText(account.apiSpent), toRoubleText(this.apiSpent)]
    if (spent !== posted) this.found('api_spent', where, `api_spent is ${spent}, its postings say ${posted}`)
    for (const problem of problemsOfEnd(account, this.chain, 'posting')) this.found('chain', where, problem)
  }

  private checkKind(posting: Posting, where: string): void {
    if (['charge', 'debit'].includes(posting.kind) !== posting.amount < 0n)
      this.found('posting', where, 'its sign does not fit its kind')
    if (posting.house.startsWith('revenue:') === isFunding(posting.kind)) {
      this.found('posting', where, `a ${posting.kind} does not belong to ${posting.house}`)
    }
    if (posting.kind === 'charge') this.charges.set(posting.seq, posting)
    if (posting.kind === 'refund') this.checkRefund(posting, where)
  }

  private checkRefund(posting: Posting, where: string): void {
    const charge = this.charges.get(posting.refundOf ?? 0)
    if (!charge) return this.found('refund', where, 'it refunds a charge that is not there')
    const refunded = (this.refunded.get(charge.seq) ?? 0n) + posting.amount
    if (refunded > negate(charge.amount)) {
      const problem = refunded === posting.amount ? 'it is larger than its charge' : 'its charge was refunded before'
      this.found('refund', where, problem)
    }
    if (posting.order !== charge.order || posting.token !== charge.token || posting.house !== charge.house) {
      this.found('refund', where, 'it does not go back to where its charge was counted')
    }
    this.refunded.set(charge.seq, refunded)
  }

  private found(promise: string, where: string, problem: string): void {
    this.findings.push({ promise, where, problem })
  }
}
