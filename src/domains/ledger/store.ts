import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks, zero } from '../../core/money.ts'
import { list, numberOrNull, readWide, type WideSum, wideSum } from '../../db/rows.ts'
import type { Reader, Tx, Value } from '../../db/transaction.ts'
import type { Account, Checkpoint, HouseAccount, Posting, PostingKind } from './rules.ts'

type AccountRow = {
  customer_id: CustomerId
  balance: Kopecks
  api_spent: Kopecks
  seq: bigint
  head: Uint8Array
  last_at: bigint
  revocation_epoch: bigint
}

export type PostingRow = {
  customer_id: CustomerId
  seq: bigint
  kind: PostingKind
  house: HouseAccount
  amount: bigint
  balance_after: bigint
  order_id: OrderId | null
  token_id: TokenId | null
  refund_of: bigint | null
  note: string
  at: bigint
  hash: Uint8Array
  key: string | null
  reference: string | null
}

const toAccount = (row: AccountRow): Account => ({
  customer: row.customer_id,
  balance: kopecks(row.balance),
  apiSpent: kopecks(row.api_spent),
  seq: Number(row.seq),
  head: row.head,
  lastAt: Number(row.last_at),
  revocationEpoch: Number(row.revocation_epoch),
})

export const toPosting = (row: PostingRow): Posting => ({
  customer: row.customer_id,
  seq: Number(row.seq),
  kind: row.kind,
  house: row.house,
  amount: kopecks(row.amount),
  balanceAfter: kopecks(row.balance_after),
  order: row.order_id,
  token: row.token_id,
  refundOf: numberOrNull(row.refund_of),
  note: row.note,
  key: row.key,
  reference: row.reference,
  at: Number(row.at),
  hash: row.hash,
})

async function findOne(reader: Reader, sql: string, values: readonly Value[]): Promise<Posting | undefined> {
  const row = await reader.first<PostingRow>(sql, values)
  return row && toPosting(row)
}

async function findAll(reader: Reader, sql: string, values: readonly Value[]): Promise<Posting[]> {
  return (await reader.all<PostingRow>(sql, values)).map(toPosting)
}

const accountColumns = 'customer_id, balance, api_spent, seq, head, last_at, revocation_epoch'

/** Locks the account until the transaction ends. */
export async function lockAccount(tx: Tx, customer: CustomerId): Promise<Account | undefined> {
  const sql = `SELECT ${accountColumns} FROM accounts WHERE customer_id = $1 FOR UPDATE`
  const row = await tx.first<AccountRow>(sql, [customer])
  return row && toAccount(row)
}

export async function findAccount(reader: Reader, customer: CustomerId): Promise<Account | undefined> {
  const sql = `SELECT ${accountColumns} FROM accounts WHERE customer_id = $1`
  const row = await reader.first<AccountRow>(sql, [customer])
  return row && toAccount(row)
}

/** All accounts in the order of their ids, for `verify`. Balances are not range-checked: `verify` reports them. */
export async function accountsAfter(reader: Reader, after: string, limit: number): Promise<Account[]> {
  const rows = await reader.all<AccountRow>(
    'SELECT * FROM accounts WHERE customer_id > $1 ORDER BY customer_id LIMIT $2',
    [after, limit],
  )
  return rows.map((row) => ({
    ...toAccount({ ...row, balance: zero, api_spent: zero }),
    balance: row.balance,
    apiSpent: row.api_spent,
  }))
}

export function insertAccount(tx: Tx, account: Account): void {
  tx.send(
    'INSERT INTO accounts (customer_id, balance, api_spent, seq, head, last_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [account.customer, account.balance, account.apiSpent, account.seq, account.head, account.lastAt],
  )
}

/** Updates the balance and inserts its posting. The caller has locked the account. */
export function writePosting(tx: Tx, account: Account, posting: Posting): void {
  tx.send(
    'UPDATE accounts SET balance = $2, api_spent = $3, seq = $4, head = $5, last_at = $6 WHERE customer_id = $1',
    [account.customer, account.balance, account.apiSpent, account.seq, account.head, account.lastAt],
  )
  const { customer, seq, kind, house, amount, balanceAfter, order, token, refundOf, note, at, hash, key } = posting
  tx.send(
    `INSERT INTO postings
       (customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash,
        key, reference)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [customer, seq, kind, house, amount, balanceAfter, order, token, refundOf, note, at, hash, key, posting.reference],
  )
}

export const findPosting = (reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> =>
  findOne(reader, 'SELECT * FROM postings WHERE customer_id = $1 AND seq = $2', [customer, seq])

/** The movement under an operator's idempotency key, of any customer. */
export const findByKey = (reader: Reader, key: string): Promise<Posting | undefined> =>
  findOne(reader, 'SELECT * FROM postings WHERE key = $1', [key])

export const findRefundOf = (reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> =>
  findOne(reader, 'SELECT * FROM postings WHERE customer_id = $1 AND refund_of = $2', [customer, seq])

/** The last posting of an account at a moment. */
export const lastPostingAt = (reader: Reader, customer: CustomerId, upto: number): Promise<Posting | undefined> =>
  findOne(reader, 'SELECT * FROM postings WHERE customer_id = $1 AND at <= $2 ORDER BY seq DESC LIMIT 1', [
    customer,
    upto,
  ])

/** Newest first, below `before`. Numbers have no gaps, so pages neither skip nor repeat a posting. */
export const listPostings = (reader: Reader, customer: CustomerId, before: number, limit: number): Promise<Posting[]> =>
  findAll(reader, 'SELECT * FROM postings WHERE customer_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3', [
    customer,
    before,
    limit,
  ])

/** Oldest first, above `after`. */
export const postingsAfter = (reader: Reader, customer: CustomerId, after: number, limit: number): Promise<Posting[]> =>
  findAll(reader, 'SELECT * FROM postings WHERE customer_id = $1 AND seq > $2 ORDER BY seq LIMIT $3', [
    customer,
    after,
    limit,
  ])

/** The charge of an order and its refunds, oldest first. */
export const listOfOrder = (reader: Reader, customer: CustomerId, order: string): Promise<Posting[]> =>
  findAll(reader, 'SELECT * FROM postings WHERE customer_id = $1 AND order_id = $2 ORDER BY seq LIMIT 1000', [
    customer,
    order,
  ])

/** The postings of these payments, in the order of accounts and numbers. */
export async function postingsByReference(reader: Reader, references: readonly string[]): Promise<Posting[]> {
  if (references.length === 0) return []
  return findAll(
    reader,
    `SELECT * FROM postings WHERE reference IN (${list(references.length)}) AND house <> 'funds:operator'
     ORDER BY customer_id, seq`,
    references,
  )
}

/** How many postings belong to a payment that a customer has made. */
export async function countByReference(reader: Reader): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM postings WHERE reference IS NOT NULL AND house <> 'funds:operator'`,
  )
  return Number(row?.n ?? 0n)
}

export async function countPostings(reader: Reader): Promise<number> {
  return Number((await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM postings'))?.n ?? 0n)
}

export async function isErased(reader: Reader, customer: CustomerId): Promise<boolean> {
  return (await reader.first('SELECT 1 AS one FROM erasures WHERE customer_id = $1', [customer])) !== undefined
}

/** The orders of charges below `before`, newest first. */
export async function listCharges(
  reader: Reader,
  customer: CustomerId,
  before: number,
  limit: number,
): Promise<OrderId[]> {
  const rows = await reader.all<{ order_id: OrderId }>(
    `SELECT order_id FROM postings WHERE customer_id = $1 AND seq < $2 AND kind = 'charge' ORDER BY seq DESC LIMIT $3`,
    [customer, before, limit],
  )
  return rows.map((row) => row.order_id)
}

/** The newest charge for an order with a lower id. It scans every newer charge, so it is for rare use. */
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

export async function sumRefunds(reader: Reader, customer: CustomerId, seq: number): Promise<Kopecks> {
  const row = await reader.first<{ sum: bigint }>(
    `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS sum FROM postings WHERE customer_id = $1 AND refund_of = $2`,
    [customer, seq],
  )
  return kopecks(row?.sum ?? 0n)
}

/** The spending of a capped token. The caller has locked the account, so charges of one token are serial. */
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

/** Takes a refund off a capped token's spending. A token without a cap has no row. */
export function reduceSpent(tx: Tx, token: TokenId, amount: Kopecks): void {
  tx.send('UPDATE token_spending SET spent = spent - $2 WHERE token_id = $1', [token, amount])
}

export async function tokenSpending(reader: Reader): Promise<Map<string, Kopecks>> {
  const rows = await reader.all<{ token_id: string; spent: bigint }>('SELECT token_id, spent FROM token_spending')
  return new Map(rows.map((row) => [row.token_id, kopecks(row.spent)]))
}

/** The balance of each house account: the negated sum of its postings. */
export async function houseBalances(reader: Reader): Promise<{ house: string; balance: bigint }[]> {
  const rows = await reader.all<WideSum<'amount'> & { house: string }>(
    `SELECT house, ${wideSum('amount', 'amount')} FROM postings GROUP BY house ORDER BY house`,
  )
  return rows.map((row) => ({ house: row.house, balance: -readWide(row, 'amount') }))
}

/** What moved on a UTC day, counted from 1970, between customers and one house account, by kind. */
type DaySum = {
  readonly day: number
  readonly house: string
  readonly kind: string
  readonly count: number
  readonly amount: bigint
}

/** For reports: it reads every posting of the period. */
export async function sumByDay(reader: Reader, fromAt: number, toAt: number): Promise<DaySum[]> {
  const rows = await reader.all<WideSum<'amount'> & { day: bigint; house: string; kind: string; n: bigint }>(
    `SELECT at / 86400000 AS day, house, kind, COUNT(*) AS n, ${wideSum('amount', 'amount')}
     FROM postings WHERE at >= $1 AND at < $2 GROUP BY at / 86400000, house, kind ORDER BY 1, 2, 3`,
    [fromAt, toAt],
  )
  return rows.map((row) => ({
    day: Number(row.day),
    house: row.house,
    kind: row.kind,
    count: Number(row.n),
    amount: readWide(row, 'amount'),
  }))
}

/** The sum of all customers' balances at a moment. */
export async function sumBefore(reader: Reader, at: number): Promise<bigint> {
  const row = await reader.first<WideSum<'amount'>>(
    `SELECT ${wideSum('amount', 'amount')} FROM postings WHERE at < $1`,
    [at],
  )
  return row ? readWide(row, 'amount') : 0n
}

export async function refundsByDay(reader: Reader, from: number): Promise<{ day: number; sum: Kopecks }[]> {
  const rows = await reader.all<{ day: bigint } & WideSum<'sum'>>(
    `SELECT at / 86400000 AS day, ${wideSum('amount', 'sum')} FROM postings
     WHERE refund_of IS NOT NULL AND at >= $1 GROUP BY at / 86400000 ORDER BY 1`,
    [from],
  )
  return rows.map((row) => ({ day: Number(row.day) * 86_400_000, sum: kopecks(readWide(row, 'sum')) }))
}

type CheckpointRow = Record<'number' | 'upto' | 'accounts' | 'postings' | 'balances' | 'made_at' | 'versions', bigint> &
  Record<'digest' | 'hash' | 'versions_digest', Uint8Array>

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

/** Oldest first. */
export async function checkpointsAfter(reader: Reader, after: number, limit: number): Promise<Checkpoint[]> {
  const sql = 'SELECT * FROM checkpoints WHERE number > $1 ORDER BY number LIMIT $2'
  return (await reader.all<CheckpointRow>(sql, [after, limit])).map(toCheckpoint)
}

/** Returns false if another process has inserted a checkpoint of this number. */
export async function insertCheckpoint(tx: Tx, of: Checkpoint): Promise<boolean> {
  const { number, upto, accounts, postings, balances, digest, hash, madeAt, history } = of
  const added = await tx.run(
    `INSERT INTO checkpoints
       (number, upto, accounts, postings, balances, digest, hash, made_at, versions, versions_digest)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (number) DO NOTHING`,
    [number, upto, accounts, postings, balances, digest, hash, madeAt, history.versions, history.digest],
  )
  return added === 1
}
