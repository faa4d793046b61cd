import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import {
  big,
  bytes,
  columnsOf,
  idColumn,
  int,
  money,
  orNull,
  type Row,
  recordsOf,
  textColumn,
  valuesOf,
} from '../../db/columns.ts'
import { allOf, countBy, hasRow, readWide, runRows, sendRows, type WideSum, wideSum } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Account, Checkpoint, Posting } from './rules.ts'

const accounts = columnsOf<Account>({
  customer: idColumn('customer_id'),
  balance: money('balance'),
  apiSpent: money('api_spent'),
  seq: int('seq'),
  head: bytes('head'),
  lastAt: int('last_at'),
  revocationEpoch: int('revocation_epoch'),
  alertBelow: orNull(money('alert_below')),
})

const postings = columnsOf<Posting>({
  customer: idColumn('customer_id'),
  seq: int('seq'),
  kind: idColumn('kind'),
  house: idColumn('house'),
  amount: money('amount'),
  balanceAfter: money('balance_after'),
  order: orNull(idColumn('order_id')),
  token: orNull(idColumn('token_id')),
  refundOf: orNull(int('refund_of')),
  note: textColumn('note'),
  key: orNull(textColumn('key')),
  reference: orNull(textColumn('reference')),
  at: int('at'),
  hash: bytes('hash'),
})

/** Locks the account until the transaction ends. */
export const lockAccount = (tx: Tx, customer: CustomerId): Promise<Account | undefined> =>
  accounts.first(tx, `SELECT ${accounts.names} FROM accounts WHERE customer_id = $1 FOR UPDATE`, [customer])

export const findAccount = (reader: Reader, customer: CustomerId): Promise<Account | undefined> =>
  accounts.first(reader, `SELECT ${accounts.names} FROM accounts WHERE customer_id = $1`, [customer])

/** All accounts in the order of their ids, for `verify`. Balances are not range-checked: `verify` reports them. */
export async function accountsAfter(reader: Reader, after: string, limit: number): Promise<Account[]> {
  return readAccounts(reader, '>', after, limit)
}

/** The same from an account on. */
export const accountsFrom = (reader: Reader, from: string, limit: number): Promise<Account[]> =>
  readAccounts(reader, '>=', from, limit)

async function readAccounts(reader: Reader, than: '>' | '>=', key: string, limit: number): Promise<Account[]> {
  const rows = await reader.all<Row & { balance: Kopecks; api_spent: Kopecks }>(
    `SELECT * FROM accounts WHERE customer_id ${than} $1 ORDER BY customer_id LIMIT $2`,
    [key, limit],
  )
  return rows.map((row) => {
    const account = accounts.read({ ...row, balance: 0n, api_spent: 0n })
    return { ...account, balance: row.balance, apiSpent: row.api_spent }
  })
}

export const insertAccount = (tx: Tx, account: Account): void =>
  sendRows(tx, `INSERT INTO accounts (${accounts.names})`, [accounts.values(account)])

export const setAlert = (tx: Tx, customer: CustomerId, below: Kopecks | null): Promise<number> =>
  tx.run('UPDATE accounts SET alert_below = $2 WHERE customer_id = $1', [customer, below])

/** Updates the balance and inserts its posting. The caller has locked the account. */
export function writePosting(tx: Tx, account: Account, posting: Posting): void {
  tx.send(
    'UPDATE accounts SET balance = $2, api_spent = $3, seq = $4, head = $5, last_at = $6 WHERE customer_id = $1',
    [account.customer, account.balance, account.apiSpent, account.seq, account.head, account.lastAt],
  )
  sendRows(tx, `INSERT INTO postings (${postings.names})`, [postings.values(posting)])
}

export const findPosting = (reader: Reader, customer: CustomerId, seq: number): Promise<Posting | undefined> =>
  postings.first(reader, 'SELECT * FROM postings WHERE customer_id = $1 AND seq = $2', [customer, seq])

/** The movement under an operator's idempotency key, of any customer. */
export const findByKey = (reader: Reader, key: string): Promise<Posting | undefined> =>
  postings.first(reader, 'SELECT * FROM postings WHERE key = $1', [key])

export const listRefundsOf = (reader: Reader, customer: CustomerId, seq: number): Promise<Posting[]> =>
  postings.all(reader, 'SELECT * FROM postings WHERE customer_id = $1 AND refund_of = $2', [customer, seq])

/** The last posting of an account at a moment. */
export function lastPostingAt(reader: Reader, customer: CustomerId, upto: number): Promise<Posting | undefined> {
  const sql = 'SELECT * FROM postings WHERE customer_id = $1 AND at <= $2 ORDER BY seq DESC LIMIT 1'
  return postings.first(reader, sql, [customer, upto])
}

/** Newest first, below `before`. Numbers have no gaps, so pages neither skip nor repeat a posting. */
export function listPostings(reader: Reader, customer: CustomerId, before: number, limit: number): Promise<Posting[]> {
  const sql = 'SELECT * FROM postings WHERE customer_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3'
  return postings.all(reader, sql, [customer, before, limit])
}

/** Oldest first, above `after`. */
export function postingsAfter(reader: Reader, customer: CustomerId, after: number, limit: number): Promise<Posting[]> {
  const sql = 'SELECT * FROM postings WHERE customer_id = $1 AND seq > $2 ORDER BY seq LIMIT $3'
  return postings.all(reader, sql, [customer, after, limit])
}

/** The charge of an order and its refunds, oldest first. */
export function listOfOrder(reader: Reader, customer: CustomerId, order: string): Promise<Posting[]> {
  const sql = 'SELECT * FROM postings WHERE customer_id = $1 AND order_id = $2 ORDER BY seq LIMIT 1000'
  return postings.all(reader, sql, [customer, order])
}

/** The postings of these payments, in the order of accounts and numbers. */
export async function postingsByReference(reader: Reader, references: readonly string[]): Promise<Posting[]> {
  const sql = (among: string) => `SELECT * FROM postings WHERE reference IN (${among}) AND house <> 'funds:operator'
     ORDER BY customer_id, seq`
  return (await allOf<Row>(reader, references, sql)).map(postings.read)
}

/** How many postings belong to a payment that a customer has made. */
export const countByReference = (reader: Reader): Promise<number> =>
  countBy(reader, `SELECT COUNT(*) AS n FROM postings WHERE reference IS NOT NULL AND house <> 'funds:operator'`)

/** How many postings the accounts count, and the sum of their balances. */
export async function sumAccounts(reader: Reader): Promise<{ postings: number; balances: bigint }> {
  const row = await reader.first<{ n: bigint } & WideSum<'balance'>>(
    `SELECT CAST(COALESCE(SUM(seq), 0) AS BIGINT) AS n, ${wideSum('balance', 'balance')} FROM accounts`,
  )
  return { postings: Number(row?.n ?? 0n), balances: row ? readWide(row, 'balance') : 0n }
}

/** What each capped token has spent, less refunds, by the postings. */
export async function postedSpending(reader: Reader, tokens: readonly string[]): Promise<Map<string, Kopecks>> {
  const sql = (among: string) => `SELECT token_id, ${wideSum('amount', 'amount')} FROM postings
     WHERE token_id IN (${among}) AND kind IN ('charge', 'refund') GROUP BY token_id`
  const rows = await allOf<WideSum<'amount'> & { token_id: string }>(reader, tokens, sql)
  return new Map(rows.map((row) => [row.token_id, -readWide(row, 'amount') as Kopecks]))
}

/** Accounts with a posting after a moment, in the order of their ids. */
export async function accountsSince(reader: Reader, sinceAt: number, after: string, limit: number): Promise<Account[]> {
  const sql = 'SELECT customer_id FROM accounts WHERE last_at > $1 AND customer_id > $2 ORDER BY customer_id LIMIT $3'
  const found = await valuesOf(idColumn<CustomerId>('customer_id')).all(reader, sql, [sinceAt, after, limit])
  const accountsFound: Account[] = []
  for (const customer of found) accountsFound.push(...(await accountsFrom(reader, customer, 1)))
  return accountsFound
}

export const countAccounts = (reader: Reader): Promise<number> => countBy(reader, 'SELECT COUNT(*) AS n FROM accounts')

export const countPostings = (reader: Reader): Promise<number> => countBy(reader, 'SELECT COUNT(*) AS n FROM postings')

export const isErased = (reader: Reader, customer: CustomerId): Promise<boolean> =>
  hasRow(reader, 'SELECT 1 AS one FROM erasures WHERE customer_id = $1', [customer])

/** The orders of charges below `before`, newest first. */
export const listCharges = (reader: Reader, customer: CustomerId, before: number, limit: number): Promise<OrderId[]> =>
  valuesOf(idColumn<OrderId>('order_id')).all(
    reader,
    `SELECT order_id FROM postings WHERE customer_id = $1 AND seq < $2 AND kind = 'charge' ORDER BY seq DESC LIMIT $3`,
    [customer, before, limit],
  )

/** The newest charge for an order with a lower id. It scans every newer charge, so it is for rare use. */
export const findChargeBelow = (reader: Reader, customer: CustomerId, order: string): Promise<number | undefined> =>
  valuesOf(int('seq')).first(
    reader,
    `SELECT seq FROM postings WHERE customer_id = $1 AND kind = 'charge' AND order_id < $2 ORDER BY seq DESC LIMIT 1`,
    [customer, order],
  )

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

/** A posting's place among those of all customers: by time, then by customer and number. */
export type PostingPosition = { readonly at: number; readonly customer: string; readonly seq: number }

/** Credits and debits of all customers from one instant until just before another, oldest first, after a position. */
export const listFunding = (
  reader: Reader,
  { fromAt, toAt }: { readonly fromAt: number; readonly toAt: number },
  after: PostingPosition,
  limit: number,
): Promise<Posting[]> =>
  postings.all(
    reader,
    `SELECT * FROM postings WHERE kind IN ('credit', 'debit') AND at >= $1 AND at < $2
       AND (at, customer_id, seq) > ($3, $4, $5) ORDER BY at, customer_id, seq LIMIT $6`,
    [fromAt, toAt, after.at, after.customer, after.seq, limit],
  )

const checkpointColumns = columnsOf<Omit<Checkpoint, 'history'>>({
  number: int('number'),
  upto: int('upto'),
  accounts: int('accounts'),
  postings: int('postings'),
  balances: big('balances'),
  digest: bytes('digest'),
  hash: bytes('hash'),
  madeAt: int('made_at'),
})
const historyColumns = columnsOf<Checkpoint['history']>({ versions: int('versions'), digest: bytes('versions_digest') })
const checkpoints = recordsOf((row) => ({ ...checkpointColumns.read(row), history: historyColumns.read(row) }))

export const latestCheckpoint = (reader: Reader): Promise<Checkpoint | undefined> =>
  checkpoints.first(reader, 'SELECT * FROM checkpoints ORDER BY number DESC LIMIT 1')

/** Oldest first. */
export const checkpointsAfter = (reader: Reader, after: number, limit: number): Promise<Checkpoint[]> =>
  checkpoints.all(reader, 'SELECT * FROM checkpoints WHERE number > $1 ORDER BY number LIMIT $2', [after, limit])

/** Returns false if another process has inserted a checkpoint of this number. */
export async function insertCheckpoint(tx: Tx, of: Checkpoint): Promise<boolean> {
  const added = await runRows(
    tx,
    `INSERT INTO checkpoints (${checkpointColumns.names}, ${historyColumns.names})`,
    [[...checkpointColumns.values(of), ...historyColumns.values(of.history)]],
    'ON CONFLICT (number) DO NOTHING',
  )
  return added === 1
}
