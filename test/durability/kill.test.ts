import { describe, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import type { CustomerId } from '../../src/core/ids.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/transaction.ts'
import { engines, openTestDatabase } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { addCustomer, findingsOf, wire } from '../harness/wired.ts'
import { killWhen } from './kill-when.ts'

const program = fileURLToPath(import.meta.resolve('./load.ts'))
/** Orders acknowledged before a kill: the first purchases are running, or many are done. Random in a long run. */
const soldBefore = [0, 20]
const kills = isLong ? 50 : soldBefore.length

/** Runs the load, kills it after `sold` acknowledged orders, and returns the acknowledged orders. */
async function loadAndKill(address: string, customers: readonly CustomerId[], sold: number): Promise<string[]> {
  const child = Bun.spawn([process.execPath, program, address, ...customers], { stdout: 'pipe', stderr: 'inherit' })
  const [begun, ...orders] = await killWhen(child, (lines) => lines.length > sold)
  expect(begun).toBe('begun')
  return orders
}

/** Matches orders and charges in both directions, to find half-done purchases. */
async function countHalves(db: Database): Promise<{ unpaid: bigint; undelivered: bigint; unanswered: bigint }> {
  const count = async (sql: string) => (await db.first<{ n: bigint }>(sql))?.n ?? -1n
  return {
    unpaid: await count(
      `SELECT COUNT(*) AS n FROM orders o WHERE NOT EXISTS
         (SELECT 1 FROM postings p WHERE p.customer_id = o.customer_id AND p.seq = o.charge_seq AND p.order_id = o.id)`,
    ),
    undelivered: await count(
      `SELECT COUNT(*) AS n FROM postings p WHERE p.kind = 'charge' AND NOT EXISTS
         (SELECT 1 FROM orders o WHERE o.id = p.order_id AND o.charge_seq = p.seq AND o.price = -p.amount)`,
    ),
    unanswered: await count(`SELECT (SELECT COUNT(*) FROM orders) - (SELECT COUNT(*) FROM answers) AS n`),
  }
}

describe.each([...engines])('a shop on %s killed under load', (engine) => {
  test(`a shop killed by SIGKILL ${kills} times has every acknowledged purchase, and no charge without its order`, async () => {
    const { db: first, testDatabase } = await openTestDatabase(engine)
    const customers = [await addCustomer(wire(first), 10n ** 12n), await addCustomer(wire(first), 10n ** 12n)]
    await first.close()
    const acknowledged = new Set<string>()
    for (let kill = 0; kill < kills; kill += 1) {
      const sold = soldBefore[kill] ?? Math.floor(Math.random() * 200)
      const fresh = await loadAndKill(testDatabase.address, customers, sold)
      for (const order of fresh) acknowledged.add(order)
      const db = openDatabase(testDatabase.address)
      const kept = new Set((await db.all<{ id: string }>('SELECT id FROM orders')).map((row) => row.id))
      const lost = [...acknowledged].filter((order) => !kept.has(order))
      expect(lost).toEqual([])
      expect(await countHalves(db)).toEqual({ unpaid: 0n, undelivered: 0n, unanswered: 0n })
      expect(await findingsOf(wire(db))).toEqual([])
      await db.close()
    }
    await testDatabase.remove()
  })
})
