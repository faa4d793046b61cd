import { expect, test } from 'bun:test'
import { days, spentByDay, spentIn } from './spending.ts'

const nowAt = Date.parse('2026-11-15T12:00:00')
const moved = (kind: 'credit' | 'charge' | 'refund' | 'debit', amount_rub: number, daysAgo: number) => ({
  kind,
  amount_rub,
  created_at: new Date(nowAt - daysAgo * 86_400_000).toISOString(),
})

test('spentIn subtracts refunds from charges and ignores top-ups', () => {
  expect(spentIn([moved('credit', 500, 0), moved('charge', -120.5, 0), moved('refund', 20.5, 0)])).toBe(100)
})

test('spentByDay has 30 days, today last, and a day of refunds is 0 instead of negative', () => {
  const { times, values } = spentByDay([moved('charge', -40, 0), moved('charge', -7, 29), moved('refund', 9, 3)], nowAt)
  expect(times).toHaveLength(days)
  expect([values[0], values.at(-1), values.at(-4)]).toEqual([7, 40, 0])
  expect(values.reduce((sum, each) => sum + each, 0)).toBe(47)
})
