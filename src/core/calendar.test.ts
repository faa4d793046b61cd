import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { addDays, addMonths, maxReportDays, reportDaysOf } from './calendar.ts'
import { toIso } from './time.ts'

const dayMs = 86_400_000
/** A century, from 2000 with its leap day to 2100 without one. */
const moment = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2101, 0, 1) })
const months = fc.integer({ min: 1, max: 36 })
const at = (text: string): number => Date.parse(text)

const monthsSince = (ms: number): number => new Date(ms).getUTCFullYear() * 12 + new Date(ms).getUTCMonth()

describe('addDays and addMonths', () => {
  test('a day sold is exactly 24 hours, over leap days and the end of a century', () => {
    for (const [from, to] of [
      ['2024-02-28T23:59:59.999Z', '2024-02-29T23:59:59.999Z'],
      ['2100-02-28T12:00:00Z', '2100-03-01T12:00:00Z'],
      ['2026-03-28T23:30:00Z', '2026-03-29T23:30:00Z'],
    ] as const) {
      expect(addDays(at(from), 1)).toBe(at(to))
    }
  })

  test('addMonths advances by that many calendar months and keeps the time of day', () => {
    fc.assert(
      fc.property(moment, months, (from, count) => {
        const to = addMonths(from, count)
        expect(monthsSince(to) - monthsSince(from)).toBe(count)
        expect(((to % dayMs) + dayMs) % dayMs).toBe(((from % dayMs) + dayMs) % dayMs)
      }),
      { numRuns: 2000 },
    )
  })

  test('the day of the month is kept, and only a month too short for it shortens it to its last day', () => {
    fc.assert(
      fc.property(moment, months, (from, count) => {
        const to = new Date(addMonths(from, count))
        const day = new Date(from).getUTCDate()
        const isLastDay = new Date(to.getTime() + dayMs).getUTCDate() === 1
        expect(to.getUTCDate() === day || (to.getUTCDate() < day && isLastDay)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test('a longer term always ends later', () => {
    fc.assert(fc.property(moment, months, (from, count) => addMonths(from, count + 1) > addMonths(from, count)))
  })

  test('a monthly renewal from the 31st returns to the 31st after February', () => {
    let ends = at('2027-01-31T10:00:00Z')
    const seen: string[] = []
    for (let month = 0; month < 4; month += 1) {
      ends = addMonths(ends, 1, 31)
      seen.push(toIso(ends).slice(0, 10))
    }
    expect(seen).toEqual(['2027-02-28', '2027-03-31', '2027-04-30', '2027-05-31'])
  })

  test('renewing month by month from an anchor gives the same end as buying all months at once', () => {
    fc.assert(
      fc.property(moment, months, (from, count) => {
        const anchor = new Date(from).getUTCDate()
        let ends = from
        for (let month = 0; month < count; month += 1) ends = addMonths(ends, 1, anchor)
        return ends === addMonths(from, count, anchor)
      }),
    )
  })

  test('a year from a leap day is the last of February', () => {
    expect(toIso(addMonths(at('2028-02-29T08:00:00Z'), 12))).toBe('2029-02-28T08:00:00.000Z')
    expect(toIso(addMonths(at('2028-02-29T08:00:00Z'), 48))).toBe('2032-02-29T08:00:00.000Z')
  })
})

const period = (from?: number, to?: number) => ({
  fromAt: from === undefined ? undefined : from * dayMs,
  toAt: to === undefined ? undefined : to * dayMs,
})

test('a report covers the last 30 days and today by default', () => {
  expect(reportDaysOf(period(), 100 * dayMs + 5)).toEqual({ from: 70, to: 101 })
  expect(reportDaysOf(period(99), 100 * dayMs)).toEqual({ from: 99, to: 101 })
  expect(reportDaysOf(period(10, 11), 100 * dayMs)).toEqual({ from: 10, to: 11 })
})

test('a report of no day or of more than 1000 days is refused', () => {
  expect(reportDaysOf(period(10, 10), 0)).toBeUndefined()
  expect(reportDaysOf(period(11, 10), 0)).toBeUndefined()
  expect(reportDaysOf(period(0, maxReportDays), 0)).toEqual({ from: 0, to: maxReportDays })
  expect(reportDaysOf(period(0, maxReportDays + 1), 0)).toBeUndefined()
})
