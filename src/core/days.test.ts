import { expect, test } from 'bun:test'
import { daysOf, mostReportDays } from './days.ts'

const dayMs = 86_400_000
const said = (from?: number, to?: number) => ({
  fromAt: from === undefined ? undefined : from * dayMs,
  toAt: to === undefined ? undefined : to * dayMs,
})

test('a report is about the last 30 days and today, unless said', () => {
  expect(daysOf(said(), 100 * dayMs + 5)).toEqual({ from: 70, to: 101 })
  expect(daysOf(said(99), 100 * dayMs)).toEqual({ from: 99, to: 101 })
  expect(daysOf(said(10, 11), 100 * dayMs)).toEqual({ from: 10, to: 11 })
})

test('a report of no day, or of too many, is none', () => {
  expect(daysOf(said(10, 10), 0)).toBeUndefined()
  expect(daysOf(said(11, 10), 0)).toBeUndefined()
  expect(daysOf(said(0, mostReportDays), 0)).toEqual({ from: 0, to: mostReportDays })
  expect(daysOf(said(0, mostReportDays + 1), 0)).toBeUndefined()
})
