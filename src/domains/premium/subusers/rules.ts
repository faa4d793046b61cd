import { randomBase32 } from '../../../core/base32.ts'
import type { CustomerId, SubuserId } from '../../../core/ids.ts'

/**
 * What a sub-user may at most carry: bytes in a day and a month of UTC and in all, over every pool; tunnels at once.
 */
export type Limits = {
  readonly dayBytes: bigint | null
  readonly monthBytes: bigint | null
  readonly totalBytes: bigint | null
  readonly tunnels: number | null
}

export const noLimits: Limits = { dayBytes: null, monthBytes: null, totalBytes: null, tunnels: null }

/** Someone who uses premium proxies: the customer himself (the default one), or whoever a reseller made one for. */
export type Subuser = {
  readonly id: SubuserId
  readonly customer: CustomerId
  readonly login: string
  readonly name: string
  readonly isDefault: boolean
  readonly blockedAt: number | null
  readonly deletedAt: number | null
  readonly limits: Limits
  readonly keepHosts: boolean
  readonly createdAt: number
  readonly changedAt: number
}

export const mostSubusers = 10_000

const passwordRandomBytes = 24
const loginRandomBytes = 10

/** 24 characters of 5 bits: 120 bits, so a plain SHA-256 of it is enough for the nodes. */
export const makePassword = (random: (count: number) => Uint8Array): string => randomBase32(random(passwordRandomBytes))

/** `u` and 50 random bits: nobody learns from a login who came before. */
export const makeLogin = (random: (count: number) => Uint8Array): string => `u${randomBase32(random(loginRandomBytes))}`

/** What limits leave, given what was carried and what nodes may still carry on their leases. Null is no limit. */
export function leftOfLimits(
  limits: Limits,
  carried: { readonly day: bigint; readonly month: bigint; readonly total: bigint; readonly promised: bigint },
): bigint | null {
  const lefts = [
    limits.dayBytes === null ? null : limits.dayBytes - carried.day,
    limits.monthBytes === null ? null : limits.monthBytes - carried.month,
    limits.totalBytes === null ? null : limits.totalBytes - carried.total,
  ].filter((left) => left !== null)
  if (lefts.length === 0) return null
  const least = lefts.reduce((a, b) => (a < b ? a : b)) - carried.promised
  return least > 0n ? least : 0n
}

export const isLimited = (limits: Limits): boolean =>
  limits.dayBytes !== null || limits.monthBytes !== null || limits.totalBytes !== null

/** What binds a sealed password to its sub-user: in another row it does not open. */
export const contextOf = (id: SubuserId): string => `subuser ${id}`
