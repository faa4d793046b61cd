import { type Address, readAddress } from './address.ts'

/** Rate-limit key of a client: the IPv4 address, or the IPv6 /64. The holder of one IPv6 address has all 2^64 of it. */
export const clientPrefixOf = (from: Address): string => from.bytes.slice(0, 8).toHex()

/** The client prefix of an address in text form; undefined for null or an invalid address. */
export function readClientPrefix(text: string | null): string | undefined {
  const address = text === null ? undefined : readAddress(text)
  return address && clientPrefixOf(address)
}

/** The network of a client prefix: 256 IPv4 addresses, or the IPv6 /48 that a provider gives to one customer. */
export const networkOf = (prefix: string): string => prefix.slice(0, prefix.length === 8 ? 6 : 12)
