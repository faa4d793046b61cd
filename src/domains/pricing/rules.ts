import { divideUp, type Kopecks, kopecks } from '../../core/money.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'

/** The details of a refusal before any charge. */
const notCharged = { charged: false }

const badPeriod = (allowed: readonly number[]): Refusal => refuseField('period', 'one_of', { allowed })

/** Hundredths of a percent, so that 12.5 % is a whole number. */
type BasisPoints = number

/** A discount from a number on. */
export type Step = { readonly from: number; readonly off: BasisPoints }

/** What one proxy in a country costs: by the day, or by the listed period. */
export type Rate =
  | { readonly by: 'day'; readonly price: Kopecks }
  | { readonly by: 'period'; readonly prices: ReadonlyMap<number, Kopecks> }

/** One kind of dedicated proxy (an `ipv`). */
export type DedicatedKind = {
  readonly periods: readonly number[]
  readonly countries: ReadonlyMap<string, Rate>
  readonly volume: readonly Step[]
  readonly term: readonly Step[]
}

/** A pool's price for a gigabyte, from a volume on; the first tier begins at nothing. */
export type Tier = { readonly fromTenths: number; readonly perGigabyte: Kopecks }

export type PremiumPool = { readonly tiers: readonly Tier[]; readonly expiresDays: number | null }

export type VpnPlan = {
  readonly months: ReadonlyMap<number, Kopecks>
  readonly deviceLimit: number
  /** Prices of further device slots by their number; empty if none are sold. */
  readonly slots: ReadonlyMap<number, Kopecks>
  readonly trafficGigabytes: number | null
  /** Gigabytes a month of the traffic for groups of nodes; other nodes have all of it. */
  readonly groups: ReadonlyMap<string, number>
  readonly speedMegabits: number | null
  readonly refund: 'pro_rata' | 'none'
}

/** Most device slots that a subscription can buy. */
export const maxSlots = 100

/** Compensation for an outage of a proxy: the time, or its part of the price. */
export type OutageRule = {
  readonly time: 'extend' | 'refund'
  /** After `afterMs` of outage the address is kept, or replaced within its kind. */
  readonly address: 'keep' | 'replace'
  readonly afterMs: number
}

/** The rule of a shop whose price list has none. */
export const usualOutage: OutageRule = { time: 'extend', address: 'keep', afterMs: 60 * 60_000 }

/** A whole price list. */
export type Catalogue = {
  readonly version: number
  readonly dedicated: {
    readonly kinds: ReadonlyMap<number, DedicatedKind>
    readonly prolongPeriods: readonly number[]
    readonly speedMegabits: number | null
    readonly outage: OutageRule
  }
  readonly premium: { readonly pools: ReadonlyMap<string, PremiumPool>; readonly speedMegabits: number | null }
  readonly vpn: VpnPlan | null
}

const whole = 10_000n

/** A line of proxies of one country and kind: how many, for how many days. */
type DedicatedLine = {
  readonly country: string
  readonly ipv: number
  readonly period: number
  readonly count: number
}

export function priceDedicated(catalogue: Catalogue, line: DedicatedLine) {
  const { kind, rate } = loadRate(catalogue, line)
  if (!kind.periods.includes(line.period)) throw badPeriod(kind.periods)
  return priceLine(kind, rate, kind.periods, line)
}

/** The price of prolonging, which may have other periods than buying. */
export function priceProlonging(catalogue: Catalogue, line: DedicatedLine) {
  const { kind, rate } = loadRate(catalogue, line)
  const periods = prolongPeriods(catalogue, rate)
  if (!periods.includes(line.period)) throw badPeriod(periods)
  return priceLine(kind, rate, periods, line)
}

/** Refuses a period by which nothing can be prolonged, before it is known what is prolonged. */
export function assertProlongs({ dedicated: { prolongPeriods: periods } }: Catalogue, period: number): void {
  if (!periods.includes(period)) throw badPeriod(periods)
}

/** A rate by the period can only be prolonged by a period that it prices. */
const prolongPeriods = (catalogue: Catalogue, rate: Rate): readonly number[] =>
  catalogue.dedicated.prolongPeriods.filter((period) => rate.by === 'day' || rate.prices.has(period))

function loadRate(catalogue: Catalogue, { country, ipv }: DedicatedLine): { kind: DedicatedKind; rate: Rate } {
  const kind = catalogue.dedicated.kinds.get(ipv)
  if (!kind) throw new Refusal('ipv_not_sold', { ipv }, notCharged)
  const rate = kind.countries.get(country)
  if (!rate) {
    const allowed = [...kind.countries.keys()].toSorted()
    const details = { field: 'country_code', allowed, ...notCharged }
    throw new Refusal('country_not_sold', { ipv, country, allowed }, details)
  }
  return { kind, rate }
}

/** The lowest price of this line and every larger one, so that more is never cheaper. */
function priceLine(kind: DedicatedKind, rate: Rate, periods: readonly number[], { period, count }: DedicatedLine) {
  // Discounts by count and by term are independent factors, so the cheapest line is the cheapest of each.
  const counts = [count, ...kind.volume.map((step) => step.from).filter((from) => from > count)]
  const byCount = least(counts.map((each) => BigInt(each) * (whole - BigInt(offAt(kind.volume, each)))))
  const longer = periods.filter((each) => each >= period)
  const byPeriod = least(longer.map((each) => basePrice(rate, each) * (whole - BigInt(offAt(kind.term, each)))))
  if (byCount === undefined || byPeriod === undefined) throw badPeriod(periods)
  // A fraction of a kopeck goes up, once.
  const total = kopecks((byCount * byPeriod + whole * whole - 1n) / (whole * whole))
  const full = basePrice(rate, period) * BigInt(count)
  const discountPercent = percentOff(full, total)
  return { total, full: kopecks(full), perProxy: divideUp(total, BigInt(count)), discountPercent }
}

/** Intermediate products may exceed `Kopecks`. */
const least = (all: readonly bigint[]): bigint | undefined =>
  all.reduce<bigint | undefined>((lowest, each) => (lowest === undefined || each < lowest ? each : lowest), undefined)

function basePrice(rate: Rate, period: number): bigint {
  if (rate.by === 'day') return rate.price * BigInt(period)
  const price = rate.prices.get(period)
  if (price === undefined) throw badPeriod([...rate.prices.keys()])
  return price
}

const offAt = (steps: readonly Step[], at: number): BasisPoints => {
  let off = 0
  for (const step of steps) if (step.from <= at) off = step.off
  return off
}

/** The discount in percent, rounded down to two decimals. */
const percentOff = (full: bigint, total: bigint): number =>
  full <= 0n || total >= full ? 0 : Number(((full - total) * whole) / full) / 100

/** Divides a total among items; the first ones carry the odd kopecks. */
export function shareOut(total: Kopecks, count: number): Kopecks[] {
  const each = total / BigInt(count)
  const odd = Number(total - each * BigInt(count))
  return Array.from({ length: count }, (_, index) => (index < odd ? each + 1n : each) as Kopecks)
}

export type TrafficPrice = Readonly<ReturnType<typeof priceTraffic>>

/** The price of traffic in tenths of a gigabyte: its tier's price for all of it, and never above a larger amount's. */
export function priceTraffic(catalogue: Catalogue, pool: string, tenths: number) {
  const known = catalogue.premium.pools.get(pool)
  if (!known) throw new Refusal('pool_not_sold', { pool }, notCharged)
  const cost = (amount: number, tier: Tier): Kopecks => divideUp(BigInt(amount) * tier.perGigabyte, 10n)
  const tier = known.tiers.findLast((each) => each.fromTenths <= tenths)
  if (!tier) throw new Refusal('pool_not_sold', { pool }, notCharged)
  const next = known.tiers.find((each) => each.fromTenths > tenths)
  let total = cost(tenths, tier)
  for (const each of known.tiers.filter(({ fromTenths }) => fromTenths > tenths)) {
    const larger = cost(each.fromTenths, each)
    if (larger < total) total = larger
  }
  return {
    total,
    perGigabyte: tier.perGigabyte,
    tier,
    next: next ? { tier: next, missingTenths: next.fromTenths - tenths } : null,
  }
}

const loadVpnPlan = ({ vpn: plan }: Catalogue): VpnPlan => {
  if (!plan) throw new Refusal('vpn_not_sold', {}, notCharged)
  return plan
}

/** The price of a term, with the slots that it renews. Slots that are not sold any more end with the term before. */
export function priceVpn(catalogue: Catalogue, months: number, held = 0) {
  const plan = loadVpnPlan(catalogue)
  const price = plan.months.get(months)
  if (price === undefined) throw badPeriod([...plan.months.keys()])
  const slotsTotal = findSlotsPrice(plan.slots, held)
  const slots = slotsTotal === undefined ? 0 : held
  const total = kopecks(price + (slotsTotal ?? 0n))
  return { plan, total, perMonth: divideUp(price, BigInt(months)), slots, slotsTotal: slotsTotal ?? kopecks(0n) }
}

/** The price of more device slots until the end of a subscription; only listed numbers are sold. */
export function priceSlots(catalogue: Catalogue, count: number): { readonly plan: VpnPlan; readonly total: Kopecks } {
  const plan = loadVpnPlan(catalogue)
  if (plan.slots.size === 0) throw new Refusal('vpn_slots_not_sold', {}, notCharged)
  const total = plan.slots.has(count) ? findSlotsPrice(plan.slots, count) : undefined
  if (total === undefined) throw refuseField('count', 'one_of', { allowed: [...plan.slots.keys()] })
  return { plan, total }
}

/** The lowest price of at least so many slots, bought in listed numbers; undefined if none are sold. */
function findSlotsPrice(prices: VpnPlan['slots'], count: number): Kopecks | undefined {
  const lowest: bigint[] = [0n]
  for (let many = 1; many <= count; many += 1) {
    const sums = [...prices].map(([listed, price]) => price + (lowest[Math.max(0, many - listed)] ?? 0n))
    const sum = least(sums)
    if (sum === undefined) return undefined
    lowest.push(sum)
  }
  return kopecks(lowest[count] ?? 0n)
}
