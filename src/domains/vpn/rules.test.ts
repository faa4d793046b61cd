import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { readPrefix } from '../../core/address.ts'
import { bytes } from '../../core/bytes.ts'
import { kopecks } from '../../core/money.ts'
import { toIso } from '../../core/time.ts'
import type { Node } from '../fleet/rules.ts'
import {
  byImportance,
  ipv4Text,
  ipv6Of,
  isDeviceName,
  limitOfTerms,
  makeUuid,
  nodeOf,
  rangeOf,
  readUuid,
  refundOf,
  type SubscriptionId,
  spanAfter,
  trafficLimitAfter,
} from './rules.ts'

const dayMs = 86_400_000
/** A century, from 2000 with its leap day to 2100 without one. */
const moment = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2100, 11, 31) })
const term = fc.constantFrom(1, 3, 6, 12)

/** Reference implementation: month by month, and the last day if the month is too short. */
function referenceEnd(fromMs: number, months: number, day: number): number {
  const from = new Date(fromMs)
  let [year, month] = [from.getUTCFullYear(), from.getUTCMonth()]
  for (let step = 0; step < months; step += 1) {
    month += 1
    if (month === 12) [year, month] = [year + 1, 0]
  }
  for (let tried = day; ; tried -= 1) {
    const at = new Date(Date.UTC(year, month, tried))
    if (at.getUTCMonth() === month) return at.getTime() + (((fromMs % dayMs) + dayMs) % dayMs)
  }
}

describe('spanAfter', () => {
  test('spanAfter ends a month from 31 January on 28 February, and the next month on 31 March', () => {
    let span = spanAfter(undefined, 1, Date.parse('2027-01-31T08:00:00Z'))
    expect(toIso(span.endsAt)).toBe('2027-02-28T08:00:00.000Z')
    span = spanAfter({ expiresAt: span.endsAt, anchorDay: span.anchorDay }, 1, span.startsAt)
    expect(toIso(span.endsAt)).toBe('2027-03-31T08:00:00.000Z')
  })

  test('spanAfter ends every chain of up to 12 renewals where the reference calendar does', () => {
    fc.assert(
      fc.property(moment, fc.array(term, { minLength: 1, maxLength: 12 }), (boughtAt, terms) => {
        const day = new Date(boughtAt).getUTCDate()
        let running: { expiresAt: number; anchorDay: number } | undefined
        let months = 0
        for (const each of terms) {
          const span = spanAfter(running, each, boughtAt)
          expect(span.startsAt).toBe(running?.expiresAt ?? boughtAt)
          expect(span.endsAt).toBeGreaterThan(span.startsAt)
          running = { expiresAt: span.endsAt, anchorDay: span.anchorDay }
          months += each
          expect(span.endsAt).toBe(referenceEnd(boughtAt, months, day))
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('spanAfter ends twelve single months exactly when it ends a year, from any moment of a century', () => {
    fc.assert(
      fc.property(moment, (boughtAt) => {
        let running = { expiresAt: boughtAt, anchorDay: new Date(boughtAt).getUTCDate() }
        for (let month = 0; month < 12; month += 1) {
          const span = spanAfter(running, 1, boughtAt)
          running = { expiresAt: span.endsAt, anchorDay: span.anchorDay }
        }
        return running.expiresAt === spanAfter(undefined, 12, boughtAt).endsAt
      }),
      { numRuns: 2000 },
    )
  })

  test('spanAfter starts a renewal at the end of the running term, or now if the term has ended', () => {
    fc.assert(
      fc.property(moment, term, term, fc.integer({ min: 0, max: 800 }), (boughtAt, first, second, days) => {
        const before = spanAfter(undefined, first, boughtAt)
        const nowMs = boughtAt + days * dayMs
        const after = spanAfter({ expiresAt: before.endsAt, anchorDay: before.anchorDay }, second, nowMs)
        return after.startsAt === Math.max(before.endsAt, nowMs)
      }),
    )
  })
})

describe('refunds of terms', () => {
  const spans = fc.record({
    price: fc.bigInt({ min: 1n, max: 10_000_000n }).map(kopecks),
    startsAt: moment,
    lasts: fc.integer({ min: 1, max: 400 * dayMs }),
    at: fc.integer({ min: -dayMs, max: 500 * dayMs }),
  })

  test('refundOf is between zero and the price, falls with time, and is zero at the end of the term', () => {
    fc.assert(
      fc.property(spans, fc.integer({ min: 0, max: dayMs }), ({ price, startsAt, lasts, at }, later) => {
        const sold = { price, startsAt, endsAt: startsAt + lasts, refund: 'pro_rata' as const }
        const given = refundOf(sold, startsAt + at, null)
        expect(given >= 0n && given <= price).toBe(true)
        expect(refundOf(sold, startsAt + at + later, null) <= given).toBe(true)
        if (at <= 0) expect(given).toBe(price)
        if (at >= lasts) expect(given).toBe(kopecks(0n))
        expect(refundOf({ ...sold, refund: 'none' }, startsAt + at, null)).toBe(kopecks(0n))
      }),
    )
  })

  test('refundOf is zero for a term without traffic left, and half of the price with half of the traffic left', () => {
    const sold = { price: kopecks(29_900n), startsAt: 0, endsAt: 30 * dayMs, refund: 'pro_rata' as const }
    expect(refundOf(sold, dayMs, { left: 0n, granted: 100n })).toBe(kopecks(0n))
    expect(refundOf(sold, dayMs, { left: 50n, granted: 100n })).toBe(kopecks(14_950n))
    expect(refundOf(sold, dayMs, { left: 100n, granted: 100n })).toBe(refundOf(sold, dayMs, null))
  })
})

describe('the traffic limit of a subscription', () => {
  test('trafficLimitAfter adds the traffic of a renewal, and returns no limit while an unlimited term runs', () => {
    const [none, ten, fifty] = [bytes(0n), bytes(10n), bytes(50n)]
    expect(trafficLimitAfter({ limit: none, used: none, runs: false }, ten)).toBe(ten)
    expect(trafficLimitAfter({ limit: ten, used: ten, runs: true }, ten)).toBe(bytes(20n))
    expect(trafficLimitAfter({ limit: null, used: fifty, runs: true }, ten)).toBeNull()
    expect(trafficLimitAfter({ limit: null, used: fifty, runs: false }, ten)).toBe(bytes(60n))
    expect(trafficLimitAfter({ limit: ten, used: ten, runs: true }, null)).toBeNull()
  })

  test('limitOfTerms adds the traffic of the terms to the usage at the end of the last unlimited term', () => {
    const grants = (...terms: [startsAt: number, endsAt: number, grant: bigint | null, usedBefore: bigint][]) =>
      limitOfTerms(
        terms.map(([startsAt, endsAt, grant, usedBefore]) => ({
          startsAt,
          endsAt,
          trafficGrant: grant === null ? null : bytes(grant),
          usedBefore: bytes(usedBefore),
        })),
      )
    expect(grants([0, 1, 10n, 0n], [1, 2, 10n, 7n])).toBe(bytes(20n))
    expect(grants([0, 1, 10n, 0n], [5, 6, 10n, 7n])).toBe(bytes(20n))
    expect(grants([0, 1, null, 0n], [1, 2, 10n, 7n])).toBeNull()
    expect(grants([0, 1, null, 0n], [5, 6, 10n, 7n])).toBe(bytes(17n))
  })
})

describe('addresses, ids and names', () => {
  test('rangeOf leaves out the first address of a pool, the node’s and the last', () => {
    const pool = { v4: readPrefix('10.66.0.0/29')!, v6: readPrefix('fd74:7572:6e70::/64')! }
    const { first, last } = rangeOf(pool)
    expect([ipv4Text(first), ipv4Text(last)]).toEqual(['10.66.0.2', '10.66.0.6'])
    expect(ipv6Of(pool, first)).toBe('fd74:7572:6e70::a42:2')
  })

  test('makeUuid makes UUIDs of version 7 that sort by time, and readUuid reads them in either case', () => {
    const random = (count: number) => crypto.getRandomValues(new Uint8Array(count))
    fc.assert(
      fc.property(moment, (nowMs) => {
        const uuid = makeUuid(nowMs, random)
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        return readUuid(uuid.toUpperCase()) === uuid && makeUuid(nowMs + 1, random) > uuid
      }),
    )
  })

  test('isDeviceName refuses a name with a line break or a character of the configuration syntax', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        (name) => !isDeviceName(name) || !/[\r\n#=[\]\u2028\u2029\0]/.test(name),
      ),
      { numRuns: 3000 },
    )
    for (const name of ['телефон', "Anna's phone", 'iPad (2)', 'a']) expect(isDeviceName(name)).toBe(true)
  })
})

test('nodeOf gives a moved device another node after more than 300 s of running time without a report', () => {
  const node = (id: string): Node => ({ id, state: 'open', drainedAt: null, lastSeenAt: 0 }) as Node
  const moved = { id: 'dev_1', node: 'nod_moved' } as Parameters<typeof nodeOf>[0]
  const other = { ...node('nod_other'), lastSeenAt: 1 }
  const nodeAfter = (runningMs: number) =>
    nodeOf(moved, [node('nod_moved'), other], (at) => (at === 0 ? runningMs : 0))?.id as string | undefined
  expect([0, 300_000, 300_001].map(nodeAfter)).toEqual(['nod_moved', 'nod_moved', 'nod_other'])
})

test('byImportance sorts running subscriptions by earliest end, then ended ones by latest end', () => {
  const of = (uuid: string, expiresAt: number, disabledAt: number | null = null) => ({
    uuid: uuid as SubscriptionId,
    expiresAt,
    disabledAt,
  })
  const all = [of('a', 50), of('b', 300), of('c', 90), of('d', 200), of('e', 200), of('f', 150, 10)]
  const order = all.toSorted((one, other) => byImportance(one, other, 100)).map((each) => String(each.uuid))
  expect(order).toEqual(['d', 'e', 'b', 'f', 'c', 'a'])
})
