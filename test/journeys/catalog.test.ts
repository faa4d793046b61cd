import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { addStock, applyCatalogue, shipped, shippedWith } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

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
