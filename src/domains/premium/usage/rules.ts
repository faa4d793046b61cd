import type { SubuserId } from '../../../core/ids.ts'
import type { ByteAccountKey } from '../../traffic/accounts/rules.ts'
import type { LeaseReport, RelayedBytes } from '../../traffic/leases/rules.ts'

export type HostBytes = RelayedBytes & { readonly host: string }

/** One report of a node. All of it is cumulative or numbered, so it may arrive twice, late or out of order. */
export type NodeReport = LeaseReport & {
  /** Destinations of the bytes, shown to the customer and not billed. */
  readonly hosts?: readonly HostBytes[]
  /** Whitelisted addresses that were used. */
  readonly sources?: readonly { readonly subuser: SubuserId; readonly address: string }[]
}

/** The subjects under which nodes count bytes by host. */
export const hostSubjects = 'premium-host:'
export const hostSubjectOf = (of: ByteAccountKey & { readonly host: string }): string =>
  `${hostSubjects}${of.subuser}:${of.pool}:${of.host}`

/** A domain name or an address; other texts of a node are dropped. */
export const isHost = (text: string): boolean => /^[a-z0-9._:-]{1,253}$/.test(text)

/** Gateways and the shop count the rest under this host once there are too many. */
const otherHosts = 'other'

/** The bytes of an account in a report beyond those that went to named hosts. */
export function restOf(
  { subuser, pool }: ByteAccountKey,
  booked: readonly RelayedBytes[],
  named: readonly RelayedBytes[],
): HostBytes {
  const sum = (rows: readonly RelayedBytes[], way: 'received' | 'sent'): bigint =>
    rows.reduce((all, row) => (row.subuser === subuser && row.pool === pool ? all + row[way] : all), 0n)
  const over = (way: 'received' | 'sent'): bigint => {
    const rest = sum(booked, way) - sum(named, way)
    return rest > 0n ? rest : 0n
  }
  return { subuser, pool, host: otherHosts, received: over('received'), sent: over('sent') }
}

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
const startOf = (atMs: number, unitMs: number): number => atMs - (((atMs % unitMs) + unitMs) % unitMs)
export const hourOf = (atMs: number): number => startOf(atMs, hourMs)
/** The start of the UTC day. */
export const dayStart = (atMs: number): number => startOf(atMs, dayMs)
