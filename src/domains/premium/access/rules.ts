import { formatPrefix, type Prefix, readPrefix } from '../../../core/address.ts'
import type { FieldProblem } from '../../../core/refusal.ts'
import { isPublic } from '../../../core/reserved.ts'

export type WhitelistEntry = {
  readonly prefix: string
  readonly comment: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

const widest = { 4: 24, 6: 56 } as const

/**
 * Reads an address or a block into its one spelling: `::ffff:1.2.3.4` is `1.2.3.4`. Blocks wider than a household or an
 * office has are refused, and so are addresses that no stranger can come from, unless the shop is a sandbox on a
 * laptop.
 */
export function readEntry(text: string, sandbox: boolean): { prefix: string } | { problem: FieldProblem } {
  const refuse = (problem: string) => ({ problem: { field: 'ip', problem } })
  const prefix = readPrefix(text.trim())
  if (!prefix)
    return refuse('must be an IPv4 or IPv6 address, or a prefix like 203.0.113.0/24 with no bits past its length')
  if (prefix.length < widest[prefix.base.version]) {
    return refuse(`must be no wider than /${widest[prefix.base.version]} for IPv${prefix.base.version}`)
  }
  if (!sandbox && !isPublic(prefix)) return refuse('must be a public address; this one is reserved')
  if (isUnspecified(prefix)) return refuse('must be an address that somebody can have')
  return { prefix: formatPrefix(prefix) }
}

const isUnspecified = (prefix: Prefix): boolean => prefix.base.bytes.every((byte) => byte === 0)
