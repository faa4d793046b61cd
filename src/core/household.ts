import { type Address, readAddress } from './address.ts'

/** Rate-limit key: the IPv4 address, or the IPv6 /64, because one subscriber has a whole /64. */
export const householdOf = (from: Address): string => from.bytes.slice(0, 8).toHex()

/** The rate-limit key of an address as text; undefined for null or no address. */
export function readHousehold(text: string | null): string | undefined {
  const address = text === null ? undefined : readAddress(text)
  return address && householdOf(address)
}

/** The network of a rate-limit key: the IPv4 /24, or the IPv6 /48, which one provider's customer may have. */
export const networkOf = (household: string): string => household.slice(0, household.length === 8 ? 6 : 12)
