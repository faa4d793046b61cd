import { addressToNumber, contains, type Prefix, readAddress } from '../../../core/address.ts'
import type { Range } from './rules.ts'

/** Ranges that one transaction writes or hears of: SQLite is slow once a transaction outgrows its memory. */
const rangesAtOnce = 2_000

export type PlannedRange = { readonly prefix: Prefix; readonly range: Range }
export type Planned = {
  readonly ranges: readonly PlannedRange[]
  /** The number of the range that an address was planned into. */
  readonly byAddress: (address: string) => number | undefined
}

/** As many at a time as one transaction takes. */
export function* inParts<Item>(all: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < all.length; at += rangesAtOnce) yield all.slice(at, at + rangesAtOnce)
}

/** In order, each once. */
export const sorted = (numbers: readonly bigint[]): bigint[] => {
  const inOrder = numbers.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return inOrder.filter((each, index) => index === 0 || each !== inOrder[index - 1])
}

/** Ranges do not overlap, so of all that begin at or before an address only the last can hold it. */
export function indexOf(ranges: readonly PlannedRange[]): Planned['byAddress'] {
  const byVersion = { 4: [] as PlannedRange[], 6: [] as PlannedRange[] }
  for (const each of ranges) byVersion[each.prefix.base.version].push(each)
  const starts = { 4: startsOf(byVersion[4]), 6: startsOf(byVersion[6]) }
  return (text) => {
    const address = readAddress(text)
    if (!address) return undefined
    const among = starts[address.version]
    const number = addressToNumber(address)
    let [low, high] = [0, among.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((among[middle]?.start ?? 0n) <= number) low = middle + 1
      else high = middle
    }
    const found = among[low - 1]?.each
    return found && contains(found.prefix, address) ? found.range.id : undefined
  }
}

const startsOf = (ranges: readonly PlannedRange[]) =>
  ranges
    .map((each) => ({ each, start: addressToNumber(each.prefix.base) }))
    .toSorted((a, b) => (a.start < b.start ? -1 : 1))
