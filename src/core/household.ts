import { type Address, readAddress } from './address.ts'

/** One name for each household: whoever has one IPv6 address has the 2^64 beside it. */
export const householdOf = (from: Address): string => from.bytes.slice(0, 8).toHex()

/** The same, of an address as text; undefined where there is none. */
export function readHousehold(text: string | null): string | undefined {
  const address = text === null ? undefined : readAddress(text)
  return address && householdOf(address)
}

/** The network that a household is one of: 256 addresses, or with IPv6 a /48, as one provider's customer has them. */
export const networkOf = (household: string): string => household.slice(0, household.length === 8 ? 6 : 12)
