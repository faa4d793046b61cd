import { isRecord } from '../client/call.ts'

type Plain = Readonly<Record<string, unknown>>
export type PricePath = readonly (string | number)[]

/** A copy of a price list with one value set; undefined removes it. Everything else is the same object as before. */
export function setAt<Of>(value: Of, [first, ...rest]: PricePath, next: unknown): Of {
  if (first === undefined) return next as Of
  if (Array.isArray(value)) {
    const items: unknown[] = [...value]
    if (rest.length === 0 && next === undefined) items.splice(Number(first), 1)
    else items[Number(first)] = setAt(items[Number(first)], rest, next)
    return items as Of
  }
  const { [first]: before, ...others } = (isRecord(value) ? value : {}) as Plain
  const after = setAt(before, rest, next)
  if (after === undefined) return others as Of
  // A changed value keeps its place among the others.
  return (before === undefined ? { ...others, [first]: after } : { ...(value as Plain), [first]: after }) as Of
}

export const recordAt = (value: unknown, ...path: PricePath): Plain => {
  const found = path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), value)
  return isRecord(found) ? found : {}
}

export const listAt = (value: unknown, ...path: PricePath): readonly Plain[] => {
  const found = recordAt(value, ...path.slice(0, -1))[path.at(-1) ?? '']
  return Array.isArray(found) ? found.filter(isRecord) : []
}

export const numbersAt = (value: unknown, ...path: PricePath): readonly number[] => {
  const found = recordAt(value, ...path.slice(0, -1))[path.at(-1) ?? '']
  return Array.isArray(found) ? found.filter((each) => typeof each === 'number') : []
}

/** Whole numbers above zero in rising order, or undefined for any other text. */
export function readTerms(text: string): readonly number[] | undefined {
  const parts = text.split(/[\s,]+/).filter((each) => each !== '')
  if (parts.length === 0 || !parts.every((each) => /^[1-9]\d{0,3}$/.test(each))) return undefined
  return [...new Set(parts.map(Number))].toSorted((a, b) => a - b)
}

const toKopecks = (roubles: number): number => Math.round(roubles * 100) / 100

/** The prices of terms at a price per day, in roubles, before the discounts for terms. */
export const perPeriodOf = (perDay: number, terms: readonly number[]): Plain =>
  Object.fromEntries(terms.map((days) => [days, toKopecks(perDay * days)]))

/** The price per day of the shortest priced term, in roubles. */
export function perDayOf(prices: Plain): number {
  const days = Object.keys(prices)
    .map(Number)
    .toSorted((a, b) => a - b)[0]
  return days === undefined ? 1 : toKopecks(Number(prices[days]) / days)
}

/**
 * What the shop charges for one proxy, in roubles: the lowest discounted price of the term and of longer ones, rounded
 * up. Undefined without a price for the term.
 */
export function termPrice(
  prices: Plain,
  days: number,
  terms: readonly number[],
  discounts: readonly Plain[],
): number | undefined {
  const priceAt = (term: number) => {
    const off = discounts.reduce((last, each) => (Number(each['from']) <= term ? Number(each['percent']) : last), 0)
    return Math.ceil(Math.round(Number(prices[term]) * (100 - off) * 1e4) / 1e4) / 100
  }
  const isPriced = (term: number) => Number(prices[term] ?? 0) > 0
  if (!isPriced(days)) return undefined
  return Math.min(...[days, ...terms.filter((term) => term > days && isPriced(term))].map(priceAt))
}

/** How many values differ between two price lists. */
export function countDifferences(one: unknown, other: unknown): number {
  if (one === other) return 0
  const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null
  if (!isNested(one) && !isNested(other)) return 1
  const [before, after] = [one, other].map((value): Plain => (isNested(value) ? { ...value } : {}))
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...names].reduce((sum, name) => sum + countDifferences(before?.[name], after?.[name]), 0)
}
