import type { Clock } from '../../../../core/time.ts'
import type { TokenBucketRate } from '../../../../core/token-buckets.ts'
import type { CommonState } from '../../access/common-state.ts'
import type { Sessions } from '../../access/exit-choice.ts'
import { type NameCounts, rateOf } from '../../access/limits.ts'
import { type Losses, lossSlotMs, lossSlotsKept, maxLost } from '../../metering/losses.ts'
import { maxSavedMs, stepMs } from '../../metering/speed-limit.ts'
import { makeTableMemory, SharedTable, type TableKey, type TableMemory } from './shared-table.ts'

/** After this long an unused bucket is full. */
const fullAfterMs = 10_000
/** The clock was set back if it is more than this behind. */
const setBackMs = 250
/** A thread takes packets from the shared bucket for so long in advance. */
const packetsAheadMs = 5
const minSlots = 16_384
/** Each connection has at most a few keys: its customer, its credential, its network. */
const slotsOfConnection = 16
const sessionSlots = 262_144
const nonceSlots = 1_048_576

export type LimitMemory = { readonly limits: TableMemory; readonly sessions: TableMemory; readonly nonces: TableMemory }

/** Memory for the limits of a gateway whose reactors run on so many threads. */
export const makeLimitMemory = (threads: number, connections: number, random: () => number): LimitMemory => ({
  limits: makeTableMemory(
    { slots: Math.max(minSlots, connections * slotsOfConnection), threads, numbers: limitNumbers },
    random,
  ),
  sessions: makeTableMemory({ slots: sessionSlots, threads: 0, numbers: sessionNumbers }, random),
  nonces: makeTableMemory({ slots: nonceSlots, threads: 0, numbers: 1 }, random),
})

/** A bucket's level, and when it was filled. */
const limitNumbers = 2
/** The exit's hash, the end and the turn. */
const sessionNumbers = 3

const openLimitTable = ({ limits }: LimitMemory, thread: number, clock: Clock): SharedTable =>
  new SharedTable(limits, thread, (at, values) => clock() - (values[at + 1] ?? 0) > fullAfterMs)

/** Gives back what a reactor that has ended had counted. */
export const forgetThread = (memory: LimitMemory, thread: number): void => {
  openLimitTable(memory, thread, Date.now).forget(thread)
  for (const table of [memory.sessions, memory.nonces]) new SharedTable(table, thread, () => false).forget(thread)
}

/** Refills a bucket in the table and returns its level; a new bucket is full. */
function refill(table: SharedTable, slot: number, { perSecond, burst }: TokenBucketRate, nowMs: number): number {
  const { values } = table
  const at = table.valuesAt(slot)
  const filledAt = values[at + 1] ?? 0
  if (filledAt === 0) values[at] = burst
  const passedMs = filledAt === 0 ? 0 : nowMs - filledAt
  if (passedMs > 0) values[at] = Math.min(burst, (values[at] ?? 0) + (passedMs * perSecond) / 1000)
  // Another thread may have read the clock a moment later: time that was counted is not counted again.
  if (filledAt === 0 || passedMs > 0 || passedMs < -setBackMs) values[at + 1] = nowMs
  return values[at] ?? 0
}

function takeToken(table: SharedTable, slot: number, rate: TokenBucketRate, nowMs: number, wanted = 1): number {
  if (slot < 0) return 0
  const level = refill(table, slot, rate, nowMs)
  const taken = Math.min(wanted, Math.floor(level))
  table.values[table.valuesAt(slot)] = level - taken
  return taken
}

/** Counts of names in the table. Without room, a name counts as full. */
function openCounts(table: SharedTable, purpose: string): NameCounts {
  const keyOf = table.keysOf(purpose)
  /** The sum of all names. */
  const totalKey = `total ${purpose}`
  const total = (slot: number): number => (slot < 0 ? Number.MAX_SAFE_INTEGER : table.total(slot))
  const add = (key: string | TableKey, count: number): number =>
    table.update(key, (slot) => {
      if (slot >= 0) table.add(slot, count)
      return total(slot)
    })
  const countsTotal = purpose === 'destinations'
  return {
    of: (name) => table.update(keyOf(name), total),
    take(name) {
      if (countsTotal) add(totalKey, 1)
      return add(keyOf(name), 1)
    },
    release(name, count = 1) {
      if (count === 0) return
      if (countsTotal) add(totalKey, -count)
      add(keyOf(name), -count)
    },
    get total() {
      return table.update(totalKey, total)
    },
  }
}

function openTunnelLimits(table: SharedTable, clock: Clock): CommonState['openTunnelLimits'] {
  return (limits) => {
    const rate = rateOf(limits.newPerSecond)
    const ownerKey = table.keysOf('customer')
    const ownKey = table.keysOf('tunnels')
    return {
      enter: (owner, key, max) =>
        table.updateBoth(ownerKey(owner), ownKey(key), (slot, ownSlot) => {
          if (slot < 0 || ownSlot < 0 || table.total(slot) >= limits.tunnels) return 'too_many_tunnels'
          if (max !== null && table.total(ownSlot) >= max) return 'too_many_tunnels'
          if (takeToken(table, slot, rate, clock()) === 0) return 'too_many_new'
          table.add(slot, 1)
          table.add(ownSlot, 1)
          return undefined
        }),
      reachAnother: (owner) => table.update(ownerKey(owner), (slot) => takeToken(table, slot, rate, clock()) > 0),
      leave(owner, key) {
        table.updateBoth(ownerKey(owner), ownKey(key), (slot, ownSlot) => {
          table.add(slot, -1)
          table.add(ownSlot, -1)
        })
      },
    }
  }
}

function openBuckets(table: SharedTable, clock: Clock): CommonState['openBuckets'] {
  return (purpose, rate) => {
    const keyOf = table.keysOf(purpose)
    const takeFrom = (key: string, wanted: number): number =>
      table.update(keyOf(key), (slot) => takeToken(table, slot, rate, clock(), wanted))
    if (purpose !== 'packets') return { take: (key) => takeFrom(key, 1) > 0 }
    const ahead = Math.max(1, Math.floor((rate.perSecond * packetsAheadMs) / 1000))
    return createAhead((key) => takeFrom(key, ahead), clock)
  }
}

const maxAhead = 50_000

/** Tokens that this thread has taken in advance; those left after 5 ms are dropped. */
function createAhead(takeSome: (key: string) => number, clock: Clock): { take(key: string): boolean } {
  const ahead = new Map<string, { left: number; at: number }>()
  return {
    take(key) {
      const nowMs = clock()
      let own = ahead.get(key)
      if (!own) {
        if (ahead.size >= maxAhead) ahead.clear()
        own = { left: 0, at: nowMs }
        ahead.set(key, own)
      }
      if (own.left === 0 || Math.abs(nowMs - own.at) > packetsAheadMs) {
        own.left = takeSome(key)
        own.at = nowMs
      }
      if (own.left === 0) return false
      own.left -= 1
      return true
    },
  }
}

/** The bucket of a speed limit. Each reactor draws one step of it at a time. */
const createDraw =
  (table: SharedTable, clock: Clock): NonNullable<CommonState['drawOf']> =>
  (credential) =>
  (bytesPerSecond) =>
    table.update(`speed ${credential}`, (slot) => {
      if (slot < 0) return 0
      const { values } = table
      const at = table.valuesAt(slot)
      const nowMs = clock()
      const last = values[at + 1] ?? 0
      const filledAt = last === 0 || nowMs < last - setBackMs ? nowMs - stepMs : last
      const steps = Math.max(0, Math.floor((nowMs - filledAt) / stepMs))
      const ofStep = (bytesPerSecond * stepMs) / 1000
      const max = (bytesPerSecond * maxSavedMs) / 1000
      const level = Math.min(max, (values[at] ?? 0) + ofStep * steps)
      const drawn = Math.min(Math.floor(level), Math.max(1, Math.floor(ofStep)))
      values[at] = level - drawn
      values[at + 1] = filledAt + steps * stepMs
      return drawn
    })

type Session = NonNullable<ReturnType<Sessions['find']>>

/** Sessions in shared memory, which holds a hash of the exit's id in 52 bits. */
function createSessions({ sessions: memory }: LimitMemory, thread: number, exits: () => Iterable<string>): Sessions {
  let lastAt = 0
  const table = new SharedTable(memory, thread, (at, values) => (values[at + 1] ?? 0) <= lastAt)
  const { values } = table
  let idOf = new Map<number, string>()
  const hashOf = (exit: string): number =>
    Bun.hash.xxHash32(exit, 1) * 2 ** 20 + (Bun.hash.xxHash32(exit, 2) & 0xf_ff_ff)
  function findExit(hash: number): string {
    // An exit came since, or this one is gone.
    if (!idOf.has(hash)) idOf = new Map([...exits()].map((id) => [hashOf(id), id]))
    return idOf.get(hash) ?? ''
  }
  const read = (at: number): Session | undefined => {
    const endsAt = values[at + 1] ?? 0
    return endsAt === 0 ? undefined : { exit: findExit(values[at] ?? 0), endsAt, turn: values[at + 2] ?? 0 }
  }
  return {
    find: (key) => table.update(key, (slot) => (slot < 0 ? undefined : read(table.valuesAt(slot)))),
    begin: (key, session, nowMs) => {
      lastAt = nowMs
      return table.update(key, (slot) => {
        if (slot < 0) return session
        const at = table.valuesAt(slot)
        const known = read(at)
        if (known && nowMs < known.endsAt) return known
        values.set([hashOf(session.exit), session.endsAt, session.turn], at)
        return session
      })
    },
    forget(key, session) {
      table.update(key, (slot) => {
        const at = table.valuesAt(slot)
        const known = slot < 0 ? undefined : read(at)
        if (known?.exit === session.exit && known.turn === session.turn) values.fill(0, at, at + sessionNumbers)
      })
    },
  }
}

/** Unbilled losses, in a slot of the table for each customer and five minutes: its bytes and its end. */
function createLosses({ sessions: memory }: LimitMemory, thread: number, clock: Clock): Losses {
  let lastAt = 0
  const table = new SharedTable(memory, thread, (at, values) => (values[at + 1] ?? 0) <= lastAt)
  const { values } = table
  const keyOf = (owner: string, slot: number): string => `lost ${slot} ${owner}`
  const add = (owner: string, slot: number, bytes: number): void =>
    table.update(keyOf(owner, slot), (found) => {
      if (found < 0) return
      const at = table.valuesAt(found)
      values[at] = (values[at] ?? 0) + bytes
      values[at + 1] = (slot + lossSlotsKept) * lossSlotMs
    })
  const read = (owner: string, slot: number): number =>
    table.update(keyOf(owner, slot), (found) => (found < 0 ? maxLost.ofOwner : (values[table.valuesAt(found)] ?? 0)))
  return {
    bear(owner, bytes) {
      if (bytes <= 0) return 0
      lastAt = clock()
      const now = Math.floor(lastAt / lossSlotMs)
      // Added first, so that two reactors do not waive the same bytes.
      add(owner, now, bytes)
      let sum = 0
      for (let slot = now - lossSlotsKept + 1; slot <= now; slot += 1) sum += read(owner, slot)
      const excess = Math.min(bytes, Math.max(0, sum - maxLost.ofOwner))
      if (excess > 0) add(owner, now, -excess)
      return bytes - excess
    },
  }
}

/** Wrong logins are remembered for longer than they are refused. */
const wrongMs = 10_000

/** Nonces of hops and wrong logins, each with the instant until which it is kept. */
function createMemories({ nonces }: LimitMemory, thread: number): Pick<CommonState, 'claimNonce' | 'wrongLogins'> {
  let lastAt = 0
  const table = new SharedTable(nonces, thread, (at, values) => (values[at] ?? 0) <= lastAt)
  const { values } = table
  const endOf = (slot: number): number => (slot < 0 ? 0 : (values[table.valuesAt(slot)] ?? 0))
  return {
    claimNonce(nonce, endsAt, nowMs) {
      lastAt = nowMs
      return table.update(`hop ${nonce}`, (slot) => {
        if (slot < 0 || endOf(slot) > nowMs) return false
        values[table.valuesAt(slot)] = endsAt
        return true
      })
    },
    wrongLogins: {
      findAt(key) {
        const endsAt = table.update(`wrong ${key}`, endOf)
        return endsAt === 0 ? undefined : endsAt - wrongMs
      },
      note(key, nowMs) {
        lastAt = nowMs
        table.update(`wrong ${key}`, (slot) => {
          if (slot >= 0) values[table.valuesAt(slot)] = nowMs + wrongMs
        })
      },
    },
  }
}

/** The limits and sessions of a gateway with several reactors, as one of them sees them. */
export function openSharedState(
  memory: LimitMemory,
  thread: number,
  /** The same on all threads, and read afresh: a clock that stops within a turn would add time twice. */
  clock: Clock,
  exits: () => Iterable<string>,
): Omit<CommonState, 'others'> {
  const table = openLimitTable(memory, thread, clock)
  return {
    threads: memory.limits.threads,
    openTunnelLimits: openTunnelLimits(table, clock),
    openCounts: (purpose) => openCounts(table, purpose),
    openBuckets: openBuckets(table, clock),
    sessions: createSessions(memory, thread, exits),
    ...createMemories(memory, thread),
    drawOf: createDraw(table, clock),
    losses: createLosses(memory, thread, clock),
  }
}
