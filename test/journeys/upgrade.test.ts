import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/transaction.ts'
import { readMigrations } from '../../src/main/shop/database.ts'
import { engines, makePlace, type Place } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'

describe.each([...engines])('a database of an earlier version on %s', (engine) => {
  let place: Place
  let db: Database
  beforeEach(async () => {
    place = await makePlace(engine)
    db = openDatabase(place.address)
    await migrate(
      db,
      readMigrations().filter((each) => each.name < '0009'),
    )
  })
  afterEach(async () => {
    await db.close()
    await place.remove()
  })
  const run = (sql: string) => db.transact((tx) => tx.run(sql))

  test('keeps what was counted, moved and leased, and is held to the bounds from then on', async () => {
    const hash = engine === 'sqlite' ? `x'00'` : `'\\x00'`
    await run(
      `INSERT INTO stock (id, address, slot, country, ipv, state, retiring) VALUES (1, '192.0.2.1', 0, 'DE', 4, 'free', 0)`,
    )
    await run('INSERT INTO leases (place_id, started_at, ended_at, proxy_id) VALUES (1, 10, 20, 1), (1, 30, 40, 2)')
    await run(`INSERT INTO usage_boots (node, boot, last_at) VALUES ('n', 'b', 77), ('n', 'a', 66)`)
    await run(
      `INSERT INTO usage_counts (node, boot, subject, received, sent, updated_at)
       VALUES ('n', 'b', 'dev_1', 5, 7, 77), ('n', 'b', 'dev_2', 9007199254740991, 0, 77)`,
    )
    await run(
      `INSERT INTO traffic_movements (subuser_id, pool, seq, kind, amount, aside, owed, balance_after, aside_after,
         owed_after, order_id, at, hash) VALUES ('sub_1', 'p', 1, 'bought', 5, 0, 0, 5, 0, 0, 'ord_1', 1, ${hash})`,
    )
    expect(await migrate(db, readMigrations())).toContain('0009-bounds')
    expect(await db.all('SELECT free_from FROM stock')).toEqual([{ free_from: 40n }])
    expect(
      await db.all('SELECT subject, believed_received AS r, believed_sent AS s FROM usage_counts ORDER BY 1'),
    ).toEqual([
      { subject: 'dev_1', r: 5n, s: 7n },
      { subject: 'dev_2', r: 8_000_000_000_000_000n, s: 0n },
    ])
    expect(await db.all('SELECT node, rest, at FROM usage_budgets')).toEqual([{ node: 'n', rest: 0n, at: 77n }])
    expect(await db.all('SELECT seq, kind, amount, order_id FROM traffic_movements')).toEqual([
      { seq: 1n, kind: 'bought', amount: 5n, order_id: 'ord_1' },
    ])
    for (const sql of [
      'UPDATE traffic_movements SET amount = 6',
      'DELETE FROM traffic_movements',
      `INSERT INTO traffic_movements SELECT subuser_id, pool, 2, 'restored', -1, 0, 0, 4, 0, 0, order_id, node, boot, at, hash
       FROM traffic_movements`,
      `INSERT INTO traffic_movements SELECT subuser_id, pool, 2, 'bought', -1, 0, 0, 4, 0, 0, order_id, node, boot, at, hash
       FROM traffic_movements`,
      'UPDATE usage_counts SET believed_sent = sent + 1',
      `UPDATE usage_counts SET sent = 9007199254740991, believed_sent = 9007199254740991 WHERE subject = 'dev_1'`,
    ]) {
      expect([sql, (await failureOf(run(sql))).name]).toEqual([sql, 'ConstraintViolation'])
    }
  })
})

test.each([...engines])(
  'tokens and sessions from before the scope passwords keep what they see, on %s',
  async (engine) => {
    const place = await makePlace(engine)
    const db = openDatabase(place.address)
    await migrate(
      db,
      readMigrations().filter((each) => each.name < '0036'),
    )
    const digest = (at: number) => (engine === 'sqlite' ? `x'0${at}'` : `'\\x0${at}'`)
    const statements = [
      `INSERT INTO customers (id, name, created_at) VALUES ('cus_1', 'a', 1)`,
      ...['read', 'trade', 'pay', 'read trade pay', 'read'].map(
        (scopes, at) =>
          `INSERT INTO tokens (id, customer_id, digest, hint, name, scopes, allowed_from, created_at, revoked_at)
         VALUES ('tok_${at}', 'cus_1', ${digest(at)}, 'h', 'n', '${scopes}', '', 1, ${at === 4 ? 2 : 'NULL'})`,
      ),
      ...['NULL', `'op_1'`].map(
        (openedBy, at) =>
          `INSERT INTO console_sessions (id, kind, owner_id, digest, scopes, opened_by, created_at, used_at, expires_at)
         VALUES ('ses_${at}', 'customer', 'cus_1', ${digest(at)}, 'read', ${openedBy}, 1, 1, 9)`,
      ),
    ]
    await db.transact(async (tx) => {
      for (const sql of statements) await tx.run(sql)
    })
    await migrate(db, readMigrations())
    const scopesIn = async (table: string) =>
      (await db.all<{ scopes: string }>(`SELECT scopes FROM ${table} ORDER BY id`)).map((each) => each.scopes)
    expect(await scopesIn('tokens')).toEqual([
      'read passwords',
      'trade passwords',
      'pay',
      'read trade pay passwords',
      'read',
    ])
    expect(await scopesIn('console_sessions')).toEqual(['read passwords', 'read'])
    const changes = await db.all<{ content: string }>(
      `SELECT content FROM row_history WHERE of_table = 'tokens' AND row_key = 'tok_3' ORDER BY version DESC LIMIT 1`,
    )
    expect(String(changes[0]?.content)).toContain('read trade pay passwords')
    await db.close()
    await place.remove()
  },
)

describe.each([...engines])('the books of a shop from before payments, on %s', (engine) => {
  test('stay what they were; from then on a provider may leave a debt, and nobody else', async () => {
    const place = await makePlace(engine)
    const db = openDatabase(place.address)
    const run = (sql: string) => db.transact((tx) => tx.run(sql))
    const hash = engine === 'sqlite' ? `x'00'` : `'\\x00'`
    await migrate(
      db,
      readMigrations().filter((each) => each.name < '0020'),
    )
    await run(`INSERT INTO customers (id, name, created_at) VALUES ('cus_1', 'a', 1)`)
    await run(
      `INSERT INTO accounts (customer_id, balance, api_spent, seq, head, last_at) VALUES ('cus_1', 5, 0, 2, ${hash}, 1)`,
    )
    const post = (seq: number, kind: string, house: string, amount: number, after: number, also = 'NULL, NULL') =>
      run(
        `INSERT INTO postings (customer_id, seq, kind, house, amount, balance_after, note, at, hash, order_id, refund_of)
         VALUES ('cus_1', ${seq}, '${kind}', '${house}', ${amount}, ${after}, 'n', 1, ${hash}, ${also})`,
      )
    await post(1, 'credit', 'funds:operator', 10, 10)
    await post(2, 'charge', 'revenue:vpn', -5, 5, `'ord_1', NULL`)
    const read = () => db.all('SELECT * FROM postings ORDER BY seq')
    const accounts = await db.all<object>('SELECT * FROM accounts')
    const before = [await read(), accounts.map((account) => ({ ...account, shut_count: 0n }))]
    await migrate(db, readMigrations())
    expect([await read(), await db.all('SELECT * FROM accounts')]).toEqual(before)
    for (const refused of [
      () => post(3, 'charge', 'revenue:vpn', -6, -1, `'ord_2', NULL`),
      () => post(3, 'debit', 'funds:operator', -6, -1),
      () => post(3, 'refund', 'revenue:vpn', 6, 11, `'ord_1', 2`),
      () => run('UPDATE postings SET amount = 11 WHERE seq = 1'),
      () => run('DELETE FROM postings WHERE seq = 1'),
    ]) {
      expect((await failureOf(refused())).name).toBe('ConstraintViolation')
    }
    await post(3, 'debit', 'funds:yookassa', -6, -1)
    await post(4, 'refund', 'revenue:vpn', 5, 4, `'ord_1', 2`)
    await db.close()
    await place.remove()
  })
})
