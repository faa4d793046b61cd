import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { kindOf, maxKept, maxWaitingOf, type RequestKind, trimEvery } from '../../src/domains/requests/rules.ts'
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
    service.services.db.all<{ is_read: bigint; status: bigint }>('SELECT * FROM request_log WHERE customer_id = $1', [
      of,
    ])
  const note = (of: typeof customer, id: string, kind: RequestKind) =>
    service.services.requests.note({
      customer: of,
      at: service.clock.nowMs,
      id,
      operation: kind === 'reads' ? 'getBalance' : 'buyDedicated',
      status: kind === 'refusals' ? 429 : 200,
      reason: kind === 'refusals' ? 'rate_limited' : null,
      key: null,
      token: null,
      isRead: kind === 'reads',
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
    for (let index = 0; index < 7; index += 1) note(other.customer, `request-${index}`, 'changes')
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

  test('7,000 refusals evict refusals beyond 2,000 and no purchase, and of 5,600 changes 5,000 stay, and 200 more of each', async () => {
    const { customer: busy } = await service.newCustomer()
    const noteMany = async (kind: RequestKind, count: number) => {
      for (let done = 0; done < count; done += maxWaitingOf[kind]) {
        service.clock.advance(1)
        for (let index = 0; index <= maxWaitingOf[kind]; index += 1) note(busy, `${kind}-${done + index}`, kind)
        await service.services.requests.write()
      }
    }
    const countOf = async (kind: RequestKind) =>
      (await rowsOf(busy)).filter((row) => kindOf({ isRead: row.is_read === 1n, status: Number(row.status) }) === kind)
        .length
    await noteMany('changes', 3000)
    await noteMany('reads', 1500)
    await noteMany('refusals', 7000)
    expect([await countOf('changes'), (await countOf('refusals')) >= maxKept.refusals]).toEqual([3000, true])
    await noteMany('changes', 2600)
    for (const kind of ['changes', 'refusals', 'reads'] as const) {
      expect([kind, (await countOf(kind)) <= maxKept[kind] + trimEvery]).toEqual([kind, true])
    }
  })

  test('requests are deleted after 7 days in parts of the given size, and with their customer, for whom none is written later', async () => {
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
    note(customer, 'waited', 'changes')
    await service.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
    note(customer, 'during', 'changes')
    await service.services.requests.write()
    expect(await rowsOf(customer)).toEqual([])
  })
})
