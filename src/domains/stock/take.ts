import { type Address, contains, formatAddress, formatPrefix, type Prefix, readPrefix } from '../../core/address.ts'
import { Refusal } from '../../core/refusal.ts'
import { ConstraintViolation, type Reader, type Tx, unavailable } from '../../db/transaction.ts'
import type { Node } from '../fleet/rules.ts'
import type { StockDeps } from './deps.ts'
import { NoGateway, soldElsewhere } from './errors.ts'
import { addBlock, begin, cancel, nextId, open, plan } from './ranges/assign.ts'
import { finish, leftBehind, waitForOthers } from './ranges/resume.ts'
import type { Planned } from './ranges/rules.ts'
import { gateways, selling, unprovenAt } from './ranges/served.ts'
import {
  drawShares,
  type Kind,
  maxWrittenOut,
  randomAddress,
  type StockSlot,
  saleWeight,
  scattered,
  sizeOf,
  slotsOf,
} from './rules.ts'
import * as store from './store.ts'

/** Free slots are counted up to this many. */
const maxCounted = 20_000
const countRememberedMs = 1_000
/** Free slots of one gateway are counted up to this many for the draw. */
const maxWeighed = 1_000
const importChunk = 4_000
const mintAttempts = 20
const lastId = Number.MAX_SAFE_INTEGER

/** What `take` needs and cannot wait for inside of a transaction. */
export type Readiness = {
  readonly servingNodes: readonly Node[]
  /** Weight of each of these nodes in the draw of a sale's gateway. */
  readonly weights: readonly number[]
  readonly away: readonly string[]
  readonly unprovenAt: number | undefined
  readonly spareIds: readonly number[]
  /** The life of the database in which all of this was read. */
  readonly life: number
}

const nameOf = (kind: Kind): string => `${kind.country} ${kind.ipv}`
const cursorOf = (kind: Kind, node: string): string => `${nameOf(kind)} ${node}`

/** Locks slots after the cursor, then before it. The cursor moves first, so that concurrent sales search elsewhere. */
async function lockFromCursor(deps: StockDeps, tx: Tx, query: store.SlotQuery, node: string, count: number) {
  const name = cursorOf(query.kind, node)
  const cursor = deps.cursors.get(name) ?? 0
  deps.cursors.set(name, cursor + count)
  const ahead = await store.lockFree(tx, query, node, { after: cursor, upto: lastId, max: count }, 'skip')
  const max = count - ahead.length
  const isMore = max > 0 && cursor > 0
  const behind = isMore ? await store.lockFree(tx, query, node, { after: 0, upto: cursor, max }, 'skip') : []
  const last = behind.at(-1) ?? ahead.at(-1)
  if (last && (behind.length > 0 || last.id > (deps.cursors.get(name) ?? 0))) deps.cursors.set(name, last.id)
  return [...ahead, ...behind]
}

/** How many slots to lock: a customer gets one slot of a shared address, so more are looked at. */
const wanted = (kind: Kind, count: number, held: ReadonlySet<string>): number =>
  kind.ipv === 3 ? count * 3 + held.size * 2 : count

function choose(tx: Tx, found: readonly StockSlot[], count: number, held: ReadonlySet<string>): StockSlot[] {
  const taken = new Set(held)
  const chosen: StockSlot[] = []
  for (const slot of found) {
    if (chosen.length === count || taken.has(slot.address)) continue
    taken.add(slot.address)
    chosen.push(slot)
  }
  const ids = chosen.map((slot) => slot.id)
  store.setLeased(tx, ids)
  return chosen
}

/** The usual sale: one dedicated address, found and leased in one statement. */
async function takeNext(deps: StockDeps, tx: Tx, kind: Kind, node: string): Promise<StockSlot[]> {
  const name = cursorOf(kind, node)
  const cursor = deps.cursors.get(name) ?? 0
  deps.cursors.set(name, cursor + 1)
  const slot = await store.leaseNext(tx, kind, node, cursor)
  if (slot && slot.id > (deps.cursors.get(name) ?? 0)) deps.cursors.set(name, slot.id)
  return slot ? [slot] : []
}

/** Slots of a node that no concurrent sale has locked. */
async function takeUnlocked(
  deps: StockDeps,
  tx: Tx,
  query: store.SlotQuery,
  node: string,
  count: number,
  held: ReadonlySet<string>,
): Promise<StockSlot[]> {
  const { kind } = query
  const isPlain = count === 1 && kind.ipv !== 3 && query.unprovenAt === undefined
  const next = isPlain ? await takeNext(deps, tx, kind, node) : []
  if (next.length > 0) return next
  return choose(tx, await lockFromCursor(deps, tx, query, node, wanted(kind, count, held)), count, held)
}

/** Waits for the slots of a node that concurrent sales have locked: those sales may fail. */
async function takeLocked(
  tx: Tx,
  query: store.SlotQuery,
  node: string,
  count: number,
  held: ReadonlySet<string>,
): Promise<StockSlot[]> {
  const all = { after: 0, upto: lastId, max: wanted(query.kind, count, held) }
  return choose(tx, await store.lockFree(tx, query, node, all, 'wait'), count, held)
}

/** New slots of large blocks, in turn between the blocks. */
async function mint(deps: StockDeps, tx: Tx, query: store.SlotQuery, ids: readonly number[]): Promise<StockSlot[]> {
  if (ids.length === 0) return []
  const blocks = (await store.blocksOf(tx, query)).flatMap((block) => {
    const prefix = readPrefix(block.prefix)
    return prefix ? [{ ...block, prefix }] : []
  })
  if (blocks.length === 0) return []
  const minted = new Map<string, (typeof blocks)[number]>()
  for (let attempt = 0; attempt < mintAttempts && minted.size < ids.length; attempt += 1) {
    const drawn = new Map<string, (typeof blocks)[number]>()
    for (let index = minted.size; index < ids.length; index += 1) {
      const block = blocks[index % blocks.length]
      if (block) drawn.set(formatAddress(randomAddress(block.prefix, deps.random)), block)
    }
    const known = await store.existing(tx, [...drawn.keys()])
    const exits = await store.exitsAmong(tx, [...drawn.keys()])
    for (const [address, block] of drawn) if (!known.has(address) && !exits.has(address)) minted.set(address, block)
  }
  const slots = [...minted].map(([address, { range, servingNode }], index) => {
    return { id: ids[index] ?? 0, address, freeFrom: 0, range, servingNode }
  })
  store.mintSlots(tx, slots, query.kind)
  return slots
}

/** Whether the missing slots are on gateways that are away. */
async function areAway(tx: Tx, kind: Kind, missing: number, servingNodes: readonly string[]): Promise<boolean> {
  if (servingNodes.length === 0) return false
  const query = { kind, servingNodes }
  if (kind.ipv === 6 && (await store.blocksOf(tx, query)).length > 0) return true
  return (await store.countFree(tx, query, missing)) === missing
}

/**
 * Adds addresses in chunks of one transaction each: the first slot of all, then the second. Nodes are sent the ranges
 * at the end. An earlier import of the same addresses that was broken off is finished too.
 */
export async function addAddresses(
  deps: StockDeps,
  addresses: Iterable<string>,
  kind: Kind,
  onProgress: (done: number) => void = () => {},
  nodeIds: readonly string[] = [],
): Promise<number> {
  const all = [...addresses]
  await waitForOthers(deps, all)
  const known = await store.existing(deps.db, all)
  const unknown = all.filter((each) => !known.has(each))
  const left = await leftBehind(deps, all, unknown)
  const planned = await plan(
    deps,
    unknown.filter((each) => left.byAddress(each) === undefined),
    nodeIds,
  )
  const begun = await begin(deps, planned)
  const rangeOf: Planned['byAddress'] = (address) => left.byAddress(address) ?? begun.byAddress(address)
  try {
    let added = 0
    for (let slot = 0; slot < slotsOf(kind.ipv); slot += 1) {
      for (let at = 0; at < all.length; at += importChunk) {
        added += await addChunk(deps, all.slice(at, at + importChunk), slot, kind, rangeOf)
        onProgress(added)
      }
    }
    await open(deps, begun)
    await finish(deps, left, nodeIds)
    deps.counts.clear()
    return added
  } catch (error) {
    if (!(error instanceof ConstraintViolation)) throw error
    await deps.db.transact(async (tx) => cancel(deps, tx, planned, begun))
    throw soldElsewhere()
  }
}

async function addChunk(
  deps: StockDeps,
  chunk: readonly string[],
  slot: number,
  kind: Kind,
  rangeOf: Planned['byAddress'],
) {
  const ids = await deps.slotIds.take(chunk.length)
  return deps.db.transact(async (tx) => {
    const there = await store.existing(tx, chunk)
    // An address whose first slot is of another kind gets no more slots.
    const others = slot === 0 ? new Set<string>() : await store.ofOtherKind(tx, chunk, kind)
    const slots = chunk.flatMap((address, index): store.NewSlot[] => {
      if (others.has(address)) return []
      const where = there.get(address) ?? { range: rangeOf(address) ?? null, servingNode: null }
      return [{ id: ids[index] ?? 0, address, slot, ...kind, state: 'free', ...where }]
    })
    return store.insertSlots(tx, slots)
  })
}

async function countNow(deps: StockDeps, kind: Kind, max = maxCounted): Promise<number> {
  const servingNodes = await selling(deps)
  if (servingNodes.length === 0) return 0
  const query = { kind, servingNodes, unprovenAt: await unprovenAt(deps) }
  if (kind.ipv === 6 && (await store.blocksOf(deps.db, query)).length > 0) return max
  return store.countFree(deps.db, query, max)
}

/** The weights of gateways for a kind, from counts that are at most a second old. A block counts as many free slots. */
async function weightsOf(deps: StockDeps, query: store.SlotQuery, nodes: readonly Node[]): Promise<readonly number[]> {
  if (nodes.length < 2) return nodes.map(() => 1)
  const load = async () => {
    const blocks = query.kind.ipv === 6 ? await store.blocksOf(deps.db, query) : []
    const counts = new Map<string, number>()
    for (const node of query.servingNodes) {
      const hasBlock = blocks.some((block) => block.servingNode === node)
      counts.set(node, hasBlock ? maxWeighed : await store.countFreeOf(deps.db, query, node, maxWeighed))
    }
    return counts
  }
  const [name, nowMs] = [nameOf(query.kind), deps.clock()]
  const known = deps.freeOfNodes.get(name)
  const isRecent = known !== undefined && Math.abs(nowMs - known.countedAt) < countRememberedMs
  const counts = isRecent ? known.counts : load()
  if (!isRecent) {
    deps.freeOfNodes.set(name, { counts, countedAt: nowMs })
    counts.catch(() => deps.freeOfNodes.delete(name))
  }
  const free = await counts
  return nodes.map((node) => saleWeight(node, free.get(node.id) ?? 0))
}

export async function prepare(deps: StockDeps, kind: Kind, count: number): Promise<Readiness> {
  const life = deps.life()
  const [{ selling: servingNodes, away }, checkedAt, spareIds] = await Promise.all([
    gateways(deps),
    unprovenAt(deps),
    kind.ipv === 6 ? deps.slotIds.take(count) : Promise.resolve([]),
  ])
  const query = { kind, servingNodes: servingNodes.map((node) => node.id), unprovenAt: checkedAt }
  const weights = await weightsOf(deps, query, servingNodes)
  return { servingNodes, weights, away, unprovenAt: checkedAt, spareIds, life }
}

/** Takes served slots for a customer, or refuses with how many there are. `held` are the customer's addresses. */
export async function take(
  deps: StockDeps,
  tx: Tx,
  kind: Kind,
  count: number,
  held: ReadonlySet<string>,
  { servingNodes, weights, spareIds, ...ready }: Readiness,
): Promise<StockSlot[]> {
  // The gateways and ids were read before the database went back.
  if (ready.life !== deps.life()) throw unavailable('changed', undefined)
  if (servingNodes.length === 0) throw new NoGateway()
  const query = { kind, servingNodes: servingNodes.map((node) => node.id), unprovenAt: ready.unprovenAt }
  const slots: StockSlot[] = []
  const have = new Set(held)
  const ids = [...spareIds]
  const keep = (taken: readonly StockSlot[]): void => {
    slots.push(...taken)
    for (const slot of taken) have.add(slot.address)
  }
  const takeFrom = async (node: string, max: number): Promise<void> => {
    if (max <= 0) return
    const found = await takeUnlocked(deps, tx, query, node, max, have)
    keep(found)
    // Only IPv6 has spare ids: its large blocks get a slot for an address that is sold for the first time.
    const minted = await mint(deps, tx, { ...query, servingNodes: [node] }, ids.slice(0, max - found.length))
    ids.splice(0, minted.length)
    keep(minted)
  }
  const shares = drawShares(weights, count, deps.random)
  for (const [index, node] of query.servingNodes.entries()) await takeFrom(node, shares[index] ?? 0)
  for (const node of query.servingNodes) await takeFrom(node, count - slots.length)
  for (const node of query.servingNodes) {
    if (slots.length < count) keep(await takeLocked(tx, query, node, count - slots.length, have))
  }
  if (slots.length === count) return slots
  // A range that waits for its proof is back within minutes.
  const later = ready.unprovenAt === undefined ? ready.away : [...ready.away, ...query.servingNodes]
  if (await areAway(tx, kind, count - slots.length, later)) throw new NoGateway()
  const found = { available: slots.length }
  throw new Refusal('out_of_stock', found, { ...found, charged: false })
}

/** Opens leases from now on, or from the end of the slot's last lease if the clock was set back. */
export function lease(tx: Tx, leases: readonly { slot: StockSlot; proxy: number }[], nowMs: number): void {
  const opened = leases.map(({ slot: { id, freeFrom }, proxy }) => {
    return { slot: id, startedAt: Math.max(nowMs, freeFrom), proxy }
  })
  store.openLeases(tx, opened)
}

/** Ends leases; the slots rest until their time. */
export async function release(tx: Tx, slots: readonly { id: number; endedAt: number; restUntil: number }[]) {
  for (const { id, endedAt, restUntil } of slots) {
    const freeFrom = (await store.endLease(tx, id, endedAt)) ?? endedAt
    store.setResting(tx, { id, freeFrom, restUntil })
  }
}

/** Frees up to `max` rested slots. Returns how many; call again while it is `max`. */
export const endRest = (deps: StockDeps, max: number): Promise<number> =>
  deps.db.transact((tx) => store.endRest(tx, deps.clock(), max))

/** How many slots are free and served, exact up to 20,000, at most a second old. */
export function available(deps: StockDeps, kind: Kind): Promise<number> {
  const nowMs = deps.clock()
  const known = deps.counts.get(nameOf(kind))
  if (known && Math.abs(nowMs - known.countedAt) < countRememberedMs) return known.count
  const count = countNow(deps, kind)
  deps.counts.set(nameOf(kind), { count, countedAt: nowMs })
  count.catch(() => deps.counts.delete(nameOf(kind)))
  return count
}

/** How many slots are free and served, counted up to `max`: a large stock costs as little as a small one. */
export const availableUpTo = (deps: StockDeps, kind: Kind, max: number): Promise<number> => countNow(deps, kind, max)

/** How many are available outside of a range, of which `within` are free and served. */
export async function availableBeside(deps: StockDeps, kind: Kind, within: number, blocks: readonly string[]) {
  const query = { kind, servingNodes: await selling(deps), unprovenAt: await unprovenAt(deps) }
  if (query.servingNodes.length === 0) return 0
  const others =
    kind.ipv === 6 ? (await store.blocksOf(deps.db, query)).filter((each) => !blocks.includes(each.prefix)) : []
  if (others.length > 0) return maxCounted
  return Math.max(0, (await store.countFree(deps.db, query, maxCounted + within)) - within)
}

/** The large block on sale that contains an address. */
export async function blockAround(reader: Reader, address: Address): Promise<string | undefined> {
  return (await store.blocksOnSale(reader)).find((text) => {
    const block = readPrefix(text)
    return block !== undefined && block.base.version === address.version && contains(block, address)
  })
}

/** Adds a prefix, as slots or as one block if it is large. Idempotent. `nodeIds` are its nodes; none: any. */
export async function add(
  deps: StockDeps,
  prefix: Prefix,
  kind: Kind,
  onProgress: (done: number) => void = () => {},
  nodeIds: readonly string[] = [],
): Promise<number> {
  if (sizeOf(prefix) <= maxWrittenOut) return addAddresses(deps, scattered(prefix), kind, onProgress, nodeIds)
  const id = await nextId(deps)
  return deps.db.transact(async (tx) => {
    if (!(await store.insertPrefix(tx, formatPrefix(prefix), kind, deps.clock()))) return 0
    if (await store.hasExitWithin(tx, prefix)) throw soldElsewhere()
    await addBlock(deps, tx, prefix, id, nodeIds)
    return 1
  })
}

export const hasBlock = (deps: StockDeps, prefix: Prefix): Promise<boolean> =>
  store.hasPrefix(deps.db, formatPrefix(prefix))
