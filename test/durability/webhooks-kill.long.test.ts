import { expect, setDefaultTimeout, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { createVault } from '../../src/adapters/crypto.ts'
import { createSenders } from '../../src/adapters/webhook-sender.ts'
import { realRuntime } from '../../src/app/shop/services.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { createWebhooks } from '../../src/domains/webhooks/index.ts'
import { leaseMs } from '../../src/domains/webhooks/rules.ts'
import { openTestDatabase } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { until } from '../harness/until.ts'
import { addCustomer, findingsOf, wire } from '../harness/wired.ts'

setDefaultTimeout(600_000)

const program = fileURLToPath(import.meta.resolve('./webhooks-worker.ts'))
const kills = isLong ? 24 : 6
const eventsOfWorker = 60
/** The receiver gets so many messages between two kills. */
const messagesBetween = 100

test(`two shops deliver each event to each endpoint in order through ${kills} SIGKILLs of either`, async () => {
  const opened = await openTestDatabase('postgres')
  const { db, testDatabase } = opened
  const received = new Map<string, string[]>()
  let count = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { id } = (await request.json()) as { id: number }
      const path = new URL(request.url).pathname
      count += 1
      // Some messages are refused once: their endpoint is tried again 5 s later.
      if (count % 997 === 0) return new Response(null, { status: 503 })
      received.set(path, [...(received.get(path) ?? []), String(id)])
      return new Response(null, { status: 204 })
    },
  })
  const services = wire(db)
  const hooks = createWebhooks({
    ...realRuntime,
    ...services,
    vault: createVault(new Uint8Array(32)),
    customers: { mode: async () => 'sandbox', blockedAmong: services.customers.blockedAmong },
    openSender: createSenders(),
  })
  const customers: CustomerId[] = []
  for (let number = 0; number < 4; number += 1) {
    const customer = await addCustomer(services, 0n)
    customers.push(customer)
    for (const name of ['a', 'b']) {
      const url = `http://127.0.0.1:${server.port}/${customer}/${name}`
      await db.transact(await hooks.prepare(customer, { url, events: [] }))
    }
  }
  let aheadMs = 0
  const start = (events = eventsOfWorker) => {
    // Later than every lease: a new worker takes over also what the living one holds.
    aheadMs += leaseMs + 1000
    const args = [testDatabase.address, String(aheadMs), String(events), ...customers]
    return Bun.spawn([process.execPath, program, ...args], { stdout: 'ignore', stderr: 'inherit' })
  }
  const workers = [start(), start()]
  for (let kill = 0; kill < kills; kill += 1) {
    const target = count + messagesBetween
    await until(() => count >= target || workers.every((each) => each.exitCode !== null))
    const [oldest] = workers.splice(kill % 2, 1)
    oldest?.kill('SIGKILL')
    await oldest?.exited
    workers.push(start())
  }
  for (const worker of workers) worker.kill('SIGKILL')
  await Promise.all(workers.map((each) => each.exited))
  const last = start(0)
  const expected = new Map<string, string[]>()
  for (const customer of customers) {
    const ids = Array.from({ length: await services.events.lastOf(db, customer) }, (_, index) => String(index + 1))
    for (const name of ['a', 'b']) expected.set(`/${customer}/${name}`, ids)
  }
  await until(() => [...expected].every(([path, ids]) => new Set(received.get(path)).size === ids.length))
  last.kill('SIGKILL')
  await last.exited
  for (const [path, ids] of expected) expect([...new Set(received.get(path))]).toEqual(ids)
  expect(await findingsOf(services)).toEqual([])
  await server.stop(true)
  await opened.close()
})
