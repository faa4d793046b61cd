import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readMigrations } from '../../src/app/shop/database.ts'
import { type Migration, migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import { createHistoryVerifier } from '../../src/db/row-history.ts'
import type { Database } from '../../src/db/transaction.ts'
import { historySql } from '../../tools/schema/history.ts'
import { engines, makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'

/** A migration of the version after 0.2.0: a column, and a generated row history for a table that had none. */
const next: Migration = {
  name: '0003-next',
  text: [
    'ALTER TABLE customers ADD COLUMN rank BIGINT NOT NULL DEFAULT 0;',
    ...historySql('row_contents_next', [{ of: 'customers, rank', key: 'id', columns: 'rank note', initial: '0 NULL' }]),
    '',
  ].join('\n'),
}
const current = readMigrations()

describe.each([...engines])('migrations of a version 0.2.0 database on %s', (engine) => {
  let testDatabase: TestDatabase
  let db: Database
  beforeEach(async () => {
    testDatabase = await makePreparedTestDatabase(engine, 'migrated')
    db = openDatabase(testDatabase.address)
    await migrate(db, current)
    await run(
      `INSERT INTO customers (id, name, created_at, note) VALUES ('cus_1', 'a', 1, 'first'), ('cus_2', 'b', 1, NULL)`,
    )
  })
  afterEach(async () => {
    await db.close()
    await testDatabase.remove()
  })
  const run = (sql: string) => db.transact((tx) => tx.run(sql))
  const ranks = () =>
    db.all(
      `SELECT row_key AS key, version AS v FROM row_history WHERE of_table = 'customers, rank' ORDER BY row_key, version`,
    )

  test('one of two concurrent starts applies the next migration, and rows with values get a first version', async () => {
    const other = openDatabase(testDatabase.address)
    const applied = await Promise.all([db, other].map((each) => migrate(each, [...current, next])))
    await other.close()
    expect(applied.flat()).toEqual([next.name])
    expect(await ranks()).toEqual([{ key: 'cus_1', v: 1n }])
    // Statements of the version before, which knows neither the column nor the history.
    await run(`INSERT INTO customers (id, name, created_at) VALUES ('cus_3', 'c', 1)`)
    await run(`UPDATE customers SET note = 'second' WHERE id = 'cus_2'`)
    await run(`UPDATE customers SET note = 'second' WHERE id = 'cus_2'`)
    expect(await ranks()).toEqual([
      { key: 'cus_1', v: 1n },
      { key: 'cus_2', v: 1n },
    ])
    expect((await createHistoryVerifier({ db }).verify()).findings).toEqual([])
  })

  test('version 0.2.0 opens a database that the next version extended, and refuses one it contracted', async () => {
    await migrate(db, [...current, next])
    expect(await migrate(db, current)).toEqual([])
    const contracting = {
      name: '0004-contracting',
      text: '-- contracts: 0.3 uses it no more\nDROP TABLE rate_buckets;\n',
    }
    await migrate(db, [...current, next, contracting])
    expect((await failureOf(migrate(db, current))).message).toContain('0004-contracting, which this version')
  })

  test('migrate refuses a database whose baseline has another text', async () => {
    const changed = current.map((each) => ({ ...each, text: `${each.text}-- changed\n` }))
    expect((await failureOf(migrate(db, changed))).message).toContain('0001-baseline is not the text that was applied')
  })

  test('the database refuses wrong, changed or deleted postings and traffic movements', async () => {
    const hash = engine === 'sqlite' ? `x'00'` : `'\\x00'`
    const post = (seq: number, kind: string, house: string, amount: number, after: number, also = 'NULL, NULL') =>
      run(
        `INSERT INTO postings (customer_id, seq, kind, house, amount, balance_after, note, at, hash, order_id, refund_of)
         VALUES ('cus_1', ${seq}, '${kind}', '${house}', ${amount}, ${after}, 'n', 1, ${hash}, ${also})`,
      )
    const move = (seq: number, kind: string, amount: number, after: number) =>
      run(
        `INSERT INTO traffic_movements (subuser_id, pool, seq, kind, amount, aside, owed, balance_after, aside_after,
           owed_after, order_id, at, hash)
         VALUES ('sub_1', 'p', ${seq}, '${kind}', ${amount}, 0, 0, ${after}, 0, 0, 'ord_1', 1, ${hash})`,
      )
    await post(1, 'credit', 'funds:operator', 10, 10)
    await post(2, 'charge', 'revenue:vpn', -5, 5, `'ord_1', NULL`)
    await move(1, 'bought', 5, 5)
    for (const refused of [
      () => post(3, 'charge', 'revenue:vpn', -6, -1, `'ord_2', NULL`),
      () => post(3, 'debit', 'funds:operator', -6, -1),
      () => post(3, 'refund', 'revenue:vpn', 6, 11, `'ord_1', 2`),
      () => run('UPDATE postings SET amount = 11 WHERE seq = 1'),
      () => run('DELETE FROM postings WHERE seq = 1'),
      () => move(2, 'restored', -1, 4),
      () => move(2, 'bought', -1, 4),
      () => run('UPDATE traffic_movements SET amount = 6'),
      () => run('DELETE FROM traffic_movements'),
    ]) {
      expect((await failureOf(refused())).name).toBe('ConstraintViolation')
    }
    await post(3, 'debit', 'funds:yookassa', -6, -1)
    await post(4, 'refund', 'revenue:vpn', 5, 4, `'ord_1', 2`)
  })
})
