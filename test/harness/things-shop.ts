import { z } from '@hono/zod-openapi'
import type { RequestNote } from '../../src/api/answers.ts'
import { bindPurchase } from '../../src/api/bind.ts'
import { accountOperations, orderOperations } from '../../src/api/customer/account/routes.ts'
import { eventOperations } from '../../src/api/customer/events/routes.ts'
import { EventWatch } from '../../src/api/customer/events/watch.ts'
import { bodyInteger, purchaseOptions, roubles } from '../../src/api/fields.ts'
import { createHttp } from '../../src/api/http.ts'
import { operationsOf } from '../../src/api/operation.ts'
import type { ApiVersions } from '../../src/api/versions.ts'
import { realRuntime, type Services } from '../../src/app/shop/services.ts'
import { readAddress } from '../../src/core/address.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { type Kopecks, kopecks, toRoubles } from '../../src/core/money.ts'
import type { Receipt } from '../../src/domains/orders/index.ts'
import { type Caller, createCaller } from './caller.ts'
import { HandClock } from './clock.ts'
import { type Engine, openTestDatabase } from './database.ts'
import { addCustomer, wire } from './wired.ts'

/** The price of one thing: nine roubles. */
const thingPrice = 900n

/** A minimal product, sold through the same code as every product. */
const buyThings = operationsOf({ tag: 'Things' })('buyThings', 'POST /things/buy', {
  summary: 'Buy things',
  body: z.object({
    count: bodyInteger({ min: 1, max: 1000, example: 1 }),
    colour: z.enum(['red', 'blue']).optional(),
    note: z.string().max(100).optional(),
    ...purchaseOptions,
  }),
  answer: z.object({
    order_id: z.string(),
    count: z.int(),
    price_rub: roubles('The price.'),
    balance_rub: roubles('What is left.'),
  }),
  example: { order_id: 'ord_01k73sf80000000000000000000', count: 1, price_rub: 9, balance_rub: 991 },
  charges: true,
})

export function sellThings(services: Services) {
  type Bought = Receipt & { count: number; price: Kopecks }
  const toShape = ({ order, count, price, balance }: Bought) => ({
    order_id: order,
    count,
    price_rub: toRoubles(price),
    balance_rub: toRoubles(balance),
  })
  return bindPurchase(buyThings, toShape, (request, { body }) => {
    const { count } = body
    const input = { count, colour: body.colour ?? null, note: body.note ?? null }
    return services.orders.sell(request, { product: 'things', action: 'buy', input }, async (sale) => {
      const price = kopecks(thingPrice * BigInt(count))
      const calculation = { each_rub: toRoubles(kopecks(thingPrice)) }
      return { ...(await sale.charge({ price, calculation, note: `${count} things` })), count, price }
    })
  })
}

/** The customer API with one product, on a real socket, and a customer with 1,000 roubles. */
export type ThingsShop = Caller & {
  readonly url: string
  readonly port: number
  readonly services: Services
  readonly clock: HandClock
  readonly customer: CustomerId
  readonly token: string
  /** Makes the shop refuse new requests, as during its shutdown. */
  refuseNew(yes: boolean): void
  /** One note per request, faults included. */
  readonly notes: RequestNote[]
  readonly eventWatch: EventWatch
  stop(): Promise<void>
}

export async function openThingsShop(
  engine: Engine,
  limits: { readonly reads?: number; readonly charges?: number; readonly versions?: ApiVersions } = {},
): Promise<ThingsShop> {
  const opened = await openTestDatabase(engine)
  const clock = new HandClock()
  const services = wire(opened.db, clock, limits.versions && { apiVersion: limits.versions.latest })
  const customer = await addCustomer(services, 100_000n)
  const { text } = await services.customers.issueToken(customer, { name: 'test' })
  const notes: RequestNote[] = []
  let stopping = false
  const eventWatch = new EventWatch(services)
  const http = createHttp({
    customers: services.customers,
    bound: [
      ...accountOperations(services),
      sellThings(services),
      ...orderOperations(services),
      ...eventOperations({ ...services, eventWatch }),
    ],
    version: '0.0.0',
    publicUrl: () => `http://127.0.0.1:${server.port}`,
    readsPerMinute: limits.reads ?? 0,
    chargesPerMinute: limits.charges ?? 0,
    ...(limits.versions && { versions: limits.versions }),
    clock: clock.read,
    requestId: () => realRuntime.random(12).toHex(),
    findHindrance: async () => undefined,
    isStopping: () => stopping,
    note: (note) => void notes.push(note),
  })
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    // As the shop sets it: Bun's default of 10 s would race with the limit on slow bodies.
    idleTimeout: 120,
    development: false,
    fetch: (request, self) => http(request, readAddress(self.requestIP(request)?.address ?? '')),
  })
  const url = `http://127.0.0.1:${server.port}`
  return {
    url,
    port: server.port ?? 0,
    services,
    clock,
    customer,
    token: text,
    ...(await createCaller(url, text, true)),
    refuseNew: (yes) => {
      stopping = yes
    },
    notes,
    eventWatch,
    async stop() {
      eventWatch.stop()
      await server.stop(true)
      await opened.close()
    },
  }
}
