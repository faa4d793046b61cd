import { maxInReport, type ReportAnswer, type ReportBody } from '../../node-protocol/report.ts'
import type {
  Carrier,
  CarrierAgent,
  ExitCounter,
  HostCount,
  NodeCounts,
  PeerCount,
  ProxyCount,
  SubuserCount,
} from './carrier.ts'
import type { Journal } from './journal.ts'
import { type Chance, createBell, createLimitedLog, growingPause, type NodeLog, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

type PendingWish = {
  readonly id: string
  readonly pool: string
  readonly turn: number
  readonly want: 'lease' | 'return'
  readonly numberedAt: number
}

/** One report's items. They are the same objects as in the queue, so that changed counts are recognised. */
type Batch = Pick<ReportBody, 'proxies' | 'subusers' | 'peers' | 'hosts' | 'sources' | 'exits'> & {
  readonly wishes: readonly PendingWish[]
}

type Source = { readonly id: string; readonly address: string }

/** Not billed: when full, new hosts are dropped until they move again. */
const maxHosts = 20_000
const maxSources = 20_000

const subjectKey = (id: string, pool: string): string => `${id}\n${pool}`

/** Counts and lease requests that the shop has not confirmed, the latest per subject. */
function createPending(now: () => number) {
  const proxies = new Map<number, ProxyCount>()
  const subusers = new Map<string, SubuserCount>()
  const peers = new Map<string, PeerCount>()
  const hosts = new Map<string, HostCount>()
  const sources = new Map<string, Source>()
  const exits = new Map<string, ExitCounter>()
  const wishes = new Map<string, PendingWish>()
  let turn = 0

  function wish(id: string, pool: string, want: PendingWish['want']): void {
    turn += 1
    wishes.set(subjectKey(id, pool), { id, pool, turn, want, numberedAt: now() })
  }

  return {
    add(counts: NodeCounts): void {
      for (const each of counts.proxies) proxies.set(each.id, each)
      for (const each of counts.subusers) subusers.set(subjectKey(each.id, each.pool), each)
      for (const each of counts.peers) peers.set(each.id, each)
      for (const each of counts.exits ?? []) exits.set(each.id, each)
      for (const each of counts.hosts) {
        const key = `${subjectKey(each.id, each.pool)}\n${each.host}`
        if (each.host.length <= 253 && (hosts.size < maxHosts || hosts.has(key))) hosts.set(key, each)
      }
    },

    addSources(seen: readonly Source[]): void {
      for (const each of seen) {
        if (sources.size < maxSources && each.address.length <= 45) sources.set(`${each.id}\n${each.address}`, each)
      }
    },

    /** A repeated request keeps its number. */
    wish(id: string, pool: string, want: PendingWish['want']): void {
      if (wishes.get(subjectKey(id, pool))?.want !== want) wish(id, pool, want)
    },

    /** Renumbers requests so old that the shop may have let their lease lapse. */
    renumber(olderThanMs: number): void {
      for (const each of wishes.values()) {
        if (now() - each.numberedAt > olderThanMs) wish(each.id, each.pool, each.want)
      }
    },

    dropWishes: (): void => wishes.clear(),

    /** Up to `max` items of each kind, oldest first, with the counts that the lease requests refer to. */
    batch(max = maxInReport): Batch {
      const wished = [...firstOf(wishes.values(), max)]
      const counted = new Set<SubuserCount>()
      for (const each of wished) {
        const count = subusers.get(subjectKey(each.id, each.pool))
        if (count) counted.add(count)
      }
      for (const each of subusers.values()) {
        if (counted.size >= max) break
        counted.add(each)
      }
      return {
        proxies: [...firstOf(proxies.values(), max)],
        subusers: [...counted],
        peers: [...firstOf(peers.values(), max)],
        hosts: [...firstOf(hosts.values(), max)],
        sources: [...firstOf(sources.values(), max)],
        ...(exits.size > 0 && { exits: [...firstOf(exits.values(), max)] }),
        wishes: wished,
      }
    },

    /** Drops confirmed items. Returns the lease requests that are still the latest of their subject. */
    settle(sent: Batch): PendingWish[] {
      for (const each of sent.proxies) drop(proxies, each.id, each)
      for (const each of sent.subusers) drop(subusers, subjectKey(each.id, each.pool), each)
      for (const each of sent.peers) drop(peers, each.id, each)
      for (const each of sent.exits ?? []) drop(exits, each.id, each)
      for (const each of sent.hosts) drop(hosts, `${subjectKey(each.id, each.pool)}\n${each.host}`, each)
      for (const each of sent.sources) drop(sources, `${each.id}\n${each.address}`, each)
      return sent.wishes.filter((each) => drop(wishes, subjectKey(each.id, each.pool), each))
    },

    /** Moves a rejected batch to the end of the queue. */
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

function* firstOf<T>(all: Iterable<T>, max: number): Generator<T> {
  let count = 0
  for (const each of all) {
    if (count >= max) return
    count += 1
    yield each
  }
}

function drop<K, V>(from: Map<K, V>, key: K, sent: V): boolean {
  return from.get(key) === sent && from.delete(key)
}

function toEnd<K, V>(map: Map<K, V>, key: K): void {
  const value = map.get(key)
  if (value === undefined) return
  map.delete(key)
  map.set(key, value)
}

/** Below one second, so that `kill -9` loses at most one second even if the timer is late. */
const noteEveryMs = 900
const heartbeatMs = 2_000
/** Lease requests within this time share a report. */
const collectMs = 5
const firstPauseMs = 100
const maxPauseMs = 5_000
/** Journal writes take at most a tenth of the time, and wait at most maxRestMs. */
const restTimes = 9
const maxRestMs = 100
/** Shorter than the shop's lease expiry for a silent node. */
const renumberMs = 60_000
const stopLimitMs = 5_000
const withdrawLimitMs = 1_000
/** Pause before rejected journals are sent again. */
const earlierAgainMs = 60_000

export type MeterDeps = {
  readonly carrier: Carrier
  readonly link: Pick<ShopLink, 'report'>
  readonly journal: Pick<Journal, 'note' | 'taken' | 'sync' | 'close'>
  readonly timing: Timing
  readonly chance: Chance
  readonly log: NodeLog
  readonly boot: string
  readonly version: string
  /** Earlier boots that still run and drain. */
  readonly beside?: readonly string[] | undefined
  readonly lagMs: () => number
  /** Extra fields of a gateway's report. */
  readonly says?: (() => Pick<ReportBody, 'hop_key' | 'exit_reports'>) | undefined
  /** Reports earlier boots' journals; resolves to whether none is left. Lease requests wait for the first attempt. */
  readonly sendEarlier?: (end: AbortSignal) => Promise<boolean>
  /** A later boot holds this node's leases. Called once; no lease is requested afterwards. */
  readonly onReplaced?: () => void
}

export type Meter = CarrierAgent & {
  start(): void
  /** Sends everything pending; resolves to whether the shop has it all. */
  flush(limitMs?: number): Promise<boolean>
  /** Another process took over: report counts only, no health. */
  leave(): void
  /** Tells the shop to sell nothing more of this node. Gives up after one second. */
  withdraw(): Promise<void>
  /** Sends final counts and returns leases within 5 s. Call after the carrier has stopped. */
  stop(): Promise<void>
  readonly lastContactAt: number | undefined
}

/** Reports cumulative counts to the shop and requests leases; a lost or repeated report changes nothing. */
export function createMeter(deps: MeterDeps): Meter {
  const { carrier, journal, timing } = deps
  const pending = createPending(timing.now)
  const bell = createBell(timing)
  const limitedLog = createLimitedLog(deps.log, timing.now)
  /** Leases held by this boot, with the last answer for each. */
  const held = new Map<string, { readonly id: string; readonly pool: string; readonly upto: number }>()
  /** `end` stops waiting; `cut` also aborts a request. */
  const end = new AbortController()
  const cut = new AbortController()
  let loops: Promise<unknown> = Promise.resolve()
  let stopping: Promise<void> | undefined
  let lastInLine: Promise<unknown> = Promise.resolve()
  let lastSentAt = Number.NEGATIVE_INFINITY
  let lastContactAt: number | undefined
  let failures = 0
  let atOnce = maxInReport
  let isReplaced = false
  let isWithdrawn = false
  let isDraining = false
  let isNoteDue = false
  let restEndsAt = Number.NEGATIVE_INFINITY

  /** Takes the carrier's counts and journals them. */
  function gather(): void {
    const beganAt = timing.now()
    const changed = carrier.takeChanged()
    pending.add(changed)
    pending.addSources(carrier.takeSources())
    journal.note(changed)
    const endedAt = timing.now()
    restEndsAt = endedAt + Math.min(maxRestMs, (endedAt - beganAt) * restTimes)
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
      ...(isDraining ? { leaving: true } : { health, ...deps.says?.() }),
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
        // The shop omits a request that it has nothing for.
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

  /** A rejected batch goes to the end, and the next is a tenth as long: one bad item fails alone. */
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
      atOnce = Math.min(maxInReport, atOnce * 10)
      take(batch, answer)
    } catch (error) {
      noteFailure(error, batch)
      return 'failed'
    }
    return isFull || pending.hasWishes ? 'more' : 'taken'
  }

  /** One report at a time. */
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
    timing.pause(growingPause(failures, firstPauseMs, maxPauseMs, deps.chance), until)

  async function tryEarlier(): Promise<boolean> {
    try {
      return (await deps.sendEarlier?.(end.signal)) ?? true
    } catch (error) {
      // An unreadable folder must not stop the node; the journals stay.
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

  async function drain(until: AbortSignal): Promise<boolean> {
    gather()
    while (!pending.isEmpty && !until.aborted) {
      if ((await send()) === 'failed') await pauseAfterFailure(until)
    }
    return pending.isEmpty
  }

  /** Runs the work and aborts `limit` after so long. */
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
      isDraining = true
    },

    async withdraw() {
      isWithdrawn = true
      const told = new AbortController()
      const sending = send().then(() => told.abort())
      await timing.pause(withdrawLimitMs, told.signal)
      // A hanging report is cut by stop().
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
