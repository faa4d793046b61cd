/** Checksum of the rows sent to a node, from a moment until the next stretch. It is the same in every process. */
export type Stretch = { readonly fromAt: number; readonly sum: bigint }

/**
 * How far a node has read one table. A round goes through the table in the order of changes, from `sinceAt` on; `after`
 * is the last row of this round and `roundAt` is when it began. The first round is the whole table without what is
 * gone, as far as nothing can appear behind it any more. `sent` is what the node has received since `sinceAt`.
 */
export type TablePosition = {
  readonly phase: 'whole' | 'changes'
  readonly sinceAt: number
  readonly roundAt: number
  readonly after: { readonly changedAt: number; readonly id: string } | null
  readonly sent: readonly Stretch[]
}

/** The position in each table. The cursor holds all state of the feed, so that any shop can continue it. */
export type Cursor = readonly TablePosition[]

/**
 * Times of change are given before a commit, so a change may become visible after a later one. Each round therefore
 * looks back this far behind the beginning of the one before. No transaction lives this long.
 */
export const overlapMs = 30_000

/** A cursor stays short however much has changed lately: beyond so many, stretches hold more rows each. */
const maxStretches = 40

export const startPosition = (nowMs: number): TablePosition => ({
  phase: 'whole',
  sinceAt: 0,
  roundAt: nowMs,
  after: null,
  sent: [],
})

/** The moment from which later rounds read the changes that a whole read skips. */
export const settledBefore = (position: TablePosition): number => Math.max(0, position.roundAt - overlapMs)

/** The first round of changes after a whole read. It repeats rows that were not settled. */
export const afterWhole = (position: TablePosition): TablePosition => ({
  phase: 'changes',
  sinceAt: settledBefore(position),
  roundAt: position.roundAt,
  after: null,
  sent: [],
})

/** Start of the next round: the beginning of a stretch. Earlier stretches are dropped. */
export function nextRound(position: TablePosition, sent: readonly Stretch[]): TablePosition {
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
export const followClock = (position: TablePosition, nowMs: number): TablePosition =>
  position.phase === 'changes' && position.sinceAt > nowMs ? { ...position, sinceAt: 0, after: null } : position

/** Joins neighbours until few enough are left, so that each holds about as many rows. */
export function joinStretches(stretches: readonly (Stretch & { readonly rows: number })[]): Stretch[] {
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

export const addSums = (a: bigint, b: bigint): bigint => BigInt.asUintN(64, a + b)

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
