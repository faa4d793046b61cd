import type { SubuserId } from '../../../core/ids.ts'
import type { ByteAccountKey } from '../../traffic/accounts/rules.ts'
import type { CarriedBytes } from '../../traffic/leases/rules.ts'

/** What nodes' counts by host are kept under. */
export const hostSubjects = 'premium-host:'
export const hostSubjectOf = (of: {
  readonly subuser: SubuserId
  readonly pool: string
  readonly host: string
}): string => `${hostSubjects}${of.subuser}:${of.pool}:${of.host}`

/** A name or an address as a destination is written; anything else a node says is not worth keeping. */
export const isHost = (text: string): boolean => /^[a-z0-9._:-]{1,253}$/.test(text)

/** The host that the rest is counted under once there are too many, by gateways and by the shop. */
const otherHosts = 'other'

export type HostRow = CarriedBytes & { readonly host: string }

/** What an account has carried in a report beyond what went to hosts that are named. */
export function restOf(
  account: ByteAccountKey,
  booked: readonly CarriedBytes[],
  named: readonly CarriedBytes[],
): HostRow {
  const { subuser, pool } = account
  const sum = (rows: readonly CarriedBytes[], way: 'received' | 'sent'): bigint =>
    rows.reduce((all, row) => (row.subuser === subuser && row.pool === pool ? all + row[way] : all), 0n)
  const over = (way: 'received' | 'sent'): bigint => {
    const rest = sum(booked, way) - sum(named, way)
    return rest > 0n ? rest : 0n
  }
  return { subuser, pool, host: otherHosts, received: over('received'), sent: over('sent') }
}

export const hourMs = 3_600_000
export const hourOf = (atMs: number): number => atMs - (((atMs % hourMs) + hourMs) % hourMs)

/** The first moment of the day of UTC that a moment lies in. */
export const dayStart = (atMs: number): number => atMs - (((atMs % 86_400_000) + 86_400_000) % 86_400_000)
