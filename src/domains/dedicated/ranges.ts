import { formatPrefix, type Prefix } from '../../core/address.ts'
import { readCountry } from '../../core/country.ts'
import { kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { runningSince } from '../../core/stall-monitor.ts'
import { NoGateway } from '../stock/index.ts'
import { isServing } from '../stock/ranges/rules.ts'
import type { Ipv, SlotState } from '../stock/rules.ts'
import { end } from './end.ts'
import { nothingWithin } from './errors.ts'
import { interrupt, restore, ruleOf } from './outages/outages.ts'
import type { DedicatedDeps } from './proxies.ts'
import { findUnused } from './refund.ts'
import { replaceByOperator } from './replace.ts'
import { leftAt, type Proxy, statusAt } from './rules.ts'
import * as store from './store.ts'

/** How many rows one transaction changes. A command that was interrupted is given again and continues. */
const pageSize = 200

/** Slots of a kind by state; `replacements` are free, served slots of the kind outside of the range. */
type KindCount = Record<SlotState, number> & {
  readonly country: string
  readonly ipv: Ipv
  readonly replacements: number
}

type RangeOrder = {
  readonly undo: boolean
  /** Customers get other addresses of the kind now. */
  readonly replace: boolean
  /** A proxy without a replacement is ended and its unused time refunded; otherwise it waits. */
  readonly refund: boolean
  readonly note: string
}

const pagesIn = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / pageSize) }, (_, index) =>
    items.slice(index * pageSize, (index + 1) * pageSize),
  )

/** The proxies that hold a slot of a range now. */
async function holders({ stockOperator }: DedicatedDeps, prefix: Prefix): Promise<number[]> {
  const found: number[] = []
  for await (const page of stockOperator.slotsWithin(prefix)) {
    const leased = page.filter((slot) => slot.state === 'leased').map((slot) => slot.id)
    found.push(...(await stockOperator.holdersOf(leased)))
  }
  return found.toSorted((a, b) => a - b)
}

async function countKinds(
  { stock, stockOperator }: DedicatedDeps,
  prefix: Prefix,
  blocks: readonly string[],
): Promise<KindCount[]> {
  const kinds = new Map<string, { country: string; ipv: Ipv; states: Record<SlotState, number>; sellable: number }>()
  const live = await stock.ranges.live()
  for await (const page of stockOperator.slotsWithin(prefix)) {
    for (const { country, ipv, state, servingNode } of page) {
      const name = `${country} ${ipv}`
      const states = { free: 0, leased: 0, resting: 0, retired: 0 }
      const counted = kinds.get(name) ?? { country, ipv, states, sellable: 0 }
      counted.states[state] += 1
      if (state === 'free' && live.includes(servingNode ?? '')) counted.sellable += 1
      kinds.set(name, counted)
    }
  }
  const counts: KindCount[] = []
  for (const { country, ipv, states, sellable } of kinds.values()) {
    const code = readCountry(country)
    const replacements = code ? await stock.availableBeside({ country: code, ipv }, sellable, blocks) : 0
    counts.push({ country, ipv, ...states, replacements })
  }
  return counts
}

/** The slots of a range now and the proxies on them; `unused` is the refund if all these proxies ended now. */
export async function survey(deps: DedicatedDeps, prefix: Prefix) {
  const blocks = await deps.stockOperator.blocksWithin(prefix)
  const kinds = await countKinds(deps, prefix, blocks)
  if (kinds.length === 0 && blocks.length === 0) throw nothingWithin(formatPrefix(prefix))
  const ids = await holders(deps, prefix)
  const proxies: Proxy[] = []
  for (const page of pagesIn(ids)) proxies.push(...(await store.findMany(deps.db, page)))
  const byCustomer = Map.groupBy(proxies, (proxy) => proxy.customer)
  let sum = 0n
  for (const [customer, own] of byCustomer) {
    const unused = await deps.db.transact((tx) =>
      findUnused(deps, tx, customer, own, (proxy) => Math.max(0, leftAt(proxy, deps.clock()))),
    )
    for (const part of [...unused.values()].flat()) sum += part.amount
  }
  const customers = byCustomer.size
  return { prefix: formatPrefix(prefix), kinds, blocks, proxies: ids, customers, unused: kopecks(sum) }
}

/** Assigns a range, with the proxies on it, to other gateways. `away` are those gateways that are not serving now. */
export async function move(deps: DedicatedDeps, prefix: Prefix, nodeIds: readonly string[], isDry: boolean) {
  const { proxies, customers } = await survey(deps, prefix)
  const away = (await deps.fleet.nodes('gateway'))
    .filter((node) => nodeIds.includes(node.id) && !isServing(node, runningSince(deps)))
    .map((node) => node.name)
  const ranges = isDry ? 0 : await deps.stock.ranges.assign(prefix, nodeIds)
  return { proxies, customers, away, ranges }
}

/** Stops sales of a range. Leases run out, or with `replace` customers get other addresses now. */
export async function retire(deps: DedicatedDeps, prefix: Prefix, order: RangeOrder) {
  const slotCount = await close(deps, prefix, 'retired', order.undo)
  return { places: slotCount, interrupted: 0, restored: 0, ...(await moveOut(deps, prefix, order)) }
}

/** Stops sales and service of a range until it is undone. */
export async function quarantine(deps: DedicatedDeps, prefix: Prefix, order: RangeOrder) {
  const slotCount = await close(deps, prefix, 'quarantined', order.undo)
  const moved = await moveOut(deps, prefix, order)
  if (order.undo) return { places: slotCount, interrupted: 0, restored: await liftQuarantine(deps, prefix), ...moved }
  let interrupted = 0
  for (const page of pagesIn(await holders(deps, prefix))) {
    const found = page.map((proxy) => ({ proxy, servedAt: deps.clock() }))
    interrupted += await interrupt(deps, found, 'quarantine')
  }
  return { places: slotCount, interrupted, restored: 0, ...moved }
}

async function close(
  { stockOperator }: DedicatedDeps,
  prefix: Prefix,
  as: 'retired' | 'quarantined',
  undo: boolean,
): Promise<number> {
  const blocks = await stockOperator.blocksWithin(prefix)
  let count = 0
  await stockOperator.close({ as, undo, slots: [], blocks })
  for await (const found of stockOperator.slotsWithin(prefix)) {
    for (const page of pagesIn(found)) {
      const slots = page.map((slot) => slot.id)
      await stockOperator.close({ as, undo, slots, blocks: [] })
      count += slots.length
    }
  }
  if (count === 0 && blocks.length === 0) throw nothingWithin(formatPrefix(prefix))
  return count
}

/** Replaces the addresses of running proxies in a range, if so ordered. A proxy in grace keeps its address. */
async function moveOut(deps: DedicatedDeps, prefix: Prefix, order: RangeOrder) {
  const moved = { replaced: new Array<number>(), ended: new Array<number>(), waiting: new Array<number>() }
  if (order.undo || !order.replace) return moved
  for (const id of await holders(deps, prefix)) {
    const proxy = await store.findProxy(deps.db, id)
    if (proxy?.state !== 'held' || statusAt(proxy, deps.clock()) === 'expired') continue
    moved[await moveOne(deps, id, order)].push(id)
  }
  return moved
}

async function moveOne(
  deps: DedicatedDeps,
  id: number,
  { note, refund }: RangeOrder,
): Promise<'replaced' | 'ended' | 'waiting'> {
  try {
    await replaceByOperator(deps, id, { note })
    return 'replaced'
  } catch (error) {
    // Without a gateway the shop does not know which addresses are free.
    if (error instanceof NoGateway) return 'waiting'
    if (!(error instanceof Refusal) || error.code !== 'out_of_stock') throw error
    if (!refund) return 'waiting'
    await end(deps, id, { give: 'unused', note })
    return 'ended'
  }
}

async function liftQuarantine(deps: DedicatedDeps, prefix: Prefix): Promise<number> {
  const rule = await ruleOf(deps)
  let restored = 0
  for (const page of pagesIn(await holders(deps, prefix))) {
    const held = (await store.findMany(deps.db, page)).filter((proxy) => proxy.interruptedBy === 'quarantine')
    for (const [customer, own] of Map.groupBy(held, (proxy) => proxy.customer)) {
      const ids = own.map((proxy) => proxy.id)
      restored += await restore(deps, customer, ids, rule)
    }
  }
  return restored
}
