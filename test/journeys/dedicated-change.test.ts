import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { NodeProxy } from '../../src/node-protocol/state.ts'
import { enginesOf } from '../harness/database.ts'
import { listNodeRows } from '../harness/node.ts'
import { addStock, applyCatalogue, kindIn, shippedWith, slotsByState } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

const dayMs = 86_400_000
type Shown = { id: number; username: string; password: string; exit_ip: string; expires_at: string; port_type: string }

describe.each([...enginesOf('sqlite')])('changes to dedicated proxies on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
    await applyCatalogue(service.services, shippedWith('AT', 'BE'))
    await addStock(service.services, '127.60.0.0/31', 'AT', 4)
    await addStock(service.services, '127.61.0.0/31', 'BE', 3)
  })
  afterAll(async () => {
    expect(await findingsOf(service.services)).toEqual([])
    await service.stop()
  })
  const buy = async (token: string, order: object = {}): Promise<Shown[]> => {
    const body = { country_code: 'DE', period: 30, count: 1, ipv: 4, ...order }
    return (await service.post('/dedicated/buy', body, { token })).data.proxies
  }
  const list = async (token: string): Promise<Shown[]> => (await service.get('/dedicated/list', { token })).data.proxies
  const credential = async (username = ''): Promise<NodeProxy | null | undefined> =>
    (await service.services.dedicated.nodes.find({ username }))?.proxy
  const changesForNodes = (page: { since?: number; limit?: number } = {}) =>
    listNodeRows(service.services.dedicated.nodes, 'proxies', page)

  test('POST /dedicated/protocol changes exactly the named proxies and reads socks5 as socks', async () => {
    const { token } = await service.newCustomer(1_000n)
    const ids = (await buy(token, { count: 3 })).map((each) => each.id)
    for (const [sent, shown] of [
      ['socks', 'socks'],
      ['http', 'http'],
      ['socks5', 'socks'],
    ]) {
      const { data } = await service.post('/dedicated/protocol', { ids: ids.slice(0, 2), port_type: sent }, { token })
      expect(data).toEqual({ port_type: shown, updated: ids.slice(0, 2) })
      const types = new Map((await list(token)).map((each) => [each.id, each.port_type]))
      expect(ids.map((id) => types.get(id))).toEqual([shown, shown, 'http'])
    }
  })

  test('a gateway’s feed has a purchase, a new protocol, address and term, and the end, at once', async () => {
    const { token } = await service.newCustomer(1_000n)
    const [proxy] = await buy(token)
    const known = await credential(proxy?.username)
    expect(known).toMatchObject({
      username: proxy?.username,
      port_type: 'http',
      leave_from: proxy?.exit_ip,
      expires_at: Date.parse(proxy?.expires_at ?? ''),
      state: 'active',
    })
    expect(known?.digest).toBe(new Bun.CryptoHasher('sha256').update(proxy?.password ?? '').digest('hex'))
    const changes: [path: string, body: object, expected: (answer: Record<string, unknown>) => object][] = [
      ['/dedicated/protocol', { ids: [proxy?.id], port_type: 'socks' }, () => ({ port_type: 'socks' })],
      ['/dedicated/replace', { id: proxy?.id }, (data) => ({ leave_from: data['exit_ip'] })],
      [
        '/dedicated/prolong',
        { ids: [proxy?.id], period: 3 },
        () => ({ expires_at: Date.parse(proxy?.expires_at ?? '') + 3 * dayMs }),
      ],
    ]
    for (const [path, body, expected] of changes) {
      service.clock.advance(1)
      const since = service.clock.nowMs
      const { data } = await service.post(path, body, { token })
      const changed = await changesForNodes({ since })
      expect(changed).toHaveLength(1)
      expect(changed[0]?.changedAt).toBe(since)
      expect(changed[0]?.shape).toMatchObject({ username: proxy?.username, state: 'active', ...expected(data) })
      expect(await credential(proxy?.username)).toEqual(changed[0]?.shape)
    }
    const end = (await credential(proxy?.username))?.expires_at ?? 0
    service.clock.nowMs = end + 3 * dayMs - 1
    expect(await credential(proxy?.username)).toMatchObject({ state: 'active' })
    service.clock.advance(1)
    // The gateway answers `expired` to its password for 30 days.
    expect(await credential(proxy?.username)).toMatchObject({ state: 'gone' })
    await service.services.dedicatedUpkeep.release(1000)
    const gone = await changesForNodes({ since: service.clock.nowMs })
    expect(gone.find(({ shape }) => shape.username === proxy?.username)?.shape).toMatchObject({ state: 'gone' })
  })

  test('the gateway’s feed of proxies has no password, no price and no customer id', async () => {
    const { token, customer } = await service.newCustomer(1_000n)
    const [proxy] = await buy(token)
    const all = await changesForNodes({ since: 0 })
    expect(all.length).toBeGreaterThan(0)
    for (const { shape } of all) {
      expect(Object.keys(shape).toSorted()).toEqual([
        'digest',
        'entry_port',
        'expires_at',
        'id',
        'leave_from',
        'node',
        'owner',
        'port_type',
        'sources',
        'state',
        'username',
        'withdrawn',
      ])
    }
    const text = Bun.inspect(all, { depth: 9 })
    expect(text).not.toContain(customer)
    expect(text).not.toContain(proxy?.password ?? 'x')
  })

  test('a gateway that reads 60 rows per page misses none of 250 proxies bought in one transaction', async () => {
    const { token } = await service.newCustomer(100_000n)
    service.clock.advance(1)
    const since = service.clock.nowMs
    const bought = await buy(token, { count: 250, ipv: 6 })
    const seen = (await changesForNodes({ since, limit: 60 })).map(({ shape }) => shape.username)
    expect(seen).toEqual(bought.map((each) => each.username))
  })

  test('the shop finds no proxy for a username that differs in case, length or one character', async () => {
    const [proxy] = await buy(service.token)
    const name = proxy?.username ?? ''
    for (const text of [
      '',
      'tp',
      name.toUpperCase(),
      `${name}x`,
      name.slice(0, -1),
      `${name.slice(0, -1)}!`,
      'tpzzzzzzzzzzz0000',
    ]) {
      expect(await credential(text)).toBeUndefined()
    }
    expect(await credential(name)).toBeDefined()
  })

  test('POST /dedicated/replace changes the address once per 24 h and keeps id, credentials and term', async () => {
    const { token } = await service.newCustomer(1_000n)
    for (const ipv of [3, 4, 6]) {
      const [before] = await buy(token, { ipv })
      const { data } = await service.post('/dedicated/replace', { id: before?.id }, { token })
      expect(data.exit_ip).not.toBe(before?.exit_ip)
      expect({ ...data, ip: '', exit_ip: '' }).toEqual({ ...before, ip: '', exit_ip: '' })
      expect((await list(token)).find((each) => each.id === before?.id)).toEqual(data)
      service.clock.advance(dayMs - 1)
      const early = await service.post('/dedicated/replace', { id: before?.id }, { token })
      expect([early.status, early.error.code]).toEqual([409, 'conflict'])
      expect(Date.parse(early.error.details.again_at)).toBe(service.clock.nowMs + 1)
      service.clock.advance(1)
      const again = await service.post('/dedicated/replace', { id: before?.id }, { token })
      expect([again.status, again.data.exit_ip === data.exit_ip]).toEqual([200, false])
    }
    expect((await service.get('/orders', { token })).data.orders).toHaveLength(3)
  })

  test('POST /dedicated/replace swaps once per key, and replays the first answer to the token that has it', async () => {
    const { token, customer } = await service.newCustomer(1_000n)
    const [before, other] = await buy(token, { count: 2 })
    const [path, body, key] = ['/dedicated/replace', { id: before?.id }, `swap-${engine}`]
    const { data: first } = await service.post(path, body, { token, key })
    expect([first.exit_ip === before?.exit_ip, first.password]).toEqual([false, before?.password])
    const again = await service.post(path, body, { token, key })
    expect([again.status, again.headers.get('idempotent-replayed'), again.data]).toEqual([200, 'true', first])
    const { text } = await service.services.customers.issueToken(customer, { name: 'trade', scopes: ['trade'] })
    const replayed = await service.post(path, body, { token: text, key })
    expect([replayed.status, replayed.error.reason]).toEqual([403, 'passwords_scope_missing'])
    const reused = await service.post(path, { id: other?.id }, { token, key })
    expect([reused.status, reused.error.code]).toEqual([422, 'idempotency_key_reused'])
    const found = await service.get(`/orders?idempotency_key=${key}`, { token })
    expect([found.data.orders, (await list(token)).length]).toEqual([[], 2])
  })

  test('concurrent POST /dedicated/replace with one key swap the address once', async () => {
    const { token } = await service.newCustomer(1_000n)
    const [before] = await buy(token)
    const send = () => service.post('/dedicated/replace', { id: before?.id }, { token, key: `race-${engine}` })
    const answers = await Promise.all(Array.from({ length: 8 }, send))
    const codes = new Set(answers.filter(({ status }) => status !== 200).map(({ error }) => error.code))
    expect([...codes].filter((code) => code !== 'request_in_progress')).toEqual([])
    const { data } = await send()
    expect((await list(token))[0]?.exit_ip).toBe(data.exit_ip)
    const { events } = (await service.get('/events', { token })).data
    expect(events.filter((each: { type: string }) => each.type === 'proxy.replaced')).toHaveLength(1)
  })

  test('the shop does not sell a replaced address again for 7 days', async () => {
    const { token } = await service.newCustomer(1_000n)
    const [proxy] = await buy(token, { country_code: 'AT', period: 90 })
    const { data } = await service.post('/dedicated/replace', { id: proxy?.id }, { token })
    expect(new Set([proxy?.exit_ip, data.exit_ip])).toEqual(new Set(['127.60.0.0', '127.60.0.1']))
    for (const waitMs of [0, 7 * dayMs - 1]) {
      service.clock.advance(waitMs)
      await service.services.stock.endRest(1000)
      const short = await service.post('/dedicated/buy', { country_code: 'AT', period: 7, count: 1, ipv: 4 }, { token })
      expect(short.error.code).toBe('out_of_stock')
    }
    service.clock.advance(1)
    await service.services.stock.endRest(1000)
    const [again] = await buy(token, { country_code: 'AT', period: 7 })
    expect(again?.exit_ip).toBe(proxy?.exit_ip ?? '')
  })

  test('POST /dedicated/replace without stock answers 409, keeps the address and allows a retry', async () => {
    const { token } = await service.newCustomer(1_000n)
    const [first] = await buy(token, { country_code: 'BE', ipv: 3, count: 2 })
    const before = await list(token)
    // The free slots belong to addresses that this customer already holds.
    const answer = await service.post('/dedicated/replace', { id: first?.id }, { token })
    expect([answer.status, answer.error.code]).toEqual([409, 'out_of_stock'])
    expect(answer.error.details).toEqual({ available: 0, charged: false })
    expect(await list(token)).toEqual(before)
    await addStock(service.services, '127.61.1.0', 'BE', 3)
    expect((await service.post('/dedicated/replace', { id: first?.id }, { token })).data.exit_ip).toBe('127.61.1.0')
  })

  test('an expired proxy accepts a protocol and a comment but no replacement; 3 days later it is 404', async () => {
    const { token } = await service.newCustomer(1_000n)
    const [proxy] = await buy(token, { period: 7 })
    service.clock.nowMs = Date.parse(proxy?.expires_at ?? '')
    const answer = await service.post('/dedicated/replace', { id: proxy?.id }, { token })
    expect([answer.status, answer.error.code]).toEqual([409, 'conflict'])
    const ids = [proxy?.id]
    expect((await service.post('/dedicated/protocol', { ids, port_type: 'socks' }, { token })).status).toBe(200)
    expect((await service.post('/dedicated/comment', { ids, comment: 'x' }, { token })).status).toBe(200)
    service.clock.advanceDays(3)
    for (const [path, body] of [
      ['/dedicated/replace', { id: proxy?.id }],
      ['/dedicated/protocol', { ids, port_type: 'http' }],
      ['/dedicated/comment', { ids, comment: 'y' }],
      ['/dedicated/check', { id: proxy?.id }],
      ['/dedicated/auto-renew', { ids, period: 30 }],
    ] as const) {
      expect([path, (await service.post(path, body, { token })).status]).toEqual([path, 404])
    }
  })

  test('POST /dedicated/check answers works: false while no gateway listens', async () => {
    const [proxy] = await buy(service.token)
    const { data } = await service.post('/dedicated/check', { id: proxy?.id })
    expect(data).toMatchObject({ id: proxy?.id, works: false, took_ms: null })
    expect(data.problem).toBeString()
  })

  test('free, leased, resting and retired slots add up to the whole stock', async () => {
    const states = await slotsByState(service.services)
    const slots = await service.services.db.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM stock')
    expect(Object.values(states).reduce((sum, each) => sum + each, 0)).toBe(Number(slots?.n))
    expect(states['leased']).toBeGreaterThan(0)
    expect(await service.services.stock.available(kindIn('DE', 4))).toBeGreaterThan(0)
  })
})
