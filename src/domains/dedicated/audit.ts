import { readAddress } from '../../core/address.ts'
import { attempt, type Finding, type Verifier } from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Reader } from '../../db/transaction.ts'
import { listIn, numberIn, type Order, type Plain, textIn } from '../orders/rules.ts'
import { type Catalogue, priceDedicated, priceProlonging } from '../pricing/rules.ts'
import type { WalkedLease } from '../stock/rules.ts'
import { allOutages } from './outages/outages.ts'
import { type Outage, problemsOfTerm } from './outages/rules.ts'
import { type DedicatedDeps, product } from './proxies.ts'
import {
  graceEnd,
  type Proxy,
  readBuyCalculation,
  readProlongCalculation,
  readUsername,
  subjectPrefix,
  vaultContext,
} from './rules.ts'
import * as store from './store.ts'

const pageSize = 500

/** Recomputes the promises about dedicated proxies: places, leases, terms and prices. */
export const verifierOf = (deps: DedicatedDeps): Verifier => ({
  name: 'dedicated',
  verify: () =>
    deps.db.snapshot(async (reader) => {
      const findings: Finding[] = []
      const proxies = await readProxies(reader)
      const sold = await checkOrders(deps, reader, findings)
      const outages = await allOutages(reader)
      for (const id of outages.keys()) {
        if (!proxies.has(id))
          findings.push({ promise: 'term', where: `outage of proxy ${id}`, problem: 'it has no proxy' })
      }
      for (const proxy of proxies.values()) {
        await attempt(findings, { promise: 'delivery', where: `proxy ${proxy.id}` }, () => {
          findings.push(...checkProxy(deps, proxy, sold, outages.get(proxy.id) ?? []))
        })
      }
      checkHeld(proxies, findings)
      const leases = new Map<number, WalkedLease[]>()
      const stock = await deps.stockOperator.verify(reader, (lease) => {
        leases.set(lease.proxy, [...(leases.get(lease.proxy) ?? []), lease])
        return checkLease(lease, proxies.get(lease.proxy))
      })
      findings.push(...stock.findings)
      for (const proxy of proxies.values()) {
        for (const problem of new Set(problemsOfLeases(proxy, leases.get(proxy.id) ?? [])))
          findings.push({ promise: 'lease', where: `proxy ${proxy.id}`, problem })
      }
      await checkCounts(deps, reader, proxies, findings)
      const next = await deps.numbers(reader, 'proxy')
      if (([...proxies.keys()].at(-1) ?? -1) >= next)
        findings.push({ promise: 'counter', where: 'counter proxy', problem: `it gives out ${next} again` })
      for (const [order, { missing }] of sold.bought) {
        if (missing !== 0)
          findings.push({
            promise: 'delivery',
            where: `order ${order}`,
            problem: `${missing} proxies of it are missing`,
          })
      }
      return { findings, covered: { proxies: proxies.size, places: stock.places, leases: stock.leases } }
    }),
})

async function readProxies(reader: Reader): Promise<Map<number, Proxy>> {
  const proxies = new Map<number, Proxy>()
  const all = keysetPages((after: number, limit) => store.proxiesAfter(reader, after, limit), {
    start: -1,
    size: pageSize,
    keyOf: (proxy) => proxy.id,
  })
  for await (const page of all) for (const proxy of page) proxies.set(proxy.id, proxy)
  return proxies
}

/** Every proxy that nodes have counted for was sold. */
async function checkCounts(
  { traffic }: DedicatedDeps,
  reader: Reader,
  proxies: ReadonlyMap<number, Proxy>,
  findings: Finding[],
): Promise<void> {
  const all = keysetPages((after: string, limit) => traffic.counts.subjects(reader, subjectPrefix, after, limit), {
    start: '',
    size: pageSize,
    keyOf: (subject) => subject,
  })
  for await (const subjects of all) {
    for (const where of subjects) {
      if (!proxies.has(Number(where.slice(subjectPrefix.length))))
        findings.push({ promise: 'delivery', where, problem: 'nodes have counted for it, and it is not there' })
    }
  }
}

/** What the orders sold: the proxies of each purchase, and the ends and moments of each proxy's prolongings. */
type Sold = {
  readonly bought: Map<string, BoughtGoods>
  readonly until: Map<number, number[]>
  readonly prolongedAt: Map<number, number[]>
}

type BoughtGoods = {
  readonly customer: string
  readonly at: number
  readonly expiresAt: number
  readonly country: string
  readonly ipv: number
  /** Proxies of the order that were not found yet. */
  missing: number
}

async function checkOrders(deps: DedicatedDeps, reader: Reader, findings: Finding[]): Promise<Sold> {
  const sold: Sold = { bought: new Map(), until: new Map(), prolongedAt: new Map() }
  await deps.orders.walk(reader, product, async (order) => {
    const version = numberIn(order.calculation, 'catalogue')
    const catalogue = version === undefined ? undefined : await deps.pricing.version(reader, version)
    if (!catalogue || !isPricedRight(order, catalogue, sold)) {
      findings.push({ promise: 'price', where: `order ${order.id}`, problem: 'its price does not come out again' })
    }
  })
  return sold
}

/** An order whose goods have no price in its price list is a finding too. */
function isPricedRight(order: Order, catalogue: Catalogue, sold: Sold): boolean {
  try {
    return (order.action === 'buy' ? priceBuying : priceProlongings)(order, catalogue, sold) === order.price
  } catch {
    return false
  }
}

function priceBuying(order: Order, catalogue: Catalogue, sold: Sold): bigint | undefined {
  const calculation = readBuyCalculation(order.calculation)
  if (!calculation) return undefined
  const { country, ipv, period, count, expiresAt } = calculation
  const { id, customer, createdAt: at, input } = order
  sold.bought.set(id, { customer, at, missing: count, expiresAt, country, ipv })
  const isSame =
    textIn(input, 'country_code') === country &&
    numberIn(input, 'ipv') === ipv &&
    numberIn(input, 'period') === period &&
    numberIn(input, 'count') === count
  const { total } = priceDedicated(catalogue, { country, ipv, period, count })
  return isSame && calculation.kopecks === String(total) ? total : undefined
}

function priceProlongings(order: Order, catalogue: Catalogue, sold: Sold): bigint | undefined {
  const calculation = readProlongCalculation(order.calculation)
  if (!calculation) return undefined
  const { lines, proxies } = calculation
  for (const [id, expiresAt] of proxies) {
    sold.until.set(id, [...(sold.until.get(id) ?? []), expiresAt])
    sold.prolongedAt.set(id, [...(sold.prolongedAt.get(id) ?? []), order.createdAt])
  }
  const [ids, period] = [listIn(order.input, 'ids') ?? [], numberIn(order.input, 'period')]
  const count = lines.reduce((sum, line) => sum + line.count, 0)
  const named = new Set<Plain>(proxies.map(([id]) => id))
  if (count !== ids.length || named.size !== count || !ids.every((id) => named.has(id))) return undefined
  let total = 0n
  for (const line of lines) {
    const price = priceProlonging(catalogue, line)
    if (line.period !== period || line.kopecks !== String(price.total)) return undefined
    total += price.total
  }
  return total
}

function checkProxy(deps: DedicatedDeps, proxy: Proxy, sold: Sold, outages: readonly Outage[]): Finding[] {
  const found = (promise: string, problem: string): Finding => ({ promise, where: `proxy ${proxy.id}`, problem })
  const order = sold.bought.get(proxy.order)
  if (!order) return [found('delivery', 'no order bought it')]
  order.missing -= 1
  const findings: Finding[] = []
  if (order.customer !== proxy.customer)
    findings.push(found('delivery', 'another customer has it than the one who bought it'))
  if (order.country !== proxy.country || order.ipv !== proxy.ipv)
    findings.push(found('delivery', 'it is not of the kind that was bought'))
  if (order.at !== proxy.startedAt) findings.push(found('term', 'it does not begin when it was bought'))
  if (proxy.resumedAt !== null && !sold.prolongedAt.get(proxy.id)?.includes(proxy.resumedAt))
    findings.push(found('term', 'it was not prolonged when it is said to have been'))
  if (readUsername(proxy.username) !== proxy.id) findings.push(found('delivery', 'its name is not one of its number'))
  if (readAddress(proxy.address)?.version !== (proxy.ipv === 6 ? 6 : 4))
    findings.push(found('delivery', 'its address is not of its kind'))
  const ends = [order.expiresAt, ...(sold.until.get(proxy.id) ?? [])]
  for (const problem of new Set(problemsOfTerm(proxy, ends, outages))) findings.push(found('term', problem))
  if (!opens(deps, proxy)) findings.push(found('secret', 'its password does not open, or is not the one nodes know'))
  return findings
}

function opens({ vault, sha256 }: DedicatedDeps, proxy: Proxy): boolean {
  try {
    const password = vault.open(proxy.sealedPassword, vaultContext(proxy.id))
    return sha256(password).toHex() === proxy.passwordDigest.toHex()
  } catch {
    return false
  }
}

/** No customer holds two slots of one shared address, and no unshared address has two proxies. */
function checkHeld(proxies: ReadonlyMap<number, Proxy>, findings: Finding[]): void {
  const seen = new Set<string>()
  const places = new Set<number>()
  for (const proxy of proxies.values()) {
    if (proxy.state !== 'held') continue
    const where = `proxy ${proxy.id}`
    const name = proxy.ipv === 3 ? `${proxy.customer} ${proxy.address}` : proxy.address
    if (seen.has(name)) {
      const problem = proxy.ipv === 3 ? 'its customer has this address twice' : 'another proxy has this address too'
      findings.push({ promise: 'lease', where, problem })
    }
    if (places.has(proxy.slot)) findings.push({ promise: 'lease', where, problem: 'another proxy has this place too' })
    seen.add(name)
    places.add(proxy.slot)
  }
}

function checkLease(lease: WalkedLease, proxy: Proxy | undefined): Finding | undefined {
  const wrong = (problem: string): Finding => ({ promise: 'lease', where: `lease of place ${lease.slot}`, problem })
  if (!proxy) return wrong('no proxy holds it')
  if (lease.endedAt !== null) return undefined
  if (proxy.state !== 'held') return wrong(`proxy ${proxy.id} is gone and still holds it`)
  if (proxy.slot !== lease.slot || proxy.address !== lease.address)
    return wrong(`proxy ${proxy.id} shows another address`)
  if (proxy.country !== lease.country || proxy.ipv !== lease.ipv) return wrong('the place is of another kind')
  return undefined
}

const hasBegun = (lease: WalkedLease, at: number): boolean => lease.startedAt === Math.max(at, lease.freeFromAt)

/** A lease ends after it began, even if the clock was set back in between. */
const hasEnded = (lease: WalkedLease, at: number): boolean => lease.endedAt === Math.max(at, lease.startedAt + 1)

/** Whether there is a moment in which the one lease was replaced by the other. */
const follows = (lease: WalkedLease, next: WalkedLease): boolean =>
  [next.startedAt, lease.endedAt].some((at) => at !== null && hasBegun(next, at) && hasEnded(lease, at))

/** Oldest first. A place that was replaced at the moment of its lease comes before its replacement. */
const inTime = (a: WalkedLease, b: WalkedLease): number =>
  a.startedAt - b.startedAt || (a.endedAt ?? Number.MAX_SAFE_INTEGER) - (b.endedAt ?? Number.MAX_SAFE_INTEGER)

/** In the order of replacement, which differs from the order of times where the clock was set back. */
function inTurn(proxy: Proxy, leases: readonly WalkedLease[]): WalkedLease[] {
  const rest = leases.toSorted(inTime)
  const turn: WalkedLease[] = []
  while (rest.length > 0) {
    const before = turn.at(-1)
    const isNext = (lease: WalkedLease): boolean =>
      (lease.endedAt !== null || rest.length === 1) &&
      (before ? follows(before, lease) : hasBegun(lease, proxy.startedAt))
    turn.push(...rest.splice(Math.max(rest.findIndex(isNext), 0), 1))
  }
  return turn
}

/** The leases of a proxy must follow one another from its first moment to its last. */
function problemsOfLeases(proxy: Proxy, had: readonly WalkedLease[]): string[] {
  const leases = inTurn(proxy, had)
  const [first, last] = [leases[0], leases.at(-1)]
  if (!first || !last) return [proxy.state === 'held' ? 'it is held and has no lease' : 'it never had a lease']
  const problems: string[] = []
  if (!hasBegun(first, proxy.startedAt)) problems.push('its first lease does not begin when it was bought')
  for (const [index, lease] of leases.entries()) {
    const next = leases[index + 1]
    if (next && !follows(lease, next)) problems.push('its leases do not follow one another')
    if (lease.country !== proxy.country || lease.ipv !== proxy.ipv)
      problems.push('it was leased a place of another kind')
  }
  if ((proxy.state === 'held') !== (last.endedAt === null)) {
    problems.push(proxy.state === 'held' ? 'it is held and has no lease' : 'it is gone and still holds a place')
  }
  if (last.endedAt !== null && !hasEnded(last, proxy.endedAt ?? graceEnd(proxy)))
    problems.push('its lease did not end when its time was over')
  if (proxy.endedAt !== null && proxy.state === 'held') problems.push('it was ended and is held')
  if (last.slot !== proxy.slot || last.address !== proxy.address)
    problems.push('it shows another address than it was leased')
  if (!isReplacedAt(proxy.replacedAt, leases.at(-2), last)) problems.push('it was not replaced when it says')
  return problems
}

function isReplacedAt(at: number | null, before: WalkedLease | undefined, last: WalkedLease): boolean {
  if (!before || at === null) return !before && at === null
  return hasEnded(before, at) && hasBegun(last, at)
}
