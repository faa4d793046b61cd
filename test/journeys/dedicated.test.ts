import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { addStock, applyCatalogue, shippedWith } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

const dayMs = 86_400_000
const wish = { country_code: 'DE', period: 30, count: 2, ipv: 4 }

describe.each([...enginesOf('postgres')])('dedicated proxies on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
    await applyCatalogue(service.services, shippedWith('AT', 'BE'))
    await addStock(service.services, '127.60.0.0/29', 'AT', 4)
    await addStock(service.services, '127.61.0.0/30', 'BE', 3)
  })
  afterAll(async () => {
    expect(await findingsOf(service.services)).toEqual([])
    expect(service.log.filter((line) => line.includes('"fault"'))).toEqual([])
    await service.stop()
  })
  const balanceOf = async (token: string): Promise<number> =>
    (await service.get('/balance', { token })).data.balance_rub
  const free = async (code: string, ipv: number): Promise<number> => {
    service.clock.advance(1_000)
    return (await service.get(`/dedicated/count?country_code=${code}&ipv=${ipv}`)).data.count
  }

  test('a quote says what it costs, what one costs, what is taken off and how many there are', async () => {
    const { data } = await service.get('/dedicated/quote?country_code=DE&period=30&count=10&ipv=4')
    expect(data).toMatchObject({
      country_code: 'DE',
      period: 30,
      count: 10,
      ipv: 4,
      price_rub: 1658.7,
      price_per_proxy_rub: 165.87,
      discount_percent: 7.85,
    })
    expect(data.available).toBeGreaterThanOrEqual(100)
  })

  test('what is charged is what was quoted, for every kind, and the answer tells all there is to know', async () => {
    const { token } = await service.newCustomer(10_000n)
    for (const ipv of [3, 4, 6]) {
      const before = await balanceOf(token)
      const quote = await service.get(`/dedicated/quote?country_code=NL&period=7&count=3&ipv=${ipv}`, { token })
      const { data } = await service.post('/dedicated/buy', { country_code: 'NL', period: 7, count: 3, ipv }, { token })
      expect(data).toMatchObject({ country_code: 'NL', period: 7, count: 3, ipv, price_rub: quote.data.price_rub })
      expect(data.balance_rub).toBe(Math.round((before - data.price_rub) * 100) / 100)
      expect(await balanceOf(token)).toBe(data.balance_rub)
      expect(data.proxies).toHaveLength(3)
      expect(new Set(data.proxies.map((each: { exit_ip: string }) => each.exit_ip)).size).toBe(3)
      const order = await service.get(`/orders/${data.order_id}`, { token })
      expect(order.data.price_rub).toBe(data.price_rub)
      const { transactions } = (await service.get('/transactions?limit=1', { token })).data
      expect(transactions[0]).toMatchObject({ id: data.check_id, order_id: data.order_id })
    }
  })

  test('a proxy carries its address, port, credentials safe in a URL, and its end in both forms', async () => {
    const { token } = await service.newCustomer(1_000n)
    const { data } = await service.post('/dedicated/buy', wish, { token })
    const usernames = new Set<string>()
    for (const proxy of data.proxies) {
      expect(Number.isInteger(proxy.id)).toBeTrue()
      expect(proxy).toMatchObject({ port: 10_800, port_type: 'http', status: 'active', comment: '', auto_renew: null })
      expect(proxy.ip).toBe(proxy.exit_ip)
      expect(proxy.username).toMatch(/^[0-9a-z]{6,32}$/)
      // 20 characters of 5 bits each are 100 bits; at least 96 were promised.
      expect(proxy.password).toMatch(/^[0-9a-z]{20}$/)
      expect(proxy.date_end).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
      expect(Date.parse(proxy.expires_at)).toBe(service.clock.nowMs + 30 * dayMs)
      expect(proxy.date_end).toBe(proxy.expires_at.slice(0, 19).replace('T', ' '))
      usernames.add(proxy.username)
    }
    expect(usernames.size).toBe(2)
  })

  test('an IPv6 proxy is reached through the gateway and leaves from its own address', async () => {
    const { token } = await service.newCustomer(1_000n)
    const { data } = await service.post('/dedicated/buy', { ...wish, ipv: 6, count: 5 }, { token })
    for (const proxy of data.proxies) {
      expect(proxy.ip).toBe('127.0.0.1')
      expect(proxy.exit_ip).toStartWith('fd74:7069:6b65:')
    }
  })

  test('a country is read in any case and shown in capitals', async () => {
    for (const code of ['de', 'De', 'dE', 'DE']) {
      const quote = await service.get(`/dedicated/quote?country_code=${code}&period=30&count=1&ipv=4`)
      expect(quote.data.country_code).toBe('DE')
    }
    const { data } = await service.post('/dedicated/buy', { ...wish, country_code: 'de', count: 1 })
    expect(data.country_code).toBe('DE')
    expect(data.proxies[0].country_code).toBe('DE')
    expect((await service.get('/dedicated/count?country_code=de&ipv=4')).data.country_code).toBe('DE')
  })

  test('unknown fields are ignored, as existing clients send them', async () => {
    const { token } = await service.newCustomer(1_000n)
    const answer = await service.post('/dedicated/buy', { ...wish, auto_prolong: true, nokey: 1 }, { token })
    expect(answer.status).toBe(200)
  })

  test('countries are listed with their names in English and Russian, what is free, and for how long it is sold', async () => {
    for (const ipv of [3, 4, 6]) {
      const { data } = await service.get(`/dedicated/country?ipv=${ipv}`)
      expect(data.ipv).toBe(ipv)
      expect(data.periods).toEqual(ipv === 6 ? [3, 7, 14, 30, 60, 90] : [7, 14, 30, 60, 90])
      expect(data.prolong_periods).toEqual([3, 7, 14, 30, 60, 90])
      const codes = data.countries.map((each: { country_code: string }) => each.country_code)
      for (const code of ['DE', 'FR', 'GB', 'NL', 'RU', 'US']) expect(codes).toContain(code)
      expect(data.countries.find((each: { country_code: string }) => each.country_code === 'DE')).toMatchObject({
        name: 'Germany',
        name_ru: 'Германия',
      })
    }
  })

  test('a country or a kind without a price is not found, rather than free', async () => {
    const { token } = await service.newCustomer(1_000n)
    for (const code of ['JP', 'AQ']) {
      const quote = await service.get(`/dedicated/quote?country_code=${code}&period=30&count=1&ipv=4`)
      expect([quote.status, quote.error.code]).toEqual([404, 'not_found'])
      const bought = await service.post('/dedicated/buy', { ...wish, country_code: code }, { token })
      expect([bought.status, bought.error.code]).toEqual([404, 'not_found'])
      expect(bought.error.details.charged).toBeFalse()
    }
    expect(await balanceOf(token)).toBe(1_000)
  })

  test('a period that is not sold is refused with those that are', async () => {
    const sold = { 4: [7, 14, 30, 60, 90], 6: [3, 7, 14, 30, 60, 90] }
    for (const [ipv, allowed] of Object.entries(sold)) {
      for (const period of [1, 31, 3650]) {
        const quote = await service.get(`/dedicated/quote?country_code=DE&period=${period}&count=1&ipv=${ipv}`)
        const bought = await service.post('/dedicated/buy', { ...wish, period, ipv: Number(ipv) })
        for (const answer of [quote, bought]) {
          expect([answer.status, answer.error.code]).toEqual([400, 'invalid_request'])
          expect(answer.error.details).toMatchObject([{ field: 'period', allowed }])
        }
      }
    }
  })

  test('too little money takes nothing: not the balance, not an address, and says how much is missing', async () => {
    const { token } = await service.newCustomer(100n)
    const before = await free('AT', 4)
    const answer = await service.post('/dedicated/buy', { country_code: 'AT', period: 90, count: 2, ipv: 4 }, { token })
    expect([answer.status, answer.error.code]).toEqual([402, 'insufficient_funds'])
    expect(answer.error.details).toEqual({ required_rub: 162, balance_rub: 100, charged: false })
    expect(await free('AT', 4)).toBe(before)
    expect(await balanceOf(token)).toBe(100)
    expect((await service.get('/dedicated/list', { token })).data.proxies).toEqual([])
    expect((await service.get('/orders', { token })).data.orders).toEqual([])
  })

  test('too little stock takes nothing and says how many there are', async () => {
    const { token } = await service.newCustomer(1_000n)
    const before = await free('AT', 4)
    const body = { country_code: 'AT', period: 7, count: before + 1, ipv: 4 }
    const answer = await service.post('/dedicated/buy', body, { token })
    expect([answer.status, answer.error.code]).toEqual([409, 'out_of_stock'])
    expect(answer.error.details).toEqual({ available: before, charged: false })
    expect(await balanceOf(token)).toBe(1_000)
    expect(await free('AT', 4)).toBe(before)
    expect((await service.post('/dedicated/buy', { ...body, count: before }, { token })).status).toBe(200)
    const none = await service.post('/dedicated/buy', { ...body, count: 1 }, { token })
    expect(none.error.details).toEqual({ available: 0, charged: false })
  })

  test('a shared address goes to three customers and to none of them twice', async () => {
    const buyers = await Promise.all(Array.from({ length: 4 }, () => service.newCustomer(1_000n)))
    const holders = new Map<string, number>()
    for (const { token } of buyers.slice(0, 3)) {
      const { data } = await service.post(
        '/dedicated/buy',
        { country_code: 'BE', period: 7, count: 4, ipv: 3 },
        { token },
      )
      const addresses = new Set<string>(data.proxies.map((each: { exit_ip: string }) => each.exit_ip))
      expect(addresses.size).toBe(4)
      for (const address of addresses) holders.set(address, (holders.get(address) ?? 0) + 1)
      const more = await service.post('/dedicated/buy', { country_code: 'BE', period: 7, count: 1, ipv: 3 }, { token })
      expect(more.error.code).toBe('out_of_stock')
    }
    expect([...holders.values()]).toEqual([3, 3, 3, 3])
    const fourth = await service.post(
      '/dedicated/buy',
      { country_code: 'BE', period: 7, count: 1, ipv: 3 },
      { token: buyers[3]?.token ?? '' },
    )
    expect(fourth.error.details).toEqual({ available: 0, charged: false })
  })

  test('a purchase repeated with its key is answered byte for byte and charged once', async () => {
    const { token } = await service.newCustomer(1_000n)
    const first = await service.post('/dedicated/buy', wish, { token, key: 'once' })
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    service.clock.advanceDays(2)
    const again = await service.post('/dedicated/buy', wish, { token, key: 'once' })
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await balanceOf(token)).toBe(first.data.balance_rub)
    expect((await service.get('/dedicated/list', { token })).data.proxies).toHaveLength(2)
  })

  test('a purchase is answered again by its key when the price list has changed since and sells it no more', async () => {
    const { token } = await service.newCustomer(1_000n)
    await applyCatalogue(service.services, shippedWith('AT', 'BE', 'PT'))
    await addStock(service.services, '127.62.0.0/30', 'PT', 4)
    const body = { ...wish, country_code: 'PT' }
    const first = await service.post('/dedicated/buy', body, { token, key: 'kept' })
    expect(first.status).toBe(200)
    await applyCatalogue(service.services, shippedWith('AT', 'BE'))
    const again = await service.post('/dedicated/buy', body, { token, key: 'kept' })
    expect(again.text).toBe(first.text)
    expect((await service.post('/dedicated/buy', body, { token, key: 'new' })).status).toBe(404)
  })

  test('a key that was used for another request is refused', async () => {
    const { token } = await service.newCustomer(1_000n)
    const first = await service.post('/dedicated/buy', wish, { token, key: 'mine' })
    const ids = first.data.proxies.map((each: { id: number }) => each.id)
    const other = await service.post('/dedicated/buy', { ...wish, count: 1 }, { token, key: 'mine' })
    const elsewhere = await service.post('/dedicated/prolong', { ids, period: 7 }, { token, key: 'mine' })
    for (const answer of [other, elsewhere]) {
      expect([answer.status, answer.error.code]).toEqual([422, 'idempotency_key_reused'])
      expect(answer.error.details.charged).toBeFalse()
    }
    expect(await balanceOf(token)).toBe(first.data.balance_rub)
    // Keys are each customer's own.
    const stranger = await service.newCustomer(1_000n)
    const theirs = await service.post('/dedicated/buy', { ...wish, count: 1 }, { token: stranger.token, key: 'mine' })
    expect(theirs.status).toBe(200)
  })

  test('a refusal is not remembered: the same key works once there is money', async () => {
    const { token, customer } = await service.newCustomer()
    const refused = await service.post('/dedicated/buy', wish, { token, key: 'later' })
    expect(refused.status).toBe(402)
    const { db, ledger } = service.services
    await db.transact((tx) => ledger.credit(tx, customer, 50_000n as never, 'operator', 'top-up'))
    const bought = await service.post('/dedicated/buy', wish, { token, key: 'later' })
    expect(bought.status).toBe(200)
    expect(bought.headers.get('idempotent-replayed')).toBeNull()
  })

  test('what was spent on proxies is counted as spent through tokens', async () => {
    const { token } = await service.newCustomer(1_000n)
    const { data } = await service.post('/dedicated/buy', wish, { token })
    expect((await service.get('/balance', { token })).data.api_spent_rub).toBe(data.price_rub)
  })

  test('a thousand proxies come in one purchase, each with an address of its own', async () => {
    const { token } = await service.newCustomer(1_000_000n)
    await addStock(service.services, '127.62.0.0/22', 'US', 4)
    for (const ipv of [4, 6]) {
      const { data } = await service.post(
        '/dedicated/buy',
        { country_code: 'US', period: 7, count: 1000, ipv },
        { token },
      )
      expect(new Set(data.proxies.map((each: { exit_ip: string }) => each.exit_ip)).size).toBe(1000)
      expect(new Set(data.proxies.map((each: { id: number }) => each.id)).size).toBe(1000)
    }
  })
})
