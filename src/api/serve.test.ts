import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/harness/gateway.ts'
import { sendRaw } from '../../test/harness/raw.ts'
import { type Service, startService } from '../../test/harness/service.ts'
import { createLog } from '../adapters/log.ts'
import { readPrefix } from '../core/address.ts'
import { requestNotes, serveSocket } from './serve.ts'

const issueLocked = async (service: Service, ...sources: string[]) => {
  const { customer } = await service.newCustomer()
  const allowedFrom = sources.flatMap((text) => readPrefix(text) ?? [])
  return (await service.services.customers.issueToken(customer, { name: 'locked', allowedFrom })).text
}

/** The origin whose pages may call the API. */
const listedOrigin = 'https://app.example'

describe('client address, CORS and caching headers', () => {
  let plain: Service
  let behind: Service
  beforeAll(async () => {
    plain = await startService('sqlite')
    behind = await startService('sqlite', {
      TURNPIKE_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8',
      TURNPIKE_CORS_ORIGINS: listedOrigin,
    })
  })
  afterAll(async () => {
    await plain.stop()
    await behind.stop()
  })

  const corsOf = ({ headers }: Response) =>
    [...headers].filter(([name]) => name.startsWith('access-control-')).map(([name]) => name)
  const preflight = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'authorization' }
  const requestFrom = (service: Service, origin: string, path: string, method = 'GET') =>
    fetch(service.url + path, {
      method,
      headers: {
        Origin: origin,
        ...(method === 'OPTIONS' ? preflight : { Authorization: `Bearer ${service.token}` }),
      },
    })

  test('an origin in TURNPIKE_CORS_ORIGINS may read answers of the customer API, and its preflight passes', async () => {
    for (const [path, status] of [
      ['/api/v1/balance', 200],
      ['/api/v1/nothing', 404],
      ['/api/v1/openapi.json', 200],
    ] as const) {
      const answer = await requestFrom(behind, listedOrigin, path)
      expect([path, answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
        path,
        status,
        listedOrigin,
      ])
      expect(answer.headers.get('access-control-expose-headers')).toContain('Idempotent-Replayed')
      expect(answer.headers.get('vary')).toContain('Origin')
    }
    const preflightAnswer = await requestFrom(behind, listedOrigin, '/api/v1/dedicated/buy', 'OPTIONS')
    expect([preflightAnswer.status, await preflightAnswer.text()]).toEqual([204, ''])
    expect(preflightAnswer.headers.get('access-control-allow-origin')).toBe(listedOrigin)
    expect(preflightAnswer.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST')
    const allowed = (preflightAnswer.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(', ')
    expect(allowed).toContain('authorization')
    expect(allowed).toContain('idempotency-key')
    expect(allowed).not.toContain('x-turnpike-console')
    expect(preflightAnswer.headers.has('access-control-allow-credentials')).toBe(false)
  })

  test('another origin, another API and a shop without TURNPIKE_CORS_ORIGINS get no CORS header', async () => {
    for (const origin of [`${listedOrigin}.evil.example`, 'http://app.example', `${listedOrigin}:8443`, 'null']) {
      for (const method of ['GET', 'OPTIONS']) {
        const answer = await requestFrom(behind, origin, '/api/v1/balance', method)
        expect([origin, answer.status, corsOf(answer)]).toEqual([origin, method === 'GET' ? 200 : 405, []])
        expect(answer.headers.get('vary')).toContain('Origin')
      }
    }
    for (const path of ['/', '/operator', '/auth/v1/openapi.json', '/admin/v1/overview', '/node/v1/state', '/readyz']) {
      for (const method of ['GET', 'OPTIONS']) {
        expect([path, corsOf(await requestFrom(behind, listedOrigin, path, method))]).toEqual([path, []])
      }
    }
    const traversed = '/api/v1/%2e%2e/%2e%2e/admin/v1/overview'
    expect(corsOf(await requestFrom(behind, listedOrigin, traversed))).toEqual([])
    const plainly = await requestFrom(plain, listedOrigin, '/api/v1/balance')
    expect([plainly.status, corsOf(plainly), plainly.headers.get('vary')]).toEqual([200, [], null])
  })

  test('answers with a password and answers to a session are "no-store", and answer 304 to their ETag', async () => {
    const { signIn, operators, db } = plain.services
    const { customer, token } = await plain.newCustomer()
    const operator = await db.transact((tx) => operators.add(tx, 'looker', 'reader'))
    const visitor = { source: null, clientPrefix: '', agent: null, shown: [] }
    const { secret } = await signIn.openView(operator.id, customer, visitor)
    const byToken = { Authorization: `Bearer ${token}` }
    for (const [path, headers, caching] of [
      ['/balance', byToken, 'private, no-cache'],
      ['/balance', { Cookie: `turnpike_customer=${secret}`, 'X-Turnpike-Console': '1' }, 'no-store'],
      ...['/dedicated/list', '/dedicated/export', '/premium/password', '/vpn/info'].map(
        (each) => [each, byToken, 'no-store'] as const,
      ),
    ] as const) {
      const request = (known: string) =>
        fetch(`${plain.url}/api/v1${path}`, { headers: { ...headers, 'If-None-Match': known } })
      const first = await request('"other"')
      expect([path, first.status, first.headers.get('cache-control')]).toEqual([path, 200, caching])
      const again = await request(first.headers.get('etag') ?? '')
      expect([path, again.status, again.headers.get('cache-control')]).toEqual([path, 304, caching])
    }
  })

  test('a URL or headers of 17 to 60 KiB, and every method that Bun knows, get a refusal with the envelope', async () => {
    for (const kib of [17, 60]) {
      const long = 'a'.repeat(kib * 1024)
      for (const [status, code, path, headers] of [
        [414, 'url_too_long', `/api/v1/dedicated/prolong/quote?ids=${long}`, {}],
        [414, 'url_too_long', `/${long}`, {}],
        [431, 'headers_too_large', '/api/v1/balance', { 'X-Long': long }],
      ] as const) {
        const answer = await fetch(plain.url + path, { headers })
        expect([kib, code, answer.status, answer.headers.get('content-type')]).toEqual([
          kib,
          code,
          status,
          'application/json; charset=utf-8',
        ])
        expect(answer.headers.get('x-request-id')).toBeTruthy()
        const { error } = (await answer.json()) as { error: object }
        expect(error).toMatchObject({ code, reason: code, params: { max_kib: 16 }, details: { charged: false } })
      }
    }
    for (const method of ['PUT', 'DELETE', 'PATCH', 'PROPFIND', 'TRACE', 'QUERY']) {
      const [answer] = await sendRaw(Number(new URL(plain.url).port), [
        `${method} /api/v1/balance HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n`,
      ])
      const { error } = JSON.parse(answer?.body ?? '') as { error: object }
      expect([method, answer?.status, error]).toMatchObject([method, 405, { code: 'method_not_allowed' }])
    }
  })

  const statusFrom = async (service: Service, token: string, forwarded: string | undefined) =>
    (
      await service.get('/balance', {
        token,
        ...(forwarded !== undefined && { headers: { 'X-Forwarded-For': forwarded } }),
      })
    ).status

  test('the client address is the socket peer without trusted proxies, whatever X-Forwarded-For contains', async () => {
    const token = await issueLocked(plain, '203.0.113.7')
    for (const claim of [undefined, '203.0.113.7', '203.0.113.7, 127.0.0.1']) {
      expect(await statusFrom(plain, token, claim)).toBe(403)
    }
    expect(await statusFrom(plain, await issueLocked(plain, '127.0.0.1'), '203.0.113.7')).toBe(200)
  })

  test('the client address behind trusted proxies is the last untrusted address in X-Forwarded-For', async () => {
    const token = await issueLocked(behind, '203.0.113.7')
    for (const claim of [
      '203.0.113.7',
      '203.0.113.7, 10.1.2.3',
      '198.51.100.1, 203.0.113.7',
      '203.0.113.7 , 10.1.2.3,10.9.9.9',
      '::ffff:203.0.113.7',
    ]) {
      expect(await statusFrom(behind, token, claim)).toBe(200)
    }
  })

  test('a forged or malformed X-Forwarded-For does not satisfy the allowed addresses of a token', async () => {
    const token = await issueLocked(behind, '203.0.113.7')
    for (const claim of [
      '203.0.113.7, 198.51.100.1',
      '203.0.113.7, 198.51.100.1, 10.1.2.3',
      '203.0.113.7, nonsense',
      '203.0.113.7,',
      '',
      'unknown',
      '203.0.113.7:443',
      '203.0.113.07',
    ]) {
      expect(await statusFrom(behind, token, claim)).toBe(403)
    }
  })

  test('the shop warns once of X-Forwarded-For from an untrusted loopback peer, and not from a trusted proxy', async () => {
    const warnings = async (service: Service) =>
      ((await (await fetch(`${service.url}/readyz`)).json()) as { warnings?: string[] }).warnings ?? []
    const logged = (service: Service) => service.log.filter((line) => line.includes('not trusted')).length
    const fresh = await startService('sqlite')
    try {
      await fresh.get('/balance')
      expect([await warnings(fresh), logged(fresh)]).toEqual([[], 0])
      for (let count = 0; count < 3; count += 1) {
        await fresh.get('/balance', { headers: { 'X-Forwarded-For': '203.0.113.7' } })
      }
      expect(await warnings(fresh)).toEqual([expect.stringContaining('TURNPIKE_TRUSTED_PROXIES')])
      expect(logged(fresh)).toBe(1)
      await behind.get('/balance', { headers: { 'X-Forwarded-For': '203.0.113.7' } })
      expect([await warnings(behind), logged(behind)]).toEqual([[], 0])
    } finally {
      await fresh.stop()
    }
  })

  test('a request of a trusted proxy without X-Forwarded-For has the address of the proxy', async () => {
    expect(await statusFrom(behind, await issueLocked(behind, '127.0.0.1'), undefined)).toBe(200)
  })
})

test('a shop that does not serve TLS itself sends no Strict-Transport-Security', async () => {
  const service = await startService('sqlite')
  for (const path of ['/', '/healthz', '/api/v1/balance']) {
    expect((await fetch(service.url + path)).headers.get('strict-transport-security')).toBeNull()
  }
  await service.stop()
})

test('the shop counts and logs a sale once with its order and key, not its replays, and each refused purchase', async () => {
  const metricsPort = freePort()
  const service = await startService('sqlite', { TURNPIKE_METRICS_LISTEN: `127.0.0.1:${metricsPort}` })
  const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
  const answers = []
  for (let count = 0; count < 3; count += 1) answers.push(await service.post('/dedicated/buy', order, { key: 'one' }))
  expect(answers.map((each) => each.status)).toEqual([200, 200, 200])
  const refused = await service.post('/dedicated/buy', { ...order, count: 0 }, { key: 'two' })
  expect(refused.status).toBe(400)
  expect((await service.post('/dedicated/buy', order, { token: 'tp_live_wrong', key: 'three' })).status).toBe(401)
  expect((await service.post('/payments', { amount_rub: 100, method: 'sandbox' })).status).toBe(200)
  const { data } = await service.post('/premium/subusers', { name: 'brief' })
  expect((await service.post('/premium/subusers/delete', { subuser_id: data.subuser.subuser_id })).status).toBe(200)
  const figures = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  expect(figures.match(/^turnpike_sales_total.*$/gm)).toEqual([
    'turnpike_sales_total{operation="/api/v1/dedicated/buy"} 1',
  ])
  const lines = service.log.map((line) => JSON.parse(line)).filter(({ event }) => ['sold', 'refused'].includes(event))
  const [path, customer] = ['/api/v1/dedicated/buy', expect.stringMatching(/^cus_/)]
  const idOf = (answer: { headers: Headers } | undefined) => answer?.headers.get('x-request-id')
  const sold = { event: 'sold', path, customer, id: idOf(answers[0]), idempotency_key: 'one' }
  const not = { event: 'refused', path, customer, id: idOf(refused), idempotency_key: 'two' }
  expect(lines).toEqual([
    expect.objectContaining({ ...sold, order: answers[0]?.data.order_id }),
    expect.objectContaining({ ...not, reason: 'invalid_request' }),
  ])
  await service.stop()
})

test('the shop logs each fault and each sale, and refusals with 503 once per 10 s with their number', () => {
  const lines: string[] = []
  let nowMs = 5
  const note = requestNotes(
    createLog('debug', 'shop', (line) => void lines.push(line)),
    () => nowMs,
  )
  const plain = { id: 'x', method: 'POST', path: '/p', code: undefined, tookMs: 1, customer: undefined }
  const logged = (status: number, more: Partial<Parameters<typeof note>[0]> = {}): string[] => {
    lines.length = 0
    note({ ...plain, status, isSale: false, fault: undefined, ...more })
    return lines
      .map((line) => JSON.parse(line))
      .map(({ level, event, times }) => [level, event, times].join(' ').trim())
  }
  expect(logged(200)).toEqual(['debug request'])
  expect(logged(200, { isSale: true })).toEqual(['info sold'])
  expect(logged(500, { fault: new Error('ours') })).toEqual(['error fault'])
  expect(logged(503, { fault: new Error('full') })).toEqual(['error unavailable'])
  expect(logged(503)).toEqual(['warn turned away 1'])
  for (let count = 0; count < 3; count += 1) expect(logged(503)).toEqual([])
  nowMs += 9999
  expect(logged(503)).toEqual([])
  nowMs += 1
  expect(logged(503)).toEqual(['warn turned away 5'])
  nowMs += 10_000
  expect(logged(503)).toEqual(['warn turned away 1'])
  expect(logged(429)).toEqual(['debug request'])
  for (const status of [402, 409, 503]) expect(logged(status, { isPurchase: true })).toEqual(['info refused'])
  expect(logged(429, { isPurchase: true, reason: 'rate_limited' })).toEqual(['debug request'])
})

test('an internal error shows the client no cause, and the log has the cause under the same request id', async () => {
  const service = await startService('sqlite')
  await service.services.db.transact((tx) => tx.run('ALTER TABLE accounts RENAME TO accounts_gone'))
  const answer = await service.get('/balance')
  expect([answer.status, answer.error.code, answer.error.details]).toEqual([500, 'internal_error', null])
  expect(answer.text).not.toMatch(/accounts|sqlite|\.ts|stack/i)
  const line = service.log.find((each) => each.includes(answer.headers.get('x-request-id') ?? 'none'))
  expect(line).toContain('no such table')
  await service.stop()
})

test("a request with X-Forwarded-For over the shop's socket is a visitor's, also for a path of nodes", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-socket-'))
  const unix = join(folder, 'shop.sock')
  const server = serveSocket(unix, {
    toNodes: async () => new Response('node'),
    toCustomers: async (_, from) => new Response(`visitor ${from?.bytes.join('.')}`),
  })
  const ask = async (headers: Record<string, string>): Promise<string> =>
    (await fetch('http://localhost/node/v1/state', { unix, headers })).text()
  expect(await ask({})).toBe('node')
  expect(await ask({ 'X-Forwarded-For': '203.0.113.7' })).toBe('visitor 203.0.113.7')
  expect(await ask({ 'X-Forwarded-For': 'nonsense' })).toBe('visitor undefined')
  await server.stop(0)
  rmSync(folder, { recursive: true })
})
