import type { Value } from './transaction.ts'

/** The SQL text for SQLite: `?1` instead of `$1`, and no row locks. */
export const toSqlite = (sql: string): string =>
  sql.replace(/\$(\d+)/g, '?$1').replace(/\s+FOR\s+(?:NO\s+KEY\s+)?UPDATE(?:\s+OF\s+\w+)?(?:\s+SKIP\s+LOCKED)?/g, '')

/** A value as SQLite binds it. */
export type BoundValue = string | bigint | Uint8Array | null

/** Numbers are bound as whole numbers only. */
export function toBound(values: readonly Value[]): BoundValue[] {
  return values.map((value) => {
    if (typeof value !== 'number') return value
    if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is not a whole number that SQL can be given`)
    return BigInt(value)
  })
}

/** The part of a migration for one engine, after `-- @sqlite`, `-- @postgres` or `-- @both`. Texts compare by bytes. */
export function sectionFor(engine: 'sqlite' | 'postgres', text: string): string {
  let current = 'both'
  const kept: string[] = []
  for (const line of text.split('\n')) {
    const mark = /^-- @(sqlite|postgres|both)\s*$/.exec(line)
    if (mark) current = mark[1] ?? 'both'
    else if (current === 'both' || current === engine) kept.push(line)
  }
  const script = kept.join('\n')
  return engine === 'postgres' ? script.replace(/\bTEXT\b/g, 'TEXT COLLATE "C"') : script
}
