import { flattenConditions } from './flat-conditions.ts'
import { type Migration, migrate, migrationsTable, statementsOf } from './migrate.ts'
import { sectionFor } from './portable.ts'
import { inMemory, openSqlite } from './sqlite.ts'
import type { Database, Reader } from './transaction.ts'

/** One object of a schema: its name and its definition. */
export type SchemaPart = { readonly name: string; readonly definition: string }

/** A condition on the rows of a table, as the migrations define it, whatever the live schema has. */
export type Demand = {
  readonly table: string
  readonly name: string
  /** SQL expression that counts the rows which break it. */
  readonly broken: string
}

export type Schema = { readonly parts: readonly SchemaPart[]; readonly demands: readonly Demand[] }

/** The shop's PostgreSQL user may not create a schema, so the expected one cannot be made. */
export class NoRight extends Error {}

/** Cache of expected schemas, keyed by engine, its version and the migrations. */
const known = new Map<string, Promise<Schema>>()
const maxKnown = 4

/** Applies the migrations in a scratch schema and reads it; cached, because that takes a second. */
export async function expectedSchema(db: Database, migrations: readonly Migration[]): Promise<Schema> {
  const version = await db.first<{ version: string }>(
    db.engine === 'sqlite' ? 'SELECT sqlite_version() AS version' : 'SELECT version() AS version',
  )
  const texts = migrations.map((each) => Bun.hash(each.text).toString(36))
  const name = [db.engine, version?.version, ...texts].join(' ')
  const before = known.get(name)
  if (before) return before
  const made = db.engine === 'sqlite' ? makeInMemory(migrations) : makeAside(db, migrations)
  if (known.size >= maxKnown) known.clear()
  known.set(name, made)
  made.catch(() => known.delete(name))
  return made
}

export async function liveParts(db: Database, reader: Reader): Promise<SchemaPart[]> {
  return db.engine === 'sqlite' ? sqliteParts(reader) : postgresParts(reader, await currentSchema(reader))
}

/** The conditions of the constraints in the live schema. */
export async function liveDemands(db: Database, reader: Reader): Promise<Demand[]> {
  return db.engine === 'sqlite' ? sqliteDemands(reader) : postgresDemands(reader, await currentSchema(reader))
}

async function currentSchema(reader: Reader): Promise<string> {
  const row = await reader.first<{ name: string }>('SELECT current_schema()::text AS name')
  return row?.name ?? 'public'
}

async function makeInMemory(migrations: readonly Migration[]): Promise<Schema> {
  const empty = openSqlite(inMemory)
  try {
    await migrate(empty, migrations)
    // Only the writer's connection sees an in-memory database.
    return await empty.transact(async (tx) => ({ parts: await sqliteParts(tx), demands: await sqliteDemands(tx) }))
  } finally {
    await empty.close()
  }
}

async function sqliteParts(reader: Reader): Promise<SchemaPart[]> {
  const rows = await reader.all<{ type: string; name: string; sql: string }>(
    `SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type, name`,
  )
  return rows.map((row) => ({ name: `${row.type} ${row.name}`, definition: row.sql.replace(/\s+/g, ' ') }))
}

/** What `PRAGMA integrity_check` omits: types, and dropped unique indexes. */
async function sqliteDemands(reader: Reader): Promise<Demand[]> {
  const demands: Demand[] = []
  const tables = await reader.all<{ name: string }>(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
  )
  for (const { name: table } of tables) {
    const columns = await reader.all<{ name: string; type: string }>(
      'SELECT name, type FROM pragma_table_info($1) ORDER BY cid',
      [table],
    )
    for (const { name, type } of columns) {
      const held = { BIGINT: 'integer', TEXT: 'text', BYTEA: 'blob' }[type] ?? 'null'
      demands.push({
        table,
        name: `${name} is ${type}`,
        broken: counting(`typeof(${name}) NOT IN ('${held}', 'null')`),
      })
    }
  }
  const indexes = await reader.all<{ name: string; tbl_name: string; sql: string }>(
    `SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE%' ORDER BY name`,
  )
  for (const { name, tbl_name: table, sql } of indexes) demands.push(uniqueDemand(table, name, sql))
  return demands
}

const counting = (condition: string): string => `SUM(CASE WHEN ${condition} THEN 1 ELSE 0 END)`

function uniqueDemand(table: string, name: string, definition: string): Demand {
  const [, columns = '', where = 'true'] = /\(([^()]*)\)(?:\s+WHERE\s+([\s\S]*))?$/.exec(definition) ?? []
  // NULLs are distinct in a unique index.
  const there = columns.split(',').map((column) => `${column.trim()} IS NOT NULL`)
  const rows = `${table} WHERE ${[`(${where})`, ...there].join(' AND ')}`
  const twice = `SELECT 1 AS twice FROM ${rows} GROUP BY ${columns} HAVING COUNT(*) > 1`
  return { table, name, broken: `(SELECT COUNT(*) FROM (${twice}) AS doubles)` }
}

/** How many rows break each demand; one scan of the table for most of them. */
export async function countBroken(reader: Reader, table: string, demands: readonly Demand[]): Promise<number[]> {
  const counts = demands.map((demand, index) => `CAST(COALESCE(${demand.broken}, 0) AS BIGINT) AS n${index}`)
  const row = await reader.first<Record<string, bigint>>(`SELECT ${counts.join(', ')} FROM ${table}`)
  return demands.map((_, index) => Number(row?.[`n${index}`] ?? 0n))
}

/** Rolls the scratch schema back. */
class Undo extends Error {
  constructor(readonly schema: Schema) {
    super('the schema was looked at')
  }
}

const aside = 'turnpike_expected'
const insufficientPrivilege = '42501'

async function makeAside(db: Database, migrations: readonly Migration[]): Promise<Schema> {
  try {
    return await db.transact(async (tx): Promise<never> => {
      await tx.run(`CREATE SCHEMA ${aside}`)
      await tx.run(`SET LOCAL search_path = ${aside}`)
      await tx.run(migrationsTable)
      for (const migration of migrations) {
        for (const statement of statementsOf(sectionFor('postgres', migration.text))) await tx.run(statement)
      }
      throw new Undo({ parts: await postgresParts(tx, aside), demands: await postgresDemands(tx, aside) })
    })
  } catch (error) {
    if (error instanceof Undo) return error.schema
    if (error instanceof Error && 'errno' in error && error.errno === insufficientPrivilege) {
      throw new NoRight('the right to create a schema is missing', { cause: error })
    }
    throw error
  }
}

/** The text of a function is kept as it was written; all else is printed from what PostgreSQL has parsed. */
const isPrinted = (name: string): boolean => !name.startsWith('function ')

/** All objects of a PostgreSQL schema, without its name. A disabled trigger differs. */
async function postgresParts(reader: Reader, schema: string): Promise<SchemaPart[]> {
  const rows = await reader.all<SchemaPart>(
    `WITH here AS (SELECT oid FROM pg_namespace WHERE nspname = $1),
       tables AS (SELECT pg_class.oid, relname, relkind FROM pg_class JOIN here ON here.oid = relnamespace)
     SELECT 'table ' || relname AS name, string_agg(attname || ' ' || format_type(atttypid, atttypmod)
         || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END || COALESCE(' ' || collname, ''), ', ' ORDER BY attname)
         AS definition
       FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
       LEFT JOIN pg_collation ON pg_collation.oid = attcollation WHERE relkind = 'r' GROUP BY relname
     UNION ALL SELECT 'constraint ' || conname || ' of ' || relname, pg_get_constraintdef(pg_constraint.oid)
         || CASE WHEN convalidated THEN '' ELSE ' NOT VALID' END
       FROM pg_constraint JOIN tables ON tables.oid = conrelid WHERE contype <> 'n'
     UNION ALL SELECT 'index ' || owned.relname, pg_get_indexdef(indexrelid)
         || CASE WHEN indisvalid THEN '' ELSE ' INVALID' END
       FROM pg_index JOIN pg_class AS owned ON owned.oid = indexrelid JOIN tables ON tables.oid = indrelid
     UNION ALL SELECT 'trigger ' || tgname || ' of ' || relname, pg_get_triggerdef(pg_trigger.oid)
         || CASE tgenabled WHEN 'O' THEN '' ELSE ' (switched off)' END
       FROM pg_trigger JOIN tables ON tables.oid = tgrelid WHERE NOT tgisinternal
     UNION ALL SELECT 'rule ' || rulename || ' of ' || relname, pg_get_ruledef(pg_rewrite.oid)
       FROM pg_rewrite JOIN tables ON tables.oid = ev_class
     UNION ALL SELECT 'function ' || proname, pg_get_functiondef(pg_proc.oid)
       FROM pg_proc JOIN here ON here.oid = pronamespace
     ORDER BY 1`,
    [schema],
  )
  const own = new RegExp(`\\b${schema}\\.`, 'g')
  return rows.map(({ name, definition }) => {
    const text = definition.replace(own, '').replace(/\s+/g, ' ')
    return { name, definition: isPrinted(name) ? flattenConditions(text) : text }
  })
}

async function postgresDemands(reader: Reader, schema: string): Promise<Demand[]> {
  const held = await reader.all<{ table: string; name: string; kind: string; definition: string; of: string }>(
    `SELECT owner.relname AS table, conname AS name, contype AS kind,
       pg_get_constraintdef(pg_constraint.oid) AS definition,
       COALESCE(pointed.relname, '') AS of
     FROM pg_constraint JOIN pg_class AS owner ON owner.oid = conrelid
       LEFT JOIN pg_class AS pointed ON pointed.oid = confrelid
     WHERE contype IN ('c', 'u', 'f') AND connamespace = $1::regnamespace ORDER BY 1, 2`,
    [schema],
  )
  const indexes = await reader.all<{ table: string; name: string; definition: string }>(
    `SELECT tablename AS table, indexname AS name, indexdef AS definition FROM pg_indexes
     WHERE schemaname = $1 AND indexdef LIKE 'CREATE UNIQUE%' ORDER BY 1, 2`,
    [schema],
  )
  return [
    ...held.flatMap((each) => constraintDemand(each)),
    ...indexes.map((each) => uniqueDemand(each.table, each.name, each.definition)),
  ]
}

function constraintDemand(of: { table: string; name: string; kind: string; definition: string; of: string }): Demand[] {
  const { table, name } = of
  if (of.kind === 'c') {
    const condition = /^CHECK (.*)$/s.exec(of.definition)?.[1] ?? 'true'
    return [{ table, name, broken: counting(`NOT ${condition}`) }]
  }
  if (of.kind === 'f') {
    const [, from = '', to = ''] = /^FOREIGN KEY \((\w+)\) REFERENCES [\w.]+\((\w+)\)/.exec(of.definition) ?? []
    const lost = `NOT EXISTS (SELECT 1 FROM ${of.of} AS pointed WHERE pointed.${to} = ${table}.${from})`
    return [{ table, name, broken: counting(`${table}.${from} IS NOT NULL AND ${lost}`) }]
  }
  return []
}
