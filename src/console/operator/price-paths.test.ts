import { expect, test } from 'bun:test'
import { readChange } from './price-paths.ts'

test('readChange reads the path and the values before and after from a line of a price diff', () => {
  expect(readChange('~ vpn.months.1: 299 -> 301')).toEqual({ path: 'vpn.months.1', before: '299', after: '301' })
  expect(readChange('- dedicated.kinds.4.countries.FR.per_day: 6')).toEqual({
    path: 'dedicated.kinds.4.countries.FR.per_day',
    before: '6',
    after: null,
  })
  expect(readChange('+ vpn.refund: "none"')).toEqual({ path: 'vpn.refund', before: null, after: '"none"' })
})
