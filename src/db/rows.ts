import type { Tx, Value } from './transaction.ts'

/** Few sizes, so that the engines prepare few statements. */
const chunkSizes = [128, 64, 32, 16, 8, 4, 2, 1]

/** Sends one INSERT for many rows at a time. `insert` is the statement up to VALUES; `suffix` what follows them. */
export function sendRows(tx: Tx, insert: string, rows: readonly (readonly Value[])[], suffix = ''): void {
  for (const [sql, values] of statements(insert, rows, suffix)) tx.send(sql, values)
}

/** The same, awaited; returns how many rows were written. */
export async function runRows(
  tx: Tx,
  insert: string,
  rows: readonly (readonly Value[])[],
  suffix = '',
): Promise<number> {
  let written = 0
  for (const [sql, values] of statements(insert, rows, suffix)) written += await tx.run(sql, values)
  return written
}

function* statements(
  insert: string,
  rows: readonly (readonly Value[])[],
  suffix: string,
): Generator<[sql: string, values: Value[]]> {
  for (const chunk of chunked(rows))
    yield [insertText(insert, chunk.length, chunk[0]?.length ?? 0, suffix), chunk.flat()]
}

const insertText = (insert: string, rows: number, columns: number, suffix: string): string =>
  madeOnce(insert, `${rows} ${columns} ${suffix}`, () => `${insert} VALUES ${placeholders(rows, columns)} ${suffix}`)

/** Cache of statement texts: making one costs a sale more than finding it. */
const texts = new Map<string, Map<string, string>>()
const maxTexts = 500

function madeOnce(first: string, second: string, write: () => string): string {
  const ofFirst = texts.get(first) ?? new Map<string, string>()
  const known = ofFirst.get(second)
  if (known !== undefined) return known
  if (texts.size >= maxTexts) texts.clear()
  if (ofFirst.size >= maxTexts) ofFirst.clear()
  const text = write()
  texts.set(first, ofFirst.set(second, text))
  return text
}

/** Chunks of few sizes, for statements whose text depends on the number of items. */
export function* chunked<Item>(items: readonly Item[]): Generator<Item[]> {
  let at = 0
  for (const size of chunkSizes) {
    for (; items.length - at >= size; at += size) yield items.slice(at, at + size)
  }
}

function placeholders(rows: number, columns: number): string {
  return Array.from({ length: rows }, (_, row) => `(${list(columns, row * columns)})`).join(', ')
}

/** `$3, $4, $5`, for `IN (…)`. */
export const list = (count: number, after = 0): string =>
  Array.from({ length: count }, (_, index) => `$${after + index + 1}`).join(', ')

/** Caches a statement that depends only on the number of its values. */
export function writtenOnce(write: (count: number) => string): (count: number) => string {
  const byCount = new Map<number, string>()
  return (count) => {
    const text = byCount.get(count) ?? write(count)
    byCount.set(count, text)
    return text
  }
}

/** A pattern for `LIKE … ESCAPE '!'` that finds this text anywhere. */
export const containing = (text: string): string => `%${text.replace(/[%_!]/g, '!$&')}%`

export const numberOrNull = (value: bigint | null): number | null => (value === null ? null : Number(value))

/** Pads a list with its last item to one of few lengths, so that the engines prepare few statements with `IN (…)`. */
export function padded<Item>(items: readonly Item[]): readonly Item[] {
  const last = items.at(-1)
  if (last === undefined) return items
  let length = 1
  while (length < items.length) length *= 4
  return [...items, ...Array.from({ length: length - items.length }, () => last)]
}

const half = 1_000_000_000n

/** A sum in two columns, billions and rest, so that it never overflows 64 bits on either engine. */
export const wideSum = (expression: string, name: string): string =>
  `CAST(COALESCE(SUM((${expression}) / ${half}), 0) AS BIGINT) AS ${name}_high,
   CAST(COALESCE(SUM((${expression}) % ${half}), 0) AS BIGINT) AS ${name}_low`

export type WideSum<Name extends string> = Readonly<Record<`${Name}_high` | `${Name}_low`, bigint>>

export const readWide = <Name extends string>(row: WideSum<Name>, name: Name): bigint =>
  row[`${name}_high`] * half + row[`${name}_low`]
