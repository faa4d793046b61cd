import type { Database, Tx, Value } from '../../src/db/transaction.ts'

type Statement = { readonly sql: string; readonly values: readonly Value[] }

/** Every statement that ran on a database during the work, in transactions and outside. */
async function recordStatements(db: Database, work: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = []
  const [transact, transactLong] = [db.transact.bind(db), db.transactLong.bind(db)]
  const [all, first] = [db.all.bind(db), db.first.bind(db)]
  const note = (sql: string, values: readonly Value[] = []): void => void statements.push({ sql, values })
  const listening = (tx: Tx): Tx => ({
    all: (sql, values) => (note(sql, values), tx.all(sql, values)),
    first: (sql, values) => (note(sql, values), tx.first(sql, values)),
    run: (sql, values) => (note(sql, values), tx.run(sql, values)),
    send: (sql, values) => (note(sql, values), tx.send(sql, values)),
  })
  db.transact = (job) => transact((tx) => job(listening(tx)))
  db.transactLong = (job) => transactLong((tx) => job(listening(tx)))
  db.all = (sql, values) => (note(sql, values), all(sql, values))
  db.first = (sql, values) => (note(sql, values), first(sql, values))
  try {
    await work()
  } finally {
    Object.assign(db, { transact, transactLong, all, first })
  }
  return statements
}

/**
 * The statements in some work that read one of these tables completely because an index is missing. With `mayScanIndex`
 * they may read an index in its order, up to their limit. This does not depend on the speed of the machine.
 */
export async function scansIn(
  db: Database,
  tables: readonly string[],
  work: () => Promise<unknown>,
  { mayScanIndex = false }: { readonly mayScanIndex?: boolean } = {},
): Promise<string[]> {
  const inTable = mayScanIndex ? '(?! USING (COVERING )?INDEX)' : ''
  const found: string[] = []
  for (const { sql, values } of await recordStatements(db, work)) {
    if (!/^\s*(SELECT|UPDATE|DELETE|INSERT|WITH)/i.test(sql)) continue
    const plan = await planOf(db, sql, values)
    const whole = tables.some((table) =>
      plan.some((line) => new RegExp(`(^SCAN ${table}\\b${inTable}|Seq Scan on ${table}\\b)`).test(line)),
    )
    if (whole) found.push(sql)
  }
  return found
}

async function planOf(db: Database, sql: string, values: readonly Value[]): Promise<string[]> {
  if (db.engine === 'sqlite') {
    const rows = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, values)
    return rows.map((row) => row.detail)
  }
  return db.transact(async (tx) => {
    // A small table would be read completely in any case.
    await tx.run('SET LOCAL enable_seqscan = off')
    const rows = await tx.all<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, values)
    return rows.map((row) => row['QUERY PLAN'])
  })
}

/**
 * The statements in some work that read more rows of a table than `max`. PostgreSQL counts them, in a second run that
 * is rolled back. On SQLite: those that find rows without one of these columns.
 */
export async function wideIn(
  db: Database,
  of: { readonly table: string; readonly columns: readonly string[]; readonly max: number },
  work: () => Promise<unknown>,
): Promise<string[]> {
  const found = new Set<string>()
  for (const { sql, values } of await recordStatements(db, work)) {
    if (!/^\s*(SELECT|UPDATE|DELETE)/i.test(sql) || !sql.includes(of.table)) continue
    const isWide =
      db.engine === 'sqlite'
        ? (await planOf(db, sql, values)).some(
            (line) => line.includes(of.table) && !of.columns.some((column) => line.includes(column)),
          )
        : (await countRead(db, of.table, sql, values)) > of.max
    if (isWide) found.add(sql)
  }
  return [...found]
}

type PlanNode = {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

const readBy = (table: string, node: PlanNode): number =>
  (node['Relation Name'] === table
    ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    : 0) + (node.Plans ?? []).reduce((sum, each) => sum + readBy(table, each), 0)

class Undone extends Error {
  constructor(readonly rows: number) {
    super('undone')
  }
}

async function countRead(db: Database, table: string, sql: string, values: readonly Value[]): Promise<number> {
  const counted = db.transact(async (tx): Promise<number> => {
    const [row] = await tx.all<{ 'QUERY PLAN': unknown }>(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, values)
    const plan = row?.['QUERY PLAN']
    const [top] = (typeof plan === 'string' ? JSON.parse(plan) : plan) as [{ Plan: PlanNode }]
    throw new Undone(readBy(table, top.Plan))
  })
  return counted.catch((error: unknown) => {
    if (error instanceof Undone) return error.rows
    throw error
  })
}
