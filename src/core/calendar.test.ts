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
  test('addDays adds exactly 24 hours on a leap day, in February 2100 and on a daylight-saving change', () => {
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

  test('addMonths keeps the day of the month, or uses the last day of a month that is too short', () => {
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

  test('addMonths ends later for each additional month', () => {
    fc.assert(fc.property(moment, months, (from, count) => addMonths(from, count + 1) > addMonths(from, count)))
  })

  test('addMonths with anchor day 31 returns to the 31st after February', () => {
    let ends = at('2027-01-31T10:00:00Z')
    const seen: string[] = []
    for (let month = 0; month < 4; month += 1) {
      ends = addMonths(ends, 1, 31)
      seen.push(toIso(ends).slice(0, 10))
    }
    expect(seen).toEqual(['2027-02-28', '2027-03-31', '2027-04-30', '2027-05-31'])
  })

  test('addMonths with an anchor day gives the same end for single months as for all months at once', () => {
    fc.assert(
      fc.property(moment, months, (from, count) => {
        const anchor = new Date(from).getUTCDate()
        let ends = from
        for (let month = 0; month < count; month += 1) ends = addMonths(ends, 1, anchor)
        return ends === addMonths(from, count, anchor)
      }),
    )
  })

  test('addMonths adds 12 months to 29 February as 28 February, and 48 months as 29 February', () => {
    expect(toIso(addMonths(at('2028-02-29T08:00:00Z'), 12))).toBe('2029-02-28T08:00:00.000Z')
    expect(toIso(addMonths(at('2028-02-29T08:00:00Z'), 48))).toBe('2032-02-29T08:00:00.000Z')
  })
})

const period = (from?: number, to?: number) => ({
  fromAt: from === undefined ? undefined : from * dayMs,
  toAt: to === undefined ? undefined : to * dayMs,
})

test('reportDaysOf covers the last 30 days and today by default', () => {
  expect(reportDaysOf(period(), 100 * dayMs + 5)).toEqual({ from: 70, to: 101 })
  expect(reportDaysOf(period(99), 100 * dayMs)).toEqual({ from: 99, to: 101 })
  expect(reportDaysOf(period(10, 11), 100 * dayMs)).toEqual({ from: 10, to: 11 })
})

test('reportDaysOf leaves out days to come', () => {
  expect(reportDaysOf(period(99, 120), 100 * dayMs)).toEqual({ from: 99, to: 101 })
  expect(reportDaysOf(period(110, 120), 100 * dayMs)).toEqual({ from: 110, to: 110 })
})

test('reportDaysOf returns undefined for an empty period and for more than 1000 days', () => {
  expect(reportDaysOf(period(10, 10), 0)).toBeUndefined()
  expect(reportDaysOf(period(11, 10), 0)).toBeUndefined()
  expect(reportDaysOf(period(0, maxReportDays), 2000 * dayMs)).toEqual({ from: 0, to: maxReportDays })
  expect(reportDaysOf(period(0, maxReportDays + 1), 2000 * dayMs)).toBeUndefined()
})
