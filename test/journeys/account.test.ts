import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { kopecks } from '../../src/core/money.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { openThingsShop, type ThingsShop } from '../harness/things-shop.ts'
import { addCustomer, buy, credit } from '../harness/wired.ts'

describe.each([...enginesOf('postgres')])('GET /balance and GET /transactions on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  test('GET /balance of a fresh sandbox answers 100,000 roubles and nothing spent', async () => {
    const answer = await service.get('/balance')
    expect(answer.text).toBe('{"ok":true,"data":{"balance_rub":100000,"api_spent_rub":0}}')
  })

  test('GET /transactions lists each credit with the balance after it', async () => {
    const { data } = await service.get('/transactions')
    expect(data.transactions).toHaveLength(1)
    expect(data.transactions[0]).toMatchObject({ id: 1, kind: 'credit', amount_rub: 100000, balance_after_rub: 100000 })
    expect(data.next_cursor).toBeNull()
  })

  test('amounts of a calculation are stored in kopecks for every product and shown in roubles, times in ISO 8601, old rows too', async () => {
    const { token } = await service.newCustomer(10_000n)
    const order = { country_code: 'DE', period: 30, count: 10, ipv: 4 }
    const { data: bought } = await service.post('/dedicated/buy', order, { token })
    const ids = bought.proxies.map((each: { id: number }) => each.id)
    const { data: prolonged } = await service.post('/dedicated/prolong', { ids, period: 7 }, { token })
    const { data: traffic } = await service.post('/premium/traffic/buy', { pool_type: 'mobile', gb: 0.5 }, { token })
    const { data: vpn } = await service.post('/vpn/buy', { period: 3 }, { token })
    const calculationOf = async (id: string) => (await service.get(`/orders/${id}`, { token })).data.calculation
    expect(await calculationOf(bought.order_id)).toMatchObject({
      country_code: 'DE',
      price_rub: bought.price_rub,
      full_price_rub: 1800,
      expires_at: bought.proxies[0].expires_at,
    })
    const { lines, proxies } = await calculationOf(prolonged.order_id)
    const [line] = lines
    const ends = prolonged.items.map((each: { id: number; expires_at: string }) => [each.id, each.expires_at])
    expect(proxies).toEqual(ends)
    expect(line).toEqual({ country_code: 'DE', ipv: 4, period: 7, count: 10, price_rub: prolonged.price_rub })
    const amounts = [(await calculationOf(traffic.order_id)).price_per_gb_rub]
    amounts.push((await calculationOf(vpn.order_id)).per_month_rub)
    expect(amounts).toEqual([expect.any(Number), expect.any(Number)])
    const { db } = service.services
    const stored = await db.all<{ calculation: string }>('SELECT calculation FROM orders')
    for (const { calculation } of stored) expect(calculation).not.toContain('_rub')
    const old = { catalogue: 1, months: 3, per_month_rub: 249.67, uuid: vpn.uuid }
    await db.transact((tx) =>
      tx.run('UPDATE orders SET calculation = $2 WHERE id = $1', [vpn.order_id, JSON.stringify(old)]),
    )
    expect(await calculationOf(vpn.order_id)).toEqual(old)
  })

  test('GET /balance, /transactions and /orders answer 401 without a token', async () => {
    for (const path of ['/balance', '/transactions', '/orders', '/orders/ord_0']) {
      const answer = await service.get(path, { token: null })
      expect(answer.status).toBe(401)
      expect(answer.error.code).toBe('invalid_token')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
  })
})

describe.each([...enginesOf('postgres')])('ledger and orders of a customer on %s', (engine) => {
  let shop: ThingsShop
  beforeAll(async () => {
    shop = await openThingsShop(engine)
  })
  afterAll(() => shop.stop())

  test('api_spent_rub counts purchases by token, less refunds, and leaves out console purchases', async () => {
    const { services, customer } = shop
    const { data: bought } = await shop.post('/things/buy', { count: 3 })
    expect((await shop.get('/balance')).data).toEqual({ balance_rub: 973, api_spent_rub: 27 })
    await buy(services, { customer, token: null }, 1_050n)
    expect((await shop.get('/balance')).data).toEqual({ balance_rub: 962.5, api_spent_rub: 27 })
    await services.orders.refund(bought.order_id, kopecks(505n), 'one was scratched')
    expect((await shop.get('/balance')).data).toEqual({ balance_rub: 967.55, api_spent_rub: 21.95 })
    const { transactions } = (await shop.get('/transactions?limit=3')).data
    expect(transactions).toMatchObject([
      { id: 4, kind: 'refund', amount_rub: 5.05, balance_after_rub: 967.55, order_id: bought.order_id, refund_of: 2 },
      { id: 3, kind: 'charge', amount_rub: -10.5, balance_after_rub: 962.5, refund_of: null },
      { id: 2, kind: 'charge', amount_rub: -27, balance_after_rub: 973, order_id: bought.order_id, note: '3 things' },
    ])
  })

  test('GET /orders/{id} shows the request and the calculation of the price', async () => {
    const { data: bought } = await shop.post('/things/buy', { count: 2, colour: 'blue' })
    const { data: order } = await shop.get(`/orders/${bought.order_id}`)
    expect(order).toEqual({
      order_id: bought.order_id,
      product: 'things',
      action: 'buy',
      price_rub: 18,
      request: { count: 2, colour: 'blue', note: null },
      calculation: { each_rub: 9 },
      delivered: [],
      delivered_count: 0,
      metadata: {},
      created_at: new Date(shop.clock.nowMs).toISOString(),
    })
  })

  test('GET /orders/{id} answers for another customer’s order as for an unknown one: 404', async () => {
    const other = await addCustomer(shop.services, 10_000n)
    const { body } = await buy(shop.services, { customer: other, token: null }, 900n)
    const { order } = JSON.parse(body) as { order: string }
    const theirs = await shop.get(`/orders/${order}`)
    const unknown = await shop.get(`/orders/${order.slice(0, -1)}${order.endsWith('0') ? '1' : '0'}`)
    const malformed = await shop.get('/orders/17')
    expect([theirs.status, theirs.text]).toEqual([404, unknown.text])
    expect([malformed.status, malformed.text]).toEqual([404, unknown.text])
    const stable = (headers: Headers) => [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
    expect(stable(theirs.headers)).toEqual(stable(unknown.headers))
  })

  test('pages of /transactions and /orders show every row once while new rows arrive', async () => {
    const customer = await addCustomer(shop.services, 100_000n)
    const { text: token } = await shop.services.customers.issueToken(customer, { name: 'reader' })
    const purchase = () => {
      shop.clock.advance(1)
      return buy(shop.services, { customer, token: null }, 100n)
    }
    for (let count = 0; count < 24; count += 1) await purchase()
    for (const [path, list, name] of [
      ['/transactions', 'transactions', 'id'],
      ['/orders', 'orders', 'order_id'],
    ] as const) {
      const whole: unknown[] = (await shop.get(`${path}?limit=500`, { token })).data[list]
      const seen: Record<string, unknown>[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { data } = await shop.get(`${path}?limit=5${cursor === '' ? '' : `&cursor=${cursor}`}`, { token })
        seen.push(...data[list])
        cursor = data.next_cursor
        await purchase()
        await credit(shop.services, customer, 1n)
        expect(seen.length).toBeLessThanOrEqual(whole.length)
      }
      expect(seen as unknown[]).toEqual(whole)
      expect(new Set(seen.map((row) => row[name])).size).toBe(seen.length)
    }
  })

  test('GET /orders?idempotency_key= shows the order of a key to its customer only, and nothing for an unused key', async () => {
    const bought = await shop.post('/things/buy', { count: 1 }, { key: 'asked-1' })
    const of = (name: string, options = {}) => shop.get(`/orders?idempotency_key=${name}`, options)
    const { data } = await of('asked-1')
    expect([data.orders.map((each: { order_id: string }) => each.order_id), data.next_cursor]).toEqual([
      [bought.data.order_id],
      null,
    ])
    const other = await shop.services.customers.create('other')
    const { text } = await shop.services.customers.issueToken(other.id, { name: 'reader' })
    expect((await of('asked-2')).data.orders).toEqual([])
    expect((await of('asked-1', { token: text })).data.orders).toEqual([])
    const refused = await of('%20')
    expect([refused.status, refused.error.details[0].field]).toEqual([400, 'idempotency_key'])
  })

  test('GET /transactions answers 100 rows by default and refuses a limit above 500', async () => {
    const customer = await addCustomer(shop.services, 0n)
    const { text: token } = await shop.services.customers.issueToken(customer, { name: 'reader' })
    await Promise.all(Array.from({ length: 120 }, () => credit(shop.services, customer, 1n)))
    const usual = (await shop.get('/transactions', { token })).data
    expect(usual.transactions).toHaveLength(100)
    expect(usual.next_cursor).not.toBeNull()
    const rest = (await shop.get(`/transactions?cursor=${usual.next_cursor}`, { token })).data
    expect(rest.transactions.map((each: { id: number }) => each.id)).toEqual(
      Array.from({ length: 20 }, (_, index) => 20 - index),
    )
    expect(rest.next_cursor).toBeNull()
    expect((await shop.get('/transactions?limit=500', { token })).data.transactions).toHaveLength(120)
    for (const path of ['/transactions?limit=120', `/transactions?limit=20&cursor=${usual.next_cursor}`]) {
      expect((await shop.get(path, { token })).data.next_cursor).toBeNull()
    }
    expect((await shop.get('/transactions?limit=501', { token })).status).toBe(400)
  })

  test('GET /transactions refuses a cursor of GET /orders', async () => {
    await shop.post('/things/buy', { count: 1 })
    await shop.post('/things/buy', { count: 1 })
    const { data } = await shop.get('/orders?limit=1')
    const all = (await shop.get('/orders?limit=500')).data.orders.length
    expect((await shop.get(`/orders?limit=${all}`)).data.next_cursor).toBeNull()
    const answer = await shop.get(`/transactions?cursor=${data.next_cursor}`)
    expect([answer.status, answer.error.details[0].field]).toEqual([400, 'cursor'])
  })
})
