import { emptyHead, type Sha256 } from '../../core/chain.ts'
import { attempt, type Finding, type Verifier } from '../../core/finding.ts'
import type { CustomerId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { type Kopecks, toRoubleText, zero } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { type Account, type CheckpointContent, checkpointText, type Posting, toHex } from './rules.ts'
import { AccountWalk, type Checkpoint, CheckpointFold } from './rules-audit.ts'
import { findPosting } from './store.ts'
import * as store from './store-audit.ts'

/**
 * A checkpoint looks this far back, so that no transaction with an earlier date is still on its way: longer than any
 * transaction may run, with room for clocks that disagree.
 */
const settledMs = 60_000
/**
 * How many checkpoints `verify` recomputes from the postings; the older ones are held by the chain that leads to them.
 */
const checkpointsVerified = 32
const page = 500

export type LedgerAudit = ReturnType<typeof createLedgerAudit>
export type Charges = ReadonlyMap<number, Posting>

/** The history of rows that checkpoints cover beside the accounts. */
type History = {
  readonly stamp: (tx: Tx, checkpoint: number) => Promise<Covered>
  readonly digestOf: (reader: Reader, checkpoint: number) => Promise<Covered>
  readonly lastStamp: (reader: Reader) => Promise<number>
  /** What erasures made of a checkpoint's versions since, in order, and how many are blank. */
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

/** A checkpoint as it was kept elsewhere. */
export type KeptCheckpoint = { readonly number: number | undefined; readonly hash: string }

export function createLedgerAudit(deps: { db: Database; clock: Clock; sha256: Sha256; history: History }) {
  const { db, sha256, history } = deps

  /** One account from its first posting on; each checkpoint notes where the account stood at its moment. */
  async function walkAccount(reader: Reader, account: Account, folds: readonly Folded[]): Promise<AccountWalk> {
    const walk = new AccountWalk(account.customer, sha256)
    const standing: (Posting | undefined)[] = folds.map(() => undefined)
    for await (const postings of postingsOf(reader, account.customer)) {
      for (const posting of postings) {
        walk.step(posting)
        for (const [index, { checkpoint }] of folds.entries()) {
          if (posting.at <= checkpoint.upto) standing[index] = posting
        }
      }
    }
    walk.finish(account)
    for (const [index, { fold }] of folds.entries()) addStanding(fold, account.customer, standing[index])
    return walk
  }

  return {
    /** The charge that an order names, if there is one. */
    async charge(reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> {
      const posting = await findPosting(reader, customer, seq)
      return posting?.kind === 'charge' ? posting : undefined
    },

    /** What stands for these payments; an operator's own word on a balance does not, whatever it refers to. */
    byReference: (reader: Reader, references: readonly string[]): Promise<Posting[]> =>
      store.postingsByReference(reader, references),

    countByReference: (reader: Reader): Promise<number> => store.countByReference(reader),

    /** What was given back of a charge, if anything was. */
    refundOf: (reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> =>
      store.refundOf(reader, customer, seq),

    /**
     * Recomputes every promise about money from the postings. `onCustomer` is told each customer's charges, so that
     * whoever owns the orders can compare them. `caps` are the spending caps of the tokens that have one.
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

    /** The checkpoint that was made last. */
    newest: (): Promise<Checkpoint | undefined> => store.latestCheckpoint(db),

    /** Writes down how every account stands. Returns its hash, worth keeping where this database cannot reach. */
    async makeCheckpoint(): Promise<Checkpoint | undefined> {
      const settledAt = deps.clock() - settledMs
      const made = await db.snapshot(async (reader) => {
        const previous = await store.latestCheckpoint(reader)
        if (previous && previous.upto >= settledAt) return undefined
        const fold = new CheckpointFold(sha256)
        for await (const batch of allAccounts(reader)) {
          for (const account of batch) await foldAccount(reader, fold, account, settledAt)
        }
        return { previous, content: contentOf(fold, previous, settledAt, deps.clock()) }
      })
      if (!made) return undefined
      return db
        .transact((tx) => insert(tx, made.previous, made.content))
        .catch((error: unknown) => {
          if (error instanceof MadeByAnother) return undefined
          throw error
        })
    },

    /** Checkpoints that were kept elsewhere and are not here: what they cover was rewritten, or cut off. */
    async compareWith(kept: readonly KeptCheckpoint[]): Promise<{ findings: Finding[]; compared: number }> {
      const hashes = new Map<string, number>()
      await db.snapshot(async (reader) => {
        for await (const batch of allCheckpoints(reader)) {
          for (const each of batch) hashes.set(toHex(each.hash), each.number)
        }
      })
      const isHere = ({ number, hash }: KeptCheckpoint): boolean => {
        const here = hashes.get(hash)
        return here !== undefined && (number === undefined || number === here)
      }
      const lost = kept.filter((each) => !isHere(each))
      return {
        findings: lost.map(({ number, hash }) => ({
          promise: 'checkpoint',
          where: number === undefined ? `checkpoint ${hash}` : `checkpoint ${number}, ${hash}`,
          problem: 'it was kept elsewhere and is not in this database',
        })),
        compared: kept.length,
      }
    },

    houseBalances: () => store.houseBalances(db),
  }

  /** The versions of rows that are new go under the checkpoint's number in the same commit. */
  async function insert(tx: Tx, previous: Checkpoint | undefined, content: Uncovered): Promise<Checkpoint> {
    const covered = { ...content, history: await history.stamp(tx, content.number) }
    const made = { ...covered, hash: sha256(checkpointText(previous?.hash ?? emptyHead, covered)) }
    if (!(await store.insertCheckpoint(tx, made))) throw new MadeByAnother()
    return made
  }
}

/** Another process has made the checkpoint of this number; its transaction stands and this one is undone. */
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

type Folded = { readonly checkpoint: Checkpoint; readonly fold: CheckpointFold }

function addStanding(fold: CheckpointFold, customer: string, posting: Posting | undefined): void {
  if (posting) fold.add(customer, posting.seq, posting.hash, posting.balanceAfter)
}

/** An account that has rested since the moment is taken as it stands; a busy one is looked up as it stood. */
async function foldAccount(reader: Reader, fold: CheckpointFold, account: Account, upto: number): Promise<void> {
  if (account.seq === 0) return
  if (account.lastAt <= upto) fold.add(account.customer, account.seq, account.head, account.balance)
  else addStanding(fold, account.customer, await store.lastPostingAt(reader, account.customer, upto))
}

/** A checkpoint before versions of rows are put under its number. */
type Uncovered = Omit<CheckpointContent, 'history'>

function contentOf(fold: CheckpointFold, previous: Checkpoint | undefined, upto: number, madeAt: number): Uncovered {
  const digest = fold.finish()
  return {
    number: (previous?.number ?? 0) + 1,
    upto,
    accounts: fold.accounts,
    postings: fold.postings,
    balances: fold.balances,
    digest,
    madeAt,
  }
}

/** Nothing may be posted outside the accounts, and what customers have is what the house owes them, to the kopeck. */
async function checkTotals(reader: Reader, walked: number, balances: bigint): Promise<Finding[]> {
  const findings: Finding[] = []
  const posted = await store.countPostings(reader)
  if (posted !== walked) {
    findings.push({ promise: 'chain', where: 'postings', problem: `${posted} exist, the accounts count ${walked}` })
  }
  const house = (await store.houseBalances(reader)).reduce((sum, each) => sum + each.balance, 0n)
  if (house + balances !== 0n) {
    findings.push({
      promise: 'sum',
      where: 'all accounts',
      problem: `they sum to ${house + balances} kopecks, not to 0`,
    })
  }
  return findings
}

async function checkSpending(
  reader: Reader,
  spent: ReadonlyMap<string, Kopecks>,
  caps: ReadonlyMap<string, Kopecks>,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const noted = new Map((await store.tokenSpending(reader)).map((each) => [each.token as string, each.spent]))
  for (const token of new Set([...noted.keys(), ...caps.keys()])) {
    const really = spent.get(token) ?? zero
    const where = `token ${token}`
    if ((noted.get(token) ?? zero) !== really) {
      findings.push({ promise: 'cap', where, problem: `its spending is not ${toRoubleText(really)} as posted` })
    }
    const cap = caps.get(token)
    if (cap !== undefined && really > cap)
      findings.push({ promise: 'cap', where, problem: 'it spent more than its cap' })
  }
  return findings
}

/**
 * Follows the checkpoints from the first, so that none is missing or changed. Hands back the newest, to be recomputed.
 */
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
      findings.push(...checkLink(checkpoint, previous, sha256), ...(await checkHistory(reader, checkpoint, history)))
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
 * The versions of rows that a checkpoint covers are the ones it was made over, but for what erasures took out of them:
 * each tells the digest that it found and the one that it left, from the checkpoint's own to the one of now.
 */
async function checkHistory(reader: Reader, checkpoint: Checkpoint, history: History): Promise<Finding[]> {
  const now = await history.digestOf(reader, checkpoint.number)
  const where = `checkpoint ${checkpoint.number}`
  const found = (problem: string): Finding[] => [{ promise: 'checkpoint', where, problem }]
  const changed = 'the versions of rows are not those it was made over'
  let digest = checkpoint.history.digest
  let erased = 0
  for (const [index, amendment] of (await history.amendmentsOf(reader, checkpoint.number)).entries()) {
    if (amendment.number !== index + 1 || toHex(amendment.before) !== toHex(digest)) {
      return found('what erasures made of its versions does not follow one from the other')
    }
    digest = amendment.after
    erased += amendment.versions
  }
  if (now.versions !== checkpoint.history.versions || toHex(now.digest) !== toHex(digest)) return found(changed)
  // More may be: what was blanked before a checkpoint covered it was never told of.
  if (erased > (await history.countErased(reader, checkpoint.number))) {
    return found('fewer versions are blank than erasures have blanked')
  }
  return []
}

function checkLink(checkpoint: Checkpoint, previous: Checkpoint | undefined, sha256: Sha256): Finding[] {
  const findings: Finding[] = []
  const where = `checkpoint ${checkpoint.number}`
  const before = previous?.number ?? 0
  if (checkpoint.number !== before + 1) {
    findings.push({ promise: 'checkpoint', where, problem: `it follows number ${before}: checkpoints are missing` })
  }
  if (toHex(sha256(checkpointText(previous?.hash ?? emptyHead, checkpoint))) !== toHex(checkpoint.hash)) {
    const problem = 'its hash does not match its content and the one before it'
    findings.push({ promise: 'checkpoint', where, problem })
  }
  return findings
}

function checkFolds(folds: readonly Folded[]): Finding[] {
  const changed = folds.filter(
    ({ checkpoint, fold }) =>
      toHex(fold.finish()) !== toHex(checkpoint.digest) ||
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

/** Looks for checkpoints that were kept elsewhere: each must be in this database. */
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
