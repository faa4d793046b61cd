import { readCountry } from '../../core/country.ts'
import { type FieldProblem, fieldProblem, type ProblemArguments } from '../../core/messages/problems.ts'
import { type Kopecks, kopecks, readRoubles } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Catalogue, DedicatedKind, OutageRule, PremiumPool, Rate, Step, Tier, VpnPlan } from './rules.ts'
import { maxSlots, usualOutage } from './rules.ts'

/** A million roubles for a day or a gigabyte: a thousand proxies for ten years stay within `Kopecks`. */
const maxPrice = 100_000_000n
/** A terabit a second. */
const maxMegabits = 1_000_000
/** Thirty days. */
const maxOutageMinutes = 43_200

type Plain = { readonly [name: string]: unknown }

/** Collects all problems of a catalogue, each with its path. */
class Reading {
  readonly problems: FieldProblem[] = []

  wrong(path: string, ...problem: ProblemArguments): void {
    this.problems.push(fieldProblem(path, ...problem))
  }

  object(value: unknown, path: string, known?: readonly string[]): Plain {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.wrong(path, 'type', { expected: 'object' })
      return {}
    }
    // An unknown name is a typing error, and one in a price list costs money.
    if (known)
      for (const name of Object.keys(value)) if (!known.includes(name)) this.wrong(`${path}.${name}`, 'unknown_field')
    return value as Plain
  }

  list(value: unknown, path: string): readonly unknown[] {
    if (Array.isArray(value)) return value
    this.wrong(path, 'type', { expected: 'list' })
    return []
  }

  whole(value: unknown, path: string, min: number, max: number): number {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value
    this.wrong(path, 'whole_between', { from: min, to: max })
    return min
  }

  optional(value: unknown, path: string, min: number, max: number): number | null {
    return value === undefined || value === null ? null : this.whole(value, path, min, max)
  }

  /** A whole number as a name, in one spelling only: `7`, not `07`. */
  numbered(name: string, path: string, max: number): number {
    return this.whole(/^[1-9]\d*$/.test(name) ? Number(name) : Number.NaN, path, 1, max)
  }

  price(value: unknown, path: string): Kopecks {
    const price = typeof value === 'number' || typeof value === 'string' ? readRoubles(String(value)) : undefined
    if (price !== undefined && price > 0n && price <= maxPrice) return price
    this.wrong(path, 'with_cents', { from: 0.01, to: Number(maxPrice) / 100 })
    return kopecks(1n)
  }

  percent(value: unknown, path: string): number {
    const text = typeof value === 'number' ? String(value) : ''
    const match = /^(\d{1,2})(?:\.(\d{1,2}))?$/.exec(text)
    if (match) return Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'))
    this.wrong(path, 'with_cents', { from: 0, to: 99.99 })
    return 0
  }

  /** One of a few texts; `usual` if there is none. */
  choice<Choice extends string>(value: unknown, path: string, allowed: readonly Choice[], usual: Choice): Choice {
    const chosen = value === undefined ? usual : allowed.find((each) => each === value)
    if (chosen === undefined) this.wrong(path, 'one_of', { allowed })
    return chosen ?? usual
  }

  /** Whole numbers, each larger than the one before. */
  rising(value: unknown, path: string, max: number): number[] {
    const numbers = this.list(value, path).map((each, index) => this.whole(each, `${path}.${index}`, 1, max))
    if (numbers.length === 0) this.wrong(path, 'min_items', { min: 1 })
    if (!isSequence(numbers, (each, before) => each > before)) this.wrong(path, 'rising')
    return numbers
  }
}

/** Parses a price list, or refuses it with all its problems. */
export function readCatalogue(version: number, value: unknown): Catalogue {
  const reading = new Reading()
  const root = reading.object(value, 'catalogue', ['dedicated', 'premium', 'vpn'])
  const catalogue: Catalogue = {
    version,
    dedicated: readDedicated(reading, root['dedicated'] ?? {}),
    premium: readPremium(reading, root['premium'] ?? {}),
    vpn: root['vpn'] === undefined || root['vpn'] === null ? null : readVpn(reading, root['vpn']),
  }
  const { problems } = reading
  if (problems.length > 0) throw new Refusal('prices_invalid', { problems }, problems)
  return catalogue
}

function readDedicated(reading: Reading, value: unknown): Catalogue['dedicated'] {
  const root = reading.object(value, 'dedicated', ['kinds', 'prolong_periods', 'speed_mbit', 'outage'])
  const kinds = new Map<number, DedicatedKind>()
  for (const [name, kind] of Object.entries(reading.object(root['kinds'] ?? {}, 'dedicated.kinds'))) {
    const path = `dedicated.kinds.${name}`
    if (!['3', '4', '6'].includes(name)) reading.wrong(path, 'one_of', { allowed: [3, 4, 6] })
    kinds.set(Number(name), readKind(reading, kind, path))
  }
  const prolong = root['prolong_periods']
  return {
    kinds,
    prolongPeriods: prolong === undefined ? [] : reading.rising(prolong, 'dedicated.prolong_periods', 3650),
    speedMegabits: reading.optional(root['speed_mbit'], 'dedicated.speed_mbit', 1, maxMegabits),
    outage: readOutage(reading, root['outage'] ?? {}),
  }
}

function readOutage(reading: Reading, value: unknown): OutageRule {
  const path = 'dedicated.outage'
  const root = reading.object(value, path, ['time', 'address', 'after_minutes'])
  const time = reading.choice(root['time'], `${path}.time`, ['extend', 'refund'], usualOutage.time)
  const address = reading.choice(root['address'], `${path}.address`, ['keep', 'replace'], usualOutage.address)
  const minutes = reading.optional(root['after_minutes'], `${path}.after_minutes`, 1, maxOutageMinutes)
  return { time, address, afterMs: minutes === null ? usualOutage.afterMs : minutes * 60_000 }
}

function readKind(reading: Reading, value: unknown, path: string): DedicatedKind {
  const root = reading.object(value, path, ['periods', 'countries', 'volume', 'term'])
  const periods = reading.rising(root['periods'], `${path}.periods`, 3650)
  const countries = new Map<string, Rate>()
  for (const [code, rate] of Object.entries(reading.object(root['countries'], `${path}.countries`))) {
    const ratePath = `${path}.countries.${code}`
    if (readCountry(code) !== code) reading.wrong(ratePath, 'country_code')
    countries.set(code, readRate(reading, rate, periods, ratePath))
  }
  return {
    periods,
    countries,
    volume: readSteps(reading, root['volume'] ?? [], `${path}.volume`),
    term: readSteps(reading, root['term'] ?? [], `${path}.term`),
  }
}

function readRate(reading: Reading, value: unknown, periods: readonly number[], path: string): Rate {
  const root = reading.object(value, path, ['per_day', 'per_period'])
  if ('per_day' in root === 'per_period' in root)
    reading.wrong(path, 'one_field_of', { fields: ['per_day', 'per_period'] })
  if (!('per_period' in root)) return { by: 'day', price: reading.price(root['per_day'], `${path}.per_day`) }
  const prices = new Map<number, Kopecks>()
  for (const [days, price] of Object.entries(reading.object(root['per_period'], `${path}.per_period`))) {
    const pricePath = `${path}.per_period.${days}`
    prices.set(reading.numbered(days, pricePath, 3650), reading.price(price, pricePath))
  }
  for (const period of periods) if (!prices.has(period)) reading.wrong(path, 'price_missing', { days: period })
  return { by: 'period', prices }
}

/** Whether each item may follow the one before it. */
const isSequence = <Item>(items: readonly Item[], follows: (item: Item, before: Item) => boolean): boolean =>
  items.every((item, index) => index === 0 || follows(item, items[index - 1] ?? item))

function readSteps(reading: Reading, value: unknown, path: string): Step[] {
  const steps = reading.list(value, path).map((each, index) => {
    const step = reading.object(each, `${path}.${index}`, ['from', 'percent'])
    return {
      from: reading.whole(step['from'], `${path}.${index}.from`, 1, 100_000),
      off: reading.percent(step['percent'], `${path}.${index}.percent`),
    }
  })
  const rises = (step: Step, before: Step): boolean => step.from > before.from && step.off >= before.off
  if (!isSequence(steps, rises)) reading.wrong(path, 'steps_rising')
  return steps
}

function readPremium(reading: Reading, value: unknown): Catalogue['premium'] {
  const root = reading.object(value, 'premium', ['pools', 'speed_mbit'])
  const pools = new Map<string, PremiumPool>()
  for (const [name, pool] of Object.entries(reading.object(root['pools'] ?? {}, 'premium.pools'))) {
    const path = `premium.pools.${name}`
    if (!/^[a-z][a-z0-9_]{0,30}$/.test(name))
      reading.wrong(path, 'made_of', { from: 1, to: 31, of: ['small_letters', 'digits', 'underscores'] })
    const each = reading.object(pool, path, ['tiers', 'expires_days'])
    pools.set(name, {
      tiers: readTiers(reading, each['tiers'], `${path}.tiers`),
      expiresDays: reading.optional(each['expires_days'], `${path}.expires_days`, 1, 3650),
    })
  }
  return { pools, speedMegabits: reading.optional(root['speed_mbit'], 'premium.speed_mbit', 1, maxMegabits) }
}

function readTiers(reading: Reading, value: unknown, path: string): Tier[] {
  const tiers = reading.list(value, path).map((each, index): Tier => {
    const tier = reading.object(each, `${path}.${index}`, ['from_gb', 'per_gb'])
    const from = tier['from_gb']
    const text = typeof from === 'number' ? /^(\d{1,5})(?:\.(\d))?$/.exec(String(from)) : null
    if (!text) reading.wrong(`${path}.${index}.from_gb`, 'in_steps', { from: 0, to: 99_999.9, step: 0.1 })
    return {
      fromTenths: text ? Number(text[1]) * 10 + Number(text[2] ?? '0') : 0,
      perGigabyte: reading.price(tier['per_gb'], `${path}.${index}.per_gb`),
    }
  })
  if (tiers[0]?.fromTenths !== 0) reading.wrong(path, 'tiers_from_zero')
  const falls = (tier: Tier, before: Tier): boolean =>
    tier.fromTenths > before.fromTenths && tier.perGigabyte <= before.perGigabyte
  if (!isSequence(tiers, falls)) reading.wrong(path, 'tiers_rising')
  return tiers
}

/** Prices by a whole number, in its order. */
function readNumbered(reading: Reading, value: unknown, path: string, max: number): Map<number, Kopecks> {
  const prices = Object.entries(reading.object(value, path)).map(([count, price]) => {
    const each = `${path}.${count}`
    return [reading.numbered(count, each, max), reading.price(price, each)] as const
  })
  return new Map(prices.toSorted(([a], [b]) => a - b))
}

/** Gigabytes a month by group of nodes. */
function readGroups(reading: Reading, value: unknown): Map<string, number> {
  const groups = Object.entries(reading.object(value, 'vpn.groups')).map(([name, gigabytes]) => {
    const path = `vpn.groups.${name}`
    if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(name))
      reading.wrong(path, 'made_of', { from: 1, to: 32, of: ['small_letters', 'digits', 'dashes'] })
    return [name, reading.whole(gigabytes, path, 1, 1_000_000)] as const
  })
  return new Map(groups)
}

function readVpn(reading: Reading, value: unknown): VpnPlan {
  const root = reading.object(value, 'vpn', [
    'months',
    'device_limit',
    'slots',
    'traffic_gb',
    'groups',
    'speed_mbit',
    'refund',
  ])
  const months = readNumbered(reading, root['months'], 'vpn.months', 120)
  if (months.size === 0) reading.wrong('vpn.months', 'min_items', { min: 1 })
  const refund = reading.choice(root['refund'] ?? undefined, 'vpn.refund', ['pro_rata', 'none'], 'none')
  return {
    months,
    deviceLimit: reading.whole(root['device_limit'] ?? 5, 'vpn.device_limit', 1, 1000),
    slots: readNumbered(reading, root['slots'] ?? {}, 'vpn.slots', maxSlots),
    trafficGigabytes: reading.optional(root['traffic_gb'], 'vpn.traffic_gb', 1, 1_000_000),
    groups: readGroups(reading, root['groups'] ?? {}),
    speedMegabits: reading.optional(root['speed_mbit'], 'vpn.speed_mbit', 1, maxMegabits),
    refund,
  }
}
