import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openTestDatabase } from '../../test/harness/database.ts'
import type { Database, Tx } from './transaction.ts'

type Columns = Readonly<Record<string, string>>

/** The tables that a sale writes: for each constrained column, values that pass (first) and values that fail. */
const tables: Readonly<Record<string, Columns>> = {
  accounts: {
    balance: '0 -1000000000000000 -1000000000000001 1000000000000000 1000000000000001',
    api_spent: '0 -1',
    seq: '0 -1',
  },
  postings: {
    seq: '1 0',
    kind: `'charge' 'credit' 'refund' 'debit' 'gift'`,
    house: `'revenue:vpn' 'funds:operator' 'funds:card' 'pocket'`,
    amount: '-5 5 0',
    balance_after: '0 -1',
    order_id: `'ord_1' NULL`,
    refund_of: 'NULL 1',
    key: `NULL 'k'`,
    reference: `NULL 'r'`,
  },
  orders: { price: '5 0 -1', charge_seq: '1 NULL' },
  stock: {
    slot: '0 1 2 3 -1',
    ipv: '4 3 6 5',
    state: `'free' 'leased' 'resting' 'retired' 'sold'`,
    rest_until: 'NULL 5',
    retiring: '0 1 2',
    quarantined: '0 1 2',
    range_id: '1 NULL',
    serving_node: `'nod_1' NULL`,
  },
  proxies: {
    ipv: '4 3 6 5',
    port_type: `'http' 'socks' 'ftp'`,
    state: `'held' 'gone' 'lost'`,
    started_at: '5',
    expires_at: '6 5',
    both_protocols: '0 1 2',
    entry_port: 'NULL 1024 1023 65536',
    replaced_by: `NULL 'outage' 'chance'`,
    ended_at: 'NULL 5',
    interrupted_at: 'NULL 5',
    interrupted_by: `NULL 'outage' 'chance'`,
  },
}

/** All combinations of the values as rows, with the same numbers on both engines. */
function rowsOf(columns: Columns): string {
  const parts = Object.entries(columns).map(([column, values]) => {
    const each = values.split(' ').map((value, index) => `SELECT ${index} AS nth_${column}, ${value} AS ${column}`)
    return `(${each.join(' UNION ALL ')}) AS of_${column}`
  })
  const order = Object.keys(columns).map((column) => `nth_${column}`)
  return `SELECT ROW_NUMBER() OVER (ORDER BY ${order.join(', ')}) AS number, ${Object.keys(columns).join(', ')}
          FROM ${parts.join(' CROSS JOIN ')}`
}

async function acceptedByPostgres(db: Database, table: string, columns: Columns): Promise<number[]> {
  const held = await db.all<{ condition: string }>(
    `SELECT substring(pg_get_constraintdef(oid) FROM 7) AS condition FROM pg_constraint
     WHERE contype = 'c' AND conrelid = to_regclass($1)`,
    [table],
  )
  const all = held.map(({ condition }) => `${condition} IS NOT FALSE`).join(' AND ')
  const found = await db.all<{ number: bigint }>(
    `SELECT number FROM (${rowsOf(columns)}) AS made WHERE ${all} ORDER BY number`,
  )
  return found.map((row) => Number(row.number))
}

/** Inserts the rows and returns the accepted ones: SQLite's checks have no names that a query could use. */
async function acceptedBySqlite(db: Database, table: string, columns: Columns): Promise<number[]> {
  return db.transact(async (tx) => {
    await leaveChecksOnly(tx, table)
    const others = await tx.all<{ name: string; type: string; pk: bigint }>(
      'SELECT name, type, pk FROM pragma_table_info($1) WHERE "notnull" = 1 OR pk > 0 ORDER BY cid',
      [table],
    )
    const fillers = others.filter((each) => !(each.name in columns))
    const names = [...Object.keys(columns), ...fillers.map((each) => each.name)]
    const values = [
      ...Object.keys(columns),
      ...fillers.map(({ type }) => (type === 'BIGINT' ? 'number' : `CAST(number AS ${type})`)),
    ]
    if (table === 'accounts') {
      await tx.run(
        `INSERT INTO customers (id, name, created_at) SELECT CAST(number AS TEXT), '', 1 FROM (${rowsOf(columns)})`,
      )
    }
    await tx.run(
      `INSERT OR IGNORE INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM (${rowsOf(columns)})`,
    )
    const key = fillers.find((each) => each.pk > 0n)?.name ?? ''
    const found = await tx.all<{ number: bigint }>(
      `SELECT CAST(${key} AS BIGINT) AS number FROM ${table} ORDER BY number`,
    )
    return found.map((row) => Number(row.number))
  })
}

/** Drops everything but the CHECK constraints that could refuse a row. */
async function leaveChecksOnly(tx: Tx, table: string): Promise<void> {
  const guards = await tx.all<{ type: string; name: string }>(
    `SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'index') AND sql IS NOT NULL AND tbl_name = $1`,
    [table],
  )
  for (const { type, name } of guards) await tx.run(`DROP ${type} ${name}`)
}

describe('CHECK constraints', () => {
  let opened: readonly Awaited<ReturnType<typeof openTestDatabase>>[]
  beforeAll(async () => {
    opened = await Promise.all([openTestDatabase('sqlite'), openTestDatabase('postgres')])
  })
  afterAll(async () => {
    for (const each of opened) await each.close()
  })

  test.each(Object.entries(tables))(
    'the CHECK constraints of table %s accept the same rows on SQLite and PostgreSQL',
    async (table, columns) => {
      const [sqlite, postgres] = opened
      if (!sqlite || !postgres) throw new Error('a database is missing')
      const accepted = await acceptedByPostgres(postgres.db, table, columns)
      expect(await acceptedBySqlite(sqlite.db, table, columns)).toEqual(accepted)
      const all = Object.values(columns).reduce((count, values) => count * values.split(' ').length, 1)
      expect(accepted).toContain(1)
      expect(accepted.length).toBeLessThan(all)
    },
  )
})
