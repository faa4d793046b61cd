import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import type { Services } from '../../src/app/shop/services.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/transaction.ts'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import { engines, openTestDatabase } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { waitLimitMs } from '../harness/until.ts'
import { addCustomer, findingsOf, wire } from '../harness/wired.ts'
import type { Bill, OtherSide } from '../providers/other-side.ts'
import { introduce } from '../providers/shop.ts'
import { killWhen } from './kill-when.ts'

setDefaultTimeout(isLong ? 3_600_000 : 300_000)

const program = fileURLToPath(import.meta.resolve('./payments-worker.ts'))
const providers = ['yookassa', 'crypto_pay', 'platega'] as const
/**
 * A worker is killed once it has printed so many lines of each kind. A refused payment counts as begun: a customer with
 * too many open payments is refused, and may never begin another.
 */
type Moment = Readonly<Record<'ready' | 'begun' | 'notified' | 'bought', number>>
/** One with the first payments running; one with payments begun, credited and spent. */
const moments: readonly Moment[] = [
  { ready: 1, begun: 0, notified: 0, bought: 0 },
  { ready: 1, begun: 6, notified: 2, bought: 1 },
]
/** In a long run a worker is killed after up to so many payments. */
const maxBegun = 25
/** 200 in total in a long run. */
const kills = isLong ? 34 : moments.length
/** Every provider on both databases in a long run; otherwise one on each. YooKassa is that of the simulations. */
const providersOn = {
  sqlite: isLong ? providers : (['crypto_pay'] as const),
  postgres: isLong ? providers : (['platega'] as const),
}
/** The time between two workers: the next one polls what the previous one left. */
const laterMs = 20_000
/** One process may poll a provider 100 times at once, and finding a payment without a provider's id takes several. */
const batchSize = 20
/** In a long run verify also runs after every eighth kill. */
const verifyEvery = 8

const chance = (sides: number): number => Math.floor(Math.random() * sides)

/** Actions of payers, and the provider's notifications, some of which never arrive; polling finds those. */
function actOutside(side: OtherSide, notify: (id: string) => void): void {
  for (const bill of side.bills.values()) {
    if (bill.status === 'waiting') {
      const what = chance(20)
      if (what < 15) side.pay(bill.id)
      if (what === 15) side.end(bill.id)
      if (what < 10 || what === 15) notify(bill.id)
    } else if (isChargedBack(bill)) {
      side.refund(bill.id, 1 + chance(bill.hundredths))
      if (chance(2) === 0) notify(bill.id)
    } else if (chance(50) === 0) notify(bill.id)
  }
}

/** Some payers get a chargeback from the provider; Crypto Pay has none. */
const isChargedBack = (bill: Bill): boolean =>
  bill.status === 'paid' && bill.backHundredths === 0 && !/^\d+$/.test(bill.id) && chance(60) === 0

/** Runs a worker while payers pay, kills it at the moment, and returns the payments that it acknowledged. */
async function runAndKill(args: readonly string[], side: OtherSide, moment: Moment): Promise<string[]> {
  const child = Bun.spawn([process.execPath, program, ...args], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const countOf = (lines: readonly string[], keyword: string): number =>
    lines.filter((line) => line.startsWith(keyword)).length
  const isDue = (lines: readonly string[]) =>
    countOf(lines, 'ready') >= moment.ready &&
    countOf(lines, 'begun') + countOf(lines, 'refused') >= moment.begun &&
    countOf(lines, 'notified') >= moment.notified &&
    countOf(lines, 'bought') >= moment.bought
  const lines = await killWhen(child, isDue, async (isKilled) => {
    const notifications: string[] = []
    actOutside(side, (id) => notifications.push(`${JSON.stringify(side.notificationOf(id))}\n`))
    try {
      await child.stdin.write(notifications.join(''))
      await child.stdin.flush()
    } catch (error) {
      // A killed worker has not read the last notifications.
      if (!isKilled) throw error
    }
  })
  return lines.flatMap((line) => /^begun (.+)$/.exec(line)?.[1] ?? [])
}

type Row = {
  id: string
  customer_id: string
  provider_id: string | null
  amount: bigint
  credited: bigint
  debited: bigint
  purchase_state: string | null
  purchase_order: string | null
}
type OrderRow = { id: string; customer_id: string; price: bigint }

const readRows = (db: Database): Promise<Row[]> =>
  db.all<Row>(`SELECT id, customer_id, provider_id, amount, credited, debited, purchase_state, purchase_order
    FROM payments`)

/** Repeats a call while the provider's answer exceeds its time limit, as on a slow machine. */
async function untilAnswered(call: () => Promise<unknown>): Promise<void> {
  const giveUpAt = performance.now() + waitLimitMs
  for (;;) {
    try {
      await call()
      return
    } catch (error) {
      const isSilent = error instanceof Refusal && error.kind === 'unavailable'
      if (!isSilent || performance.now() > giveUpAt) throw error
    }
  }
}

/** After all kills: the provider repeats its notifications, and the shop polls and completes the rest. */
async function settle(db: Database, provider: string, side: OtherSide, nowAt: number): Promise<Services> {
  const clock = { read: () => nowAt }
  let later = wire(db, clock)
  for (const [index, bill] of [...side.bills.values()].entries()) {
    // The call limit is per process; a new one has its full limit.
    if (index % 100 === 99) later = wire(db, clock)
    if (bill.status === 'waiting') side.pay(bill.id)
    const { headers, body } = side.notificationOf(bill.id)
    const from = { version: 4 as const, bytes: Uint8Array.of(127, 0, 0, 1) }
    const notification = { headers: new Headers(headers), body: new TextEncoder().encode(body), from }
    await untilAnswered(() => later.paymentWatch.notify(provider, notification))
  }
  for (;;) {
    later = wire(db, clock)
    const { polled, silent } = await later.paymentWatch.pollDue(batchSize)
    if (polled === 0 && silent.length === 0) break
  }
  while ((await later.purchases.fulfilAll(100)) > 0);
  return later
}

/** Each payment matches its provider's bill, and each purchase that was paid for has one order. */
function expectExact(rows: readonly Row[], orders: readonly OrderRow[], side: OtherSide): void {
  const bills = Map.groupBy(side.bills.values(), (bill) => bill.mark)
  for (const { id, provider_id, amount, credited, debited } of rows) {
    const paid = (bills.get(id) ?? []).filter((bill) => bill.status === 'paid')
    const own = paid.find((bill) => bill.id === provider_id)
    const back = BigInt(own?.backHundredths ?? 0)
    expect([id, paid.length > 0, credited, debited]).toEqual([
      id,
      own !== undefined,
      own ? amount : 0n,
      back < amount ? back : amount,
    ])
  }
  const bought = rows.filter((row) => row.purchase_state === 'bought').map((row) => row.purchase_order)
  expect(new Set(bought)).toEqual(new Set(orders.map((order) => order.id)))
  expect(bought).toHaveLength(orders.length)
  expect(rows.filter((row) => row.purchase_state === 'waiting' && row.credited > 0n)).toEqual([])
}

describe.each([...engines])('a shop on %s killed while customers pay', (engine) => {
  test.each([...providersOn[engine]])(
    `a shop killed by SIGKILL ${kills} times loses no payment by %s and credits none twice`,
    async (provider) => {
      const { db: first, testDatabase } = await openTestDatabase(engine)
      const services = wire(first)
      await first.transact((tx) => services.pricing.apply(tx, shippedCatalogue))
      // Two customers for each kill: open payments of a killed worker count against its customer until they expire.
      const customers: CustomerId[] = []
      for (let count = 0; count < 2 * kills; count += 1) customers.push(await addCustomer(services, 0n))
      let aheadMs = 0
      const { side, method } = await introduce(services, provider, { now: () => Date.now() + aheadMs })
      await first.close()
      const acknowledged = new Set<string>()
      for (let kill = 0; kill < kills; kill += 1) {
        aheadMs = kill * laterMs
        const minimum = moments[kill === kills - 1 ? 1 : kill % moments.length] as Moment
        const moment = isLong ? { ...minimum, begun: Math.max(chance(maxBegun), minimum.begun) } : minimum
        const pair = customers.slice(2 * kill, 2 * kill + 2)
        const args = [testDatabase.address, provider, method, String(aheadMs), ...pair]
        for (const id of await runAndKill(args, side, moment)) acknowledged.add(id)
        if (kill % verifyEvery !== verifyEvery - 1) continue
        const between = openDatabase(testDatabase.address)
        expect(await findingsOf(wire(between))).toEqual([])
        await between.close()
      }
      const db = openDatabase(testDatabase.address)
      const later = await settle(db, provider, side, Date.now() + aheadMs + 5 * 60_000)
      const rows = await readRows(db)
      const orders = await db.all<OrderRow>('SELECT id, customer_id, price FROM orders')
      expectExact(rows, orders, side)
      const known = new Set(rows.map((row) => row.id))
      const marks = [...side.bills.values()].map((bill) => bill.mark)
      expect([...acknowledged, ...marks].filter((id) => !known.has(id))).toEqual([])
      for (const customer of customers) {
        const ofCustomer = (each: { customer_id: string }) => each.customer_id === customer
        const paid = rows.filter(ofCustomer).reduce((sum, row) => sum + row.credited - row.debited, 0n)
        const spent = orders.filter(ofCustomer).reduce((sum, order) => sum + order.price, 0n)
        expect((await later.ledger.balance(customer)).balance as bigint).toBe(paid - spent)
      }
      expect(await findingsOf(later)).toEqual([])
      expect(acknowledged.size).toBeGreaterThan(0)
      if (isLong) {
        expect(orders.length).toBeGreaterThan(0)
        const backs = rows.filter((row) => row.debited > 0n).length
        const credited = rows.filter((row) => row.credited > 0n).length
        const [all, bought] = [rows.length, orders.length]
        console.log(`${engine} ${provider}: ${all} begun, ${credited} credited, ${backs} back, ${bought} bought`)
      }
      await db.close()
      await side.stop()
      await testDatabase.remove()
    },
  )
})
