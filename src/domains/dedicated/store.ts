import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import {
  bytes,
  columnsOf,
  idColumn,
  int,
  oneOf,
  orNull,
  type Row,
  recordsOf,
  textColumn,
  textList,
  valuesOf,
} from '../../db/columns.ts'
import { allOf, changeMarkOf, chunked, countBy, list, sendIn, sendRows } from '../../db/rows.ts'
import type { Reader, Tx, Value } from '../../db/transaction.ts'
import { withMetadata } from '../../db/with-metadata.ts'
import { type Metadata, noMetadata } from '../metadata/rules.ts'
import { graceMs, type PortType, type Proxy } from './rules.ts'

const columns = columnsOf<Omit<Proxy, 'portType'>>({
  id: int('id'),
  customer: idColumn('customer_id'),
  order: idColumn('order_id'),
  slot: int('slot_id'),
  address: textColumn('address'),
  country: idColumn('country'),
  ipv: { name: 'ipv', read: (value) => (value === 3n ? 3 : value === 6n ? 6 : 4), write: (ipv) => ipv },
  username: textColumn('username'),
  sealedPassword: bytes('password'),
  passwordDigest: bytes('password_digest'),
  comment: textColumn('comment'),
  state: oneOf('state', ['held', 'gone']),
  startedAt: int('started_at'),
  expiresAt: int('expires_at'),
  replacedAt: orNull(int('replaced_at')),
  replacedBy: orNull(oneOf('replaced_by', ['customer', 'operator', 'outage'])),
  endedAt: orNull(int('ended_at')),
  interruptedAt: orNull(int('interrupted_at')),
  interruptedBy: orNull(oneOf('interrupted_by', ['outage', 'quarantine'])),
  resumedAt: orNull(int('resumed_at')),
  sources: textList('sources'),
  entryPort: orNull(int('entry_port')),
  renewPeriod: orNull(int('renew_period')),
  renewToken: orNull(idColumn('renew_token_id')),
  renewProblem: orNull(textColumn('renew_problem')),
  changedAt: int('changed_at'),
})

/** Two columns are the port type: `both_protocols` came later. */
const proxies = recordsOf(
  (row): Proxy => ({
    ...columns.read(row),
    portType: row['both_protocols'] === 1n ? 'both' : row['port_type'] === 'socks' ? 'socks' : 'http',
  }),
)

/** Writes the proxies of a purchase. `row_history` has no first version of `port_type`, so another one is an update. */
export function insertProxies(tx: Tx, bought: readonly Proxy[]): void {
  const rows = bought.map((proxy) => ['http', ...columns.values(proxy)])
  sendRows(tx, `INSERT INTO proxies (port_type, ${columns.names})`, rows)
  for (const [portType, of] of Map.groupBy(bought, (proxy) => proxy.portType)) {
    const ids = of.map((proxy) => proxy.id)
    if (portType !== 'http') setPortType(tx, ids, portType, of[0]?.changedAt ?? 0)
  }
}

export function findProxies(reader: Reader, customer: CustomerId, ids: readonly number[]): Promise<Proxy[]> {
  const sql = `SELECT * FROM proxies WHERE customer_id = $1 AND id IN (${list(ids.length, 1)}) ORDER BY id`
  return proxies.all(reader, sql, [customer, ...ids])
}

/** Locks a customer's proxies in the order of their ids, so that two requests cannot deadlock. */
export function lockProxies(tx: Tx, customer: CustomerId, ids: readonly number[]): Promise<Proxy[]> {
  const sql = `SELECT * FROM proxies WHERE customer_id = $1 AND id IN (${list(ids.length, 1)}) ORDER BY id FOR UPDATE`
  return proxies.all(tx, sql, [customer, ...ids])
}

export const findProxy = (reader: Reader, id: number): Promise<Proxy | undefined> =>
  proxies.first(reader, 'SELECT * FROM proxies WHERE id = $1', [id])

export type ListFilter = {
  readonly before: number
  readonly limit: number
  readonly nowMs: number
  readonly status: '' | 'active' | 'expired'
  readonly country: string
  readonly ipv: number
  readonly expiresBefore: number
  readonly comment: string
  readonly metadata?: Metadata
}

/** A page of a customer's proxies, newest first, by keyset. */
export const listProxies = (reader: Reader, customer: CustomerId, filter: ListFilter): Promise<Proxy[]> =>
  proxies.all(reader, ...listed('*', customer, filter))

/** The same of those with a comment, and no other columns. */
export const listComments = (reader: Reader, customer: CustomerId, filter: ListFilter): Promise<Commented[]> =>
  commented.all(reader, ...listed('id, comment', customer, filter, `AND comment <> ''`))

export type Commented = Pick<Proxy, 'id' | 'comment'>

const commented = columnsOf<Commented>({ id: int('id'), comment: textColumn('comment') })

function listed(of: string, customer: CustomerId, filter: ListFilter, also = ''): [sql: string, values: Value[]] {
  const { before, limit, nowMs, status, country, ipv, expiresBefore, comment, metadata = noMetadata } = filter
  const paired = withMetadata('proxy', 'id', metadata, 10)
  return [
    `SELECT ${of} FROM proxies
     WHERE customer_id = $1 AND id < $2 AND state = 'held' AND (expires_at > $3 OR interrupted_at IS NOT NULL)
       AND ($4 = '' OR ($4 = 'active' AND (expires_at > $5 OR interrupted_at IS NOT NULL))
         OR ($4 = 'expired' AND expires_at <= $5 AND interrupted_at IS NULL))
       AND ($6 = '' OR country = $6) AND ($7 = 0 OR ipv = $7) AND expires_at < $8 AND ($9 = '' OR comment = $9)
       ${also} ${paired.sql}
     ORDER BY id DESC LIMIT $10`,
    [customer, before, nowMs - graceMs, status, nowMs, country, ipv, expiresBefore, comment, limit, ...paired.values],
  ]
}

/** The shared addresses that a customer holds in a country. */
export async function heldAddresses(reader: Reader, customer: CustomerId, country: string): Promise<Set<string>> {
  const rows = await reader.all<{ address: string }>(
    `SELECT address FROM proxies WHERE customer_id = $1 AND ipv = 3 AND country = $2 AND state = 'held'`,
    [customer, country],
  )
  return new Set(rows.map((row) => row.address))
}

export function setExpiry(tx: Tx, id: number, expiresAt: number, nowMs: number): void {
  const sql = 'UPDATE proxies SET expires_at = $2, changed_at = $3, renew_tried_at = NULL WHERE id = $1'
  tx.send(sql, [id, expiresAt, nowMs])
}

/**
 * Writes new ends, many rows with one statement: a statement for each would hold SQLite's writer four times as long. An
 * ended proxy's new term begins now (`resumed_at`).
 */
export function setProlonged(tx: Tx, ends: readonly { id: number; expiresAt: number }[], nowMs: number): void {
  for (const chunk of chunked(ends)) {
    const tuples = chunk.map((_, at) => `(CAST($${2 * at + 2} AS BIGINT), CAST($${2 * at + 3} AS BIGINT))`)
    tx.send(
      `UPDATE proxies SET expires_at = fresh.column2, changed_at = $1, renew_tried_at = NULL,
         renew_problem = NULL,
         resumed_at = CASE WHEN expires_at <= $1 AND interrupted_at IS NULL THEN $1 ELSE resumed_at END
       FROM (VALUES ${tuples.join(', ')}) AS fresh WHERE id = fresh.column1`,
      [nowMs, ...chunk.flatMap(({ id, expiresAt }) => [id, expiresAt])],
    )
  }
}

export function setPortType(tx: Tx, ids: readonly number[], portType: PortType, nowMs: number): void {
  tx.send(
    `UPDATE proxies SET port_type = $1, both_protocols = $2, changed_at = $3 WHERE id IN (${list(ids.length, 3)})`,
    [portType === 'socks' ? 'socks' : 'http', portType === 'both' ? 1 : 0, nowMs, ...ids],
  )
}

/** Writes source addresses and entry port; a unique index keeps a port from belonging to two proxies. */
export function setEntrance(tx: Tx, proxy: Pick<Proxy, 'id' | 'sources' | 'entryPort'>, nowMs: number): void {
  const sql = 'UPDATE proxies SET sources = $2, entry_port = $3, changed_at = $4 WHERE id = $1'
  tx.send(sql, [proxy.id, proxy.sources.join(' '), proxy.entryPort, nowMs])
}

export const countEntryPorts = (reader: Reader, customer: CustomerId): Promise<number> =>
  countBy(reader, 'SELECT COUNT(*) AS n FROM proxies WHERE customer_id = $1 AND entry_port IS NOT NULL', [customer])

export const findByEntryPort = (reader: Reader, port: number): Promise<Proxy | undefined> =>
  proxies.first(reader, 'SELECT * FROM proxies WHERE entry_port = $1', [port])

export function setPassword(tx: Tx, of: Pick<Proxy, 'id' | 'sealedPassword' | 'passwordDigest'>, nowMs: number): void {
  const sql = 'UPDATE proxies SET password = $2, password_digest = $3, changed_at = $4 WHERE id = $1'
  tx.send(sql, [of.id, of.sealedPassword, of.passwordDigest, nowMs])
}

export function setComment(tx: Tx, ids: readonly number[], comment: string): void {
  tx.send(`UPDATE proxies SET comment = $1 WHERE id IN (${list(ids.length, 1)})`, [comment, ...ids])
}

/** The token that sets renewal last pays for it. */
export function setRenewal(tx: Tx, ids: readonly number[], period: number | null, token: TokenId | null): void {
  tx.send(
    `UPDATE proxies SET renew_period = $1, renew_token_id = $2, renew_tried_at = NULL, renew_problem = NULL
     WHERE id IN (${list(ids.length, 2)})`,
    [period, token, ...ids],
  )
}

export function setAddress(tx: Tx, { id, slot, address, replacedBy, changedAt }: Proxy): void {
  tx.send(
    `UPDATE proxies SET slot_id = $2, address = $3, replaced_at = $4, replaced_by = $5, changed_at = $4
     WHERE id = $1`,
    [id, slot, address, changedAt, replacedBy],
  )
}

/** Locks proxies whose grace is over, the longest overdue first. SKIP LOCKED gives each to one process. */
export const lockOverdue = (tx: Tx, nowMs: number, limit: number): Promise<Proxy[]> =>
  proxies.all(
    tx,
    `SELECT * FROM proxies WHERE state = 'held' AND expires_at <= $1 AND interrupted_at IS NULL
     ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
    [nowMs - graceMs, limit],
  )

export function setGone(tx: Tx, ids: readonly number[], nowMs: number): void {
  tx.send(`UPDATE proxies SET state = 'gone', changed_at = $1 WHERE id IN (${list(ids.length, 1)})`, [nowMs, ...ids])
}

/** Locks proxies of any customers in the order of their ids. */
export async function lockMany(tx: Tx, ids: readonly number[]): Promise<Proxy[]> {
  const sql = (among: string) => `SELECT * FROM proxies WHERE id IN (${among}) ORDER BY id FOR UPDATE`
  return (await allOf<Row>(tx, ids, sql)).map(proxies.read)
}

export async function findMany(reader: Reader, ids: readonly number[]): Promise<Proxy[]> {
  const sql = (among: string) => `SELECT * FROM proxies WHERE id IN (${among}) ORDER BY id`
  return (await allOf<Row>(reader, ids, sql)).map(proxies.read)
}

/** Raises `changed_at`, so that nodes read these proxies again. */
export const touch = (tx: Tx, ids: readonly number[], nowMs: number): void =>
  sendIn(tx, ids, (among) => `UPDATE proxies SET changed_at = $1 WHERE id IN (${among})`, [nowMs])

/** Interrupted proxies in the order of their ids, a page at a time. */
export const interruptedAfter = (reader: Reader, after: number, limit: number): Promise<Proxy[]> =>
  proxies.all(reader, 'SELECT * FROM proxies WHERE interrupted_at IS NOT NULL AND id > $1 ORDER BY id LIMIT $2', [
    after,
    limit,
  ])

/** Marks proxies as gone before their time; `expires_at` stays. */
export const setEnded = (tx: Tx, ids: readonly number[], nowMs: number): void =>
  sendIn(
    tx,
    ids,
    (among) => `UPDATE proxies SET state = 'gone', ended_at = $1, changed_at = $1 WHERE id IN (${among})`,
    [nowMs],
  )

/** The proxies that an order has bought; `customer_id` selects the index. */
export const idsOfOrder = (reader: Reader, customer: CustomerId, order: OrderId): Promise<number[]> =>
  valuesOf(int('id')).all(reader, 'SELECT id FROM proxies WHERE customer_id = $1 AND order_id = $2 ORDER BY id', [
    customer,
    order,
  ])

/** Proxies with automatic renewal that end before `before` and were not tried since `triedBefore`. */
export const findToRenew = (reader: Reader, before: number, triedBefore: number, limit: number): Promise<Proxy[]> =>
  proxies.all(
    reader,
    `SELECT * FROM proxies
     WHERE renew_period IS NOT NULL AND state = 'held' AND expires_at <= $1 AND interrupted_at IS NULL
       AND (renew_tried_at IS NULL OR renew_tried_at <= $2)
     ORDER BY expires_at LIMIT $3`,
    [before, triedBefore, limit],
  )

export async function setRenewTried(tx: Tx, id: number, nowMs: number): Promise<void> {
  await tx.run('UPDATE proxies SET renew_tried_at = $2 WHERE id = $1', [id, nowMs])
}

export const setRenewProblem = (tx: Tx, id: number, problem: string): void =>
  tx.send('UPDATE proxies SET renew_problem = $2 WHERE id = $1', [id, problem])

const endings = columnsOf({ id: int('id'), expiresAt: int('expires_at') })

/** Proxies whose term ends after a position and up to a moment, in that order. */
export const findEnding = (reader: Reader, after: { at: number; id: number }, untilAt: number, limit: number) =>
  endings.all(
    reader,
    `SELECT id, expires_at FROM proxies
     WHERE state = 'held' AND interrupted_at IS NULL AND (expires_at, id) > ($1, $2) AND expires_at <= $3
     ORDER BY expires_at, id LIMIT $4`,
    [after.at, after.id, untilAt, limit],
  )

/** Proxies that changed after a position, oldest change first; gone ones only without `heldAt`. */
export function changedAfter(
  reader: Reader,
  after: { changedAt: number; id: number },
  limit: number,
  heldAt: number | undefined,
): Promise<Proxy[]> {
  const held = heldAt === undefined ? '' : `AND state = 'held' AND (expires_at > $4 OR interrupted_at IS NOT NULL)`
  return proxies.all(
    reader,
    `SELECT * FROM proxies WHERE (changed_at, id) > ($1, $2) ${held} ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit, ...(heldAt === undefined ? [] : [heldAt - graceMs])],
  )
}

export const changeMark = (reader: Reader, sinceAt: number): Promise<string> => changeMarkOf(reader, 'proxies', sinceAt)

/** Raises `changed_at`, so that nodes read all proxies of a customer again. */
export function touchProxies(tx: Tx, customer: CustomerId, nowMs: number): void {
  tx.send(`UPDATE proxies SET changed_at = $2 WHERE customer_id = $1 AND state = 'held'`, [customer, nowMs])
}

/** Which of these ids are or were proxies. */
export async function knownAmong(reader: Reader, ids: readonly number[]): Promise<Set<number>> {
  const sql = (among: string) => `SELECT id FROM proxies WHERE id IN (${among})`
  return new Set((await allOf<{ id: bigint }>(reader, ids, sql)).map((row) => Number(row.id)))
}

/** The states of those of these ids that are or were proxies. */
export async function statesAmong(reader: Reader, ids: readonly number[]): Promise<Map<number, Proxy['state']>> {
  const sql = (among: string) => `SELECT id, state FROM proxies WHERE id IN (${among})`
  return new Map((await allOf<Row>(reader, ids, sql)).map(states.read).map(({ id, state }) => [id, state]))
}

const states = columnsOf<Pick<Proxy, 'id' | 'state'>>({ id: int('id'), state: oneOf('state', ['held', 'gone']) })

/** Every proxy, gone ones too, in the order of their ids, for `verify`. */
/** The largest number of a proxy; -1 without one. */
export const lastProxy = async (reader: Reader): Promise<number> =>
  Number((await reader.first<{ last: bigint | null }>('SELECT MAX(id) AS last FROM proxies'))?.last ?? -1n)

export const proxiesAfter = (reader: Reader, after: number, limit: number): Promise<Proxy[]> =>
  proxies.all(reader, 'SELECT * FROM proxies WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])

/** How many proxies each of these orders has. */
export async function countByOrder(reader: Reader, orders: readonly OrderId[]): Promise<Map<string, number>> {
  const sql = (among: string) =>
    `SELECT order_id, COUNT(*) AS n FROM proxies WHERE order_id IN (${among}) GROUP BY order_id`
  const rows = await allOf<{ order_id: string; n: bigint }>(reader, orders, sql)
  return new Map(rows.map((row) => [row.order_id, Number(row.n)]))
}

/** A proxy whose slot, or whose address, a proxy with a smaller id holds too. */
export type HeldTwice = { readonly id: number } & (
  | { readonly slot: number }
  | { readonly address: string; readonly shared: boolean }
)

/** A shared address may be held by several customers, and by each of them once. */
export async function heldTwice(reader: Reader): Promise<HeldTwice[]> {
  const rows = await reader.all<{ id: bigint; slot_id: bigint; address: string; ipv: bigint; by_slot: bigint }>(
    `SELECT id, slot_id, address, ipv, by_slot FROM (
       SELECT id, slot_id, address, ipv, 0 AS by_slot, ROW_NUMBER() OVER
         (PARTITION BY address, CASE WHEN ipv = 3 THEN customer_id ELSE '' END ORDER BY id) AS number
       FROM proxies WHERE state = 'held'
       UNION ALL SELECT id, slot_id, address, ipv, 1 AS by_slot, ROW_NUMBER() OVER (PARTITION BY slot_id ORDER BY id)
       FROM proxies WHERE state = 'held') AS held
     WHERE number > 1 ORDER BY id, by_slot`,
  )
  return rows.map(({ id, slot_id, address, ipv, by_slot }) => ({
    id: Number(id),
    ...(by_slot === 1n ? { slot: Number(slot_id) } : { address, shared: ipv === 3n }),
  }))
}

const activeCounts = columnsOf({ active: int('active'), interrupted: int('interrupted') })

/** How many proxies run now, and how many of them are interrupted. */
export const countActive = async (reader: Reader, nowMs: number) =>
  (await activeCounts.first(
    reader,
    `SELECT COUNT(*) AS active, COUNT(interrupted_at) AS interrupted FROM proxies
     WHERE state = 'held' AND expires_at > $1`,
    [nowMs],
  )) ?? { active: 0, interrupted: 0 }

const kindCounts = { country: textColumn('country'), ipv: int('ipv'), proxies: int('proxies') }
const heldCounts = columnsOf({ ...kindCounts, customers: int('customers') })
const soldCounts = columnsOf(kindCounts)
const renewalCounts = columnsOf({ ...kindCounts, period: int('renew_period') })

/** How many proxies end on each UTC day of a time, and how many of these renew automatically. */
export async function countEnding(reader: Reader, fromAt: number, toAt: number) {
  const rows = await reader.all<{ day: bigint; n: bigint; renewing: bigint }>(
    `SELECT expires_at / 86400000 AS day, COUNT(*) AS n, COUNT(renew_period) AS renewing FROM proxies
     WHERE state = 'held' AND interrupted_at IS NULL AND expires_at >= $1 AND expires_at < $2
     GROUP BY expires_at / 86400000`,
    [fromAt, toAt],
  )
  return rows.map((row) => ({ day: Number(row.day), all: Number(row.n), renewing: Number(row.renewing) }))
}

/** How many proxies of each kind the orders from an id on have bought. */
export const countSold = (reader: Reader, firstOrder: string) =>
  soldCounts.all(
    reader,
    `SELECT proxies.country, proxies.ipv, COUNT(*) AS proxies FROM orders
       JOIN proxies ON proxies.order_id = orders.id
     WHERE orders.product = 'dedicated' AND orders.action = 'buy' AND orders.id >= $1
     GROUP BY proxies.country, proxies.ipv`,
    [firstOrder],
  )

/** Running proxies of each kind, and how many customers have them. */
export const countHeld = (reader: Reader, nowMs: number) =>
  heldCounts.all(
    reader,
    `SELECT country, ipv, COUNT(*) AS proxies, COUNT(DISTINCT customer_id) AS customers FROM proxies
     WHERE state = 'held' AND expires_at > $1 GROUP BY country, ipv ORDER BY country, ipv`,
    [nowMs],
  )

const countryCounts = columnsOf({
  country: textColumn('country'),
  proxies: int('proxies'),
  customers: int('customers'),
})

/** Running proxies in each country, and how many customers have them. */
export const countByCountry = (reader: Reader, nowMs: number) =>
  countryCounts.all(
    reader,
    `SELECT country, COUNT(*) AS proxies, COUNT(DISTINCT customer_id) AS customers FROM proxies
     WHERE state = 'held' AND expires_at > $1 GROUP BY country ORDER BY country`,
    [nowMs],
  )

/** Running proxies with automatic renewal, by kind and period. */
export const countRenewals = (reader: Reader, nowMs: number) =>
  renewalCounts.all(
    reader,
    `SELECT country, ipv, renew_period, COUNT(*) AS proxies FROM proxies
     WHERE state = 'held' AND expires_at > $1 AND renew_period IS NOT NULL GROUP BY country, ipv, renew_period`,
    [nowMs],
  )
