import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { OrderId } from '../../src/core/ids.ts'
import { readProxyLogin } from '../../src/core/login.ts'
import { enginesOf } from '../harness/database.ts'
import { refusalOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/vpn.ts'

const pools = ['residential', 'residential_premium', 'datacenter', 'mobile']
const unknownSubuser = 'sub_00000000000000000000000000'
const noOrder = 'ord_00000000000000000000000000' as OrderId

describe.each([...enginesOf('postgres')])('premium traffic on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    await expectClean(service)
    await service.stop()
  })

  const addCustomer = (roubles = 1000n) => service.newCustomer(roubles)

  test('GET /premium/traffic/quote answers the price, the tier and the amount missing to the next tier', async () => {
    const { data } = await service.get('/premium/traffic/quote?pool_type=residential&gb=9.5')
    expect(data).toEqual({
      pool_type: 'residential',
      gb: 9.5,
      price_per_gb_rub: 320,
      // Capped at the price of 10 GB, where the next tier starts.
      price_rub: 2800,
      available: true,
      tier: { from_gb: 0, price_per_gb_rub: 320 },
      next_tier: { from_gb: 10, price_per_gb_rub: 280, missing_gb: 0.5 },
      valid_until: null,
    })
    const largest = await service.get('/premium/traffic/quote?pool_type=datacenter&gb=10000')
    expect(largest.data).toMatchObject({ price_rub: 400_000, next_tier: null })
  })

  test.each([
    ['gb', 'pool_type=residential'],
    ['pool_type', 'gb=1'],
    ['gb', 'pool_type=residential&gb=0'],
    ['gb', 'pool_type=residential&gb=0.05'],
    ['gb', 'pool_type=residential&gb=1.55'],
    ['gb', 'pool_type=residential&gb=10000.1'],
    ['gb', 'pool_type=residential&gb=1e1'],
    ['gb', 'pool_type=residential&gb=-1'],
    ['gb', 'pool_type=residential&gb=%2B1'],
    ['gb', 'pool_type=residential&gb=1&gb=2'],
    ['pool_type', 'pool_type=Residential&gb=1'],
    ['pool_type', 'pool_type=space&gb=1'],
  ])('GET /premium/traffic/quote answers 400 that names %s for %s', async (field, query) => {
    const answer = await service.get(`/premium/traffic/quote?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.error.details.map((each: { field: string }) => each.field)).toEqual([field])
  })

  test('GET /premium/traffic/quote lists the four pools sold when the pool is unknown', async () => {
    const answer = await service.get('/premium/traffic/quote?pool_type=space&gb=1')
    expect(answer.error.details[0].allowed.toSorted()).toEqual(pools.toSorted())
  })

  test('POST /premium/traffic/buy charges the quoted price and adds 1.5 GB at once', async () => {
    const { token } = await addCustomer()
    const bought = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1.5 }, { token })
    expect(bought.data).toMatchObject({
      pool_type: 'residential',
      price_rub: 480,
      balance_rub: 520,
      traffic_added_gb: 1.5,
      traffic_balance_gb: 1.5,
      subuser: { is_default: true },
    })
    const { data } = await service.get('/premium/traffic/balance?pool_type=residential', { token })
    expect(data).toMatchObject({ pool_type: 'residential', traffic_gb: 1.5, purchased_gb: 1.5, used_gb: 0 })
    expect(data.subuser).toEqual(bought.data.subuser)
    const all = await service.get('/premium/traffic/balance', { token })
    expect(all.data.pools.map((each: { pool_type: string }) => each.pool_type).toSorted()).toEqual(pools.toSorted())
    const order = await service.get(`/orders/${bought.data.order_id}`, { token })
    expect(order.data).toMatchObject({
      product: 'premium',
      action: 'buy',
      price_rub: 480,
      request: { pool_type: 'residential', gb: 1.5 },
      calculation: { catalogue: 1 },
    })
  })

  test('POST /premium/traffic/buy answers 402 with too little money and adds no traffic', async () => {
    const { token } = await addCustomer(100n)
    const answer = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    expect(answer.status).toBe(402)
    expect(answer.error.details).toEqual({ required_rub: 320, balance_rub: 100, charged: false })
    const { data } = await service.get('/premium/traffic/balance?pool_type=residential', { token })
    expect(data.traffic_gb).toBe(0)
  })

  test('POST /premium/traffic/buy replays the first answer for its key and adds traffic once', async () => {
    const { token } = await addCustomer()
    const body = { pool_type: 'mobile', gb: 0.5 }
    const first = await service.post('/premium/traffic/buy', body, { token, key: 'k1' })
    const again = await service.post('/premium/traffic/buy', body, { token, key: 'k1' })
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const other = await service.post('/premium/traffic/buy', { ...body, gb: 0.6 }, { token, key: 'k1' })
    expect(other.error.code).toBe('idempotency_key_reused')
    const { data } = await service.get('/premium/traffic/balance?pool_type=mobile', { token })
    expect(data.traffic_gb).toBe(0.5)
  })

  test.each([
    ['gb', { pool_type: 'residential' }],
    ['gb', { pool_type: 'residential', gb: '1' }],
    ['gb', { pool_type: 'residential', gb: 0.15 }],
    ['gb', { pool_type: 'residential', gb: 0 }],
    ['gb', { pool_type: 'residential', gb: 10_000.1 }],
    ['pool_type', { gb: 1 }],
    ['pool_type', { pool_type: 5, gb: 1 }],
    ['pool_type', { pool_type: 'space', gb: 1 }],
    ['subuser_id', { pool_type: 'residential', gb: 1, subuser_id: 5 }],
    ['subuser_id', { pool_type: 'residential', gb: 1, subuser_id: 'a b' }],
  ])('POST /premium/traffic/buy answers 400 that names %s for %o', async (field, body) => {
    const answer = await service.post('/premium/traffic/buy', body)
    expect(answer.status).toBe(400)
    expect(answer.error.details.map((each: { field: string }) => each.field)).toEqual([field])
  })

  test('3 of 12 concurrent purchases succeed with money for three', async () => {
    const { token } = await addCustomer(960n)
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token }),
      ),
    )
    expect(answers.filter((each) => each.status === 200)).toHaveLength(3)
    expect(answers.filter((each) => each.status === 402)).toHaveLength(9)
    const { data } = await service.get('/premium/traffic/balance?pool_type=residential', { token })
    expect(data.traffic_gb).toBe(3)
  })

  test('16 concurrent first requests of a customer create one default sub-user', async () => {
    const { token } = await addCustomer()
    const answers = await Promise.all(Array.from({ length: 16 }, () => service.get('/premium/password', { token })))
    expect(new Set(answers.map((each) => each.text)).size).toBe(1)
  })

  test('POST /premium/traffic/move moves free traffic only, once per key, and charges nothing', async () => {
    const { token } = await addCustomer()
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    const { data: made } = await service.post('/premium/subusers', { name: 'Alice' }, { token })
    const to = made.subuser.subuser_id
    const move = { pool_type: 'residential', gb: 0.4, to_subuser_id: to }
    const moved = await service.post('/premium/traffic/move', move, { token, key: 'm1' })
    expect(moved.data).toMatchObject({
      moved_gb: 0.4,
      from: { traffic_balance_gb: 0.6, subuser: { is_default: true } },
      to: { traffic_balance_gb: 0.4, subuser: { name: 'Alice' } },
    })
    expect((await service.post('/premium/traffic/move', move, { token, key: 'm1' })).text).toBe(moved.text)
    const tooMuch = await service.post('/premium/traffic/move', { ...move, gb: 0.7 }, { token })
    expect(tooMuch.status).toBe(409)
    expect(tooMuch.error.details).toEqual({ required_gb: 0.7, available_gb: 0.6, charged: false })
    const back = { pool_type: 'residential', all: true, from_subuser_id: to }
    expect((await service.post('/premium/traffic/move', back, { token })).data.to.traffic_balance_gb).toBe(1)
    expect((await service.get('/balance', { token })).data.balance_rub).toBe(680)
  })

  test('4 of 15 concurrent moves succeed with traffic for four', async () => {
    const { token } = await addCustomer()
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 2 }, { token })
    const { data: made } = await service.post('/premium/subusers', {}, { token })
    const body = { pool_type: 'residential', gb: 0.5, to_subuser_id: made.subuser.subuser_id }
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => service.post('/premium/traffic/move', body, { token })),
    )
    expect(answers.filter((each) => each.status === 200)).toHaveLength(4)
    expect(answers.filter((each) => each.status === 409)).toHaveLength(11)
  })

  test.each([
    ['pool_type', { gb: 1 }],
    ['pool_type', { pool_type: 'space', gb: 1, to_subuser_id: 'other' }],
    ['gb', { pool_type: 'residential' }],
    ['gb', { pool_type: 'residential', gb: 1, all: true }],
    ['gb', { pool_type: 'residential', gb: 0.01 }],
    ['all', { pool_type: 'residential', all: 'yes' }],
    ['to_subuser_id', { pool_type: 'residential', gb: 1 }],
  ])('POST /premium/traffic/move answers 400 that names %s for %o', async (field, body) => {
    const { data } = await service.post('/premium/subusers', {})
    const to = 'to_subuser_id' in body ? { to_subuser_id: data.subuser.subuser_id } : {}
    const answer = await service.post('/premium/traffic/move', { ...body, ...to })
    expect(answer.status).toBe(400)
    expect(answer.error.details.map((each: { field: string }) => each.field)).toEqual([field])
  })

  test('GET /premium/usage sums by hour, day, pool, sub-user and host; keep_hosts: false deletes hosts', async () => {
    const { token, customer } = await addCustomer()
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    const { premium } = service.services
    const { id: subuser } = await premium.subusers.load(customer, undefined)
    await premium.subusers.update(customer, subuser, { keepHosts: true, limits: {} })
    const node = `usage-${engine}`
    const report = (received: bigint, sent: bigint, turn: number) =>
      premium.metering.takeReport({
        node,
        boot: 'b1',
        counts: [{ subuser, pool: 'residential', received, sent }],
        leaseRequests: [{ subuser, pool: 'residential', turn, want: 'lease' }],
        hosts: [{ subuser, pool: 'residential', host: 'example.com', received, sent }],
      })
    await report(0n, 0n, 1)
    await report(3_000_000n, 500_000n, 2)
    await report(3_000_000n, 500_000n, 2)
    service.clock.advance(3_600_000)
    await report(4_000_000n, 500_000n, 3)
    const hours = await service.get('/premium/usage?by=hour', { token })
    expect(hours.data.items.map((each: { gb: number }) => each.gb)).toEqual([0.0035, 0.001])
    expect(hours.data.total_gb).toBe(0.0045)
    expect(Date.parse(hours.data.to) - Date.parse(hours.data.from)).toBe(86_400_000)
    const days = await service.get('/premium/usage', { token })
    expect(days.data.from).toBe('2025-12-17T00:00:00.000Z')
    expect(days.data.items).toEqual([
      { key: '2026-01-15T00:00:00.000Z', received_bytes: 4_000_000, sent_bytes: 500_000, gb: 0.0045 },
    ])
    const byPool = await service.get('/premium/usage?by=pool&pool_type=residential', { token })
    expect(byPool.data.items[0]).toMatchObject({ key: 'residential', gb: 0.0045 })
    const bySubuser = await service.get(`/premium/usage?by=subuser&subuser_id=${subuser}`, { token })
    expect(bySubuser.data.items[0]).toMatchObject({ key: subuser, gb: 0.0045 })
    const hosts = await service.get('/premium/usage?by=host', { token })
    expect(hosts.data.items[0]).toMatchObject({ key: 'example.com', gb: 0.0045 })
    expect((await service.get('/premium/usage?by=hour&host=EXAMPLE.com', { token })).data.items).toHaveLength(2)
    expect((await service.get('/premium/usage?by=hour&host=other.com', { token })).data.items).toEqual([])
    const balance = await service.get('/premium/traffic/balance?pool_type=residential', { token })
    expect(balance.data).toMatchObject({ traffic_gb: 0.9955, used_gb: 0.0045, purchased_gb: 1 })
    await service.post('/premium/subusers/update', { keep_hosts: false }, { token })
    await report(5_000_000n, 500_000n, 4)
    expect((await service.get('/premium/usage?by=host', { token })).data.items).toEqual([])
    expect((await service.get('/premium/usage?by=pool', { token })).data.total_gb).toBe(0.0055)
  })

  test('forgetHosts deletes hosts after 30 days and keeps the hours', async () => {
    const { token, customer } = await addCustomer()
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    const { premium } = service.services
    const { id: subuser } = await premium.subusers.load(customer, undefined)
    await premium.subusers.update(customer, subuser, { keepHosts: true, limits: {} })
    const count = { subuser, pool: 'residential', received: 1000n, sent: 0n }
    const leaseRequest = { subuser, pool: 'residential', turn: 1, want: 'lease' as const }
    await premium.metering.takeReport({ node: `old-${engine}`, boot: 'b', counts: [], leaseRequests: [leaseRequest] })
    const hosts = [{ ...count, host: 'old.example' }]
    await premium.metering.takeReport({ node: `old-${engine}`, boot: 'b', counts: [count], leaseRequests: [], hosts })
    service.clock.advanceDays(29)
    await premium.metering.forgetHosts(1000)
    expect((await service.get('/premium/usage?by=host', { token })).data.items).toHaveLength(1)
    service.clock.advanceDays(2)
    await premium.metering.forgetHosts(1000)
    const range = `from=2026-01-01&to=2026-03-31`
    expect((await service.get(`/premium/usage?by=host&${range}`, { token })).data.items).toEqual([])
    expect((await service.get(`/premium/usage?by=day&${range}`, { token })).data.total_gb).toBe(0.000001)
  })

  test('a node adds 2,000 hosts per day to a sub-user; the rest is one row "other" and the sum is exact', async () => {
    const { token, customer } = await addCustomer()
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    const { premium, db } = service.services
    const { id: subuser } = await premium.subusers.load(customer, undefined)
    await premium.subusers.update(customer, subuser, { keepHosts: true, limits: {} })
    const of = { subuser, pool: 'residential' }
    let [total, turn] = [0n, 0]
    const report = (boot: string, from: number, growth: bigint, base = 0n) => {
      const hosts = Array.from({ length: growth === 0n ? 0 : 1000 }, (_, index) => {
        return { ...of, host: `h${from + index}.example`, received: base + growth, sent: 0n }
      })
      total += growth * 1000n
      turn += 1
      const counts = [{ ...of, received: total, sent: 0n }]
      const leaseRequests = [{ ...of, turn, want: 'lease' as const }]
      return premium.metering.takeReport({ node: `hosts-${engine}`, boot, counts, leaseRequests, hosts })
    }
    await report('0boot-0001', 0, 0n)
    for (const from of [0, 1000, 2000]) await report('0boot-0001', from, 3n)
    // Past the limit of 2,000 hosts, bytes of known hosts count under their name and others under "other".
    for (const from of [0, 2000]) await report('0boot-0001', from, 2n, 3n)
    const countHosts = 'SELECT COUNT(*) AS n FROM traffic_hosts WHERE subuser_id = $1'
    expect(await db.first<{ n: bigint }>(countHosts, [subuser])).toEqual({ n: 2001n })
    const { items } = (await service.get('/premium/usage?by=host', { token })).data
    type Item = { key: string; received_bytes: number }
    expect(items.find((each: Item) => each.key === 'other')).toMatchObject({ received_bytes: 5000 })
    expect(items.reduce((sum: number, each: Item) => sum + each.received_bytes, 0)).toBe(13_000)
    expect((await service.get('/premium/usage?by=pool', { token })).data.items[0].received_bytes).toBe(13_000)
    expect(await findingsOf(service)).toEqual([])
  })

  test.each([
    ['by', 'by=week'],
    ['from', 'from=yesterday'],
    ['to', 'to=2026-02-30'],
    ['from', 'by=hour&from=2025-01-01&to=2026-01-01'],
    ['from', 'from=2026-02-01&to=2026-01-01'],
    ['pool_type', 'pool_type=X'],
    ['pool_type', 'pool_type=nosuch'],
    ['host', 'host=%20'],
    ['subuser_id', 'subuser_id=a%20b'],
  ])('GET /premium/usage answers 400 that names %s for %s', async (field, query) => {
    const answer = await service.get(`/premium/usage?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.error.details.map((each: { field: string }) => each.field)).toEqual([field])
  })

  test('a refusal of a premium request names the problem of that request only', async () => {
    const backwards = await service.get('/premium/usage?from=2026-02-01&to=2026-01-01')
    expect(backwards.error.details).toEqual([
      { field: 'from', problem: 'must not be after "to"', reason: 'not_after', params: { other: 'to' } },
    ])
    const pool = (await service.get('/premium/usage?pool_type=nosuch')).error.details[0]
    expect([pool.allowed.includes('residential'), pool.see]).toEqual([true, 'GET /premium/traffic/balance'])
    expect((await service.get('/premium/usage?pool_type=datacenter')).data.items).toEqual([])
    const { token } = await addCustomer(1n)
    const { data } = await service.post('/premium/subusers', {}, { token })
    const all = { pool_type: 'mobile', all: true, to_subuser_id: data.subuser.subuser_id }
    expect((await service.post('/premium/traffic/move', all, { token })).error).toEqual({
      code: 'conflict',
      message: 'There is no free traffic in mobile to move.',
      reason: 'no_traffic_to_move',
      doc_url: `${service.url}/docs/reasons#no_traffic_to_move`,
      params: { pool: 'mobile' },
      details: { available_gb: 0, charged: false },
    })
    const format = await service.post('/premium/proxies/generate', { pool_type: 'residential', format: null })
    const allowed = [1, 2, 3, 4]
    expect(format.error.details).toEqual([
      {
        field: 'format',
        problem: 'must be a template, or one of 1, 2, 3, 4',
        reason: 'template_or',
        params: { allowed },
        allowed,
      },
    ])
    const nowhere = await service.get('/dedicated/quote?country_code=xx&period=7&count=1&ipv=4')
    expect(nowhere.error.details[0].problem).toBe('is not a country: ISO 3166-1 has no code XX')
  })

  test('traffic with a limit of 30 days expires then, and is used before traffic without one', async () => {
    const { token, customer } = await addCustomer(100_000n)
    const { pricing, premium, traffic, db } = service.services
    await service.post('/premium/traffic/buy', { pool_type: 'datacenter', gb: 1 }, { token })
    const shown = (await pricing.show())?.value as { premium: { pools: { datacenter: object } } }
    const changed = structuredClone(shown)
    Object.assign(changed.premium.pools.datacenter, { expires_days: 30 })
    await db.transact((tx) => pricing.apply(tx, changed))
    service.clock.advance(1000)
    await service.post('/premium/traffic/buy', { pool_type: 'datacenter', gb: 2 }, { token })
    await db.transact((tx) => pricing.apply(tx, shown))
    const { id: subuser } = await premium.subusers.load(customer, undefined)
    await premium.subusers.update(customer, subuser, { keepHosts: true, limits: {} })
    const node = `expiry-${engine}`
    const leaseRequest = (turn: number, want: 'lease' | 'return') => ({ subuser, pool: 'datacenter', turn, want })
    await premium.metering.takeReport({ node, boot: 'b', counts: [], leaseRequests: [leaseRequest(1, 'lease')] })
    const counts = [{ subuser, pool: 'datacenter', received: 5_000_000n, sent: 0n }]
    await premium.metering.takeReport({ node, boot: 'b', counts, leaseRequests: [leaseRequest(2, 'return')] })
    service.clock.advanceDays(29)
    await traffic.accounts.expire(100)
    expect((await service.get('/premium/traffic/balance?pool_type=datacenter', { token })).data.traffic_gb).toBe(2.995)
    service.clock.advanceDays(1)
    await traffic.accounts.expire(100)
    const { data } = await service.get('/premium/traffic/balance?pool_type=datacenter', { token })
    // The 5 MB were taken from the expiring traffic; the other 1 GB is whole.
    expect(data).toMatchObject({ traffic_gb: 1, used_gb: 0.005 })
  })

  test('a refund returns an order’s unused traffic, also moved traffic, at its part of the price, once', async () => {
    const { token, customer } = await addCustomer()
    const { premium } = service.services
    const { data: bought } = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 2 }, { token })
    const { data: made } = await service.post('/premium/subusers', {}, { token })
    const to = made.subuser.subuser_id
    await service.post('/premium/traffic/move', { pool_type: 'residential', gb: 0.5, to_subuser_id: to }, { token })
    const { id: subuser } = await premium.subusers.load(customer, undefined)
    await premium.subusers.update(customer, subuser, { keepHosts: true, limits: {} })
    const leaseRequest = (turn: number, want: 'lease' | 'return') => ({ subuser, pool: 'residential', turn, want })
    const node = `refund-${engine}`
    await premium.metering.takeReport({ node, boot: 'b', counts: [], leaseRequests: [leaseRequest(1, 'lease')] })
    const counts = [{ subuser, pool: 'residential', received: 8_000_000n, sent: 0n }]
    await premium.metering.takeReport({ node, boot: 'b', counts, leaseRequests: [leaseRequest(2, 'return')] })
    const refund = await premium.traffic.refund(bought.order_id, 'unused')
    expect(refund.returned).toBe(1_992_000_000n as never)
    expect(refund.money).toBe(63_744n as never)
    expect((await service.get('/balance', { token })).data.balance_rub).toBe(997.44)
    expect((await service.get('/premium/traffic/balance?pool_type=residential', { token })).data.traffic_gb).toBe(0)
    expect((await refusalOf(premium.traffic.refund(bought.order_id, 'again'))).code).toBe('conflict')
    expect((await refusalOf(premium.traffic.refund(noOrder, 'x'))).code).toBe('not_found')
  })

  test('every premium operation answers for another customer’s sub-user as for an unknown one: 404', async () => {
    const { token } = await addCustomer()
    const other = await addCustomer()
    const theirs = (await service.get('/premium/password', { token: other.token })).data.subuser.subuser_id
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    for (const id of [theirs, unknownSubuser, 'nonsense']) {
      const requests = [
        service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 0.1, subuser_id: id }, { token }),
        service.get(`/premium/traffic/balance?subuser_id=${id}`, { token }),
        service.post('/premium/traffic/move', { pool_type: 'residential', gb: 0.1, to_subuser_id: id }, { token }),
        service.post('/premium/traffic/move', { pool_type: 'residential', gb: 0.1, from_subuser_id: id }, { token }),
        service.post('/premium/proxies/generate', { pool_type: 'residential', subuser_id: id }, { token }),
        service.get(`/premium/whitelist?subuser_id=${id}`, { token }),
        service.post('/premium/whitelist/add', { ip: '1.2.3.4', subuser_id: id }, { token }),
        service.post('/premium/whitelist/remove', { ip: '1.2.3.4', subuser_id: id }, { token }),
        service.get(`/premium/password?subuser_id=${id}`, { token }),
        service.post('/premium/password/reset', { subuser_id: id }, { token }),
        service.post('/premium/subusers/update', { subuser_id: id, blocked: true }, { token }),
        service.post('/premium/subusers/delete', { subuser_id: id }, { token }),
        service.get(`/premium/usage?subuser_id=${id}`, { token }),
      ]
      for (const [index, answer] of (await Promise.all(requests)).entries()) {
        expect(answer.status).toBe(404)
        expect(answer.error).toEqual({
          // Only the purchase charges.
          ...(index === 0 && { charged: false }),
          code: 'not_found',
          message: 'There is no such sub-user.',
          reason: 'subuser_not_found',
          doc_url: `${service.url}/docs/reasons#subuser_not_found`,
          params: {},
          details: { charged: false },
        })
      }
    }
    expect((await service.get('/balance', { token })).data.balance_rub).toBe(680)
    expect((await service.get('/premium/password', { token: other.token })).status).toBe(200)
  })

  test('every premium operation answers 401 without a token', async () => {
    const reads = ['traffic/quote', 'traffic/balance', 'whitelist', 'password', 'subusers', 'usage']
    const writes = [
      'traffic/buy',
      'traffic/move',
      'proxies/generate',
      'whitelist/add',
      'whitelist/remove',
      'password/reset',
    ]
    const more = ['subusers', 'subusers/update', 'subusers/delete']
    const locationPaths = ['countries', 'states', 'cities', 'zipcodes', 'asns'].map((each) => `locations/${each}`)
    const requests = [
      ...reads.map((path) => service.get(`/premium/${path}`, { token: null })),
      ...[...writes, ...more, ...locationPaths].map((path) => service.post(`/premium/${path}`, {}, { token: null })),
    ]
    for (const answer of await Promise.all(requests)) {
      expect(answer.status).toBe(401)
      expect(answer.error.code).toBe('invalid_token')
    }
  })

  test('readProxyLogin reads every login that generate writes', async () => {
    const { data } = await service.post('/premium/proxies/generate', {
      pool_type: 'mobile',
      countries: ['DE', 'us'],
      quantity: 3,
      session_ttl: 30,
      format_id: 2,
    })
    for (const line of data.proxies as string[]) {
      expect(readProxyLogin(line.split(':')[0] ?? '')).toMatchObject({
        login: data.subuser.login,
        pool: 'mobile',
        countries: ['de', 'us'],
        session: { ttlMinutes: 30 },
      })
    }
  })
})

async function expectClean(service: Service): Promise<void> {
  for (const verifier of service.services.verifiers) expect((await verifier.verify()).findings).toEqual([])
}
