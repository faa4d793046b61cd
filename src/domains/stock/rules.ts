import { type Address, addressFromNumber, addressToNumber, formatAddress, type Prefix } from '../../core/address.ts'
import type { CountryCode } from '../../core/country.ts'

/** `3` IPv4 shared by up to three customers, `4` IPv4 of one's own, `6` IPv6 of one's own. */
export type Ipv = 3 | 4 | 6

export type PlaceState = 'free' | 'leased' | 'resting' | 'retired'
export const placeStates: readonly PlaceState[] = ['free', 'leased', 'resting', 'retired']

/** What is asked for: places of one kind in one country. */
export type Kind = { readonly country: CountryCode; readonly ipv: Ipv }

/** A place that has been taken. Its lease begins at `freeFrom` or later: the one before lasted until then. */
export type Place = {
  readonly id: number
  readonly address: string
  readonly freeFrom: number
  /** The node that carries it. */
  readonly carrier: string | null
}

/** A lease as `verify` walks it, with what its place is. */
export type WalkedLease = {
  readonly place: number
  readonly proxy: number
  readonly startedAt: number
  readonly endedAt: number | null
  /** When the lease of its place before it ended; it begins no sooner, even if the clock was set back in between. */
  readonly freeFromAt: number
  readonly address: string
  readonly country: string
  readonly ipv: number
}

export const slotsOf = (ipv: Ipv): number => (ipv === 3 ? 3 : 1)

/** A block with more addresses than this is kept as a block. */
export const mostWrittenOut = 1n << 20n

/** Why a prefix cannot be added as addresses of a kind, if it cannot. */
export function problemOfPrefix(prefix: Prefix, { ipv }: Kind): string | undefined {
  const wanted = ipv === 6 ? 6 : 4
  if (prefix.base.version !== wanted) return `ipv ${ipv} takes IPv${wanted} addresses`
  if (ipv === 6 && prefix.length < 32) return 'An IPv6 block is at most a /32'
  return ipv !== 6 && prefix.length < 12 ? 'An IPv4 block is at most a /12' : undefined
}

export const sizeOf = (prefix: Prefix): bigint => 1n << BigInt(prefix.base.bytes.length * 8 - prefix.length)

/**
 * The addresses of a block in an order that looks shuffled: neighbours come far apart, each comes once, and nothing
 * needs to be remembered. A block's size is a power of two, so counting in odd steps visits every address.
 */
export function* scattered(prefix: Prefix): Generator<string> {
  const size = sizeOf(prefix)
  if (size > mostWrittenOut) throw new RangeError('the block is too large to be written out')
  const base = addressToNumber(prefix.base)
  const step = size <= 2n ? 1n : ((size * 618n) / 1000n) | 1n
  let offset = 0n
  for (let count = 0n; count < size; count += 1n) {
    yield formatAddress(addressFromNumber(prefix.base.version, base + offset))
    offset = (offset + step) % size
  }
}

/** A random address of a block. The first one is left alone: in IPv6 it is the routers' (RFC 4291, 2.6.1). */
export function randomAddress(prefix: Prefix, random: (count: number) => Uint8Array): Address {
  const bytes = random(16)
  let offset = 0n
  for (const byte of bytes) offset = (offset << 8n) | BigInt(byte)
  const size = sizeOf(prefix)
  return addressFromNumber(prefix.base.version, addressToNumber(prefix.base) + 1n + (offset % (size - 1n)))
}
