import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createPublicCatalogue, type ShownCatalogue } from '../../src/api/customer/catalogue/public-catalogue.ts'
import { enginesOf } from '../harness/database.ts'
import { applyCatalogue, shipped } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'

describe.each([...enginesOf('sqlite')])('GET /catalogue on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' })
  })
  afterAll(() => service.stop())

  const read = (headers: Record<string, string> = {}) => fetch(`${service.url}/api/v1/catalogue`, { headers })
  const readData = async (): Promise<ShownCatalogue> => (await service.get('/catalogue', { token: null })).data
  const countryOf = (data: ShownCatalogue, code: string) =>
    data.dedicated.kinds[1]?.countries.find((each) => each.country_code === code)

  test('a caller without a token reads prices, discounts and stock as quotes have them', async () => {
    const data = await readData()
    expect(data.dedicated.kinds.map((kind) => kind.ipv)).toEqual([3, 4, 6])
    const germany = countryOf(data, 'DE')
    expect(germany).toMatchObject({ name: 'Germany', name_ru: 'Германия', stock: 'available' })
    const quoted = await service.get('/dedicated/quote?country_code=DE&period=30&count=1&ipv=4')
    const month = germany?.prices.find((each) => each.period === 30)
    expect(month).toEqual({ period: 30, price_rub: quoted.data.price_rub, discount_percent: 5 })
    expect(data.dedicated.kinds[1]?.volume_discounts[0]).toEqual({ from_count: 10, percent: 3 })
    expect(data.premium.pools[0]).toMatchObject({ pool_type: 'residential', is_available: true })
    expect(data.vpn).toMatchObject({ device_limit: 5, traffic_gb: null })
    expect(data.vpn?.prices[1]).toEqual({ period: 3, price_rub: 799, price_per_month_rub: 266.34 })
    expect(data.payment_methods[0]).toMatchObject({ method: 'sandbox', fee_percent: 0 })
  })

  test('stock is a level and never a number, and changes with sales', async () => {
    const { count } = (await service.get('/dedicated/count?country_code=RU&ipv=4')).data
    await service.post('/dedicated/buy', { country_code: 'RU', period: 7, count: count - 19, ipv: 4 })
    service.clock.advance(6_000)
    const stockOfRussia = async () => countryOf(await readData(), 'RU')?.stock
    expect(await stockOfRussia()).toBe('low')
    await service.post('/dedicated/buy', { country_code: 'RU', period: 7, count: 19, ipv: 4 })
    service.clock.advance(6_000)
    expect(await stockOfRussia()).toBe('none')
  })

  test('the answer may be cached for 10 s and revalidated, and shows a new price list within 5 s', async () => {
    const first = await read()
    expect(first.headers.get('cache-control')).toBe('public, max-age=10')
    const tag = first.headers.get('etag') ?? ''
    expect((await read({ 'if-none-match': tag })).status).toBe(304)
    const list = shipped()
    Object.assign(list, { vpn: { months: { 1: 299, 3: 899 }, device_limit: 5 } })
    await applyCatalogue(service.services, list)
    expect((await read({ 'if-none-match': tag })).status).toBe(304)
    service.clock.advance(5_000)
    expect((await readData()).vpn?.prices[1]?.price_rub).toBe(899)
  })

  test('1,000 readers within 5 s are one computation', async () => {
    const { services, clock } = service
    let computations = 0
    const find = () => ((computations += 1), services.pricing.find())
    const readCatalogue = createPublicCatalogue({ ...services, pricing: { find }, clock: clock.read })
    await Promise.all(Array.from({ length: 1000 }, () => readCatalogue()))
    clock.advance(4_999)
    await readCatalogue()
    expect(computations).toBe(1)
  })

  test('the 121st request of a network address in a minute is refused with 429', async () => {
    const ask = (from: string) => read({ 'x-forwarded-for': from })
    for (let at = 0; at < 120; at += 1) expect((await ask('192.0.2.7')).status).toBe(200)
    const refused = await ask('192.0.2.7')
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true])
    expect((await ask('198.51.100.7')).status).toBe(200)
  })

  test('a shop without a price list answers an empty catalogue', async () => {
    const empty = await startService(engine, { TURNPIKE_SANDBOX: 'off' })
    try {
      const { data } = await empty.get('/catalogue', { token: null })
      expect(data).toMatchObject({ version: null, dedicated: { kinds: [] }, premium: { pools: [] }, vpn: null })
    } finally {
      await empty.stop()
    }
  })
})
