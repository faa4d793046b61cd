import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Engine, engines, openTestDatabase } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'
import { addCustomer, buy, wire } from '../../../test/harness/wired.ts'
import { openDatabase } from '../../db/open.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Services } from '../../main/shop/services.ts'
import type { Payer } from '../ledger/index.ts'

/** The same database, with every statement of its transactions written down. */
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
    other = openDatabase(opened.place.address)
    const ear = overheard(opened.db)
    statements = ear.statements
    here = wire(ear.db)
    elsewhere = wire(other)
  })
  afterAll(async () => {
    await other.close()
    await opened.close()
  })

  async function newPayer(): Promise<Payer & { token: NonNullable<Payer['token']> }> {
    const customer = await addCustomer(here, 100_000n)
    const { token } = await here.customers.issueToken(customer, { name: 'test' })
    return { customer, token: { id: token.id, cap: null } }
  }

  test('a token that another process revoked a moment ago buys nothing more', async () => {
    const by = await newPayer()
    await buy(here, by, 900n)
    await elsewhere.customers.revokeToken(by.token.id)
    expect((await refusalOf(buy(here, by, 900n))).code).toBe('invalid_token')
  })

  test('a customer whom another process blocked a moment ago buys nothing more, with a token or without', async () => {
    const by = await newPayer()
    await buy(here, by, 900n)
    await elsewhere.setBlocked(by.customer, true)
    for (const payer of [by, { ...by, token: null }]) {
      expect((await refusalOf(buy(here, payer, 900n))).code).toBe('forbidden')
    }
  })

  test("another customer's token buys nothing, and neither does one that does not exist", async () => {
    const [by, stranger] = [await newPayer(), await newPayer()]
    const unknown = { id: 'tok_00000000000000000000000000' as never, cap: null }
    for (const token of [stranger.token, unknown]) {
      expect((await refusalOf(buy(here, { ...by, token }, 900n))).code).toBe('invalid_token')
    }
  })

  test('whoever may buy is found out in the statement that locks the account, and a sale is four in all', async () => {
    const by = await newPayer()
    statements.length = 0
    await buy(here, by, 900n)
    expect(statements.map((sql) => /\b(accounts|postings|orders|tokens)\b/.exec(sql)?.[1])).toEqual([
      'accounts',
      'accounts',
      'postings',
      'orders',
    ])
    expect(statements[0]).toContain('tokens')
  })
})

// SQLite has no such wait: whoever is in turn has the whole database.
test('a token revoked while its purchase waits for its turn, on postgres, buys nothing', async () => {
  const opened = await openTestDatabase('postgres')
  const other = openDatabase(opened.place.address)
  const [here, elsewhere] = [wire(opened.db), wire(other)]
  const customer = await addCustomer(here, 100_000n)
  const { token } = await here.customers.issueToken(customer, { name: 'test' })
  const by = { customer, token: { id: token.id, cap: null } }
  const isWaiting = async () =>
    (await other.first(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )) !== undefined
  let attempt: Promise<unknown> = Promise.resolve()
  await other.transact(async (tx) => {
    await elsewhere.ledger.lock(tx, customer)
    attempt = refusalOf(buy(here, by, 900n, { key: 'waits' }))
    expect(await untilTrue(isWaiting)).toBe(true)
    await elsewhere.customers.revokeToken(token.id)
  })
  expect(await attempt).toMatchObject({ code: 'invalid_token' })
  await other.close()
  await opened.close()
})
