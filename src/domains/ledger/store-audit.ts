import type { CustomerId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { list, readWide, type WideSum, wideSum } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Account, Posting } from './rules.ts'
import type { Checkpoint } from './rules-audit.ts'
import { type AccountRow, type PostingRow, toAccount, toPosting } from './store.ts'

/** Every account once, in the order of their ids, a page at a time. */
export async function accountsAfter(reader: Reader, after: string, limit: number): Promise<Account[]> {
  const rows = await reader.all<AccountRow>(
    'SELECT * FROM accounts WHERE customer_id > $1 ORDER BY customer_id LIMIT $2',
    [after, limit],
  )
  // Whatever stands there is taken as it is: a balance out of range is for `verify` to tell, not to stumble over.
  return rows.map((row) => ({
    ...toAccount({ ...row, balance: 0n, api_spent: 0n }),
    balance: row.balance as Kopecks,
    apiSpent: row.api_spent as Kopecks,
  }))
}

/** One account's postings, oldest first, a page at a time. */
export async function postingsAfter(
  reader: Reader,
  customer: CustomerId,
  after: number,
  limit: number,
): Promise<Posting[]> {
  const rows = await reader.all<PostingRow>(
    'SELECT * FROM postings WHERE customer_id = $1 AND seq > $2 ORDER BY seq LIMIT $3',
    [customer, after, limit],
  )
  return rows.map(toPosting)
}

/** The last posting of an account at a moment. */
export async function lastPostingAt(reader: Reader, customer: CustomerId, upto: number): Promise<Posting | undefined> {
  const row = await reader.first<PostingRow>(
    'SELECT * FROM postings WHERE customer_id = $1 AND at <= $2 ORDER BY seq DESC LIMIT 1',
    [customer, upto],
  )
  return row && toPosting(row)
}

export async function countPostings(reader: Reader): Promise<number> {
  return Number((await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM postings'))?.n ?? 0n)
}

/** What each house account has, as the house sees it: the other side of every posting. */
export async function houseBalances(reader: Reader): Promise<{ house: string; balance: bigint }[]> {
  const rows = await reader.all<WideSum<'amount'> & { house: string }>(
    `SELECT house, ${wideSum('amount', 'amount')} FROM postings GROUP BY house ORDER BY house`,
  )
  return rows.map((row) => ({ house: row.house, balance: -readWide(row, 'amount') }))
}

export async function tokenSpending(reader: Reader): Promise<{ token: TokenId; spent: Kopecks }[]> {
  const rows = await reader.all<{ token_id: string; spent: bigint }>('SELECT token_id, spent FROM token_spending')
  return rows.map((row) => ({ token: row.token_id as TokenId, spent: kopecks(row.spent) }))
}

type CheckpointRow = {
  number: bigint
  upto: bigint
  accounts: bigint
  postings: bigint
  balances: bigint
  digest: Uint8Array
  hash: Uint8Array
  made_at: bigint
  versions: bigint
  versions_digest: Uint8Array
}

const toCheckpoint = (row: CheckpointRow): Checkpoint => ({
  number: Number(row.number),
  upto: Number(row.upto),
  accounts: Number(row.accounts),
  postings: Number(row.postings),
  balances: row.balances,
  digest: row.digest,
  hash: row.hash,
  madeAt: Number(row.made_at),
  history: { versions: Number(row.versions), digest: row.versions_digest },
})

export async function latestCheckpoint(reader: Reader): Promise<Checkpoint | undefined> {
  const row = await reader.first<CheckpointRow>('SELECT * FROM checkpoints ORDER BY number DESC LIMIT 1')
  return row && toCheckpoint(row)
}

/** Every checkpoint once, oldest first, a page at a time. */
export async function checkpointsAfter(reader: Reader, after: number, limit: number): Promise<Checkpoint[]> {
  const rows = await reader.all<CheckpointRow>('SELECT * FROM checkpoints WHERE number > $1 ORDER BY number LIMIT $2', [
    after,
    limit,
  ])
  return rows.map(toCheckpoint)
}

/** Two processes may make a checkpoint of one number; the first one's stands, and the other one's is undone. */
export async function insertCheckpoint(tx: Tx, of: Checkpoint): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO checkpoints
       (number, upto, accounts, postings, balances, digest, hash, made_at, versions, versions_digest)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (number) DO NOTHING`,
    [
      of.number,
      of.upto,
      of.accounts,
      of.postings,
      of.balances,
      of.digest,
      of.hash,
      of.madeAt,
      of.history.versions,
      of.history.digest,
    ],
  )
  return added === 1
}

/** What stands for these payments, in the order of accounts and their postings. */
export async function postingsByReference(reader: Reader, references: readonly string[]): Promise<Posting[]> {
  if (references.length === 0) return []
  const rows = await reader.all<PostingRow>(
    `SELECT * FROM postings WHERE reference IN (${list(references.length)}) AND house <> 'funds:operator'
     ORDER BY customer_id, seq`,
    references,
  )
  return rows.map(toPosting)
}

/** How many movements stand for a payment that a customer has made by himself. */
export async function countByReference(reader: Reader): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM postings WHERE reference IS NOT NULL AND house <> 'funds:operator'`,
  )
  return Number(row?.n ?? 0n)
}

/** What was given back of a charge. */
export async function refundOf(reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> {
  const row = await reader.first<PostingRow>('SELECT * FROM postings WHERE customer_id = $1 AND refund_of = $2', [
    customer,
    seq,
  ])
  return row && toPosting(row)
}
