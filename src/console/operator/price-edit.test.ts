import { expect, test } from 'bun:test'
import { readCatalogue } from '../../domains/pricing/read.ts'
import { priceDedicated, priceProlonging } from '../../domains/pricing/rules.ts'
import {
  countDifferences,
  listAt,
  numbersAt,
  perDayOf,
  perPeriodOf,
  readTerms,
  recordAt,
  setAt,
  termPrice,
} from './price-edit.ts'

const prices = {
  dedicated: { kinds: { 4: { periods: [7, 30], countries: { DE: { per_day: 6 }, FR: { per_day: 5 } } } } },
  premium: {
    pools: {
      mobile: {
        tiers: [
          { from_gb: 0, per_gb: 520 },
          { from_gb: 10, per_gb: 470 },
        ],
      },
    },
  },
}

test('setAt changes one value of a price list, adds one, removes one, and keeps the order of countries', () => {
  const path = ['dedicated', 'kinds', '4', 'countries'] as const
  const changed = setAt(prices, [...path, 'DE', 'per_day'], 7)
  expect(Object.entries(recordAt(changed, ...path))).toEqual([
    ['DE', { per_day: 7 }],
    ['FR', { per_day: 5 }],
  ])
  expect(recordAt(prices, ...path, 'DE')).toEqual({ per_day: 6 })
  expect(Object.keys(recordAt(setAt(prices, [...path, 'NL', 'per_day'], 4), ...path))).toEqual(['DE', 'FR', 'NL'])
  expect(Object.keys(recordAt(setAt(prices, [...path, 'DE'], undefined), ...path))).toEqual(['FR'])
  const tiers = ['premium', 'pools', 'mobile', 'tiers'] as const
  expect(listAt(setAt(prices, [...tiers, 0], undefined), ...tiers)).toEqual([{ from_gb: 10, per_gb: 470 }])
  expect(listAt(setAt(prices, [...tiers, 1, 'per_gb'], 1), ...tiers)).toHaveLength(2)
  expect(numbersAt(prices, 'dedicated', 'kinds', '4', 'periods')).toEqual([7, 30])
})

test('readTerms sorts terms and refuses a text with anything but whole numbers above 0', () => {
  expect(readTerms('30, 7 7')).toEqual([7, 30])
  expect([readTerms(''), readTerms('7.5'), readTerms('0'), readTerms('week')]).toEqual(Array(4).fill(undefined))
})

const discounts = [
  { from: 30, percent: 5 },
  { from: 90, percent: 10 },
]

test('termPrice takes the last discount that applies and rounds a fraction of a kopeck up', () => {
  const terms = [7, 30, 90]
  const priceOf = (perDay: number, days: number) => termPrice(perPeriodOf(perDay, terms), days, terms, discounts)
  expect(terms.map((days) => priceOf(6, days))).toEqual([42, 171, 486])
  expect(priceOf(0.01, 30)).toBe(0.29)
})

test('termPrice is the price of a longer term that costs less, and undefined without a price for the term', () => {
  const byTerm = { 7: 42, 30: 600, 90: 500, 365: '' }
  expect([7, 30, 90, 365].map((days) => termPrice(byTerm, days, [7, 30, 90, 365], discounts))).toEqual([
    42,
    450,
    450,
    undefined,
  ])
})

test('a price list with perPeriodOf in place of per_day sells and prolongs every term at the same price', () => {
  const kind = (rate: object) => ({ periods: [7, 30, 90], countries: { DE: rate }, term: discounts })
  const listOf = (rate: object) =>
    readCatalogue(1, { dedicated: { prolong_periods: [3, 30], kinds: { 4: kind(rate) } } })
  for (const perDay of [0.01, 0.29, 1.9, 6, 33.33]) {
    const perPeriod = perPeriodOf(perDay, [3, 7, 30, 90])
    expect(perDayOf(perPeriod)).toBe(perDay)
    const [byDay, byTerm] = [listOf({ per_day: perDay }), listOf({ per_period: perPeriod })]
    const order = { country: 'DE', ipv: 4, count: 11 }
    for (const period of [7, 30, 90]) {
      expect(priceDedicated(byTerm, { ...order, period })).toEqual(priceDedicated(byDay, { ...order, period }))
      const one = priceDedicated(byTerm, { ...order, period, count: 1 }).total
      expect(termPrice(perPeriod, period, [7, 30, 90], discounts)).toBe(Number(one) / 100)
    }
    for (const period of [3, 30]) {
      expect(priceProlonging(byTerm, { ...order, period })).toEqual(priceProlonging(byDay, { ...order, period }))
    }
  }
})

test('countDifferences counts changed, added and removed values of a price list', () => {
  expect(countDifferences(prices, prices)).toBe(0)
  const changed = setAt(prices, ['dedicated', 'kinds', 4, 'countries', 'DE', 'per_day'], 7)
  expect(countDifferences(prices, changed)).toBe(1)
  expect(countDifferences(changed, setAt(changed, ['dedicated', 'kinds', 4, 'countries', 'FR'], undefined))).toBe(1)
  expect(countDifferences({}, { vpn: { months: { 1: 299, 12: 2690 } } })).toBe(2)
})
