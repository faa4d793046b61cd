import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Services } from '../../src/app/shop/services.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import type { Tx } from '../../src/db/transaction.ts'
import { HandClock } from '../harness/clock.ts'
import { type Engine, openTestDatabase } from '../harness/database.ts'
import { shipped } from '../harness/proxies.ts'
import { isLong } from '../harness/scale.ts'
import { addCustomer, buy, buying, credit, findingsOf, keylessRequest, wire } from '../harness/wired.ts'

setDefaultTimeout(600_000)

/** One more than `verify` reads per page, of subscriptions and of everything else. */
const [manySubscriptions, many] = [101, 501]
const engines: readonly Engine[] = isLong ? ['sqlite', 'postgres'] : ['sqlite']

async function times(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < count; index += 1) await work(index)
}

/**
 * More than a page of everything: accounts, postings of one account, checkpoints, orders, answers, traffic accounts.
 */
async function fill(services: Services, clock: HandClock): Promise<void> {
  await services.db.transact((tx) => services.pricing.apply(tx, shipped()))
  const first = await addCustomer(services, 100_000_000n)
  const by = { customer: first, token: null }
  const traffic = (customer: CustomerId) =>
    services.premium.traffic.buy(keylessRequest(customer), { pool: 'datacenter', tenths: 1, subuser: undefined })
  const { db, fleet, vpn } = services
  const node = await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name: 'vpn-1', location: 'frankfurt' }))
  // On one account, because a checkpoint reads all accounts.
  await times(many - 1, async (index) => {
    clock.advance(120_000)
    await credit(services, first, 1n)
    await buy(services, by, 1n, { key: `key ${index}` })
    await services.ledgerAudit.makeCheckpoint()
  })
  await buy(services, by, 1n, { key: 'last key' })
  await fleet.seen(node.id, { version: '0.1.0' })
  await times(many, async (index) => {
    await traffic(first)
    const other = await addCustomer(services, 1_000_000n)
    await traffic(other)
    if (index < manySubscriptions) await buying(other, (request) => vpn.buy(request, { months: 1 }))
  })
  clock.advance(120_000)
  await services.ledgerAudit.makeCheckpoint()
}

/** Drops or disables the triggers that protect the table. */
async function takeGuards(tx: Tx, engine: Engine, table: string): Promise<void> {
  if (engine === 'postgres') return void (await tx.run(`ALTER TABLE ${table} DISABLE TRIGGER USER`))
  const guards = await tx.all<{ name: string }>(
    `SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = $1`,
    [table],
  )
  for (const { name } of guards) await tx.run(`DROP TRIGGER ${name}`)
}

describe.each(engines)('tables larger than a page of verify, on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  /** Findings in other tables. */
  const known = new Set<string>()
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    const clock = new HandClock()
    services = wire(opened.db, clock)
    await fill(services, clock)
  })
  afterAll(() => opened?.close())

  test('verify reads every row of tables larger than a page once, and finds nothing wrong', async () => {
    const audits = await Promise.all(services.verifiers.map((verifier) => verifier.verify()))
    expect(audits.flatMap(({ findings }) => findings)).toEqual([])
    const covered = Object.fromEntries(audits.flatMap((audit) => Object.entries(audit.covered)))
    expect(covered).toMatchObject({
      accounts: many + 1,
      checkpoints: many,
      answers: many,
      subscriptions: manySubscriptions,
      'traffic accounts': many + 1,
    })
  })

  test.each([
    ['accounts', 'balance', 'customer_id'],
    ['checkpoints', 'balances', 'number'],
    ['vpn_subscriptions', 'anchor_day', 'uuid'],
    ['traffic_accounts', 'balance', 'subuser_id'],
  ])('verify finds a change in the last row of %s', async (table, column, key) => {
    const change = (by: number) =>
      opened.db.transact((tx) =>
        tx.run(`UPDATE ${table} SET ${column} = ${column} + ${by} WHERE ${key} = (SELECT MAX(${key}) FROM ${table})`),
      )
    const found = async () => (await findingsOf(services)).map(({ promise, where }) => `${promise}: ${where}`)
    await opened.db.transact((tx) => takeGuards(tx, engine, table))
    // In a long run verify also finds the missing triggers.
    for (const each of isLong ? await found() : []) known.add(each)
    await change(1)
    const news = (await found()).filter((each) => !known.has(each))
    expect(news).not.toEqual([])
    for (const each of news) known.add(each)
    await change(-1)
  })
})
