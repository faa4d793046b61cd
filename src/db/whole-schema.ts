import { type Migration, statementsOf } from './migrate.ts'
import { sectionFor } from './portable.ts'
import type { Database, Reader } from './transaction.ts'

const made = /^CREATE (?:UNIQUE |UNLOGGED )?(TABLE|INDEX|TRIGGER) (\w+)(?:[\s\S]*?\bON (\w+))?/
const dropped = /^DROP (?:INDEX|TRIGGER) (\w+)/

/** Tables, indexes and triggers that the migrations leave, each as its name and its table. */
function listParts(engine: Database['engine'], migrations: readonly Migration[]): string[] {
  const parts = new Map<string, string>()
  for (const { text } of migrations)
    for (const statement of statementsOf(sectionFor(engine, text))) {
      const [, kind, name = '', on = ''] = made.exec(statement) ?? []
      if (kind) parts.set(name, `${name} ${kind === 'TABLE' ? name : on}`)
      const gone = dropped.exec(statement)?.[1]
      if (gone !== undefined) parts.delete(gone)
    }
  return [...parts.values()]
}

const existing: Readonly<Record<Database['engine'], string>> = {
  sqlite: `SELECT name || ' ' || tbl_name AS part FROM sqlite_master`,
  postgres: `SELECT relname || ' ' || relname AS part FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    UNION ALL SELECT index.relname || ' ' || owner.relname FROM pg_index
      JOIN pg_class AS index ON index.oid = indexrelid JOIN pg_class AS owner ON owner.oid = indrelid
      WHERE owner.relnamespace = current_schema()::regnamespace AND indisvalid
    UNION ALL SELECT tgname || ' ' || owner.relname FROM pg_trigger JOIN pg_class AS owner ON owner.oid = tgrelid
      WHERE owner.relnamespace = current_schema()::regnamespace AND tgenabled = 'O'`,
}

/**
 * Tells whether all tables, indexes and triggers of the migrations exist. A restore of several transactions makes the
 * triggers at its end: rows that are written before have no history, and no index keeps a slot from being leased twice.
 */
export function createSchemaCheck(
  engine: Database['engine'],
  migrations: () => readonly Migration[],
): (reader: Reader) => Promise<boolean> {
  let known: { readonly sql: string; readonly count: number } | undefined
  return async (reader) => {
    const parts = known ? [] : listParts(engine, migrations())
    const quoted = parts.map((part) => `'${part}'`).join(', ')
    known ??= {
      sql: `SELECT COUNT(DISTINCT part) AS n FROM (${existing[engine]}) AS parts WHERE part IN (${quoted})`,
      count: parts.length,
    }
    return Number((await reader.first<{ n: bigint }>(known.sql))?.n ?? 0n) === known.count
  }
}
