import { expect, test } from 'bun:test'
import { createElement } from 'react'
import { columnBuilder, sortRows, tableToCsv, textOf, toFileName } from './table.ts'

type Row = { readonly name: string; readonly sum: number | null }

const rows: readonly Row[] = [
  { name: '=HYPERLINK("x")', sum: -5 },
  { name: 'node 10', sum: null },
  { name: 'node 9', sum: 30.5 },
]
const columns = [
  columnBuilder('Name', (row: Row) => row.name),
  columnBuilder.number(
    'Sum',
    (row: Row) => `₽${row.sum}`,
    (row) => row.sum,
  ),
  columnBuilder.action('Open', () => 'open'),
]

test('a file of a table has values in place of formatted texts, no actions, and no text that a spreadsheet computes', () => {
  expect(tableToCsv(columns, rows)).toBe('Name,Sum\r\n"\'=HYPERLINK(""x"")",-5\r\nnode 10,\r\nnode 9,30.5\r\n')
})

test('rows are sorted by value in both directions, numbers in names by size, and empty values are last', () => {
  const names = (column: number, isDown: boolean) => sortRows(rows, columns, { column, isDown }).map(({ name }) => name)
  expect(names(0, false).slice(1)).toEqual(['node 9', 'node 10'])
  expect(names(1, false)).toEqual(['=HYPERLINK("x")', 'node 9', 'node 10'])
  expect(names(1, true)).toEqual(['node 9', '=HYPERLINK("x")', 'node 10'])
  expect(sortRows(rows, columns, undefined)).toBe(rows)
  // Actions have no order.
  expect(names(2, true)).toEqual(rows.map(({ name }) => name))
})

test('the text of a cell is read from its elements, and the name of a file from the label of its table', () => {
  const cell = createElement('span', { note: 'below' } as object, 'above', createElement('b', null, 7))
  expect(textOf(cell)).toBe('above 7 below')
  expect(textOf(createElement('span', { code: 'DE' } as object))).toBe('DE')
  expect([toFileName('Expires within a week'), toFileName('Заказы'), toFileName('?')]).toEqual([
    'expires-within-a-week.csv',
    'заказы.csv',
    'table.csv',
  ])
})
