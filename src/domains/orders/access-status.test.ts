import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Engine, engines, openTestDatabase } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'
import { addCustomer, buy, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import { openDatabase } from '../../db/open.ts'
import type { Database, Tx } from '../../db/transaction.ts'

/** The same database, with a record of every statement of its transactions. */
function overheard(db: Database): { db: Database; statements: string[] } {
  const statements: string[] = []
  const heard = (tx: Tx): Tx => ({
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
  return { statements, db: { ...db, transact: (work) => db.transact((tx) => work(heard(tx))) } }
}

describe.each([...engines])('who may buy, on %s', (engine: Engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let other: Database
  let here: Services
  let elsewhere: Services
  let statements: string[]
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    other = openDatabase(opened.testDatabase.address)
    const ear = overheard(opened.db)
    statements = ear.statements
    here = wire(ear.db)
    elsewhere = wire(other)
  })
  afterAll(async () => {
    await other.close()
    await opened.close()
  })

  /** A payer with the revocation count of an authentication, and a payer without one. */
  async function newPayers() {
    const customer = await addCustomer(here, 100_000n)
    const { text, token } = await here.customers.issueToken(customer, { name: 'test' })
    const seen = await here.customers.authenticate(text, undefined, 'trade')
    return { customer, id: token.id, seen, unseen: { customer, token: { id: token.id, cap: null } } }
  }

  test('a token that another process has revoked buys nothing', async () => {
    const { id, seen, unseen } = await newPayers()
    for (const by of [seen, unseen]) await buy(here, by, 900n)
    await elsewhere.customers.revokeToken(id)
    for (const by of [seen, unseen]) expect((await refusalOf(buy(here, by, 900n))).code).toBe('invalid_token')
  })

  test('a token that was revoked or deleted by SQL buys nothing', async () => {
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

  test('an expired token buys nothing from the moment of its expiry', async () => {
    const { seen } = await newPayers()
    const ended = {
      ...seen,
      token: seen.token && { ...seen.token, seen: { expiresAt: Date.now(), revocationEpoch: 0 } },
    }
    expect((await refusalOf(buy(here, ended, 900n))).code).toBe('invalid_token')
  })

  test('revoking one token does not stop the customer’s other tokens', async () => {
    const { customer, seen } = await newPayers()
    const { token } = await here.customers.issueToken(customer, { name: 'another' })
    await elsewhere.customers.revokeToken(token.id)
    await buy(here, seen, 900n)
  })

  test('a customer whom another process has blocked buys nothing until unblocked', async () => {
    const { customer, seen, unseen } = await newPayers()
    await buy(here, seen, 900n)
    await elsewhere.setBlocked(customer, true)
    for (const payer of [seen, unseen, { customer, token: null }]) {
      expect((await refusalOf(buy(here, payer, 900n))).code).toBe('forbidden')
    }
    await elsewhere.setBlocked(customer, false)
    await buy(here, seen, 900n)
  })

  test('a used key is not replayed to a revoked caller, and is replayed to an automatic purchase', async () => {
    const { customer, seen, unseen } = await newPayers()
    const [interactive, byItself] = [
      { key: `asked ${customer}` },
      { key: `itself ${customer}`, automatic: true } as const,
    ]
    await buy(here, seen, 900n, interactive)
    const first = await buy(here, unseen, 900n, byItself)
    await elsewhere.setBlocked(customer, true)
    expect((await refusalOf(buy(here, seen, 900n, interactive))).code).toBe('forbidden')
    expect(await buy(here, unseen, 900n, byItself)).toEqual({ ...first, replayed: true })
    await elsewhere.setBlocked(customer, false)
    expect(await buy(here, seen, 900n, interactive)).toMatchObject({ replayed: true })
  })

  test("another customer's token buys nothing, and neither does one that does not exist", async () => {
    const [by, otherCustomer] = [await newPayers(), await newPayers()]
    const unknown = { id: 'tok_00000000000000000000000000' as never, cap: null }
    for (const token of [otherCustomer.unseen.token, unknown]) {
      expect((await refusalOf(buy(here, { customer: by.customer, token }, 900n))).code).toBe('invalid_token')
    }
  })

  test('a sale of an authenticated caller is four statements: it reads neither token nor customer again', async () => {
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

// PostgreSQL only: on SQLite a transaction has the whole database and waits for no row lock.
test('a token revoked while its purchase waits for the account’s lock, on postgres, buys nothing', async () => {
  const opened = await openTestDatabase('postgres')
  const other = openDatabase(opened.testDatabase.address)
  const [here, elsewhere] = [wire(opened.db), wire(other)]
  const customer = await addCustomer(here, 100_000n)
  const { text, token } = await here.customers.issueToken(customer, { name: 'test' })
  const by = await here.customers.authenticate(text, undefined, 'trade')
  const isWaiting = async () =>
    (await other.first(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )) !== undefined
  let attempt: Promise<unknown> = Promise.resolve()
  await other.transact(async (tx) => {
    await elsewhere.ledger.lock(tx, customer)
    attempt = refusalOf(buy(here, by, 900n, { key: 'waits' }))
    expect(await untilTrue(isWaiting)).toBe(true)
    await tx.run('UPDATE tokens SET revoked_at = 1 WHERE id = $1', [token.id])
  })
  expect(await attempt).toMatchObject({ code: 'invalid_token' })
  await other.close()
  await opened.close()
})
