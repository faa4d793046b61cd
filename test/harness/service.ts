import { createLog } from '../../src/adapters/log.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import type { Runtime, Services } from '../../src/app/shop/services.ts'
import { openShop } from '../../src/app/shop/shop.ts'
import { type Caller, createCaller } from './caller.ts'
import { HandClock, runtimeWith } from './clock.ts'
import { type Beginning, type Engine, fewConnections, makePreparedTestDatabase, type TestDatabase } from './database.ts'
import { addStockGateway, serveStockUnlessServed } from './stock-gateway.ts'
import { until } from './until.ts'

/** A whole shop in this process: real database, real sockets, hand clock. */
export type Service = Caller & {
  readonly engine: Engine
  readonly url: string
  readonly token: string
  readonly clock: HandClock
  readonly services: Services
  readonly testDatabase: TestDatabase
  readonly log: string[]
  /** Waits until so many requests are running or waiting in the shop. */
  untilPending(count: number): Promise<void>
  /** Another customer, with money and a token. */
  newCustomer(roubles?: bigint): Promise<{ customer: import('../../src/core/ids.ts').CustomerId; token: string }>
  stop(): Promise<void>
}

/**
 * With `runtime`, time is real and the hand clock has no effect. `served`: a gateway that is always up serves all
 * stock, unless a test starts gateways. `from` is the prepared database; the shop migrates it.
 */
export async function startService(
  engine: Engine,
  env: Record<string, string> = {},
  runtime?: Runtime,
  served = true,
  from?: Beginning,
): Promise<Service> {
  const isSandbox = env['TURNPIKE_SANDBOX'] !== 'off'
  // With real time, a gateway seen at the time of the preparation would count as down.
  const beginning = served && runtime === undefined ? 'served' : 'stocked'
  const testDatabase = await makePreparedTestDatabase(engine, from ?? (isSandbox ? beginning : 'migrated'))
  const clock = new HandClock()
  const log: string[] = []
  const config = readConfig({
    TURNPIKE_PORT: '0',
    TURNPIKE_METRICS_LISTEN: '',
    TURNPIKE_DATA: testDatabase.folder,
    // Most tests open the console at `/`.
    TURNPIKE_FRONT: 'off',
    TURNPIKE_RATE_READS: '0',
    TURNPIKE_RATE_CHARGES: '0',
    TURNPIKE_DATABASE_CONNECTIONS: String(fewConnections),
    ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: testDatabase.address }),
    ...env,
  })
  const shop = await openShop(
    config,
    createLog('debug', 'shop', (line) => log.push(line)),
    runtime ?? runtimeWith(clock),
  )
  if (served) await serveStockUnlessServed(addStockGateway(shop.services))
  const token = shop.token ?? ''
  const caller = await createCaller(shop.url, token)

  return {
    engine,
    url: shop.url,
    token,
    clock,
    services: shop.services,
    testDatabase,
    log,
    untilPending: (count) => until(() => shop.pending() >= count),
    ...caller,
    async newCustomer(roubles = 0n) {
      const { customers, ledger, db } = shop.services
      const customer = await customers.create('another')
      if (roubles > 0n) {
        const { kopecks } = await import('../../src/core/money.ts')
        await db.transact((tx) => ledger.credit(tx, customer.id, kopecks(roubles * 100n), 'operator', 'test'))
      }
      const { text } = await customers.issueToken(customer.id, { name: 'test' })
      return { customer: customer.id, token: text }
    },
    async stop() {
      await shop.stop()
      await testDatabase.remove()
    },
  }
}
