import { type Point, slopeOf } from '../../harness/least-squares.ts'

/** A figure over the whole soak. `run` changes when its process is started again. */
export type Series = {
  readonly name: string
  readonly unit: string
  readonly points: readonly { readonly hours: number; readonly value: number; readonly run: number }[]
  /** The largest slope, in units an hour; absent for a figure that grows with the sales. */
  readonly maxSlope?: number
  /** The largest value; absent where only the slope counts. */
  readonly max?: number
}

export type FigureRow = {
  readonly name: string
  readonly unit: string
  readonly first: number
  readonly last: number
  readonly highest: number
  /** NaN if too little was read. */
  readonly slope: number
  readonly bound: string
  readonly isFlat: boolean
}

/** Pools, caches and compiled code fill first. */
const warmUpPart = 0.1
/** A process that was started again fills them again. */
const warmUpHours = 3 / 60
const leastPoints = 3
/** A slope over less time is that of the warm-up. */
const leastHours = 0.4

/** The slope of a figure after the first tenth, and whether it stays within its bounds. */
export function judge({ name, unit, points, maxSlope, max }: Series): FigureRow {
  const end = points.at(-1)?.hours ?? 0
  const runs = [...Map.groupBy(points, ({ run }) => run).values()].map((run) => {
    const from = Math.max(end * warmUpPart, (run[0]?.hours ?? 0) + Math.min(warmUpHours, end * warmUpPart))
    return run.filter(({ hours }) => hours >= from)
  })
  const counted = runs.filter(({ length }) => length >= leastPoints)
  const toPoint = ({ hours, value }: (typeof points)[number]): Point => ({ x: hours, y: value })
  const slope = counted.length === 0 ? Number.NaN : slopeOf(...counted.map((run) => run.map(toPoint)))
  const values = points.map(({ value }) => value)
  const highest = Math.max(...values)
  const bounds = [
    ...(maxSlope === undefined ? [] : [`≤ ${maxSlope} ${unit}/h`]),
    ...(max === undefined ? [] : [`≤ ${max} ${unit}`]),
  ]
  const isJudged = end >= leastHours
  const isFlat =
    !(isJudged && slope > (maxSlope ?? Number.POSITIVE_INFINITY)) && highest <= (max ?? Number.POSITIVE_INFINITY)
  return {
    name,
    unit,
    first: values[0] ?? 0,
    last: values.at(-1) ?? 0,
    highest,
    slope,
    bound: bounds.join(', '),
    isFlat,
  }
}

/**
 * How much a figure grows per sale in the second half, against the first half. 1 is proportional to the sales; what
 * grows faster than them is more than 1. NaN without sales in both.
 */
export function growthPerSale(readings: readonly { readonly sales: number; readonly value: number }[]): number {
  const later = readings.slice(Math.floor(readings.length * warmUpPart))
  const middle = Math.floor(later.length / 2)
  const rate = (part: readonly Point[]): number => slopeOf(part)
  const points = later.map(({ sales, value }) => ({ x: sales, y: value }))
  return rate(points.slice(middle)) / rate(points.slice(0, middle + 1))
}
