import { Database as Connection } from 'bun:sqlite'
import type { Database, Tx } from '../transaction.ts'
import type { CopiedRow, Insert, Table, TableColumn } from './table.ts'

/** Fills a migrated database in one transaction. Triggers are off, because what they would write is among the rows. */
export async function fillPostgres(
  db: Database,
  tables: readonly Table[],
  work: (insert: Insert) => Promise<void>,
): Promise<void> {
  await db.transact(async (tx) => {
    for (const table of tables) await tx.run(`ALTER TABLE ${table.name} DISABLE TRIGGER USER`)
    for (const table of tables.toReversed()) await tx.run(`DELETE FROM ${table.name}`)
    await work((table, rows) => insertInto(tx, table, rows))
    for (const table of tables) await tx.run(`ALTER TABLE ${table.name} ENABLE TRIGGER USER`)
  }, 'unhurried')
  // The filled tables have no planner statistics yet, and `verify` runs many queries.
  for (const table of tables) await db.all(`ANALYZE ${table.name}`)
}

/** Sends each column as one array: thousands of parameters would be slower to parse than to write. */
export async function insertInto(tx: Tx, table: Table, rows: readonly CopiedRow[]): Promise<void> {
  if (rows.length === 0) return
  const names = table.columns.map((column) => column.name)
  const arrays = names.map((_, index) => `CAST(CAST($${index + 1} AS text) AS text[])`)
  await tx.run(
    `INSERT INTO ${table.name} (${names.join(', ')}) SELECT ${table.columns.map(fromText).join(', ')}
     FROM unnest(${arrays.join(', ')}) AS given (${names.join(', ')})`,
    names.map((_, index) => arrayOf(rows, index)),
  )
}

function fromText({ name, type }: TableColumn): string {
  if (type === 'BIGINT') return `CAST(${name} AS bigint)`
  return type === 'BYTEA' ? `decode(${name}, 'hex')` : name
}

const arrayOf = (rows: readonly CopiedRow[], index: number): string =>
  `{${rows.map((row) => toElement(row[index] ?? null)).join(',')}}`

function toElement(value: CopiedRow[number]): string {
  if (value === null) return 'NULL'
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return `"${value.replace(/[\\"]/g, '\\$&')}"`
  return `"${Buffer.from(value).toString('hex')}"`
}

/** The same for a SQLite file. A file that is killed half filled is useless, so callers fill one under another name. */
export async function fillSqlite(
  path: string,
  tables: readonly Table[],
  work: (insert: Insert) => Promise<void>,
): Promise<void> {
  const connection = new Connection(path, { readwrite: true, safeIntegers: true, strict: true })
  try {
    connection.run('PRAGMA foreign_keys = OFF')
    connection.run('PRAGMA synchronous = OFF')
    connection.run('PRAGMA cache_size = -64000')
    connection.run('BEGIN IMMEDIATE')
    const triggers = connection
      .query<{ name: string; sql: string }, []>(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger'`)
      .all()
    for (const each of triggers) connection.run(`DROP TRIGGER ${each.name}`)
    for (const table of tables.toReversed()) connection.run(`DELETE FROM ${table.name}`)
    await work(inserterOn(connection))
    for (const each of triggers) connection.run(each.sql)
    const lost = connection.query('PRAGMA foreign_key_check').all()
    if (lost.length > 0) throw new Error(`${lost.length} rows point at rows that are not there`)
    connection.run('COMMIT')
    // Moves the log into the file; the caller flushes the file before it renames it.
    connection.run('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    connection.close()
  }
}

export function inserterOn(connection: Connection): Insert {
  return async (table, rows) => {
    const names = table.columns.map((column) => column.name)
    const placeholders = names.map((_, index) => `?${index + 1}`).join(', ')
    const statement = connection.query(`INSERT INTO ${table.name} (${names.join(', ')}) VALUES (${placeholders})`)
    for (const row of rows) statement.run(...row)
  }
}
