import { type Address, readAddress } from './address.ts'

/** The same few come again and again, each several times for every connection. In memory only, and never many. */
const known = new Map<string, Address>()
const mostKnown = 2000

/** What readAddress() gives, made once for each text. Nobody writes into an address. */
export function recallAddress(text: string): Address | undefined {
  const before = known.get(text)
  if (before) return before
  const address = readAddress(text)
  if (!address) return undefined
  if (known.size >= mostKnown) known.clear()
  known.set(text, address)
  return address
}
