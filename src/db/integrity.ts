import { type Audit, type Finding, mostFindings, type Verifier } from '../kernel/finding.ts'
import type { Migration } from './migrate.ts'
import { countBroken, expectedSchema, liveParts, type Part } from './schema.ts'
import type { Database, Reader } from './transaction.ts'

type Deps = { readonly db: Database; readonly migrations: () => readonly Migration[] }

const found = (promise: string, where: string, problem: string): Finding => ({ promise, where, problem })

/** Compares the live schema with what the migrations make: a guard that was taken away guards nothing. */
export function createSchemaVerifier({ db, migrations }: Deps): Verifier {
  return {
    name: 'schema',
    async verify(): Promise<Audit> {
      const expected = await expectedSchema(db, migrations())
      const live = await db.snapshot((reader) => liveParts(db, reader))
      return { findings: differences(expected.parts, live), covered: { 'parts of the schema': live.length } }
    },
  }
}

function differences(expected: readonly Part[], live: readonly Part[]): Finding[] {
  const there = new Map(live.map((part) => [part.name, part.definition]))
  const known = new Set(expected.map((part) => part.name))
  return [
    ...expected.flatMap((part) => {
      const definition = there.get(part.name)
      if (definition === part.definition) return []
      return [found('schema', part.name, definition === undefined ? 'it is missing' : 'it is not as the migrations made it')]
    }),
    ...live
      .filter((part) => !known.has(part.name) && isOurs(part.name))
      .map((part) => found('schema', part.name, 'no migration made it')),
  ]
}

/** Whoever keeps tables of his own beside ours may; a trigger, a rule or an index on ours changes what ours do. */
const isOurs = (name: string): boolean => /^(trigger|rule) /.test(name)

/** Reads everything once as the engine itself checks it, and asks for what constraints promise whether they are there or not. */
export function createIntegrityVerifier({ db, migrations }: Deps): Verifier {
  return {
    name: 'integrity',
    async verify(): Promise<Audit> {
      const { demands } = await expectedSchema(db, migrations())
      return db.snapshot(async (reader) => {
        const findings: Finding[] = db.engine === 'sqlite' ? await checkFile(reader) : await checkPages(reader)
        for (const [table, asked] of Map.groupBy(demands, (demand) => demand.table)) {
          const broken = await countBroken(reader, table, asked)
          for (const [index, demand] of asked.entries()) {
            const count = broken[index] ?? 0
            if (count > 0) findings.push(found('constraint', `${table}: ${demand.name}`, `${count} rows break it`))
          }
        }
        return { findings, covered: { constraints: demands.length } }
      })
    },
  }
}

/** SQLite's own look at every page, every index and every constraint. */
async function checkFile(reader: Reader): Promise<Finding[]> {
  const told = await reader.all<{ integrity_check: string }>(`PRAGMA integrity_check(${mostFindings})`)
  const lost = await reader.all<{ table: string; parent: string }>('PRAGMA foreign_key_check')
  return [
    ...told
      .filter((row) => row.integrity_check !== 'ok')
      .map((row) => found('file', 'database file', row.integrity_check)),
    ...lost.slice(0, mostFindings).map((row) => found('constraint', row.table, `a row names a row of ${row.parent} that is not there`)),
  ]
}

/** PostgreSQL looks at a page's checksum, where the server was set up with them, whenever it reads it: so all is read. */
async function checkPages(reader: Reader): Promise<Finding[]> {
  const tables = await reader.all<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY 1`,
  )
  for (const { name } of tables) await reader.first(`SELECT COUNT(*) AS n FROM ${name}`)
  return []
}
