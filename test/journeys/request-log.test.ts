import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { maxKept, trimEvery } from '../../src/domains/requests/rules.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { openSecondShop } from '../harness/vpn.ts'

const dayMs = 86_400_000

type Shown = {
  readonly id: string
  readonly created_at: string
  readonly operation: string
  readonly status: number
  readonly reason: string | null
  readonly idempotency_key: string | null
  readonly token_name: string | null
}

describe.each([...engines])('GET /requests on %s', (engine) => {
  let service: Service
  let token: string
  let customer: Awaited<ReturnType<Service['newCustomer']>>['customer']
  beforeAll(async () => {
    service = await startService(engine)
    ;({ token, customer } = await service.newCustomer(1000n))
  })
  afterAll(() => service.stop())

  const requestsOf = async (of = token, query = ''): Promise<Shown[]> =>
    (await service.get(`/requests${query}`, { token: of })).data.requests
  const rowsOf = (of: string) =>
    service.services.db.all<{ is_read: bigint }>('SELECT * FROM request_log WHERE customer_id = $1', [of])
  const note = (of: typeof customer, id: string, isRead: boolean) =>
    service.services.requests.note({
      customer: of,
      at: service.clock.nowMs,
      id,
      operation: isRead ? 'getBalance' : 'buyDedicated',
      status: isRead ? 200 : 409,
      reason: isRead ? null : 'out_of_stock',
      key: null,
      token: null,
      isRead,
    })

  test('the log has the id, operation, status, reason, key and token of a purchase and a refusal, and no secret', async () => {
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const bought = await service.post('/dedicated/buy', order, { token, key: 'order-1' })
    service.clock.advance(1)
    const refused = await service.post('/dedicated/buy', { ...order, count: 900 }, { token, key: 'order-2' })
    service.clock.advance(1)
    await service.get('/balance', { token: 'tp_test_wrong' })
    const shown = await requestsOf()
    const created = [1, 2].map((left) => service.clock.nowMs - left).map((at) => new Date(at).toISOString())
    expect(shown).toEqual([
      {
        id: refused.headers.get('x-request-id') ?? '',
        created_at: created[0] ?? '',
        operation: 'buyDedicated',
        status: refused.status,
        reason: refused.error.reason,
        idempotency_key: 'order-2',
        token_name: 'test',
      },
      {
        id: bought.headers.get('x-request-id') ?? '',
        created_at: created[1] ?? '',
        operation: 'buyDedicated',
        status: 200,
        reason: null,
        idempotency_key: 'order-1',
        token_name: 'test',
      },
    ])
    const stored = JSON.stringify(await rowsOf(customer), (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    for (const secret of [token, bought.data.proxies[0].password]) expect(stored).not.toContain(secret)
  })

  test('pages go back without gaps and repetitions, also within one millisecond', async () => {
    const other = await service.newCustomer()
    for (let index = 0; index < 7; index += 1) note(other.customer, `request-${index}`, false)
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { data } = await service.get(`/requests?limit=3${cursor}`, { token: other.token })
      seen.push(...data.requests.map((each: Shown) => each.id))
      if (data.next_cursor === null || seen.length > 100) break
      cursor = `&cursor=${data.next_cursor}`
    }
    const noted = seen.filter((id) => id.startsWith('request-'))
    expect([noted.length, new Set(seen).size]).toEqual([7, seen.length])
    expect((await service.get('/requests?cursor=eHg', { token: other.token })).status).toBe(400)
  })

  test('a request to another shop is listed, and those of other customers are not', async () => {
    const { token: theirs } = await service.newCustomer(1n)
    const second = await openSecondShop(service)
    try {
      await fetch(`${second.url}/api/v1/orders`, { headers: { Authorization: `Bearer ${theirs}` } })
      await second.services.requests.write()
      expect((await requestsOf(theirs)).map((each) => each.operation)).toEqual(['listOrders'])
    } finally {
      await second.stop()
    }
  })

  test('the log keeps at most 5,000 changes and refusals and 1,000 reads of a customer, and 200 more of each', async () => {
    const { customer: busy } = await service.newCustomer()
    for (let round = 0; round < 14; round += 1) {
      service.clock.advance(1)
      for (let index = 0; index < 700; index += 1) note(busy, `busy-${round}-${index}`, index % 2 === 0)
      await service.services.requests.write()
    }
    const kept = await rowsOf(busy)
    const reads = kept.filter((row) => row.is_read === 1n).length
    expect(kept.length - reads).toBeLessThanOrEqual(maxKept.others + trimEvery)
    expect(kept.length - reads).toBe(14 * 350)
    expect(reads).toBe(14 * 50)
    for (let round = 0; round < 10; round += 1) {
      service.clock.advance(1)
      for (let index = 0; index < 500; index += 1) note(busy, `more-${round}-${index}`, false)
      for (let index = 0; index < 50; index += 1) note(busy, `read-${round}-${index}`, true)
      await service.services.requests.write()
    }
    const after = await rowsOf(busy)
    const readsAfter = after.filter((row) => row.is_read === 1n).length
    expect(after.length - readsAfter).toBeLessThanOrEqual(maxKept.others + trimEvery)
    expect(readsAfter).toBeLessThanOrEqual(maxKept.reads + trimEvery)
  })

  test('requests are deleted after 7 days in parts of the given size, and with their customer', async () => {
    const before = await requestsOf()
    expect(before.length).toBeGreaterThan(2)
    service.clock.advance(7 * dayMs)
    expect((await requestsOf()).every(({ operation }) => operation === 'listRequests')).toBe(true)
    expect(await service.services.requests.forget(2)).toBe(2)
    let deleted = 0
    for (let part = 1000; part === 1000; deleted += part) part = await service.services.requests.forget(1000)
    expect(deleted).toBeGreaterThan(5000)
    await requestsOf()
    expect((await rowsOf(customer)).length).toBeGreaterThan(0)
    await service.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
    expect(await rowsOf(customer)).toEqual([])
  })
})
