import { type Audit, at, type Finding, found, maxFindings, note, type Verifier } from '../core/finding.ts'
import { Refusal } from '../core/refusal.ts'
import type { Migration } from './migrate.ts'
import {
  countBroken,
  type Demand,
  expectedSchema,
  liveDemands,
  liveParts,
  NoRight,
  type Schema,
  type SchemaPart,
} from './schema.ts'
import type { Database, Reader } from './transaction.ts'

type Deps = { readonly db: Database; readonly migrations: () => readonly Migration[] }

/** Compares the live schema with what the migrations make. */
export function createSchemaVerifier({ db, migrations }: Deps): Verifier {
  return {
    name: 'schema',
    async verify(): Promise<Audit> {
      const expected = await expectedOrNone({ db, migrations })
      if (!expected) return { findings: [], covered: {}, notes: [note('schema_not_compared')] }
      const live = await db.snapshot((reader) => liveParts(db, reader))
      return { findings: differences(expected.parts, live), covered: { 'parts of the schema': live.length } }
    },
  }
}

/** Undefined if the shop's user may not create a schema. */
async function expectedOrNone({ db, migrations }: Deps): Promise<Schema | undefined> {
  try {
    return await expectedSchema(db, migrations())
  } catch (error) {
    if (error instanceof NoRight) return undefined
    throw error
  }
}

function differences(expected: readonly SchemaPart[], live: readonly SchemaPart[]): Finding[] {
  const there = new Map(live.map((part) => [part.name, part.definition]))
  const known = new Set(expected.map((part) => part.name))
  return [
    ...expected.flatMap((part) => {
      const definition = there.get(part.name)
      if (definition === part.definition) return []
      return [
        found('schema', at('named', { name: part.name }), definition === undefined ? 'part_missing' : 'part_differs'),
      ]
    }),
    ...live
      .filter((part) => !known.has(part.name) && isOurs(part.name))
      .map((part) => found('schema', at('named', { name: part.name }), 'part_unknown')),
  ]
}

/** The operator may keep other tables here; a foreign trigger or rule changes what ours do. */
const isOurs = (name: string): boolean => /^(trigger|rule) /.test(name)

/** Runs the engine's own check, and counts the rows that break a constraint, whether the constraint exists or not. */
export function createIntegrityVerifier({ db, migrations }: Deps): Verifier {
  let known: (readonly [string, readonly Demand[]])[] = []
  async function tables(): Promise<(readonly [string, readonly Demand[]])[]> {
    const expected = await expectedOrNone({ db, migrations })
    const demands = expected?.demands ?? (await db.snapshot((reader) => liveDemands(db, reader)))
    return [...Map.groupBy(demands, (demand) => demand.table)]
  }
  return {
    name: 'integrity',
    async verify(): Promise<Audit> {
      const findings: Finding[] = db.engine === 'sqlite' ? await checkFile(db) : []
      let constraints = 0
      // One query per table: an unreadable table must not prevent the check of the others.
      for (const [table, ofTable] of await tables()) {
        constraints += ofTable.length
        findings.push(...(await checkTable(db, table, ofTable)))
      }
      return { findings, covered: { constraints } }
    },
    walks: [
      {
        name: 'file',
        step: async () => ({ findings: db.engine === 'sqlite' ? await checkFile(db) : [], covered: {}, rows: 1 }),
      },
      {
        name: 'tables',
        /** One table a step; the position is the name of the last one. */
        async step(after) {
          // The migrations are applied once for all tables of a part.
          if (after === undefined || known.length === 0)
            known = (await tables()).toSorted(([a], [b]) => (a < b ? -1 : 1))
          const all = known
          const index = after === undefined ? 0 : all.findIndex(([table]) => table > after)
          const [table, demands] = all[index] ?? []
          if (table === undefined || !demands) return { findings: [], covered: {}, rows: 0 }
          const findings = await checkTable(db, table, demands)
          const isLast = index === all.length - 1
          return { findings, covered: { constraints: demands.length }, rows: 1, ...(!isLast && { next: table }) }
        },
      },
    ],
  }
}

/** Reads a whole table, which also makes PostgreSQL check its page checksums. */
async function checkTable(db: Database, table: string, demands: readonly Demand[]): Promise<Finding[]> {
  try {
    const broken = await db.snapshot((reader) => countBroken(reader, table, demands))
    return demands.flatMap((demand, index) => {
      const count = broken[index] ?? 0
      const where = at('constraint', { table, name: demand.name })
      return count > 0 ? [found('constraint', where, 'constraint_broken', { rows: count })] : []
    })
  } catch (error) {
    if (error instanceof Refusal || !(error instanceof Error)) throw error
    return [found('constraint', at('table', { table }), 'table_unreadable', { error: error.message })]
  }
}

/** SQLite's own check of every page, index and constraint. */
async function checkFile(reader: Reader): Promise<Finding[]> {
  const rows = await reader.all<{ integrity_check: string }>(`PRAGMA integrity_check(${maxFindings})`)
  const lost = await reader.all<{ table: string; parent: string }>('PRAGMA foreign_key_check')
  return [
    ...rows
      .filter((row) => row.integrity_check !== 'ok')
      .map((row) => found('file', at('file'), 'file_damaged', { report: row.integrity_check })),
    ...lost
      .slice(0, maxFindings)
      .map(({ table, parent }) => found('constraint', at('table', { table }), 'reference_broken', { parent })),
  ]
}
