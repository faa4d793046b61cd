import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createLog } from '../../src/adapters/log.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { openShop, type Shop } from '../../src/app/shop/shop.ts'
import { type Caller, createCaller } from '../harness/caller.ts'
import { HandClock, runtimeWith } from '../harness/clock.ts'
import { connectMcp } from '../harness/mcp-client.ts'
import { type Service, startService } from '../harness/service.ts'

const limits = { TURNPIKE_RATE_READS: '60', TURNPIKE_RATE_CHARGES: '40' }
const secretKey = '34'.repeat(32)

describe('two shops on one PostgreSQL', () => {
  let first: Service
  let second: Shop
  let callers: readonly Caller[]
  const clock = new HandClock()
  beforeAll(async () => {
    const shared = { ...limits, TURNPIKE_SECRET_KEY: secretKey }
    first = await startService('postgres', shared, runtimeWith(clock))
    const config = readConfig({
      ...shared,
      TURNPIKE_PORT: '0',
      TURNPIKE_METRICS_LISTEN: '',
      TURNPIKE_DATA: `${first.testDatabase.folder}/second`,
      TURNPIKE_DATABASE_URL: first.testDatabase.address,
    })
    second = await openShop(
      config,
      createLog('error', 'shop', () => {}),
      runtimeWith(clock),
    )
    callers = [first, await createCaller(second.url, first.token)]
  })
  afterAll(async () => {
    await second.stop()
    await first.stop()
  })
  const at = (turn: number): Caller => callers[turn % callers.length] as Caller

  test('two shops serve a token 60 requests per minute together', async () => {
    const { token } = await first.newCustomer(100n)
    const answers = await Promise.all(Array.from({ length: 120 }, (_, turn) => at(turn).get('/balance', { token })))
    const served = answers.filter((each) => each.status === 200).length
    expect(served).toBe(60)
    for (const caller of callers) {
      const { status, headers } = await caller.get('/balance', { token })
      expect(status).toBe(429)
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
    // One request per second is refilled.
    clock.advance(3000)
    const later = await Promise.all(Array.from({ length: 10 }, (_, turn) => at(turn).get('/balance', { token })))
    expect(later.filter((each) => each.status === 200)).toHaveLength(3)
    const another = await first.newCustomer(100n)
    expect((await at(1).get('/balance', { token: another.token })).status).toBe(200)
  })

  test('a read token that tries to buy is counted in its 60 reads a minute, and each refusal is in GET /requests', async () => {
    const { customer, token: owners } = await first.newCustomer(100n)
    const { text: token } = await first.services.customers.issueToken(customer, { name: 'stolen', scopes: ['read'] })
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const answers = await Promise.all(
      Array.from({ length: 61 }, () => first.post('/dedicated/buy', order, { token, key: 'theirs' })),
    )
    const counts = Map.groupBy(answers, ({ error }) => error.reason)
    expect([counts.get('scope_missing')?.length, counts.get('rate_limited')?.length]).toEqual([60, 1])
    expect(answers.every(({ error }) => error.charged === false)).toBe(true)
    const { requests } = (await first.get('/requests?limit=100', { token: owners })).data
    const tried = requests.filter((each: { reason: string }) => each.reason === 'scope_missing')
    expect(tried).toHaveLength(60)
    expect(tried[0]).toMatchObject({ operation: 'buyDedicated', status: 403, token_name: 'stolen' })
  })

  test('a purchase that MCP priced at one shop is confirmed at the other, and a repeat at the first buys nothing', async () => {
    const { token } = await first.newCustomer(1_000n)
    const connect = (url: string) => connectMcp('streamable HTTP', { url, token, mayWrite: true })
    const [here, there] = [await connect(first.url), await connect(second.url)]
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const { answer } = await here.call('buyDedicated', order)
    const confirmed = { ...order, ...(answer['confirm_with'] as object) }
    expect((await there.call('buyDedicated', confirmed)).answer).toMatchObject({ data: { price_rub: 171 } })
    expect((await here.call('buyDedicated', confirmed)).answer).toMatchObject({ replayed: true })
    expect((await first.get('/balance', { token })).data).toMatchObject({ api_spent_rub: 171 })
    await Promise.all([here.close(), there.close()])
  })

  test('two shops allow 20 sign-in attempts for one login together', async () => {
    const outcomes: boolean[] = []
    for (let turn = 0; turn < 30; turn += 1) {
      const { signIn } = turn % 2 === 0 ? first.services : second.services
      outcomes.push(
        await signIn.attempt('customer anna', `198.51.100.${turn}`).then(
          () => true,
          () => false,
        ),
      )
    }
    expect(outcomes.filter((isLet) => isLet)).toHaveLength(20)
    expect(outcomes.slice(0, 20)).not.toContain(false)
  })

  test('two shops sell once per key when both get the request at once', async () => {
    const { customer, token } = await first.newCustomer(10_000n)
    const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
    for (let round = 0; round < 5; round += 1) {
      const key = `twice-${round}`
      const requests = [0, 1, 0, 1].map((turn) => at(turn).post('/dedicated/buy', order, { token, key }))
      const answers = await Promise.all(requests)
      const codes = answers.filter((each) => each.status !== 200).map((each) => each.error?.code)
      expect(codes.filter((code) => code !== 'request_in_progress')).toEqual([])
      const texts = new Set(answers.filter((each) => each.status === 200).map((each) => each.text))
      expect(texts.size).toBe(1)
      const again = await at(round).post('/dedicated/buy', order, { token, key })
      expect(again.text).toBe([...texts][0] ?? '')
    }
    const rows = await first.services.db.all('SELECT id FROM proxies WHERE customer_id = $1', [customer])
    expect(rows).toHaveLength(5)
  })

  test('a session or token that one shop ends is refused by the other shop within 1 s', async () => {
    const { customer } = await first.newCustomer(100n)
    const visitor = { source: '198.51.100.7', clientPrefix: '198.51.100.7', agent: 'test', shown: [] }
    const owner = { kind: 'customer', id: customer } as const
    const opened = await first.services.db.transact((tx) => first.services.signIn.open(tx, owner, visitor))
    const isKnown = () =>
      second.services.signIn.load('customer', opened.secret).then(
        () => true,
        () => false,
      )
    expect(await isKnown()).toBe(true)
    await first.services.signIn.end(owner, opened.session.id)
    const { token, id } = await issue(first)
    expect((await at(1).get('/balance', { token })).status).toBe(200)
    await first.services.customers.revokeToken(id)
    clock.advance(1000)
    expect((await at(1).get('/balance', { token })).status).toBe(401)
    expect(await isKnown()).toBeFalse()
  })

  async function issue({ services }: Service) {
    const customer = await services.customers.create('passing')
    const { text, token } = await services.customers.issueToken(customer.id, { name: 'test' })
    return { token: text, id: token.id }
  }
})
