import { type Migration, migrate } from '../migrate.ts'
import { inMemory, openSqlite } from '../sqlite.ts'
import type { Database, Reader } from '../transaction.ts'
import type { CopiedRow, Insert, Table, TableColumn } from './table.ts'

/** All tables that these migrations make, referenced tables first. Other tables of the operator are not copied. */
export function tablesOf(migrations: readonly Migration[]): Promise<readonly Table[]> {
  const isSame = known?.migrations.every(({ text }, index) => text === migrations[index]?.text) ?? false
  if (!known || !isSame || known.migrations.length !== migrations.length) {
    known = { migrations: [...migrations], tables: makeTables(migrations) }
    known.tables.catch(() => (known = undefined))
  }
  return known.tables
}

/** Cache of one entry: applying all migrations in memory takes 0.3 s. */
let known: { readonly migrations: readonly Migration[]; readonly tables: Promise<readonly Table[]> } | undefined

async function makeTables(migrations: readonly Migration[]): Promise<readonly Table[]> {
  const empty = openSqlite(inMemory)
  try {
    await migrate(empty, migrations)
    // Only the writer's connection sees an in-memory database.
    return await empty.transact(readTables)
  } finally {
    await empty.close()
  }
}

async function readTables(reader: Reader): Promise<Table[]> {
  const names = await reader.all<{ name: string }>(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
  )
  const tables = new Map<string, Table>()
  const pointsAt = new Map<string, string[]>()
  for (const { name } of names) {
    const columns = await reader.all<TableColumn>('SELECT name, type FROM pragma_table_info($1) ORDER BY cid', [name])
    tables.set(name, { name, columns: columns.map(readColumn) })
    const keys = await reader.all<{ table: string }>('SELECT "table" FROM pragma_foreign_key_list($1)', [name])
    pointsAt.set(
      name,
      keys.map((key) => key.table).filter((other) => other !== name),
    )
  }
  return inOrder([...tables.keys()], pointsAt).flatMap((name) => tables.get(name) ?? [])
}

function readColumn({ name, type }: TableColumn): TableColumn {
  if (!['BIGINT', 'TEXT', 'BYTEA'].includes(type)) throw new Error(`there is no way to copy ${name}, a ${type}`)
  return { name, type }
}

/** Topological order: each table after those it references. */
function inOrder(names: readonly string[], pointsAt: ReadonlyMap<string, readonly string[]>): string[] {
  const placed = new Set<string>()
  for (let left = [...names]; left.length > 0; ) {
    const ready = left.filter((name) => (pointsAt.get(name) ?? []).every((other) => placed.has(other)))
    if (ready.length === 0) throw new Error(`tables point at one another in a circle: ${left.join(', ')}`)
    for (const name of ready) placed.add(name)
    left = left.filter((name) => !placed.has(name))
  }
  return [...placed]
}

const batchRows = 2000

/** All rows of a table in batches, unordered. The reader is one snapshot. */
async function* rowsOf(engine: Database['engine'], reader: Reader, table: Table): AsyncGenerator<CopiedRow[]> {
  yield* engine === 'sqlite' ? sqliteRows(reader, table) : postgresRows(reader, table)
}

const columnsOf = (table: Table): string => table.columns.map((column) => column.name).join(', ')

async function* sqliteRows(reader: Reader, table: Table): AsyncGenerator<CopiedRow[]> {
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

async function* postgresRows(reader: Reader, table: Table): AsyncGenerator<CopiedRow[]> {
  await reader.all(`DECLARE copied NO SCROLL CURSOR FOR SELECT ${columnsOf(table)} FROM ${table.name}`)
  for (;;) {
    const found = await reader.all<Named>(`FETCH ${batchRows} FROM copied`)
    yield found.map((row) => toRow(table.columns, row))
    if (found.length < batchRows) break
  }
  await reader.all('CLOSE copied')
}

type Named = Readonly<Record<string, CopiedRow[number]>>

const toRow = (columns: readonly TableColumn[], row: Named): CopiedRow =>
  columns.map((column) => row[column.name] ?? null)

/** Number of rows of a table, and a digest of all. */
export type TableSummary = { readonly rows: number; readonly digest: string }

const modulus = 1n << 256n

/** Sum of row hashes, independent of row order: sorting a large table would take longer than copying it. */
class TableDigest {
  private sum = 0n
  private rows = 0

  add(rows: readonly CopiedRow[]): void {
    for (const row of rows) {
      const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify(row.map(toText))).digest('hex')
      this.sum = (this.sum + BigInt(`0x${hash}`)) % modulus
    }
    this.rows += rows.length
  }

  finish(): TableSummary {
    return { rows: this.rows, digest: this.sum.toString(16).padStart(64, '0') }
  }
}

/** Distinguishes a text, a number and bytes that look alike. */
function toText(value: CopiedRow[number]): string | null {
  if (value === null) return null
  if (typeof value === 'string') return `t${value}`
  return typeof value === 'bigint' ? `n${value}` : `x${Buffer.from(value).toString('hex')}`
}

/** Names of the tables that differ. */
export function differing(
  one: Readonly<Record<string, TableSummary>>,
  other: Readonly<Record<string, TableSummary>>,
): string[] {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return names.filter((name) => one[name]?.rows !== other[name]?.rows || one[name]?.digest !== other[name]?.digest)
}

export type OnProgress = (table: string, rows: number) => void

/** A reader of one snapshot. */
export type Source = { readonly engine: Database['engine']; readonly reader: Reader }

/** Reads every row of these tables once, inserts it, and returns a digest of each table. */
export async function copyRows(
  { engine, reader }: Source,
  tables: readonly Table[],
  insert: Insert,
  onProgress: OnProgress,
): Promise<Record<string, TableSummary>> {
  const held: Record<string, TableSummary> = {}
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

export const heldBy = (source: Source, tables: readonly Table[], onProgress: OnProgress) =>
  copyRows(source, tables, async () => {}, onProgress)

export async function newestCheckpoint(reader: Reader): Promise<{ number: number; hash: string } | null> {
  const row = await reader.first<{ number: bigint; hash: Uint8Array }>(
    'SELECT number, hash FROM checkpoints ORDER BY number DESC LIMIT 1',
  )
  return row ? { number: Number(row.number), hash: Buffer.from(row.hash).toString('hex') } : null
}
