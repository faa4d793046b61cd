import { addressFromNumber, addressToNumber, formatAddress, type Prefix } from '../../core/address.ts'
import { type Bytes, bytes, bytesInGigabyte } from '../../core/bytes.ts'
import { addMonths } from '../../core/calendar.ts'
import type { CustomerId, OrderId, PeerId, RandomBytes, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { RunningSince } from '../../core/stall-monitor.ts'
import { type GatewayProtocol, gatewayProtocols } from '../../core/vpn-protocols.ts'
import { chooseNode, type Endpoint, type Node } from '../fleet/rules.ts'

declare const subscriptionId: unique symbol
export type SubscriptionId = string & { readonly [subscriptionId]: true }

export type Status = 'ACTIVE' | 'EXPIRED' | 'DISABLED' | 'LIMITED'
/** `GRACE`: it has ended, and its devices still reach the shop. */
export type ShownStatus = Status | 'GRACE'
export type Limit = 'traffic' | 'devices'

export type Subscription = {
  readonly uuid: SubscriptionId
  readonly customer: CustomerId
  /** The day of the month on which a term ends, where the month has that day. */
  readonly anchorDay: number
  readonly expiresAt: number
  /** The slots in force now, and the price list's number. */
  readonly deviceLimit: number
  /** How many device slots a renewal would renew. */
  readonly slots: number
  /** When slots that no renewal has paid for end. */
  readonly slotsEndAt: number | null
  /** Groups of nodes of which it has used up its part. */
  readonly usedUpGroups: string | null
  /** Bytes over the whole life of the subscription; null is no limit. */
  readonly trafficLimit: Bytes | null
  readonly speedMegabits: number | null
  readonly received: Bytes
  readonly sent: Bytes
  readonly autoRenewMonths: number | null
  /** The token that turned renewal on; a renewal counts as its spending. */
  readonly renewToken: TokenId | null
  readonly renewAfter: number
  readonly renewProblem: string | null
  /** The secret link: the digest that finds it, and the sealed text that shows it again. */
  readonly linkDigest: Uint8Array
  readonly sealedLink: Uint8Array | null
  readonly createdAt: number
  readonly disabledAt: number | null
  readonly sweptAt: number | null
  readonly deletedAt: number | null
  /** Chosen by the customer. */
  readonly name: string | null
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
  readonly refund: 'pro_rata' | 'none'
  readonly refunded: Kopecks
  /** How many device slots it renewed; their price is part of `price`. */
  readonly slots: number
  /** The device limit without slots; 0 in a term of an earlier version. */
  readonly deviceLimit: number
}

/** Device slots that one order has added, from its purchase to the end of the term that was the last one then. */
export type SlotPurchase = Pick<
  Term,
  'subscription' | 'order' | 'price' | 'startsAt' | 'endsAt' | 'refund' | 'refunded'
> & {
  readonly afterTerm: number
  readonly slots: number
}

/** The slots of a subscription after its last term: those that the term renewed, and those bought since. */
export const slotsAfter = (term: Pick<Term, 'seq' | 'slots'>, purchases: readonly SlotPurchase[]): number =>
  purchases.reduce((sum, each) => (each.afterTerm === term.seq ? sum + each.slots : sum), term.slots)

/** The part of terms and purchases that decides how many slots are paid for at a time. */
type PaidSlots = readonly [
  terms: readonly Pick<Term, 'seq' | 'startsAt' | 'endsAt' | 'slots'>[],
  purchases: readonly SlotPurchase[],
]

/** The slots that are paid for at a moment, by the term of that moment and purchases until its end or a later one. */
export function slotsAt(moment: number, ...[terms, purchases]: PaidSlots): number {
  const term = terms.find(({ endsAt }) => moment < endsAt) ?? terms.at(-1)
  if (!term) return 0
  const bought = purchases.filter(({ startsAt, afterTerm }) => startsAt <= moment && afterTerm >= term.seq)
  return bought.reduce((sum, { slots }) => sum + slots, term.slots)
}

/** When the slots of a moment become fewer for the first time, at the beginning of a term; null if they never do. */
export const slotsEndAfter = (moment: number, ...[terms, purchases]: PaidSlots): number | null => {
  const now = slotsAt(moment, terms, purchases)
  const later = terms.filter(({ startsAt }) => startsAt > moment)
  return later.find(({ startsAt }) => slotsAt(startsAt, terms, purchases) < now)?.startsAt ?? null
}

/** The most slots that were ever in force. */
export const mostSlots = (...[terms, purchases]: PaidSlots): number =>
  Math.max(0, ...[...terms, ...purchases].map(({ startsAt }) => slotsAt(startsAt, terms, purchases)))

/** A device: one WireGuard peer. `received` is what came to the device, `sent` what the device sent. */
export type Peer = {
  readonly id: PeerId
  readonly subscription: SubscriptionId
  readonly name: string
  readonly publicKey: string
  /** The private key, sealed, if the shop made it and the device is not removed. */
  readonly sealedKey: Uint8Array | null
  readonly ownKey: boolean
  /** The keys for ways in over TLS (`access-keys.ts`), sealed, while the device is not removed. */
  readonly accessKeys: Uint8Array | null
  /** The app that has the device (`app-devices.ts`), if it sends a hardware id. */
  readonly appDigest: Uint8Array | null
  readonly ipv4: bigint
  readonly ipv6: string
  readonly location: string | null
  /** The node to which the operator moved the device, if any. */
  readonly node: string | null
  readonly received: Bytes
  readonly sent: Bytes
  /** When it connected last, or carried bytes at a gateway, and how. */
  readonly lastHandshakeAt: number | null
  readonly lastProtocol: VpnProtocol | null
  readonly lastNode: string | null
  readonly createdAt: number
  readonly removedAt: number | null
  readonly changedAt: number
}

/** A moved device stays with its node until that node was silent for this long. */
const moveBackAfterMs = 5 * 60_000

/**
 * The node of a device among those of its location: the one that the operator moved it to, unless that node is closed,
 * drained or silent for too long; else one drawn by the device's id among the live ones.
 */
export function nodeOf(peer: Pick<Peer, 'id' | 'node'>, nodes: readonly Node[], since: RunningSince): Node | undefined {
  const own = nodes.find((node) => node.id === peer.node)
  const isThere =
    own?.state === 'open' &&
    own.drainedAt === null &&
    own.lastSeenAt !== null &&
    since(own.lastSeenAt) <= moveBackAfterMs
  return isThere ? own : chooseNode(nodes, peer.id, since)
}

/** Of an order that bought device slots. */
export const increaseAction = 'increase'

/** The first words of the note of a refund for a deleted subscription; `verify` recognises the refund by them. */
export const deletedNote = 'VPN deleted before its end'

/** A subscription as it is shown. `secret` is the last part of its secret link. */
export type View = {
  readonly subscription: Subscription
  readonly status: ShownStatus
  readonly limits: readonly Limit[]
  readonly devices: readonly Peer[]
  readonly secret: string
  readonly node: 'online' | 'offline'
  /** Its traffic at groups of nodes; not in every answer. */
  readonly parts?: readonly { readonly name: string; readonly limit: bigint; readonly used: bigint }[]
  /** Names of nodes by their ids. */
  readonly nodeNames: ReadonlyMap<string, string>
  /** How its devices connect now. */
  readonly protocols: readonly VpnProtocol[]
}

export const vpnProtocols = ['wireguard', ...gatewayProtocols] as const
export type VpnProtocol = (typeof vpnProtocols)[number]

/** The subject of a device's byte counts in a protocol; WireGuard has none. */
export const countSubjectOf = (id: string, protocol: GatewayProtocol | undefined): string =>
  protocol === undefined ? id : `${id} ${protocol}`
export const deviceOfSubject = (subject: string): string => subject.split(' ', 1)[0] ?? ''
export const countSubjectsOf = (id: string): string[] => [
  id,
  ...gatewayProtocols.map((each) => countSubjectOf(id, each)),
]
/** All ids of devices begin with this and have one length. */
export const deviceSubjects = { prefix: 'dev_', idLength: 30 }

/** An ended subscription keeps devices and keys for this long, so that renewing restores them. */
export const keptAfterEndMs = 30 * 86_400_000
/** How long a used address rests before another device gets it. */
export const addressRestMs = 86_400_000
/** How long an unused address rests: longer than a silent node counts as live (90 s), so its report of a use is in. */
export const unusedRestMs = 120_000
/** Limit on new devices per customer and day, so that one customer cannot exhaust the address pool. */
export const maxFreshDevices = (paidDevices: number): number => 3 * paidDevices + 20
export const freshWithinMs = 86_400_000
/** Automatic renewal runs this long before the end; a refused one is retried after `renewAgainMs`. */
export const renewAheadMs = 86_400_000
export const renewAgainMs = 3_600_000
export const maxSubscriptions = 100
const maxYearsAhead = 20

/** The subject of a subscription's traffic alerts. */
export const alertSubjectOf = (uuid: SubscriptionId): string => `vpn:${uuid}`

export const usedBy = (of: { received: Bytes; sent: Bytes }): Bytes => bytes(of.received + of.sent)

/** Which limits are reached: `traffic` stops all packets, `devices` only refuses another device. */
export function limitsReached(subscription: Subscription, devices: number): Limit[] {
  const limits: Limit[] = []
  if (isTrafficUsedUp(subscription)) limits.push('traffic')
  if (devices >= subscription.deviceLimit) limits.push('devices')
  return limits
}

export const isTrafficUsedUp = (subscription: Pick<Subscription, 'trafficLimit' | 'received' | 'sent'>): boolean =>
  subscription.trafficLimit !== null && usedBy(subscription) >= subscription.trafficLimit

/** LIMITED if the traffic is used up. A full set of devices only refuses another one, so the subscription is ACTIVE. */
export function statusOf(subscription: Subscription, nowMs: number): Status {
  if (subscription.disabledAt !== null) return 'DISABLED'
  if (subscription.expiresAt <= nowMs) return 'EXPIRED'
  return isTrafficUsedUp(subscription) ? 'LIMITED' : 'ACTIVE'
}

export function shownStatusOf(subscription: Subscription, nowMs: number, graceMs: number): ShownStatus {
  const status = statusOf(subscription, nowMs)
  return status === 'EXPIRED' && nowMs < subscription.expiresAt + graceMs ? 'GRACE' : status
}

/** Whether nodes may forward packets of a subscription's devices now. */
export const mayForward = (
  subscription: Pick<Subscription, 'deletedAt' | 'disabledAt' | 'expiresAt' | 'trafficLimit' | 'received' | 'sent'>,
  nowMs: number,
): boolean =>
  subscription.deletedAt === null &&
  subscription.disabledAt === null &&
  subscription.expiresAt > nowMs &&
  !isTrafficUsedUp(subscription)

/**
 * Display order: running subscriptions first, the earliest end first; then the others, the latest end first. Equal ends
 * are ordered by age.
 */
export function byImportance(a: Ranked, b: Ranked, nowMs: number): number {
  const [runsA, runsB] = [isRunning(a, nowMs), isRunning(b, nowMs)]
  if (runsA !== runsB) return runsA ? -1 : 1
  const earlier = a.expiresAt - b.expiresAt
  return (runsA ? earlier : -earlier) || (a.uuid < b.uuid ? -1 : 1)
}

/** Neither ended nor disabled; a limit may be reached. */
export const isRunning = (of: Ranked, nowMs: number): boolean => of.disabledAt === null && of.expiresAt > nowMs

type Ranked = Pick<Subscription, 'uuid' | 'disabledAt' | 'expiresAt'>

export type Span = ReturnType<typeof spanAfter>

/** The time that months add: from the end of a running term, or from now, which makes today the anchor day. */
export function spanAfter(
  running: Pick<Subscription, 'expiresAt' | 'anchorDay'> | undefined,
  months: number,
  nowMs: number,
) {
  const continues = running && running.expiresAt >= nowMs
  const startsAt = continues ? running.expiresAt : nowMs
  const anchorDay = continues ? running.anchorDay : new Date(nowMs).getUTCDate()
  const endsAt = addMonths(startsAt, months, anchorDay)
  if (endsAt <= addMonths(nowMs, maxYearsAhead * 12)) return { startsAt, endsAt, anchorDay }
  throw new Refusal('paid_too_far_ahead', { years: maxYearsAhead }, { charged: false })
}

/** The traffic that comes with a number of months; null is no limit. */
export const trafficFor = (gigabytesAMonth: number | null, months: number): Bytes | null =>
  gigabytesAMonth === null ? null : bytes(BigInt(gigabytesAMonth) * BigInt(months) * bytesInGigabyte)

/**
 * The traffic limit after a purchase. Grants add up; running time without a limit stays unlimited until it ends. After
 * an unlimited term a grant counts from the traffic used by then.
 */
export function trafficLimitAfter(
  before: { readonly limit: Bytes | null; readonly used: Bytes; readonly runs: boolean },
  grant: Bytes | null,
): Bytes | null {
  if (grant === null || (before.runs && before.limit === null)) return null
  return bytes((before.limit ?? before.used) + grant)
}

/** The traffic limit that a sequence of terms grants. */
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

/**
 * The device limit without slots after a renewal. A smaller number in the price list never lowers it below the devices
 * held within it, nor while the subscription runs. Devices in slots that ended are not held within it.
 */
export const deviceLimitAfter = (
  before: { readonly limit: number; readonly held: number; readonly runs: boolean },
  planned: number,
): number => Math.max(planned, before.runs ? before.limit : Math.min(before.held, before.limit))

/** The device limit of a subscription without slots. */
export const baseLimitOf = (
  of: Pick<Subscription, 'deviceLimit' | 'slots'>,
  last: Pick<Term, 'deviceLimit'>,
): number => (last.deviceLimit > 0 ? last.deviceLimit : of.deviceLimit - of.slots)

/**
 * The refund of a term that ends early: its unused part by time or by traffic, whichever is smaller, rounded down. A
 * term with the refund rule `none` gives nothing back.
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

/** Traffic left, and the traffic granted by terms that are not over; null without a limit. */
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

/** A UUID of version 7 (RFC 9562): the time first, so that an index grows at its end, then 74 random bits. */
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

/** A device's name: letters and digits of any script and a few signs; no character that could begin a new line. */
export const isDeviceName = (text: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N} ._'()+-]{0,63}$/u.test(text)

/** A hardware id as apps send it; undefined for any other text. */
export const readHardwareId = (text: string | null): string | undefined =>
  text !== null && /^[\w=.:-]{10,128}$/.test(text) ? text : undefined

/** A device's name from what an app says of its machine; undefined if nothing of it can be shown. */
export function toDeviceName(model: string | null, system: string | null): string | undefined {
  const [first, second] = [model, system].map((each) => each?.replace(/[^\p{L}\p{N} ._'()+-]/gu, '').trim() ?? '')
  const name = first && second ? `${first} (${second})` : first || second || ''
  const shown = name.slice(0, 64).trim()
  return isDeviceName(shown) ? shown : undefined
}

/** Characters of the random bits of a link, and of their MAC. */
const linkRandomLength = 32
const linkMacLength = 8

const toLinkText = (secret: Uint8Array): string => secret.toBase64({ alphabet: 'base64url', omitPadding: true })

/** 192 random bits, and 48 of a MAC over them, in 40 characters that need no escaping in a URL. */
export function makeLinkSecret(random: RandomBytes, mac: (text: string) => Uint8Array): string {
  const secret = toLinkText(random(24))
  return secret + toLinkText(mac(secret)).slice(0, linkMacLength)
}

/** `ours`: it has the shop's MAC. `early`: of a version whose links had none. Anyone can make up an `early` one. */
export type LinkForm = 'ours' | 'early'

/** Undefined for what is no link of the shop. The time of the comparison does not depend on the MAC. */
export function readLinkForm(text: string, mac: (text: string) => Uint8Array): LinkForm | undefined {
  if (!/^[A-Za-z0-9_-]{32,40}$/.test(text)) return undefined
  if (text.length === linkRandomLength) return 'early'
  const expected = toLinkText(mac(text.slice(0, linkRandomLength)))
  const given = text.slice(linkRandomLength)
  let difference = given.length ^ linkMacLength
  for (let at = 0; at < linkMacLength; at += 1) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at)
  return difference === 0 ? 'ours' : undefined
}

/** The address pool of devices: an IPv4 block, and an IPv6 prefix with at least 32 free bits. */
export type TunnelPool = { readonly v4: Prefix; readonly v6: Prefix }

/** The numbers of the IPv4 addresses that devices may have. */
export type AddressRange = ReturnType<typeof rangeOf>

/** All of the block but its base address, the node's address after it, and the broadcast address at its end. */
export function rangeOf(pool: TunnelPool) {
  const base = addressToNumber(pool.v4.base)
  return { first: base + 2n, last: base + (1n << BigInt(32 - pool.v4.length)) - 2n }
}

export const isPool4 = (prefix: Prefix): boolean =>
  prefix.base.version === 4 && prefix.length >= 8 && prefix.length <= 29

/** The last 32 bits are the number of the IPv4 address. */
export const isPool6 = (prefix: Prefix): boolean => prefix.base.version === 6 && prefix.length <= 96

/** The IPv6 address with the same number in its last 32 bits: it is unique because the IPv4 address is. */
export const ipv6Of = (pool: TunnelPool, ipv4: bigint): string =>
  formatAddress(addressFromNumber(6, addressToNumber(pool.v6.base) | ipv4))

export const ipv4Text = (ipv4: bigint): string => formatAddress(addressFromNumber(4, ipv4))

/** The operator's settings that are the same in every configuration. */
export type TunnelSettings = {
  readonly endpoint: Endpoint
  readonly dns: readonly string[]
  readonly mtu: number
  readonly allowed: readonly string[]
  /** Seconds between keepalive packets, which hold a NAT mapping open; 0 sends none. */
  readonly keepaliveSeconds: number
}

/** A device's addresses as WireGuard writes them: prefixes of one address. */
export const addressesOf = (peer: Pick<Peer, 'ipv4' | 'ipv6'>): string[] => [
  `${ipv4Text(peer.ipv4)}/32`,
  `${peer.ipv6}/128`,
]

/** A complete configuration for `wg-quick`. If the customer holds the private key, its line is a comment to fill in. */
export function configText(
  peer: Pick<Peer, 'id' | 'name' | 'ipv4' | 'ipv6'>,
  privateKey: string | undefined,
  node: { readonly name: string; readonly publicKey: string; readonly endpoint: Endpoint },
  tunnel: TunnelSettings,
): string {
  const host = node.endpoint.host.includes(':') ? `[${node.endpoint.host}]` : node.endpoint.host
  return [
    '[Interface]',
    `# ${peer.name} (${peer.id}) at ${node.name}`,
    privateKey === undefined
      ? '# PrivateKey = (the one that belongs to your public key)'
      : `PrivateKey = ${privateKey}`,
    `Address = ${addressesOf(peer).join(', ')}`,
    ...(tunnel.dns.length > 0 ? [`DNS = ${tunnel.dns.join(', ')}`] : []),
    `MTU = ${tunnel.mtu}`,
    '',
    '[Peer]',
    `PublicKey = ${node.publicKey}`,
    `Endpoint = ${host}:${node.endpoint.port}`,
    `AllowedIPs = ${tunnel.allowed.join(', ')}`,
    ...(tunnel.keepaliveSeconds > 0 ? [`PersistentKeepalive = ${tunnel.keepaliveSeconds}`] : []),
    '',
  ].join('\n')
}
