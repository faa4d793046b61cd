import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { addStock, applyCatalogue, shipped, shippedWith } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

/** The same price list with every price doubled. */
const doubled = (list: unknown): unknown =>
  JSON.parse(JSON.stringify(list), (name, value) => {
    if (['per_day', 'per_gb'].includes(name)) return Number(value) * 2
    if (name !== 'months') return value
    return Object.fromEntries(Object.entries(value as Record<string, number>).map(([term, price]) => [term, price * 2]))
  })

describe.each([...enginesOf('postgres')])('applying a price list on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service.services)).toEqual([])
    await service.stop()
  })
  const quote = (query: string) => service.get(`/dedicated/quote?${query}`)

  test('applying a price list changes later quotes and purchases and leaves earlier orders unchanged', async () => {
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const before = await service.post('/dedicated/buy', order)
    const list = shipped()
    const four = list.dedicated.kinds['4']
    if (four) four.countries['DE'] = { per_period: { 7: 50, 14: 90, 30: '199.99', 60: 380, 90: 500 } }
    await applyCatalogue(service.services, list)
    expect((await quote('country_code=DE&period=30&count=1&ipv=4')).data.price_rub).toBe(190)
    const after = await service.post('/dedicated/buy', order)
    // 199.99 less 5 % is 189.9905; fractions of a kopeck round up.
    expect([before.data.price_rub, after.data.price_rub]).toEqual([171, 190])
    const orders = await Promise.all([before, after].map((each) => service.get(`/orders/${each.data.order_id}`)))
    expect(orders.map((each) => each.data.price_rub)).toEqual([171, 190])
  })

  test('each purchase at a doubled price is refused by the max_price_rub of an older quote, and charges nothing', async () => {
    await applyCatalogue(service.services, shipped())
    service.clock.advance(1000)
    const { data: owned } = await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
    await service.post('/vpn/buy', { period: 1 })
    const id = owned.proxies[0].id
    const purchases = [
      [
        '/dedicated/buy',
        { country_code: 'FR', period: 7, count: 1, ipv: 4 },
        '/dedicated/quote?country_code=FR&period=7&count=1&ipv=4',
      ],
      ['/dedicated/prolong', { ids: [id], period: 30 }, `/dedicated/prolong/quote?ids=${id}&period=30`],
      [
        '/premium/traffic/buy',
        { pool_type: 'residential', gb: 1 },
        '/premium/traffic/quote?pool_type=residential&gb=1',
      ],
      ['/vpn/buy', { period: 3 }, '/vpn/quote?period=3'],
      ['/vpn/renew', { period: 1 }, '/vpn/quote?period=1'],
    ] as const
    const quoted = async () => {
      const answers = await Promise.all(purchases.map(([, , path]) => service.get(path)))
      expect(answers.map((each) => each.data.valid_until)).toEqual(answers.map(() => null))
      return answers.map((each): number => each.data.price_rub ?? each.data.total_price_rub)
    }
    const before = await quoted()
    await applyCatalogue(service.services, doubled(shipped()))
    service.clock.advance(1000)
    const after = await quoted()
    const { balance_rub: balance } = (await service.get('/balance')).data
    for (const [index, [path, body]] of purchases.entries()) {
      const limited = { ...body, max_price_rub: before[index] }
      const product = { '/dedicated/buy': 'dedicated', '/premium/traffic/buy': 'traffic', '/vpn/buy': 'vpn' }[
        path as string
      ]
      const payment = { amount_rub: 1000, method: 'sandbox', purchase: { product, ...limited } }
      const refused = [
        await service.post(path, limited),
        ...(product === undefined ? [] : [await service.post('/payments', payment)]),
      ]
      for (const { status, error } of refused) {
        expect([path, status, error.reason, error.params]).toEqual([
          path,
          409,
          'price_changed',
          { price_rub: after[index], max_price_rub: before[index] },
        ])
      }
    }
    expect((await service.get('/balance')).data.balance_rub).toBe(balance)
    for (const [index, [path, body]] of purchases.entries()) {
      const bought = await service.post(path, { ...body, max_price_rub: after[index] })
      expect([path, bought.data.price_rub]).toEqual([path, after[index]])
    }
    await applyCatalogue(service.services, shipped())
    service.clock.advance(1000)
  })

  test('a price list adds IT to the sale, then drops it: quotes answer 404, its proxies keep working', async () => {
    expect((await quote('country_code=IT&period=30&count=1&ipv=4')).status).toBe(404)
    await applyCatalogue(service.services, shippedWith('IT'))
    await addStock(service.services, '127.70.0.0/28', 'IT', 4)
    service.clock.advance(1000)
    expect((await quote('country_code=IT&period=30&count=1&ipv=4')).data).toMatchObject({
      price_rub: 28.5,
      available: 16,
    })
    const listed = async () =>
      (await service.get('/dedicated/country?ipv=4')).data.countries.map(
        (each: { country_code: string }) => each.country_code,
      )
    expect(await listed()).toContain('IT')
    const bought = await service.post('/dedicated/buy', { country_code: 'IT', period: 7, count: 1, ipv: 4 })
    const ids = [bought.data.proxies[0].id]
    await applyCatalogue(service.services, shipped())
    expect(await listed()).not.toContain('IT')
    expect((await quote('country_code=IT&period=30&count=1&ipv=4')).status).toBe(404)
    const prolong = await service.post('/dedicated/prolong', { ids, period: 30 })
    expect([prolong.status, prolong.error.code]).toEqual([404, 'not_found'])
    const changed = await service.post('/dedicated/protocol', { ids, port_type: 'socks' })
    expect(changed.data.updated).toEqual(ids)
    expect((await service.post('/dedicated/replace', { id: ids[0] })).status).toBe(200)
  })

  test('the shipped prices never make a larger order cheaper than a smaller one', async () => {
    for (const ipv of [3, 4, 6]) {
      let last = 0
      for (const count of [1, 9, 10, 48, 49, 50, 95, 99, 100, 101, 450, 499, 500, 1000]) {
        const { data } = await quote(`country_code=DE&period=30&count=${count}&ipv=${ipv}`)
        expect(data.price_rub).toBeGreaterThanOrEqual(last)
        last = data.price_rub
      }
    }
  })
})
