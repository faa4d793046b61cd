import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { numberOrNull, readWide, type WideSum, wideSum } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Account, HouseAccount, Posting, PostingKind } from './rules.ts'

export type AccountRow = {
  customer_id: string
  balance: bigint
  api_spent: bigint
  seq: bigint
  head: Uint8Array
  last_at: bigint
  shut_count: bigint
}

export type PostingRow = {
  customer_id: string
  seq: bigint
  kind: string
  house: string
  amount: bigint
  balance_after: bigint
  order_id: string | null
  token_id: string | null
  refund_of: bigint | null
  note: string
  at: bigint
  hash: Uint8Array
  key: string | null
  reference: string | null
}

export const toAccount = (row: AccountRow): Account => ({
  customer: row.customer_id as CustomerId,
  balance: kopecks(row.balance),
  apiSpent: kopecks(row.api_spent),
  seq: Number(row.seq),
  head: row.head,
  lastAt: Number(row.last_at),
  revocationEpoch: Number(row.shut_count),
})

export const toPosting = (row: PostingRow): Posting => ({
  customer: row.customer_id as CustomerId,
  seq: Number(row.seq),
  kind: row.kind as PostingKind,
  house: row.house as HouseAccount,
  amount: kopecks(row.amount),
  balanceAfter: kopecks(row.balance_after),
  order: row.order_id as OrderId | null,
  token: row.token_id as TokenId | null,
  refundOf: numberOrNull(row.refund_of),
  note: row.note,
  key: row.key,
  reference: row.reference,
  at: Number(row.at),
  hash: row.hash,
})

const accountColumns = 'customer_id, balance, api_spent, seq, head, last_at, shut_count'

/** Nobody else moves this customer's money until the transaction ends. */
export async function lockAccount(tx: Tx, customer: CustomerId): Promise<Account | undefined> {
  const row = await tx.first<AccountRow>(`SELECT ${accountColumns} FROM accounts WHERE customer_id = $1 FOR UPDATE`, [
    customer,
  ])
  return row && toAccount(row)
}

export async function findAccount(reader: Reader, customer: CustomerId): Promise<Account | undefined> {
  const row = await reader.first<AccountRow>(`SELECT ${accountColumns} FROM accounts WHERE customer_id = $1`, [
    customer,
  ])
  return row && toAccount(row)
}

export function insertAccount(tx: Tx, account: Account): void {
  tx.send(
    'INSERT INTO accounts (customer_id, balance, api_spent, seq, head, last_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [account.customer, account.balance, account.apiSpent, account.seq, account.head, account.lastAt],
  )
}

/**
 * The balance and the posting that explains it change together. The row is locked, so the account is the one decided
 * on.
 */
export function writePosting(tx: Tx, account: Account, posting: Posting): void {
  tx.send(
    'UPDATE accounts SET balance = $2, api_spent = $3, seq = $4, head = $5, last_at = $6 WHERE customer_id = $1',
    [account.customer, account.balance, account.apiSpent, account.seq, account.head, account.lastAt],
  )
  tx.send(
    `INSERT INTO postings
       (customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash,
        key, reference)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      posting.customer,
      posting.seq,
      posting.kind,
      posting.house,
      posting.amount,
      posting.balanceAfter,
      posting.order,
      posting.token,
      posting.refundOf,
      posting.note,
      posting.at,
      posting.hash,
      posting.key,
      posting.reference,
    ],
  )
}

export async function findPosting(reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> {
  const row = await reader.first<PostingRow>('SELECT * FROM postings WHERE customer_id = $1 AND seq = $2', [
    customer,
    seq,
  ])
  return row && toPosting(row)
}

/** What was moved under an operator's key, for whichever customer: a key has one effect. */
export async function findByKey(reader: Reader, key: string): Promise<Posting | undefined> {
  const row = await reader.first<PostingRow>('SELECT * FROM postings WHERE key = $1', [key])
  return row && toPosting(row)
}

/** Whether a customer was erased: from then on no operator moves his money, which nobody could ask for. */
export async function isErased(reader: Reader, customer: CustomerId): Promise<boolean> {
  return (await reader.first('SELECT 1 AS one FROM erasures WHERE customer_id = $1', [customer])) !== undefined
}

/** Charges below `before`, newest first, each with the order it paid for. */
export async function listCharges(
  reader: Reader,
  customer: CustomerId,
  before: number,
  limit: number,
): Promise<OrderId[]> {
  const rows = await reader.all<{ order_id: string }>(
    `SELECT order_id FROM postings WHERE customer_id = $1 AND seq < $2 AND kind = 'charge' ORDER BY seq DESC LIMIT $3`,
    [customer, before, limit],
  )
  return rows.map((row) => row.order_id as OrderId)
}

/**
 * The newest charge for an order that sorts below this one. It looks at every charge that is newer, so it is for rare
 * questions.
 */
export async function findChargeBelow(
  reader: Reader,
  customer: CustomerId,
  order: string,
): Promise<number | undefined> {
  const row = await reader.first<{ seq: bigint }>(
    `SELECT seq FROM postings WHERE customer_id = $1 AND kind = 'charge' AND order_id < $2 ORDER BY seq DESC LIMIT 1`,
    [customer, order],
  )
  return row && Number(row.seq)
}

/** What was given back of a charge, in one part or in several. */
export async function sumRefunds(reader: Reader, customer: CustomerId, seq: number): Promise<Kopecks> {
  const row = await reader.first<{ sum: bigint }>(
    `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS sum FROM postings WHERE customer_id = $1 AND refund_of = $2`,
    [customer, seq],
  )
  return kopecks(row?.sum ?? 0n)
}

/** Newest first, from just below `before`. The numbers have no gaps, so a page never misses or repeats one. */
export async function listPostings(
  reader: Reader,
  customer: CustomerId,
  before: number,
  limit: number,
): Promise<Posting[]> {
  const rows = await reader.all<PostingRow>(
    'SELECT * FROM postings WHERE customer_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3',
    [customer, before, limit],
  )
  return rows.map(toPosting)
}

/** What a capped token has spent. The customer's account is locked, so two charges of one token take turns. */
export async function findSpent(tx: Tx, token: TokenId): Promise<Kopecks> {
  const row = await tx.first<{ spent: bigint }>('SELECT spent FROM token_spending WHERE token_id = $1', [token])
  return kopecks(row?.spent ?? 0n)
}

export function writeSpent(tx: Tx, token: TokenId, spent: Kopecks): void {
  tx.send(
    'INSERT INTO token_spending (token_id, spent) VALUES ($1, $2) ON CONFLICT (token_id) DO UPDATE SET spent = $2',
    [token, spent],
  )
}

/** Takes a refund off what a capped token has spent; a token without a cap has no row and needs none. */
export function reduceSpent(tx: Tx, token: TokenId, amount: Kopecks): void {
  tx.send('UPDATE token_spending SET spent = spent - $2 WHERE token_id = $1', [token, amount])
}

/** What moved with an order: its charge and what was given back of it, the oldest first. */
export async function listOfOrder(reader: Reader, customer: CustomerId, order: string): Promise<Posting[]> {
  const rows = await reader.all<PostingRow>(
    'SELECT * FROM postings WHERE customer_id = $1 AND order_id = $2 ORDER BY seq LIMIT 1000',
    [customer, order],
  )
  return rows.map(toPosting)
}

/** What was given back on each day from a moment on. */
export async function refundsByDay(reader: Reader, from: number): Promise<{ day: number; sum: Kopecks }[]> {
  const rows = await reader.all<{ day: bigint } & WideSum<'sum'>>(
    `SELECT at / 86400000 AS day, ${wideSum('amount', 'sum')} FROM postings
     WHERE refund_of IS NOT NULL AND at >= $1 GROUP BY at / 86400000 ORDER BY 1`,
    [from],
  )
  return rows.map((row) => ({ day: Number(row.day) * 86_400_000, sum: kopecks(readWide(row, 'sum')) }))
}
