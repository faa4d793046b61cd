import { isValidElement, type ReactNode } from 'react'
import { toCsv } from './browser.ts'

/** The value of a cell: rows are sorted by it, and a file has it. */
export type CellValue = string | number | boolean | null

export type ShownColumn<Row> = {
  readonly label: string
  readonly show: (row: Row) => ReactNode
  /** `text` may wrap, `number` is aligned to the right, `action` has a label for screen readers only. */
  readonly kind: '' | 'text' | 'number' | 'action'
  readonly value?: ((row: Row) => CellValue) | undefined
  /** The name by which the shop sorts a list that is read in pages. */
  readonly by?: string | undefined
}

type ColumnOf<Row> = (
  label: string,
  show: (row: Row) => ReactNode,
  value?: (row: Row) => CellValue,
  by?: string,
) => ShownColumn<Row>
/** A column of a value that is written as text, and `none` for null. */
type ValueColumnOf<Row> = <Of extends CellValue>(
  label: string,
  value: (row: Row) => Of,
  write: (value: NonNullable<Of>) => string,
  none?: string,
) => ShownColumn<Row>
export type Columns<Row> = ColumnOf<Row> &
  Readonly<Record<'text' | 'number' | 'action', ColumnOf<Row>> & Record<'value' | 'amount', ValueColumnOf<Row>>>

const columnOf =
  (kind: ShownColumn<never>['kind']) =>
  <Row>(
    label: string,
    show: (row: Row) => ReactNode,
    value?: (row: Row) => CellValue,
    by?: string,
  ): ShownColumn<Row> => ({
    label,
    show,
    kind,
    value,
    by,
  })

const valueColumnOf =
  (kind: ShownColumn<never>['kind']) =>
  <Row, Of extends CellValue>(
    label: string,
    value: (row: Row) => Of,
    write: (value: NonNullable<Of>) => string,
    none = '',
  ): ShownColumn<Row> => {
    const show = (row: Row) => {
      const found = value(row)
      return found === null ? none : write(found)
    }
    return { label, show, kind, value }
  }

export const columnBuilder = Object.assign(columnOf(''), {
  value: valueColumnOf(''),
  amount: valueColumnOf('number'),
  text: columnOf('text'),
  number: columnOf('number'),
  action: columnOf('action'),
})

/** The value of a cell: the column's own, or the text that it shows; undefined for an action and for other content. */
export function valueOf<Row>(column: ShownColumn<Row>, row: Row): CellValue | undefined {
  if (column.kind === 'action') return undefined
  if (column.value !== undefined) return column.value(row)
  const shown = column.show(row)
  return typeof shown === 'string' || typeof shown === 'number' ? shown : undefined
}

/** Numbers by size, texts as the browser's language orders them, and empty values last. */
export function compareValues(one: CellValue, other: CellValue): number {
  if (one === null || one === '') return other === null || other === '' ? 0 : 1
  if (other === null || other === '') return -1
  if (typeof one === 'string' && typeof other === 'string') {
    return one.localeCompare(other, undefined, { numeric: true })
  }
  return Number(one) - Number(other)
}

export type Sorting = { readonly column: number; readonly isDown: boolean }

/** Rows by the value of a column; equal rows keep their order. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly ShownColumn<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const column = sorting && columns[sorting.column]
  if (column === undefined) return rows
  const sign = sorting?.isDown ? -1 : 1
  const keyed = rows.map((row) => ({ row, value: valueOf(column, row) ?? null }))
  const isEmpty = (value: CellValue) => value === null || value === ''
  const compare = (one: CellValue, other: CellValue) =>
    // Empty values are last in both directions.
    (isEmpty(one) || isEmpty(other) ? 1 : sign) * compareValues(one, other)
  return keyed.toSorted((a, b) => compare(a.value, b.value)).map(({ row }) => row)
}

/** The words of what a cell shows, for a file. A component is read by the properties that name its text. */
export function textOf(node: ReactNode): string {
  if (node === null || node === undefined || typeof node === 'boolean') return ''
  if (typeof node !== 'object') return String(node)
  if (Symbol.iterator in node) return [...node].map(textOf).filter(Boolean).join(' ')
  if (!isValidElement<Readonly<Record<string, unknown>>>(node)) return ''
  const { children, text, name, code, note } = node.props
  const own = [children, text, name, code].find((each) => each !== undefined && each !== null)
  return [own, note]
    .map((each) => textOf(each as ReactNode))
    .filter(Boolean)
    .join(' ')
}

/** Rows as a CSV file with the names of the columns. Actions are left out. */
export function tableToCsv<Row>(columns: readonly ShownColumn<Row>[], rows: readonly Row[]): string {
  const shown = columns.filter((each) => each.kind !== 'action')
  const cell = (column: ShownColumn<Row>, row: Row): string | number | null => {
    const value = valueOf(column, row)
    if (value === undefined) return textOf(column.show(row))
    return typeof value === 'boolean' ? String(value) : value
  }
  return toCsv([shown.map((each) => each.label), ...rows.map((row) => shown.map((each) => cell(each, row)))])
}

/** The name of a table's file, in the words of its label. */
export const toFileName = (label: string): string =>
  `${
    label
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '') || 'table'
  }.csv`
