import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../../../test/harness/scale.ts'
import * as shapes from './shapes.ts'
import { bodyIds, country, orderFields, queryIds, type ShownProxy, toProxy } from './shapes.ts'

const runs = { numRuns: scaled(1000) }
const ids = fc.uniqueArray(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), { minLength: 1, maxLength: 50 })

describe('proxy ids in a request', () => {
  test('queryIds reads the same ids from commas and from repeated parameters', () => {
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 10 }), (numbers, every) => {
        const parts: string[] = []
        for (let at = 0; at < numbers.length; at += every) parts.push(numbers.slice(at, at + every).join(','))
        expect(queryIds().parse(parts)).toEqual(numbers)
        expect(queryIds().parse(numbers.join(','))).toEqual(numbers)
      }),
      runs,
    )
  })

  test('queryIds accepts only plain digits and commas', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), (text) => {
        const outcome = queryIds().safeParse(text)
        if (outcome.success) expect(text).toMatch(/^\d+(,\d+)*$/)
      }),
      runs,
    )
  })

  test('queryIds and bodyIds accept up to 1000 ids, and bodyIds refuses a duplicate', () => {
    const many = Array.from({ length: 1001 }, (_, index) => index + 1)
    expect(queryIds().safeParse(many.slice(1).join(',')).success).toBeTrue()
    expect(queryIds().safeParse(many.join(',')).success).toBeFalse()
    expect(bodyIds().safeParse(many.slice(1)).success).toBeTrue()
    expect(bodyIds().safeParse(many).success).toBeFalse()
    expect(bodyIds().safeParse([1, 2, 1]).success).toBeFalse()
  })
})

test('country() accepts an assigned code of two letters in any case, and refuses other values', () => {
  for (const text of ['DE', 'de', 'dE']) expect(String(country().parse(text))).toBe('DE')
  for (const text of ['', 'D', 'DEU', 'ZZ', 'UK', ' DE', 'DE ', 'ДЕ', 'ß', '12', 4, null, undefined, ['DE']]) {
    expect(country().safeParse(text).success).toBeFalse()
  }
})

const shown = {
  id: 7,
  address: '203.0.113.7',
  portType: 'socks' as const,
  username: 'u',
  password: 'p',
  country: 'DE',
  ipv: 4 as const,
  expiresAt: Date.UTC(2026, 1, 3, 4, 5, 6, 789),
  status: 'active' as const,
  interruptedAt: null,
  comment: '',
  metadata: {},
  renewPeriod: null,
  endpoint: null,
  https: null,
  isEntered: false,
  sources: [],
  entryPort: null,
  traffic: { received: 0n, sent: 0n },
}

test('toProxy gives an IPv4 proxy its own address as ip, and an IPv6 proxy the host of the gateway', () => {
  const gateway = { host: 'gate.example', port: 10_800 }
  expect(toProxy(shown, gateway)).toMatchObject({ ip: '203.0.113.7', exit_ip: '203.0.113.7', port: 10_800 })
  const six = toProxy({ ...shown, ipv: 6, address: '2001:db8::7' }, gateway)
  expect(six).toMatchObject({ ip: 'gate.example', exit_ip: '2001:db8::7' })
})

test('toProxy gives the host names and the port of TLS to a proxy that speaks HTTP, and null to one of SOCKS5 only', () => {
  const https = { host: 'gate.example', port: 443, browserHost: 'browser.gate.example' }
  const fieldsOf = (of: Partial<ShownProxy>) => {
    const { https_host, https_port, browser_host } = toProxy({ ...shown, ...of }, { host: 'x', port: 1 })
    return { https_host, https_port, browser_host }
  }
  const named = { https_host: 'gate.example', https_port: 443, browser_host: 'browser.gate.example' }
  const none = { https_host: null, https_port: null, browser_host: null }
  expect(fieldsOf({ https, portType: 'both' })).toEqual(named)
  expect(fieldsOf({ https: { ...https, browserHost: null }, portType: 'both' })).toEqual({
    ...named,
    browser_host: null,
  })
  expect(fieldsOf({ https, portType: 'socks' })).toEqual(none)
  expect(fieldsOf({ https: null })).toEqual(none)
})

test('toProxy gives the end of a term as date_end, to the second, and as expires_at', () => {
  const answer = toProxy(shown, { host: 'x', port: 1 })
  expect(answer).toMatchObject({ date_end: '2026-02-03 04:05:06', expires_at: '2026-02-03T04:05:06.789Z' })
})

test('the example answer of each of the 19 dedicated operations matches its schema', () => {
  const described = Object.values(shapes).filter((each) => typeof each === 'object' && 'answer' in each)
  expect(described.length).toBe(19)
  for (const each of described) expect(each.answer.safeParse(each.example).success).toBeTrue()
})

test('orderFields.ipv accepts the numbers 3, 4 and 6, and refuses other values and digits in a string', () => {
  const ipv = orderFields.ipv
  for (const kind of [3, 4, 6] as const) {
    expect(ipv.parse(kind)).toBe(kind)
  }
  for (const other of [5, '3', '4', '6', '5', '04', ' 4', '4.0', '', null, undefined, true, [4]]) {
    expect(ipv.safeParse(other).success).toBe(false)
  }
})
