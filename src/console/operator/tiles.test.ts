import { expect, test } from 'bun:test'
import { columns, rowCount, tiles } from './tiles.ts'

test('the map has each of at least 170 countries once, in 24 columns and 14 rows, each with a name', () => {
  const names = new Intl.DisplayNames('en', { type: 'region' })
  expect(new Set(tiles.map(({ code }) => code)).size).toBe(tiles.length)
  expect(tiles.length).toBeGreaterThanOrEqual(170)
  expect(tiles.filter(({ code }) => names.of(code) === code)).toEqual([])
  expect(tiles.every(({ column, row }) => column < columns && row < rowCount)).toBe(true)
})
