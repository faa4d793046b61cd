import { describe, expect, test } from 'bun:test'
import { reportBodySchema, reportParts } from './report.ts'

const max = 1000
const [received, sent] = [0, 0]
const empty = {
  boot: '01k73sf8',
  version: '1.2.3',
  proxies: [],
  subusers: [],
  peers: [],
  lease_requests: [],
  hosts: [],
  sources: [],
}

/** One line of each part of a report. */
const lines = {
  proxies: { id: 1, received, sent },
  subusers: { id: 'sub_1', pool: 'residential', received, sent },
  peers: { id: 'per_1', received, sent, handshake_at: null },
  lease_requests: { id: 'sub_1', pool: 'residential', turn: 1, want: 'lease' },
  hosts: { id: 'sub_1', pool: 'residential', host: 'example.com', received, sent },
  sources: { id: 'sub_1', address: '192.0.2.1' },
} as const

const isValid = (report: object) => reportBodySchema.safeParse({ ...empty, ...report }).success

describe('reportBodySchema', () => {
  test.each([...reportParts])(
    'a report with 1,001 lines of %s is refused, and one with 1,000 lines is accepted',
    (part) => {
      expect(isValid({ [part]: Array.from({ length: max }, () => lines[part]) })).toBe(true)
      expect(isValid({ [part]: Array.from({ length: max + 1 }, () => lines[part]) })).toBe(false)
    },
  )

  test('a count of a report is an integer from 0 to 2^52 - 1', () => {
    const maxBytes = 2 ** 52 - 1
    for (const part of ['proxies', 'subusers', 'peers', 'hosts'] as const) {
      for (const field of ['received', 'sent']) {
        const counts = (count: unknown) => isValid({ [part]: [{ ...lines[part], [field]: count }] })
        for (const count of [0, 1, maxBytes]) expect(counts(count)).toBe(true)
        for (const count of [-1, 0.5, maxBytes + 1, Number.NaN, '1', null, undefined]) {
          expect(counts(count)).toBe(false)
        }
      }
    }
  })

  test('a lease request has a number from 1, no negative moving bytes and a known kind', () => {
    const isValidWith = (change: object) => isValid({ lease_requests: [{ ...lines.lease_requests, ...change }] })
    expect(isValidWith({ turn: 1, moving: 0 })).toBe(true)
    for (const change of [{ turn: 0 }, { turn: -1 }, { turn: 1.5 }, { moving: -1 }, { want: 'more' }]) {
      expect(isValidWith(change)).toBe(false)
    }
  })

  test('a boot id has 8 to 64 lower-case letters, digits, hyphens and underscores', () => {
    for (const boot of ['a'.repeat(8), 'a'.repeat(64), '01_a-b90']) expect(isValid({ boot })).toBe(true)
    for (const boot of ['a'.repeat(7), 'a'.repeat(65), 'A'.repeat(8), 'a b c d e', '']) {
      expect(isValid({ boot })).toBe(false)
    }
  })

  test('a version has at most 50 characters, a host at most 253 and a source address at most 45', () => {
    expect(isValid({ version: 'v'.repeat(50) })).toBe(true)
    expect(isValid({ version: 'v'.repeat(51) })).toBe(false)
    expect(isValid({ hosts: [{ ...lines.hosts, host: 'h'.repeat(253) }] })).toBe(true)
    expect(isValid({ hosts: [{ ...lines.hosts, host: 'h'.repeat(254) }] })).toBe(false)
    expect(isValid({ sources: [{ ...lines.sources, address: '1'.repeat(45) }] })).toBe(true)
    expect(isValid({ sources: [{ ...lines.sources, address: '1'.repeat(46) }] })).toBe(false)
  })

  test('a report without one of its parts is refused', () => {
    expect(isValid({})).toBe(true)
    for (const part of reportParts) expect(isValid({ [part]: undefined })).toBe(false)
  })
})
