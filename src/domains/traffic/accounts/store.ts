import { emptyHead } from '../../../core/chain.ts'
import type { OrderId, SubuserId } from '../../../core/ids.ts'
import { list, padded, readWide, type WideSum, wideSum } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { AccountKey, ByteAccount, ByteMovement, Lot, MovementKind } from './rules.ts'

type AccountRow = {
  subuser_id: string
  pool: string
  balance: bigint
  aside: bigint
  owed: bigint
  used: bigint
  seq: bigint
  head: Uint8Array
  last_at: bigint
}

const toAccount = (row: AccountRow): ByteAccount => ({
  subuser: row.subuser_id as SubuserId,
  pool: row.pool,
  balance: row.balance,
  aside: row.aside,
  owed: row.owed,
  used: row.used,
  seq: Number(row.seq),
  head: row.head,
  lastAt: Number(row.last_at),
})

const accountColumns = 'subuser_id, pool, balance, aside, owed, used, seq, head, last_at'

/** Takes the account's turn, opening it if it is new: until the transaction ends, nobody else moves these bytes. */
export async function lockAccount(tx: Tx, { subuser, pool }: AccountKey): Promise<ByteAccount> {
  tx.send(
    `INSERT INTO traffic_accounts (${accountColumns}) VALUES ($1, $2, 0, 0, 0, 0, 0, $3, 0)
     ON CONFLICT (subuser_id, pool) DO NOTHING`,
    [subuser, pool, emptyHead],
  )
  const row = await tx.first<AccountRow>(
    `SELECT ${accountColumns} FROM traffic_accounts WHERE subuser_id = $1 AND pool = $2 FOR UPDATE`,
    [subuser, pool],
  )
  if (!row) throw new Error('an account that was just written is not there')
  return toAccount(row)
}

/** Locks an account only if there is one: a claim for a sub-user that nobody knows must not open one. */
export async function lockKnownAccount(tx: Tx, { subuser, pool }: AccountKey): Promise<ByteAccount | undefined> {
  const row = await tx.first<AccountRow>(
    `SELECT ${accountColumns} FROM traffic_accounts WHERE subuser_id = $1 AND pool = $2 FOR UPDATE`,
    [subuser, pool],
  )
  return row && toAccount(row)
}

export function writeMovement(tx: Tx, account: ByteAccount, movement: ByteMovement): void {
  tx.send(
    `UPDATE traffic_accounts SET balance = $3, aside = $4, owed = $5, used = $6, seq = $7, head = $8, last_at = $9
     WHERE subuser_id = $1 AND pool = $2`,
    [
      account.subuser,
      account.pool,
      account.balance,
      account.aside,
      account.owed,
      account.used,
      account.seq,
      account.head,
      account.lastAt,
    ],
  )
  tx.send(
    `INSERT INTO traffic_movements (${movementColumns})
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      movement.subuser,
      movement.pool,
      movement.seq,
      movement.kind,
      movement.amount,
      movement.aside,
      movement.owed,
      movement.balanceAfter,
      movement.asideAfter,
      movement.owedAfter,
      movement.order,
      movement.node,
      movement.boot,
      movement.at,
      movement.hash,
    ],
  )
}

const movementColumns = `subuser_id, pool, seq, kind, amount, aside, owed, balance_after, aside_after, owed_after,
  order_id, node, boot, at, hash`

export async function listAccounts(reader: Reader, subusers: readonly SubuserId[]): Promise<ByteAccount[]> {
  if (subusers.length === 0) return []
  const asked = padded(subusers)
  const rows = await reader.all<AccountRow>(
    `SELECT ${accountColumns} FROM traffic_accounts
     WHERE subuser_id IN (${list(asked.length)}) ORDER BY subuser_id, pool`,
    asked,
  )
  return rows.map(toAccount)
}

type LotRow = { subuser_id: string; pool: string; order_id: string; expires_at: bigint; size: bigint; rest: bigint }

const toLot = (row: LotRow): Lot => ({
  subuser: row.subuser_id as SubuserId,
  pool: row.pool,
  order: row.order_id as OrderId,
  expiresAt: Number(row.expires_at),
  size: row.size,
  rest: row.rest,
})

/**
 * What an account's bytes came from, what ends first first, a page at a time. The account's lock keeps them as they
 * are.
 */
export async function listLots(
  tx: Tx,
  of: AccountKey,
  after: { expiresAt: number; order: string },
  limit: number,
): Promise<Lot[]> {
  const rows = await tx.all<LotRow>(
    `SELECT subuser_id, pool, order_id, expires_at, size, rest FROM traffic_lots
     WHERE subuser_id = $1 AND pool = $2 AND rest > 0 AND (expires_at > $3 OR (expires_at = $3 AND order_id > $4))
     ORDER BY expires_at, order_id LIMIT $5`,
    [of.subuser, of.pool, after.expiresAt, after.order, limit],
  )
  return rows.map(toLot)
}

/** Lots of an account that hold less than they came with, what ends last first. */
export async function lotsWithRoom(tx: Tx, of: AccountKey): Promise<Lot[]> {
  const rows = await tx.all<LotRow>(
    `SELECT subuser_id, pool, order_id, expires_at, size, rest FROM traffic_lots
     WHERE subuser_id = $1 AND pool = $2 AND rest < size ORDER BY expires_at DESC, order_id DESC`,
    [of.subuser, of.pool],
  )
  return rows.map(toLot)
}

/**
 * What a node has billed an account since a moment, by boot: what it took, what it left owed, less what was restored of
 * both.
 */
export async function billedBy(
  reader: Reader,
  { subuser, pool }: AccountKey,
  node: string,
  sinceAt: number,
): Promise<{ boot: string; used: bigint; owed: bigint }[]> {
  return reader.all(
    `SELECT boot,
       CAST(SUM(CASE kind WHEN 'used' THEN -(amount + aside) ELSE -amount END) AS BIGINT) AS used,
       CAST(SUM(CASE WHEN kind = 'restored' OR owed > 0 THEN owed ELSE 0 END) AS BIGINT) AS owed
     FROM traffic_movements
     WHERE subuser_id = $1 AND pool = $2 AND node = $3 AND at >= $4 AND kind IN ('used', 'restored')
     GROUP BY boot ORDER BY boot`,
    [subuser, pool, node, sinceAt],
  )
}

/** What was restored to these accounts, balance and debt together; those without are left out. */
export async function sumRestored(
  reader: Reader,
  accounts: readonly AccountKey[],
): Promise<(AccountKey & { readonly restored: bigint })[]> {
  if (accounts.length === 0) return []
  const subusers = [...new Set(accounts.map((account) => account.subuser))]
  const rows = await reader.all<WideSum<'restored'> & AccountKey>(
    `SELECT subuser_id AS subuser, pool, ${wideSum('amount - owed', 'restored')} FROM traffic_movements
     WHERE kind = 'restored' AND subuser_id IN (${list(subusers.length)}) GROUP BY subuser_id, pool`,
    subusers,
  )
  return rows.map((row) => ({ subuser: row.subuser, pool: row.pool, restored: readWide(row, 'restored') }))
}

export async function findLot(
  tx: Tx,
  { subuser, pool, order }: AccountKey & { order: OrderId },
): Promise<Lot | undefined> {
  const row = await tx.first<LotRow>(
    `SELECT subuser_id, pool, order_id, expires_at, size, rest FROM traffic_lots
     WHERE subuser_id = $1 AND pool = $2 AND order_id = $3`,
    [subuser, pool, order],
  )
  return row && toLot(row)
}

export function takeFromLot(tx: Tx, lot: Lot, taken: bigint): void {
  tx.send('UPDATE traffic_lots SET rest = rest - $4 WHERE subuser_id = $1 AND pool = $2 AND order_id = $3', [
    lot.subuser,
    lot.pool,
    lot.order,
    taken,
  ])
}

/** Bytes of an order arrive at an account, perhaps not for the first time. */
export function addToLot(tx: Tx, lot: Omit<Lot, 'size' | 'rest'>, bytes: bigint): void {
  tx.send(
    `INSERT INTO traffic_lots (subuser_id, pool, order_id, expires_at, size, rest) VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (subuser_id, pool, order_id) DO UPDATE SET
       size = traffic_lots.size + excluded.size, rest = traffic_lots.rest + excluded.rest`,
    [lot.subuser, lot.pool, lot.order, lot.expiresAt, bytes],
  )
}

/** What is left of an order, wherever it was moved, in an order in which accounts can be locked. */
export async function lotsOfOrder(reader: Reader, order: OrderId): Promise<Lot[]> {
  const rows = await reader.all<LotRow>(
    `SELECT subuser_id, pool, order_id, expires_at, size, rest FROM traffic_lots
     WHERE order_id = $1 AND rest > 0 ORDER BY subuser_id, pool`,
    [order],
  )
  return rows.map(toLot)
}

/** Lots past their end that still hold something. */
export async function lotsEnded(reader: Reader, nowMs: number, most: number): Promise<Lot[]> {
  const rows = await reader.all<LotRow>(
    `SELECT lots.subuser_id, lots.pool, lots.order_id, lots.expires_at, lots.size, lots.rest FROM traffic_lots AS lots
     JOIN traffic_accounts AS accounts ON accounts.subuser_id = lots.subuser_id AND accounts.pool = lots.pool
     WHERE lots.rest > 0 AND lots.expires_at <= $1 AND accounts.balance > 0
     ORDER BY lots.expires_at, lots.order_id, lots.subuser_id LIMIT $2`,
    [nowMs, most],
  )
  return rows.map(toLot)
}

type MovementRow = {
  subuser_id: string
  pool: string
  seq: bigint
  kind: MovementKind
  amount: bigint
  aside: bigint
  owed: bigint
  balance_after: bigint
  aside_after: bigint
  owed_after: bigint
  order_id: string | null
  node: string | null
  boot: string | null
  at: bigint
  hash: Uint8Array
}

const toMovement = (row: MovementRow): ByteMovement => ({
  subuser: row.subuser_id as SubuserId,
  pool: row.pool,
  seq: Number(row.seq),
  kind: row.kind,
  amount: row.amount,
  aside: row.aside,
  owed: row.owed,
  balanceAfter: row.balance_after,
  asideAfter: row.aside_after,
  owedAfter: row.owed_after,
  order: row.order_id as OrderId | null,
  node: row.node,
  boot: row.boot,
  at: Number(row.at),
  hash: row.hash,
})

/** An account's movements in order, a page at a time. */
export async function movementsAfter(
  reader: Reader,
  { subuser, pool }: AccountKey,
  after: number,
  limit: number,
): Promise<ByteMovement[]> {
  const rows = await reader.all<MovementRow>(
    `SELECT ${movementColumns} FROM traffic_movements
     WHERE subuser_id = $1 AND pool = $2 AND seq > $3 ORDER BY seq LIMIT $4`,
    [subuser, pool, after, limit],
  )
  return rows.map(toMovement)
}

/** All accounts, a page at a time, for `verify`. */
export async function accountsAfter(
  reader: Reader,
  after: { subuser: string; pool: string },
  limit: number,
): Promise<ByteAccount[]> {
  const rows = await reader.all<AccountRow>(
    `SELECT ${accountColumns} FROM traffic_accounts
     WHERE subuser_id > $1 OR (subuser_id = $1 AND pool > $2) ORDER BY subuser_id, pool LIMIT $3`,
    [after.subuser, after.pool, limit],
  )
  return rows.map(toAccount)
}

export async function countMovements(reader: Reader): Promise<number> {
  return Number((await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM traffic_movements'))?.n ?? 0n)
}

/** What an account's lots hold, and what they held when they came. */
export async function sumLots(
  reader: Reader,
  { subuser, pool }: AccountKey,
): Promise<{ readonly rest: bigint; readonly size: bigint }> {
  const row = await reader.first<WideSum<'rest' | 'size'>>(
    `SELECT ${wideSum('rest', 'rest')}, ${wideSum('size', 'size')} FROM traffic_lots
     WHERE subuser_id = $1 AND pool = $2`,
    [subuser, pool],
  )
  return row ? { rest: readWide(row, 'rest'), size: readWide(row, 'size') } : { rest: 0n, size: 0n }
}

/** What was bought with an order, for the comparison with what the order says. */
export async function boughtWith(
  reader: Reader,
  order: OrderId,
): Promise<{ subuser: SubuserId; pool: string; bytes: bigint }[]> {
  return reader.all(
    `SELECT subuser_id AS subuser, pool, amount AS bytes FROM traffic_movements
     WHERE order_id = $1 AND kind = 'bought'`,
    [order],
  )
}

export async function movedWith(reader: Reader, order: OrderId): Promise<bigint> {
  const row = await reader.first<WideSum<'bytes'>>(
    `SELECT ${wideSum('amount', 'bytes')} FROM traffic_movements WHERE order_id = $1 AND kind = 'moved_in'`,
    [order],
  )
  return row ? readWide(row, 'bytes') : 0n
}

/** All lots of an order, used up or not, wherever its bytes were moved. */
export async function allLotsOf(reader: Reader, order: OrderId): Promise<Lot[]> {
  const rows = await reader.all<LotRow>(
    `SELECT subuser_id, pool, order_id, expires_at, size, rest FROM traffic_lots WHERE order_id = $1
     ORDER BY subuser_id, pool`,
    [order],
  )
  return rows.map(toLot)
}

/** The orders that lots name, a page at a time. */
export async function lotOrders(reader: Reader, after: string, limit: number): Promise<OrderId[]> {
  const rows = await reader.all<{ order_id: string }>(
    'SELECT DISTINCT order_id FROM traffic_lots WHERE order_id > $1 ORDER BY order_id LIMIT $2',
    [after, limit],
  )
  return rows.map((row) => row.order_id as OrderId)
}

/** Who has unspent traffic of a pool, a page at a time. */
export async function holdersOf(reader: Reader, pool: string, after: string, limit: number): Promise<SubuserId[]> {
  const rows = await reader.all<{ subuser_id: string }>(
    `SELECT DISTINCT subuser_id FROM traffic_lots WHERE rest > 0 AND pool = $1 AND subuser_id > $2
     ORDER BY subuser_id LIMIT $3`,
    [pool, after, limit],
  )
  return rows.map((row) => row.subuser_id as SubuserId)
}

/** Lots and movements of accounts that there are not: no page of accounts would come across them. */
export async function strayLots(reader: Reader, most: number): Promise<{ subuser_id: string; pool: string }[]> {
  return reader.all(
    `SELECT DISTINCT subuser_id, pool FROM traffic_lots WHERE NOT EXISTS
       (SELECT 1 FROM traffic_accounts AS accounts
        WHERE accounts.subuser_id = traffic_lots.subuser_id AND accounts.pool = traffic_lots.pool) LIMIT $1`,
    [most],
  )
}

/** The orders that movements name, a page at a time. */
export async function namedOrders(reader: Reader, after: string, limit: number): Promise<OrderId[]> {
  const rows = await reader.all<{ order_id: string }>(
    `SELECT DISTINCT order_id FROM traffic_movements WHERE order_id > $1 ORDER BY order_id LIMIT $2`,
    [after, limit],
  )
  return rows.map((row) => row.order_id as OrderId)
}

/** Every order's bytes stay the order's: what came in by moves went out by moves. */
export async function movedByOrder(reader: Reader, most: number): Promise<{ order: string; bytes: bigint }[]> {
  const rows = await reader.all<WideSum<'bytes'> & { order_id: string }>(
    `SELECT order_id, ${wideSum('amount', 'bytes')} FROM traffic_movements WHERE kind IN ('moved_in', 'moved_out')
     GROUP BY order_id
     HAVING SUM(amount / 1000000000) <> 0 OR SUM(amount % 1000000000) <> 0 ORDER BY order_id LIMIT $1`,
    [most],
  )
  return rows.map((row) => ({ order: row.order_id, bytes: readWide(row, 'bytes') })).filter((each) => each.bytes !== 0n)
}
