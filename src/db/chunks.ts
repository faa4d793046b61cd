import { chunked, list } from './rows.ts'
import type { Reader, Tx, Value } from './transaction.ts'

/** A statement with `IN (…)`: makes the text from the placeholders of the list, which follow those of `values`. */
type ListStatement = (placeholders: string) => string

/** Reads the rows of many items, in chunks of few sizes. */
export async function allIn<Row>(
  reader: Reader,
  items: readonly Value[],
  sql: ListStatement,
  values: readonly Value[] = [],
): Promise<Row[]> {
  const found: Row[] = []
  for (const chunk of chunked(items)) {
    found.push(...(await reader.all<Row>(sql(list(chunk.length, values.length)), [...values, ...chunk])))
  }
  return found
}

/** Sends a write for many items, in chunks of few sizes. */
export function sendIn(tx: Tx, items: readonly Value[], sql: ListStatement, values: readonly Value[] = []): void {
  for (const chunk of chunked(items)) tx.send(sql(list(chunk.length, values.length)), [...values, ...chunk])
}
