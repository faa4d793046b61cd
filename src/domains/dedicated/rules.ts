import { formatAddress, readAddress, unmap } from '../../core/address.ts'
import { randomBase32 } from '../../core/base32.ts'
import { addDays } from '../../core/calendar.ts'
import type { CountryCode } from '../../core/country.ts'
import type { CustomerId, OrderId, RandomBytes, TokenId } from '../../core/ids.ts'
import { type FieldProblem, fieldProblem, type ProblemArguments } from '../../core/messages/problems.ts'
import { type Kopecks, kopecks, subtract, toRoubles, total, zero } from '../../core/money.ts'
import { isPublic } from '../../core/reserved.ts'
import type { DomainEvent, EventData, EventType } from '../events/rules.ts'
import { listIn, numberIn, type Plain, textIn } from '../orders/rules.ts'
import { shareOut } from '../pricing/rules.ts'
import type { Ipv } from '../stock/rules.ts'

/** The protocols that a proxy accepts. */
export const portTypes = ['http', 'socks', 'both'] as const
export type PortType = (typeof portTypes)[number]

/** Who swapped a proxy's address: its customer, the operator, or the shop after an outage. */
export type ReplacedBy = 'customer' | 'operator' | 'outage'

export type Proxy = {
  readonly id: number
  readonly customer: CustomerId
  readonly order: OrderId
  readonly slot: number
  readonly address: string
  readonly country: CountryCode
  readonly ipv: Ipv
  readonly portType: PortType
  readonly username: string
  readonly sealedPassword: Uint8Array
  readonly passwordDigest: Uint8Array
  readonly comment: string
  readonly state: 'held' | 'gone'
  readonly startedAt: number
  readonly expiresAt: number
  readonly replacedAt: number | null
  readonly replacedBy: ReplacedBy | null
  /** Since when and why it is interrupted. Its term is paused meanwhile. */
  readonly interruptedAt: number | null
  readonly interruptedBy: 'outage' | 'quarantine' | null
  /** When it was last prolonged after its end. */
  readonly resumedAt: number | null
  /** When the operator ended it before its time. */
  readonly endedAt: number | null
  /** Source addresses that need no password, at a port that belongs to this proxy alone. */
  readonly sources: readonly string[]
  readonly entryPort: number | null
  readonly renewPeriod: number | null
  /** The token that turned renewal on; a renewal counts as its spending. */
  readonly renewToken: TokenId | null
  /** The code of the refusal of the last automatic renewal. */
  readonly renewProblem: string | null
  readonly changedAt: number
}

/** The status that customers see: `expired` is the grace period. */
export type ProxyStatus = 'active' | 'expired'

/** The most proxies in one file. */
export const maxExported = 10_000
/** Days of traffic that are kept for each proxy, today included. */
export const maxDays = 31

const dayMs = 86_400_000
export const graceMs = 3 * dayMs
export const restMs = 7 * dayMs
/** Customers may swap a proxy's address once in this long. */
const replaceEveryMs = dayMs
/** Automatic renewal runs this long before the end; a refused one is retried after `renewRetryMs`. */
export const renewAheadMs = dayMs
export const renewRetryMs = 3_600_000

/** The present moment of its term, which is paused while it is interrupted. */
const termAt = (proxy: Pick<Proxy, 'interruptedAt'>, nowMs: number): number =>
  Math.min(proxy.interruptedAt ?? nowMs, nowMs)

/** The time left of its term. */
export const leftAt = (proxy: Pick<Proxy, 'expiresAt' | 'interruptedAt'>, nowMs: number): number =>
  proxy.expiresAt - termAt(proxy, nowMs)

export const statusAt = (proxy: Pick<Proxy, 'expiresAt' | 'interruptedAt'>, nowMs: number): ProxyStatus =>
  leftAt(proxy, nowMs) > 0 ? 'active' : 'expired'

/** Until when a proxy can be prolonged. */
export const graceEnd = (proxy: Pick<Proxy, 'expiresAt'>): number => proxy.expiresAt + graceMs

/** Whether its customer still has it, active or in grace. */
export const isHeld = (proxy: Pick<Proxy, 'state' | 'expiresAt' | 'interruptedAt'>, nowMs: number): boolean =>
  proxy.state === 'held' && termAt(proxy, nowMs) < graceEnd(proxy)

/** The end after prolonging: time is added to what is left; in grace the new term begins now. */
export const prolonged = (proxy: Pick<Proxy, 'expiresAt' | 'interruptedAt'>, days: number, nowMs: number): number =>
  addDays(Math.max(proxy.expiresAt, termAt(proxy, nowMs)), days)

/** From when on its customer may swap its address. Swaps by the operator or the shop do not count. */
export const replaceableAt = (proxy: Pick<Proxy, 'replacedAt' | 'replacedBy'>): number =>
  proxy.replacedAt === null || (proxy.replacedBy ?? 'customer') !== 'customer' ? 0 : proxy.replacedAt + replaceEveryMs

/** Whether renewal by this many days is still on and due. */
export const isToRenew = (proxy: Pick<Proxy, 'expiresAt' | 'renewPeriod'>, period: number, nowMs: number): boolean =>
  proxy.renewPeriod === period && proxy.expiresAt <= nowMs + renewAheadMs

const tagLength = 4

/** The user name contains the proxy's number: it is unique, and needs no index to be found. */
export const makeUsername = (id: number, random: RandomBytes): string =>
  `tp${id.toString(36)}${randomBase32(random(tagLength))}`

/** The number in a user name. */
export function readUsername(username: string): number | undefined {
  const match = /^tp([0-9a-z]{1,11})[0-9a-hjkmnp-tv-z]{4}$/.exec(username)
  const id = match ? Number.parseInt(match[1] ?? '', 36) : Number.NaN
  return Number.isSafeInteger(id) ? id : undefined
}

/** Limit on source addresses per proxy. */
export const maxSources = 10

/** The sources with one more, in the order of adding. */
export function withSource(sources: readonly string[], source: string): readonly string[] | 'too many' {
  if (sources.includes(source)) return sources
  return sources.length < maxSources ? [...sources, source] : 'too many'
}

/** Reads a source address into its canonical form. Reserved addresses are refused, except in a sandbox. */
export function readSource(text: string, sandbox: boolean): { source: string } | { problem: FieldProblem } {
  const refuse = (...problem: ProblemArguments) => ({ problem: fieldProblem('ip', ...problem) })
  const read = readAddress(text.trim())
  const address = read && unmap(read)
  if (!address) return refuse('address')
  if (address.bytes.every((byte) => byte === 0)) return refuse('address_unspecified')
  if (!sandbox && !isPublic({ base: address, length: address.bytes.length * 8 })) return refuse('address_reserved')
  return { source: formatAddress(address) }
}

export const vaultContext = (id: number): string => `proxy ${id}`

export const kindName = (ipv: Ipv): string => ({ 3: 'shared IPv4', 4: 'IPv4', 6: 'IPv6' })[ipv]

/** The subject under which nodes' counts of a proxy are stored. */
export const subjectPrefix = 'proxy:'
export const subjectOf = (id: number): string => `${subjectPrefix}${id}`
/** The proxy of a subject with the prefix. */
export const idOf = (subject: string): number => Number(subject.slice(subjectPrefix.length))

/** An event about a proxy for its customer. */
export const eventOf = (proxy: Proxy, type: EventType, data: EventData): DomainEvent => ({
  customer: proxy.customer,
  type,
  order: proxy.order,
  subject: subjectOf(proxy.id),
  data: { proxy_id: proxy.id, ...data },
})

export const replacedEvent = (
  from: Proxy,
  to: Proxy,
  { by, reason }: { readonly by: ReplacedBy; readonly reason: string | null },
): DomainEvent => eventOf(from, 'proxy.replaced', { by, from_ip: from.address, to_ip: to.address, reason })

/** Goods of one country and kind with their price, as an order's calculation names them. */
type PricedGoods = {
  readonly country: string
  readonly ipv: number
  readonly period: number
  readonly count: number
  readonly kopecks: string
}

function readGoods(of: Plain): PricedGoods | undefined {
  const [country, price] = [textIn(of, 'country'), textIn(of, 'kopecks')]
  const [ipv, period, count] = [numberIn(of, 'ipv'), numberIn(of, 'period'), numberIn(of, 'count')]
  if (country === undefined || price === undefined || ipv === undefined) return undefined
  return period === undefined || count === undefined ? undefined : { country, ipv, period, count, kopecks: price }
}

/** The calculation of a purchase; undefined if it cannot be read. */
export function readBuyCalculation(of: Plain): (PricedGoods & { readonly expiresAt: number }) | undefined {
  const [goods, expiresAt] = [readGoods(of), numberIn(of, 'expires_at')]
  return goods && expiresAt !== undefined ? { ...goods, expiresAt } : undefined
}

/** The calculation of a prolonging: its lines, and the new end of each proxy; undefined if it cannot be read. */
export function readProlongCalculation(of: Plain):
  | {
      readonly lines: readonly PricedGoods[]
      readonly proxies: readonly (readonly [id: number, expiresAt: number])[]
    }
  | undefined {
  const [lines, proxies] = [listIn(of, 'lines'), listIn(of, 'proxies')]
  const readLines = lines?.flatMap((line) => readGoods(line) ?? [])
  const readProxies = proxies?.flatMap((pair) => {
    if (!Array.isArray(pair)) return []
    const [id, expiresAt] = pair as readonly unknown[]
    return typeof id === 'number' && typeof expiresAt === 'number' ? [[id, expiresAt] as const] : []
  })
  if (!readLines || readLines.length !== lines?.length) return undefined
  return readProxies && readProxies.length === proxies?.length ? { lines: readLines, proxies: readProxies } : undefined
}

/** Time that an order has paid for: its length, its price, and how many proxies share both. */
export type PaidTerm = {
  readonly order: OrderId
  readonly chargeSeq: number
  readonly lengthMs: number
  readonly price: Kopecks
  readonly shares: number
}

/** The unused part of a charge. */
export type Unused = { readonly order: OrderId; readonly chargeSeq: number; readonly amount: Kopecks }

/**
 * The unused part of a proxy's terms, newest first, given its time left: the newest term is used last. Each part is
 * rounded down, so the sum is at most what was paid. Time given for an outage is worth as much as paid time.
 */
export function unusedOf(terms: readonly PaidTerm[], leftMs: number): Unused[] {
  const unused: Unused[] = []
  let rest = Math.max(0, leftMs)
  for (const term of terms) {
    const partMs = Math.min(rest, term.lengthMs)
    if (partMs === 0) break
    const amount = (term.price * BigInt(partMs)) / (BigInt(term.lengthMs) * BigInt(term.shares))
    unused.push({ order: term.order, chargeSeq: term.chargeSeq, amount: kopecks(amount) })
    rest -= partMs
  }
  return unused
}

/** The paid and the unused price of a proxy, by purchase and prolongation, in roubles. */
export function endedServiceOf(
  { id, address, order }: Pick<Proxy, 'id' | 'address' | 'order'>,
  terms: readonly PaidTerm[],
  unused: readonly Unused[],
  refunded: readonly Unused[],
) {
  const paid = total(terms.map((each) => kopecks(each.price / BigInt(each.shares))))
  const left = total(unused.map((each) => each.amount))
  const purchase = total(unused.filter((each) => each.order === order).map((each) => each.amount))
  return {
    proxy: id,
    address,
    paid_rub: toRoubles(paid),
    used_rub: toRoubles(kopecks(paid - left)),
    unused_purchase_rub: toRoubles(purchase),
    unused_prolongation_rub: toRoubles(kopecks(left - purchase)),
    refunded_purchase_rub: toRoubles(total(refunded.filter((each) => each.order === order).map((each) => each.amount))),
    refunded_prolongation_rub: toRoubles(
      total(refunded.filter((each) => each.order !== order).map((each) => each.amount)),
    ),
  }
}

type EndedPart = { readonly proxy: Pick<Proxy, 'id' | 'order'>; readonly unused: readonly Unused[] }

/**
 * Each proxy's part of the refunds, by its number; the parts of a charge add up to its refund. A charge that is
 * refunded whole is shared equally. Any other pays the unused parts in their order, as far as its money reaches.
 */
export function refundedParts(
  ended: readonly EndedPart[],
  refunded: readonly Unused[],
  wholeCharge: number | undefined,
): Map<number, Unused[]> {
  const parts = new Map<number, Unused[]>(ended.map(({ proxy }) => [proxy.id, []]))
  for (const refund of refunded) {
    const isWhole = refund.chargeSeq === wholeCharge
    const bought = isWhole ? ended.filter(({ proxy }) => proxy.order === refund.order) : []
    const equal = isWhole ? shareOut(refund.amount, bought.length) : []
    const shares = isWhole
      ? bought.map(({ proxy }, index) => ({ id: proxy.id, amount: equal[index] ?? zero }))
      : ended.flatMap(({ proxy, unused }) =>
          unused.filter((each) => each.chargeSeq === refund.chargeSeq).map(({ amount }) => ({ id: proxy.id, amount })),
        )
    let rest = refund.amount
    for (const { id, amount } of shares) {
      const given = amount < rest ? amount : rest
      parts.get(id)?.push({ ...refund, amount: given })
      rest = subtract(rest, given)
    }
  }
  return parts
}

/** Adds the parts of each charge up. */
export function sumByCharge(parts: readonly Unused[]): Unused[] {
  const sums = new Map<number, Unused>()
  for (const part of parts) {
    const before = sums.get(part.chargeSeq)
    sums.set(part.chargeSeq, { ...part, amount: kopecks(part.amount + (before?.amount ?? 0n)) })
  }
  return [...sums.values()].toSorted((a, b) => a.chargeSeq - b.chargeSeq)
}
