import { checksumOf, statementsOf } from '../../src/db/migrate.ts'
import { sectionFor } from '../../src/db/portable.ts'
import type { Files, Violation } from './source.ts'

/** The first migration after the baseline; `src/db/migrate.ts` lets the previous version run beside it. */
const firstExpanding = 'migrations/0003'
/** The checksum of each released migration by its name; `npm run schema -- --release` writes it. */
export const releasedFile = 'tools/schema/released.json'
const contracts = /^-- contracts: \S/m
/** Constraints that are replaced by equal ones. They allow every row that the previous version writes. */
const rewords = /^-- rewords: \S/m

/**
 * Statements that break a shop of the previous version, which still runs while the new version starts. This happens
 * only on PostgreSQL; one shop opens a SQLite file.
 */
const narrowing: readonly { readonly pattern: RegExp; readonly why: string; readonly reworded?: boolean }[] = [
  { pattern: /\bDROP\s+(TABLE|COLUMN)\b/, why: 'drops what the version before uses' },
  {
    pattern: /\bDROP\s+CONSTRAINT\b/,
    why: 'drops what keeps the version before from writing nonsense',
    reworded: true,
  },
  { pattern: /\bRENAME\b/, why: 'renames what the version before uses' },
  { pattern: /\bALTER\s+COLUMN\b/, why: 'changes a column that the version before writes' },
  {
    pattern: /\bADD\s+(CONSTRAINT|CHECK|UNIQUE|FOREIGN|PRIMARY)\b/,
    why: 'demands what the version before does not keep',
    reworded: true,
  },
  {
    pattern: /\bADD\s+COLUMN\b(?=[\s\S]*(?<!\bIS\s)\bNOT\s+NULL\b)(?![\s\S]*\bDEFAULT\b)/,
    why: 'adds a column that must be filled',
  },
  { pattern: /\bTRUNCATE\b|\bDELETE\s+FROM\b/, why: 'deletes rows' },
]

/** A unique index on a table that this migration does not create. */
function narrowsByIndex(statement: string, all: readonly string[]): boolean {
  const table = /\bCREATE\s+UNIQUE\s+INDEX\b[\s\S]*?\bON\s+(\w+)/.exec(statement)?.[1]
  return table !== undefined && !all.some((each) => new RegExp(`\\bTABLE\\s+${table}\\b`).test(each))
}

/** Migrations are append-only: the text of a released one does not change. */
function checkReleased(files: Files): Violation[] {
  const released = JSON.parse(files.get(releasedFile) ?? '{}') as Readonly<Record<string, string>>
  return Object.entries(released).flatMap(([name, checksum]) => {
    const path = `migrations/${name}.sql`
    const text = files.get(path)
    if (text !== undefined && checksumOf(text) === checksum) return []
    const explanation = `it was released and ${text === undefined ? 'is missing' : 'has another text'}; add a migration`
    return [{ path, line: 1, rule: 'migration-released', explanation }]
  })
}

export const checkMigrations = (files: Files): Violation[] => [...checkReleased(files), ...checkExpanding(files)]

/** A migration only adds, or names in `-- contracts:` the version that stopped using the removed object. */
function checkExpanding(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (!/^migrations\/\d{4}-.*\.sql$/.test(path) || path < firstExpanding || contracts.test(text)) return []
    const statements = statementsOf(sectionFor('postgres', text))
    return statements.flatMap((statement) => {
      const found = narrowing.find(
        ({ pattern, reworded }) => pattern.test(statement) && !(reworded && rewords.test(text)),
      )
      const why =
        found?.why ?? (narrowsByIndex(statement, statements) ? 'demands what was not unique before' : undefined)
      if (why === undefined) return []
      const line = text.slice(0, Math.max(0, text.indexOf(statement.split('\n')[0] ?? ''))).split('\n').length
      const explanation = `it ${why}; that is for a later version, under "-- contracts: VERSION uses it no more"`
      return [{ path, line, rule: 'migrations', explanation }]
    })
  })
}
