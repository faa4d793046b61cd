import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../test/harness/clock.ts'
import { engines } from '../../test/harness/database.ts'
import { HandTiming, passing } from '../../test/harness/hand-timing.ts'
import { sendRaw } from '../../test/harness/raw.ts'
import { openThingsShop, sellThings, type ThingsShop } from '../../test/harness/things-shop.ts'
import { addCustomer } from '../../test/harness/wired.ts'
import { type Address, readAddress } from '../core/address.ts'
import { type Code, codeOf, kindOfCode, type RefusalKind } from '../core/messages/codes.ts'
import { fieldProblem } from '../core/messages/problems.ts'
import { kopecks } from '../core/money.ts'
import { malformed } from '../core/refusal.ts'
import { chargedBy } from './answers.ts'
import { type Bound, bind } from './bind.ts'
import { getBalance } from './customer/account/shapes.ts'
import { setComment } from './customer/dedicated/shapes.ts'
import { createHttp, type HttpDeps } from './http.ts'
import { statusOfCode, statusOfKind } from './operation.ts'

test('each refusal code has the HTTP status of the contract', () => {
  expect(statusOfCode).toEqual({
    invalid_request: 400,
    invalid_token: 401,
    sign_in_failed: 401,
    insufficient_funds: 402,
    forbidden: 403,
    not_found: 404,
    method_not_allowed: 405,
    out_of_stock: 409,
    request_in_progress: 409,
    conflict: 409,
    payload_too_large: 413,
    url_too_long: 414,
    unsupported_media_type: 415,
    idempotency_key_reused: 422,
    rate_limited: 429,
    headers_too_large: 431,
    internal_error: 500,
    provider_error: 502,
    unavailable: 503,
  })
  const kinds: Record<RefusalKind, number> = statusOfKind
  for (const [code, status] of Object.entries(statusOfCode)) {
    // internal_error is the only fault among the codes and has its own status.
    if (code !== 'internal_error') expect([code, kinds[kindOfCode[code as Code]]]).toEqual([code, status])
  }
  expect(new Set(Object.values(kinds))).toEqual(new Set(Object.values(statusOfCode).filter((status) => status !== 500)))
})

describe.each([...engines])('the HTTP interface on %s', (engine) => {
  let shop: ThingsShop
  beforeAll(async () => {
    shop = await openThingsShop(engine)
  })
  afterAll(() => shop.stop())

  test('every answer and refusal has headers against sniffing, framing, unchecked caching and referrers', async () => {
    for (const [path, token, caching] of [
      ['/balance', shop.token, 'private, no-cache'],
      ['/balance', null, 'no-store'],
      ['/nothing', shop.token, 'no-store'],
      ['/things/buy', shop.token, 'no-store'],
    ] as const) {
      const { headers } = await shop.get(path, { token })
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cache-control')).toBe(caching)
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    }
  })

  test('20 answers have 20 different request ids of 24 hexadecimal digits', async () => {
    const ids = new Set<string | null>()
    for (let index = 0; index < 20; index += 1) ids.add((await shop.get('/balance')).headers.get('x-request-id'))
    expect(ids.size).toBe(20)
    expect([...ids].every((id) => /^[0-9a-f]{24}$/.test(id ?? ''))).toBe(true)
  })

  test('a wrong method is refused with 405 and the right methods in the Allow header', async () => {
    const read = await shop.post('/balance', {})
    expect([read.status, read.error.code, read.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD'])
    const bought = await shop.get('/things/buy')
    expect([bought.status, bought.error.code, bought.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'POST'])
  })

  test('HEAD answers like GET, without a body', async () => {
    const headers = { Authorization: `Bearer ${shop.token}` }
    const head = await fetch(`${shop.url}/api/v1/balance`, { method: 'HEAD', headers })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(head.headers.get('x-request-id')).toBeTruthy()
    expect((await fetch(`${shop.url}/api/v1/balance`, { method: 'HEAD' })).status).toBe(401)
    expect((await fetch(`${shop.url}/healthz`, { method: 'HEAD' })).status).toBe(200)
  })

  test('HEAD has the Content-Length of GET for answers, refusals and pages', async () => {
    const lengthOf = async (method: string, path: string) => {
      const lines = [
        `${method} ${path} HTTP/1.1`,
        'Host: shop',
        'Connection: close',
        `Authorization: Bearer ${shop.token}`,
      ]
      const [answer] = await sendRaw(shop.port, [`${lines.join('\r\n')}\r\n\r\n`])
      return {
        status: answer?.status,
        length: /content-length: (\d+)/i.exec(answer?.head ?? '')?.[1],
        body: answer?.body,
      }
    }
    for (const path of ['/api/v1/balance', '/api/v1/nothing', '/api/v1/openapi.json', '/docs', '/healthz']) {
      const [get, head] = [await lengthOf('GET', path), await lengthOf('HEAD', path)]
      expect(Number(get.length)).toBeGreaterThan(0)
      expect([path, head]).toEqual([path, { ...get, body: '' }])
    }
  })

  const shared = [
    ['/api/v1/openapi.json', 'Accept-Encoding'],
    ['/docs', 'Accept-Language, Accept-Encoding'],
    ['/docs/openapi.ru.json', 'Accept-Encoding'],
    ['/docs/page.js', 'Accept-Encoding'],
    ['/docs/page.css', 'Accept-Encoding'],
    ['/docs/errors', 'Accept-Language, Accept-Encoding'],
  ] as const

  test.each(shared)('%s is compressed if the client accepts gzip, and answers 304 to its ETag', async (path, vary) => {
    const request = async (headers: Record<string, string>) => {
      const answer = await fetch(shop.url + path, { headers, decompress: false })
      return { answer, bytes: new Uint8Array(await answer.arrayBuffer()) }
    }
    const plain = await request({ 'Accept-Encoding': 'identity' })
    const packed = await request({ 'Accept-Encoding': 'br;q=1, gzip' })
    expect([plain, packed].map(({ answer }) => answer.headers.get('content-encoding'))).toEqual([null, 'gzip'])
    expect(Bun.gunzipSync(packed.bytes)).toEqual(plain.bytes)
    expect((await request({ 'Accept-Encoding': 'gzip;q=0' })).bytes).toEqual(plain.bytes)
    for (const { answer } of [plain, packed]) {
      expect(answer.headers.get('vary')).toBe(vary)
      expect(answer.headers.get('cache-control')).toBe('no-cache')
    }
    const etag = plain.answer.headers.get('etag') ?? ''
    expect(packed.answer.headers.get('etag')).toBe(etag)
    for (const known of [etag, `"other", ${etag}`, '*', etag.replace('W/', '')]) {
      const { answer, bytes } = await request({ 'If-None-Match': known })
      expect([answer.status, answer.headers.get('etag'), bytes.length]).toEqual([304, etag, 0])
    }
    expect((await request({ 'If-None-Match': '"other"' })).answer.status).toBe(200)
  })

  /** The HTTP layer of the shop without limits, with other dependencies where a test needs them. */
  const openHttp = (other: Partial<HttpDeps>) =>
    createHttp({
      customers: shop.services.customers,
      bound: [bind(getBalance, async () => getBalance.example)],
      version: '0.0.0',
      publicUrl: () => shop.url,
      readsPerMinute: 0,
      chargesPerMinute: 0,
      clock: shop.clock.read,
      requestId: () => 'x',
      findHindrance: async () => undefined,
      isStopping: () => false,
      note: () => {},
      ...other,
    })

  test('onAdmitted receives a client address after a request with a valid token, and not after others', async () => {
    const admitted: (Address | undefined)[] = []
    const http = openHttp({
      onAdmitted: (from) => void admitted.push(from),
    })
    const from = readAddress('192.0.2.1')
    const request = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await http(new Request(`${shop.url}${path}`, { headers }), from)).status
    expect(await request('/healthz')).toBe(200)
    expect(await request('/api/v1/balance')).toBe(401)
    expect(await request('/api/v1/balance', { Authorization: 'Bearer nothing' })).toBe(401)
    expect(admitted).toEqual([])
    expect(await request('/api/v1/balance', { Authorization: `Bearer ${shop.token}` })).toBe(200)
    expect(admitted).toEqual([from])
  })

  test('a sale by token authenticates once before its transaction, and once more if it is refused', async () => {
    let count = 0
    const { customers } = shop.services
    const authenticate: typeof customers.authenticate = (...args) => {
      count += 1
      return customers.authenticate(...args)
    }
    const http = openHttp({ customers: { authenticate }, bound: [sellThings(shop.services)] })
    const buyer = await addCustomer(shop.services, 900n)
    const { text: token } = await customers.issueToken(buyer, { name: 'buyer' })
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const buy = async (body: object): Promise<[status: number, authenticated: number]> => {
      const before = count
      const request = new Request(`${shop.url}/api/v1/things/buy`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return [(await http(request, undefined)).status, count - before]
    }
    expect(await buy({ count: 1 })).toEqual([200, 1])
    expect(await buy({ count: 0 })).toEqual([400, 2])
  })

  test('a customer changes 54,000 rows at once and 18,000 an hour; more is refused with 429 and changes nothing', async () => {
    const clock = new HandClock()
    let changed = 0
    const http = openHttp({
      bound: [
        bind(setComment, async ({ body }) => {
          changed += body.ids.length
          return { comment: body.comment, updated: body.ids }
        }),
        bind(getBalance, async () => getBalance.example),
      ],
      changesPerHour: 18_000,
      clock: clock.read,
    })
    const headers = { Authorization: `Bearer ${shop.token}`, 'Content-Type': 'application/json' }
    const comment = (count: number) => {
      const body = JSON.stringify({ ids: Array.from({ length: count }, (_, id) => id + 1), comment: 'flood' })
      return http(new Request(`${shop.url}/api/v1/dedicated/comment`, { method: 'POST', headers, body }), undefined)
    }
    for (let round = 0; round < 54; round += 1) expect((await comment(1000)).status).toBe(200)
    const refused = await comment(500)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '100'])
    expect(await refused.json()).toMatchObject({
      error: { reason: 'change_limit', params: { rows: 500, per_hour: 18_000, left: 0 }, details: { charged: false } },
    })
    expect(changed).toBe(54_000)
    expect((await http(new Request(`${shop.url}/api/v1/balance`, { headers }), undefined)).status).toBe(200)
    clock.advance(100_000)
    expect([(await comment(500)).status, (await comment(1)).status]).toEqual([200, 429])
  })

  test("another customer's purchase, begun in the first slice of a bulk request, is answered before the second slice", async () => {
    const timing = new HandTiming()
    const events: string[] = []
    const [inside, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const buys: Bound = sellThings(shop.services)
    const http = openHttp({
      timing,
      bound: [
        bind(setComment, async ({ body, nextSlice }) => {
          events.push('slice 1')
          inside.resolve()
          await begun.promise
          timing.spend(10)
          await nextSlice()
          events.push('slice 2')
          return { comment: body.comment, updated: body.ids }
        }),
        {
          ...buys,
          run: (call) => {
            begun.resolve()
            return buys.run(call)
          },
        },
      ],
    })
    const other = await addCustomer(shop.services, 100_000n)
    const { text } = await shop.services.customers.issueToken(other, { name: 'test' })
    const send = async (path: string, token: string, body: object) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
      const request = new Request(`${shop.url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      const { status } = await http(request, undefined)
      events.push(`${path} ${status}`)
    }
    const ids = Array.from({ length: 1000 }, (_, id) => id + 1)
    const bulk = send('/dedicated/comment', shop.token, { ids, comment: 'bulk' })
    await inside.promise
    await send('/things/buy', text, { count: 1 })
    expect(events).toEqual(['slice 1', '/things/buy 200'])
    await passing(timing, bulk)
    expect(events.slice(2)).toEqual(['slice 2', '/dedicated/comment 200'])
  })

  test('an internal error answers 500 without a Retry-After header', async () => {
    const http = openHttp({
      customers: { authenticate: () => Promise.reject(new Error('the disk is gone')) },
    })
    const answer = await http(new Request(`${shop.url}/api/v1/balance`), undefined)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([500, null])
    expect(await answer.json()).toMatchObject({ error: { code: 'internal_error', details: null } })
  })

  test('a purchase above the balance is refused with 402, the price, the balance and "charged": false', async () => {
    const answer = await shop.post('/things/buy', { count: 1000 })
    expect(answer.status).toBe(402)
    expect(answer.error).toMatchObject({
      code: 'insufficient_funds',
      details: { required_rub: 9000, balance_rub: 1000, charged: false },
    })
  })

  test('every refusal of a purchase has "charged": false, a fault null, and refusals of other operations have none', async () => {
    const authorized = { Authorization: `Bearer ${shop.token}`, 'Content-Type': 'application/json' }
    const send = async (path: string, headers: Record<string, string>, body = '{"count":1}') => {
      const answer = await fetch(`${shop.url}/api/v1${path}`, { method: 'POST', headers, body })
      const { error } = (await answer.json()) as { error: { charged?: boolean | null } }
      return [answer.status, error.charged]
    }
    const buy = '/things/buy'
    expect(await send(buy, {})).toEqual([401, false])
    expect(await send(buy, authorized, '{"count":0}')).toEqual([400, false])
    expect(await send(buy, authorized, '{"count":900}')).toEqual([402, false])
    expect(await send(buy, authorized, '{"count":1,"max_price_rub":1}')).toEqual([409, false])
    expect(await send(buy, { ...authorized, 'Content-Type': 'text/plain' })).toEqual([415, false])
    expect(await send('/balance', authorized)).toEqual([405, undefined])
    const faults = ['internal_error', 'database_unavailable', 'database_busy'] as const
    expect(faults.map((reason) => chargedBy({ code: codeOf(reason), reason }))).toEqual([null, null, false])
    const problems = ['late', 'changed', 'unconfirmed', 'closed', 'missing', 'stalled']
    const unavailable = { code: 'unavailable', reason: 'database_unavailable' } as const
    expect(problems.map((problem) => chargedBy({ ...unavailable, params: { problem } }))).toEqual([
      null,
      null,
      null,
      false,
      false,
      false,
    ])
  })

  test('a token with scope read is refused a purchase with 403, and one with scope trade a read', async () => {
    const issue = async (scope: 'read' | 'trade') =>
      (await shop.services.customers.issueToken(shop.customer, { name: scope, scopes: [scope] })).text
    const [read, trade] = [await issue('read'), await issue('trade')]
    expect((await shop.get('/balance', { token: read })).status).toBe(200)
    const bought = await shop.post('/things/buy', { count: 1 }, { token: read })
    expect([bought.status, bought.error.code, bought.error.details]).toEqual([
      403,
      'forbidden',
      { needed: 'trade', charged: false },
    ])
    expect((await shop.get('/balance', { token: trade })).error).toMatchObject({
      code: 'forbidden',
      details: { needed: 'read' },
    })
  })

  test('a token with a cap of 18 roubles is refused with 403 beyond it, and a refund frees part of the cap', async () => {
    const { text } = await shop.services.customers.issueToken(shop.customer, { name: 'capped', cap: kopecks(1800n) })
    const buy = (count: number) => shop.post('/things/buy', { count }, { token: text })
    const first = await buy(2)
    expect(first.status).toBe(200)
    const second = await buy(1)
    expect(second.error).toMatchObject({ code: 'forbidden', details: { cap_rub: 18, spent_rub: 18, charged: false } })
    await shop.services.orders.refund(first.data.order_id, kopecks(900n), 'half')
    expect([(await buy(1)).status, (await buy(1)).status]).toEqual([200, 403])
  })

  /** The answer as it is sent, without decompression by the client. */
  const fetchRaw = async (path: string, init: { headers: Record<string, string>; method?: string; body?: string }) => {
    const headers = { Authorization: `Bearer ${shop.token}`, ...init.headers }
    const answer = await fetch(`${shop.url}/api/v1${path}`, { ...init, headers, decompress: false })
    return { answer, bytes: new Uint8Array(await answer.arrayBuffer()) }
  }
  const encodingOf = ({ answer }: { answer: Response }) => [
    answer.headers.get('content-encoding'),
    answer.headers.get('vary'),
  ]

  test('a JSON answer above 1 KiB is compressed if the client accepts gzip, and a smaller one is not', async () => {
    for (let count = 0; count < 10; count += 1) await shop.post('/things/buy', { count: 1 })
    const [plain, packed] = [
      await fetchRaw('/transactions', { headers: { 'Accept-Encoding': 'identity' } }),
      await fetchRaw('/transactions', { headers: { 'Accept-Encoding': 'deflate, gzip;q=0.5' } }),
    ]
    expect([plain, packed].map(encodingOf)).toEqual([
      [null, 'Accept-Encoding'],
      ['gzip', 'Accept-Encoding'],
    ])
    expect(plain.bytes.length).toBeGreaterThan(1024)
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2)
    expect(Bun.gunzipSync(packed.bytes)).toEqual(plain.bytes)
    const posted = (unknown: number) =>
      fetchRaw('/things/buy', {
        method: 'POST',
        headers: { 'Accept-Encoding': 'gzip', 'Content-Type': 'application/json' },
        body: JSON.stringify({
          count: 1,
          ...Object.fromEntries(Array.from({ length: unknown }, (_, at) => [`f${at}`, 1])),
        }),
      })
    expect(encodingOf(await posted(0))).toEqual([null, null])
    const long = await posted(20)
    expect(encodingOf(long)).toEqual(['gzip', 'Accept-Encoding'])
    expect(JSON.parse(new TextDecoder().decode(Bun.gunzipSync(long.bytes)))).toMatchObject({ ok: true })
  })

  test('a refusal above 1 KiB is compressed if the client accepts gzip', async () => {
    const problems = Array.from({ length: 50 }, () => fieldProblem('ids', 'invalid'))
    const http = openHttp({
      customers: { authenticate: () => Promise.reject(malformed(problems)) },
    })
    const headers = { 'Accept-Encoding': 'gzip' }
    const answer = await http(new Request(`${shop.url}/api/v1/balance`, { headers }), undefined)
    expect([answer.status, ...encodingOf({ answer })]).toEqual([400, 'gzip', 'Accept-Language, Accept-Encoding'])
    const text = new TextDecoder().decode(Bun.gunzipSync(await answer.arrayBuffer()))
    expect(JSON.parse(text)).toMatchObject({ ok: false, error: { code: 'invalid_request' } })
  })

  test('GET answers 304 to its ETag until the answer changes, and POST has no ETag', async () => {
    const first = await fetchRaw('/balance', { headers: {} })
    const etag = first.answer.headers.get('etag') ?? ''
    expect(etag).toStartWith('W/"')
    const { answer, bytes } = await fetchRaw('/balance', { headers: { 'If-None-Match': etag } })
    expect([answer.status, bytes.length, answer.headers.get('etag')]).toEqual([304, 0, etag])
    expect(answer.headers.get('cache-control')).toBe('private, no-cache')
    expect(answer.headers.get('x-request-id')).toBeTruthy()
    const bought = await shop.post('/things/buy', { count: 1 }, { headers: { 'If-None-Match': '*' } })
    expect([bought.status, bought.headers.get('etag'), bought.headers.get('cache-control')]).toEqual([
      200,
      null,
      'no-store',
    ])
    const changed = await fetchRaw('/balance', { headers: { 'If-None-Match': etag } })
    expect([changed.answer.status, changed.bytes.length > 0]).toEqual([200, true])
    const unauthorized = await fetchRaw('/balance', { headers: { 'If-None-Match': '*', Authorization: 'Bearer x' } })
    expect([unauthorized.answer.status, unauthorized.answer.headers.get('etag')]).toEqual([401, null])
  })

  test('the shop answers an HTTP/1.0 request without a Host header', async () => {
    const port = Number(new URL(shop.url).port)
    const [ready] = await sendRaw(port, ['GET /readyz HTTP/1.0\r\n\r\n'])
    expect(ready?.status).toBe(200)
    const line = `Authorization: Bearer ${shop.token}\r\n`
    const [balance] = await sendRaw(port, [`GET /api/v1/balance HTTP/1.0\r\n${line}\r\n`])
    expect(balance?.status).toBe(200)
    const [elsewhere] = await sendRaw(port, ['GET //elsewhere.example/readyz HTTP/1.0\r\n\r\n'])
    expect(elsewhere?.status).toBe(404)
  })

  test('a stopping shop answers 503 to every path except /healthz', async () => {
    shop.refuseNew(true)
    for (const path of ['/balance', '/orders/ord_0000000000000000000000000z', '/openapi.json/z', '/viz']) {
      const answer = await shop.get(path)
      expect([answer.status, answer.error.code]).toEqual([503, 'unavailable'])
      expect(answer.error.details).toEqual({ charged: false })
      expect(answer.headers.get('retry-after')).toBe('3')
    }
    expect((await fetch(`${shop.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${shop.url}/readyz`)).status).toBe(503)
    shop.refuseNew(false)
    expect((await fetch(`${shop.url}/readyz`)).status).toBe(200)
  })
})

describe('rate limits as shipped', () => {
  let shop: ThingsShop
  beforeAll(async () => {
    shop = await openThingsShop('sqlite', { reads: 1200, charges: 300 })
  })
  afterAll(() => shop.stop())

  const rateLimitOf = (headers: Headers) =>
    ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`ratelimit-${name}`)))

  /** Tokens of one new customer. */
  async function tokensOfOne(count: number): Promise<string[]> {
    const customer = await addCustomer(shop.services, 0n)
    const issue = async () => (await shop.services.customers.issueToken(customer, { name: 'busy' })).text
    return Promise.all(Array.from({ length: count }, issue))
  }

  test('a token may read 1,200 times per minute, then gets 429 with Retry-After: 1, and may read again after 1 s', async () => {
    const [text = ''] = await tokensOfOne(1)
    const read = () => shop.get('/balance', { token: text })
    expect(rateLimitOf((await read()).headers)).toEqual([1200, 1199, 1])
    for (let count = 2; count < 1200; count += 1) await read()
    expect(rateLimitOf((await read()).headers)).toEqual([1200, 0, 60])
    const refused = await read()
    expect([refused.status, refused.error.code, refused.error.details]).toEqual([
      429,
      'rate_limited',
      { charged: false },
    ])
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(rateLimitOf(refused.headers)).toEqual([1200, 0, 60])
    shop.clock.advance(1000)
    const again = await read()
    expect(again.status).toBe(200)
    expect(rateLimitOf(again.headers)).toEqual([1200, 19, 60])
    shop.clock.advance(60_000)
    expect(rateLimitOf((await read()).headers)).toEqual([1200, 1199, 1])
  })

  test('a token may send 300 purchases per minute, apart from its limit of reads and from other tokens', async () => {
    const [mine = '', another = ''] = await tokensOfOne(2)
    const buy = (token: string) => shop.post('/things/buy', { count: 0 }, { token })
    for (let count = 0; count < 300; count += 1) expect((await buy(mine)).status).toBe(400)
    const refused = await buy(mine)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(rateLimitOf(refused.headers)).toEqual([300, 0, 60])
    expect((await shop.get('/balance', { token: mine })).status).toBe(200)
    expect((await buy(another)).status).toBe(400)
    shop.clock.advance(200)
    expect((await buy(mine)).status).toBe(400)
    expect((await buy(mine)).status).toBe(429)
  })

  test('20 tokens of one customer share the rate limit of 5 tokens, and other customers keep theirs', async () => {
    const tokens = await tokensOfOne(20)
    const buy = (token: string) => shop.post('/things/buy', { count: 0 }, { token })
    for (let round = 0; round < 75; round += 1) for (const token of tokens) expect((await buy(token)).status).toBe(400)
    for (const token of tokens) expect((await buy(token)).status).toBe(429)
    for (let round = 0; round < 300; round += 1)
      await Promise.all(tokens.map((token) => shop.get('/balance', { token })))
    for (const token of tokens) expect((await shop.get('/balance', { token })).status).toBe(429)
    const [another = ''] = await tokensOfOne(1)
    expect([(await buy(another)).status, (await shop.get('/balance', { token: another })).status]).toEqual([400, 200])
  })

  test('a clock that is set back by 30 s neither adds nor removes requests of a rate limit', async () => {
    const [text = ''] = await tokensOfOne(1)
    const left = async () => rateLimitOf((await shop.get('/balance', { token: text })).headers)[1]
    expect(await left()).toBe(1199)
    shop.clock.advance(-30_000)
    expect(await left()).toBe(1198)
  })

  test('a shop without rate limits sends no RateLimit-Limit header', async () => {
    const unlimited = await openThingsShop('sqlite')
    expect((await unlimited.get('/balance')).headers.has('ratelimit-limit')).toBe(false)
    await unlimited.stop()
  })
})
