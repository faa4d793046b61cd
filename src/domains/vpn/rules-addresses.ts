import { type Address, addressFromNumber, addressToNumber, formatAddress, type Prefix } from '../../core/address.ts'

/** Where devices get their addresses from: a block of IPv4, and an IPv6 prefix with room for all of it. */
export type Pool = { readonly v4: Prefix; readonly v6: Prefix }

/** The addresses of the block that devices may have. */
export type Range = { readonly first: bigint; readonly last: bigint }

/** All but the block's own address, the node's, which is the one after it, and the last, which would be a broadcast. */
export function rangeOf(pool: Pool): Range {
  const base = addressToNumber(pool.v4.base)
  return { first: base + 2n, last: base + (1n << BigInt(32 - pool.v4.length)) - 2n }
}

/** A block of devices' IPv4 addresses is large enough for a few and small enough to be one operator's own. */
export const isPool4 = (prefix: Prefix): boolean =>
  prefix.base.version === 4 && prefix.length >= 8 && prefix.length <= 29

/** 32 bits are left for the number of the IPv4 address. */
export const isPool6 = (prefix: Prefix): boolean => prefix.base.version === 6 && prefix.length <= 96

/**
 * The IPv6 address that goes with an IPv4 one: the same number in the last 32 bits. One is unique because the other is,
 * and one can be read off the other.
 */
export function ipv6Of(pool: Pool, ipv4: bigint): string {
  return formatAddress(addressFromNumber(6, addressToNumber(pool.v6.base) | ipv4))
}

export const ipv4Text = (ipv4: bigint): string => formatAddress(toIpv4(ipv4))
const toIpv4 = (ipv4: bigint): Address => addressFromNumber(4, ipv4)
