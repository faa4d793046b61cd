import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { kopecks } from '../../src/core/money.ts'
import { enginesOf } from '../harness/database.ts'
import { openThingsShop, type ThingsShop } from '../harness/things-shop.ts'
import { addCustomer, buy, findingsOf } from '../harness/wired.ts'

const dayMs = 86_400_000

describe.each([...enginesOf('sqlite')])('GET /events on %s', (engine) => {
  let shop: ThingsShop
  beforeAll(async () => {
    shop = await openThingsShop(engine)
  })
  afterAll(() => shop.stop())

  async function refundOne(customer = shop.customer): Promise<string> {
    const { body } = await buy(shop.services, { customer, token: null }, 1_000n)
    const { order } = JSON.parse(body)
    await shop.services.orders.refund(order, kopecks(150n), 'one was scratched')
    return order
  }

  test('GET /events of a new customer answers an empty list', async () => {
    expect((await shop.get('/events')).data).toEqual({ events: [], next_cursor: null })
  })

  test('GET /events shows a refund once, with its order, amount, balance and reason', async () => {
    const order = await refundOne()
    const { events } = (await shop.get('/events')).data
    expect(events).toEqual([
      {
        id: 1,
        type: 'order.created',
        timestamp: new Date(shop.clock.nowMs).toISOString(),
        order_id: order,
        data: { product: 'things', action: 'buy', price_rub: 10, balance_rub: 990 },
      },
      {
        id: 2,
        type: 'order.refunded',
        timestamp: new Date(shop.clock.nowMs).toISOString(),
        order_id: order,
        data: { amount_rub: 1.5, balance_rub: 991.5, reason: 'one was scratched' },
      },
    ])
    // A refused refund writes no event.
    await shop.services.orders.refund(order as never, 'all', 'again').catch(() => {})
    expect((await shop.get('/events')).data.events).toHaveLength(2)
  })

  test('pages of GET /events continue without gaps, and after=N answers only later events, after=0 all', async () => {
    for (let count = 0; count < 2; count += 1) await refundOne()
    const first = (await shop.get('/events?limit=2')).data
    expect(first.events.map((each: { id: number }) => each.id)).toEqual([1, 2])
    const second = (await shop.get(`/events?limit=2&cursor=${first.next_cursor}`)).data
    expect(second.events.map((each: { id: number }) => each.id)).toEqual([3, 4])
    const rest = (await shop.get('/events?after=5')).data
    expect([rest.events.map((each: { id: number }) => each.id), rest.next_cursor]).toEqual([[6], null])
    expect((await shop.get('/events?after=6')).data.events).toEqual([])
    const all = (await shop.get('/events?after=0')).data
    expect(all.events.map((each: { id: number }) => each.id)).toEqual([1, 2, 3, 4, 5, 6])
    expect((await shop.get('/events?type=proxy.ended')).data.events).toEqual([])
    expect((await shop.get('/events?type=order.refunded')).data.events).toHaveLength(3)
  })

  test('12 concurrent purchases and refunds write events numbered 1 to 24', async () => {
    const customer = await addCustomer(shop.services, 100_000n)
    await Promise.all(Array.from({ length: 12 }, () => refundOne(customer)))
    const events = await shop.services.events.list(customer, { after: 0, type: undefined, limit: 100 })
    expect(events.map((each) => each.seq)).toEqual(Array.from({ length: 24 }, (_, index) => index + 1))
  })

  test('GET /events shows no other customer’s events, and needs a token with the scope read', async () => {
    const otherCustomer = await addCustomer(shop.services, 0n)
    const { text } = await shop.services.customers.issueToken(otherCustomer, { name: 'test' })
    expect((await shop.get('/events', { token: text })).data.events).toEqual([])
    expect((await shop.get('/events', { token: null })).status).toBe(401)
    const trade = await shop.services.customers.issueToken(shop.customer, { name: 'trade', scopes: ['trade'] })
    expect((await shop.get('/events', { token: trade.text })).status).toBe(403)
  })

  test.each(['after=-1', 'after=1e1', 'type=nothing', 'limit=0', 'limit=501', 'cursor=!', 'cursor=YWJj'])(
    'GET /events refuses the malformed query %s',
    async (query) => {
      const answer = await shop.get(`/events?${query}`)
      expect([answer.status, answer.error.code]).toEqual([400, 'invalid_request'])
    },
  )

  test('an event written after the clock went back has the time of the event before it', async () => {
    shop.clock.advance(-5_000)
    await refundOne()
    const [before, last] = (await shop.get('/events?after=5')).data.events
    expect(last.timestamp).toBe(before.timestamp)
    shop.clock.advance(5_000)
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('the database refuses to change an event; events are deleted after 30 days and numbers continue', async () => {
    const change = shop.services.db.transact((tx) => tx.run(`UPDATE events SET type = 'proxy.ended'`))
    expect(await change.then(() => 'changed').catch(() => 'refused')).toBe('refused')
    shop.clock.advance(30 * dayMs - 1)
    expect(await shop.services.events.forget(100)).toBe(0)
    shop.clock.advance(1)
    expect(await shop.services.events.forget(3)).toBe(3)
    while ((await shop.services.events.forget(3)) === 3);
    expect((await shop.get('/events')).data.events).toEqual([])
    await refundOne()
    expect((await shop.get('/events')).data.events[0].id).toBe(9)
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
