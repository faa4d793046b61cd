import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

const dayMs = 86_400_000
type Shown = { id: number; country_code: string; ipv: number; status: string; comment: string; expires_at: string }

describe.each([...enginesOf('sqlite')])('GET /dedicated/list on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service.services)).toEqual([])
    await service.stop()
  })
  const buy = async (token: string, order: object = {}): Promise<Shown[]> => {
    const body = { country_code: 'DE', period: 30, count: 1, ipv: 4, ...order }
    return (await service.post('/dedicated/buy', body, { token })).data.proxies
  }
  const list = async (token: string, query: Record<string, string> = {}): Promise<Shown[]> =>
    (await service.get(`/dedicated/list?${new URLSearchParams(query).toString()}`, { token })).data.proxies

  test('GET /dedicated/list shows the customer’s proxies, newest first, as the purchase answered them', async () => {
    const { token } = await service.newCustomer(10_000n)
    const bought = [...(await buy(token, { count: 3 })), ...(await buy(token, { ipv: 6, count: 2 }))]
    expect(await list(token)).toEqual(bought.toReversed())
    const otherCustomer = await service.newCustomer()
    expect(await list(otherCustomer.token)).toEqual([])
  })

  test('GET /dedicated/list applies each filter, alone and combined with each other one', async () => {
    const { token } = await service.newCustomer(10_000n)
    await buy(token, { country_code: 'DE', ipv: 4, period: 7, count: 2 })
    await buy(token, { country_code: 'FR', ipv: 4, period: 30, count: 2 })
    await buy(token, { country_code: 'FR', ipv: 6, period: 90, count: 3 })
    const noted = (await buy(token, { country_code: 'RU', ipv: 3, period: 7 })).map((each) => each.id)
    await service.post('/dedicated/comment', { ids: noted, comment: 'магазин 7' }, { token })
    service.clock.advanceDays(8)
    const all = await list(token)
    expect(all).toHaveLength(8)
    const moment = new Date(service.clock.nowMs + 40 * dayMs).toISOString()
    const filters: [Record<string, string>, (each: Shown) => boolean][] = [
      [{ status: 'active' }, (each) => each.status === 'active'],
      [{ status: 'expired' }, (each) => each.status === 'expired'],
      [{ country_code: 'fr' }, (each) => each.country_code === 'FR'],
      [{ ipv: '6' }, (each) => each.ipv === 6],
      [{ ipv: '3' }, (each) => each.ipv === 3],
      [{ expires_before: moment }, (each) => each.expires_at < moment],
      [{ comment: 'магазин 7' }, (each) => each.comment === 'магазин 7'],
      [{ comment: 'no such' }, () => false],
    ]
    for (const [query, keeps] of filters) {
      expect(await list(token, query)).toEqual(all.filter(keeps))
      for (const [other, alsoKeeps] of filters) {
        const both = await list(token, { ...query, ...other })
        if (Object.keys(query)[0] !== Object.keys(other)[0]) {
          expect(both).toEqual(all.filter((each) => keeps(each) && alsoKeeps(each)))
        }
      }
    }
    expect((await list(token, { status: 'expired' })).length).toBe(3)
    expect((await list(token, { expires_before: moment })).length).toBe(5)
  })

  test('GET /dedicated/{id} shows one proxy as the list does, and answers 404 for another customer’s and a gone one', async () => {
    const { token, customer } = await service.newCustomer(1_000n)
    const [proxy] = await buy(token)
    const path = `/dedicated/${proxy?.id}`
    expect((await service.get(path, { token })).data).toEqual(proxy)
    const reader = await service.services.customers.issueToken(customer, { name: 'reader', scopes: ['read'] })
    const shown = await service.get(path, { token: reader.text })
    expect(shown.data).toEqual({ ...proxy, password: null })
    const other = await service.newCustomer()
    const missing = { code: 'not_found', reason: 'proxies_not_found', params: { ids: [proxy?.id] } }
    expect((await service.get(path, { token: other.token })).error).toMatchObject(missing)
    service.clock.advanceDays(34)
    expect((await service.get(path, { token })).error).toMatchObject(missing)
    for (const odd of ['0', '01', '1e3', 'none']) {
      expect((await service.get(`/dedicated/${odd}`, { token })).error.reason).toBe('path_not_found')
    }
    const misused = await service.get('/dedicated/buy', { token })
    expect([misused.status, misused.headers.get('allow')]).toEqual([405, 'POST'])
  })

  test('comment_contains finds a part of a comment in any case, Russian letters too, on pages of 2', async () => {
    const { token } = await service.newCustomer(10_000n)
    const ids = (await buy(token, { ipv: 6, period: 3, count: 6 })).map((each) => each.id)
    const comments = ['Склад № 7, Ёлка', 'склад 50% off', 'СКЛАД_8', 'Storage 7', '', 'other']
    for (const [index, comment] of comments.entries()) {
      await service.post('/dedicated/comment', { ids: [ids[index]], comment }, { token })
    }
    const found = async (part: string, more: Record<string, string> = {}) => {
      const shown = await list(token, { comment_contains: part, ...more })
      return shown.map((each) => each.comment)
    }
    expect(await found('сКлАд')).toEqual(['СКЛАД_8', 'склад 50% off', 'Склад № 7, Ёлка'])
    expect(await found('STORAGE')).toEqual(['Storage 7'])
    expect(await found('ёлка')).toEqual(['Склад № 7, Ёлка'])
    expect(await found('%')).toEqual(['склад 50% off'])
    expect(await found('_')).toEqual(['СКЛАД_8'])
    expect(await found('склад', { comment: 'СКЛАД_8' })).toEqual(['СКЛАД_8'])
    expect(await found('склад', { ipv: '4' })).toEqual([])
    const query = `limit=2&comment_contains=${encodeURIComponent('склад')}`
    const first = (await service.get(`/dedicated/list?${query}`, { token })).data
    expect(first.proxies.map((each: Shown) => each.id)).toEqual([ids[2], ids[1]])
    const second = (await service.get(`/dedicated/list?${query}&cursor=${first.next_cursor}`, { token })).data
    expect([second.proxies.map((each: Shown) => each.id), second.next_cursor]).toEqual([[ids[0]], null])
  })

  test('expires_before leaves out a proxy that ends at exactly that moment', async () => {
    const { token } = await service.newCustomer(10_000n)
    const [proxy] = await buy(token)
    const end = Date.parse(proxy?.expires_at ?? '')
    expect(await list(token, { expires_before: new Date(end).toISOString() })).toEqual([])
    expect(await list(token, { expires_before: new Date(end + 1).toISOString() })).toHaveLength(1)
    expect(await list(token, { expires_before: new Date(end + dayMs).toISOString().slice(0, 10) })).toHaveLength(1)
  })

  test('pages of GET /dedicated/list show each earlier proxy once while more are bought', async () => {
    const { token } = await service.newCustomer(100_000n)
    const before = await buy(token, { count: 23, ipv: 6, period: 3 })
    const seen: number[] = []
    let cursor: string | null = ''
    for (let page = 0; cursor !== null; page += 1) {
      expect(page).toBeLessThan(20)
      const path: string = `/dedicated/list?limit=4${cursor === '' ? '' : `&cursor=${cursor}`}`
      const { data } = await service.get(path, { token })
      expect(data.proxies.length).toBeLessThanOrEqual(4)
      seen.push(...data.proxies.map((each: Shown) => each.id))
      cursor = data.next_cursor
      await buy(token, { count: 3, ipv: 6, period: 3 })
    }
    expect(seen).toEqual(before.map((each) => each.id).toReversed())
  })

  test('GET /dedicated/list answers 100 proxies by default and no cursor after a full last page', async () => {
    const { token } = await service.newCustomer(100_000n)
    await buy(token, { count: 101, ipv: 6, period: 3 })
    const first = (await service.get('/dedicated/list', { token })).data
    expect(first.proxies).toHaveLength(100)
    const second = (await service.get(`/dedicated/list?cursor=${first.next_cursor}`, { token })).data
    expect([second.proxies.length, second.next_cursor]).toEqual([1, null])
    const whole = (await service.get('/dedicated/list?limit=101', { token })).data
    expect([whole.proxies.length, whole.next_cursor]).toEqual([101, null])
  })

  test('POST /dedicated/comment stores the text unchanged on the named proxies only; "" removes it', async () => {
    const { token } = await service.newCustomer(1_000n)
    const ids = (await buy(token, { count: 3 })).map((each) => each.id)
    const text = `склад "9" — <b>; '--${'я'.repeat(150)}`
    const { data } = await service.post('/dedicated/comment', { ids: ids.slice(0, 2), comment: text }, { token })
    expect(data).toEqual({ comment: text, updated: ids.slice(0, 2) })
    const comments = new Map((await list(token)).map((each) => [each.id, each.comment]))
    expect(ids.map((id) => comments.get(id))).toEqual([text, text, ''])
    await service.post('/dedicated/comment', { ids, comment: '' }, { token })
    expect((await list(token)).map((each) => each.comment)).toEqual(['', '', ''])
  })
})
