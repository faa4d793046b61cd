/**
 * How far a node has read one table. A round goes through the table in the order of changes, from `sinceAt` on; `after`
 * is the last row given in this round and `roundAt` is when it began. The first round is the whole table without what
 * is gone.
 */
export type Place = {
  readonly phase: 'whole' | 'changes'
  readonly sinceAt: number
  readonly roundAt: number
  readonly after: { readonly changedAt: number; readonly id: string } | null
}

/** `era` names the memory of what was given, `serial` the last answer that the node has. */
export type Cursor = { readonly era: string; readonly serial: number; readonly places: readonly Place[] }

/**
 * Times of change are given before a commit, so a change may become visible after a later one. Each round therefore
 * looks back this far behind the beginning of the one before. No transaction lives this long.
 */
export const overlapMs = 30_000

/** Where the round after this one begins. */
export const nextRound = (place: Place): Place => ({
  phase: 'changes',
  sinceAt: Math.max(place.sinceAt, place.roundAt - overlapMs, 0),
  roundAt: 0,
  after: null,
})

/**
 * A clock that was set back behind what a node has heard gives changes times that lie behind it too. The node hears all
 * changes once more then, what is gone included; what it knows already is left out as ever.
 */
export const followClock = (place: Place, nowMs: number): Place =>
  place.phase === 'changes' && place.sinceAt > nowMs ? { ...place, sinceAt: 0, after: null } : place

const number = '(\\d{1,15})'
const placePattern = new RegExp(`^([wc])${number}-${number}(?:~${number}~([0-9a-z_]{1,40}))?$`)

export function writeCursor(cursor: Cursor): string {
  const places = cursor.places.map(({ phase, sinceAt, roundAt, after }) => {
    const rest = after ? `~${after.changedAt}~${after.id}` : ''
    return `${phase === 'whole' ? 'w' : 'c'}${sinceAt}-${roundAt}${rest}`
  })
  return [cursor.era, cursor.serial, ...places].join('.')
}

/** Undefined for anything that was not written for so many tables. */
export function readCursor(text: string, tables: number): Cursor | undefined {
  const [era = '', serial = '', ...parts] = text.split('.')
  if (!/^[0-9a-f]{16}$/.test(era) || !/^\d{1,15}$/.test(serial) || parts.length !== tables) return undefined
  const places: Place[] = []
  for (const part of parts) {
    const match = placePattern.exec(part)
    if (!match) return undefined
    const [, phase, sinceAt, roundAt, changedAt, id] = match
    places.push({
      phase: phase === 'w' ? 'whole' : 'changes',
      sinceAt: Number(sinceAt),
      roundAt: Number(roundAt),
      after: id === undefined ? null : { changedAt: Number(changedAt), id },
    })
  }
  return { era, serial: Number(serial), places }
}
