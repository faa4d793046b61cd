import { columns } from '../table.ts'
import { type FigureRow, growthPerSale, judge, type Series } from './figures.ts'
import type { DatabaseReading, ProcessReading } from './readings.ts'
import type { SoakOutcome } from './soak.ts'

/** All figures of one minute. */
export type SoakReading = {
  readonly hours: number
  readonly processes: readonly ProcessReading[]
  readonly server: { readonly mb: number; readonly cpuSeconds: number }
  readonly database: DatabaseReading
  readonly folders: readonly { readonly name: string; readonly mb: number }[]
  /** Clocks of the gateways against the shop's. */
  readonly skews: readonly { readonly name: string; readonly ms: number }[]
  readonly orders: number
  readonly refusals: number
  readonly transfers: number
  readonly failedInFaults: number
  readonly failedOutside: number
  readonly answers: number
  readonly p99Ms: number
  readonly cores: number
}

/** The largest slopes in an hour, and the largest values. */
const soakBounds = {
  memoryMb: 16,
  descriptors: 4,
  pipes: 400,
  /** The saved state is compacted at 4 MiB. */
  folderMb: 12,
  clockMs: 250,
  /** Of tables and the database: growth per sale in the second half, against the first half. */
  growthPerSale: 1.5,
} as const
/** Smaller tables are not judged. */
const leastRows = 1_000

const cpuOf = ({ processes, server }: SoakReading): number =>
  processes.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, server.cpuSeconds)

/** The part of the machine's processors that Turnpike and its database used between two readings. */
function busyPart(reading: SoakReading, before: SoakReading): number {
  const seconds = (reading.hours - before.hours) * 3600
  return Math.max(0, cpuOf(reading) - cpuOf(before)) / seconds / reading.cores
}

const totalRows = ({ rows }: DatabaseReading): number => [...rows.values()].reduce((sum, each) => sum + each, 0)

/** One line a minute. */
export function toMinuteLine(reading: SoakReading, before: SoakReading | undefined): string {
  const { processes, server, database, folders, skews } = reading
  const clocks = [
    `database ${Math.round(database.clockMs)}`,
    ...skews.map(({ name, ms }) => `${name} ${Math.round(ms)}`),
  ]
  return [
    `${(reading.hours * 60).toFixed(1)} min`,
    ...processes.map(
      ({ name, mb, descriptors, pipes }) => `${name} ${mb.toFixed(0)} MB ${descriptors} fd ${pipes} pipes`,
    ),
    `PostgreSQL ${server.mb.toFixed(0)} MB`,
    `database ${database.mb.toFixed(1)} MB ${totalRows(database)} rows`,
    `folders ${folders.map(({ name, mb }) => `${name} ${mb.toFixed(2)}`).join(' ')} MB`,
    `clocks ${clocks.join(', ')} ms`,
    `${reading.orders} orders, ${reading.refusals} refused, ${reading.transfers} transfers`,
    `failed ${reading.failedInFaults} in faults, ${reading.failedOutside} otherwise`,
    `${reading.answers} answers, p99 ${reading.p99Ms.toFixed(0)} ms`,
    ...(before ? [`processors ${(100 * busyPart(reading, before)).toFixed(0)} %`] : []),
  ].join('; ')
}

/** The slope of every figure, and whether it is flat. */
function toFigures(readings: readonly SoakReading[]): FigureRow[] {
  const names = [...new Set(readings.flatMap(({ processes }) => processes.map(({ name }) => name)))]
  const ofProcess = (name: string, valueOf: (each: ProcessReading) => number): Series['points'] =>
    readings.flatMap(({ hours, processes }) =>
      processes.filter((each) => each.name === name).map((each) => ({ hours, value: valueOf(each), run: each.run })),
    )
  const whole = (valueOf: (reading: SoakReading) => number): Series['points'] =>
    readings.map((reading) => ({ hours: reading.hours, value: valueOf(reading), run: 0 }))
  const folders = readings[0]?.folders.map(({ name }) => name) ?? []
  const found = (all: readonly { readonly name: string }[], name: string) => all.find((each) => each.name === name)
  const skewOf = (name: string): Series['points'] =>
    readings.flatMap(({ hours, skews }) => {
      const skew = skews.find((each) => each.name === name)
      return skew ? [{ hours, value: Math.abs(skew.ms), run: 0 }] : []
    })
  const { memoryMb, descriptors, pipes, folderMb, clockMs } = soakBounds
  const series: Series[] = [
    ...names.map((name) => ({
      name: `${name}, memory`,
      unit: 'MB',
      points: ofProcess(name, (each) => each.mb),
      maxSlope: memoryMb,
    })),
    ...names.map((name) => ({
      name: `${name}, descriptors`,
      unit: 'fd',
      points: ofProcess(name, (each) => each.descriptors),
      maxSlope: descriptors,
    })),
    ...names.map((name) => ({
      name: `${name}, ends of pipes`,
      unit: 'pipes',
      points: ofProcess(name, (each) => each.pipes),
      max: pipes,
    })),
    ...folders.map((name) => ({
      name: `state folder of ${name}`,
      unit: 'MB',
      points: whole((reading) => (found(reading.folders, name) as { mb: number } | undefined)?.mb ?? 0),
      max: folderMb,
    })),
    {
      name: 'clock of the database',
      unit: 'ms',
      points: whole(({ database }) => Math.abs(database.clockMs)),
      max: clockMs,
    },
    ...names
      .map((name) => ({ name: `clock of ${name}`, unit: 'ms', points: skewOf(name), max: clockMs }))
      .filter(({ points }) => points.length > 0),
    { name: 'PostgreSQL, memory', unit: 'MB', points: whole(({ server }) => server.mb) },
    { name: 'database', unit: 'MB', points: whole(({ database }) => database.mb) },
    {
      name: 'answers, p99',
      unit: 'ms',
      points: whole(({ p99Ms }) => p99Ms).filter(({ value }) => !Number.isNaN(value)),
    },
  ]
  return series.map(judge)
}

export type GrowthRow = {
  readonly name: string
  readonly last: number
  readonly ratio: number
  readonly isFlat: boolean
}

/** The growth of the database and its tables per sale, in the second half against the first. */
function toGrowth(readings: readonly SoakReading[]): GrowthRow[] {
  const last = readings.at(-1)
  if (!last) return []
  const row = (name: string, valueOf: (reading: SoakReading) => number): GrowthRow => {
    const ratio = growthPerSale(readings.map((each) => ({ sales: each.orders, value: valueOf(each) })))
    // A table that shrinks in the first half has no meaningful ratio.
    return { name, last: valueOf(last), ratio, isFlat: !(ratio > soakBounds.growthPerSale) }
  }
  const tables = [...last.database.rows].filter(([, rows]) => rows >= leastRows).map(([name]) => name)
  return [
    row('database, MB', ({ database }) => database.mb),
    ...tables.map((name) => row(`${name}, rows`, ({ database }) => database.rows.get(name) ?? 0)),
  ]
}

/** All that exceeds its bound. Empty means success. */
export const toVerdict = (outcome: SoakOutcome): string[] => [
  ...outcome.problems,
  ...toFigures(outcome.readings)
    .filter(({ isFlat }) => !isFlat)
    .map(
      ({ name, slope, highest, unit, bound }) =>
        `${name}: ${slope.toFixed(2)} ${unit}/h, at most ${highest.toFixed(1)}; ${bound}`,
    ),
  ...toGrowth(outcome.readings)
    .filter(({ isFlat }) => !isFlat)
    .map(({ name, ratio }) => `${name}: grows ${ratio.toFixed(2)} times as fast per sale in the second half`),
]

const shown = (value: number, digits = 1): string => (Number.isNaN(value) ? '–' : value.toFixed(digits))

/** The outcome as text. */
export function toSoakTable(outcome: SoakOutcome): string {
  const verdict = toVerdict(outcome)
  const { readings, service } = outcome
  const [first, last] = [readings[0], readings.at(-1)]
  const busy = first && last && last !== first ? busyPart(last, first) : Number.NaN
  return [
    `soak of ${outcome.hours} hours, seed ${outcome.seed}`,
    `done: ${Object.entries(outcome.faults)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ')}`,
    `${outcome.customers} customers: ${outcome.orders} orders, ${outcome.payments} payments, ${outcome.transfers} transfers (${outcome.deviceTransfers} of VPN devices), ${outcome.refusals} refused`,
    `${outcome.acknowledged} purchases that cost: ${outcome.lost} lost, ${outcome.doubled} doubled; ${outcome.billedBytes} bytes billed`,
    `${outcome.events} events reached their endpoints with ${outcome.messages} messages`,
    `${service.attempts} attempts: failed during faults ${service.failedInFaults}, late ${service.late}, otherwise ${service.failedOutside}`,
    `Turnpike and its database used about ${shown(100 * busy, 0)} % of the processors`,
    ...Object.entries(outcome.logged).map(([what, count]) => `  logged ${count} × ${what}`),
    '',
    ...columns([
      ['figure', 'first', 'last', 'highest', 'slope in an hour', 'bound', ''],
      ...toFigures(readings).map((row) => [
        row.name,
        shown(row.first),
        shown(row.last),
        shown(row.highest),
        `${shown(row.slope, 2)} ${row.unit}`,
        row.bound,
        row.bound === '' ? '' : row.isFlat ? 'flat' : 'NOT FLAT',
      ]),
    ]),
    '',
    ...columns([
      ['grows with the sales', 'last', 'per sale, second half against first', `bound ${soakBounds.growthPerSale}`],
      ...toGrowth(readings).map((row) => [
        row.name,
        shown(row.last, 0),
        shown(row.ratio, 2),
        row.isFlat ? 'flat' : 'NOT FLAT',
      ]),
    ]),
    '',
    ...verdict.map((each) => `WRONG  ${each}`),
    verdict.length === 0 ? 'Flat, and nothing lost.' : `${verdict.length} beyond bounds.`,
  ].join('\n')
}
