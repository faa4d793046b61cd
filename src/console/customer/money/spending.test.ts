import { expect, test } from 'bun:test'
import { days, monthsUntil, spentByDay, spentByProduct, spentIn } from './spending.ts'

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

test('spentByProduct sums charges and refunds of each product exactly and ends with the total', () => {
  const of = (order_id: string | null, kind: 'credit' | 'charge' | 'refund', amount_rub: number) => ({
    ...moved(kind, amount_rub, 0),
    order_id,
  })
  const products = new Map([
    ['a', 'dedicated'],
    ['b', 'vpn'],
  ])
  const rows = spentByProduct(
    [
      of('a', 'charge', -0.1),
      of('a', 'charge', -0.2),
      of('a', 'refund', 0.1),
      of('b', 'charge', -5),
      of(null, 'credit', 9),
    ],
    products,
  )
  expect(rows).toEqual([
    { product: 'dedicated', charged: 0.3, refunded: 0.1, net: 0.2 },
    { product: 'vpn', charged: 5, refunded: 0, net: 5 },
    { product: 'total', charged: 5.3, refunded: 0.1, net: 5.2 },
  ])
})

test('monthsUntil goes back over the turn of a year', () => {
  const months = monthsUntil(Date.parse('2026-01-15T12:00:00'), 2)
  expect(months).toEqual([Date.parse('2026-01-01T00:00:00'), Date.parse('2025-12-01T00:00:00')])
})
