import type { Clock } from '../../core/time.ts'
import { dayMs, daySourceOf, type Period, splitPeriod, sumEndedDays, summedDaysWalk } from '../../db/summed-days.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import * as store from './store-days.ts'

const source = daySourceOf<store.PostingSum>({
  name: 'postings',
  firstAt: store.firstPostingAt,
  count: (reader, period) => store.sumPostings(reader, period),
  kept: store.keptSums,
  replace: store.replaceSums,
  toText: ({ house, kind, byHand, count, amount }) => `${house} ${kind}${byHand ? ' by hand' : ''} ${count}: ${amount}`,
})

/** Sums ended days of postings; see `sumEndedDays`. */
export const sumDays = (deps: { readonly db: Database; readonly clock: Clock }, limit: number): Promise<number> =>
  sumEndedDays(deps, source, limit)

export const daysWalk = summedDaysWalk(source)

const isOf = (sum: store.PostingSum, of: store.Movements): boolean =>
  of === 'all' || (of === 'refunds' ? sum.kind === 'refund' : sum.byHand)

/** Sums of the postings of a period, by day, house account and kind: ended days as kept, the rest from the postings. */
export async function sumByDay(
  reader: Reader,
  period: Period,
  of: store.Movements = 'all',
): Promise<store.PostingSum[]> {
  const { days, rest, bounds } = await splitPeriod(reader, source, period)
  const kept = days.size === 0 ? [] : await store.keptSums(reader, ...bounds)
  const sums = kept.filter((each) => days.has(each.day) && isOf(each, of))
  for (const each of rest) sums.push(...(await store.sumPostings(reader, each, of)))
  return sums.toSorted((a, b) => a.day - b.day)
}

/** The sum of all customers' balances at a moment. */
export async function sumBefore(reader: Reader, at: number): Promise<bigint> {
  const { days, rest, bounds } = await splitPeriod(reader, source, { fromAt: 0, toAt: at })
  let sum = 0n
  for (const { day, amount } of await store.keptAmounts(reader, bounds[1])) {
    if (days.has(day)) sum += amount
  }
  for (const each of rest) sum += await store.sumAmounts(reader, each)
  return sum
}

/** All refunds of charges of a period. */
export async function sumRefundsBetween(reader: Reader, fromAt: number, toAt: number): Promise<bigint> {
  return (await sumByDay(reader, { fromAt, toAt }, 'refunds')).reduce((sum, { amount }) => sum + amount, 0n)
}

/** Refunds by day in a period; the day is the instant of its beginning. */
export async function refundsByDay(reader: Reader, fromAt: number, toAt: number): Promise<Map<number, bigint>> {
  const sums = new Map<number, bigint>()
  for (const { day, amount } of await sumByDay(reader, { fromAt, toAt }, 'refunds')) {
    sums.set(day * dayMs, (sums.get(day * dayMs) ?? 0n) + amount)
  }
  return sums
}
