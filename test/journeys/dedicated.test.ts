import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { addStock, applyCatalogue, shippedWith } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

const dayMs = 86_400_000
const order = { country_code: 'DE', period: 30, count: 2, ipv: 4 }

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

  test('GET /dedicated/quote answers price, price per proxy, discount and the number available', async () => {
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

  test('POST /dedicated/buy charges the quoted price for each kind and answers order and proxies', async () => {
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
      const placed = await service.get(`/orders/${data.order_id}`, { token })
      expect(placed.data.price_rub).toBe(data.price_rub)
      const { transactions } = (await service.get('/transactions?limit=1', { token })).data
      expect(transactions[0]).toMatchObject({ id: data.check_id, order_id: data.order_id })
    }
  })

  test('GET /orders/{id} lists the first 200 bought or prolonged proxies without passwords, and counts all', async () => {
    const { token } = await service.newCustomer(1_000_000n)
    const { data, error } = await service.post('/dedicated/buy', { ...order, ipv: 6, count: 201 }, { token })
    expect(error).toBeUndefined()
    const deliveredBy = async (id: string) => (await service.get(`/orders/${id}`, { token })).data
    const bought = await deliveredBy(data.order_id)
    expect([bought.delivered.length, bought.delivered_count]).toEqual([200, 201])
    const { id: proxy, exit_ip: address, username, expires_at, password } = data.proxies[0]
    expect(bought.delivered[0]).toMatchObject({ proxy, address, username, status: 'active', expires_at })
    expect(JSON.stringify(bought)).not.toContain(password)
    const longer = (await service.post('/dedicated/prolong', { ids: [proxy], period: 30 }, { token })).data
    const prolonged = await deliveredBy(longer.order_id)
    expect(prolonged).toMatchObject({ delivered: [{ proxy, address }], delivered_count: 1 })
    expect(Date.parse(prolonged.delivered[0].expires_at)).toBe(Date.parse(expires_at) + 30 * dayMs)
  })

  test('POST /dedicated/buy answers address, port, URL-safe credentials and the end in both formats', async () => {
    const { token } = await service.newCustomer(1_000n)
    const { data } = await service.post('/dedicated/buy', order, { token })
    const usernames = new Set<string>()
    for (const proxy of data.proxies) {
      expect(Number.isInteger(proxy.id)).toBeTrue()
      expect(proxy).toMatchObject({ port: 10_800, port_type: 'http', status: 'active', comment: '', auto_renew: null })
      expect(proxy.ip).toBe(proxy.exit_ip)
      expect(proxy.username).toMatch(/^[0-9a-z]{6,32}$/)
      // 20 characters of 5 bits are 100 bits; the specification requires 96. 7 more are a MAC.
      expect(proxy.password).toMatch(/^[0-9a-z]{27}$/)
      expect(proxy.date_end).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
      expect(Date.parse(proxy.expires_at)).toBe(service.clock.nowMs + 30 * dayMs)
      expect(proxy.date_end).toBe(proxy.expires_at.slice(0, 19).replace('T', ' '))
      usernames.add(proxy.username)
    }
    expect(usernames.size).toBe(2)
  })

  test('POST /dedicated/buy with port_type socks, socks5 or both sells proxies of that protocol; the default is http', async () => {
    const { token } = await service.newCustomer(1_000n)
    for (const [sent, shown] of Object.entries({ http: 'http', socks: 'socks', socks5: 'socks', both: 'both' })) {
      const body = { ...order, count: 1, port_type: sent }
      const { data } = await service.post('/dedicated/buy', body, { token })
      expect([sent, data.proxies[0].port_type]).toEqual([sent, shown])
      expect((await service.get(`/dedicated/${data.proxies[0].id}`, { token })).data.port_type).toBe(shown as never)
    }
    const refused = await service.post('/dedicated/buy', { ...order, port_type: 'https' }, { token })
    expect(refused.error.details).toMatchObject([{ field: 'port_type', allowed: ['http', 'socks', 'socks5', 'both'] }])
  })

  test('port_type is part of a purchase under a key: http is the default, and another answers 422', async () => {
    const { token } = await service.newCustomer(1_000n)
    const buy = (more: object) => service.post('/dedicated/buy', { ...order, ...more }, { token, key: 'protocol' })
    const first = await buy({})
    expect((await buy({ port_type: 'http' })).text).toBe(first.text)
    for (const port_type of ['socks', 'both']) {
      expect((await buy({ port_type })).error.code).toBe('idempotency_key_reused')
    }
  })

  test('an IPv6 proxy has the gateway’s address as ip and its own address as exit_ip', async () => {
    const { token } = await service.newCustomer(1_000n)
    const { data } = await service.post('/dedicated/buy', { ...order, ipv: 6, count: 5 }, { token })
    for (const proxy of data.proxies) {
      expect(proxy.ip).toBe('127.0.0.1')
      expect(proxy.exit_ip).toStartWith('fd74:7069:6b65:')
    }
  })

  test('country_code is read in any case and answered in capitals', async () => {
    for (const code of ['de', 'De', 'dE', 'DE']) {
      const quote = await service.get(`/dedicated/quote?country_code=${code}&period=30&count=1&ipv=4`)
      expect(quote.data.country_code).toBe('DE')
    }
    const { data } = await service.post('/dedicated/buy', { ...order, country_code: 'de', count: 1 })
    expect(data.country_code).toBe('DE')
    expect(data.proxies[0].country_code).toBe('DE')
    expect((await service.get('/dedicated/count?country_code=de&ipv=4')).data.country_code).toBe('DE')
  })

  test('POST /dedicated/buy ignores unknown fields, because existing clients send them', async () => {
    const { token } = await service.newCustomer(1_000n)
    const answer = await service.post('/dedicated/buy', { ...order, auto_prolong: true, nokey: 1 }, { token })
    expect(answer.status).toBe(200)
  })

  test('GET /dedicated/country lists names in English and Russian and the periods sold', async () => {
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

  test('a country without a price answers 404 to a quote and a purchase', async () => {
    const { token } = await service.newCustomer(1_000n)
    for (const code of ['JP', 'AQ']) {
      const quote = await service.get(`/dedicated/quote?country_code=${code}&period=30&count=1&ipv=4`)
      expect([quote.status, quote.error.code]).toEqual([404, 'not_found'])
      const bought = await service.post('/dedicated/buy', { ...order, country_code: code }, { token })
      expect([bought.status, bought.error.code]).toEqual([404, 'not_found'])
      expect(bought.error.details.charged).toBeFalse()
    }
    expect(await balanceOf(token)).toBe(1_000)
  })

  test('a quote or purchase for a period that is not sold answers 400 with the periods that are', async () => {
    const sold = { 4: [7, 14, 30, 60, 90], 6: [3, 7, 14, 30, 60, 90] }
    for (const [ipv, allowed] of Object.entries(sold)) {
      for (const period of [1, 31, 3650]) {
        const quote = await service.get(`/dedicated/quote?country_code=DE&period=${period}&count=1&ipv=${ipv}`)
        const bought = await service.post('/dedicated/buy', { ...order, period, ipv: Number(ipv) })
        for (const answer of [quote, bought]) {
          expect([answer.status, answer.error.code]).toEqual([400, 'invalid_request'])
          expect(answer.error.details).toMatchObject([{ field: 'period', allowed }])
        }
      }
    }
  })

  test('a period of 0, -1 or 3651 days gets the list of periods, as one that is not sold does', async () => {
    const { token } = await service.newCustomer(1_000n)
    const { data } = await service.post('/dedicated/buy', { ...order, count: 1 }, { token })
    const ids = data.proxies.map((each: { id: number }) => each.id)
    const [sold, prolonged] = [
      [7, 14, 30, 60, 90],
      [3, 7, 14, 30, 60, 90],
    ] as const
    for (const period of [0, -1, 3651]) {
      const asked: [path: string, body: object, allowed: readonly number[]][] = [
        ['/dedicated/buy', { ...order, period }, sold],
        ['/dedicated/prolong', { ids, period }, prolonged],
        ['/dedicated/prolong/quote', { ids, period }, prolonged],
        ['/dedicated/auto-renew', { ids, period }, prolonged],
      ]
      for (const [path, body, allowed] of asked) {
        const { error } = await service.post(path, body, { token })
        expect([path, error.details]).toMatchObject([path, [{ field: 'period', reason: 'one_of', allowed }]])
      }
      if (period < 0) continue
      const query = new URLSearchParams({ country_code: 'DE', period: String(period), count: '1', ipv: '4' })
      const { error } = await service.get(`/dedicated/quote?${query.toString()}`, { token })
      expect(error.details).toMatchObject([{ field: 'period', allowed: sold }])
      const quote = await service.get(`/dedicated/prolong/quote?ids=${ids.join(',')}&period=${period}`, { token })
      expect(quote.error.details).toMatchObject([{ field: 'period', allowed: prolonged }])
    }
  })

  test('a period of 0 beside another faulty field gets the list of periods on sale too', async () => {
    const { token } = await service.newCustomer()
    const asked: [path: string, body: object, allowed: readonly number[]][] = [
      ['/dedicated/buy', { ...order, period: 0, count: 0 }, [3, 7, 14, 30, 60, 90]],
      ['/dedicated/prolong', { ids: [], period: 0 }, [3, 7, 14, 30, 60, 90]],
      ['/vpn/buy', { period: 0, max_price_rub: -1 }, [1, 3, 6, 12]],
    ]
    for (const [path, body, allowed] of asked) {
      const { error } = await service.post(path, body, { token })
      expect([path, error.details.length]).toEqual([path, 2])
      const named = error.details.find((each: { field: string }) => each.field === 'period')
      expect([path, named]).toMatchObject([path, { reason: 'one_of', allowed }])
      expect(error.message).toContain(`period: must be one of ${allowed.join(', ')}`)
    }
    const { error } = await service.get('/dedicated/quote?country_code=DE&period=0&count=0&ipv=4')
    const named = error.details.find((each: { field: string }) => each.field === 'period')
    expect(named).toMatchObject({ reason: 'one_of', allowed: [3, 7, 14, 30, 60, 90] })
  })

  test('POST /dedicated/buy answers 402 with the amount required, and takes no money and no address', async () => {
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

  test('POST /dedicated/buy answers 409 with the number available, and takes no money and no address', async () => {
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

  test('a shared address is sold to three customers, and to each of them once', async () => {
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

  test('POST /dedicated/buy replays the first answer byte for byte for the same key and charges once', async () => {
    const { token } = await service.newCustomer(1_000n)
    const first = await service.post('/dedicated/buy', order, { token, key: 'once' })
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    service.clock.advanceDays(2)
    const again = await service.post('/dedicated/buy', order, { token, key: 'once' })
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await balanceOf(token)).toBe(first.data.balance_rub)
    expect((await service.get('/dedicated/list', { token })).data.proxies).toHaveLength(2)
  })

  test('POST /dedicated/buy replays a purchase by its key after the country left the price list', async () => {
    const { token } = await service.newCustomer(1_000n)
    await applyCatalogue(service.services, shippedWith('AT', 'BE', 'PT'))
    await addStock(service.services, '127.62.0.0/30', 'PT', 4)
    const body = { ...order, country_code: 'PT' }
    const first = await service.post('/dedicated/buy', body, { token, key: 'kept' })
    expect(first.status).toBe(200)
    await applyCatalogue(service.services, shippedWith('AT', 'BE'))
    const again = await service.post('/dedicated/buy', body, { token, key: 'kept' })
    expect(again.text).toBe(first.text)
    expect((await service.post('/dedicated/buy', body, { token, key: 'new' })).status).toBe(404)
  })

  test('a key used for another request answers 422; another customer may use the same key', async () => {
    const { token } = await service.newCustomer(1_000n)
    const first = await service.post('/dedicated/buy', order, { token, key: 'mine' })
    const ids = first.data.proxies.map((each: { id: number }) => each.id)
    const other = await service.post('/dedicated/buy', { ...order, count: 1 }, { token, key: 'mine' })
    const elsewhere = await service.post('/dedicated/prolong', { ids, period: 7 }, { token, key: 'mine' })
    for (const answer of [other, elsewhere]) {
      expect([answer.status, answer.error.code]).toEqual([422, 'idempotency_key_reused'])
      expect(answer.error.details.charged).toBeFalse()
    }
    expect(await balanceOf(token)).toBe(first.data.balance_rub)
    const second = await service.newCustomer(1_000n)
    const theirs = await service.post('/dedicated/buy', { ...order, count: 1 }, { token: second.token, key: 'mine' })
    expect(theirs.status).toBe(200)
  })

  test('a refused purchase stores no answer: the same key buys after a top-up', async () => {
    const { token, customer } = await service.newCustomer()
    const refused = await service.post('/dedicated/buy', order, { token, key: 'later' })
    expect(refused.status).toBe(402)
    const { db, ledger } = service.services
    await db.transact((tx) => ledger.credit(tx, customer, 50_000n as never, 'operator', 'top-up'))
    const bought = await service.post('/dedicated/buy', order, { token, key: 'later' })
    expect(bought.status).toBe(200)
    expect(bought.headers.get('idempotent-replayed')).toBeNull()
  })

  test('api_spent_rub counts a purchase of proxies by token', async () => {
    const { token } = await service.newCustomer(1_000n)
    const { data } = await service.post('/dedicated/buy', order, { token })
    expect((await service.get('/balance', { token })).data.api_spent_rub).toBe(data.price_rub)
  })

  test('one purchase sells 1,000 proxies, each with its own address', async () => {
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
