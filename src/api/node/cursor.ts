/**
 * A stretch of changes that a node was told, from a moment until the next stretch begins: the sum of what its rows
 * said. Whoever reads the same rows comes to the same sum, in any process.
 */
export type Stretch = { readonly fromAt: number; readonly sum: bigint }

/**
 * How far a node has read one table. A round goes through the table in the order of changes, from `sinceAt` on; `after`
 * is the last row of this round and `roundAt` is when it began. The first round is the whole table without what is
 * gone, as far as nothing can appear behind it any more. `told` is what the node has heard since `sinceAt`.
 */
export type Place = {
  readonly phase: 'whole' | 'changes'
  readonly sinceAt: number
  readonly roundAt: number
  readonly after: { readonly changedAt: number; readonly id: string } | null
  readonly told: readonly Stretch[]
}

/** All that a shop knows of what a node has heard: it stands in the cursor, so every shop knows the same. */
export type Cursor = readonly Place[]

/**
 * Times of change are given before a commit, so a change may become visible after a later one. Each round therefore
 * looks back this far behind the beginning of the one before. No transaction lives this long.
 */
export const overlapMs = 30_000

/** A cursor stays short however much has changed lately: beyond so many, stretches hold more rows each. */
const mostStretches = 40

export const freshPlace = (nowMs: number): Place => ({
  phase: 'whole',
  sinceAt: 0,
  roundAt: nowMs,
  after: null,
  told: [],
})

/** Where the changes begin that a whole read leaves to the rounds after it. */
export const settledBefore = (place: Place): number => Math.max(0, place.roundAt - overlapMs)

/** The round after a whole read: all that may still change its place is told by it. */
export const afterWhole = (place: Place): Place => ({
  phase: 'changes',
  sinceAt: settledBefore(place),
  roundAt: place.roundAt,
  after: null,
  told: [],
})

/**
 * Where the round after this one begins: at the beginning of a stretch, for half of one cannot be compared. What was
 * told before that is not looked at again.
 */
export function nextRound(place: Place, told: readonly Stretch[]): Place {
  const wantedAt = Math.max(place.sinceAt, place.roundAt - overlapMs, 0)
  const first = told.findLastIndex((each) => each.fromAt <= wantedAt)
  return {
    phase: 'changes',
    sinceAt: first < 0 ? wantedAt : (told[first]?.fromAt ?? wantedAt),
    roundAt: 0,
    after: null,
    told: first < 0 ? told : told.slice(first),
  }
}

/**
 * A clock that was set back behind what a node has heard gives changes times that lie behind it too. The node hears all
 * changes once more then, what is gone included; what was told lately is left out as ever.
 */
export const followClock = (place: Place, nowMs: number): Place =>
  place.phase === 'changes' && place.sinceAt > nowMs ? { ...place, sinceAt: 0, after: null } : place

/** Joins neighbours until few enough are left, so that each holds about as many rows. */
export function joinStretches(stretches: readonly (Stretch & { readonly rows: number })[]): Stretch[] {
  const all = stretches.reduce((sum, each) => sum + each.rows, 0)
  const share = stretches.length <= mostStretches ? 1 : Math.ceil(all / (mostStretches / 2))
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
const placePattern = /^([wc])(\d{1,15})-(\d{1,15})(?:~(\d{1,15})~([0-9a-z_]{1,40}))?(?:!([0-9a-z*-]{1,4000}))?$/
const stretchPattern = /^([0-9a-z]{1,10})-([0-9a-z]{1,13})$/

/**
 * A cursor is of one life of the database. After a restore it knows of rows that were never written, so its node begins
 * anew.
 */
const headOf = (life: number): string => (life === 0 ? version : `${version}r${life.toString(36)}`)

export function writeCursor(cursor: Cursor, life = 0): string {
  const places = cursor.map(({ phase, sinceAt, roundAt, after, told }) => {
    const rest = after ? `~${after.changedAt}~${after.id}` : ''
    const heard = told.map((each) => `${(each.fromAt - sinceAt).toString(36)}-${each.sum.toString(36)}`)
    const all = heard.length > 0 ? `!${heard.join('*')}` : ''
    return `${phase === 'whole' ? 'w' : 'c'}${sinceAt}-${roundAt}${rest}${all}`
  })
  return [headOf(life), ...places].join('.')
}

/** Undefined for anything that was not written for so many tables in this life. */
export function readCursor(text: string, tables: number, life = 0): Cursor | undefined {
  const [written, ...parts] = text.split('.')
  if (written !== headOf(life) || parts.length !== tables) return undefined
  const places: Place[] = []
  for (const part of parts) {
    const match = placePattern.exec(part)
    const told = match && readStretches(match[6], Number(match[2]))
    if (!match || !told) return undefined
    const [, phase, sinceAt, roundAt, changedAt, id] = match
    places.push({
      phase: phase === 'w' ? 'whole' : 'changes',
      sinceAt: Number(sinceAt),
      roundAt: Number(roundAt),
      after: id === undefined ? null : { changedAt: Number(changedAt), id },
      told,
    })
  }
  return places
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
