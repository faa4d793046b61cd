import type { Tx, Value } from './transaction.ts'

/** Few sizes, so that the engines prepare few statements; large ones, so that a thousand rows are few round trips. */
const chunkSizes = [128, 16, 1]

/** Sends one INSERT for many rows at a time. `insert` is the statement up to VALUES; `suffix` what follows them. */
export function sendRows(tx: Tx, insert: string, rows: readonly (readonly Value[])[], suffix = ''): void {
  let at = 0
  for (const size of chunkSizes) {
    while (rows.length - at >= size) {
      const chunk = rows.slice(at, at + size)
      tx.send(`${insert} VALUES ${placeholders(chunk.length, chunk[0]?.length ?? 0)} ${suffix}`, chunk.flat())
      at += size
    }
  }
}

/** `($1, $2), ($3, $4)`: as many groups as there are rows. */
function placeholders(rows: number, columns: number): string {
  return Array.from({ length: rows }, (_, row) => `(${list(columns, row * columns)})`).join(', ')
}

/** `$3, $4, $5`: the places of a list of values, for `IN (…)`. */
export const list = (count: number, after = 0): string =>
  Array.from({ length: count }, (_, index) => `$${after + index + 1}`).join(', ')
