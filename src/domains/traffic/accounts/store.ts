import { emptyHead } from '../../../core/chain.ts'
import type { OrderId, SubuserId } from '../../../core/ids.ts'
import { big, bytes, columnsOf, idColumn, int, type Row, textColumn, valuesOf } from '../../../db/columns.ts'
import { allOf, list, padded, readWide, type WideSum, wideSum } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { ByteAccount, ByteAccountKey, ByteMovement, Lot } from './rules.ts'

const accounts = columnsOf<ByteAccount>({
  subuser: idColumn('subuser_id'),
  pool: textColumn('pool'),
  balance: big('balance'),
  aside: big('aside'),
  owed: big('owed'),
  used: big('used'),
  seq: int('seq'),
  head: bytes('head'),
  lastAt: int('last_at'),
})

/** Locks the account until the transaction ends. Opens it if it is new. */
export async function lockAccount(tx: Tx, key: ByteAccountKey): Promise<ByteAccount> {
  tx.send(
    `INSERT INTO traffic_accounts (subuser_id, pool, balance, aside, owed, used, seq, head, last_at)
     VALUES ($1, $2, 0, 0, 0, 0, 0, $3, 0) ON CONFLICT (subuser_id, pool) DO NOTHING`,
    [key.subuser, key.pool, emptyHead],
  )
  const account = await lockKnownAccount(tx, key)
  if (!account) throw new Error('an account that was just written is not there')
  return account
}

/** Locks an account only if it exists: a claim for an unknown sub-user must not open one. */
export const lockKnownAccount = (tx: Tx, { subuser, pool }: ByteAccountKey): Promise<ByteAccount | undefined> =>
  accounts.first(tx, 'SELECT * FROM traffic_accounts WHERE subuser_id = $1 AND pool = $2 FOR UPDATE', [subuser, pool])

/** Writes a movement, and the account as the movement leaves it. */
export function writeMovement(tx: Tx, account: ByteAccount, movement: ByteMovement): void {
  tx.send(
    `UPDATE traffic_accounts SET balance = $3, aside = $4, owed = $5, used = $6, seq = $7, head = $8, last_at = $9
     WHERE subuser_id = $1 AND pool = $2`,
    accounts.values(account),
  )
  const { subuser, pool, kind, amount, order, node, boot, at, hash } = movement
  const changed = [movement.seq, kind, amount, movement.aside, movement.owed]
  const after = [movement.balanceAfter, movement.asideAfter, movement.owedAfter]
  tx.send(
    `INSERT INTO traffic_movements (subuser_id, pool, seq, kind, amount, aside, owed, balance_after, aside_after,
       owed_after, order_id, node, boot, at, hash)
     VALUES (${list(15)})`,
    [subuser, pool, ...changed, ...after, order, node, boot, at, hash],
  )
}

export async function listAccounts(reader: Reader, subusers: readonly SubuserId[]): Promise<ByteAccount[]> {
  if (subusers.length === 0) return []
  const ids = padded(subusers)
  const sql = `SELECT * FROM traffic_accounts WHERE subuser_id IN (${list(ids.length)}) ORDER BY subuser_id, pool`
  return accounts.all(reader, sql, ids)
}

const lots = columnsOf<Lot>({
  subuser: idColumn('subuser_id'),
  pool: textColumn('pool'),
  order: idColumn('order_id'),
  expiresAt: int('expires_at'),
  size: big('size'),
  rest: big('rest'),
})

/** An account's lots with bytes left, earliest expiry first, a page at a time. The account's lock protects them. */
export const listLots = (
  tx: Tx,
  of: ByteAccountKey,
  after: { expiresAt: number; order: string },
  limit: number,
): Promise<Lot[]> =>
  lots.all(
    tx,
    `SELECT * FROM traffic_lots
     WHERE subuser_id = $1 AND pool = $2 AND rest > 0 AND (expires_at > $3 OR (expires_at = $3 AND order_id > $4))
     ORDER BY expires_at, order_id LIMIT $5`,
    [of.subuser, of.pool, after.expiresAt, after.order, limit],
  )

/** Lots of an account that hold less than they came with, latest expiry first. */
export const lotsWithRoom = (tx: Tx, { subuser, pool }: ByteAccountKey): Promise<Lot[]> =>
  lots.all(
    tx,
    `SELECT * FROM traffic_lots WHERE subuser_id = $1 AND pool = $2 AND rest < size
     ORDER BY expires_at DESC, order_id DESC`,
    [subuser, pool],
  )

/** All lots of an order, used up or not, wherever its bytes were moved, in the order in which accounts are locked. */
export const lotsOf = (reader: Reader, order: OrderId): Promise<Lot[]> =>
  lots.all(reader, 'SELECT * FROM traffic_lots WHERE order_id = $1 ORDER BY subuser_id, pool', [order])

/** Expired lots of accounts that have free bytes. */
export const lotsEnded = (reader: Reader, nowMs: number, limit: number): Promise<Lot[]> =>
  lots.all(
    reader,
    `SELECT lots.* FROM traffic_lots AS lots
     JOIN traffic_accounts AS accounts ON accounts.subuser_id = lots.subuser_id AND accounts.pool = lots.pool
     WHERE lots.rest > 0 AND lots.expires_at <= $1 AND accounts.balance > 0
     ORDER BY lots.expires_at, lots.order_id, lots.subuser_id LIMIT $2`,
    [nowMs, limit],
  )

export type LotKey = Pick<Lot, 'subuser' | 'pool' | 'order'>

export function findLot(tx: Tx, { subuser, pool, order }: LotKey): Promise<Lot | undefined> {
  const sql = 'SELECT * FROM traffic_lots WHERE subuser_id = $1 AND pool = $2 AND order_id = $3'
  return lots.first(tx, sql, [subuser, pool, order])
}

export function takeFromLot(tx: Tx, { subuser, pool, order }: LotKey, taken: bigint): void {
  const sql = 'UPDATE traffic_lots SET rest = rest - $4 WHERE subuser_id = $1 AND pool = $2 AND order_id = $3'
  tx.send(sql, [subuser, pool, order, taken])
}

/** Adds bytes of an order to an account's lot of that order. */
export const addToLot = (
  tx: Tx,
  { subuser, pool }: ByteAccountKey,
  order: OrderId,
  expiresAt: number,
  amount: bigint,
): void =>
  tx.send(
    `INSERT INTO traffic_lots (subuser_id, pool, order_id, expires_at, size, rest) VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (subuser_id, pool, order_id) DO UPDATE SET
       size = traffic_lots.size + excluded.size, rest = traffic_lots.rest + excluded.rest`,
    [subuser, pool, order, expiresAt, amount],
  )

/** The bytes that a node billed an account since a moment and left owed, less those restored, by boot. */
export const billedBy = (reader: Reader, { subuser, pool }: ByteAccountKey, node: string, sinceAt: number) =>
  reader.all<{ boot: string; used: bigint; owed: bigint }>(
    `SELECT boot,
       CAST(SUM(CASE kind WHEN 'used' THEN -(amount + aside) ELSE -amount END) AS BIGINT) AS used,
       CAST(SUM(CASE WHEN kind = 'restored' OR owed > 0 THEN owed ELSE 0 END) AS BIGINT) AS owed
     FROM traffic_movements
     WHERE subuser_id = $1 AND pool = $2 AND node = $3 AND at >= $4 AND kind IN ('used', 'restored')
     GROUP BY boot ORDER BY boot`,
    [subuser, pool, node, sinceAt],
  )

/** The bytes restored to these accounts, balance and debt together. Accounts without any are left out. */
export async function sumRestored(reader: Reader, of: readonly ByteAccountKey[]) {
  if (of.length === 0) return []
  const subusers = [...new Set(of.map((account) => account.subuser))]
  const rows = await reader.all<WideSum<'restored'> & ByteAccountKey>(
    `SELECT subuser_id AS subuser, pool, ${wideSum('amount - owed', 'restored')} FROM traffic_movements
     WHERE kind = 'restored' AND subuser_id IN (${list(subusers.length)}) GROUP BY subuser_id, pool`,
    subusers,
  )
  const isOne = ({ subuser, pool }: ByteAccountKey) => of.some((each) => each.subuser === subuser && each.pool === pool)
  return rows
    .filter(isOne)
    .map((row) => ({ subuser: row.subuser, pool: row.pool, restored: readWide(row, 'restored') }))
}

/** The bytes bought with an order, for the comparison with what the order says. */
export const boughtWith = (reader: Reader, order: OrderId) =>
  reader.all<ByteAccountKey & { readonly bytes: bigint }>(
    `SELECT subuser_id AS subuser, pool, amount AS bytes FROM traffic_movements
     WHERE order_id = $1 AND kind = 'bought'`,
    [order],
  )

/** The bytes of an order that were taken back. */
export async function refundedWith(reader: Reader, order: OrderId): Promise<bigint> {
  const row = await reader.first<WideSum<'bytes'>>(
    `SELECT ${wideSum('amount', 'bytes')} FROM traffic_movements WHERE order_id = $1 AND kind = 'refunded'`,
    [order],
  )
  return row ? -readWide(row, 'bytes') : 0n
}

export async function movedWith(reader: Reader, order: OrderId): Promise<bigint> {
  const row = await reader.first<WideSum<'bytes'>>(
    `SELECT ${wideSum('amount', 'bytes')} FROM traffic_movements WHERE order_id = $1 AND kind = 'moved_in'`,
    [order],
  )
  return row ? readWide(row, 'bytes') : 0n
}

/** Sub-users with unspent traffic of a pool, a page at a time. */
export const holdersOf = (reader: Reader, pool: string, after: string, limit: number): Promise<SubuserId[]> =>
  valuesOf(idColumn<SubuserId>('subuser_id')).all(
    reader,
    `SELECT DISTINCT subuser_id FROM traffic_lots WHERE rest > 0 AND pool = $1 AND subuser_id > $2
     ORDER BY subuser_id LIMIT $3`,
    [pool, after, limit],
  )

/** The orders that lots or movements name, a page at a time. */
export const ordersNamedIn = (
  reader: Reader,
  table: 'traffic_lots' | 'traffic_movements',
  after: string,
  limit: number,
): Promise<OrderId[]> =>
  valuesOf(idColumn<OrderId>('order_id')).all(
    reader,
    `SELECT DISTINCT order_id FROM ${table} WHERE order_id > $1 ORDER BY order_id LIMIT $2`,
    [after, limit],
  )

/** An account's movements in order, a page at a time. */
export async function movementsAfter(
  reader: Reader,
  { subuser, pool }: ByteAccountKey,
  after: number,
  limit: number,
): Promise<ByteMovement[]> {
  const rows = await reader.all<Omit<ByteMovement, 'seq' | 'at'> & { readonly seq: bigint; readonly at: bigint }>(
    `SELECT subuser_id AS subuser, pool, seq, kind, amount, aside, owed, balance_after AS "balanceAfter",
       aside_after AS "asideAfter", owed_after AS "owedAfter", order_id AS "order", node, boot, at, hash
     FROM traffic_movements WHERE subuser_id = $1 AND pool = $2 AND seq > $3 ORDER BY seq LIMIT $4`,
    [subuser, pool, after, limit],
  )
  return rows.map((row) => ({ ...row, seq: Number(row.seq), at: Number(row.at) }))
}

/** All accounts, a page at a time, for `verify`. */
export const accountsAfter = (reader: Reader, after: { subuser: string; pool: string }, limit: number) =>
  accounts.all(
    reader,
    `SELECT * FROM traffic_accounts WHERE subuser_id > $1 OR (subuser_id = $1 AND pool > $2)
     ORDER BY subuser_id, pool LIMIT $3`,
    [after.subuser, after.pool, limit],
  )

/** The accounts of these sub-users. */
export async function accountsOf(reader: Reader, subusers: readonly string[]): Promise<ByteAccount[]> {
  const sql = (among: string) => `SELECT * FROM traffic_accounts WHERE subuser_id IN (${among})`
  return (await allOf<Row>(reader, subusers, sql)).map(accounts.read)
}

/** The movements, and how many the accounts count. */
export async function countMovements(reader: Reader): Promise<{ readonly rows: number; readonly counted: number }> {
  const row = await reader.first<Record<'n' | 'counted', bigint>>(
    `SELECT COUNT(*) AS n, (SELECT CAST(COALESCE(SUM(seq), 0) AS BIGINT) FROM traffic_accounts) AS counted
     FROM traffic_movements`,
  )
  return { rows: Number(row?.n ?? 0n), counted: Number(row?.counted ?? 0n) }
}

/** The bytes that an account's lots hold, and the bytes that they came with. */
export async function sumLots(reader: Reader, { subuser, pool }: ByteAccountKey) {
  const row = await reader.first<WideSum<'rest' | 'size'>>(
    `SELECT ${wideSum('rest', 'rest')}, ${wideSum('size', 'size')} FROM traffic_lots
     WHERE subuser_id = $1 AND pool = $2`,
    [subuser, pool],
  )
  return row ? { rest: readWide(row, 'rest'), size: readWide(row, 'size') } : { rest: 0n, size: 0n }
}

/** Lots without an account: no page of accounts finds them. */
export const strayLots = (reader: Reader, limit: number): Promise<{ subuser: string; pool: string }[]> =>
  reader.all(
    `SELECT DISTINCT subuser_id AS subuser, pool FROM traffic_lots WHERE NOT EXISTS
       (SELECT 1 FROM traffic_accounts AS accounts
        WHERE accounts.subuser_id = traffic_lots.subuser_id AND accounts.pool = traffic_lots.pool) LIMIT $1`,
    [limit],
  )

/** Orders whose moves took out other bytes than they put in. */
export async function movedByOrder(reader: Reader, limit: number): Promise<{ order: string; bytes: bigint }[]> {
  const rows = await reader.all<WideSum<'bytes'> & { order_id: string }>(
    `SELECT order_id, ${wideSum('amount', 'bytes')} FROM traffic_movements WHERE kind IN ('moved_in', 'moved_out')
     GROUP BY order_id
     HAVING SUM(amount / 1000000000) <> 0 OR SUM(amount % 1000000000) <> 0 ORDER BY order_id LIMIT $1`,
    [limit],
  )
  return rows.map((row) => ({ order: row.order_id, bytes: readWide(row, 'bytes') })).filter((each) => each.bytes !== 0n)
}
