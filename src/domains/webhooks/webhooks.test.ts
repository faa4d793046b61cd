import { describe, expect, test } from 'bun:test'
import { createPublicKey, verify } from 'node:crypto'
import * as fc from 'fast-check'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { HandClock, runtimeWith } from '../../../test/harness/clock.ts'
import { engines, enginesOf, openTestDatabase } from '../../../test/harness/database.ts'
import { isLong } from '../../../test/harness/scale.ts'
import { until } from '../../../test/harness/until.ts'
import { addCustomer, findingsOf, wire } from '../../../test/harness/wired.ts'
import { createVault } from '../../adapters/crypto.ts'
import { createSenders } from '../../adapters/webhook-sender.ts'
import { realRuntime, type Services } from '../../app/shop/services.ts'
import { type CustomerId, makeId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Database } from '../../db/transaction.ts'
import { startDeliveries } from '../../jobs/webhooks.ts'
import type { DomainEvent } from '../events/rules.ts'
import { createWebhooks } from './index.ts'
import type { EndpointAnswer, OpenSender, WebhookMessage } from './ports.ts'
import { judgeFailure, leaseMs, messageIdOf } from './rules.ts'
import { signMessage, toSigningKey } from './signing.ts'

const dayMs = 86_400_000
const noSignal = new AbortController().signal
const ok: EndpointAnswer = { status: 200, problem: null, retryAfterMs: null }
const url = 'https://hook.example.com/'

/** The webhooks of a shop whose receiver is a function. */
const shopWith = (services: Services, clock: HandClock, openSender: OpenSender) =>
  createWebhooks({
    db: services.db,
    ...runtimeWith(clock),
    vault: createVault(new Uint8Array(32)),
    customers: { mode: async () => 'production', blockedAmong: services.customers.blockedAmong },
    events: services.events,
    openSender,
  })

const eventOf = (customer: CustomerId, name: string): DomainEvent => ({
  customer,
  type: 'proxy.ended',
  order: null,
  subject: null,
  data: { name },
})

const addTo = async (
  db: Database,
  webhooks: ReturnType<typeof shopWith>,
  customer: CustomerId,
  events: string[] = [],
) => {
  const write = await webhooks.prepare(customer, { url, events })
  return db.transact(write)
}

/** What happens to one attempt. `killed`: the shop dies before or after the receiver got the message. */
type Fate = 'taken' | 'refused' | 'lost' | 'killed before' | 'killed after'
const fates = fc.constantFrom<Fate>('taken', 'taken', 'taken', 'refused', 'lost', 'killed before', 'killed after')
const steps = fc.array(
  fc.oneof(
    fc.record({ write: fc.integer({ min: 1, max: 4 }), commits: fc.boolean() }),
    fc.record({ fates: fc.array(fates, { minLength: 1, maxLength: 6 }) }),
    fc.record({ waitMs: fc.constantFrom(1000, leaseMs, 400_000, 3_600_000) }),
  ),
  { minLength: 4, maxLength: 24 },
)

class Killed extends Error {}

describe.each([...engines])('deliveries of webhooks on %s', (engine) => {
  test('each committed event arrives in order over crashes of shop and receiver, and no other event', async () => {
    const opened = await openTestDatabase(engine)
    const clock = new HandClock()
    const services = wire(opened.db, clock)
    const { db, events } = services
    await fc.assert(
      fc.asyncProperty(steps, async (of) => {
        const customer = await addCustomer(services, 0n)
        const committed: string[] = []
        const received: string[] = []
        let queue: Fate[] = []
        let count = 0
        const receive = ({ body }: WebhookMessage) => void received.push(JSON.parse(body).data.name)
        const openSender = () => ({
          async send(message: WebhookMessage): Promise<EndpointAnswer> {
            const fate = queue.shift() ?? 'taken'
            if (fate !== 'refused' && fate !== 'killed before') receive(message)
            if (fate === 'refused') return { ...ok, status: 500 }
            if (fate === 'lost') return { status: null, problem: 'timeout', retryAfterMs: null }
            if (fate === 'taken') return ok
            throw new Killed()
          },
          close: () => {},
        })
        /** A shop that is killed writes nothing more: its database refuses from then on. */
        const runShop = async () => {
          let isDead = false
          const dying: Database = {
            ...db,
            transact: (work, ...rest) => {
              if (isDead) throw new Killed()
              return db.transact(work, ...rest)
            },
          }
          const shop = shopWith({ ...services, db: dying }, clock, () => {
            const sender = openSender()
            const send = (message: WebhookMessage) =>
              sender.send(message).catch((error: unknown) => {
                isDead = true
                throw error
              })
            return { ...sender, send }
          })
          for (const claim of await shop.claim({ all: 10, slow: 10 })) {
            await shop.deliver(claim, noSignal).catch((error: unknown) => {
              if (!(error instanceof Killed)) throw error
            })
          }
        }
        const owner = shopWith(services, clock, openSender)
        const { webhook } = await addTo(db, owner, customer)
        for (const step of of) {
          if ('waitMs' in step) clock.advance(step.waitMs)
          else if ('fates' in step) {
            queue = [...step.fates]
            await runShop()
          } else {
            const names = Array.from({ length: step.write }, () => String((count += 1)))
            const write = db.transact(async (tx) => {
              await events.note(
                tx,
                names.map((name) => eventOf(customer, name)),
              )
              if (!step.commits) throw new Killed()
            })
            await write.catch(() => {})
            if (step.commits) committed.push(...names)
          }
        }
        queue = []
        for (let round = 0; round < 40 && new Set(received).size < committed.length; round += 1) {
          clock.advance(dayMs / 10)
          await runShop()
        }
        expect([...new Set(received)]).toEqual(committed)
        await owner.remove(customer, webhook.id)
      }),
      { numRuns: isLong ? 300 : 12 },
    )
    expect(await findingsOf(services)).toEqual([])
    await opened.close()
  })

  test('one of two shops takes the lease of an endpoint, and the other one after 60 s without a write', async () => {
    const opened = await openTestDatabase(engine)
    const clock = new HandClock()
    const services = wire(opened.db, clock)
    const customer = await addCustomer(services, 0n)
    const shop = shopWith(services, clock, () => ({ send: async () => ok, close: () => {} }))
    await addTo(opened.db, shop, customer)
    await opened.db.transact((tx) => services.events.note(tx, [eventOf(customer, 'one')]))
    const claims = (await Promise.all([1, 2, 3].map(() => shop.claim({ all: 5, slow: 5 })))).flat()
    expect(claims).toHaveLength(1)
    clock.advance(leaseMs - 1)
    expect(await shop.claim({ all: 5, slow: 5 })).toEqual([])
    clock.advance(1)
    const [second] = await shop.claim({ all: 5, slow: 5 })
    const [first] = claims
    if (!first || !second) throw new Error('the lease was not taken')
    // The first holder stalled: it writes nothing any more.
    expect(await shop.deliver(first, noSignal)).toBe(0)
    expect(await shop.deliver(second, noSignal)).toBe(1)
    const [delivery, ...more] = await shop.deliveries(customer, { before: 'dlw', limit: 9, webhook: '', status: '' })
    expect([delivery?.status, delivery?.seq, more]).toEqual(['delivered', 1, []])
    await opened.close()
  })
})

describe.each([...enginesOf('sqlite')])('endpoints of webhooks on %s', (engine) => {
  async function openOne(answers: (message: WebhookMessage) => EndpointAnswer, events: string[] = []) {
    const opened = await openTestDatabase(engine)
    const clock = new HandClock()
    const services = wire(opened.db, clock)
    const customer = await addCustomer(services, 0n)
    const messages: WebhookMessage[] = []
    const shop = shopWith(services, clock, () => ({
      async send(message) {
        messages.push(message)
        return answers(message)
      },
      close: () => {},
    }))
    const { webhook } = await addTo(opened.db, shop, customer, events)
    return {
      ...opened,
      clock,
      services,
      customer,
      shop,
      messages,
      id: webhook.id,
      note: (name: string) => opened.db.transact((tx) => services.events.note(tx, [eventOf(customer, name)])),
      async run() {
        for (const claim of await shop.claim({ all: 9, slow: 9 })) await shop.deliver(claim, noSignal)
      },
      deliveries: () => shop.deliveries(customer, { before: 'dlw', limit: 50, webhook: '', status: '' }),
    }
  }

  test('an endpoint that fails is tried 10 times in 4 days, then disabled, and gets all when it is enabled', async () => {
    let status = 500
    const one = await openOne(() => ({ ...ok, status }))
    await one.note('first')
    await one.note('second')
    const startedAt = one.clock.nowMs
    for (let minute = 0; minute < 5 * 24 * 12; minute += 1) {
      await one.run()
      one.clock.advance(5 * 60_000)
      if ((await one.shop.list(one.customer))[0]?.state === 'disabled') break
    }
    expect(one.messages).toHaveLength(10)
    expect(new Set(one.messages.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(one.clock.nowMs - startedAt).toBeWithin(2 * dayMs, 4 * dayMs)
    expect(await one.shop.list(one.customer)).toMatchObject([{ state: 'disabled', problem: 'failures' }])
    const [, , disabled] = await one.services.events.list(one.customer, { after: 0, type: undefined, limit: 9 })
    expect([disabled?.type, disabled?.data['reason']]).toEqual(['webhook.disabled', 'failures'])
    status = 200
    await one.shop.update(one.customer, one.id, { enabled: true })
    await one.run()
    expect(one.messages.slice(10).map(({ body }) => JSON.parse(body).id)).toEqual([1, 2, 3])
    const deliveries = (await one.deliveries()).toSorted((a, b) => b.seq - a.seq)
    expect(deliveries.map((each) => [each.seq, each.status, each.tries])).toEqual([
      [3, 'delivered', 1],
      [2, 'delivered', 1],
      [1, 'delivered', 11],
    ])
    await one.close()
  })

  test('an endpoint that was disabled for 31 days continues after the events that were forgotten', async () => {
    const one = await openOne(() => ok)
    await one.shop.update(one.customer, one.id, { enabled: false })
    await one.note('forgotten')
    one.clock.advance(31 * dayMs)
    expect(await one.services.events.forget(10)).toBe(1)
    await one.shop.update(one.customer, one.id, { enabled: true })
    await one.run()
    expect(await one.shop.claim({ all: 9, slow: 9 })).toEqual([])
    await one.note('kept')
    await one.run()
    expect(one.messages.map(({ body }) => JSON.parse(body).data.name)).toEqual(['kept'])
    await one.close()
  })

  test('an endpoint that answers 410 is disabled at once, and one of a blocked customer gets nothing', async () => {
    const one = await openOne(() => ({ ...ok, status: 410 }))
    await one.services.setBlocked(one.customer, true)
    await one.note('first')
    await one.run()
    expect(one.messages).toEqual([])
    await one.services.setBlocked(one.customer, false)
    one.clock.advance(60_000)
    await one.run()
    expect(await one.shop.list(one.customer)).toMatchObject([{ state: 'disabled', problem: 'gone' }])
    await one.close()
  })

  test('an endpoint gets only the chosen types; a test and a repetition are sent once, out of order', async () => {
    let status = 200
    const one = await openOne(() => ({ ...ok, status }), ['order.refunded'])
    await one.note('not chosen')
    await one.run()
    expect(one.messages).toEqual([])
    await one.shop.update(one.customer, one.id, { events: [] })
    await one.note('chosen')
    await one.run()
    status = 500
    one.clock.advance(1)
    const asked = await one.shop.sendTest(one.customer, one.id)
    await one.run()
    expect((await one.deliveries()).find((each) => each.id === asked)).toMatchObject({ status: 'failed', seq: 0 })
    status = 200
    for (const { id } of await one.deliveries()) await one.shop.redeliver(one.customer, id)
    await one.run()
    await one.run()
    const sent = one.messages.map(({ body }) => JSON.parse(body))
    expect(sent.map(({ type, id }) => [type, id])).toEqual([
      ['proxy.ended', 2],
      ['webhook.test', 0],
      ['proxy.ended', 2],
      ['webhook.test', 0],
    ])
    expect((await one.deliveries()).map((each) => each.status)).toEqual(['delivered', 'delivered'])
    one.clock.advance(30 * dayMs)
    expect([await one.shop.forget(1), await one.shop.forget(5)]).toEqual([1, 1])
    await one.close()
  })

  test('an endpoint is refused beyond 16, with an unknown type, without https, and to another customer', async () => {
    const one = await openOne(() => ok)
    for (let count = 1; count < 16; count += 1) await addTo(one.db, one.shop, one.customer)
    const refused = async (work: Promise<unknown>) =>
      work.then(() => 'done').catch((error: unknown) => (error instanceof Refusal ? error.reason : error))
    expect(await refused(addTo(one.db, one.shop, one.customer))).toBe('webhook_limit')
    expect(await refused(one.shop.prepare(one.customer, { url, events: ['nothing'] }))).toBe('invalid_request')
    expect(await refused(one.shop.prepare(one.customer, { url: 'http://a.example/', events: [] }))).toBe(
      'invalid_request',
    )
    const other = await addCustomer(one.services, 0n)
    expect(await refused(one.shop.remove(other, one.id))).toBe('webhook_not_found')
    expect(await refused(one.shop.rotate(other, one.id))).toBe('webhook_not_found')
    await one.shop.remove(one.customer, one.id)
    expect(await one.shop.list(one.customer)).toHaveLength(15)
    await one.close()
  })
})

describe.each([...enginesOf('sqlite')])('endpoints that never answer on %s', (engine) => {
  /** A shop that delivers; an attempt at a hanging endpoint ends when the test says so. */
  async function openShop() {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    const clock = new HandClock()
    const services = wire(db, clock)
    const received: string[] = []
    const tried = new Set<string>()
    const attempts: PromiseWithResolvers<EndpointAnswer>[] = []
    const shop = shopWith(services, clock, () => ({
      async send(message) {
        if (!message.url.includes('hang')) {
          received.push(JSON.parse(message.body).data.name)
          return ok
        }
        if (isClosing) return ok
        tried.add(message.url)
        const attempt = Promise.withResolvers<EndpointAnswer>()
        attempts.push(attempt)
        return attempt.promise
      },
      close: () => {},
    }))
    let deliveries: ReturnType<typeof startDeliveries> | undefined
    let isClosing = false
    const note = (customer: CustomerId, name: string) =>
      db.transact((tx) => services.events.note(tx, [eventOf(customer, name)]))
    return {
      clock,
      services,
      shop,
      received,
      tried,
      attempts,
      note,
      start(): void {
        // Later than the endpoints were added.
        clock.advance(1)
        deliveries = startDeliveries({ webhooks: shop, events: services.events }, { error: () => {} })
      },
      add: (customer: CustomerId) => addTo(db, shop, customer),
      /** Adds customers with hanging endpoints, each with tests that wait. */
      async addHanging(customers: number, endpoints: number, tests = 1): Promise<void> {
        for (let number = 0; number < customers; number += 1) {
          const customer = await addCustomer(services, 0n)
          for (let of = 0; of < endpoints; of += 1) {
            const { id } = (await shop.add(customer, { url: `${url}hang/${of}`, events: [] })).webhook
            for (let asked = 0; asked < tests; asked += 1) await shop.sendTest(customer, id)
          }
        }
      },
      /** The attempts that run end without an answer, 20 s later. */
      endAttempts(): void {
        clock.advance(20_000)
        for (const each of attempts.splice(0)) each.resolve({ status: null, problem: 'timeout', retryAfterMs: null })
      },
      /** Waits until a new quick endpoint got its first event: until a later look took its lease. */
      async receive(name: string): Promise<void> {
        const customer = await addCustomer(services, 0n)
        await addTo(db, shop, customer)
        await note(customer, name)
        await until(() => received.includes(name))
      },
      async close(): Promise<void> {
        isClosing = true
        for (const each of attempts) each.resolve(ok)
        await deliveries?.stop()
        await opened.close()
      },
    }
  }

  test('160 endpoints that never answer leave places for an endpoint that answered quickly before', async () => {
    const of = await openShop()
    const quick = await addCustomer(of.services, 0n)
    await of.add(quick)
    of.start()
    await of.note(quick, 'first')
    await until(() => of.received.length === 1)
    await of.addHanging(20, 8)
    await until(() => of.attempts.length === 64)
    await of.note(quick, 'second')
    await until(() => of.received.length === 2)
    expect(of.attempts).toHaveLength(64)
    for (const each of of.attempts) each.resolve(ok)
    await until(() => of.attempts.length >= 128)
    await of.close()
  })

  test('80 endpoints of 5 customers that never answer leave places for a new endpoint of another customer', async () => {
    const of = await openShop()
    await of.addHanging(5, 16, 8)
    of.start()
    await until(() => of.attempts.length === 20)
    await of.receive('first')
    expect(of.attempts).toHaveLength(20)
    await of.close()
  })

  test('a new endpoint has its turn before 160 endpoints that never answer and were tried once', async () => {
    const of = await openShop()
    await of.addHanging(20, 8, 8)
    of.start()
    await until(() => of.attempts.length === 64)
    of.clock.advance(1)
    const customer = await addCustomer(of.services, 0n)
    await of.add(customer)
    await of.note(customer, 'first')
    of.endAttempts()
    await until(() => of.attempts.length + of.received.length >= 64)
    expect(of.received).toEqual(['first'])
    await of.close()
  })

  test('16 endpoints of a customer that never answer have their turns, 4 at a time', async () => {
    const of = await openShop()
    await of.addHanging(1, 16, 8)
    of.start()
    for (let turn = 1; turn <= 4; turn += 1) {
      await until(() => of.attempts.length === 4)
      expect(of.tried.size).toBe(4 * turn)
      of.endAttempts()
    }
    await of.close()
  })

  test('an owner who changes an endpoint that never answers 8 times takes 4 places', async () => {
    const of = await openShop()
    const customer = await addCustomer(of.services, 0n)
    const { webhook } = await of.shop.add(customer, { url: `${url}hang`, events: [] })
    of.start()
    await of.note(customer, 'hangs')
    await until(() => of.attempts.length === 1)
    for (let change = 2; change <= 9; change += 1) {
      await of.shop.update(customer, webhook.id, { url: `${url}hang/${change}` })
      await until(() => of.attempts.length >= Math.min(4, change))
      await of.receive(`look ${change}`)
    }
    expect(of.attempts).toHaveLength(4)
    await of.close()
  })
})

test('a pause grows from 5 s to 24 h with a jitter of a tenth, and Retry-After makes it longer', () => {
  const failed = { status: 503, problem: null, retryAfterMs: null, tookMs: 1 }
  const pauses = Array.from({ length: 10 }, (_, tries) => judgeFailure(failed, tries, 0, 0.5))
  const seconds = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
  expect(pauses).toEqual([...seconds.map((each) => ({ nextAt: each * 1000 })), { disable: 'failures' }])
  for (const chance of [0, 1]) {
    const verdict = judgeFailure(failed, 0, 0, chance)
    expect('nextAt' in verdict && verdict.nextAt).toBe(chance === 0 ? 4500 : 5500)
  }
  expect(judgeFailure({ ...failed, retryAfterMs: 60_000 }, 0, 0, 0.5)).toEqual({ nextAt: 60_000 })
})

test('standardwebhooks, svix and ed25519 verify messages on the wire, also for 24 hours after a rotation', async () => {
  const opened = await openTestDatabase('sqlite')
  const services = wire(opened.db)
  const customer = await addCustomer(services, 0n)
  const received: { headers: Record<string, string>; body: string }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push({ headers: Object.fromEntries(request.headers), body: await request.text() })
      return new Response(null, { status: 204 })
    },
  })
  const shop = createWebhooks({
    ...services,
    ...realRuntime,
    vault: createVault(new Uint8Array(32)),
    customers: { mode: async () => 'sandbox', blockedAmong: services.customers.blockedAmong },
    openSender: createSenders(),
  })
  const first = await opened.db.transact(
    await shop.prepare(customer, { url: `http://127.0.0.1:${server.port}/hook`, events: [] }),
  )
  const send = async () => {
    await opened.db.transact((tx) => services.events.note(tx, [eventOf(customer, 'höök "x" 1')]))
    for (const claim of await shop.claim({ all: 9, slow: 9 })) await shop.deliver(claim, noSignal)
    return received.at(-1) ?? { headers: {}, body: '' }
  }
  const check = ({ headers, body }: (typeof received)[number], secrets: readonly string[], keys: readonly string[]) => {
    for (const secret of secrets) {
      expect(new StandardWebhook(secret).verify(body, headers)).toMatchObject({ type: 'proxy.ended' })
      expect(() => new SvixWebhook(secret).verify(body, headers)).not.toThrow()
      expect(() => new SvixWebhook(secret).verify(`${body} `, headers)).toThrow()
    }
    const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const signatures = (headers['webhook-signature'] ?? '').split(' ').filter((each) => each.startsWith('v1a,'))
    for (const key of keys) {
      const raw = Buffer.from(key.replace('whpk_', ''), 'base64')
      const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw])
      const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' })
      const isSigned = signatures.some((each) =>
        verify(null, Buffer.from(text), publicKey, Buffer.from(each.slice(4), 'base64')),
      )
      expect(isSigned).toBe(true)
    }
    return signatures.length
  }
  expect(check(await send(), [first.secret], [first.webhook.publicKey])).toBe(1)
  const second = await shop.rotate(customer, first.webhook.id)
  expect(second.secret).not.toBe(first.secret)
  const both = [first, second]
  expect(
    check(
      await send(),
      both.map(({ secret }) => secret),
      both.map(({ webhook }) => webhook.publicKey),
    ),
  ).toBe(2)
  await server.stop(true)
  await opened.close()
})

test('an event that gets a lost event’s number after a rewind has another message id, and repetitions have the same', () => {
  const id = makeId('webhook', 0, (count) => new Uint8Array(count))
  const before = messageIdOf(id, { seq: 7, at: 1000 })
  expect(messageIdOf(id, { seq: 7, at: 1000 })).toBe(before)
  expect(messageIdOf(id, { seq: 7, at: 2000 })).not.toBe(before)
})

test('signMessage gives the signature of the specification’s example', () => {
  const secrets = { secret: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', seed: Buffer.alloc(32).toString('base64') }
  const signed = signMessage(
    [toSigningKey(secrets)],
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    1_614_265_330,
    '{"test": 2432232314}',
  )
  expect(signed).toStartWith('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1a,')
})
