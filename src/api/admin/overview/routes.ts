import { firstId } from '../../../core/ids.ts'
import { kopecks, toRoubles, total } from '../../../core/money.ts'
import { runningSince } from '../../../core/stall-monitor.ts'
import { toIso } from '../../../core/time.ts'
import { createTtlCache } from '../../../core/ttl-cache.ts'
import { isOnline } from '../../../domains/fleet/rules.ts'
import type { Pricing } from '../../../domains/pricing/index.ts'
import { lookAtRanges } from '../../../domains/stock/index.ts'
import type { z } from '../../operation.ts'
import { type AdminDeps, type BindAdmin, nameOf } from '../bind.ts'
import { getLiveNetwork, getOverview, getSetup, getUpcoming, setupSteps } from './shapes.ts'

type Overview = z.input<typeof getOverview.answer>

const dayMs = 86_400_000

/** Many look at the first page; the figures are counted once for all of them. */
export function adminOverviewOperations(bind: BindAdmin, deps: AdminDeps) {
  const compared = createTtlCache({
    load: (days: number) => compare(deps, days),
    clock: deps.clock,
    ttlMs: 60_000,
    maxEntries: 10,
  })
  const overview = createTtlCache({
    load: async (days: number) => ({ ...(await makeOverview(deps, days)), compared: await compared.get(days) }),
    clock: deps.clock,
    ttlMs: 10_000,
    maxEntries: 10,
  })
  // The setup page asks every 5 s, and each overview asks too.
  const setup = createTtlCache({ load: () => lookAtSetup(deps), clock: deps.clock, ttlMs: 2_000, maxEntries: 1 })
  const upcoming = createTtlCache({
    load: (days: number) => lookAhead(deps, days),
    clock: deps.clock,
    ttlMs: 60_000,
    maxEntries: 10,
  })
  const live = createTtlCache({ load: () => lookAtNetwork(deps), clock: deps.clock, ttlMs: 5_000, maxEntries: 1 })
  return [
    bind(getLiveNetwork, () => live.get('network')),
    bind(getUpcoming, ({ query }) => upcoming.get(query.days)),
    bind(getOverview, ({ query }) => overview.get(query.days)),
    bind(getSetup, () => setup.get('setup')),
  ]
}

async function makeOverview(deps: AdminDeps, dayCount: number): Promise<Omit<Overview, 'compared'>> {
  const nowMs = deps.clock()
  const today = Math.floor(nowMs / dayMs) * dayMs
  const [days, stock, nodes, proxies, vpn, customers] = await Promise.all([
    revenueOf(deps, today - (dayCount - 1) * dayMs, today),
    stockOf(deps),
    nodesOf(deps),
    deps.proxyOperator.countActive(),
    deps.vpn.countActive(),
    deps.customers.countAll(),
  ])
  const active = { proxies: proxies.active, interrupted: proxies.interrupted, vpn }
  return { days, customers, active, stock, nodes, made_at: toIso(nowMs) }
}

/** The days until now, and the same time as many days before: both have as many Mondays and as many hours of today. */
async function compare(deps: AdminDeps, dayCount: number): Promise<Overview['compared']> {
  const toAt = deps.clock()
  const fromAt = Math.floor(toAt / dayMs) * dayMs - (dayCount - 1) * dayMs
  const shiftMs = dayCount * dayMs
  const [now, before] = await Promise.all([
    businessOf(deps, fromAt, toAt, 'now'),
    businessOf(deps, fromAt - shiftMs, toAt - shiftMs),
  ])
  return { now, before, before_from: toIso(fromAt - shiftMs), before_to: toIso(toAt - shiftMs) }
}

async function businessOf(
  deps: AdminDeps,
  fromAt: number,
  toAt: number,
  reportedUntil: number | 'now' = toAt,
): Promise<Overview['compared']['now']> {
  const ids = [firstId('customer', fromAt), firstId('customer', toAt)] as const
  const [sold, refunded, customers, relayed] = await Promise.all([
    deps.orders.sumBetween(fromAt, toAt),
    deps.ledger.sumRefundsBetween(fromAt, toAt),
    deps.customers.countBetween(...ids),
    deps.fleet.relayedBetween(fromAt, reportedUntil),
  ])
  return {
    revenue_rub: Number(sold.sum - refunded) / 100,
    orders: sold.orders,
    customers,
    relayed_bytes: relayed ?? null,
  }
}

async function revenueOf(deps: AdminDeps, from: number, today: number): Promise<Overview['days']> {
  const end = today + dayMs
  const sales = Map.groupBy(await deps.orders.salesByDay(from, end), (each) => each.day * dayMs)
  const refunds = await deps.ledger.refundsByDay(from, end)
  return Array.from({ length: (today - from) / dayMs + 1 }, (_, index) => {
    const day = from + index * dayMs
    const sold = sales.get(day) ?? []
    const sum = total(sold.map((each) => kopecks(each.price)))
    const refunded = kopecks(refunds.get(day) ?? 0n)
    return {
      day: toIso(day).slice(0, 10),
      sold_rub: toRoubles(sum),
      refunded_rub: toRoubles(refunded),
      revenue_rub: toRoubles(kopecks(sum - refunded)),
      orders: sold.reduce((count, each) => count + each.orders, 0),
      products: Object.fromEntries(sold.map((each) => [each.product, toRoubles(kopecks(each.price))])),
    }
  })
}

type Upcoming = z.input<typeof getUpcoming.answer>

async function lookAhead(deps: AdminDeps, dayCount: number): Promise<Upcoming> {
  const nowMs = deps.clock()
  const today = Math.floor(nowMs / dayMs)
  const toAt = (today + dayCount) * dayMs
  const [proxies, vpn, stock] = await Promise.all([
    deps.proxyOperator.countEnding(toAt),
    deps.vpn.countEnding(toAt),
    stockToRunOut(deps, nowMs),
  ])
  const endsAt = deps.certificateEndsAt()
  const countsOf = (of: typeof proxies, day: number) => {
    const { all = 0, renewing = 0 } = of.find((each) => each.day === day) ?? {}
    return [renewing, all - renewing] as const
  }
  const days = Array.from({ length: dayCount }, (_, index) => {
    const [proxiesRenew, proxiesEnd] = countsOf(proxies, today + index)
    const [vpnRenew, vpnEnd] = countsOf(vpn, today + index)
    return {
      day: toIso((today + index) * dayMs).slice(0, 10),
      proxies_renew: proxiesRenew,
      proxies_end: proxiesEnd,
      vpn_renew: vpnRenew,
      vpn_end: vpnEnd,
    }
  })
  const certificates = endsAt === undefined ? [] : [{ of: 'shop' as const, ends_at: toIso(endsAt) }]
  return { days, stock, certificates, made_at: toIso(nowMs) }
}

const yearMs = 365 * dayMs

/** Kinds whose free slots last less than a year at the rate of the last 24 hours. A block of IPv6 does not run out. */
async function stockToRunOut(deps: AdminDeps, nowMs: number): Promise<Upcoming['stock']> {
  const [slots, sold, blocks] = await Promise.all([
    stockOf(deps),
    deps.proxyOperator.countSold(nowMs - dayMs),
    deps.stockOperator.blocks(),
  ])
  const inBlocks = new Set(blocks.filter((each) => each.retiredAt === null).map((each) => each.country))
  const kinds = sold.flatMap(({ country, ipv, proxies }) => {
    if (ipv === 6 && inBlocks.has(country)) return []
    const free = slots.find((each) => each.country === country && each.ipv === ipv)?.free ?? 0
    const leftMs = (free / proxies) * dayMs
    return leftMs > yearMs ? [] : [{ country, ipv, free, sold_per_day: proxies, runs_out_at: toIso(nowMs + leftMs) }]
  })
  return kinds.toSorted((a, b) => a.runs_out_at.localeCompare(b.runs_out_at))
}

async function stockOf(deps: AdminDeps): Promise<Overview['stock']> {
  const kinds = new Map<string, Overview['stock'][number]>()
  for (const { country, ipv, state, count } of await deps.stockOperator.counts()) {
    const name = `${country} ${ipv}`
    const kind = kinds.get(name) ?? { country, ipv, free: 0, leased: 0, resting: 0, retired: 0 }
    kinds.set(name, { ...kind, [state]: count })
  }
  return [...kinds.values()]
}

async function nodesOf({ fleet, ...deps }: AdminDeps): Promise<Overview['nodes']> {
  const since = runningSince(deps)
  const counts = { online: 0, offline: 0, closed: 0 }
  for (const node of [...(await fleet.nodes('gateway')), ...(await fleet.nodes('vpn'))]) {
    if (node.state !== 'closed' && node.lastSeenAt === null) continue
    counts[node.state === 'closed' ? 'closed' : isOnline(node, since) ? 'online' : 'offline'] += 1
  }
  return counts
}

async function lookAtNetwork({ fleet, proxyOperator, ...deps }: AdminDeps) {
  const since = runningSince(deps)
  const [gateways, vpn, countries] = await Promise.all([
    fleet.nodes('gateway'),
    fleet.nodes('vpn'),
    proxyOperator.countByCountry(),
  ])
  const reported = [...gateways, ...vpn].filter((node) => node.state !== 'closed' && node.lastSeenAt !== null)
  const nodes = reported.map(async (node) => {
    const isUp = isOnline(node, since)
    const rate = isUp ? await fleet.recentBytesPerSecond(node) : 0
    return {
      name: node.name,
      kind: node.kind,
      country_code: node.countryCode,
      state: isUp ? ('online' as const) : ('offline' as const),
      tunnels: isUp ? (node.health?.tunnels ?? null) : 0,
      mbit_per_second: rate === undefined ? null : Math.round((rate * 8) / 10_000) / 100,
    }
  })
  return { nodes: await Promise.all(nodes), countries }
}

async function lookAtSetup(deps: AdminDeps): Promise<z.input<typeof getSetup.answer>> {
  const [mode, prices, nodes, isServed, methods, customers, [newest]] = await Promise.all([
    deps.customers.mode(),
    deps.pricing.find(),
    nodesOf(deps),
    hasGoods(deps, await deps.pricing.find()),
    deps.payments.methods(),
    deps.customers.countAll(),
    // A text after every order's id.
    deps.orders.newest('ore', 1),
  ])
  const isPriced = prices && (prices.dedicated.kinds.size > 0 || prices.premium.pools.size > 0 || prices.vpn !== null)
  const done: Readonly<Record<(typeof setupSteps)[number], boolean>> = {
    address: new URL(deps.publicUrl()).protocol === 'https:',
    prices: isPriced === true,
    node: nodes.online > 0,
    stock: isServed,
    payment: methods.length > 0,
    customer: customers > 0,
    purchase: newest !== undefined,
  }
  const steps = setupSteps.map((step) => ({ step, done: done[step] }))
  const last = newest && {
    order_id: newest.id,
    product: newest.product,
    action: newest.action,
    price_rub: toRoubles(newest.price),
    customer_id: newest.customer,
    customer_name: await nameOf(deps, newest.customer),
    created_at: toIso(newest.createdAt),
  }
  return { mode: mode === 'sandbox' ? 'sandbox' : 'production', steps, last_order: last ?? null }
}

/** Whether a node that reports has an address, an exit or a VPN to sell. */
async function hasGoods(deps: AdminDeps, prices: Awaited<ReturnType<Pricing['find']>>): Promise<boolean> {
  const ranges = await lookAtRanges(deps, runningSince(deps))
  if (ranges.some((each) => each.by.length > 0)) return true
  if (await deps.vpn.isServed()) return true
  return prices !== undefined && (await deps.premium.exits.overview()).some((each) => each.serving > 0)
}
