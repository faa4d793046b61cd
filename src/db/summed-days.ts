import { at, type Finding, found } from '../core/finding.ts'
import { pageWalk, type TableWalk } from './audit-walks.ts'
import { int, valuesOf } from './columns.ts'
import { sendRows } from './rows.ts'
import type { Database, Reader, Tx } from './transaction.ts'

export const dayMs = 86_400_000

/** A table whose rows are only added, each dated at the moment of its commit, and have sums by UTC day. */
export type DaySource = {
  readonly name: 'postings' | 'orders'
  /** When the oldest row was written; undefined in an empty table. */
  readonly firstAt: (reader: Reader) => Promise<number | undefined>
  /** Replaces the sums of a day by those of its rows. */
  readonly writeSums: (tx: Tx, day: number) => Promise<void>
  /** The sums of a day as they are kept, and as its rows have them: texts to compare. */
  readonly compare: (reader: Reader, day: number) => Promise<{ readonly kept: string; readonly counted: string }>
}

/** From an instant until just before another. */
export type Period = { readonly fromAt: number; readonly toAt: number }

const dayOf = (day: number): Period => ({ fromAt: day * dayMs, toAt: (day + 1) * dayMs })

/** A source by how its sums are counted from rows, read as kept, replaced and written as a text to compare. */
export function daySourceOf<Sum>(of: {
  readonly name: DaySource['name']
  readonly firstAt: DaySource['firstAt']
  readonly count: (reader: Reader, period: Period) => Promise<readonly Sum[]>
  readonly kept: (reader: Reader, fromDay: number, toDay: number) => Promise<readonly Sum[]>
  readonly replace: (tx: Tx, day: number, sums: readonly Sum[]) => void
  readonly toText: (sum: Sum) => string
}): DaySource {
  const write = (sums: readonly Sum[]): string => sums.map(of.toText).toSorted().join(', ')
  return {
    name: of.name,
    firstAt: of.firstAt,
    writeSums: async (tx, day) => of.replace(tx, day, await of.count(tx, dayOf(day))),
    async compare(reader, day) {
      const [kept, counted] = [await of.kept(reader, day, day + 1), await of.count(reader, dayOf(day))]
      return { kept: write(kept), counted: write(counted) }
    },
  }
}

/** A day is noted this long after its end: later than any clock is behind. */
const afterEndMs = 3_600_000
/** A day is summed this long after it was noted: longer than a transaction that did not see the note. */
const afterNoteMs = 120_000
const maxNotedAtOnce = 400
const daysPerStep = 5

const days = valuesOf(int('day'))

/**
 * Notes days that have ended, and sums at most `limit` days that were noted before. Returns how many it summed. The row
 * of the day is locked meanwhile: a second shop finds it summed, and a row that is dated into the day waits, or is
 * waited for.
 */
export async function sumEndedDays(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  source: DaySource,
  limit: number,
): Promise<number> {
  await noteEndedDays(db, source, clock())
  let summed = 0
  while (summed < limit && (await db.transact((tx) => sumNextDay(tx, source, clock())))) summed += 1
  return summed
}

async function noteEndedDays(db: Database, { name, firstAt }: DaySource, nowMs: number): Promise<void> {
  const first = await firstAt(db)
  if (first === undefined) return
  const known = new Set(await days.all(db, 'SELECT day FROM summed_days WHERE source = $1', [name]))
  const ended = Math.floor((nowMs - afterEndMs) / dayMs)
  const missing: number[] = []
  for (let day = Math.floor(first / dayMs); day < ended && missing.length < maxNotedAtOnce; day += 1) {
    if (!known.has(day)) missing.push(day)
  }
  if (missing.length === 0) return
  await db.transact(async (tx) => {
    const rows = missing.map((day) => [name, day, nowMs])
    sendRows(tx, 'INSERT INTO summed_days (source, day, noted_at)', rows, 'ON CONFLICT (source, day) DO NOTHING')
  })
}

async function sumNextDay(tx: Tx, { name, writeSums }: DaySource, nowMs: number): Promise<boolean> {
  const day = await days.first(
    tx,
    `SELECT day FROM summed_days WHERE source = $1 AND summed_at IS NULL AND noted_at <= $2
     ORDER BY day LIMIT 1 FOR UPDATE`,
    [name, nowMs - afterNoteMs],
  )
  if (day === undefined) return false
  await writeSums(tx, day)
  await tx.run('UPDATE summed_days SET summed_at = $3 WHERE source = $1 AND day = $2', [name, day, nowMs])
  return true
}

/**
 * The summed days that are wholly within a period, and the rest of it, of which the rows are read. Read the sums after
 * this and drop those of other days: a day that is summed meanwhile is counted once.
 */
export async function splitPeriod(
  reader: Reader,
  { name }: Pick<DaySource, 'name'>,
  { fromAt, toAt }: Period,
): Promise<{
  readonly days: ReadonlySet<number>
  readonly rest: readonly Period[]
  /** The first of the days, and the one after the last. */
  readonly bounds: readonly [first: number, end: number]
}> {
  const [first, end] = [Math.ceil(fromAt / dayMs), Math.floor(toAt / dayMs)]
  const summed = await days.all(
    reader,
    `SELECT day FROM summed_days WHERE source = $1 AND day >= $2 AND day < $3 AND summed_at IS NOT NULL ORDER BY day`,
    [name, first, end],
  )
  const rest: Period[] = []
  let reached = fromAt
  for (const day of summed) {
    if (day * dayMs > reached) rest.push({ fromAt: reached, toAt: day * dayMs })
    reached = (day + 1) * dayMs
  }
  if (toAt > reached) rest.push({ fromAt: reached, toAt })
  return { days: new Set(summed), rest, bounds: [first, end] }
}

/** Compares the sums of each summed day with the rows of the day. */
export const summedDaysWalk = ({ name, compare }: DaySource): TableWalk =>
  pageWalk<number, number>({
    name: `days of ${name}`,
    start: Number.MIN_SAFE_INTEGER,
    size: daysPerStep,
    read: (reader, after, limit) =>
      days.all(
        reader,
        `SELECT day FROM summed_days WHERE source = $1 AND day > $2 AND summed_at IS NOT NULL ORDER BY day LIMIT $3`,
        [name, after, limit],
      ),
    keyOf: (day) => day,
    async check(reader, page, findings: Finding[]) {
      for (const day of page) {
        const { kept, counted } = await compare(reader, day)
        const where = at('sums_of_day', { of: name, day: dayText(day) })
        if (kept !== counted) findings.push(found('totals', where, 'day_sums', { stored: kept, expected: counted }))
      }
      return { [`days of ${name}`]: page.length }
    },
  })

/** The date, also of a day that the calendar does not have. */
const dayText = (day: number): string =>
  Math.abs(day) <= 100_000_000 ? new Date(day * dayMs).toISOString().slice(0, 10) : String(day)
