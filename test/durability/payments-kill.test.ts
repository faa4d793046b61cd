import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../src/db/open.ts'
import type { CustomerId } from '../../src/kernel/ids.ts'
import { HandClock } from '../harness/clock.ts'
import { engines, openTestDatabase } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { addCustomer, findingsOf, wire } from '../harness/wired.ts'
import type { OtherSide } from '../providers/other-side.ts'
import { introduce } from '../providers/shop.ts'

setDefaultTimeout(isLong ? 3_600_000 : 120_000)

const program = fileURLToPath(import.meta.resolve('./payments-worker.ts'))
/** 200 in all in a long run; a few otherwise. */
const kills = isLong ? 34 : 2

/** Lets a worker run, pays what it begins and tells it so, kills it without warning; returns what it acknowledged. */
async function runAndKill(
  args: readonly string[],
  side: OtherSide,
  { runMs, least }: { readonly runMs: number; readonly least: number },
): Promise<string[]> {
  const child = Bun.spawn([process.execPath, program, ...args], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const lines: string[] = []
  let rest = ''
  let killer: ReturnType<typeof setTimeout> | undefined
  const decoder = new TextDecoder()
  for await (const chunk of child.stdout) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    if (lines.length > least) killer ??= setTimeout(() => child.kill('SIGKILL'), runMs)
    for (const bill of [...side.bills.values()].filter((each) => each.status === 'waiting')) {
      side.pay(bill.id)
      void child.stdin.write(`${JSON.stringify(side.tell(bill.id))}\n`)
    }
    await child.stdin.flush()
  }
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
  return lines.filter((line) => line !== 'begun')
}

describe.each([...engines])('a shop on %s that is killed while customers pay', (engine) => {
  test.each(['yookassa', 'crypto_pay', 'platega'] as const)(
    `has lost and doubled nothing of %s after ${kills} times`,
    async (provider) => {
      const { db: first, place } = await openTestDatabase(engine)
      const services = wire(first)
      // A pair for each time: what a killed one leaves open counts against its customer until it expires.
      const customers: CustomerId[] = []
      for (let count = 0; count < 2 * kills; count += 1) customers.push(await addCustomer(services, 0n))
      const { side, method } = await introduce(services, provider)
      await first.close()
      const acknowledged = new Set<string>()
      for (let kill = 0; kill < kills; kill += 1) {
        const runMs = 50 + Math.floor(Math.random() * 500)
        // At any point, also before it has done anything; the last one not before it has.
        const least = kill === kills - 1 ? 1 : 0
        const pair = customers.slice(2 * kill, 2 * kill + 2)
        const fresh = await runAndKill([place.address, provider, method, ...pair], side, { runMs, least })
        for (const id of fresh) acknowledged.add(id)
      }
      const db = openDatabase(place.address)
      // Later, with everybody well: what the killed ones have left is asked for, and told again.
      const clock = new HandClock(Date.now() + 5 * 60_000)
      let later = wire(db, clock)
      for (const [index, bill] of [...side.bills.values()].entries()) {
        // One process asks a provider only so much at a time; another one has not asked yet.
        if (index % 100 === 99) later = wire(db, clock)
        if (bill.status === 'waiting') side.pay(bill.id)
        const { headers, body } = side.tell(bill.id)
        const from = { version: 4 as const, bytes: Uint8Array.of(127, 0, 0, 1) }
        const notification = { headers: new Headers(headers), body: new TextEncoder().encode(body), from }
        await later.paymentWatch.notify(provider, notification)
      }
      while ((await later.paymentWatch.lookAgain(100)).asked > 0);
      const rows = await db.all<{ id: string; credited: bigint; amount: bigint; customer_id: string }>(
        'SELECT id, credited, amount, customer_id FROM payments',
      )
      const paid = new Set([...side.bills.values()].map((bill) => bill.mark))
      for (const row of rows) expect([row.id, row.credited]).toEqual([row.id, paid.has(row.id) ? row.amount : 0n])
      const known = new Set(rows.map((row) => row.id))
      expect([...acknowledged, ...paid].filter((id) => !known.has(id))).toEqual([])
      for (const customer of customers) {
        const sum = rows.filter((row) => row.customer_id === customer).reduce((all, row) => all + row.credited, 0n)
        expect((await later.ledger.balance(customer)).balance as bigint).toBe(sum)
      }
      expect(await findingsOf(later)).toEqual([])
      expect(acknowledged.size).toBeGreaterThan(0)
      await db.close()
      await side.stop()
      await place.remove()
    },
  )
})
