import { formatAddress, readAddress, unmap } from '../../core/address.ts'
import { randomBase32 } from '../../core/base32.ts'
import { addDays } from '../../core/calendar.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import type { FieldProblem } from '../../core/refusal.ts'
import { isPublic } from '../../core/reserved.ts'
import type { DomainEvent, EventData, EventType } from '../events/rules.ts'
import type { Ipv } from '../stock/rules.ts'

/** What a proxy speaks. */
export type PortType = 'http' | 'socks' | 'both'

/** Who swaps a proxy's address: its customer, the operator, or the shop because it could not be used. */
export type ReplacedBy = 'customer' | 'operator' | 'outage'

export type Proxy = {
  readonly id: number
  readonly customer: CustomerId
  readonly order: OrderId
  readonly place: number
  readonly address: string
  readonly country: string
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
  /** Who did that; null where it was not written down yet. */
  readonly replacedBy: ReplacedBy | null
  /** Since when it cannot be used, and why, while it cannot. Its term stands still meanwhile. */
  readonly interruptedAt: number | null
  readonly interruptedBy: 'outage' | 'quarantine' | null
  /** When it was last prolonged after its end. */
  readonly resumedAt: number | null
  /** When the operator ended it before its time. */
  readonly endedAt: number | null
  /** Addresses that need no password, at a port that stands for this proxy alone. */
  readonly sources: readonly string[]
  readonly entryPort: number | null
  readonly renewPeriod: number | null
  /** The token that has set it to renew, whose spending the renewal is. */
  readonly renewToken: TokenId | null
  readonly changedAt: number
}

/** How it looks to its customer: `expired` is the time of grace. */
export type ProxyStatus = 'active' | 'expired'

const dayMs = 86_400_000
export const graceMs = 3 * dayMs
export const restMs = 7 * dayMs
/** A proxy's address can be swapped once in this long. */
const replaceEveryMs = dayMs
/** Automatic renewal happens this long before the end, and is tried again at this pace while there is no money. */
export const renewAheadMs = dayMs
export const renewRetryMs = 3_600_000

/** Where its term stands: it stands still while it cannot be used. */
const termAt = (proxy: Pick<Proxy, 'interruptedAt'>, nowMs: number): number =>
  Math.min(proxy.interruptedAt ?? nowMs, nowMs)

/** How much of its term is left. */
export const leftAt = (proxy: Pick<Proxy, 'expiresAt' | 'interruptedAt'>, nowMs: number): number =>
  proxy.expiresAt - termAt(proxy, nowMs)

export const statusAt = (proxy: Pick<Proxy, 'expiresAt' | 'interruptedAt'>, nowMs: number): ProxyStatus =>
  leftAt(proxy, nowMs) > 0 ? 'active' : 'expired'

/** Until when a proxy can be prolonged. */
export const graceEnd = (proxy: Pick<Proxy, 'expiresAt'>): number => proxy.expiresAt + graceMs

/** Whether its customer still has it, in use or in grace. */
export const isHeld = (proxy: Pick<Proxy, 'state' | 'expiresAt' | 'interruptedAt'>, nowMs: number): boolean =>
  proxy.state === 'held' && termAt(proxy, nowMs) < graceEnd(proxy)

/** Time is added to what is left; in grace nothing is left, and the new term begins now. */
export const prolonged = (proxy: Pick<Proxy, 'expiresAt' | 'interruptedAt'>, days: number, nowMs: number): number =>
  addDays(Math.max(proxy.expiresAt, termAt(proxy, nowMs)), days)

/** From when on its customer may swap its address. What others have swapped does not count against him. */
export const replaceableAt = (proxy: Pick<Proxy, 'replacedAt' | 'replacedBy'>): number =>
  proxy.replacedAt === null || (proxy.replacedBy ?? 'customer') !== 'customer' ? 0 : proxy.replacedAt + replaceEveryMs

/** Whether its customer still wants it renewed by this many days, and its time has come. */
export const isToRenew = (proxy: Pick<Proxy, 'expiresAt' | 'renewPeriod'>, period: number, nowMs: number): boolean =>
  proxy.renewPeriod === period && proxy.expiresAt <= nowMs + renewAheadMs

const tagLength = 4
/** 20 characters of 5 bits: 100 random bits. */
const passwordLength = 20
/** How many random bytes a proxy's credentials are made of. */
export const credentialRandomBytes = tagLength + passwordLength

/** The name carries the proxy's number, so it is unique without asking anybody, and found without an index of names. */
export function makeCredentials(id: number, random: Uint8Array): { username: string; password: string } {
  if (random.length !== credentialRandomBytes) throw new RangeError('credentials are made of 24 random bytes')
  return {
    username: `tp${id.toString(36)}${randomBase32(random.subarray(0, tagLength))}`,
    password: randomBase32(random.subarray(tagLength)),
  }
}

/** The number of the proxy that a name can only belong to. */
export function readUsername(username: string): number | undefined {
  const match = /^tp([0-9a-z]{1,11})[0-9a-hjkmnp-tv-z]{4}$/.exec(username)
  const id = match ? Number.parseInt(match[1] ?? '', 36) : Number.NaN
  return Number.isSafeInteger(id) ? id : undefined
}

export const newPasswordBytes = passwordLength
export const makePassword = (random: Uint8Array): string => randomBase32(random)

/** So many addresses may enter a proxy without a password. */
export const mostSources = 10

/** What a proxy's sources become, or that there are too many. The order is that of adding. */
export function withSource(sources: readonly string[], source: string): readonly string[] | 'too many' {
  if (sources.includes(source)) return sources
  return sources.length < mostSources ? [...sources, source] : 'too many'
}

/**
 * Reads an address that somebody may come from into its one spelling. One that no stranger can come from is refused,
 * unless the shop is a sandbox on a laptop.
 */
export function readSource(text: string, sandbox: boolean): { source: string } | { problem: FieldProblem } {
  const refuse = (problem: string) => ({ problem: { field: 'ip', problem } })
  const read = readAddress(text.trim())
  const address = read && unmap(read)
  if (!address) return refuse('must be an IPv4 or IPv6 address')
  if (address.bytes.every((byte) => byte === 0)) return refuse('must be an address that somebody can have')
  if (!sandbox && !isPublic({ base: address, length: address.bytes.length * 8 }))
    return refuse('must be a public address; this one is reserved')
  return { source: formatAddress(address) }
}

export const vaultContext = (id: number): string => `proxy ${id}`

export const kindName = (ipv: Ipv): string => ({ 3: 'shared IPv4', 4: 'IPv4', 6: 'IPv6' })[ipv]

/** What counts of a proxy are kept under. */
export const subjectPrefix = 'proxy:'
export const subjectOf = (id: number): string => `${subjectPrefix}${id}`

/** What a customer is told of a proxy. */
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
