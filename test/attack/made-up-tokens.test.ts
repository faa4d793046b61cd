import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from '../../src/adapters/random.ts'
import { makeTokenText } from '../../src/domains/customers/rules.ts'
import { makeSessionText } from '../../src/domains/signin/rules.ts'
import { makeText, tokenRandomBytes } from '../../src/kernel/token-text.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

/** What opens nothing, though each has a checksum that is right. */
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

describe.each([...enginesOf(import.meta.path)])('whoever makes up what lets others in, on %s', (engine) => {
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

  test.each(Object.keys(madeUp) as (keyof typeof madeUp)[])('of %s, is turned away after 300', async (kind) => {
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
  })

  test('hurts nobody behind the same address who was there before, and nobody elsewhere', async () => {
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

  test('who shows one that was revoked is a stranger again', async () => {
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
