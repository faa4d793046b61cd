import { type Kopecks, kopecks } from '../core/money.ts'
import type { Reader, Value } from './transaction.ts'

export type Row = Readonly<Record<string, Value>>

/** How one field of a record is kept in a column. `read` throws when the column holds another type of value. */
export type Column<Field> = {
  readonly name: string
  readonly read: (value: unknown) => Field
  readonly write: (field: Field) => Value
}

const mismatch = (name: string, value: unknown): never => {
  throw new TypeError(`column ${name} holds an unexpected ${typeof value}`)
}
const textIn = (name: string, value: unknown): string => (typeof value === 'string' ? value : mismatch(name, value))
const bigIn = (name: string, value: unknown): bigint => (typeof value === 'bigint' ? value : mismatch(name, value))

/** A field that is written as it is. */
const plain = <Field extends Value>(name: string, read: (value: unknown) => Field): Column<Field> => ({
  name,
  read,
  write: (field) => field,
})

export const textColumn = (name: string) => plain(name, (value) => textIn(name, value))

/** An id that this shop has made. */
export const idColumn = <Id extends string>(name: string) => plain(name, (value) => textIn(name, value) as Id)

export const oneOf = <Choice extends string>(name: string, choices: readonly Choice[]) =>
  plain(name, (value) => choices.find((choice) => choice === value) ?? mismatch(name, value))

/** A whole number, or an instant in milliseconds. */
export const int = (name: string) => plain(name, (value) => Number(bigIn(name, value)))

export const big = (name: string) => plain(name, (value) => bigIn(name, value))

export const money = (name: string) => plain<Kopecks>(name, (value) => kopecks(bigIn(name, value)))

export const bytes = (name: string) =>
  plain(name, (value) => (value instanceof Uint8Array ? value : mismatch(name, value)))

/** Texts without spaces, separated by spaces. */
export const textList = (name: string): Column<readonly string[]> => ({
  name,
  read: (value) => (value === '' ? [] : textIn(name, value).split(' ')),
  write: (texts) => texts.join(' '),
})

export const flag = (name: string): Column<boolean> => ({
  name,
  read: (value) => bigIn(name, value) === 1n,
  write: (field) => (field ? 1 : 0),
})

export const orNull = <Field>(column: Column<Field>): Column<Field | null> => ({
  name: column.name,
  read: (value) => (value === null ? null : column.read(value)),
  write: (field) => (field === null ? null : column.write(field)),
})

/** Reads of rows that become records. */
export const recordsOf = <Fields>(read: (row: Row) => Fields) => ({
  read,
  all: async (reader: Reader, sql: string, values: readonly Value[] = []): Promise<Fields[]> =>
    (await reader.all<Row>(sql, values)).map(read),
  async first(reader: Reader, sql: string, values: readonly Value[] = []): Promise<Fields | undefined> {
    const row = await reader.first<Row>(sql, values)
    return row && read(row)
  },
})

/** Reads of a single column. */
export const valuesOf = <Field>(column: Column<Field>) => recordsOf((row) => column.read(row[column.name]))

/** The columns of a record: their names in the order of `values`, and the mapping in both directions. */
export function columnsOf<Fields>(columns: { readonly [Name in keyof Fields]-?: Column<Fields[Name]> }) {
  const fields = Object.keys(columns) as (keyof Fields)[]
  const read = (row: Row): Fields => {
    const record: Partial<Fields> = {}
    for (const field of fields) record[field] = columns[field].read(row[columns[field].name])
    return record as Fields
  }
  return {
    ...recordsOf(read),
    names: fields.map((field) => columns[field].name).join(', '),
    values: (record: Fields): Value[] => fields.map((field) => columns[field].write(record[field])),
  }
}
