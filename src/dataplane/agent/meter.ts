import { mostInReport, type ReportAnswer, type ReportBody } from '../../node-protocol/report.ts'
import type { Agent, Carrier, Counts, ExitCount, HostCount, PeerCount, ProxyCount, SubuserCount } from './carrier.ts'
import type { Journal } from './journal.ts'
import { type Chance, createBell, createLimitedLog, growingPause, type Log, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

type PendingWish = {
  readonly id: string
  readonly pool: string
  readonly turn: number
  readonly want: 'lease' | 'return'
  /** When it was given its number. */
  readonly numberedAt: number
}

/**
 * What is taken from the waiting for one report: the very objects, so that what moved meanwhile can be told from what
 * did not.
 */
type Batch = Pick<ReportBody, 'proxies' | 'subusers' | 'peers' | 'hosts' | 'sources' | 'exits'> & {
  readonly wishes: readonly PendingWish[]
}

type Source = { readonly id: string; readonly address: string }

/** Of no bill, so the newest are left out when there are too many; a host that goes on moving comes again. */
const mostHosts = 20_000
const mostSources = 20_000

const subjectKey = (id: string, pool: string): string => `${id}\n${pool}`

/**
 * Everything that the shop has not confirmed. Of each subject only the latest count is kept, so this is never larger
 * than the number of subjects. A wish is numbered once, and a new wish about the same subject takes the place of the
 * old one.
 */
function createPending(now: () => number) {
  const proxies = new Map<number, ProxyCount>()
  const subusers = new Map<string, SubuserCount>()
  const peers = new Map<string, PeerCount>()
  const hosts = new Map<string, HostCount>()
  const sources = new Map<string, Source>()
  const exits = new Map<string, ExitCount>()
  const wishes = new Map<string, PendingWish>()
  let turn = 0

  function wish(id: string, pool: string, want: PendingWish['want']): void {
    turn += 1
    wishes.set(subjectKey(id, pool), { id, pool, turn, want, numberedAt: now() })
  }

  return {
    add(counts: Counts): void {
      for (const each of counts.proxies) proxies.set(each.id, each)
      for (const each of counts.subusers) subusers.set(subjectKey(each.id, each.pool), each)
      for (const each of counts.peers) peers.set(each.id, each)
      for (const each of counts.exits ?? []) exits.set(each.id, each)
      for (const each of counts.hosts) {
        const key = `${subjectKey(each.id, each.pool)}\n${each.host}`
        if (each.host.length <= 253 && (hosts.size < mostHosts || hosts.has(key))) hosts.set(key, each)
      }
    },

    addSources(seen: readonly Source[]): void {
      for (const each of seen) {
        if (sources.size < mostSources && each.address.length <= 45) sources.set(`${each.id}\n${each.address}`, each)
      }
    },

    /** Asking for the same thing again while the first asking is unanswered is asking once. */
    wish(id: string, pool: string, want: PendingWish['want']): void {
      if (wishes.get(subjectKey(id, pool))?.want !== want) wish(id, pool, want)
    },

    /** A new number for wishes that went unanswered so long that the shop may have let their lease lapse meanwhile. */
    renumber(olderThanMs: number): void {
      for (const each of wishes.values()) {
        if (now() - each.numberedAt > olderThanMs) wish(each.id, each.pool, each.want)
      }
    },

    wanting: (id: string, pool: string): PendingWish['want'] | undefined => wishes.get(subjectKey(id, pool))?.want,

    dropWishes: (): void => wishes.clear(),

    /** The longest waiting first, at most so many of each kind. What a wish is about is counted in the same report. */
    batch(most = mostInReport): Batch {
      const wished = [...firstOf(wishes.values(), most)]
      const counted = new Set<SubuserCount>()
      for (const each of wished) {
        const count = subusers.get(subjectKey(each.id, each.pool))
        if (count) counted.add(count)
      }
      for (const each of subusers.values()) {
        if (counted.size >= most) break
        counted.add(each)
      }
      return {
        proxies: [...firstOf(proxies.values(), most)],
        subusers: [...counted],
        peers: [...firstOf(peers.values(), most)],
        hosts: [...firstOf(hosts.values(), most)],
        sources: [...firstOf(sources.values(), most)],
        ...(exits.size > 0 && { exits: [...firstOf(exits.values(), most)] }),
        wishes: wished,
      }
    },

    /**
     * The shop has these. Returns the wishes among them that are still the latest about their subject: only their
     * answers count.
     */
    settle(sent: Batch): PendingWish[] {
      for (const each of sent.proxies) drop(proxies, each.id, each)
      for (const each of sent.subusers) drop(subusers, subjectKey(each.id, each.pool), each)
      for (const each of sent.peers) drop(peers, each.id, each)
      for (const each of sent.exits ?? []) drop(exits, each.id, each)
      for (const each of sent.hosts) drop(hosts, `${subjectKey(each.id, each.pool)}\n${each.host}`, each)
      for (const each of sent.sources) drop(sources, `${each.id}\n${each.address}`, each)
      return sent.wishes.filter((each) => drop(wishes, subjectKey(each.id, each.pool), each))
    },

    /** Puts a batch that the shop could not take behind the others, so that one bad item does not hold up the rest. */
    putBack(sent: Batch): void {
      for (const each of sent.proxies) toEnd(proxies, each.id)
      for (const each of sent.subusers) toEnd(subusers, subjectKey(each.id, each.pool))
      for (const each of sent.peers) toEnd(peers, each.id)
      for (const each of sent.exits ?? []) toEnd(exits, each.id)
      for (const each of sent.hosts) toEnd(hosts, `${subjectKey(each.id, each.pool)}\n${each.host}`)
      for (const each of sent.sources) toEnd(sources, `${each.id}\n${each.address}`)
      for (const each of sent.wishes) toEnd(wishes, subjectKey(each.id, each.pool))
    },

    get hasWishes(): boolean {
      return wishes.size > 0
    },

    get isEmpty(): boolean {
      return proxies.size + subusers.size + peers.size + hosts.size + sources.size + exits.size + wishes.size === 0
    },
  }
}

function* firstOf<T>(all: Iterable<T>, most: number): Generator<T> {
  let count = 0
  for (const each of all) {
    if (count >= most) return
    count += 1
    yield each
  }
}

/** Whether it was there still, and has not moved since. */
function drop<K, V>(from: Map<K, V>, key: K, sent: V): boolean {
  return from.get(key) === sent && from.delete(key)
}

function toEnd<K, V>(map: Map<K, V>, key: K): void {
  const value = map.get(key)
  if (value === undefined) return
  map.delete(key)
  map.set(key, value)
}

/**
 * A little less than a second, so that a timer that is late still keeps the promise: `kill -9` loses no more than that.
 */
const noteEveryMs = 900
const heartbeatMs = 2_000
/** Wishes of many tunnels within this time make one request. */
const collectMs = 5
const firstPauseMs = 100
const mostPauseMs = 5_000
/** Writing down takes at most a tenth of the time, and is never put off for longer than this. */
const restTimes = 9
const mostRestMs = 100
/** Long before the shop takes a lease back from a node that it does not hear of. */
const renumberMs = 60_000
const stopLimitMs = 5_000
/** A shop that is away must not hold up a stop. */
const withdrawLimitMs = 1_000
/** How long the shop has peace from journals that it could not take. */
const earlierAgainMs = 60_000

export type MeterDeps = {
  readonly carrier: Carrier
  readonly link: Pick<ShopLink, 'report'>
  readonly journal: Pick<Journal, 'note' | 'taken' | 'sync' | 'close'>
  readonly timing: Timing
  readonly chance: Chance
  readonly log: Log
  readonly boot: string
  readonly version: string
  /** Earlier boots that carry on what they have while this one takes in whoever is new. */
  readonly beside?: readonly string[] | undefined
  /** How far behind the newest change the node is. */
  readonly lagMs: () => number
  /** What a gateway has to say besides what it has carried. */
  readonly says?: (() => Pick<ReportBody, 'hop_key' | 'exit_words'>) | undefined
  /**
   * Tells the shop what earlier boots have carried, and whether it has all of it now. No wish goes out before the first
   * try has ended.
   */
  readonly sendEarlier?: (end: AbortSignal) => Promise<boolean>
  /**
   * A later boot holds this node's leases: another process runs with this identity. Said once; nothing more is wished
   * for.
   */
  readonly onReplaced?: () => void
}

export type Meter = Agent & {
  start(): void
  /** Sends what there is to send now; whether the shop has everything afterwards. */
  flush(limitMs?: number): Promise<boolean>
  /** Another process has taken this one's place: from now on it says what it has carried, and nothing of the node. */
  leave(): void
  /** Tells the shop to sell nothing more of this node; what is sold goes on. Within a second, or not at all. */
  withdraw(): Promise<void>
  /**
   * Final counts, and back with what is held, within five seconds. Closes the journal. The carrier must carry nothing
   * any more.
   */
  stop(): Promise<void>
  readonly lastContactAt: number | undefined
}

/**
 * Tells the shop what is carried, and asks it for more. Counts are cumulative, so whatever is lost or repeated on the
 * way changes nothing.
 */
export function createMeter(deps: MeterDeps): Meter {
  const { carrier, journal, timing } = deps
  const pending = createPending(timing.now)
  const bell = createBell(timing)
  const limitedLog = createLimitedLog(deps.log, timing.now)
  /** What the shop has let this boot carry and has not been given back, each with the last answer. */
  const held = new Map<string, { readonly id: string; readonly pool: string; readonly upto: number }>()
  /** Ends all waiting; `cut` ends a request that is on its way, too. */
  const end = new AbortController()
  const cut = new AbortController()
  let loops: Promise<unknown> = Promise.resolve()
  let stopping: Promise<void> | undefined
  let lastInLine: Promise<unknown> = Promise.resolve()
  let lastSentAt = Number.NEGATIVE_INFINITY
  let lastContactAt: number | undefined
  let failures = 0
  let atOnce = mostInReport
  let isReplaced = false
  let isWithdrawn = false
  let isLeaving = false
  let isNoteDue = false
  let restEndsAt = Number.NEGATIVE_INFINITY

  /** Takes in what the carrier has counted, and writes it down. */
  function gather(): void {
    const beganAt = timing.now()
    const changed = carrier.takeChanged()
    pending.add(changed)
    pending.addSources(carrier.takeSources())
    journal.note(changed)
    const endedAt = timing.now()
    restEndsAt = endedAt + Math.min(mostRestMs, (endedAt - beganAt) * restTimes)
  }

  function toBody(batch: Batch): ReportBody {
    const { tunnels, carried, relayed } = carrier.health
    const health = {
      tunnels,
      carried,
      ...(relayed !== undefined && { relayed }),
      lag_ms: deps.lagMs(),
      ...(isWithdrawn && { stopping: true }),
    }
    return {
      ...batch,
      boot: deps.boot,
      ...(deps.beside && deps.beside.length > 0 && { beside: [...deps.beside] }),
      version: deps.version,
      ...(isLeaving ? { leaving: true } : { health, ...deps.says?.() }),
      wishes: batch.wishes.map(({ id, pool, turn, want }) => ({
        id,
        pool,
        turn,
        want,
        ...(carrier.noteAsked && want === 'lease' && { moving: carrier.noteAsked(id, pool) }),
        ...(carrier.paceOf && want === 'lease' && { pace: carrier.paceOf(id, pool) }),
      })),
    }
  }

  function take(batch: Batch, answer: ReportAnswer): void {
    const answered = pending.settle(batch)
    journal.taken(batch)
    const allowances = new Map(answer.allowances.map((each) => [subjectKey(each.id, each.pool), each.upto]))
    for (const { id, pool, want } of answered) {
      const key = subjectKey(id, pool)
      if (want === 'return') held.delete(key)
      else {
        // A wish that the answer passes over is one that the shop has nothing for.
        const upto = allowances.get(key) ?? held.get(key)?.upto ?? 0
        held.set(key, { id, pool, upto })
        carrier.allow(id, pool, upto)
      }
    }
    if (answer.replaced) noteReplaced()
  }

  function noteReplaced(): void {
    pending.dropWishes()
    if (isReplaced) return
    isReplaced = true
    deps.log.error('replaced', { boot: deps.boot, explanation: 'another process runs with this node’s identity' })
    deps.onReplaced?.()
  }

  /**
   * What the shop could not take goes behind the others, and the next report has a tenth of it, down to single items:
   * so one bad item ends up failing alone.
   */
  function noteFailure(error: unknown, batch: Batch): void {
    failures += 1
    if (error instanceof LinkError && error.blamesRequest) {
      pending.putBack(batch)
      atOnce = Math.max(1, Math.floor(atOnce / 10))
    }
    const isFault = !(error instanceof LinkError) || error.trouble === 'fault'
    limitedLog(isFault ? 'error' : 'warn', 'report not taken', { fault: error })
  }

  async function sendOnce(): Promise<'taken' | 'more' | 'failed'> {
    gather()
    pending.renumber(renumberMs)
    const batch = pending.batch(atOnce)
    const isFull = Object.values(batch).some((each) => (each?.length ?? 0) >= atOnce)
    lastSentAt = timing.now()
    try {
      const answer = await deps.link.report(toBody(batch), cut.signal)
      lastContactAt = timing.now()
      failures = 0
      atOnce = Math.min(mostInReport, atOnce * 10)
      take(batch, answer)
    } catch (error) {
      noteFailure(error, batch)
      return 'failed'
    }
    return isFull || pending.hasWishes ? 'more' : 'taken'
  }

  /** At most one report is on its way, whoever wants it sent. */
  async function send(): Promise<'taken' | 'more' | 'failed'> {
    const before = lastInLine
    const { promise, resolve } = Promise.withResolvers<void>()
    lastInLine = promise
    await before
    try {
      return await sendOnce()
    } finally {
      resolve()
    }
  }

  const pauseAfterFailure = (until: AbortSignal): Promise<void> =>
    timing.pause(growingPause(failures, firstPauseMs, mostPauseMs, deps.chance), until)

  async function tryEarlier(): Promise<boolean> {
    try {
      return (await deps.sendEarlier?.(end.signal)) ?? true
    } catch (error) {
      // A folder that cannot be read must not keep the node from serving; the journals stay where they are.
      limitedLog('error', 'earlier counts not sent', { fault: error })
      return false
    }
  }

  async function tryEarlierAgain(): Promise<void> {
    do await timing.pause(earlierAgainMs, end.signal)
    while (!end.signal.aborted && !(await tryEarlier()))
  }

  async function reportLoop(): Promise<void> {
    const again = (await tryEarlier()) ? undefined : tryEarlierAgain()
    while (!end.signal.aborted) {
      await bell.wait(Math.max(0, lastSentAt + heartbeatMs - timing.now()))
      if (pending.hasWishes) await timing.pause(collectMs, end.signal)
      if (end.signal.aborted) break
      const outcome = await send()
      if (outcome === 'failed') await pauseAfterFailure(end.signal)
      if (outcome !== 'taken') bell.ring()
    }
    await again
  }

  async function noteAfter(restMs: number): Promise<void> {
    isNoteDue = true
    await timing.pause(restMs, end.signal)
    isNoteDue = false
    if (!stopping) gather()
  }

  async function noteLoop(): Promise<void> {
    while (!end.signal.aborted) {
      await timing.pause(noteEveryMs, end.signal)
      if (end.signal.aborted) return
      gather()
      void journal.sync()
      if (!pending.isEmpty) bell.ring()
    }
  }

  /** Sends until nothing is left or the signal is given. */
  async function drain(until: AbortSignal): Promise<boolean> {
    gather()
    while (!pending.isEmpty && !until.aborted) {
      if ((await send()) === 'failed') await pauseAfterFailure(until)
    }
    return pending.isEmpty
  }

  /** Runs the work with a signal that is given after so long. */
  async function within<T>(limitMs: number, limit: AbortController, work: () => Promise<T>): Promise<T> {
    const done = new AbortController()
    const watching = timing.pause(limitMs, done.signal).then(() => limit.abort())
    try {
      return await work()
    } finally {
      done.abort()
      await watching
    }
  }

  async function stopOnce(): Promise<void> {
    end.abort()
    bell.ring()
    for (const { id, pool } of isReplaced ? [] : held.values()) pending.wish(id, pool, 'return')
    await within(stopLimitMs, cut, async () => {
      await loops
      await drain(cut.signal)
    })
    await journal.close()
  }

  function wish(id: string, pool: string, want: 'lease' | 'return'): void {
    if (isReplaced || stopping) return
    const key = subjectKey(id, pool)
    if (want === 'return' && !held.has(key)) return
    if (!held.has(key)) held.set(key, { id, pool, upto: 0 })
    pending.wish(id, pool, want)
    bell.ring()
  }

  return {
    wantLease: (id, pool) => wish(id, pool, 'lease'),
    giveBack: (id, pool) => wish(id, pool, 'return'),

    noteNow() {
      if (stopping || isNoteDue) return
      const restMs = restEndsAt - timing.now()
      if (restMs <= 0) gather()
      else void noteAfter(restMs)
    },

    start() {
      loops = Promise.all([reportLoop(), noteLoop()])
    },

    flush(limitMs = stopLimitMs) {
      const limit = new AbortController()
      return within(limitMs, limit, () => drain(limit.signal))
    },

    leave() {
      isLeaving = true
    },

    async withdraw() {
      isWithdrawn = true
      const told = new AbortController()
      const sending = send().then(() => told.abort())
      await timing.pause(withdrawLimitMs, told.signal)
      // A report that hangs is cut when the meter stops.
      void sending
    },

    stop() {
      stopping ??= stopOnce()
      return stopping
    },

    get lastContactAt() {
      return lastContactAt
    },
  }
}
