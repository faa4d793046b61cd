import { readPrefix } from '../../core/address.ts'
import { readCountry } from '../../core/country.ts'
import type { Stock } from '../../domains/stock/index.ts'
import type { Ipv } from '../../domains/stock/rules.ts'

const countries = ['DE', 'FR', 'GB', 'NL', 'RU', 'US']

/**
 * Loopback addresses as stock: all of 127/8 is this machine, so what is bought truly works. IPv6 is a block of a unique
 * local prefix. The last block added says that all of it is there, so a start that was interrupted is made good.
 */
const blocksOf = (length4: number): readonly { prefix: string; country: string; ipv: Ipv }[] => [
  ...countries.map((country, index) => ({ prefix: `127.${10 + index}.0.0/${length4}`, country, ipv: 4 as const })),
  ...countries.map((country, index) => ({ prefix: `127.${20 + index}.0.0/${length4}`, country, ipv: 3 as const })),
  ...countries.map((country, index) => ({ prefix: `fd74:7069:6b65:${index + 1}::/64`, country, ipv: 6 as const })),
]

/** IPv4 blocks are `/22`, of 1,024 addresses; tests prepare databases with smaller ones. */
export async function stockSandbox(stock: Stock, length4 = 22): Promise<void> {
  const blocks = blocksOf(length4)
  const last = readPrefix(blocks.at(-1)?.prefix ?? '')
  if (!last || (await stock.hasBlock(last))) return
  for (const block of blocks) {
    const prefix = readPrefix(block.prefix)
    if (prefix) await stock.add(prefix, kindOf(block))
  }
}

function kindOf(block: { country: string; ipv: Ipv }) {
  const country = readCountry(block.country)
  if (!country) throw new Error(`${block.country} is not a country`)
  return { country, ipv: block.ipv }
}
