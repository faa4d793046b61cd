import { readAddress } from '../../core/address.ts'
import {
  at,
  attempt,
  type Finding,
  type FindingProblem,
  found,
  momentText,
  moneyText,
  problem,
  type Verifier,
} from '../../core/finding.ts'
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

/** Recomputes the promises about dedicated proxies: slots, leases, terms and prices. */
export const verifierOf = (deps: DedicatedDeps): Verifier => ({
  name: 'dedicated',
  verify: () =>
    deps.db.snapshot(async (reader) => {
      const findings: Finding[] = []
      const proxies = await readProxies(reader)
      const sold = await checkOrders(deps, reader, findings)
      const outages = await allOutages(reader)
      for (const id of outages.keys()) {
        if (!proxies.has(id)) findings.push(found('term', at('outage', { proxy: id }), 'proxy_missing'))
      }
      for (const proxy of proxies.values()) {
        await attempt(findings, { promise: 'delivery', where: at('proxy', { id: proxy.id }) }, () => {
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
        const problems = problemsOfLeases(proxy, leases.get(proxy.id) ?? [])
        const of = { promise: 'lease', where: at('proxy', { id: proxy.id }) } as const
        findings.push(...oncePerReason(problems).map((each) => ({ ...of, ...each })))
      }
      await checkCounts(deps, reader, proxies, findings)
      const [next, last] = [await deps.numbers(reader, 'proxy'), [...proxies.keys()].at(-1) ?? -1]
      if (last >= next)
        findings.push(found('counter', at('counter', { name: 'proxy' }), 'counter_behind', { next, last }))
      for (const [id, { missing: count }] of sold.bought) {
        if (count !== 0) findings.push(found('delivery', at('order', { id }), 'proxies_missing', { count }))
      }
      return { findings, covered: { proxies: proxies.size, places: stock.slotCount, leases: stock.leases } }
    }),
})

async function readProxies(reader: Reader): Promise<Map<number, Proxy>> {
  const proxies = new Map<number, Proxy>()
  const read = (after: number, limit: number) => store.proxiesAfter(reader, after, limit)
  const from = { start: -1, size: pageSize, keyOf: (proxy: Proxy) => proxy.id }
  for await (const page of keysetPages(read, from)) for (const proxy of page) proxies.set(proxy.id, proxy)
  return proxies
}

/** Every proxy that nodes have counted for was sold. */
async function checkCounts(
  { traffic }: DedicatedDeps,
  reader: Reader,
  proxies: ReadonlyMap<number, Proxy>,
  findings: Finding[],
): Promise<void> {
  const read = (after: string, limit: number) => traffic.counts.subjects(reader, subjectPrefix, after, limit)
  for await (const subjects of keysetPages(read, { start: '', size: pageSize, keyOf: (subject) => subject })) {
    for (const subject of subjects) {
      if (!proxies.has(Number(subject.slice(subjectPrefix.length))))
        findings.push(found('delivery', at('subject', { subject }), 'counted_unknown'))
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
      findings.push(found('price', at('order', { id: order.id }), 'order_price', { price: moneyText(order.price) }))
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
  const { id, customer, createdAt, input } = order
  sold.bought.set(id, { customer, at: createdAt, missing: count, expiresAt, country, ipv })
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
  const where = at('proxy', { id: proxy.id })
  const order = sold.bought.get(proxy.order)
  if (!order) return [found('delivery', where, 'proxy_unordered', { order: proxy.order })]
  order.missing -= 1
  const delivery = { promise: 'delivery', where } as const
  const term = { promise: 'term', where } as const
  const ends = [order.expiresAt, ...(sold.until.get(proxy.id) ?? [])]
  const times = [...problemsOfBeginning(proxy, order, sold), ...oncePerReason(problemsOfTerm(proxy, ends, outages))]
  const secret = problemOfPassword(deps, proxy)
  return [
    ...problemsOfDelivery(proxy, order).map((each) => ({ ...delivery, ...each })),
    ...times.map((each) => ({ ...term, ...each })),
    ...(secret ? [{ promise: 'secret' as const, where, ...secret }] : []),
  ]
}

function problemsOfDelivery(proxy: Proxy, order: BoughtGoods): FindingProblem[] {
  const { address, ipv } = proxy
  return [
    ...(order.customer === proxy.customer
      ? []
      : [problem('proxy_owner', { stored: proxy.customer, expected: order.customer })]),
    ...problemsOfKind(proxy, order),
    ...(readUsername(proxy.username) === proxy.id ? [] : [problem('proxy_username', { username: proxy.username })]),
    ...(readAddress(address)?.version === (ipv === 6 ? 6 : 4) ? [] : [problem('address_kind', { address, ipv })]),
  ]
}

function problemsOfBeginning(proxy: Proxy, order: BoughtGoods, sold: Sold): FindingProblem[] {
  const { startedAt, resumedAt } = proxy
  const isResumed = resumedAt !== null && !sold.prolongedAt.get(proxy.id)?.includes(resumedAt)
  return [
    ...(order.at === startedAt
      ? []
      : [problem('proxy_begin', { stored: momentText(startedAt), bought: momentText(order.at) })]),
    ...(isResumed ? [problem('proxy_resumed', { stored: momentText(resumedAt) })] : []),
  ]
}

type Kind = Pick<BoughtGoods, 'country' | 'ipv'>

const kindText = ({ country, ipv }: Kind): string => `${country} ipv ${ipv}`

const problemsOfKind = (stored: Kind, expected: Kind): FindingProblem[] =>
  stored.country === expected.country && stored.ipv === expected.ipv
    ? []
    : [problem('kind_differs', { stored: kindText(stored), expected: kindText(expected) })]

/** The first problem of each reason. */
const oncePerReason = (problems: readonly FindingProblem[]): FindingProblem[] =>
  [...Map.groupBy(problems, (each) => each.reason).values()].flatMap(([first]) => first ?? [])

function problemOfPassword({ vault, sha256 }: DedicatedDeps, proxy: Proxy): FindingProblem | undefined {
  try {
    const password = vault.open(proxy.sealedPassword, vaultContext(proxy.id))
    return sha256(password).toHex() === proxy.passwordDigest.toHex() ? undefined : problem('password_digest')
  } catch {
    return problem('password_sealed')
  }
}

/** No customer holds two slots of one shared address, and no unshared address has two proxies. */
function checkHeld(proxies: ReadonlyMap<number, Proxy>, findings: Finding[]): void {
  const seen = new Set<string>()
  const heldSlots = new Set<number>()
  for (const proxy of proxies.values()) {
    if (proxy.state !== 'held') continue
    const where = at('proxy', { id: proxy.id })
    const name = proxy.ipv === 3 ? `${proxy.customer} ${proxy.address}` : proxy.address
    if (seen.has(name)) {
      const held = { address: proxy.address, shared: proxy.ipv === 3 }
      findings.push(found('lease', where, 'address_held_twice', held))
    }
    if (heldSlots.has(proxy.slot)) findings.push(found('lease', where, 'slot_held_twice', { slot: proxy.slot }))
    seen.add(name)
    heldSlots.add(proxy.slot)
  }
}

function checkLease(lease: WalkedLease, proxy: Proxy | undefined): Finding | undefined {
  const of = { promise: 'lease', where: at('lease', { slot: lease.slot }) } as const
  if (!proxy) return { ...of, ...problem('lease_without_proxy', { proxy: lease.proxy }) }
  if (lease.endedAt !== null) return undefined
  if (proxy.state !== 'held') return { ...of, ...problem('lease_open', { proxy: proxy.id }) }
  const [wrong] = [...problemsOfAddress(proxy, lease), ...problemsOfKind(lease, proxy)]
  return wrong && { ...of, ...wrong }
}

const slotText = ({ address, slot }: Pick<Proxy, 'address' | 'slot'>): string => `${address} (${slot})`

const problemsOfAddress = (proxy: Proxy, lease: WalkedLease): FindingProblem[] =>
  proxy.slot === lease.slot && proxy.address === lease.address
    ? []
    : [problem('lease_address', { proxy: proxy.id, shown: slotText(proxy), leased: slotText(lease) })]

const hasBegun = (lease: WalkedLease, byMs: number): boolean => lease.startedAt === Math.max(byMs, lease.freeFromAt)

/** A lease ends after it began, even if the clock was set back in between. */
const hasEnded = (lease: WalkedLease, byMs: number): boolean => lease.endedAt === Math.max(byMs, lease.startedAt + 1)

/** Whether there is a moment in which the one lease was replaced by the other. */
const follows = (lease: WalkedLease, next: WalkedLease): boolean =>
  [next.startedAt, lease.endedAt].some((each) => each !== null && hasBegun(next, each) && hasEnded(lease, each))

/** Oldest first. A slot that was replaced at the moment of its lease comes before its replacement. */
const inTime = (a: WalkedLease, b: WalkedLease): number =>
  a.startedAt - b.startedAt || (a.endedAt ?? Number.MAX_SAFE_INTEGER) - (b.endedAt ?? Number.MAX_SAFE_INTEGER)

/** In the order of replacement, which differs from the order of times where the clock was set back. */
function inReplacementOrder(proxy: Proxy, leases: readonly WalkedLease[]): WalkedLease[] {
  const rest = leases.toSorted(inTime)
  const ordered: WalkedLease[] = []
  while (rest.length > 0) {
    const before = ordered.at(-1)
    const isNext = (lease: WalkedLease): boolean =>
      (lease.endedAt !== null || rest.length === 1) &&
      (before ? follows(before, lease) : hasBegun(lease, proxy.startedAt))
    ordered.push(...rest.splice(Math.max(rest.findIndex(isNext), 0), 1))
  }
  return ordered
}

/** The leases of a proxy must follow one another from its first moment to its last. */
function problemsOfLeases(proxy: Proxy, had: readonly WalkedLease[]): FindingProblem[] {
  const leases = inReplacementOrder(proxy, had)
  const [first, last] = [leases[0], leases.at(-1)]
  const isHeld = proxy.state === 'held'
  if (!first || !last) return [problem('lease_none', { held: isHeld })]
  const problems: FindingProblem[] = []
  if (!hasBegun(first, proxy.startedAt)) {
    const times = { stored: momentText(first.startedAt), bought: momentText(proxy.startedAt) }
    problems.push(problem('lease_begin', times))
  }
  for (const [index, lease] of leases.entries()) {
    const next = leases[index + 1]
    if (next && !follows(lease, next)) problems.push(problem('leases_apart'))
    problems.push(...problemsOfKind(lease, proxy))
  }
  if (isHeld !== (last.endedAt === null)) {
    problems.push(isHeld ? problem('lease_none', { held: isHeld }) : problem('lease_open', { proxy: proxy.id }))
  }
  const endedAt = proxy.endedAt ?? graceEnd(proxy)
  if (last.endedAt !== null && !hasEnded(last, endedAt)) {
    problems.push(problem('lease_end', { stored: momentText(last.endedAt), expected: momentText(endedAt) }))
  }
  if (proxy.endedAt !== null && isHeld) problems.push(problem('proxy_ended_held', { ended: momentText(proxy.endedAt) }))
  problems.push(...problemsOfAddress(proxy, last))
  if (!isReplacedAt(proxy.replacedAt, leases.at(-2), last)) {
    const stored = proxy.replacedAt === null ? null : momentText(proxy.replacedAt)
    problems.push(problem('proxy_replaced', { stored }))
  }
  return problems
}

function isReplacedAt(replacedAt: number | null, before: WalkedLease | undefined, last: WalkedLease): boolean {
  if (!before || replacedAt === null) return !before && replacedAt === null
  return hasEnded(before, replacedAt) && hasBegun(last, replacedAt)
}
