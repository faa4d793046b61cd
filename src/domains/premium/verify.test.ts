import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../../../test/harness/database.ts'
import { failureOf } from '../../../test/harness/failure.ts'
import { leaseBytes, openPremiumShop, type PremiumShop, pool } from '../../../test/harness/premium.ts'
import { sampledOn } from '../../../test/harness/scale.ts'
import { findingsAfter } from '../../../test/harness/wired.ts'
import type { SubuserId } from '../../core/ids.ts'
import { ConstraintViolation, type Tx } from '../../db/transaction.ts'

/** Corruption that the shop cannot make: triggers are disabled first, as an intruder with database access would. */
const corruptions: readonly {
  name: string
  finding: RegExp
  plant: (tx: Tx, subuser: SubuserId) => Promise<unknown>
}[] = [
  {
    name: 'a balance that was raised',
    finding: /bytes_differ/,
    plant: (tx, id) => tx.run('UPDATE traffic_accounts SET balance = balance + 1 WHERE subuser_id = $1', [id]),
  },
  {
    name: 'a count of used bytes that was lowered',
    finding: /bytes_differ/,
    plant: (tx, id) => tx.run('UPDATE traffic_accounts SET used = used - 1 WHERE subuser_id = $1', [id]),
  },
  {
    name: 'a movement that was changed',
    finding: /chain_hash/,
    plant: (tx, id) =>
      tx.run(`UPDATE traffic_movements SET at = at + 1 WHERE subuser_id = $1 AND kind = 'bought'`, [id]),
  },
  {
    name: 'a movement whose amount was changed',
    finding: /movement_sums/,
    plant: (tx, id) =>
      tx.run(`UPDATE traffic_movements SET amount = amount + 5 WHERE subuser_id = $1 AND kind = 'bought'`, [id]),
  },
  {
    name: 'a movement that was deleted from the middle',
    finding: /chain_gap/,
    plant: (tx, id) => tx.run('DELETE FROM traffic_movements WHERE subuser_id = $1 AND seq = 2', [id]),
  },
  {
    name: 'a movement that was deleted at the end',
    finding: /chain_count/,
    plant: (tx, id) =>
      tx.run(
        `DELETE FROM traffic_movements WHERE subuser_id = $1
           AND seq = (SELECT MAX(seq) FROM traffic_movements WHERE subuser_id = $1)`,
        [id],
      ),
  },
  {
    name: 'a movement without an account',
    finding: /rows_counted/,
    plant: (tx, id) =>
      tx.run(
        `INSERT INTO traffic_movements SELECT subuser_id, 'mobile', seq, kind, amount, aside, owed, balance_after,
           aside_after, owed_after, order_id, node, boot, at, hash
         FROM traffic_movements WHERE subuser_id = $1 AND seq = 1`,
        [id],
      ),
  },
  {
    name: 'a chain head that is not the last hash',
    finding: /chain_head/,
    plant: (tx, id) => tx.run('UPDATE traffic_accounts SET head = $2 WHERE subuser_id = $1', [id, new Uint8Array(32)]),
  },
  {
    name: 'a lot that holds more than its account',
    finding: /lots_rest/,
    plant: (tx, id) => tx.run('UPDATE traffic_lots SET size = size + 9, rest = rest + 9 WHERE subuser_id = $1', [id]),
  },
  {
    name: 'an order with another amount',
    finding: /traffic_delivered/,
    plant: (tx) => tx.run(`UPDATE orders SET calculation = REPLACE(calculation, '"gb":0.1', '"gb":0.2')`),
  },
  {
    name: 'an order whose price differs from its price list',
    finding: /price_differs/,
    plant: (tx) => tx.run(`UPDATE orders SET price = price + 1 WHERE product = 'premium' AND price > 0`),
  },
  {
    name: 'an order that was not delivered',
    finding: /traffic_undelivered/,
    plant: (tx) =>
      tx.run(
        `INSERT INTO orders (id, customer_id, product, action, price, charge_seq, token_id, input, calculation, created_at)
         SELECT 'ord_zzzzzzzzzzzzzzzzzzzzzzzzzz', customer_id, product, action, price,
           charge_seq, token_id, input, calculation, created_at
         FROM orders WHERE product = 'premium' AND price > 0 LIMIT 1`,
      ),
  },
  {
    name: 'bytes that refer to a missing order',
    finding: /order_named/,
    plant: (tx) => tx.run(`DELETE FROM orders WHERE product = 'premium'`),
  },
  {
    name: 'a lease whose grant was raised',
    finding: /lease_totals/,
    plant: (tx) => tx.run('UPDATE usage_leases SET granted = granted + 1, aside = aside + 1 WHERE aside > 0'),
  },
  {
    name: 'a lease that was deleted',
    finding: /lease_bytes_lost/,
    plant: (tx) => tx.run('DELETE FROM usage_leases'),
  },
  {
    name: 'a count that no node reported',
    finding: /lease_count/,
    plant: (tx) => tx.run('UPDATE usage_counts SET received = received + 1'),
  },
]

describe.each([...engines])('verify of traffic on %s', (engine) => {
  let shop: PremiumShop
  let subuser: SubuserId
  beforeAll(async () => {
    shop = await openPremiumShop(engine)
    const customer = await shop.newCustomer()
    subuser = (await shop.services.premium.subusers.load(customer, undefined)).id
    const other = await shop.services.premium.subusers.create(customer, { name: 'other' })
    await shop.buy(customer, 1)
    const report = (turn: number, received: bigint) =>
      shop.services.premium.metering.takeReport({
        node: 'n1',
        boot: 'b1',
        counts: [{ subuser, pool, received, sent: 0n }],
        leaseRequests: [{ subuser, pool, turn, want: 'lease' }],
      })
    await report(1, 0n)
    await report(2, leaseBytes / 2n)
    await shop.move(customer, 'all', undefined, other.id)
  })
  afterAll(() => shop.close())

  async function dropGuards(tx: Tx): Promise<void> {
    if (engine === 'postgres') {
      await tx.run('ALTER TABLE traffic_movements DISABLE TRIGGER USER')
      return
    }
    await tx.run('DROP TRIGGER traffic_movements_append_only')
    await tx.run('DROP TRIGGER traffic_movements_no_delete')
  }

  test('verify finds nothing in correct byte accounts, and counts the checked rows', async () => {
    expect(await shop.findings()).toEqual([])
    const audits = await Promise.all(shop.services.verifiers.map((each) => each.verify()))
    expect(Object.assign({}, ...audits.map((each) => each.covered))).toMatchObject({
      'traffic accounts': 2,
      'traffic movements': 6,
      'traffic orders': 2,
      'leased subjects': 1,
      'subjects with claims in quarantine': 0,
    })
  })

  test.each(sampledOn(engine, corruptions))('verify reports $name', async ({ plant, finding }) => {
    const found = await findingsAfter(shop.services.db, async (tx) => {
      await dropGuards(tx)
      await plant(tx, subuser)
    })
    expect(found.map((each) => each.reason).join('\n')).toMatch(finding)
  })

  test('verify finds nothing after every change is rolled back', async () => {
    expect(await shop.findings()).toEqual([])
  })

  test('the database refuses changed or deleted movements, and negative balances', async () => {
    const { db } = shop.services
    for (const sql of [
      'UPDATE traffic_movements SET at = 0',
      'DELETE FROM traffic_movements',
      'UPDATE traffic_accounts SET balance = -1',
      'UPDATE traffic_accounts SET aside = -1',
      'UPDATE traffic_accounts SET owed = 1, balance = 1',
    ]) {
      expect(await failureOf(db.transact((tx) => tx.run(sql)))).toBeInstanceOf(ConstraintViolation)
    }
  })
})
