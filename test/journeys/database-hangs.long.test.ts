import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readMigrations } from '../../src/app/shop/database.ts'
import { realRuntime } from '../../src/app/shop/services.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import { stockSandbox } from '../../src/jobs/sandbox/open.ts'
import { freePort } from '../harness/gateway.ts'
import { type Postgres, startPostgres } from '../harness/postgres.ts'
import { type Service, startService } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/vpn.ts'
import { wire } from '../harness/wired.ts'

let server: Postgres
let service: Service
let metricsUrl: string
beforeAll(async () => {
  server = await startPostgres({ own: true })
  await stockFew(server.url)
  const port = freePort()
  metricsUrl = `http://127.0.0.1:${port}/metrics`
  const env = { TURNPIKE_DATABASE_URL: server.url, TURNPIKE_METRICS_LISTEN: `127.0.0.1:${port}` }
  service = await startService('postgres', env, realRuntime)
})
afterAll(async () => {
  server.resume()
  await service.stop()
  await server.stop()
})

/** Adds 16 addresses per country, because a sandbox shop adds thousands to an empty stock. */
async function stockFew(url: string): Promise<void> {
  const db = openDatabase(url)
  await migrate(db, readMigrations())
  await stockSandbox(wire(db).stock, 28)
  await db.close()
}

const price = 299
const readiness = async () => {
  const answer = await fetch(`${service.url}/readyz`)
  return [answer.status, await answer.json()]
}

test('GET /readyz answers 503 within 6 s and a purchase within 26 s while PostgreSQL hangs, and each key buys once afterwards', async () => {
  const { token, customer } = await service.newCustomer(10_000n)
  const buy = (key: string) => service.post('/vpn/buy', { period: 1 }, { token, key })
  const keys = Array.from({ length: 6 }, (_, number) => `hung-${number}`)
  expect((await buy('before')).status).toBe(200)
  server.hang()
  const stopwatch = startStopwatch('postgres')
  const bought = Promise.all(keys.map(buy))
  const [ready, metrics] = await Promise.all([readiness(), fetch(metricsUrl).then((answer) => answer.text())])
  expect(stopwatch.elapsedMs()).toBeLessThan(6_000)
  expect(ready).toEqual([503, { ok: false, reason: 'The database does not answer.' }])
  expect(metrics).toContain('turnpike_database_up 0')
  expect(metrics).toContain('process_resident_memory_bytes')
  expect(metrics).not.toContain('turnpike_node_open')
  for (const { status, error } of await bought) expect([status, error.code]).toEqual([503, 'unavailable'])
  expect(stopwatch.elapsedMs()).toBeLessThan(26_000)
  server.resume()
  expect(await untilTrue(async () => (await readiness())[0] === 200)).toBeTrue()
  for (const key of keys) expect((await buy(key)).status).toBe(200)
  expect((await service.services.orders.list(customer, undefined, 50)).length).toBe(keys.length + 1)
  expect((await service.get('/balance', { token })).data.balance_rub).toBe(10_000 - (keys.length + 1) * price)
  expect(service.log.join('')).not.toContain('"event":"fault"')
  expect(await findingsOf(service)).toEqual([])
})
