import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { kopecks } from '../../src/core/money.ts'
import { enginesOf } from '../harness/database.ts'
import { openThingsShop, type ThingsShop } from '../harness/things-shop.ts'
import { addCustomer, buy, findingsOf } from '../harness/wired.ts'

const dayMs = 86_400_000

describe.each([...enginesOf('postgres')])('events on %s', (engine) => {
  let till: ThingsShop
  beforeAll(async () => {
    till = await openThingsShop(engine)
  })
  afterAll(() => till.stop())

  async function refundOne(customer = till.customer): Promise<string> {
    const { body } = await buy(till.services, { customer, token: null }, 1_000n)
    const { order } = JSON.parse(body)
    await till.services.orders.refund(order, kopecks(150n), 'one was scratched')
    return order
  }

  test('nothing has happened to whoever is new', async () => {
    expect((await till.get('/events')).data).toEqual({ events: [], next_cursor: null })
  })

  test('a refund is told once, with its order, in the transaction that gives the money back', async () => {
    const order = await refundOne()
    const { events } = (await till.get('/events')).data
    expect(events).toEqual([
      {
        id: 1,
        type: 'order.refunded',
        timestamp: new Date(till.clock.nowMs).toISOString(),
        order_id: order,
        data: { amount_rub: 1.5, balance_rub: 991.5, reason: 'one was scratched' },
      },
    ])
    // Refused, it moves nothing and tells nothing.
    await till.services.orders.refund(order as never, 'all', 'again').catch(() => {})
    expect((await till.get('/events')).data.events).toHaveLength(1)
  })

  test('pages follow one another, and whoever asks after the last one that he has seen misses nothing', async () => {
    for (let count = 0; count < 4; count += 1) await refundOne()
    const first = (await till.get('/events?limit=2')).data
    expect(first.events.map((each: { id: number }) => each.id)).toEqual([1, 2])
    const second = (await till.get(`/events?limit=2&cursor=${first.next_cursor}`)).data
    expect(second.events.map((each: { id: number }) => each.id)).toEqual([3, 4])
    const rest = (await till.get('/events?after=4')).data
    expect([rest.events.map((each: { id: number }) => each.id), rest.next_cursor]).toEqual([[5], null])
    expect((await till.get('/events?after=5')).data.events).toEqual([])
    expect((await till.get('/events?type=proxy.ended')).data.events).toEqual([])
    expect((await till.get('/events?type=order.refunded')).data.events).toHaveLength(5)
  })

  test('events that are written at once are numbered without gaps', async () => {
    const customer = await addCustomer(till.services, 100_000n)
    await Promise.all(Array.from({ length: 12 }, () => refundOne(customer)))
    const events = await till.services.events.list(customer, { after: 0, type: undefined, limit: 100 })
    expect(events.map((each) => each.seq)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1))
  })

  test('nobody sees another customer’s, and nobody any without a token to read with', async () => {
    const stranger = await addCustomer(till.services, 0n)
    const { text } = await till.services.customers.issueToken(stranger, { name: 'test' })
    expect((await till.get('/events', { token: text })).data.events).toEqual([])
    expect((await till.get('/events', { token: null })).status).toBe(401)
    const trade = await till.services.customers.issueToken(till.customer, { name: 'trade', scopes: ['trade'] })
    expect((await till.get('/events', { token: trade.text })).status).toBe(403)
  })

  test.each(['after=-1', 'after=1e1', 'type=nothing', 'limit=0', 'limit=501', 'cursor=!', 'cursor=YWJj'])(
    'a malformed question is refused: %s',
    async (query) => {
      const answer = await till.get(`/events?${query}`)
      expect([answer.status, answer.error.code]).toEqual([400, 'invalid_request'])
    },
  )

  test('a clock that is set back never dates an event before an earlier one', async () => {
    till.clock.advance(-5_000)
    await refundOne()
    const [before, last] = (await till.get('/events?after=4')).data.events
    expect(last.timestamp).toBe(before.timestamp)
    till.clock.advance(5_000)
    expect(await findingsOf(till.services)).toEqual([])
  })

  test('an event is never changed, and is forgotten after 30 days; numbers go on', async () => {
    const change = till.services.db.transact((tx) => tx.run(`UPDATE events SET type = 'proxy.ended'`))
    expect(await change.then(() => 'changed').catch(() => 'refused')).toBe('refused')
    till.clock.advance(30 * dayMs - 1)
    expect(await till.services.events.forget(100)).toBe(0)
    till.clock.advance(1)
    expect(await till.services.events.forget(3)).toBe(3)
    while ((await till.services.events.forget(3)) === 3);
    expect((await till.get('/events')).data.events).toEqual([])
    await refundOne()
    expect((await till.get('/events')).data.events[0].id).toBe(7)
    expect(await findingsOf(till.services)).toEqual([])
  })
})
