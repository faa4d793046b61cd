import type { Database, Reader } from '../transaction.ts'
import { type Held, TableDigest } from './digest.ts'
import type { Insert } from './fill.ts'
import { rowsOf } from './read.ts'
import type { Table } from './tables.ts'

/** Hears how far a long work has come: at which table, and how many rows of it are done. */
export type OnProgress = (table: string, rows: number) => void

/** A reader of one unchanging state of a database, and which engine it reads from. */
export type Source = { readonly engine: Database['engine']; readonly reader: Reader }

/** Reads every row of these tables once, hands it on, and tells what they held. */
export async function carry(
  { engine, reader }: Source,
  tables: readonly Table[],
  insert: Insert,
  onProgress: OnProgress,
): Promise<Record<string, Held>> {
  const held: Record<string, Held> = {}
  for (const table of tables) {
    const digest = new TableDigest()
    onProgress(table.name, 0)
    for await (const rows of rowsOf(engine, reader, table)) {
      await insert(table, rows)
      digest.add(rows)
      onProgress(table.name, digest.finish().rows)
    }
    held[table.name] = digest.finish()
  }
  return held
}

/** What these tables hold now. */
export const heldBy = (source: Source, tables: readonly Table[], onProgress: OnProgress) =>
  carry(source, tables, async () => {}, onProgress)
