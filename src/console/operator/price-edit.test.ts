import { expect, test } from 'bun:test'
import { countDifferences, listAt, numbersAt, readTerms, recordAt, setAt, termPrice } from './price-edit.ts'

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

test('termPrice takes the last discount that applies and rounds a fraction of a kopeck up', () => {
  const discounts = [
    { from: 30, percent: 5 },
    { from: 90, percent: 10 },
  ]
  expect([7, 30, 90].map((days) => termPrice(6, days, discounts))).toEqual([42, 171, 486])
  expect(termPrice(0.01, 30, discounts)).toBe(0.29)
})

test('countDifferences counts changed, added and removed values of a price list', () => {
  expect(countDifferences(prices, prices)).toBe(0)
  const changed = setAt(prices, ['dedicated', 'kinds', 4, 'countries', 'DE', 'per_day'], 7)
  expect(countDifferences(prices, changed)).toBe(1)
  expect(countDifferences(changed, setAt(changed, ['dedicated', 'kinds', 4, 'countries', 'FR'], undefined))).toBe(1)
  expect(countDifferences({}, { vpn: { months: { 1: 299, 12: 2690 } } })).toBe(2)
})
