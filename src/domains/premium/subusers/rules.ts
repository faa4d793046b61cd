import { formatPrefix, readPrefix } from '../../../core/address.ts'
import { randomBase32 } from '../../../core/base32.ts'
import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import { type FieldProblem, fieldProblem, type ProblemArguments } from '../../../core/messages/problems.ts'
import { isPublic } from '../../../core/reserved.ts'

/** Maxima over all pools: bytes per UTC day, per UTC month and in total; tunnels at once. Null is no limit. */
export type SubuserLimits = Readonly<Record<'dayBytes' | 'monthBytes' | 'totalBytes', bigint | null>> & {
  readonly tunnels: number | null
}

export const noLimits: SubuserLimits = { dayBytes: null, monthBytes: null, totalBytes: null, tunnels: null }

/** A user of premium proxies: the customer (the default one), or a reseller's client. */
export type Subuser = {
  readonly id: SubuserId
  readonly customer: CustomerId
  readonly login: string
  readonly name: string
  readonly isDefault: boolean
  readonly blockedAt: number | null
  readonly deletedAt: number | null
  readonly limits: SubuserLimits
  readonly keepHosts: boolean
  readonly createdAt: number
  readonly changedAt: number
}

export const maxSubusers = 10_000

const loginRandomBytes = 10

/** `u` and 50 random bits: a login does not tell how many came before. */
export const makeLogin = (random: (count: number) => Uint8Array): string => `u${randomBase32(random(loginRandomBytes))}`

/** The bytes that limits leave, given what was relayed and what nodes may still relay. Null is no limit. */
export function leftOfLimits(
  limits: SubuserLimits,
  used: { readonly day: bigint; readonly month: bigint; readonly total: bigint; readonly promised: bigint },
): bigint | null {
  const lefts = [
    limits.dayBytes === null ? null : limits.dayBytes - used.day,
    limits.monthBytes === null ? null : limits.monthBytes - used.month,
    limits.totalBytes === null ? null : limits.totalBytes - used.total,
  ].filter((left) => left !== null)
  if (lefts.length === 0) return null
  const least = lefts.reduce((a, b) => (a < b ? a : b)) - used.promised
  return least > 0n ? least : 0n
}

export const isLimited = (limits: SubuserLimits): boolean =>
  limits.dayBytes !== null || limits.monthBytes !== null || limits.totalBytes !== null

/** Binds a sealed password to its sub-user: in another row it does not open. */
export const contextOf = (id: SubuserId): string => `subuser ${id}`

export type WhitelistEntry = {
  readonly prefix: string
  readonly comment: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

const widest = { 4: 24, 6: 56 } as const

/**
 * Reads an address or a prefix into its canonical spelling: `::ffff:1.2.3.4` is `1.2.3.4`. Refuses prefixes wider than
 * /24 or /56, and reserved addresses unless the shop is a sandbox.
 */
export function readEntry(text: string, sandbox: boolean): { prefix: string } | { problem: FieldProblem } {
  const refuse = (...problem: ProblemArguments) => ({ problem: fieldProblem('ip', ...problem) })
  const prefix = readPrefix(text.trim())
  if (!prefix) return refuse('address_or_prefix')
  const { version } = prefix.base
  if (prefix.length < widest[version]) return refuse('prefix_too_wide', { length: widest[version], version })
  if (!sandbox && !isPublic(prefix)) return refuse('address_reserved')
  if (prefix.base.bytes.every((byte) => byte === 0)) return refuse('address_unspecified')
  return { prefix: formatPrefix(prefix) }
}

/** A gateway port and its login without a session, and the session, or '' and 0 minutes. */
export type GatewayPort = {
  readonly port: number
  readonly subuser: SubuserId
  readonly parameters: string
  readonly ttlMinutes: number
  readonly session: string
}
