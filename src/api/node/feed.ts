import { bind } from '../../core/bind.ts'
import { refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { StateRow, StateTable } from '../../domains/fleet/index.ts'

/** Checksum of the rows sent to a node, from a moment until the next stretch. It is the same in every process. */
type Stretch = { readonly fromAt: number; readonly sum: bigint }

/**
 * How far a node has read one table. A round goes through the table in the order of changes, from `sinceAt` on; `after`
 * is the last row of this round and `roundAt` is when it began, or 0 between two rounds. The first round is the whole
 * table without what is gone, as far as nothing can appear behind it any more. `sent` is what the node has received
 * since `sinceAt`.
 */
type TablePosition = {
  readonly phase: 'whole' | 'changes'
  readonly sinceAt: number
  readonly roundAt: number
  readonly after: { readonly changedAt: number; readonly id: string } | null
  readonly sent: readonly Stretch[]
}

/** The position in each table. The cursor holds all state of the feed, so that any shop can continue it. */
type Cursor = readonly TablePosition[]

/**
 * Times of change are given before a commit, so a change may become visible after a later one. Each round therefore
 * looks back this far behind the beginning of the one before. No transaction lives this long.
 */
export const overlapMs = 30_000

/** A cursor stays short however much has changed lately: beyond so many, stretches hold more rows each. */
const maxStretches = 40

const startPosition = (nowMs: number): TablePosition => ({
  phase: 'whole',
  sinceAt: 0,
  roundAt: nowMs,
  after: null,
  sent: [],
})

/** The moment from which later rounds read the changes that a whole read skips. */
const settledBefore = (position: TablePosition): number => Math.max(0, position.roundAt - overlapMs)

/** The first round of changes after a whole read. It repeats rows that were not settled. */
const afterWhole = (position: TablePosition): TablePosition => ({
  phase: 'changes',
  sinceAt: settledBefore(position),
  roundAt: position.roundAt,
  after: null,
  sent: [],
})

/** Start of the next round: the beginning of a stretch. Earlier stretches are dropped. */
function nextRound(position: TablePosition, sent: readonly Stretch[]): TablePosition {
  const wantedAt = Math.max(position.sinceAt, position.roundAt - overlapMs, 0)
  const first = sent.findLastIndex((each) => each.fromAt <= wantedAt)
  return {
    phase: 'changes',
    sinceAt: first < 0 ? wantedAt : (sent[first]?.fromAt ?? wantedAt),
    roundAt: 0,
    after: null,
    sent: first < 0 ? sent : sent.slice(first),
  }
}

/** After the clock was set back, changes have times before the position, so all changes are read once more. */
const followClock = (position: TablePosition, nowMs: number): TablePosition =>
  position.phase === 'changes' && position.sinceAt > nowMs ? { ...position, sinceAt: 0, after: null } : position

/** Joins neighbours until few enough are left, so that each holds about as many rows. */
function joinStretches(stretches: readonly (Stretch & { readonly rows: number })[]): Stretch[] {
  const all = stretches.reduce((sum, each) => sum + each.rows, 0)
  const share = stretches.length <= maxStretches ? 1 : Math.ceil(all / (maxStretches / 2))
  const joined: (Stretch & { rows: number })[] = []
  for (const each of stretches) {
    const last = joined.at(-1)
    const fits = last !== undefined && last.rows > 0 && each.rows > 0 && last.rows + each.rows <= share
    if (fits) joined[joined.length - 1] = { ...last, sum: addSums(last.sum, each.sum), rows: last.rows + each.rows }
    else joined.push(each)
  }
  return joined.map(({ fromAt, sum }) => ({ fromAt, sum }))
}

const addSums = (a: bigint, b: bigint): bigint => BigInt.asUintN(64, a + b)

const version = '2'
const positionPattern = /^([wc])(\d{1,15})-(\d{1,15})(?:~(\d{1,15})~([0-9a-z_]{1,40}))?(?:!([0-9a-z*-]{1,4000}))?$/
const stretchPattern = /^([0-9a-z]{1,10})-([0-9a-z]{1,13})$/

/** A cursor belongs to one life of the database. After a restore a node starts without one. */
const headOf = (life: number): string => (life === 0 ? version : `${version}r${life.toString(36)}`)

export function writeCursor(cursor: Cursor, life = 0): string {
  const positions = cursor.map(({ phase, sinceAt, roundAt, after, sent }) => {
    const rest = after ? `~${after.changedAt}~${after.id}` : ''
    const stretches = sent.map((each) => `${(each.fromAt - sinceAt).toString(36)}-${each.sum.toString(36)}`)
    const all = stretches.length > 0 ? `!${stretches.join('*')}` : ''
    return `${phase === 'whole' ? 'w' : 'c'}${sinceAt}-${roundAt}${rest}${all}`
  })
  return [headOf(life), ...positions].join('.')
}

/** Undefined for anything that was not written for so many tables in this life. */
export function readCursor(text: string, tables: number, life = 0): Cursor | undefined {
  const [written, ...parts] = text.split('.')
  if (written !== headOf(life) || parts.length !== tables) return undefined
  const positions: TablePosition[] = []
  for (const part of parts) {
    const match = positionPattern.exec(part)
    const sent = match && readStretches(match[6], Number(match[2]))
    if (!match || !sent) return undefined
    const [, phase, sinceAt, roundAt, changedAt, id] = match
    positions.push({
      phase: phase === 'w' ? 'whole' : 'changes',
      sinceAt: Number(sinceAt),
      roundAt: Number(roundAt),
      after: id === undefined ? null : { changedAt: Number(changedAt), id },
      sent,
    })
  }
  return positions
}

function readStretches(text: string | undefined, sinceAt: number): Stretch[] | undefined {
  const stretches: Stretch[] = []
  for (const part of text?.split('*') ?? []) {
    const [, from, sum] = stretchPattern.exec(part) ?? []
    if (from === undefined || sum === undefined) return undefined
    stretches.push({ fromAt: sinceAt + Number.parseInt(from, 36), sum: readSum(sum) })
  }
  return stretches
}

const readSum = (text: string): bigint =>
  Array.from(text).reduce((sum, digit) => addSums(sum * 36n, BigInt(Number.parseInt(digit, 36))), 0n)

export type Page = {
  readonly cursor: string
  readonly more: boolean
  readonly count: number
  readonly given: readonly (readonly unknown[])[]
}

const pageRows = 500
/** Reads without news that are skipped before an answer says `more`. */
const maxReads = 100

type Part = { readonly shapes: readonly unknown[]; readonly position: TablePosition; readonly more: boolean }

/** A row, and what it says as a number. */
type Summed = StateRow & { readonly sum: bigint }

/** Rows of one stretch that the node has, or beyond all of them. */
type Group = { readonly fromAt: number; readonly sum: bigint; readonly rows: readonly Summed[] }

type FeedDeps = {
  readonly tables: readonly StateTable[]
  readonly clock: Clock
  /** The life of the database now: another number after a restore and after a rewind. */
  readonly life?: () => number
}

const firstLife = (): number => 0

/** Change feed of the nodes: whole tables, then changes. It keeps no state, so each request may go to another shop. */
export const createFeed = (deps: FeedDeps) => bind(deps, { read, stageOf })

/** Whether a node with this cursor reads the whole state, is within a round, or has read each table to its end. */
function stageOf({ tables, life = firstLife }: FeedDeps, text = ''): 'whole' | 'within' | 'end' {
  const positions = readCursor(text, tables.length, life())
  if (!positions || positions.some(({ phase }) => phase === 'whole')) return 'whole'
  return positions.every(({ roundAt }) => roundAt === 0) ? 'end' : 'within'
}

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

async function read({ tables, clock, life: lifeOf = firstLife }: FeedDeps, text: string | undefined): Promise<Page> {
  const [nowMs, life] = [clock(), lifeOf()]
  const cursor = text === undefined ? undefined : readCursor(text, tables.length, life)
  if (text !== undefined && !cursor) throw refuseField('cursor', 'node_cursor')
  const parts: Part[] = []
  let room = pageRows
  for (const [index, table] of tables.entries()) {
    const at = followClock(cursor?.[index] ?? startPosition(nowMs), nowMs)
    const from = at.phase === 'changes' && at.after === null ? { ...at, roundAt: nowMs } : at
    const readOn = from.phase === 'whole' ? readWhole : readChanges
    const part = room > 0 ? await readOn(table, from, room) : { shapes: [], position: from, more: true }
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
const toSummed = (row: StateRow): Summed => ({
  ...row,
  sum: Bun.hash(`${row.id} ${JSON.stringify(row.shape).replace(/"left":(?:\d+|null)/g, '')}`),
})
