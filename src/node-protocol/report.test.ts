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

const isTaken = (report: object) => reportBodySchema.safeParse({ ...empty, ...report }).success

describe('a report of a node', () => {
  test.each([...reportParts])('holds at most a thousand lines of %s', (part) => {
    expect(isTaken({ [part]: Array.from({ length: max }, () => lines[part]) })).toBe(true)
    expect(isTaken({ [part]: Array.from({ length: max + 1 }, () => lines[part]) })).toBe(false)
  })

  test('counts whole bytes, of which both directions together are an exact number', () => {
    const maxBytes = 2 ** 52 - 1
    for (const part of ['proxies', 'subusers', 'peers', 'hosts'] as const) {
      for (const field of ['received', 'sent']) {
        const counts = (count: unknown) => isTaken({ [part]: [{ ...lines[part], [field]: count }] })
        for (const count of [0, 1, maxBytes]) expect(counts(count)).toBe(true)
        for (const count of [-1, 0.5, maxBytes + 1, Number.NaN, '1', null, undefined]) {
          expect(counts(count)).toBe(false)
        }
      }
    }
  })

  test('numbers its lease requests from one on, and says how much is on its way', () => {
    const isTakenWith = (change: object) => isTaken({ lease_requests: [{ ...lines.lease_requests, ...change }] })
    expect(isTakenWith({ turn: 1, moving: 0 })).toBe(true)
    for (const change of [{ turn: 0 }, { turn: -1 }, { turn: 1.5 }, { moving: -1 }, { want: 'more' }]) {
      expect(isTakenWith(change)).toBe(false)
    }
  })

  test('names its boot in 8 to 64 characters that sort', () => {
    for (const boot of ['a'.repeat(8), 'a'.repeat(64), '01_a-b90']) expect(isTaken({ boot })).toBe(true)
    for (const boot of ['a'.repeat(7), 'a'.repeat(65), 'A'.repeat(8), 'a b c d e', '']) {
      expect(isTaken({ boot })).toBe(false)
    }
  })

  test('bounds every text that a node may choose', () => {
    expect(isTaken({ version: 'v'.repeat(50) })).toBe(true)
    expect(isTaken({ version: 'v'.repeat(51) })).toBe(false)
    expect(isTaken({ hosts: [{ ...lines.hosts, host: 'h'.repeat(253) }] })).toBe(true)
    expect(isTaken({ hosts: [{ ...lines.hosts, host: 'h'.repeat(254) }] })).toBe(false)
    expect(isTaken({ sources: [{ ...lines.sources, address: '1'.repeat(45) }] })).toBe(true)
    expect(isTaken({ sources: [{ ...lines.sources, address: '1'.repeat(46) }] })).toBe(false)
  })

  test('a report has every part, also if empty', () => {
    expect(isTaken({})).toBe(true)
    for (const part of reportParts) expect(isTaken({ [part]: undefined })).toBe(false)
  })
})
