import { findDuplicateKey } from './duplicate-keys.ts'

/** Aliases of YAML repeat a value without its text, so the size of the result is limited too. */
const maxValues = 20_000

/** An alias inside its own anchor makes a value that contains itself, so the depth is limited too. */
const maxDepth = 16

/** How many values a value has. One that is too deep counts as too many. */
function countValues(value: unknown, counted = 0, depth = 0): number {
  if (counted > maxValues || typeof value !== 'object' || value === null) return counted + 1
  if (depth === maxDepth) return maxValues + 1
  return Object.values(value).reduce<number>((sum, each) => countValues(each, sum, depth + 1), counted + 1)
}

type PriceListText =
  | { readonly value: unknown }
  | { readonly problem: 'not_yaml'; readonly detail: string }
  | { readonly problem: 'key_twice'; readonly key: string }

const tooLarge = {
  problem: 'not_yaml',
  detail: 'it contains itself, more than 16 levels, or more than 20,000 values',
} as const

/** Parses a price list in YAML or JSON, for the API and the command line. A key that occurs twice is a problem. */
export function readPriceListText(text: string): PriceListText {
  let value: unknown
  try {
    value = Bun.YAML.parse(text)
  } catch (error) {
    // The parser calls itself for each level.
    if (error instanceof RangeError) return tooLarge
    return { problem: 'not_yaml', detail: error instanceof Error ? error.message : 'it cannot be read' }
  }
  if (countValues(value) > maxValues) return tooLarge
  const key = findDuplicateKey(text)
  return key === undefined ? { value } : { problem: 'key_twice', key }
}
