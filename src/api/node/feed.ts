import { bind } from '../../core/bind.ts'
import { refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { StateRow, StateTable } from '../../domains/fleet/index.ts'
import {
  addSums,
  afterWhole,
  followClock,
  joinStretches,
  nextRound,
  readCursor,
  type Stretch,
  settledBefore,
  startPosition,
  type TablePosition,
  writeCursor,
} from './cursor.ts'

export type Page = {
  readonly cursor: string
  readonly more: boolean
  readonly count: number
  /** Rows of each table, in the order of the tables. */
  readonly given: readonly (readonly unknown[])[]
}

const pageRows = 500
/** Reads without news that are skipped before an answer says `more`. */
const maxReads = 100

/** Rows of one table for one answer, and the position after them. */
type Part = { readonly shapes: readonly unknown[]; readonly position: TablePosition; readonly more: boolean }

/** A row, and what it says as a number. */
type Summed = StateRow & { readonly sum: bigint }

/** Rows of one stretch that the node has, or beyond all of them. */
type Group = { readonly fromAt: number; readonly sum: bigint; readonly rows: readonly Summed[] }

type FeedDeps = { readonly tables: readonly StateTable[]; readonly clock: Clock; readonly life?: number }

/** Change feed of the nodes: whole tables, then changes. It keeps no state, so each request may go to another shop. */
export const createFeed = (deps: FeedDeps) => bind(deps, { read })

/** The settled part of a table, from its beginning, without what is gone. */
async function readWhole(table: StateTable, from: TablePosition, room: number): Promise<Part> {
  const found = await table.read(from.after ?? { changedAt: from.sinceAt, id: '' }, room, true)
  const settled = found.filter((row) => row.changedAt < settledBefore(from))
  const shapes = settled.map((row) => row.shape)
  const last = settled.at(-1)
  if (settled.length === room && last) {
    return { shapes, position: { ...from, after: { changedAt: last.changedAt, id: last.id } }, more: true }
  }
  const rest = await readChanges(table, afterWhole(from), room - shapes.length)
  return { ...rest, shapes: [...shapes, ...rest.shapes] }
}

/** Reads on in the order of changes until the room is full or the round is over. */
async function readChanges(table: StateTable, from: TablePosition, room: number): Promise<Part> {
  const collector = createCollector(from, room)
  const known = aheadOf(from.sent, from.after)
  let after = from.after ?? { changedAt: from.sinceAt, id: '' }
  // A stretch may continue in the next read; it is held until it is whole.
  let held: Summed[] = []
  for (let count = 0; count < maxReads; count += 1) {
    const found = (await table.read(after, pageRows, false)).map(toSummed)
    const isEnd = found.length < pageRows
    const groups = groupRows([...held, ...found], known)
    held = isEnd || groups.at(-1)?.sum === 0n ? [] : [...(groups.pop()?.rows ?? [])]
    for (const group of groups) if (!collector.take(group)) return collector.full()
    if (isEnd) return collector.end()
    const last = found.at(-1)
    if (last) after = { changedAt: last.changedAt, id: last.id }
  }
  // A stretch of more rows than that is sent again.
  collector.take({ fromAt: -1, sum: 0n, rows: held })
  return collector.full()
}

/** The page after a cursor; without one, the first. */
async function read({ tables, clock, life = 0 }: FeedDeps, text: string | undefined): Promise<Page> {
  const nowMs = clock()
  const cursor = text === undefined ? undefined : readCursor(text, tables.length, life)
  if (text !== undefined && !cursor) {
    throw refuseField('cursor', 'node_cursor')
  }
  const parts: Part[] = []
  let room = pageRows
  for (const [index, table] of tables.entries()) {
    const at = followClock(cursor?.[index] ?? startPosition(nowMs), nowMs)
    const from = at.phase === 'changes' && at.after === null ? { ...at, roundAt: nowMs } : at
    const readOn = from.phase === 'whole' ? readWhole : readChanges
    const part = room > 0 ? await readOn(table, from, room) : { shapes: [], position: at, more: true }
    parts.push(part)
    room -= part.shapes.length
  }
  return {
    cursor: writeCursor(
      parts.map((each) => each.position),
      life,
    ),
    more: parts.some((each) => each.more),
    count: pageRows - room,
    given: parts.map((each) => each.shapes),
  }
}

/** Collects the rows of a page, and the checksums that the cursor has after it. */
function createCollector(from: TablePosition, room: number) {
  const shapes: unknown[] = []
  // In a continued round: the stretches that it has passed.
  const recorded = from.sent
    .filter((each) => from.after !== null && each.fromAt <= from.after.changedAt)
    .map((each) => ({ ...each, rows: 1 }))
  let last = from.after

  function record(row: Summed): void {
    const open = recorded.at(-1)
    const { sum } = row
    // One millisecond is one stretch, even if a page ends within it.
    if (open && last && row.changedAt <= last.changedAt) {
      recorded[recorded.length - 1] = { ...open, sum: addSums(open.sum, sum), rows: open.rows + 1 }
    } else recorded.push({ fromAt: row.changedAt, sum, rows: 1 })
    last = { changedAt: row.changedAt, id: row.id }
  }

  return {
    /** False when there is no room for all of it. */
    take(group: Group): boolean {
      const sum = group.rows.reduce((all, row) => addSums(all, row.sum), 0n)
      const isKnown = sum === group.sum
      for (const row of group.rows) {
        if (!isKnown && shapes.length === room) return false
        if (!isKnown) shapes.push(row.shape)
        record(row)
      }
      return true
    },

    /** The round continues with the next page. */
    full(): Part {
      return {
        shapes,
        position: { ...from, after: last, sent: [...joinStretches(recorded), ...aheadOf(from.sent, last)] },
        more: true,
      }
    },

    end(): Part {
      const beyond = last === null || recorded.length === 0 ? [] : [{ fromAt: last.changedAt + 1, sum: 0n, rows: 0 }]
      return { shapes, position: nextRound(from, joinStretches([...recorded, ...beyond])), more: false }
    },
  }
}

/** The stretches that a round has not reached yet. */
const aheadOf = (sent: readonly Stretch[], after: TablePosition['after']): readonly Stretch[] =>
  after === null ? sent : sent.filter((each) => each.fromAt > after.changedAt)

/** Rows in the order of changes, by the stretch that they lie in. Before the first and in none, nothing is known. */
function groupRows(rows: readonly Summed[], sent: readonly Stretch[]): Group[] {
  const groups: { fromAt: number; sum: bigint; rows: Summed[] }[] = []
  for (const row of rows) {
    const stretch = sent.findLast((each) => each.fromAt <= row.changedAt) ?? { fromAt: -1, sum: 0n }
    const open = groups.at(-1)
    if (open?.fromAt === stretch.fromAt) open.rows.push(row)
    else groups.push({ ...stretch, rows: [row] })
  }
  return groups
}

/** The comparison ignores `left`, a hint that changes constantly. Quotes in texts are escaped. */
const leftPattern = /"left":(?:\d+|null)/g

const toSummed = (row: StateRow): Summed => ({
  ...row,
  sum: Bun.hash(`${row.id} ${JSON.stringify(row.shape).replace(leftPattern, '')}`),
})
