import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from '../../src/adapters/crypto.ts'
import { makeText, tokenRandomBytes } from '../../src/core/token-text.ts'
import { makeTokenText } from '../../src/domains/customers/rules.ts'
import { makeSessionText } from '../../src/domains/signin/rules.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

/** Random secrets with a valid checksum. */
const madeUp = {
  'a token': () => ({ Authorization: `Bearer ${makeTokenText('sandbox', randomBytes(tokenRandomBytes))}` }),
  "an operator's token": () => ({ Authorization: `Bearer ${makeText('tpo_', randomBytes(tokenRandomBytes))}` }),
  'a session': () => ({
    Cookie: `turnpike_customer=${makeSessionText(randomBytes(tokenRandomBytes))}`,
    'X-Turnpike-Console': '1',
  }),
}
const paths: Readonly<Record<keyof typeof madeUp, string>> = {
  'a token': '/api/v1/balance',
  "an operator's token": '/admin/v1/overview',
  'a session': '/auth/v1/customer/session',
}

describe.each([...enginesOf('sqlite')])('made-up secrets, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' })
  })
  afterAll(() => service.stop())

  const ask = async (path: string, from: string, headers: Record<string, string>): Promise<Response> => {
    const response = await fetch(service.url + path, { headers: { ...headers, 'X-Forwarded-For': from } })
    await response.body?.cancel()
    return response
  }
  const enter = (token: string, from: string) => ask('/api/v1/balance', from, { Authorization: `Bearer ${token}` })

  test.each(Object.keys(madeUp) as (keyof typeof madeUp)[])(
    'the shop answers 400 made-up secrets (%s) of one address with 300 times 401, then 429, then 5 per second',
    async (kind) => {
      const from = `198.51.100.${Object.keys(madeUp).indexOf(kind)}`
      const guess = () => ask(paths[kind], from, madeUp[kind]())
      const answers = await Promise.all(Array.from({ length: 400 }, guess))
      const statuses = answers.map((each) => each.status)
      expect(statuses.filter((each) => each === 401)).toHaveLength(300)
      expect(statuses.filter((each) => each === 429)).toHaveLength(100)
      const refused = answers.find((each) => each.status === 429)
      expect(refused?.headers.get('retry-after')).toBe('1')
      service.clock.advance(1000)
      const later = await Promise.all(Array.from({ length: 10 }, guess))
      expect(later.filter((each) => each.status === 401)).toHaveLength(5)
    },
  )

  test('the auth throttle of a flooding /64 refuses no known customer in it and no customer elsewhere', async () => {
    const from = '2001:db8:1:2::7'
    const known = await service.newCustomer()
    const fresh = await service.newCustomer()
    expect((await enter(known.token, from)).status).toBe(200)
    for (let count = 0; count < 400; count += 1) await ask(paths['a token'], from, madeUp['a token']())
    expect((await ask(paths['a token'], '2001:db8:1:2::8', madeUp['a token']())).status).toBe(429)
    for (let count = 0; count < 50; count += 1) expect((await enter(known.token, from)).status).toBe(200)
    expect((await enter(fresh.token, '2001:db8:1:3::7')).status).toBe(200)
    expect((await enter(fresh.token, from)).status).toBe(200)
    expect((await ask('/api/v1/balance', from, {})).status).toBe(401)
    expect((await ask('/auth/v1/customer/offers', from, madeUp['a session']())).status).toBe(200)
  })

  test('the auth throttle of a flooding address refuses no new session or its token, and no token used 23 h ago', async () => {
    const from = '198.51.100.78'
    const { db, signIn } = service.services
    const [{ customer }, before] = [await service.newCustomer(), await service.newCustomer()]
    expect((await enter(before.token, from)).status).toBe(200)
    service.clock.advance(23 * 3_600_000)
    for (let count = 0; count < 310; count += 1) await ask(paths['a token'], from, madeUp['a token']())
    expect((await enter((await service.newCustomer()).token, from)).status).toBe(429)
    expect((await enter(before.token, from)).status).toBe(200)
    const link = await db.transact(async (tx) =>
      signIn.issueLink(tx, { kind: 'customer', owner: customer, purpose: 'enter' }),
    )
    const send = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(service.url + path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': from, 'X-Turnpike-Console': '1', ...headers },
      })
    const entered = await send('/auth/v1/customer/sign-in/link', { link: link.text })
    const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';')
    // Cookies as a browser sends them, with others of this host.
    const Cookie = `lang=ru; ${cookie}; turnpike_operator=tps_gone`
    expect((await ask('/api/v1/balance', from, { Cookie, 'X-Turnpike-Console': '1' })).status).toBe(200)
    const made = await send('/api/v1/tokens/create', { name: 'mine', scopes: ['read'] }, { Cookie })
    const { data } = (await made.json()) as { data: { token: string } }
    expect((await enter(data.token, from)).status).toBe(200)
    // An ended session is refused, after at most one more lookup.
    await signIn.endOthers({ kind: 'customer', id: customer }, null)
    const later = [1, 2, 3].map(() => ask('/api/v1/balance', from, { Cookie, 'X-Turnpike-Console': '1' }))
    expect((await Promise.all(later)).map((each) => each.status)).toContain(401)
    expect((await ask('/api/v1/balance', from, { Cookie, 'X-Turnpike-Console': '1' })).status).toBe(429)
  })

  test('the auth throttle of made-up customer cookies does not refuse the operator session in the other cookie', async () => {
    const from = '198.51.100.79'
    const { db, operators, signIn } = service.services
    const visitor = { source: from, clientPrefix: 'h', agent: null, shown: [] }
    const operator = await db.transact((tx) => operators.add(tx, 'olga-of-cookies', 'owner'))
    const opened = await db.transact((tx) => signIn.open(tx, { kind: 'operator', id: operator.id }, visitor))
    const show = (path: string, customers: string) =>
      ask(path, from, {
        Cookie: `turnpike_customer=${customers}; turnpike_operator=${opened.secret}`,
        'X-Turnpike-Console': '1',
      })
    const any = () => makeSessionText(randomBytes(tokenRandomBytes))
    const guess = () => show('/api/v1/balance', any())
    const statuses: number[] = []
    for (let count = 0; count < 310; count += 1) {
      if (count % 100 === 0) statuses.push((await show('/admin/v1/overview', any())).status)
      await guess()
    }
    expect(statuses).toEqual([200, 200, 200, 200])
    expect((await guess()).status).toBe(429)
    expect((await show('/admin/v1/overview', any())).status).toBe(200)
    expect((await show('/admin/v1/overview', 'tps_gone')).status).toBe(200)
    // A valid operator cookie does not excuse the customer cookie beside it.
    expect((await show('/api/v1/balance', 'tps_gone')).status).toBe(429)
  })

  test('the shop throttles a revoked token like an unknown one, after 300 refusals', async () => {
    const from = '198.51.100.77'
    const { customers } = service.services
    const { token, customer } = await service.newCustomer()
    expect((await enter(token, from)).status).toBe(200)
    for (const each of await customers.listTokens(customer)) await customers.revokeToken(each.id)
    const statuses: number[] = []
    for (let count = 0; count < 310; count += 1) statuses.push((await enter(token, from)).status)
    expect(statuses.filter((each) => each === 401)).toHaveLength(301)
    expect(statuses.at(-1)).toBe(429)
  })
})
