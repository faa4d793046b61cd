import { Database as Sqlite } from 'bun:sqlite'
import { SQL } from 'bun'
import type { Engine } from '../harness/database.ts'

/** A value as a row holds it. */
type Value = bigint | number | string | Uint8Array | null
export type Row = Readonly<Record<string, Value>>

type Column = { readonly name: string; readonly nullable: boolean; readonly key: boolean }
export type Table = { readonly name: string; readonly columns: readonly Column[]; readonly rows: readonly Row[] }

/** Kinds of edits. `filled` was NULL before; `copied` takes another row's value, `swapped` in both directions. */
export type Kind =
  | 'raised'
  | 'lowered'
  | 'changed'
  | 'nulled'
  | 'filled'
  | 'copied'
  | 'swapped'
  | 'row deleted'
  | 'row doubled'

/** One edit: the rows before and after it. */
export type Edit = {
  readonly table: string
  /** Empty if the whole row is edited. */
  readonly column: string
  readonly kind: Kind
  readonly before: readonly Row[]
  readonly after: readonly Row[]
}

/** Direct access to the database without triggers, constraints and foreign keys. */
export type RawDatabase = {
  readonly tables: readonly Table[]
  /** False if the database still refuses the edit, as for a duplicate key. */
  apply(edit: Edit): Promise<boolean>
  undo(edit: Edit): Promise<void>
  run(sql: string): Promise<void>
  close(): Promise<void>
}

/** Tables of the database itself. */
const notOurs = (name: string): boolean => name.startsWith('sqlite_')

export async function openRawDatabase(engine: Engine, address: string): Promise<RawDatabase> {
  return engine === 'sqlite' ? openRawSqlite(address) : openRawPostgres(address)
}

async function openRawSqlite(path: string): Promise<RawDatabase> {
  const file = new Sqlite(path, { readwrite: true, safeIntegers: true, strict: true })
  const list = <Found>(sql: string): Found[] => file.query(sql).all() as Found[]
  file.run('PRAGMA foreign_keys = OFF')
  file.run('PRAGMA ignore_check_constraints = ON')
  file.run('PRAGMA busy_timeout = 5000')
  file.run('PRAGMA synchronous = OFF')
  for (const { name } of list<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'trigger'`)) {
    file.run(`DROP TRIGGER ${name}`)
  }
  const unique = `SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE%'`
  for (const { name } of list<{ name: string }>(unique)) file.run(`DROP INDEX ${name}`)
  const names = list<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
  const tables = names
    .filter(({ name }) => !notOurs(name))
    .map(({ name }): Table => {
      const columns = list<{ name: string; notnull: bigint; pk: bigint }>(`PRAGMA table_info(${name})`)
      return {
        name,
        columns: columns.map((each) => ({
          name: each.name,
          nullable: each.notnull === 0n && each.pk === 0n,
          key: each.pk > 0n,
        })),
        rows: list<Row>(`SELECT * FROM ${name}`),
      }
    })
  const replace = (edit: Edit, gone: readonly Row[], come: readonly Row[]): void => {
    const table = tables.find((each) => each.name === edit.table)
    if (!table) throw new Error(`there is no table ${edit.table}`)
    const keys = keysOf(table)
    file.transaction(() => {
      for (const row of gone) {
        file
          .query(`DELETE FROM ${table.name} WHERE ${keys.map((key, at) => `${key} IS ?${at + 1}`).join(' AND ')}`)
          .run(...keys.map((key) => row[key] ?? null))
      }
      for (const row of come) {
        const columns = Object.keys(row)
        const placeholders = columns.map((_, at) => `?${at + 1}`)
        file
          .query(`INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${placeholders.join(', ')})`)
          .run(...columns.map((column) => row[column] ?? null))
      }
    })()
  }
  return {
    tables,
    apply: async (edit) => refusedOr(async () => replace(edit, edit.before, edit.after)),
    undo: async (edit) => replace(edit, edit.after, edit.before),
    run: async (sql) => void file.run(sql),
    close: async () => file.close(),
  }
}

async function openRawPostgres(url: string): Promise<RawDatabase> {
  const sql = new SQL({ url, max: 1, bigint: true })
  const list = async <Found>(text: string): Promise<Found[]> => sql.unsafe<Found[]>(text)
  await sql.unsafe('SET session_replication_role = replica')
  const checks = `SELECT conrelid::regclass::text AS table, conname AS name FROM pg_constraint
    WHERE contype IN ('c', 'u', 'f') AND connamespace = 'public'::regnamespace`
  for (const each of await list<{ table: string; name: string }>(checks)) {
    await sql.unsafe(`ALTER TABLE ${each.table} DROP CONSTRAINT ${each.name}`)
  }
  const unique = `SELECT indexrelid::regclass::text AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indisunique AND NOT indisprimary AND relnamespace = 'public'::regnamespace`
  for (const { name } of await list<{ name: string }>(unique)) await sql.unsafe(`DROP INDEX ${name}`)
  const names = await list<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`,
  )
  const tables: Table[] = []
  for (const { name } of names) {
    const columns = await list<{ name: string; nullable: boolean; key: boolean }>(
      `SELECT attname AS name, NOT attnotnull AS nullable, COALESCE(attnum = ANY (indkey), false) AS key
       FROM pg_attribute LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
       WHERE attrelid = '${name}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    )
    const rows = await list<Row>(`SELECT * FROM ${name} ORDER BY 1`)
    tables.push({ name, columns, rows: rows.map((row) => ({ ...row })) })
  }
  const replace = async (edit: Edit, gone: readonly Row[], come: readonly Row[]): Promise<void> => {
    const table = tables.find((each) => each.name === edit.table)
    if (!table) throw new Error(`there is no table ${edit.table}`)
    const keys = keysOf(table)
    await sql.begin(async (tx) => {
      for (const row of gone) {
        const condition = keys.map((key, at) => `${key} = $${at + 1}`).join(' AND ')
        await tx.unsafe(
          `DELETE FROM ${table.name} WHERE ${condition}`,
          keys.map((key) => row[key] ?? null),
        )
      }
      for (const row of come) {
        const columns = Object.keys(row)
        const placeholders = columns.map((_, at) => `$${at + 1}`)
        const insert = `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${placeholders.join(', ')})`
        await tx.unsafe(
          insert,
          columns.map((column) => row[column] ?? null),
        )
      }
    })
  }
  return {
    tables,
    apply: (edit) => refusedOr(() => replace(edit, edit.before, edit.after)),
    undo: (edit) => replace(edit, edit.after, edit.before),
    run: async (text) => void (await sql.unsafe(text)),
    close: () => sql.close(),
  }
}

const keysOf = (table: Table): string[] => table.columns.filter((each) => each.key).map((each) => each.name)

async function refusedOr(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch {
    return false
  }
}

/** Every single edit of the existing rows: each kind on each column, in `max` rows of its table. */
export function editsOf(tables: readonly Table[], max: number): Edit[] {
  return tables.flatMap((table) => [
    ...table.columns.flatMap((column) => editsOfColumn(table, column, max)),
    ...editsOfRows(table, max),
  ])
}

function editsOfColumn(table: Table, { name, nullable }: Column, max: number): Edit[] {
  const edits: Edit[] = []
  const add = (kind: Kind, before: readonly Row[], after: readonly Row[]): void => {
    if (edits.filter((each) => each.kind === kind).length >= max || isNothing(before, after)) return
    edits.push({ table: table.name, column: name, kind, before, after })
  }
  for (const row of spread(table.rows)) {
    const value = row[name] ?? null
    const other = table.rows.find(
      (each) => each !== row && (each[name] ?? null) !== null && !isSame(each[name] ?? null, value),
    )
    if (value === null) {
      add('filled', [row], [{ ...row, [name]: other?.[name] ?? filling(table, name) }])
      continue
    }
    if (typeof value === 'bigint' || typeof value === 'number') {
      add('raised', [row], [{ ...row, [name]: BigInt(value) + 1n }])
      if (value > 0) add('lowered', [row], [{ ...row, [name]: BigInt(value) - 1n }])
    } else {
      add('changed', [row], [{ ...row, [name]: typeof value === 'string' ? changedText(value) : changedBytes(value) }])
    }
    if (nullable) add('nulled', [row], [{ ...row, [name]: null }])
    if (other) {
      add('copied', [row], [{ ...row, [name]: other[name] ?? null }])
      add(
        'swapped',
        [row, other],
        [
          { ...row, [name]: other[name] ?? null },
          { ...other, [name]: value },
        ],
      )
    }
  }
  return edits
}

function editsOfRows(table: Table, max: number): Edit[] {
  const rows = spread(table.rows).slice(0, max)
  const key = table.columns.findLast((each) => each.key)?.name ?? ''
  return rows.flatMap((row): Edit[] => {
    const value = row[key] ?? null
    const fresh = typeof value === 'string' ? changedText(changedText(value)) : ((value ?? 0n) as bigint) + 100_000n
    return [
      { table: table.name, column: '', kind: 'row deleted', before: [row], after: [] },
      { table: table.name, column: '', kind: 'row doubled', before: [], after: [{ ...row, [key]: fresh }] },
    ]
  })
}

/** Whether the table is unchanged, as when two rows with the same content swap names. */
function isNothing(before: readonly Row[], after: readonly Row[]): boolean {
  const text = (row: Row): string =>
    Object.entries(row)
      .map(([name, value]) => `${name} ${value instanceof Uint8Array ? value.toHex() : String(value)}`)
      .join('\n')
  return before.map(text).toSorted().join('\n\n') === after.map(text).toSorted().join('\n\n')
}

/** From the first, the last and the middle, so that few rows cover many kinds. */
function spread(rows: readonly Row[]): Row[] {
  const order: Row[] = []
  const middle = Math.floor(rows.length / 2)
  for (let step = 0; step < rows.length; step += 1) {
    const row =
      step % 3 === 0 ? rows[step / 3] : step % 3 === 1 ? rows.at(-((step + 2) / 3)) : rows[middle + (step - 2) / 3]
    if (row && !order.includes(row)) order.push(row)
  }
  return order
}

const isSame = (a: Value, b: Value): boolean =>
  a instanceof Uint8Array && b instanceof Uint8Array ? a.toHex() === b.toHex() : a === b

/** A value for a column that is NULL in every row. */
function filling(table: Table, column: string): Value {
  if (/_at$|_id$|seq|bytes|limit|count|port$|period|mbit|asn|cap/.test(column) && !/heir|order|token/.test(column))
    return 1_768_500_000_000n
  return /digest|key$|secret|credentials|hash/.test(column) && table.name !== 'vpn_peers' ? new Uint8Array(32) : 'x1'
}

function changedText(text: string): string {
  const last = text.at(-1) ?? ''
  const next = /[0-8a-yA-Y]/.test(last) ? String.fromCharCode(last.charCodeAt(0) + 1) : /[9zZ]/.test(last) ? '1' : 'x'
  return text.slice(0, -1) + (next === 'i' || next === 'l' || next === 'o' || next === 'u' ? 'w' : next)
}

function changedBytes(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1
  return copy
}
