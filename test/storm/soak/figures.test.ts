import { describe, expect, test } from 'bun:test'
import { growthPerSale, judge } from './figures.ts'

/** One reading a minute. */
const minutes = (count: number, valueAt: (minute: number) => number, runAt: (minute: number) => number = () => 0) =>
  Array.from({ length: count }, (_, minute) => ({ hours: minute / 60, value: valueAt(minute), run: runAt(minute) }))

const series = (points: ReturnType<typeof minutes>) => ({ name: 'memory', unit: 'MB', points, maxSlope: 10 })

describe('the slope of a figure of the soak', () => {
  test('a leak of 30 MB an hour is not flat within a bound of 10 MB an hour', () => {
    const { slope, isFlat } = judge(series(minutes(60, (minute) => 100 + minute / 2)))
    expect(slope).toBeCloseTo(30)
    expect(isFlat).toBe(false)
  })

  test('a process that fills its pools in the first tenth and then stays is flat', () => {
    const { slope, isFlat } = judge(series(minutes(100, (minute) => Math.min(200, 100 + 10 * minute))))
    expect(slope).toBeCloseTo(0)
    expect(isFlat).toBe(true)
  })

  test('a leak of 30 MB an hour shows through restarts of the process every 20 minutes', () => {
    const restarted = minutes(
      60,
      (minute) => 100 + (minute % 20) / 2,
      (minute) => Math.floor(minute / 20),
    )
    expect(judge(series(restarted)).slope).toBeCloseTo(30)
  })

  test('a figure above its largest value is not flat, whatever its slope', () => {
    expect(judge({ name: 'clock', unit: 'ms', points: minutes(10, () => 500), max: 100 }).isFlat).toBe(false)
  })

  test('a table with one row per sale grows by 1, and one whose rows per sale double by 2', () => {
    const read = (valueOf: (sales: number) => number) =>
      Array.from({ length: 100 }, (_, sales) => ({ sales, value: valueOf(sales) }))
    expect(growthPerSale(read((sales) => 3 * sales))).toBeCloseTo(1)
    // The first tenth is not counted: the middle of the rest is at 55.
    expect(growthPerSale(read((sales) => (sales < 55 ? sales : 55 + 2 * (sales - 55))))).toBeCloseTo(2)
  })
})
