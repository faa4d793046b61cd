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
import { createWalkingVerifier, pageWalk, positionedWalk, wholeWalk } from '../../db/audit-walks.ts'
import type { Reader } from '../../db/transaction.ts'
import { listIn, numberIn, type Order, type Plain, textIn } from '../orders/rules.ts'
import { type Catalogue, priceDedicated, priceProlonging } from '../pricing/rules.ts'
import type { WalkedLease } from '../stock/rules.ts'
import { checkDays } from './days/days.ts'
import { outagePages } from './outages/outages.ts'
import { type Outage, problemsOfTerm } from './outages/rules.ts'
import { outagesOf } from './outages/store.ts'
import { type DedicatedDeps, product } from './proxies.ts'
import {
  graceEnd,
  idOf,
  type Proxy,
  readBuyCalculation,
  readProlongCalculation,
  readUsername,
  subjectPrefix,
  vaultContext,
} from './rules.ts'
import * as store from './store.ts'

const pageSize = 500
/** Ids of proxies whose prolongings are in memory at once: a pass over the orders collects those of one such range. */
const idsPerPass = 50_000

/** Recomputes the promises about dedicated proxies: slots, leases, terms and prices. Rows are read in pages. */
export const verifierOf = (deps: DedicatedDeps): Verifier =>
  createWalkingVerifier(deps.db, 'dedicated', [
    pageWalk({
      name: 'orders',
      start: '',
      size: pageSize,
      read: (reader, after: string, limit) => deps.orders.pageAfter(reader, after, limit, product),
      keyOf: (order): string => order.id,
      check: (reader, page, findings) => checkOrders(deps, reader, page, findings),
    }),
    wholeWalk('outages', checkOutages),
    positionedWalk<number>('proxies', -1, (reader, after) => walkProxies(deps, reader, after)),
    wholeWalk('addresses', async (reader, findings) => {
      for (const held of await store.heldTwice(reader)) findings.push(toHeldTwice(held))
      const [next, last] = [await deps.numbers(reader, 'proxy'), await store.lastProxy(reader)]
      if (last >= next)
        findings.push(found('counter', at('counter', { name: 'proxy' }), 'counter_behind', { next, last }))
    }),
    ...deps.stockOperator.walks(checkLeases),
    wholeWalk('days', (reader, findings) => checkDays(deps, reader, findings)),
    pageWalk({
      name: 'counts',
      start: '',
      size: pageSize,
      read: (reader, after: string, limit) => deps.traffic.counts.subjects(reader, subjectPrefix, after, limit),
      keyOf: (subject): string => subject,
      check: checkCounts,
    }),
  ])

/** Checks the price of each order, and that it has as many proxies as it bought. */
async function checkOrders(
  deps: DedicatedDeps,
  reader: Reader,
  page: readonly Order[],
  findings: Finding[],
): Promise<void> {
  const ids = page.map((order) => order.id)
  const counts = await store.countByOrder(reader, ids)
  for (const order of page) {
    const where = at('order', { id: order.id })
    const catalogue = await catalogueOf(deps, reader, order)
    if (!catalogue || !isPricedRight(order, catalogue)) {
      findings.push(found('price', where, 'order_price', { price: moneyText(order.price) }))
    }
    const goods = catalogue && readGoods(order)
    const count = goods === undefined ? 0 : goods.count - (counts.get(order.id) ?? 0)
    if (count !== 0) findings.push(found('delivery', where, 'proxies_missing', { count }))
  }
}

async function catalogueOf({ pricing }: DedicatedDeps, reader: Reader, order: Order): Promise<Catalogue | undefined> {
  const version = numberIn(order.calculation, 'catalogue')
  return version === undefined ? undefined : pricing.version(reader, version)
}

async function checkOutages(reader: Reader, findings: Finding[]): Promise<void> {
  for await (const page of outagePages(reader)) {
    const ids = [...new Set(page.map((outage) => outage.proxy))]
    const known = await store.knownAmong(reader, ids)
    for (const proxy of ids) {
      if (!known.has(proxy)) findings.push(found('term', at('outage', { proxy }), 'proxy_missing'))
    }
  }
}

/**
 * Checks each proxy with its order, prolongings, outages and leases. One step has as many ids as one pass collects
 * prolongings for. `next` is the last id.
 */
async function walkProxies(deps: DedicatedDeps, reader: Reader, after: number) {
  const findings: Finding[] = []
  let [rows, last, isEnd] = [0, after, false]
  let prolonged: Prolongings | undefined
  while (!isEnd && (!prolonged || last < prolonged.untilId)) {
    const page: Proxy[] = await store.proxiesAfter(reader, last, pageSize)
    const [first, end] = [page[0], page.at(-1)]
    isEnd = page.length < pageSize
    if (!first || !end) break
    prolonged ??= await readProlongings(deps, reader, first.id, Math.max(end.id, first.id + idsPerPass))
    const within = prolonged.untilId
    const known = page.filter(({ id }) => id <= within)
    await checkProxies(deps, reader, known, prolonged, findings)
    rows += known.length
    last = known.at(-1)?.id ?? last
    if (known.length === page.length) continue
    isEnd = false
    break
  }
  return { findings, covered: { proxies: rows }, rows, next: isEnd ? undefined : last }
}

async function checkProxies(
  deps: DedicatedDeps,
  reader: Reader,
  page: readonly Proxy[],
  prolonged: Prolongings,
  findings: Finding[],
): Promise<void> {
  const ids = page.map((proxy) => proxy.id)
  const goods = await readGoodsOf(deps, reader, page)
  const outages = Map.groupBy(await outagesOf(reader, ids), (outage) => outage.proxy)
  const leases = Map.groupBy(await deps.stockOperator.leasesOfProxies(reader, ids), (lease) => lease.proxy)
  for (const proxy of page) {
    const { id } = proxy
    const sold = { order: goods.get(proxy.order), prolonged: prolonged.of.get(id) ?? [] }
    await attempt(findings, { promise: 'delivery', where: at('proxy', { id }) }, () => {
      findings.push(...checkProxy(deps, proxy, sold, outages.get(id) ?? []))
    })
    const problems = oncePerReason(problemsOfLeases(proxy, leases.get(id) ?? []))
    findings.push(...problems.map((each) => ({ promise: 'lease' as const, where: at('proxy', { id }), ...each })))
  }
}

/** Every proxy that nodes have counted for was sold. */
async function checkCounts(reader: Reader, subjects: readonly string[], findings: Finding[]): Promise<void> {
  const known = await store.knownAmong(reader, subjects.map(idOf).filter(Number.isSafeInteger))
  for (const subject of subjects) {
    if (!known.has(idOf(subject))) findings.push(found('delivery', at('subject', { subject }), 'counted_unknown'))
  }
}

/** What an order bought. */
type BoughtGoods = {
  readonly customer: string
  readonly at: number
  readonly expiresAt: number
  readonly country: string
  readonly ipv: number
  readonly count: number
}

type Prolonging = { readonly expiresAt: number; readonly at: number }

/** The sales of one proxy: its purchase, and each prolonging. */
type Sold = { readonly order: BoughtGoods | undefined; readonly prolonged: readonly Prolonging[] }

/** The prolongings of proxies by their ids, up to an id. */
type Prolongings = { readonly untilId: number; readonly of: ReadonlyMap<number, readonly Prolonging[]> }

async function readProlongings(
  deps: DedicatedDeps,
  reader: Reader,
  fromId: number,
  untilId: number,
): Promise<Prolongings> {
  const of = new Map<number, Prolonging[]>()
  await deps.orders.walk(reader, product, async (order) => {
    if (order.action === 'buy' || !(await catalogueOf(deps, reader, order))) return
    for (const [id, expiresAt] of readProlongCalculation(order.calculation)?.proxies ?? []) {
      if (id < fromId || id > untilId) continue
      const prolonging = { expiresAt, at: order.createdAt }
      const earlier = of.get(id)
      if (earlier) earlier.push(prolonging)
      else of.set(id, [prolonging])
    }
  })
  return { untilId, of }
}

/** What the orders of these proxies bought, by order. */
async function readGoodsOf(deps: DedicatedDeps, reader: Reader, proxies: readonly Proxy[]) {
  const goods = new Map<string, BoughtGoods>()
  const ids = [...new Set(proxies.map((proxy) => proxy.order))]
  for (const order of await deps.orders.findAudited(reader, ids)) {
    if (order.product !== product || !(await catalogueOf(deps, reader, order))) continue
    const bought = readGoods(order)
    if (bought) goods.set(order.id, bought)
  }
  return goods
}

/** Undefined for a prolonging, and for an order that cannot be read. */
function readGoods({ action, calculation, customer, createdAt }: Order): BoughtGoods | undefined {
  const bought = action === 'buy' ? readBuyCalculation(calculation) : undefined
  return bought && { ...bought, customer, at: createdAt }
}

/** An order whose goods have no price in its price list is a finding too. */
function isPricedRight(order: Order, catalogue: Catalogue): boolean {
  try {
    return (order.action === 'buy' ? priceBuying : priceProlongings)(order, catalogue) === order.price
  } catch {
    return false
  }
}

function priceBuying({ calculation: text, input }: Order, catalogue: Catalogue): bigint | undefined {
  const calculation = readBuyCalculation(text)
  if (!calculation) return undefined
  const { country, ipv, period, count } = calculation
  const isSame =
    textIn(input, 'country_code') === country &&
    numberIn(input, 'ipv') === ipv &&
    numberIn(input, 'period') === period &&
    numberIn(input, 'count') === count
  const { total } = priceDedicated(catalogue, { country, ipv, period, count })
  return isSame && calculation.kopecks === String(total) ? total : undefined
}

function priceProlongings(order: Order, catalogue: Catalogue): bigint | undefined {
  const calculation = readProlongCalculation(order.calculation)
  if (!calculation) return undefined
  const { lines, proxies } = calculation
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
  const { order, prolonged } = sold
  if (!order) return [found('delivery', where, 'proxy_unordered', { order: proxy.order })]
  const delivery = { promise: 'delivery', where } as const
  const term = { promise: 'term', where } as const
  const ends = [order.expiresAt, ...prolonged.map((each) => each.expiresAt)]
  const begun = problemsOfBeginning(proxy, order, prolonged)
  const times = [...begun, ...oncePerReason(problemsOfTerm(proxy, ends, outages))]
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

function problemsOfBeginning(proxy: Proxy, order: BoughtGoods, prolonged: Sold['prolonged']): FindingProblem[] {
  const { startedAt, resumedAt } = proxy
  const isResumed = resumedAt !== null && !prolonged.some((each) => each.at === resumedAt)
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
function toHeldTwice({ id, ...held }: store.HeldTwice): Finding {
  const where = at('proxy', { id })
  if ('slot' in held) return found('lease', where, 'slot_held_twice', held)
  return found('lease', where, 'address_held_twice', held)
}

/** Checks leases against their proxies. */
async function checkLeases(reader: Reader, leases: readonly WalkedLease[]): Promise<Finding[]> {
  const held = await store.findMany(reader, [...new Set(leases.map((lease) => lease.proxy))])
  const proxies = new Map(held.map((proxy) => [proxy.id, proxy]))
  return leases.flatMap((lease) => checkLease(lease, proxies.get(lease.proxy)) ?? [])
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
