import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Engine, engines, openTestDatabase } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'
import { addCustomer, buy, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import { openDatabase } from '../../db/open.ts'
import type { Database, Tx } from '../../db/transaction.ts'

/** The same database, with a record of every statement of its transactions. */
function recordStatements(db: Database): { db: Database; statements: string[] } {
  const statements: string[] = []
  const recorded = (tx: Tx): Tx => ({
    all: (sql, values) => {
      statements.push(sql)
      return tx.all(sql, values)
    },
    first: (sql, values) => {
      statements.push(sql)
      return tx.first(sql, values)
    },
    run: (sql, values) => {
      statements.push(sql)
      return tx.run(sql, values)
    },
    send: (sql, values) => {
      statements.push(sql)
      tx.send(sql, values)
    },
  })
  return { statements, db: { ...db, transact: (work) => db.transact((tx) => work(recorded(tx))) } }
}

describe.each([...engines])('access status of a purchase on %s', (engine: Engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let other: Database
  let here: Services
  let otherShop: Services
  let statements: string[]
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    other = openDatabase(opened.testDatabase.address)
    const recorder = recordStatements(opened.db)
    statements = recorder.statements
    here = wire(recorder.db)
    otherShop = wire(other)
  })
  afterAll(async () => {
    await other.close()
    await opened.close()
  })

  /** A payer with the revocation epoch of an authentication, and a payer without one. */
  async function newPayers() {
    const customer = await addCustomer(here, 100_000n)
    const { text, token } = await here.customers.issueToken(customer, { name: 'test' })
    const seen = await here.customers.authenticate(text, undefined, 'trade')
    return { customer, id: token.id, seen, unseen: { customer, token: { id: token.id, cap: null } } }
  }

  test('a purchase with a token that another process has revoked is refused with invalid_token', async () => {
    const { id, seen, unseen } = await newPayers()
    for (const by of [seen, unseen]) await buy(here, by, 900n)
    await otherShop.customers.revokeToken(id)
    for (const by of [seen, unseen]) expect((await refusalOf(buy(here, by, 900n))).code).toBe('invalid_token')
  })

  test('a purchase with a token that SQL has revoked, expired, moved or deleted is refused with invalid_token', async () => {
    for (const sql of [
      'UPDATE tokens SET revoked_at = 1 WHERE id = $1',
      'UPDATE tokens SET expires_at = 1 WHERE id = $1',
      `UPDATE tokens SET customer_id = (SELECT MIN(id) FROM customers) WHERE id = $1`,
      'DELETE FROM tokens WHERE id = $1',
    ]) {
      const { id, seen } = await newPayers()
      await buy(here, seen, 900n)
      await other.transact((tx) => tx.run(sql, [id]))
      expect((await refusalOf(buy(here, seen, 900n))).code).toBe('invalid_token')
    }
  })

  test('a purchase with a token is refused from the moment of its expiry', async () => {
    const { seen } = await newPayers()
    const ended = {
      ...seen,
      token: seen.token && { ...seen.token, seen: { expiresAt: Date.now(), revocationEpoch: 0 } },
    }
    expect((await refusalOf(buy(here, ended, 900n))).code).toBe('invalid_token')
  })

  test('a purchase succeeds after another token of the same customer is revoked', async () => {
    const { customer, seen } = await newPayers()
    const { token } = await here.customers.issueToken(customer, { name: 'another' })
    await otherShop.customers.revokeToken(token.id)
    await buy(here, seen, 900n)
  })

  test('a purchase of a customer whom another process has blocked is refused until unblocked', async () => {
    const { customer, seen, unseen } = await newPayers()
    await buy(here, seen, 900n)
    await otherShop.setBlocked(customer, true)
    for (const payer of [seen, unseen, { customer, token: null }]) {
      expect((await refusalOf(buy(here, payer, 900n))).code).toBe('forbidden')
    }
    await otherShop.setBlocked(customer, false)
    await buy(here, seen, 900n)
  })

  test('an idempotency key is not replayed to a blocked customer, and is replayed to an automatic purchase', async () => {
    const { customer, seen, unseen } = await newPayers()
    const [interactive, automatic] = [
      { key: `asked ${customer}` },
      { key: `itself ${customer}`, automatic: true } as const,
    ]
    await buy(here, seen, 900n, interactive)
    const first = await buy(here, unseen, 900n, automatic)
    await otherShop.setBlocked(customer, true)
    expect((await refusalOf(buy(here, seen, 900n, interactive))).code).toBe('forbidden')
    expect(await buy(here, unseen, 900n, automatic)).toMatchObject({ ...first, replayed: true })
    await otherShop.setBlocked(customer, false)
    expect(await buy(here, seen, 900n, interactive)).toMatchObject({ replayed: true })
  })

  test('a purchase with the token of another customer or with an unknown token is refused', async () => {
    const [by, otherCustomer] = [await newPayers(), await newPayers()]
    const unknown = { id: 'tok_00000000000000000000000000' as never, cap: null }
    for (const token of [otherCustomer.unseen.token, unknown]) {
      expect((await refusalOf(buy(here, { customer: by.customer, token }, 900n))).code).toBe('invalid_token')
    }
  })

  test('a sale of an authenticated caller has 4 statements and reads neither the token nor the customer again', async () => {
    const { seen } = await newPayers()
    statements.length = 0
    await buy(here, seen, 900n)
    expect(statements.map((sql) => /\b(accounts|postings|orders|tokens|customers)\b/.exec(sql)?.[1])).toEqual([
      'accounts',
      'accounts',
      'postings',
      'orders',
    ])
  })
})

// PostgreSQL only: SQLite locks the whole database, not single rows.
test('a purchase on postgres is refused if its token is revoked while it waits for the lock of the account', async () => {
  const opened = await openTestDatabase('postgres')
  const other = openDatabase(opened.testDatabase.address)
  const [here, otherShop] = [wire(opened.db), wire(other)]
  const customer = await addCustomer(here, 100_000n)
  const { text, token } = await here.customers.issueToken(customer, { name: 'test' })
  const by = await here.customers.authenticate(text, undefined, 'trade')
  const isWaiting = async () =>
    (await other.first(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )) !== undefined
  let attempt: Promise<unknown> = Promise.resolve()
  await other.transact(async (tx) => {
    await otherShop.ledger.lock(tx, customer)
    attempt = refusalOf(buy(here, by, 900n, { key: 'waits' }))
    expect(await untilTrue(isWaiting)).toBe(true)
    await tx.run('UPDATE tokens SET revoked_at = 1 WHERE id = $1', [token.id])
  })
  expect(await attempt).toMatchObject({ code: 'invalid_token' })
  await other.close()
  await opened.close()
})
