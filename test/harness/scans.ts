import type { Database, Tx, Value } from '../../src/db/transaction.ts'

type Statement = { readonly sql: string; readonly values: readonly Value[] }

/** Every statement that transactions on a database ran meanwhile. */
async function overhear(db: Database, work: () => Promise<unknown>): Promise<Statement[]> {
  const heard: Statement[] = []
  const transact = db.transact.bind(db)
  const note = (sql: string, values: readonly Value[] = []): void => void heard.push({ sql, values })
  const listening = (tx: Tx): Tx => ({
    all: (sql, values) => (note(sql, values), tx.all(sql, values)),
    first: (sql, values) => (note(sql, values), tx.first(sql, values)),
    run: (sql, values) => (note(sql, values), tx.run(sql, values)),
    send: (sql, values) => (note(sql, values), tx.send(sql, values)),
  })
  db.transact = (job) => transact((tx) => job(listening(tx)))
  try {
    await work()
  } finally {
    db.transact = transact
  }
  return heard
}

/**
 * The statements in some work that would go through one of these tables as a whole, for want of an index. Whether it
 * is quick on a busy machine is luck; whether it grows with the table is not.
 */
export async function scansIn(
  db: Database,
  tables: readonly string[],
  work: () => Promise<unknown>,
): Promise<string[]> {
  const found: string[] = []
  for (const { sql, values } of await overhear(db, work)) {
    if (!/^\s*(SELECT|UPDATE|DELETE|INSERT|WITH)/i.test(sql)) continue
    const plan = await planOf(db, sql, values)
    const whole = tables.some((table) =>
      plan.some((line) => new RegExp(`(^SCAN ${table}\\b|Seq Scan on ${table}\\b)`).test(line)),
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
    // Of a small table it would be read as a whole anyway.
    await tx.run('SET LOCAL enable_seqscan = off')
    const rows = await tx.all<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, values)
    return rows.map((row) => row['QUERY PLAN'])
  })
}
