import type { Reader, Tx, Value } from './transaction.ts'

/** Few sizes, so that the engines prepare few statements. */
const chunkSizes = [128, 64, 32, 16, 8, 4, 2, 1]

type Rows = readonly (readonly Value[])[]

/** Sends one INSERT for many rows at a time. `insert` is the statement up to VALUES; `suffix` what follows them. */
export function sendRows(tx: Tx, insert: string, rows: Rows, suffix = ''): void {
  for (const [sql, values] of statements(insert, rows, suffix)) tx.send(sql, values)
}

/** The same, awaited; returns how many rows were written. */
export async function runRows(tx: Tx, insert: string, rows: Rows, suffix = ''): Promise<number> {
  let written = 0
  for (const [sql, values] of statements(insert, rows, suffix)) written += await tx.run(sql, values)
  return written
}

function* statements(insert: string, rows: Rows, suffix: string): Generator<[sql: string, values: Value[]]> {
  for (const chunk of chunked(rows))
    yield [insertText(insert, chunk.length, chunk[0]?.length ?? 0, suffix), chunk.flat()]
}

/** Cache of statement texts: making one costs a sale more than finding it. */
const texts = new Map<string, Map<string, string>>()
const maxTexts = 500

function insertText(insert: string, rows: number, columns: number, suffix: string): string {
  const shape = `${rows} ${columns} ${suffix}`
  const shapes = texts.get(insert) ?? new Map<string, string>()
  const known = shapes.get(shape)
  if (known !== undefined) return known
  if (texts.size >= maxTexts) texts.clear()
  if (shapes.size >= maxTexts) shapes.clear()
  const tuples = Array.from({ length: rows }, (_, row) => `(${list(columns, row * columns)})`)
  const text = `${insert} VALUES ${tuples.join(', ')} ${suffix}`
  texts.set(insert, shapes.set(shape, text))
  return text
}

/** Chunks of few sizes, for statements whose text depends on the number of items. */
export function* chunked<Item>(items: readonly Item[]): Generator<Item[]> {
  let at = 0
  for (const size of chunkSizes) {
    for (; items.length - at >= size; at += size) yield items.slice(at, at + size)
  }
}

/** `$3, $4, $5`, for `IN (…)`. */
export const list = (count: number, after = 0): string =>
  Array.from({ length: count }, (_, index) => `$${after + index + 1}`).join(', ')

/** A pattern for `LIKE … ESCAPE '!'` that finds this text anywhere. */
export const containing = (text: string): string => `%${text.replace(/[%_!]/g, '!$&')}%`

/** Just above every text that begins with this one, for `column >= $1 AND column < $2`, which uses an index. */
export const pastPrefix = (text: string): string => `${text}\u{10ffff}`

/**
 * Forms of a beginning to seek in an index on `LOWER(name)`. LOWER changes Latin letters only, so other alphabets are
 * sought as typed, in small letters, and with a capital.
 */
export function loweredForms(text: string): readonly string[] {
  const small = text.toLowerCase()
  const forms = [text, small, small.replace(/^./u, (first) => first.toUpperCase())]
  return [...new Set(forms.map((form) => form.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())))]
}

/** Pads a list with its last item to one of few lengths, so that the engines prepare few statements with `IN (…)`. */
export function padded<Item>(items: readonly Item[]): readonly Item[] {
  const last = items.at(-1)
  if (last === undefined) return items
  let length = 1
  while (length < items.length) length *= 4
  return [...items, ...Array.from({ length: length - items.length }, () => last)]
}

/** A statement with `IN (…)`: makes the text from the placeholders of the list, which follow those of `values`. */
type ListStatement = (placeholders: string) => string

/** Reads the rows of very many items, in chunks of few sizes. */
export async function allIn<Row>(reader: Reader, items: readonly Value[], sql: ListStatement, values: Value[] = []) {
  const found: Row[] = []
  for (const chunk of chunked(items)) {
    found.push(...(await reader.all<Row>(sql(list(chunk.length, values.length)), [...values, ...chunk])))
  }
  return found
}

/** Reads the rows of up to a few thousand items in one statement; of no items, none. */
export async function allOf<Row>(reader: Reader, items: readonly Value[], sql: ListStatement, values: Value[] = []) {
  const some = padded(items)
  return some.length === 0 ? [] : reader.all<Row>(sql(list(some.length, values.length)), [...values, ...some])
}

/** Sends a write for many items, in chunks of few sizes. */
export function sendIn(tx: Tx, items: readonly Value[], sql: ListStatement, values: readonly Value[] = []): void {
  for (const chunk of chunked(items)) tx.send(sql(list(chunk.length, values.length)), [...values, ...chunk])
}

/** The column `n` of a statement that counts. */
export async function countBy(reader: Reader, sql: string, values: readonly Value[] = []): Promise<number> {
  return Number((await reader.first<{ n: bigint }>(sql, values))?.n ?? 0n)
}

export const hasRow = async (reader: Reader, sql: string, values: readonly Value[] = []): Promise<boolean> =>
  (await reader.first(sql, values)) !== undefined

/** Whether a statement has changed exactly one row. */
export const changesOne = async (tx: Tx, sql: string, values: readonly Value[]): Promise<boolean> =>
  (await tx.run(sql, values)) === 1

/** A text that differs whenever a row of `table` changed at `sinceAt` or later, in whatever order commits appear. */
export async function changeMarkOf(reader: Reader, table: string, sinceAt: number): Promise<string> {
  const row = await reader.first<{ n: bigint; sum: bigint }>(
    `SELECT COUNT(*) AS n, CAST(COALESCE(SUM(changed_at - $1), 0) AS BIGINT) AS sum
     FROM ${table} WHERE changed_at >= $1`,
    [sinceAt],
  )
  return `${row?.n} ${row?.sum}`
}

const half = 1_000_000_000n

/** A sum in two columns, billions and rest, so that it never overflows 64 bits on either engine. */
export const wideSum = (expression: string, name: string): string =>
  `CAST(COALESCE(SUM((${expression}) / ${half}), 0) AS BIGINT) AS ${name}_high,
   CAST(COALESCE(SUM((${expression}) % ${half}), 0) AS BIGINT) AS ${name}_low`

export type WideSum<Name extends string> = Readonly<Record<`${Name}_high` | `${Name}_low`, bigint>>

export const readWide = <Name extends string>(row: WideSum<Name>, name: Name): bigint =>
  row[`${name}_high`] * half + row[`${name}_low`]
