import { describe, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/transaction.ts'
import type { CustomerId } from '../../src/kernel/ids.ts'
import { engines, openTestDatabase } from '../harness/database.ts'
import { scaled } from '../harness/scale.ts'
import { addCustomer, findingsOf, wire } from '../harness/wired.ts'

const program = fileURLToPath(import.meta.resolve('./load.ts'))
const kills = scaled(50)

/** When a load is killed: so long after it has sold so many. */
type Moment = { readonly sold: number; readonly laterMs: number }

/** Lets the load run, kills it without warning, and returns the orders that it had acknowledged. */
async function loadAndKill(address: string, customers: readonly CustomerId[], moment: Moment): Promise<string[]> {
  const child = Bun.spawn([process.execPath, program, address, ...customers], { stdout: 'pipe', stderr: 'inherit' })
  const lines: string[] = []
  let rest = ''
  let killer: ReturnType<typeof setTimeout> | undefined
  const decoder = new TextDecoder()
  for await (const chunk of child.stdout) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    if (lines.length > moment.sold) killer ??= setTimeout(() => child.kill('SIGKILL'), moment.laterMs)
  }
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
  return lines.filter((line) => line !== 'begun')
}

/** Orders and charges, matched both ways: what is half there shows. */
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

describe.each([...engines])('a shop on %s that is killed under load', (engine) => {
  test(`${kills} times over has lost no purchase it acknowledged and holds none by half`, async () => {
    const { db: first, place } = await openTestDatabase(engine)
    const customers = [await addCustomer(wire(first), 10n ** 12n), await addCustomer(wire(first), 10n ** 12n)]
    await first.close()
    const acknowledged = new Set<string>()
    for (let kill = 0; kill < kills; kill += 1) {
      const moment = { sold: kill % 2 === 0 ? 0 : 20, laterMs: Math.floor(Math.random() * 400) }
      const fresh = await loadAndKill(place.address, customers, moment)
      for (const order of fresh) acknowledged.add(order)
      const db = openDatabase(place.address)
      const kept = new Set((await db.all<{ id: string }>('SELECT id FROM orders')).map((row) => row.id))
      const lost = [...acknowledged].filter((order) => !kept.has(order))
      expect(lost).toEqual([])
      expect(await countHalves(db)).toEqual({ unpaid: 0n, undelivered: 0n, unanswered: 0n })
      expect(await findingsOf(wire(db))).toEqual([])
      await db.close()
    }
    await place.remove()
  })
})
