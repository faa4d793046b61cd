import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { toRefusal } from '../../src/api/answers.ts'
import { requestInProgress } from '../../src/domains/orders/errors.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

test('request_in_progress carries Retry-After', () => {
  expect(toRefusal(requestInProgress()).headers.get('Retry-After')).toBe('1')
})

describe.each([...engines])('why a token is refused, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  const ask = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { Authorization: authorization }
    const response = await fetch(`${service.url}/api/v1/balance`, { headers })
    const { error } = (await response.json()) as { error: { code: string; message: string; details: unknown } }
    return { status: response.status, ...error }
  }

  test('401 tells a missing, a malformed, an unknown and an ended token apart', async () => {
    const { customers } = service.services
    const { customer } = await service.newCustomer()
    const revoked = await customers.issueToken(customer, { name: 'revoked' })
    const expired = await customers.issueToken(customer, { name: 'expired', expiresAt: service.clock.nowMs + 1000 })
    const never = (await customers.issueToken(customer, { name: 'another' })).text
    const unknown = customers.makeSandboxToken()
    await customers.revokeToken(revoked.token.id)
    service.clock.advance(1000)
    const refused = (token: string) => ({ status: 401, code: 'invalid_token', details: { token } })
    expect(await ask()).toMatchObject(refused('missing'))
    for (const malformed of ['Bearer', 'Bearer x', 'Basic YTpi', never, `Bearer ${never.slice(0, -1)}`]) {
      expect(await ask(malformed)).toMatchObject(refused('malformed'))
    }
    expect(await ask(`Bearer ${unknown}`)).toMatchObject(refused('unknown'))
    for (const { text } of [revoked, expired]) expect(await ask(`Bearer ${text}`)).toMatchObject(refused('ended'))
    const messages = [
      await ask(),
      await ask('Bearer x'),
      await ask(`Bearer ${unknown}`),
      await ask(`Bearer ${revoked.text}`),
    ]
    expect(new Set(messages.map((each) => each.message)).size).toBe(4)
    for (const { message } of messages) expect(message).not.toContain(revoked.text)
  })

  test('a token with the scope read lists countries, places and prices', async () => {
    const { customer } = await service.newCustomer()
    const { text: token } = await service.services.customers.issueToken(customer, { name: 'looks', scopes: ['read'] })
    for (const place of ['countries', 'states', 'cities', 'zipcodes', 'asns']) {
      const listed = await service.post(`/premium/locations/${place}`, { pool_type: 'residential' }, { token })
      expect([place, listed.status]).toEqual([place, 200])
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
})
