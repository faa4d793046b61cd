import { expect, test } from 'bun:test'
import { readChange, readChanges, unitOf } from './price-paths.ts'

test('readChange reads the path and the values before and after from a line of a price diff', () => {
  expect(readChange('~ vpn.months.1: 299 -> 301')).toEqual({ path: 'vpn.months.1', before: '299', after: '301' })
  expect(readChange('- dedicated.kinds.4.countries.FR.per_day: 6')).toEqual({
    path: 'dedicated.kinds.4.countries.FR.per_day',
    before: '6',
    after: null,
  })
  expect(readChange('+ vpn.refund: "none"')).toEqual({ path: 'vpn.refund', before: null, after: '"none"' })
})

test('readChanges joins the terms of a kind into one change, in rising order', () => {
  const path = 'dedicated.kinds.4.periods'
  const removed = [`- ${path}.2: 14`, `- ${path}.3: 90`, `~ ${path}.0: 3 -> 7`, `~ ${path}.1: 7 -> 30`]
  expect(readChanges(removed)).toEqual([{ path, before: '3, 7, 14, 90', after: '7, 30' }])
  expect(readChanges([`+ ${path}.0: 7`, `+ ${path}.1: 30`, '~ vpn.months.1: 299 -> 301'])).toEqual([
    { path, before: null, after: '7, 30' },
    { path: 'vpn.months.1', before: '299', after: '301' },
  ])
})

test('unitOf tells prices of a day, a gigabyte and a term from percentages and other values', () => {
  const paths = ['dedicated.kinds.4.countries.NL.per_day', 'premium.pools.mobile.tiers.0.per_gb', 'vpn.months.12']
  expect(paths.map(unitOf)).toEqual(['day', 'gigabyte', 'term'])
  expect(['dedicated.kinds.4.term.0.percent', 'vpn.device_limit'].map(unitOf)).toEqual(['percent', undefined])
})
