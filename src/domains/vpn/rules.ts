import { type Bytes, bytes, bytesInGigabyte } from '../../core/bytes.ts'
import { addMonths } from '../../core/calendar.ts'
import type { CustomerId, OrderId, PeerId, RandomBytes, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import type { RunningSince } from '../../core/stall-monitor.ts'
import { chooseNode, type Node } from '../fleet/rules.ts'
import { tooFarAhead } from './errors.ts'

export { ipv4Text } from './rules-addresses.ts'

declare const subscriptionId: unique symbol
export type SubscriptionId = string & { readonly [subscriptionId]: true }

export type Status = 'ACTIVE' | 'EXPIRED' | 'DISABLED' | 'LIMITED'
export type Limit = 'traffic' | 'devices'
export type RefundRule = 'pro_rata' | 'none'

export type Subscription = {
  readonly uuid: SubscriptionId
  readonly customer: CustomerId
  /** The day of the month that its time ends on, where the month has it. */
  readonly anchorDay: number
  readonly expiresAt: number
  readonly deviceLimit: number
  /** Bytes that it may carry in all, over its whole life; null is no limit. */
  readonly trafficLimit: Bytes | null
  readonly speedMegabits: number | null
  readonly received: Bytes
  readonly sent: Bytes
  readonly autoRenewMonths: number | null
  /** The token that has set it to renew, whose spending the renewal is. */
  readonly renewToken: TokenId | null
  readonly renewAfter: number
  readonly renewProblem: string | null
  readonly createdAt: number
  readonly disabledAt: number | null
  readonly sweptAt: number | null
  readonly deletedAt: number | null
}

/** Time that one order has paid for. */
export type Term = {
  readonly subscription: SubscriptionId
  readonly seq: number
  readonly order: OrderId
  readonly months: number
  readonly price: Kopecks
  readonly startsAt: number
  readonly endsAt: number
  readonly trafficGrant: Bytes | null
  readonly usedBefore: Bytes
  readonly refund: RefundRule
  readonly refunded: Kopecks
}

/** A device: one WireGuard peer. `received` is what came to it, `sent` what it sent. */
export type Peer = {
  readonly id: PeerId
  readonly subscription: SubscriptionId
  readonly name: string
  readonly publicKey: string
  readonly ownKey: boolean
  readonly ipv4: bigint
  readonly ipv6: string
  readonly location: string | null
  /** The node that the operator has moved it to, if any. */
  readonly node: string | null
  readonly received: Bytes
  readonly sent: Bytes
  readonly lastHandshakeAt: number | null
  readonly createdAt: number
  readonly removedAt: number | null
  readonly changedAt: number
}

/** A device that was moved stays with its node until that node was silent for this long. */
const movedOnAfterMs = 5 * 60_000

/**
 * The node of a device among those of its location: the one that it was moved to, unless that is closed, being drained
 * or silent for too long; else the one that is drawn for it, of those that are live.
 */
export function nodeOf(peer: Pick<Peer, 'id' | 'node'>, nodes: readonly Node[], since: RunningSince): Node | undefined {
  const own = nodes.find((node) => node.id === peer.node)
  const isThere =
    own?.state === 'open' &&
    own.drainedAt === null &&
    own.lastSeenAt !== null &&
    since(own.lastSeenAt) <= movedOnAfterMs
  return isThere ? own : chooseNode(nodes, peer.id, since)
}

/** How the words begin with which the unused part of a term is given back. */
export const deletedNote = 'VPN deleted before its end'

/** A subscription as it is shown. `secret` is the end of its secret link. */
export type View = {
  readonly subscription: Subscription
  readonly status: Status
  readonly limits: readonly Limit[]
  readonly devices: readonly Peer[]
  readonly secret: string
  readonly node: 'online' | 'offline'
}

/**
 * Past its end a subscription keeps its devices and their keys for this long, so that renewing brings all of it back.
 */
export const keptAfterEndMs = 30 * 86_400_000
/** How long an address that was used rests before another device gets it. */
export const addressRestMs = 86_400_000
/**
 * One that nobody used rests until every node that is in touch would have told of a use: a node that is not is not live
 * after 90 seconds.
 */
export const unusedRestMs = 120_000
/**
 * How many devices a customer is given in a day: a few for each that he pays for, so that nobody takes all addresses
 * for nothing.
 */
export const mostFreshDevices = (places: number): number => 3 * places + 20
export const freshWithinMs = 86_400_000
/** Renewal by itself happens this long before the end, and is tried again at this pace when it is refused. */
export const renewAheadMs = 86_400_000
export const renewAgainMs = 3_600_000
export const mostSubscriptions = 100
const mostYearsAhead = 20

export const usedBy = (of: { received: Bytes; sent: Bytes }): Bytes => bytes(of.received + of.sent)

/** Which limits are reached. Without traffic nothing passes; with all devices taken only another one is refused. */
export function limitsReached(subscription: Subscription, devices: number): Limit[] {
  const limits: Limit[] = []
  if (isTrafficUsedUp(subscription)) limits.push('traffic')
  if (devices >= subscription.deviceLimit) limits.push('devices')
  return limits
}

export const isTrafficUsedUp = (subscription: Pick<Subscription, 'trafficLimit' | 'received' | 'sent'>): boolean =>
  subscription.trafficLimit !== null && usedBy(subscription) >= subscription.trafficLimit

export function statusOf(subscription: Subscription, devices: number, nowMs: number): Status {
  if (subscription.disabledAt !== null) return 'DISABLED'
  if (subscription.expiresAt <= nowMs) return 'EXPIRED'
  return limitsReached(subscription, devices).length > 0 ? 'LIMITED' : 'ACTIVE'
}

/** Whether a subscription's devices may carry anything now. */
export const mayCarry = (
  subscription: Pick<Subscription, 'deletedAt' | 'disabledAt' | 'expiresAt' | 'trafficLimit' | 'received' | 'sent'>,
  nowMs: number,
): boolean =>
  subscription.deletedAt === null &&
  subscription.disabledAt === null &&
  subscription.expiresAt > nowMs &&
  !isTrafficUsedUp(subscription)

/**
 * Those that run come first, and of these the one that ends first, because it lapses first; then the others, the one
 * that ended last first. Of two that end together the older one comes first.
 */
export function byImportance(a: Ranked, b: Ranked, nowMs: number): number {
  const [runsA, runsB] = [isRunning(a, nowMs), isRunning(b, nowMs)]
  if (runsA !== runsB) return runsA ? -1 : 1
  const earlier = a.expiresAt - b.expiresAt
  return (runsA ? earlier : -earlier) || (a.uuid < b.uuid ? -1 : 1)
}

/** Neither ended nor disabled; it may have reached a limit. */
export const isRunning = (of: Ranked, nowMs: number): boolean => of.disabledAt === null && of.expiresAt > nowMs

type Ranked = Pick<Subscription, 'uuid' | 'disabledAt' | 'expiresAt'>

export type Span = { readonly startsAt: number; readonly endsAt: number; readonly anchorDay: number }

/**
 * The time that months add: to the end of what is left, or from now when nothing is. Then the day it ends on is
 * today's.
 */
export function spanAfter(
  running: { readonly expiresAt: number; readonly anchorDay: number } | undefined,
  months: number,
  nowMs: number,
): Span {
  const span = running && running.expiresAt >= nowMs ? extend(running, months) : begin(months, nowMs)
  if (span.endsAt > addMonths(nowMs, mostYearsAhead * 12)) throw tooFarAhead(mostYearsAhead)
  return span
}

const extend = (running: { expiresAt: number; anchorDay: number }, months: number): Span => ({
  startsAt: running.expiresAt,
  endsAt: addMonths(running.expiresAt, months, running.anchorDay),
  anchorDay: running.anchorDay,
})

function begin(months: number, nowMs: number): Span {
  const anchorDay = new Date(nowMs).getUTCDate()
  return { startsAt: nowMs, endsAt: addMonths(nowMs, months, anchorDay), anchorDay }
}

/** The traffic that comes with a number of months, or null without a limit. */
export const trafficFor = (gigabytesAMonth: number | null, months: number): Bytes | null =>
  gigabytesAMonth === null ? null : bytes(BigInt(gigabytesAMonth) * BigInt(months) * bytesInGigabyte)

/**
 * The limit once more time is bought. What is left is never lost: grants add up, and time that runs without a limit
 * stays so until it ends. After that a grant counts from what was used by then.
 */
export function trafficLimitAfter(
  before: { readonly limit: Bytes | null; readonly used: Bytes; readonly runs: boolean },
  grant: Bytes | null,
): Bytes | null {
  if (grant === null || (before.runs && before.limit === null)) return null
  return bytes((before.limit ?? before.used) + grant)
}

/** What these terms have granted, one after another. */
export function limitOfTerms(
  terms: readonly Pick<Term, 'startsAt' | 'endsAt' | 'usedBefore' | 'trafficGrant'>[],
): Bytes | null {
  let limit: Bytes | null = null
  for (const [index, { startsAt, usedBefore, trafficGrant }] of terms.entries()) {
    const runs = startsAt === terms[index - 1]?.endsAt
    limit = trafficLimitAfter({ limit: index === 0 ? usedBefore : limit, used: usedBefore, runs }, trafficGrant)
  }
  return limit
}

/** Devices survive renewal: neither a running subscription nor one with devices falls below what it has. */
export const deviceLimitAfter = (
  before: { readonly limit: number; readonly held: number; readonly runs: boolean },
  planned: number,
): number => Math.max(planned, before.held, before.runs ? before.limit : 0)

/**
 * What is given back of a term that ends early: its unused part, by time or by traffic, whichever is smaller, and a
 * fraction of a kopeck less. A term that the price list sold without refund gives back nothing.
 */
export function refundOf(
  term: Pick<Term, 'price' | 'startsAt' | 'endsAt' | 'refund'>,
  nowMs: number,
  traffic: { readonly left: bigint; readonly granted: bigint } | null,
): Kopecks {
  if (term.refund === 'none' || nowMs >= term.endsAt) return kopecks(0n)
  const whole = BigInt(term.endsAt - term.startsAt)
  const unused = BigInt(term.endsAt - Math.max(term.startsAt, nowMs))
  const byTime = (term.price * unused) / whole
  if (!traffic || traffic.left >= traffic.granted) return kopecks(byTime)
  const byTraffic = (term.price * traffic.left) / traffic.granted
  return kopecks(byTraffic < byTime ? byTraffic : byTime)
}

/** The traffic that is left, against what came with the terms that are not over; null when it does not bind. */
export function trafficLeft(
  subscription: Pick<Subscription, 'trafficLimit' | 'received' | 'sent'>,
  terms: readonly Pick<Term, 'endsAt' | 'trafficGrant'>[],
  nowMs: number,
): { left: bigint; granted: bigint } | null {
  if (subscription.trafficLimit === null) return null
  let granted = 0n
  for (const term of terms) if (term.endsAt > nowMs) granted += term.trafficGrant ?? 0n
  const left = subscription.trafficLimit - usedBy(subscription)
  return granted === 0n ? null : { left: left > 0n ? left : 0n, granted }
}

/** A UUID of version 7 (RFC 9562): the time first, so that an index grows at its end, then 74 bits of chance. */
export function makeUuid(nowMs: number, random: RandomBytes): SubscriptionId {
  const chance = random(10)
  chance[0] = ((chance[0] ?? 0) & 15) | 0x70
  chance[2] = ((chance[2] ?? 0) & 63) | 0x80
  const text = nowMs.toString(16).padStart(12, '0') + chance.toHex()
  const parts = [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)]
  return parts.join('-') as SubscriptionId
}

/** Reads a UUID in either case. */
export function readUuid(text: string): SubscriptionId | undefined {
  const isUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)
  return isUuid ? (text.toLowerCase() as SubscriptionId) : undefined
}

/**
 * A device's name: letters and digits of any script and a few signs; nothing that could begin a line of a
 * configuration.
 */
export const isDeviceName = (text: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N} ._'()+-]{0,63}$/u.test(text)

const linkRandomBytes = 24

/** 192 bits in 32 characters that need no escaping anywhere. */
export const makeLinkSecret = (random: RandomBytes): string =>
  random(linkRandomBytes).toBase64({ alphabet: 'base64url', omitPadding: true })

export const isLinkSecret = (text: string): boolean => /^[A-Za-z0-9_-]{32}$/.test(text)
