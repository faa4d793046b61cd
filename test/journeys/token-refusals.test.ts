import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { toRefusal } from '../../src/api/answers.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Scope } from '../../src/domains/customers/rules.ts'
import { makeOperatorToken } from '../../src/domains/operators/rules.ts'
import { requestInProgress } from '../../src/domains/orders/errors.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

test('a refusal request_in_progress has the header Retry-After: 1', () => {
  expect(toRefusal(requestInProgress(), new Headers()).headers.get('Retry-After')).toBe('1')
})

test('Retry-After of a refusal for an outage is as long as its cause lasts', () => {
  const secondsOf = (refusal: Refusal) => toRefusal(refusal, new Headers()).headers.get('Retry-After')
  expect(secondsOf(new Refusal('database_busy'))).toBe('1')
  expect(secondsOf(new Refusal('no_gateway_up'))).toBe('10')
  expect(secondsOf(new Refusal('no_vpn_node_up'))).toBe('20')
  expect(secondsOf(new Refusal('no_prices'))).toBe('300')
  expect(secondsOf(new Refusal('internal_error'))).toBeNull()
})

describe.each([...engines])('tokens, scopes and secrets on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  const readBalance = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { Authorization: authorization }
    const response = await fetch(`${service.url}/api/v1/balance`, { headers })
    const { error } = (await response.json()) as { error: { code: string; message: string; details: unknown } }
    return { status: response.status, ...error }
  }

  test('GET /balance answers 401 that names a token missing, malformed, unknown or ended', async () => {
    const { customers } = service.services
    const { customer } = await service.newCustomer()
    const revoked = await customers.issueToken(customer, { name: 'revoked' })
    const expired = await customers.issueToken(customer, { name: 'expired', expiresAt: service.clock.nowMs + 1000 })
    const never = (await customers.issueToken(customer, { name: 'another' })).text
    const unknown = customers.makeSandboxToken()
    await customers.revokeToken(revoked.token.id)
    service.clock.advance(1000)
    const refused = (token: string) => ({ status: 401, code: 'invalid_token', details: { token } })
    expect(await readBalance()).toMatchObject(refused('missing'))
    for (const malformed of ['Bearer', 'Bearer x', 'Basic YTpi', never, `Bearer ${never.slice(0, -1)}`]) {
      expect(await readBalance(malformed)).toMatchObject(refused('malformed'))
    }
    expect(await readBalance(`Bearer ${unknown}`)).toMatchObject(refused('unknown'))
    for (const { text } of [revoked, expired])
      expect(await readBalance(`Bearer ${text}`)).toMatchObject(refused('ended'))
    const messages = [
      await readBalance(),
      await readBalance('Bearer x'),
      await readBalance(`Bearer ${unknown}`),
      await readBalance(`Bearer ${revoked.text}`),
    ]
    expect(new Set(messages.map((each) => each.message)).size).toBe(4)
    for (const { message } of messages) expect(message).not.toContain(revoked.text)
  })

  test('the admin API answers 401 that names an operator token missing, malformed, unknown or ended', async () => {
    const { operators, db } = service.services
    const names = ['stays', 'removed'].map((each) => `${each}-${engine}`) as [string, string]
    await db.transact(async (tx) => {
      for (const name of names) await operators.add(tx, name, 'reader')
    })
    const issue = (name: string, expiresAt: number | null = null) => operators.issueToken(name, { name, expiresAt })
    const [open, revoked] = [await issue(names[0]), await issue(names[0])]
    const [expired, removed] = [await issue(names[0], service.clock.nowMs + 1000), await issue(names[1])]
    await db.transact((tx) => operators.revokeToken(tx, revoked.token.id))
    await db.transact((tx) => operators.remove(tx, names[1]))
    operators.forget()
    service.clock.advance(1000)
    const reasonOf = async (authorization?: string) => {
      const headers = authorization === undefined ? {} : { Authorization: authorization }
      const response = await fetch(`${service.url}/admin/v1/customers`, { headers })
      const { error } = (await response.json()) as { error?: { message: string; details: { token: string } } }
      return [response.status, error?.details.token]
    }
    expect(await reasonOf(`Bearer ${open.text}`)).toEqual([200, undefined])
    expect(await reasonOf()).toEqual([401, 'missing'])
    for (const malformed of ['Bearer', open.text, `Bearer ${open.text.slice(0, -1)}`, `Bearer ${service.token}`]) {
      expect(await reasonOf(malformed)).toEqual([401, 'malformed'])
    }
    expect(await reasonOf(`Bearer ${makeOperatorToken(new Uint8Array(32))}`)).toEqual([401, 'unknown'])
    for (const { text } of [revoked, expired, removed]) expect(await reasonOf(`Bearer ${text}`)).toEqual([401, 'ended'])
  })

  test('a token with the scope read lists countries, locations and prices', async () => {
    const { customer } = await service.newCustomer()
    const { text: token } = await service.services.customers.issueToken(customer, { name: 'looks', scopes: ['read'] })
    for (const locationKind of ['countries', 'states', 'cities', 'zipcodes', 'asns']) {
      const listed = await service.post(`/premium/locations/${locationKind}`, { pool_type: 'residential' }, { token })
      expect([locationKind, listed.status]).toEqual([locationKind, 200])
    }
    for (const path of [
      '/dedicated/country?ipv=4',
      '/dedicated/count?country_code=DE&ipv=4',
      '/dedicated/quote?country_code=DE&period=30&count=1&ipv=4',
      '/premium/traffic/quote?pool_type=residential&gb=1',
      '/vpn/quote',
      '/vpn/locations',
      '/payments/methods',
    ]) {
      expect([path, (await service.get(path, { token })).status]).toEqual([path, 200])
    }
    expect((await service.post('/premium/password/reset', {}, { token })).status).toBe(403)
  })

  /** A customer who bought a proxy and a VPN subscription with the scope trade, and the secrets of both. */
  async function buyEverything() {
    const { customer } = await service.newCustomer(10_000n)
    const issue = async (...scopes: Scope[]) =>
      (await service.services.customers.issueToken(customer, { name: 'test', scopes })).text
    const token = await issue('trade')
    const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
    const [proxy] = (await service.post('/dedicated/buy', order, { token })).data.proxies
    const vpn = (await service.post('/vpn/buy', { period: 1 }, { token })).data
    const { data: reset } = await service.post('/premium/password/reset', {}, { token })
    const key = /PrivateKey = (\S{44})/.exec(vpn.config)?.[1]
    const secrets: string[] = [proxy.password, reset.password, vpn.subscription_url, key]
    expect(secrets.map((each) => typeof each)).toEqual(['string', 'string', 'string', 'string'])
    return { customer, issue, secrets, proxy }
  }

  const reads = [
    '/dedicated/list',
    '/dedicated/export?format=json',
    '/dedicated/export?format=csv',
    '/dedicated/export',
    '/premium/password',
    '/premium/subusers',
    '/vpn/info',
    '/vpn/config',
    '/orders',
    '/events',
    '/transactions',
  ]
  /** The answers of all reads as one text, and the paths that were refused. */
  async function readAll(headers: Record<string, string>) {
    const answers = await Promise.all(reads.map((path) => fetch(`${service.url}/api/v1${path}`, { headers })))
    const texts = await Promise.all(answers.map((each) => each.text()))
    return { text: texts.join('\n'), refused: reads.filter((_, at) => answers[at]?.status === 403) }
  }
  const refusedWithout = ['/dedicated/export', '/premium/password', '/vpn/config']

  test('the scope read shows no password, key or secret link; the scope passwords adds them', async () => {
    const { issue, secrets, proxy } = await buyEverything()
    const hidden = await readAll({ Authorization: `Bearer ${await issue('read')}` })
    expect(hidden.refused).toEqual(refusedWithout)
    for (const secret of secrets) expect(hidden.text).not.toContain(secret)
    expect(hidden.text).toContain(proxy.username)
    const shown = await readAll({ Authorization: `Bearer ${await issue('read', 'passwords')}` })
    expect(shown.refused).toEqual([])
    for (const secret of secrets) expect(shown.text).toContain(secret)
    const alone = await readAll({ Authorization: `Bearer ${await issue('passwords')}` })
    expect(alone.refused).toEqual(reads)
  })

  test('the scope trade shows the passwords that its request creates, and no earlier ones', async () => {
    const { issue, secrets, proxy } = await buyEverything()
    const [trade, whole] = [await issue('trade'), await issue('trade', 'passwords')]
    const change = (path: string, body: object, token: string) => service.post(path, body, { token })
    const source = { ids: [proxy.id], ip: '198.51.100.4' }
    const list = { pool_type: 'residential', quantity: 1 }
    for (const [path, body] of [
      ['/dedicated/whitelist/add', source],
      ['/dedicated/whitelist/remove', source],
      ['/vpn/auto-renew', { enabled: false }],
      ['/vpn/name', { name: 'Office' }],
      ['/premium/proxies/generate', { ...list, format: '{login}@{host}:{port}' }],
    ] as const) {
      const { status, text } = await change(path, body, trade)
      expect([path, status]).toEqual([path, 200])
      for (const secret of secrets) expect(text).not.toContain(secret)
    }
    const refused = await change('/premium/proxies/generate', list, trade)
    expect([refused.status, refused.error.details]).toEqual([403, { needed: 'passwords', charged: false }])
    expect((await change('/premium/proxies/generate', list, whole)).text).toContain(secrets[1] ?? '')
    expect((await change('/dedicated/whitelist/add', source, whole)).data.proxies[0].password).toBe(proxy.password)
    const reset = await change('/dedicated/password/reset', { ids: [proxy.id] }, trade)
    expect(reset.data.proxies[0].password).toMatch(/^[0-9a-z]{27}$/)
  })

  test('a key buys or creates once, and replays passwords to its token and to the scope passwords; others get 403', async () => {
    const { issue, proxy } = await buyEverything()
    const [buyer, other, whole] = [await issue('trade'), await issue('trade'), await issue('trade', 'passwords')]
    const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
    for (const [path, body, first] of [
      ['/dedicated/buy', order, buyer],
      ['/vpn/buy', { period: 1 }, buyer],
      ['/dedicated/replace', { id: proxy.id }, whole],
    ] as const) {
      const repeat = (token: string) => service.post(path, body, { token, key: `secret ${path}`.replace(' ', '-') })
      const bought = await repeat(first)
      expect([path, bought.status]).toEqual([path, 200])
      const refused = await repeat(other)
      expect([refused.status, refused.error.reason]).toEqual([403, 'passwords_scope_missing'])
      const { order_id } = bought.data
      const isCharged = order_id !== undefined
      expect(refused.error).toMatchObject(path === '/dedicated/replace' ? {} : { charged: true })
      expect(refused.error.details).toEqual({ needed: 'passwords', charged: isCharged, ...(isCharged && { order_id }) })
      for (const token of [first, whole]) expect((await repeat(token)).text).toBe(bought.text)
    }
    const { uuid } = (await service.get('/vpn/info', { token: await issue('read') })).data
    for (const [path, body, list] of [
      ['/vpn/devices', { name: 'phone', uuid }, `/vpn/info?uuid=${uuid}`],
      ['/premium/subusers', { name: 'Anna' }, '/premium/subusers'],
    ] as const) {
      const create = (token: string) => service.post(path, body, { token, key: `new-${body.name}` })
      const made = await create(buyer)
      expect([path, made.status]).toEqual([path, 200])
      const again = await create(buyer)
      expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([made.text, 'true'])
      expect((await create(whole)).text).toBe(made.text)
      expect((await create(other)).error.reason).toBe('passwords_scope_missing')
      const otherBody = await service.post(path, { ...body, name: 'x' }, { token: buyer, key: `new-${body.name}` })
      expect(otherBody.error.code).toBe('idempotency_key_reused')
      const { devices, subusers } = (await service.get(list, { token: await issue('read') })).data
      const named = (devices ?? subusers).filter((each: { name: string }) => each.name === body.name)
      expect([path, named.length]).toEqual([path, 1])
    }
    const prolong = (token: string) =>
      service.post('/dedicated/prolong', { ids: [proxy.id], period: 7 }, { token, key: 'no-secret' })
    const prolonged = await prolong(buyer)
    expect((await prolong(other)).text).toBe(prolonged.text)
  })

  test('an operator’s view of a customer’s pages and an export of the customer contain no password', async () => {
    const { customer, secrets, proxy } = await buyEverything()
    const { signIn, operators, exporting, db } = service.services
    const operator = await db.transact((tx) => operators.add(tx, `looker-${engine}`, 'owner'))
    const visitor = { source: null, clientPrefix: '', agent: null, shown: [] }
    const { secret: session } = await signIn.openView(operator.id, customer, visitor)
    const viewed = await readAll({ Cookie: `turnpike_customer=${session}`, 'X-Turnpike-Console': '1' })
    expect(viewed.refused).toEqual(refusedWithout)
    expect(viewed.text).toContain(proxy.username)
    const exported = JSON.stringify(await exporting.page(customer, 'operator', undefined, 500))
    expect(exported).toContain(proxy.username)
    for (const secret of secrets) expect(viewed.text + exported).not.toContain(secret)
  })
})
