import type { Database, Reader } from '../transaction.ts'
import type { Column, Table } from './tables.ts'

/** One row's values in the order of its table's columns, as both engines give them. */
export type Row = readonly (string | bigint | Uint8Array | null)[]

/** How many rows are in memory at a time. */
const batchRows = 2000

/**
 * Every row of a table, a batch at a time, in no order that one could count on. The reader is one snapshot: what is
 * written meanwhile is not seen.
 */
export async function* rowsOf(engine: Database['engine'], reader: Reader, table: Table): AsyncGenerator<Row[]> {
  yield* engine === 'sqlite' ? sqliteRows(reader, table) : postgresRows(reader, table)
}

const columnsOf = (table: Table): string => table.columns.map((column) => column.name).join(', ')

async function* sqliteRows(reader: Reader, table: Table): AsyncGenerator<Row[]> {
  for (let after = 0n; ; ) {
    const found = await reader.all<Named & { row_number: bigint }>(
      `SELECT rowid AS row_number, ${columnsOf(table)} FROM ${table.name} WHERE rowid > $1 ORDER BY rowid LIMIT $2`,
      [after, batchRows],
    )
    yield found.map((row) => toRow(table.columns, row))
    if (found.length < batchRows) return
    after = found.at(-1)?.row_number ?? after
  }
}

async function* postgresRows(reader: Reader, table: Table): AsyncGenerator<Row[]> {
  await reader.all(`DECLARE carried NO SCROLL CURSOR FOR SELECT ${columnsOf(table)} FROM ${table.name}`)
  for (;;) {
    const found = await reader.all<Named>(`FETCH ${batchRows} FROM carried`)
    yield found.map((row) => toRow(table.columns, row))
    if (found.length < batchRows) break
  }
  await reader.all('CLOSE carried')
}

type Named = Readonly<Record<string, Row[number]>>

const toRow = (columns: readonly Column[], row: Named): Row => columns.map((column) => row[column.name] ?? null)
