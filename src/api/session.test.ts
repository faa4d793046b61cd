import { expect, test } from 'bun:test'
import { failureOf } from '../../test/harness/failure.ts'
import { readSessionText, toCookie } from './session.ts'

const of = { secret: 'tps_x', forMs: 60_999 }

test('toCookie adds Secure and the prefix __Host- behind TLS, and neither without TLS', () => {
  expect(toCookie('operator', of.secret, of.forMs, 'https://shop.example')).toBe(
    '__Host-turnpike_operator=tps_x; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure',
  )
  expect(toCookie('customer', of.secret, of.forMs, 'http://shop.example')).toBe(
    'turnpike_customer=tps_x; Path=/; HttpOnly; SameSite=Strict; Max-Age=60',
  )
  expect(toCookie('customer', '', 0, 'http://shop.example')).toContain('Max-Age=0')
})

const readSession = (
  headers: Record<string, string>,
  publicUrl = 'https://shop.example',
  kind: 'customer' | 'operator' = 'customer',
) => readSessionText(new Request('http://127.0.0.1:8080/api/v1/balance', { headers }), kind, publicUrl)
const refused = async (headers: Record<string, string>): Promise<boolean> =>
  (await failureOf(Promise.resolve().then(() => readSession(headers)))).name === 'Refusal'

test('readSessionText reads the cookie of its kind, only with X-Turnpike-Console and from the same origin', async () => {
  const cookie = { Cookie: 'a=b; __Host-turnpike_customer=tps_x; turnpike_operator=tps_y' }
  const sent = { ...cookie, 'X-Turnpike-Console': '1' }
  expect(readSession(sent)).toBe('tps_x')
  expect(readSession({ ...sent, Origin: 'https://shop.example', 'Sec-Fetch-Site': 'same-origin' })).toBe('tps_x')
  expect(readSession({ ...sent, Origin: 'http://127.0.0.1:8080' })).toBe('tps_x')
  expect(readSession({ ...sent, Origin: 'null', 'Sec-Fetch-Site': 'same-origin' })).toBe('tps_x')
  expect(readSession(sent, 'http://127.0.0.1:8080')).toBeUndefined()
  expect(readSession(sent, 'http://127.0.0.1:8080', 'operator')).toBe('tps_y')
  expect(readSession({})).toBeUndefined()
  expect(readSession({ ...sent, Cookie: `${'a=b; '.repeat(3000)}${cookie.Cookie}` })).toBeUndefined()
  for (const headers of [
    cookie,
    { ...sent, Origin: 'https://evil.example' },
    { ...sent, Origin: 'https://shop.example.evil.example' },
    { ...sent, Origin: 'null' },
    { ...sent, 'Sec-Fetch-Site': 'cross-site' },
    { ...sent, 'Sec-Fetch-Site': 'same-site' },
  ]) {
    expect([headers, await refused(headers)]).toEqual([headers, true])
  }
})
