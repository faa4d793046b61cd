import type { Told, ToldTable } from '../../domains/fleet/index.ts'
import type { NodeId, RandomBytes } from '../../kernel/ids.ts'
import { malformed } from '../../kernel/refusal.ts'
import type { Clock } from '../../kernel/time.ts'
import { type Cursor, followClock, nextRound, overlapMs, type Place, readCursor, writeCursor } from './cursor.ts'

export type Page = {
  readonly cursor: string
  readonly more: boolean
  readonly count: number
  /** What is given of each table, in the order of the tables. */
  readonly given: readonly (readonly unknown[])[]
}

const pageRows = 500
/** How many stretches that hold nothing new are passed over before an answer says that there is more. */
const mostStretches = 100
const mostNodes = 10_000
const mostRemembered = 200_000

/**
 * What one node was given lately: which answer gave it, and a hash of what it said, since a moment may hold two
 * changes.
 */
type Memory = { readonly era: string; serial: number; readonly given: Map<string, Given> }
type Given = { readonly hash: bigint; readonly changedAt: number; readonly serial: number }

/** What was read of one table for one answer, and where that leaves the reader. */
type Stretch = {
  readonly rows: readonly { readonly row: Told; readonly hash: bigint }[]
  readonly from: Place
  readonly place: Place
  readonly more: boolean
}

/**
 * What nodes read, page by page: first all of it, then changes. Every round looks back, and what the node has already
 * is left out by a memory in this process; without one (another process, a new start) it is told once more, which
 * changes nothing.
 */
export function createFeed(deps: {
  readonly tables: readonly ToldTable[]
  readonly clock: Clock
  random: RandomBytes
}) {
  const { tables, clock } = deps
  const memories = new Map<NodeId, Memory>()

  function begin(node: NodeId): Memory {
    const memory: Memory = { era: deps.random(8).toHex(), serial: 0, given: new Map() }
    memories.delete(node)
    if (memories.size >= mostNodes) memories.clear()
    memories.set(node, memory)
    return memory
  }

  /**
   * The memory that a cursor speaks of. An answer after the cursor's was never heard, and what no round looks at again
   * is forgotten.
   */
  function recall(node: NodeId, cursor: Cursor): Memory {
    const memory = memories.get(node)
    if (memory?.era !== cursor.era) return begin(node)
    const oldest = new Map<string, number>(
      tables.map((table, index) => [table.name, cursor.places[index]?.sinceAt ?? 0]),
    )
    for (const [key, given] of memory.given) {
      const sinceAt = oldest.get(key.slice(0, key.indexOf(' '))) ?? 0
      if (given.serial > cursor.serial || given.changedAt < sinceAt) memory.given.delete(key)
    }
    return memory
  }

  /** Reads on in one table until the room is full or the round is over. */
  async function readOn(
    table: ToldTable,
    from: Place,
    room: number,
    isKnown: (row: Told, hash: bigint) => boolean,
  ): Promise<Stretch> {
    const rows: { row: Told; hash: bigint }[] = []
    const isWhole = from.phase === 'whole'
    const limit = isWhole ? room : pageRows
    let after = from.after
    for (let stretch = 0; stretch < mostStretches; stretch += 1) {
      const found = await table.read(after ?? { changedAt: from.sinceAt, id: '' }, limit, isWhole)
      for (const row of found) {
        after = { changedAt: row.changedAt, id: row.id }
        const hash = Bun.hash(JSON.stringify(row.shape))
        if (!isWhole && isKnown(row, hash)) continue
        rows.push({ row, hash })
        if (rows.length === room) return { rows, from, place: { ...from, after }, more: true }
      }
      if (found.length < limit) return { rows, from, place: nextRound(from), more: false }
    }
    return { rows, from, place: { ...from, after }, more: true }
  }

  return {
    /** The page after a cursor; without one, the first. */
    async read(node: NodeId, text: string | undefined): Promise<Page> {
      const nowMs = clock()
      const cursor = text === undefined ? undefined : readCursor(text, tables.length)
      if (text !== undefined && !cursor) {
        throw malformed([{ field: 'cursor', problem: 'was not given to this node; begin again without one' }])
      }
      const memory = cursor ? recall(node, cursor) : begin(node)
      const heard = cursor?.era === memory.era ? cursor.serial : 0
      const fresh: Place = { phase: 'whole', sinceAt: 0, roundAt: nowMs, after: null }
      const stretches: Stretch[] = []
      let room = pageRows
      for (const [index, table] of tables.entries()) {
        const at = followClock(cursor?.places[index] ?? fresh, nowMs)
        const from = at.phase === 'changes' && at.after === null ? { ...at, roundAt: nowMs } : at
        // Of two polls of one node at once, neither has heard what the other was given.
        const isKnown = (row: Told, hash: bigint): boolean => {
          const given = memory.given.get(keyOf(table, row))
          return given !== undefined && given.serial <= heard && given.hash === hash
        }
        const stretch = room > 0 ? await readOn(table, from, room, isKnown) : { rows: [], from, place: at, more: true }
        stretches.push(stretch)
        room -= stretch.rows.length
      }
      return {
        cursor: writeCursor({
          era: memory.era,
          serial: room < pageRows ? note(memory, stretches) : heard,
          places: stretches.map((each) => each.place),
        }),
        more: stretches.some((each) => each.more),
        count: pageRows - room,
        given: stretches.map((each) => each.rows.map(({ row }) => row.shape)),
      }
    },
  }

  /** Remembers an answer, as far as a round may look at it again, and numbers it. */
  function note(memory: Memory, stretches: readonly Stretch[]): number {
    memory.serial += 1
    for (const [index, { rows, from }] of stretches.entries()) {
      const table = tables[index]
      for (const { row, hash } of rows) {
        if (!table || row.changedAt < from.roundAt - overlapMs) continue
        memory.given.set(keyOf(table, row), { hash, changedAt: row.changedAt, serial: memory.serial })
      }
    }
    if (memory.given.size > mostRemembered) memory.given.clear()
    return memory.serial
  }
}

const keyOf = (table: ToldTable, row: Told): string => `${table.name} ${row.id}`
