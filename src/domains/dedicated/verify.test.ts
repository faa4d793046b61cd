import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Engine, engines, makeTestDatabase, type TestDatabase } from '../../../test/harness/database.ts'
import {
  addStock,
  buyProxies,
  openDomainShop,
  prolongProxies,
  replaceProxy,
  shippedWith,
} from '../../../test/harness/proxies.ts'
import { sampledOn } from '../../../test/harness/scale.ts'
import { addCustomer, allFindingsOf, findingsAfter, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import type { PromiseName } from '../../core/finding.ts'
import { openDatabase } from '../../db/open.ts'
import type { Database, Tx } from '../../db/transaction.ts'

/** Statements that corrupt the database; some need its triggers and constraints to be dropped first. */
type Corruption = {
  readonly name: string
  readonly promise: PromiseName
  readonly spoil: (tx: Tx) => Promise<unknown>
}

const newest = `(SELECT MAX(id) FROM proxies WHERE state = 'held' AND ipv = 4)`
const oldest = `(SELECT MIN(id) FROM proxies WHERE state = 'held' AND ipv = 4)`
const orderOf = (action: string) => `(SELECT MIN(id) FROM orders WHERE action = '${action}')`
const edit = (action: string, from: string, to: string) => (tx: Tx) =>
  tx.run(`UPDATE orders SET calculation = REPLACE(calculation, '${from}', '${to}') WHERE id = ${orderOf(action)}`)
const run = (sql: string) => (tx: Tx) => tx.run(sql)

const corruptions: readonly Corruption[] = [
  {
    name: 'a leased slot is marked as free',
    promise: 'lease',
    spoil: run(`UPDATE stock SET state = 'free' WHERE id = (SELECT slot_id FROM proxies WHERE id = ${newest})`),
  },
  {
    name: 'the slot counter repeats the last number',
    promise: 'counter',
    spoil: run(`UPDATE counters SET next = (SELECT MAX(id) FROM stock) WHERE name = 'slot'`),
  },
  {
    name: 'a free slot is marked as leased',
    promise: 'lease',
    spoil: run(`UPDATE stock SET state = 'leased' WHERE id = (SELECT MIN(id) FROM stock WHERE state = 'free')`),
  },
  {
    name: 'a leased slot is marked as retired',
    promise: 'lease',
    spoil: run(`UPDATE stock SET state = 'retired' WHERE id = (SELECT slot_id FROM proxies WHERE id = ${newest})`),
  },
  {
    name: 'a slot is deleted',
    promise: 'lease',
    spoil: run(`DELETE FROM stock WHERE id = (SELECT slot_id FROM proxies WHERE id = ${newest})`),
  },
  {
    name: 'an open lease is deleted',
    promise: 'lease',
    spoil: run(`DELETE FROM leases WHERE proxy_id = ${newest}`),
  },
  {
    name: 'an open lease is ended',
    promise: 'lease',
    spoil: run(`UPDATE leases SET ended_at = started_at + 1 WHERE proxy_id = ${newest}`),
  },
  {
    name: 'an ended lease is opened again',
    promise: 'lease',
    spoil: run('UPDATE leases SET ended_at = NULL WHERE ended_at IS NOT NULL'),
  },
  {
    name: 'a lease is added to a free slot',
    promise: 'lease',
    spoil: run(
      `INSERT INTO leases (slot_id, started_at, proxy_id)
       SELECT MIN(id), 5, ${newest} FROM stock WHERE state = 'free'`,
    ),
  },
  {
    name: 'a past lease is added that overlaps another one',
    promise: 'lease',
    spoil: run(
      `INSERT INTO leases (slot_id, started_at, ended_at, proxy_id)
       SELECT slot_id, started_at - 5, started_at + 5, ${oldest} FROM leases WHERE proxy_id = ${newest}`,
    ),
  },
  {
    name: 'a lease is moved to another proxy',
    promise: 'lease',
    spoil: run(`UPDATE leases SET proxy_id = ${oldest} WHERE proxy_id = ${newest}`),
  },
  {
    name: "a proxy's address is changed",
    promise: 'lease',
    spoil: run(`UPDATE proxies SET address = '192.0.2.1' WHERE id = ${newest}`),
  },
  {
    name: "a proxy's slot is changed",
    promise: 'lease',
    spoil: run(`UPDATE proxies SET slot_id = slot_id + 100000 WHERE id = ${newest}`),
  },
  {
    name: "a slot's address is changed",
    promise: 'lease',
    spoil: run(`UPDATE stock SET address = '192.0.2.1' WHERE id = (SELECT slot_id FROM proxies WHERE id = ${newest})`),
  },
  {
    name: 'a proxy is given more time than was paid for',
    promise: 'term',
    spoil: run(`UPDATE proxies SET expires_at = expires_at + 86400000 WHERE id = ${newest}`),
  },
  {
    name: 'a prolonged proxy is given less time than was paid for',
    promise: 'term',
    spoil: run(`UPDATE proxies SET expires_at = expires_at - 1 WHERE id = ${oldest}`),
  },
  { name: 'a proxy is deleted', promise: 'delivery', spoil: run(`DELETE FROM proxies WHERE id = ${newest}`) },
  {
    name: 'an ended proxy is deleted',
    promise: 'delivery',
    spoil: run(`DELETE FROM proxies WHERE state = 'gone'`),
  },
  {
    name: 'a proxy is moved to an order that did not buy it',
    promise: 'delivery',
    spoil: run(
      `UPDATE proxies SET order_id = (SELECT order_id FROM proxies WHERE id = ${oldest}) WHERE id = ${newest}`,
    ),
  },
  {
    name: 'the country of a proxy is changed',
    promise: 'delivery',
    spoil: run(`UPDATE proxies SET country = 'BE' WHERE id = ${newest}`),
  },
  {
    name: 'a proxy is moved to another customer',
    promise: 'delivery',
    spoil: run(
      `UPDATE proxies SET customer_id = (SELECT MIN(id) FROM customers WHERE id <> customer_id) WHERE id = ${newest}`,
    ),
  },
  {
    name: 'an ended proxy is marked as held',
    promise: 'lease',
    spoil: run(`UPDATE proxies SET state = 'held' WHERE state = 'gone'`),
  },
  {
    name: 'a held proxy is marked as gone',
    promise: 'lease',
    spoil: run(`UPDATE proxies SET state = 'gone' WHERE id = ${newest}`),
  },
  {
    name: 'the passwords of two proxies are swapped',
    promise: 'secret',
    spoil: async (tx) => {
      const rows = await tx.all<{ id: bigint; password: Uint8Array; password_digest: Uint8Array }>(
        `SELECT id, password, password_digest FROM proxies WHERE state = 'held' ORDER BY id LIMIT 2`,
      )
      for (const [index, row] of rows.entries()) {
        const other = rows[1 - index]
        if (!other) throw new Error('there are too few proxies')
        await tx.run('UPDATE proxies SET password = $2, password_digest = $3 WHERE id = $1', [
          row.id,
          other.password,
          other.password_digest,
        ])
      }
    },
  },
  {
    name: 'the password digest of a proxy is changed',
    promise: 'secret',
    spoil: (tx) => tx.run(`UPDATE proxies SET password_digest = $1 WHERE id = ${newest}`, [new Uint8Array(32)]),
  },
  {
    name: "an order's price is changed",
    promise: 'price',
    spoil: run(`UPDATE orders SET price = price + 1 WHERE id = ${orderOf('buy')}`),
  },
  {
    name: "a prolonging's price is changed",
    promise: 'price',
    spoil: run(`UPDATE orders SET price = price - 1 WHERE id = ${orderOf('prolong')}`),
  },
  { name: 'a calculation names another country', promise: 'price', spoil: edit('buy', '"AT"', '"DE"') },
  { name: 'a calculation names a country without a price', promise: 'price', spoil: edit('buy', '"AT"', '"JP"') },
  { name: 'a calculation names another period', promise: 'price', spoil: edit('buy', '"period":30', '"period":60') },
  { name: 'a calculation names a period not sold', promise: 'price', spoil: edit('buy', '"period":30', '"period":31') },
  { name: 'a calculation names another count', promise: 'price', spoil: edit('buy', '"count":2', '"count":1') },
  { name: 'a calculation names another sum', promise: 'price', spoil: edit('buy', '"kopecks":"', '"kopecks":"9') },
  {
    name: 'a calculation names an unknown price list',
    promise: 'price',
    spoil: edit('buy', '"catalogue":1', '"catalogue":9'),
  },
  { name: 'a calculation names no price list', promise: 'price', spoil: edit('buy', '"catalogue"', '"katalog"') },
  { name: "a prolonging's line is changed", promise: 'price', spoil: edit('prolong', '"count":1', '"count":2') },
  { name: "a prolonging's lines are missing", promise: 'price', spoil: edit('prolong', '"lines"', '"Lines"') },
  { name: "a prolonging's proxies are missing", promise: 'price', spoil: edit('prolong', '"proxies"', '"Proxies"') },
  {
    name: 'an order is deleted',
    promise: 'delivery',
    spoil: run(`DELETE FROM orders WHERE id = ${orderOf('buy')}`),
  },
  {
    name: 'one customer holds one shared address twice',
    promise: 'lease',
    spoil: run(`UPDATE proxies SET customer_id = (SELECT MIN(customer_id) FROM proxies WHERE ipv = 3) WHERE ipv = 3`),
  },
  {
    name: 'a dedicated address is also in stock as a shared one',
    promise: 'stock',
    spoil: run(
      `INSERT INTO stock (id, address, slot, country, ipv, state, retiring)
       SELECT 900000, address, 1, country, 3, 'free', 0 FROM stock WHERE id = (SELECT slot_id FROM proxies WHERE id = ${newest})`,
    ),
  },
]

async function dropGuards(db: Database): Promise<void> {
  await db.transact(async (tx) => {
    const on = db.engine === 'postgres' ? ' ON leases' : ''
    for (const name of ['leases_no_overlap', 'leases_ended_immutable', 'leases_no_delete']) {
      await tx.run(`DROP TRIGGER ${name}${on}`)
    }
    await tx.run(`DROP TRIGGER stock_single_kind${db.engine === 'postgres' ? ' ON stock' : ''}`)
    await tx.run('DROP INDEX leases_one_open')
  })
}

/** A shop with proxies of all kinds, prolonged, swapped, expired and gone, closed so that it can be copied. */
async function makeHistory(engine: Engine): Promise<{ testDatabase: TestDatabase; remove(): Promise<void> }> {
  const shop = await openDomainShop(engine, shippedWith('AT'))
  const { services, clock } = shop
  await addStock(services, '203.0.113.0/27', 'AT', 4)
  await addStock(services, '198.51.100.0', 'AT', 3)
  await addStock(services, '2001:db8::/64', 'AT', 6)
  const [one, two] = [await addCustomer(services, 10n ** 7n), await addCustomer(services, 10n ** 7n)]
  const first = await buyProxies(services, one, { code: 'AT', ipv: 4, count: 2 })
  const [proxy] = first.proxies
  clock.advance(1)
  await prolongProxies(services, one, [proxy?.id ?? 0], 30)
  await buyProxies(services, two, { code: 'AT', ipv: 4, count: 1, period: 7 })
  clock.advanceDays(10)
  await services.dedicatedUpkeep.release(100)
  for (const customer of [one, two]) await buyProxies(services, customer, { code: 'AT', ipv: 3 })
  await buyProxies(services, two, { code: 'AT', ipv: 6, count: 2 })
  await replaceProxy(services, one, proxy?.id ?? 0)
  clock.advanceDays(1)
  await buyProxies(services, two, { code: 'AT', ipv: 4, count: 3 })
  expect(await allFindingsOf(services)).toEqual([])
  await dropGuards(shop.db)
  expect(await findingsWithoutGuards(services)).toEqual([])
  await shop.db.close()
  return { testDatabase: shop.testDatabase, remove: () => shop.testDatabase.remove() }
}

/** The findings other than dropped triggers and constraints. */
async function findingsWithoutGuards(services: Services): Promise<readonly object[]> {
  const { false: others = [], true: guards = [] } = Object.groupBy(await allFindingsOf(services), (each) =>
    each.promise === 'schema' ? 'true' : 'false',
  )
  expect(guards).toHaveLength(5)
  return others
}

describe.each([...engines])('verify on %s', (engine) => {
  let original: Awaited<ReturnType<typeof makeHistory>>
  let copy: TestDatabase
  let db: Database
  beforeAll(async () => {
    original = await makeHistory(engine)
    copy = await makeTestDatabase(engine, original.testDatabase)
    db = openDatabase(copy.address)
  })
  afterAll(async () => {
    await db.close()
    await copy.remove()
    await original.remove()
  })

  test.each(sampledOn(engine, corruptions).map((each) => ({ ...each })))(
    'verify reports that $name',
    async (corruption) => {
      const found = await findingsAfter(db, corruption.spoil)
      expect(found.map((each) => each.promise)).toContain(corruption.promise)
    },
  )

  test('verify finds nothing after every change is rolled back', async () => {
    expect(await findingsWithoutGuards(wire(db))).toEqual([])
  })
})
