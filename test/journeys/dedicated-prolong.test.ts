import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { credit, findingsOf } from '../harness/wired.ts'

const dayMs = 86_400_000
const kopecksOf = (roubles: number): number => Math.round(roubles * 100)
type Shown = { id: number; expires_at: string; date_end: string; price_rub: number }

describe.each([...enginesOf('postgres')])('POST /dedicated/prolong on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service.services)).toEqual([])
    await service.stop()
  })
  const buy = async (token: string, order: object = {}): Promise<Shown[]> => {
    const body = { country_code: 'DE', period: 7, count: 1, ipv: 4, ...order }
    return (await service.post('/dedicated/buy', body, { token })).data.proxies
  }
  const listed = async (token: string): Promise<(Shown & Record<string, unknown>)[]> =>
    (await service.get('/dedicated/list?limit=500', { token })).data.proxies
  const balanceOf = async (token: string): Promise<number> =>
    (await service.get('/balance', { token })).data.balance_rub

  test('POST /dedicated/prolong replays the first answer when the ids come in another order', async () => {
    const { data } = await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 2, ipv: 4 })
    const ids = data.proxies.map((each: { id: number }) => each.id)
    const first = await service.post('/dedicated/prolong', { ids, period: 30 }, { key: 'in-any-order' })
    const again = await service.post(
      '/dedicated/prolong',
      { ids: ids.toReversed(), period: 30 },
      { key: 'in-any-order' },
    )
    expect([again.status, again.text]).toEqual([200, first.text])
  })

  test('POST /dedicated/prolong adds the period to the time left and keeps id, address and credentials', async () => {
    const { token } = await service.newCustomer(1_000n)
    const [before] = await buy(token)
    service.clock.advanceDays(3)
    const { data } = await service.post('/dedicated/prolong', { ids: [before?.id], period: 30 }, { token })
    const end = Date.parse(before?.expires_at ?? '') + 30 * dayMs
    expect(data).toMatchObject({ period: 30, price_rub: data.total_price_rub, items: [{ id: before?.id }] })
    expect(Date.parse(data.items[0].expires_at)).toBe(end)
    expect(data.items[0].date_end).toBe(data.items[0].expires_at.slice(0, 19).replace('T', ' '))
    const [after] = await listed(token)
    expect(after).toEqual({
      ...(before as Shown),
      expires_at: data.items[0].expires_at,
      date_end: data.items[0].date_end,
    })
  })

  test('one prolonging mixes countries and kinds; its items sum to the total that was quoted and charged', async () => {
    const { token } = await service.newCustomer(100_000n)
    const proxies = [
      ...(await buy(token, { count: 11 })),
      ...(await buy(token, { count: 3, ipv: 3, country_code: 'RU' })),
      ...(await buy(token, { count: 7, ipv: 6, country_code: 'RU' })),
      ...(await buy(token, { country_code: 'GB' })),
    ]
    const ids = proxies.map((each) => each.id)
    for (const period of [3, 7, 14, 30, 60, 90]) {
      const before = await balanceOf(token)
      const quote = await service.get(`/dedicated/prolong/quote?ids=${ids.join(',')}&period=${period}`, { token })
      const { data } = await service.post('/dedicated/prolong', { ids, period }, { token })
      expect(data.total_price_rub).toBe(quote.data.total_price_rub)
      expect(data.items.map(({ id, price_rub, expires_at }: Shown) => ({ id, price_rub, expires_at }))).toEqual(
        quote.data.items.map(({ id, price_rub, expires_at }: Shown) => ({ id, price_rub, expires_at })),
      )
      expect(data.items.map((each: Shown) => each.id)).toEqual(ids.toSorted((a, b) => a - b))
      const sum = data.items.reduce((all: number, each: Shown) => all + kopecksOf(each.price_rub), 0)
      expect(sum).toBe(kopecksOf(data.total_price_rub))
      expect(kopecksOf(before) - kopecksOf(await balanceOf(token))).toBe(sum)
      const ends = new Map((await listed(token)).map((each) => [each.id, each.expires_at]))
      for (const item of data.items) expect(ends.get(item.id)).toBe(item.expires_at)
    }
  })

  test('GET /dedicated/prolong/quote reads ids with commas or repeated, and changes nothing', async () => {
    const { token } = await service.newCustomer(1_000n)
    const [a, b] = (await buy(token, { count: 2 })).map((each) => each.id)
    const before = await listed(token)
    const commas = await service.get(`/dedicated/prolong/quote?ids=${a},${b}&period=30`, { token })
    const repeated = await service.get(`/dedicated/prolong/quote?ids=${a}&ids=${b}&period=30`, { token })
    expect(commas.data.items).toHaveLength(2)
    expect(repeated.text).toBe(commas.text)
    expect(await listed(token)).toEqual(before)
  })

  test('POST /dedicated/prolong/quote answers as GET does, to a token with scope read, and changes nothing', async () => {
    const { customer, token } = await service.newCustomer(1_000n)
    const ids = (await buy(token, { count: 2 })).map((each) => each.id)
    const before = await listed(token)
    const { text: reader } = await service.services.customers.issueToken(customer, { name: 'reader', scopes: ['read'] })
    const posted = await service.post('/dedicated/prolong/quote', { ids, period: 30 }, { token: reader })
    const got = await service.get(`/dedicated/prolong/quote?ids=${ids.join(',')}&period=30`, { token })
    expect([posted.status, posted.text]).toEqual([200, got.text])
    expect(await listed(token)).toEqual(before)
  })

  test('an expired proxy can be prolonged from now for 3 days; after that it answers 404', async () => {
    const { token } = await service.newCustomer(1_000n)
    const [proxy] = await buy(token)
    const ids = [proxy?.id]
    service.clock.nowMs = Date.parse(proxy?.expires_at ?? '') + 3 * dayMs - 1
    expect((await listed(token))[0]).toMatchObject({ id: proxy?.id, status: 'expired' })
    const { data } = await service.post('/dedicated/prolong', { ids, period: 3 }, { token })
    expect(Date.parse(data.items[0].expires_at)).toBe(service.clock.nowMs + 3 * dayMs)
    expect((await listed(token))[0]).toMatchObject({ id: proxy?.id, status: 'active' })
    service.clock.nowMs = Date.parse(data.items[0].expires_at) + 3 * dayMs
    const balance = await balanceOf(token)
    const quote = await service.get(`/dedicated/prolong/quote?ids=${proxy?.id}&period=3`, { token })
    const late = await service.post('/dedicated/prolong', { ids, period: 3 }, { token })
    for (const answer of [quote, late]) expect([answer.status, answer.error.code]).toEqual([404, 'not_found'])
    expect(await listed(token)).toEqual([])
    expect(await balanceOf(token)).toBe(balance)
  })

  test('POST /dedicated/prolong with one unknown id prolongs no proxy and charges nothing', async () => {
    const { token } = await service.newCustomer(1_000n)
    const proxies = await buy(token, { count: 3 })
    const before = await listed(token)
    const balance = await balanceOf(token)
    const ids = [...proxies.map((each) => each.id), 4_000_000_000]
    const answer = await service.post('/dedicated/prolong', { ids, period: 7 }, { token })
    expect([answer.status, answer.error.code]).toEqual([404, 'not_found'])
    expect(answer.error.details).toEqual({ ids: [4_000_000_000], charged: false })
    expect(await listed(token)).toEqual(before)
    expect(await balanceOf(token)).toBe(balance)
  })

  test('POST /dedicated/prolong answers 402 without money, and the same key works after a top-up', async () => {
    const { token, customer } = await service.newCustomer(50n)
    const proxies = await buy(token)
    const ids = proxies.map((each) => each.id)
    const before = await listed(token)
    const answer = await service.post('/dedicated/prolong', { ids, period: 90 }, { token, key: 'p' })
    expect([answer.status, answer.error.code]).toEqual([402, 'insufficient_funds'])
    expect(answer.error.details).toEqual({ required_rub: 486, balance_rub: 8, charged: false })
    expect(await listed(token)).toEqual(before)
    await credit(service.services, customer, 50_000n)
    const paid = await service.post('/dedicated/prolong', { ids, period: 90 }, { token, key: 'p' })
    expect(paid.status).toBe(200)
    const again = await service.post('/dedicated/prolong', { ids, period: 90 }, { token, key: 'p' })
    expect(again.text).toBe(paid.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const other = await service.post('/dedicated/prolong', { ids, period: 60 }, { token, key: 'p' })
    expect([other.status, other.error.code]).toEqual([422, 'idempotency_key_reused'])
    expect((await listed(token))[0]?.expires_at).toBe(paid.data.items[0].expires_at)
  })

  test('POST /dedicated/prolong refuses a period that is not sold and lists the six that are', async () => {
    const { token } = await service.newCustomer(100n)
    const [proxy] = await buy(token)
    const quote = await service.get(`/dedicated/prolong/quote?ids=${proxy?.id}&period=31`, { token })
    const prolong = await service.post('/dedicated/prolong', { ids: [proxy?.id], period: 31 }, { token })
    for (const answer of [quote, prolong]) {
      expect([answer.status, answer.error.code]).toEqual([400, 'invalid_request'])
      expect(answer.error.details).toMatchObject([{ field: 'period', allowed: [3, 7, 14, 30, 60, 90] }])
    }
  })

  test('20 concurrent prolongings of one proxy by 3 days add 60 days', async () => {
    const { token } = await service.newCustomer(10_000n)
    const [proxy] = await buy(token)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.post('/dedicated/prolong', { ids: [proxy?.id], period: 3 }, { token })),
    )
    expect(answers.map((each) => each.status)).toEqual(Array.from({ length: 20 }, () => 200))
    const [after] = await listed(token)
    expect(Date.parse(after?.expires_at ?? '')).toBe(Date.parse(proxy?.expires_at ?? '') + 60 * dayMs)
    expect(new Set(answers.map((each) => each.data.items[0].expires_at)).size).toBe(20)
  })
})
