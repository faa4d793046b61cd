import { contains, type Prefix, readAddress } from '../../core/address.ts'
import { type Column, columnsOf, flag, int, oneOf, orNull, type Row, textColumn, valuesOf } from '../../db/columns.ts'
import { allIn, allOf, changesOne, countBy, hasRow, list, padded, runRows, sendIn, sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type Ipv, ipvs, type Kind, type SlotState, type StockSlot, slotStates, type WalkedLease } from './rules.ts'

/**
 * Slots of a kind that one of these nodes serves; there is at least one node. `unprovenAt` is set while a node claims a
 * range without a proof: then slots whose proof has ended by that moment are left out.
 */
export type SlotQuery = {
  readonly kind: Kind
  readonly servingNodes: readonly string[]
  readonly unprovenAt?: number | undefined
}

const freeSlots = columnsOf<StockSlot>({
  id: int('id'),
  address: textColumn('address'),
  freeFrom: int('free_from'),
  servingNode: orNull(textColumn('serving_node')),
})

/** Leaves out slots whose proof has ended by `unprovenAt`, which is the value `$at`. */
const provenAt = ({ unprovenAt }: SlotQuery, at: number, range = 'stock.range_id'): string =>
  unprovenAt === undefined
    ? ''
    : `AND NOT EXISTS (
    SELECT 1 FROM stock_trials JOIN stock_ranges AS unproven ON unproven.id = stock_trials.range_id
    WHERE stock_trials.range_id = ${range} AND stock_trials.node_id = serving_node
      AND unproven.node_ids = '' AND stock_trials.proof_until <= $${at})`

const provenValues = ({ unprovenAt }: SlotQuery): readonly number[] => (unprovenAt === undefined ? [] : [unprovenAt])

/** What PostgreSQL does with a slot that another sale has locked. */
const lockOf = { skip: 'FOR UPDATE SKIP LOCKED', wait: 'FOR UPDATE' } as const

/** The free slots of one node after an id, `$4`. Comparing columns as one row makes PostgreSQL use their index. */
const freeOfNode = `state = 'free' AND (country, ipv, serving_node, id) > ($1, $2, $3, $4)
    AND (country, ipv, serving_node, id) <= ($1, $2, $3, $5)`

/** Locks free slots of a node, by id. */
export function lockFree(
  tx: Tx,
  query: SlotQuery,
  node: string,
  { after, upto, max }: { readonly after: number; readonly upto: number; readonly max: number },
  ifLocked: keyof typeof lockOf,
): Promise<StockSlot[]> {
  const { country, ipv } = query.kind
  return freeSlots.all(
    tx,
    `SELECT ${freeSlots.names} FROM stock WHERE ${freeOfNode} ${provenAt(query, 7)}
     ORDER BY country, ipv, serving_node, id LIMIT $6 ${lockOf[ifLocked]}`,
    [country, ipv, node, after, upto, max, ...provenValues(query)],
  )
}

/** Finds and leases the next free slot of a node in one statement. Slots that another sale has locked are skipped. */
export const leaseNext = (tx: Tx, kind: Kind, node: string, after: number): Promise<StockSlot | undefined> =>
  freeSlots.first(
    tx,
    `UPDATE stock SET state = 'leased', known_node = serving_node WHERE state = 'free' AND id = (
       SELECT id FROM stock WHERE ${freeOfNode}
       ORDER BY country, ipv, serving_node, id LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING ${freeSlots.names}`,
    [kind.country, kind.ipv, node, after, Number.MAX_SAFE_INTEGER],
  )

/** The rows are locked. */
export const setLeased = (tx: Tx, slots: readonly number[]): void =>
  sendIn(
    tx,
    slots,
    (ids) => `UPDATE stock SET state = 'leased', known_node = serving_node WHERE state = 'free' AND id IN (${ids})`,
  )

/** The unique index on open leases makes a double sale impossible. */
export function openLeases(tx: Tx, leases: readonly { slot: number; startedAt: number; proxy: number }[]): void {
  const rows = leases.map((lease) => [lease.slot, lease.startedAt, lease.proxy])
  sendRows(tx, 'INSERT INTO leases (slot_id, started_at, proxy_id)', rows)
}

/** Ends a slot's lease, later than it began whatever the clock says. Returns when; undefined if it has none. */
export const endLease = (tx: Tx, slot: number, endedAt: number): Promise<number | undefined> =>
  valuesOf(int('ended_at')).first(
    tx,
    `UPDATE leases SET ended_at = CASE WHEN started_at < $2 THEN $2 ELSE started_at + 1 END
     WHERE slot_id = $1 AND ended_at IS NULL RETURNING ended_at`,
    [slot, endedAt],
  )

/** A slot whose lease has ended rests, or retires if the operator has asked for that. */
export function setResting(tx: Tx, slot: { id: number; freeFrom: number; restUntil: number }): void {
  tx.send(
    `UPDATE stock SET
       state = CASE WHEN retiring = 1 THEN 'retired' ELSE 'resting' END,
       rest_until = CASE WHEN retiring = 1 THEN NULL ELSE $2 END,
       known_node = NULL,
       free_from = $3
     WHERE id = $1 AND state = 'leased'`,
    [slot.id, slot.restUntil, slot.freeFrom],
  )
}

/** Frees up to `max` slots whose rest is over. */
export const endRest = (tx: Tx, nowMs: number, max: number): Promise<number> =>
  tx.run(
    `UPDATE stock SET state = 'free', rest_until = NULL WHERE state = 'resting' AND id IN (
       SELECT id FROM stock WHERE state = 'resting' AND rest_until <= $1 AND quarantined = 0
       ORDER BY rest_until LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    [nowMs, max],
  )

export type NewSlot = {
  readonly id: number
  readonly address: string
  readonly slot: number
  readonly country: string
  readonly ipv: Ipv
  readonly state: SlotState
  readonly range: number | null
  readonly servingNode: string | null
}

/** Adds slots that do not exist. Returns how many were new. */
export const insertSlots = (tx: Tx, slots: readonly NewSlot[]): Promise<number> =>
  runRows(
    tx,
    'INSERT INTO stock (id, address, slot, country, ipv, state, retiring, range_id, serving_node)',
    slots.map(({ id, address, slot, country, ipv, state, range, servingNode }) => {
      return [id, address, slot, country, ipv, state, 0, range, servingNode]
    }),
    'ON CONFLICT (address, slot) DO NOTHING',
  )

/** Inserts leased slots of a large block. An address that exists makes the transaction fail. */
export const mintSlots = (tx: Tx, slots: readonly (StockSlot & { readonly range: number })[], kind: Kind): void =>
  sendRows(
    tx,
    'INSERT INTO stock (id, address, slot, country, ipv, state, retiring, range_id, serving_node, known_node)',
    slots.map(({ id, address, range, servingNode }) => {
      return [id, address, 0, kind.country, kind.ipv, 'leased', 0, range, servingNode, servingNode]
    }),
  )

const whereabouts = columnsOf({ range: orNull(int('range_id')), servingNode: orNull(textColumn('serving_node')) })

/** The range and the serving node of those addresses that are in stock. */
export async function existing(reader: Reader, addresses: readonly string[]) {
  const sql = (among: string) =>
    `SELECT address, range_id, serving_node FROM stock WHERE slot = 0 AND address IN (${among})`
  const rows = await allIn<Row & { address: string }>(reader, addresses, sql)
  return new Map(rows.map((row) => [row.address, whereabouts.read(row)]))
}

/** Those addresses that are in stock in another country or as another kind. */
export async function ofOtherKind(reader: Reader, addresses: readonly string[], kind: Kind): Promise<Set<string>> {
  const rows = await allIn<{ address: string }>(
    reader,
    addresses,
    (among) => `SELECT address FROM stock WHERE slot = 0 AND (country <> $1 OR ipv <> $2) AND address IN (${among})`,
    [kind.country, kind.ipv],
  )
  return new Set(rows.map((row) => row.address))
}

const servedBlocks = columnsOf({
  prefix: textColumn('prefix'),
  range: int('range_id'),
  servingNode: textColumn('serving_node'),
})

/** The large blocks of a kind that one of these nodes serves. */
export const blocksOf = (reader: Reader, query: SlotQuery) =>
  servedBlocks.all(
    reader,
    `SELECT stock_prefixes.prefix, stock_ranges.id AS range_id, serving_node FROM stock_prefixes
     JOIN stock_ranges ON stock_ranges.prefix = stock_prefixes.prefix AND stock_ranges.state = 'in'
     WHERE country = $1 AND ipv = $2 AND retired_at IS NULL AND quarantined = 0
       AND serving_node IN (${list(padded(query.servingNodes).length, 2)})
       ${provenAt(query, 3 + padded(query.servingNodes).length, 'stock_ranges.id')}
     ORDER BY stock_prefixes.prefix`,
    [query.kind.country, query.kind.ipv, ...padded(query.servingNodes), ...provenValues(query)],
  )

/** Those addresses that are exits of premium pools, which are never sold as dedicated. */
export async function exitsAmong(reader: Reader, addresses: readonly string[]): Promise<Set<string>> {
  const sql = (among: string) =>
    `SELECT host FROM exits WHERE kind = 'local' AND drained_at IS NULL AND host IN (${among})`
  return new Set((await allIn<{ host: string }>(reader, addresses, sql)).map((row) => row.host))
}

/** Whether an exit leaves from an address of a prefix. */
export async function hasExitWithin(reader: Reader, prefix: Prefix): Promise<boolean> {
  const rows = await reader.all<{ host: string }>(`SELECT host FROM exits WHERE kind = 'local' AND drained_at IS NULL`)
  return rows.some(({ host }) => {
    const address = readAddress(host)
    return address !== undefined && address.version === prefix.base.version && contains(prefix, address)
  })
}

export const blocksOnSale = (reader: Reader): Promise<string[]> =>
  valuesOf(textColumn('prefix')).all(
    reader,
    'SELECT prefix FROM stock_prefixes WHERE retired_at IS NULL ORDER BY prefix',
  )

export const hasPrefix = (reader: Reader, prefix: string): Promise<boolean> =>
  hasRow(reader, 'SELECT 1 AS one FROM stock_prefixes WHERE prefix = $1', [prefix])

export const insertPrefix = (tx: Tx, prefix: string, kind: Kind, nowMs: number): Promise<boolean> =>
  changesOne(
    tx,
    `INSERT INTO stock_prefixes (prefix, country, ipv, added_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (prefix) DO NOTHING`,
    [prefix, kind.country, kind.ipv, nowMs],
  )

/** How many free slots a node serves, counted up to `max`. */
export const countFreeOf = (reader: Reader, query: SlotQuery, node: string, max: number): Promise<number> =>
  countBy(
    reader,
    `SELECT COUNT(*) AS n FROM (
       SELECT 1 FROM stock WHERE ${freeOfNode} ${provenAt(query, 7)} LIMIT $6) AS counted`,
    [query.kind.country, query.kind.ipv, node, 0, Number.MAX_SAFE_INTEGER, max, ...provenValues(query)],
  )

/** How many free slots these nodes serve, counted up to `max`. */
export async function countFree(reader: Reader, query: SlotQuery, max: number): Promise<number> {
  let count = 0
  for (const node of query.servingNodes) {
    if (count < max) count += await countFreeOf(reader, query, node, max - count)
  }
  return count
}

/** A row of `stock`, for the operator and `verify`. */
export type SlotRecord = NewSlot & {
  readonly restUntil: number | null
  readonly retiring: boolean
  /** The node that the holder knows. */
  readonly knownNode: string | null
}

const ipvColumn: Column<Ipv> = {
  name: 'ipv',
  read(value) {
    const ipv = ipvs.find((each) => BigInt(each) === value)
    if (ipv === undefined) throw new TypeError('column ipv holds no known kind')
    return ipv
  },
  write: (ipv) => ipv,
}

const slotColumns = columnsOf<SlotRecord>({
  id: int('id'),
  address: textColumn('address'),
  slot: int('slot'),
  country: textColumn('country'),
  ipv: ipvColumn,
  state: oneOf('state', slotStates),
  restUntil: orNull(int('rest_until')),
  retiring: flag('retiring'),
  range: orNull(int('range_id')),
  servingNode: orNull(textColumn('serving_node')),
  knownNode: orNull(textColumn('known_node')),
})

/** A page of slots, by id. An empty text or 0 asks for all countries, kinds or states. */
export const listSlots = (
  reader: Reader,
  filter: { country: string; ipv: number; state: string; after: number; limit: number },
): Promise<SlotRecord[]> =>
  slotColumns.all(
    reader,
    `SELECT * FROM stock
     WHERE id > $1 AND ($2 = '' OR country = $2) AND ($3 = 0 OR ipv = $3) AND ($4 = '' OR state = $4)
     ORDER BY id LIMIT $5`,
    [filter.after, filter.country, filter.ipv, filter.state, filter.limit],
  )

const slotCounts = columnsOf({
  country: textColumn('country'),
  ipv: int('ipv'),
  state: oneOf('state', slotStates),
  count: int('n'),
})

/** Every slot is in exactly one of these counts. */
export const countByState = (reader: Reader) =>
  slotCounts.all(
    reader,
    'SELECT country, ipv, state, COUNT(*) AS n FROM stock GROUP BY country, ipv, state ORDER BY country, ipv, state',
  )

/** A large block, whose addresses become slots when they are sold. */
const blocks = columnsOf({
  prefix: textColumn('prefix'),
  country: textColumn('country'),
  servingNode: orNull(textColumn('serving_node')),
  addedAt: int('added_at'),
  retiredAt: orNull(int('retired_at')),
})

export const listPrefixes = (reader: Reader) =>
  blocks.all(reader, `SELECT ${blocks.names} FROM stock_prefixes ORDER BY country, prefix`)

/** A free or resting slot retires at once, a leased one when its lease ends. */
const retiring = `retiring = 1, rest_until = NULL, state = CASE WHEN state = 'leased' THEN state ELSE 'retired' END`
/** Undoes a retirement; a retired slot is free again. */
const restored = `retiring = 0, state = CASE WHEN state = 'retired' THEN 'free' ELSE state END`

/** Returns how many slots the address has. */
export const retire = (tx: Tx, address: string): Promise<number> =>
  tx.run(`UPDATE stock SET ${retiring} WHERE address = $1`, [address])

export const restore = (tx: Tx, address: string): Promise<number> =>
  tx.run(`UPDATE stock SET ${restored} WHERE address = $1`, [address])

/** Keeps free and resting slots from being sold until a moment. A leased one stays with its holder. */
export const quarantine = (tx: Tx, address: string, untilAt: number): Promise<number> =>
  tx.run(
    `UPDATE stock SET state = 'resting', rest_until = CASE WHEN rest_until > $2 THEN rest_until ELSE $2 END
     WHERE address = $1 AND state IN ('free', 'resting')`,
    [address, untilAt],
  )

/** Returns how many blocks were changed: one or none. */
export const retirePrefix = (tx: Tx, prefix: string, nowMs: number): Promise<number> =>
  tx.run('UPDATE stock_prefixes SET retired_at = $2 WHERE prefix = $1 AND retired_at IS NULL', [prefix, nowMs])

export const restorePrefix = (tx: Tx, prefix: string): Promise<number> =>
  tx.run('UPDATE stock_prefixes SET retired_at = NULL WHERE prefix = $1 AND retired_at IS NOT NULL', [prefix])

/** Slots that are leased without an open lease, or have one without being leased. */
export const disagreements = (reader: Reader, max: number) =>
  columnsOf({ id: int('id'), state: textColumn('state') }).all(
    reader,
    `SELECT stock.id, stock.state FROM stock
     LEFT JOIN leases ON leases.slot_id = stock.id AND leases.ended_at IS NULL
     WHERE (stock.state = 'leased') <> (leases.slot_id IS NOT NULL) LIMIT $1`,
    [max],
  )

/** Addresses that are in stock as two kinds. */
export const mixedAddresses = (reader: Reader, max: number): Promise<string[]> =>
  valuesOf(textColumn('address')).all(
    reader,
    `SELECT address FROM stock GROUP BY address HAVING MIN(ipv) <> MAX(ipv) OR MIN(country) <> MAX(country) LIMIT $1`,
    [max],
  )

/** Slots with leases that overlap, and the ids in leases of no slot. */
export const overlaps = (reader: Reader, max: number): Promise<number[]> =>
  valuesOf(int('slot_id')).all(
    reader,
    `SELECT slot_id FROM (
       SELECT slot_id, started_at,
         LAG(COALESCE(ended_at, 9223372036854775807)) OVER (PARTITION BY slot_id ORDER BY started_at) AS before_ended
       FROM leases) AS walked
     WHERE before_ended > started_at
     UNION ALL SELECT slot_id FROM leases WHERE NOT EXISTS (SELECT 1 FROM stock WHERE stock.id = leases.slot_id)
     LIMIT $1`,
    [max],
  )

/** Slots whose `free_from` is not the end of their last lease. */
export const misdated = (reader: Reader, max: number): Promise<number[]> =>
  valuesOf(int('id')).all(
    reader,
    `SELECT id FROM stock WHERE free_from <>
       COALESCE((SELECT MAX(ended_at) FROM leases WHERE leases.slot_id = stock.id), 0) ORDER BY id LIMIT $1`,
    [max],
  )

/** Addresses that are in stock and exits at once, which a trigger prevents. */
export const soldTwice = (reader: Reader, max: number): Promise<string[]> =>
  valuesOf(textColumn('address')).all(
    reader,
    `SELECT DISTINCT stock.address FROM exits JOIN stock ON stock.address = exits.host
     WHERE exits.kind = 'local' AND exits.drained_at IS NULL AND stock.state <> 'retired'
     ORDER BY stock.address LIMIT $1`,
    [max],
  )

const leaseColumns = columnsOf<WalkedLease>({
  slot: int('slot_id'),
  proxy: int('proxy_id'),
  startedAt: int('started_at'),
  endedAt: orNull(int('ended_at')),
  freeFromAt: int('free_from'),
  address: textColumn('address'),
  country: textColumn('country'),
  ipv: int('ipv'),
})

const heldFor = { startedAt: int('started_at'), endedAt: orNull(int('ended_at')) }

/** The leases of a proxy, the oldest first. */
export const leasesOf = (reader: Reader, proxy: number) =>
  columnsOf({ address: textColumn('address'), ...heldFor }).all(
    reader,
    `SELECT stock.address, leases.started_at, leases.ended_at FROM leases JOIN stock ON stock.id = leases.slot_id
     WHERE leases.proxy_id = $1 ORDER BY leases.started_at, leases.ended_at IS NULL, leases.ended_at`,
    [proxy],
  )

/** The holders of an address between two moments, both included, the oldest first. A lease excludes its end. */
export const holdersBetween = (reader: Reader, address: string, from: number, to: number) =>
  columnsOf({ proxy: int('proxy_id'), ...heldFor }).all(
    reader,
    `SELECT leases.proxy_id, leases.started_at, leases.ended_at FROM stock JOIN leases ON leases.slot_id = stock.id
     WHERE stock.address = $1 AND leases.started_at <= $3 AND (leases.ended_at IS NULL OR leases.ended_at > $2)
     ORDER BY leases.started_at, leases.proxy_id LIMIT 1000`,
    [address, from, to],
  )

const walkedLeases = `SELECT leases.slot_id, leases.proxy_id, leases.started_at, leases.ended_at, stock.address,
    stock.country, stock.ipv, COALESCE((SELECT MAX(ended_at) FROM leases AS earlier
      WHERE earlier.slot_id = leases.slot_id AND earlier.started_at < leases.started_at), 0) AS free_from
  FROM leases JOIN stock ON stock.id = leases.slot_id`

/** The leases of these proxies, slot after slot. */
export async function leasesOfProxies(reader: Reader, proxies: readonly number[]): Promise<WalkedLease[]> {
  const sql = (among: string) =>
    `${walkedLeases} WHERE leases.proxy_id IN (${among}) ORDER BY leases.slot_id, leases.started_at`
  return (await allOf<Row>(reader, proxies, sql)).map(leaseColumns.read)
}

/** Keyset pagination over all leases, slot after slot. */
export const leasesAfter = (reader: Reader, after: Pick<WalkedLease, 'slot' | 'startedAt'>, limit: number) =>
  leaseColumns.all(
    reader,
    `${walkedLeases}
     WHERE (leases.slot_id, leases.started_at) > ($1, $2) ORDER BY leases.slot_id, leases.started_at LIMIT $3`,
    [after.slot, after.startedAt, limit],
  )

/** Keyset pagination over all slots. */
/** The largest number of a slot; -1 without one. */
export const lastSlot = async (reader: Reader): Promise<number> =>
  Number((await reader.first<{ last: bigint | null }>('SELECT MAX(id) AS last FROM stock'))?.last ?? -1n)

export const slotsAfter = (reader: Reader, after: number, limit: number): Promise<SlotRecord[]> =>
  slotColumns.all(reader, 'SELECT * FROM stock WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])

export async function slotsOf(reader: Reader, addresses: readonly string[]): Promise<SlotRecord[]> {
  const sql = (among: string) => `SELECT * FROM stock WHERE address IN (${among}) ORDER BY id`
  return (await allIn<Row>(reader, addresses, sql)).map(slotColumns.read)
}

/** The proxies that hold these slots now. */
export async function holdersOf(reader: Reader, slots: readonly number[]): Promise<number[]> {
  const sql = (ids: string) => `SELECT proxy_id FROM leases WHERE ended_at IS NULL AND slot_id IN (${ids})`
  return (await allIn<{ proxy_id: bigint }>(reader, slots, sql)).map((row) => Number(row.proxy_id))
}

export const retireSlots = (tx: Tx, slots: readonly number[]): void =>
  sendIn(tx, slots, (ids) => `UPDATE stock SET ${retiring} WHERE id IN (${ids})`)

export const restoreSlots = (tx: Tx, slots: readonly number[]): void =>
  sendIn(tx, slots, (ids) => `UPDATE stock SET ${restored} WHERE id IN (${ids})`)

/** Free slots rest, and no rest ends before the quarantine does. Leased ones stay with their holders. */
export const setQuarantined = (tx: Tx, slots: readonly number[], nowMs: number): void =>
  sendIn(
    tx,
    slots,
    (ids) =>
      `UPDATE stock SET quarantined = 1, rest_until = CASE WHEN state = 'free' THEN $1 ELSE rest_until END,
         state = CASE WHEN state = 'free' THEN 'resting' ELSE state END
       WHERE id IN (${ids})`,
    [nowMs],
  )

export const endQuarantine = (tx: Tx, slots: readonly number[]): void =>
  sendIn(tx, slots, (ids) => `UPDATE stock SET quarantined = 0 WHERE id IN (${ids})`)

export const setBlockQuarantined = (tx: Tx, prefix: string, quarantined: boolean): void =>
  tx.send('UPDATE stock_prefixes SET quarantined = $2 WHERE prefix = $1', [prefix, quarantined ? 1 : 0])
