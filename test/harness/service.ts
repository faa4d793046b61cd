import { readConfig } from '../../src/main/config.ts'
import { createLog } from '../../src/main/log.ts'
import type { Services } from '../../src/main/services.ts'
import { openShop } from '../../src/main/shop.ts'
import { type Answer, type AnswerChecker, createAnswerChecker } from './answers.ts'
import { HandClock, surroundingsWith } from './clock.ts'
import { type Engine, makePlace, type Place } from './database.ts'

export type CallOptions = {
  readonly token?: string | null
  readonly body?: unknown
  /** Sent as it is, in place of `body`. */
  readonly raw?: string | Uint8Array
  readonly key?: string
  readonly headers?: Record<string, string>
}

/** A whole shop in this process: real database, real sockets, a clock that is moved by hand. */
export type Service = {
  readonly engine: Engine
  readonly url: string
  readonly token: string
  readonly clock: HandClock
  readonly services: Services
  readonly place: Place
  readonly log: string[]
  /** Every answer is checked against the served description before it is handed over. */
  call(method: 'GET' | 'POST', path: string, options?: CallOptions): Promise<Answer>
  get(path: string, options?: CallOptions): Promise<Answer>
  post(path: string, body: unknown, options?: CallOptions): Promise<Answer>
  /** Another customer, with money and a token. */
  newCustomer(roubles?: bigint): Promise<{ customer: import('../../src/kernel/ids.ts').CustomerId; token: string }>
  stop(): Promise<void>
}

export async function startService(engine: Engine, env: Record<string, string> = {}): Promise<Service> {
  const place = await makePlace(engine)
  const clock = new HandClock()
  const log: string[] = []
  const config = readConfig({
    TURNPIKE_PORT: '0',
    TURNPIKE_DATA: place.folder,
    TURNPIKE_RATE_READS: '0',
    TURNPIKE_RATE_CHARGES: '0',
    ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: place.address }),
    ...env,
  })
  const shop = await openShop(
    config,
    createLog('debug', 'shop', (line) => log.push(line)),
    surroundingsWith(clock),
  )
  const checker: AnswerChecker = await createAnswerChecker(shop.url)
  const token = shop.token ?? ''

  async function call(method: 'GET' | 'POST', path: string, options: CallOptions = {}): Promise<Answer> {
    const headers: Record<string, string> = { ...options.headers }
    const bearer = options.token === undefined ? token : options.token
    if (bearer !== null) headers['Authorization'] ??= `Bearer ${bearer}`
    if (options.key !== undefined) headers['Idempotency-Key'] = options.key
    const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    if (body !== undefined) headers['Content-Type'] ??= 'application/json'
    const response = await fetch(`${shop.url}/api/v1${path}`, { method, headers, ...(body !== undefined && { body }) })
    return checker.read(method, path, response)
  }

  return {
    engine,
    url: shop.url,
    token,
    clock,
    services: shop.services,
    place,
    log,
    call,
    get: (path, options) => call('GET', path, options),
    post: (path, body, options) => call('POST', path, { ...options, body }),
    async newCustomer(roubles = 0n) {
      const { customers, ledger, db } = shop.services
      const customer = await customers.create('another')
      if (roubles > 0n) {
        const { kopecks } = await import('../../src/kernel/money.ts')
        await db.transact((tx) => ledger.credit(tx, customer.id, kopecks(roubles * 100n), 'operator', 'test'))
      }
      const { text } = await customers.issueToken(customer.id, { name: 'test' })
      return { customer: customer.id, token: text }
    },
    async stop() {
      await shop.stop()
      await place.remove()
    },
  }
}
