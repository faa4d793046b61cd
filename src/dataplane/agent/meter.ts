import { maxInReport } from '../../node-protocol/limits.ts'
import type { ReportAnswer, ReportBody } from '../../node-protocol/report.ts'
import type { DataPath, NodeCounts, Reported } from './data-path.ts'
import type { Journal } from './journal.ts'
import { type Chance, createBell, createLimitedLog, growingPause, type NodeLog, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

type LeaseRequest = ReportBody['lease_requests'][number]
type PendingLeaseRequest = Pick<LeaseRequest, 'id' | 'pool' | 'turn' | 'want'> & { readonly numberedAt: number }

/** One report's items. They are the same objects as in the queue, so that changed counts are recognised. */
type Batch = Pick<ReportBody, 'proxies' | 'subusers' | 'peers' | 'hosts' | 'sources' | 'exits'> & {
  readonly lease_requests: readonly PendingLeaseRequest[]
}

/** Not billed: when full, new hosts are dropped until they move again. */
const maxHosts = 20_000
const maxSources = 20_000

const subjectKey = (id: string, pool: string): string => `${id}\n${pool}`
const peerKey = ({ id, protocol }: Reported<'peers'>): string => `${id} ${protocol ?? ''}`
const hostKey = ({ id, pool, host }: Reported<'hosts'>): string => `${subjectKey(id, pool)}\n${host}`
const sourceKey = ({ id, address }: Reported<'sources'>): string => `${id}\n${address}`

/** Counts and lease requests that the shop has not confirmed, the latest per subject. */
class ReportQueue {
  private readonly proxies = new Map<number, Reported<'proxies'>>()
  private readonly subusers = new Map<string, Reported<'subusers'>>()
  private readonly peers = new Map<string, Reported<'peers'>>()
  private readonly hosts = new Map<string, Reported<'hosts'>>()
  private readonly sources = new Map<string, Reported<'sources'>>()
  private readonly exits = new Map<string, Reported<'exits'>>()
  private readonly leaseRequests = new Map<string, PendingLeaseRequest>()
  private turn = 0

  constructor(private readonly now: () => number) {}

  add(counts: NodeCounts): void {
    for (const each of counts.proxies) this.proxies.set(each.id, each)
    for (const each of counts.subusers) this.subusers.set(subjectKey(each.id, each.pool), each)
    for (const each of counts.peers) this.peers.set(peerKey(each), each)
    for (const each of counts.exits ?? []) this.exits.set(each.id, each)
    for (const each of counts.hosts) {
      const key = hostKey(each)
      if (each.host.length <= 253 && (this.hosts.size < maxHosts || this.hosts.has(key))) this.hosts.set(key, each)
    }
  }

  addSources(seen: readonly Reported<'sources'>[]): void {
    for (const each of seen) {
      if (this.sources.size < maxSources && each.address.length <= 45) this.sources.set(sourceKey(each), each)
    }
  }

  /** A repeated request keeps its number. */
  requestLease(id: string, pool: string, want: PendingLeaseRequest['want']): void {
    if (this.leaseRequests.get(subjectKey(id, pool))?.want !== want) this.setLeaseRequest(id, pool, want)
  }

  /** Renumbers requests so old that the shop may have let their lease lapse. */
  renumber(olderThanMs: number): void {
    for (const each of this.leaseRequests.values()) {
      if (this.now() - each.numberedAt > olderThanMs) this.setLeaseRequest(each.id, each.pool, each.want)
    }
  }

  dropLeaseRequests(): void {
    return this.leaseRequests.clear()
  }

  /** Up to `max` items of each kind, oldest first, with the counts that the lease requests refer to. */
  batch(max = maxInReport): Batch {
    const requested = [...this.leaseRequests.values().take(max)]
    const counted = new Set<Reported<'subusers'>>()
    for (const each of requested) {
      const count = this.subusers.get(subjectKey(each.id, each.pool))
      if (count) counted.add(count)
    }
    for (const each of this.subusers.values()) {
      if (counted.size >= max) break
      counted.add(each)
    }
    return {
      proxies: [...this.proxies.values().take(max)],
      subusers: [...counted],
      peers: [...this.peers.values().take(max)],
      hosts: [...this.hosts.values().take(max)],
      sources: [...this.sources.values().take(max)],
      ...(this.exits.size > 0 && { exits: [...this.exits.values().take(max)] }),
      lease_requests: requested,
    }
  }

  /** Drops confirmed items. Returns the lease requests that are still the latest of their subject. */
  settle(sent: Batch): PendingLeaseRequest[] {
    for (const each of sent.proxies) drop(this.proxies, each.id, each)
    for (const each of sent.subusers) drop(this.subusers, subjectKey(each.id, each.pool), each)
    for (const each of sent.peers) drop(this.peers, peerKey(each), each)
    for (const each of sent.exits ?? []) drop(this.exits, each.id, each)
    for (const each of sent.hosts) drop(this.hosts, hostKey(each), each)
    for (const each of sent.sources) drop(this.sources, sourceKey(each), each)
    return sent.lease_requests.filter((each) => drop(this.leaseRequests, subjectKey(each.id, each.pool), each))
  }

  /** Moves a rejected batch to the end of the queue. */
  putBack(sent: Batch): void {
    for (const each of sent.proxies) toEnd(this.proxies, each.id)
    for (const each of sent.subusers) toEnd(this.subusers, subjectKey(each.id, each.pool))
    for (const each of sent.peers) toEnd(this.peers, peerKey(each))
    for (const each of sent.exits ?? []) toEnd(this.exits, each.id)
    for (const each of sent.hosts) toEnd(this.hosts, hostKey(each))
    for (const each of sent.sources) toEnd(this.sources, sourceKey(each))
    for (const each of sent.lease_requests) toEnd(this.leaseRequests, subjectKey(each.id, each.pool))
  }

  get hasLeaseRequests(): boolean {
    return this.leaseRequests.size > 0
  }

  get isEmpty(): boolean {
    const { proxies, subusers, peers, hosts, sources, exits, leaseRequests } = this
    return [proxies, subusers, peers, hosts, sources, exits, leaseRequests].every((each) => each.size === 0)
  }

  private setLeaseRequest(id: string, pool: string, want: PendingLeaseRequest['want']): void {
    this.turn += 1
    this.leaseRequests.set(subjectKey(id, pool), { id, pool, turn: this.turn, want, numberedAt: this.now() })
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
  readonly dataPath: DataPath
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
  readonly extraFields?: (() => Pick<ReportBody, 'hop_key' | 'exit_reports'>) | undefined
  /** Reports earlier boots' journals; resolves to whether none is left. Lease requests wait for the first attempt. */
  readonly sendEarlier?: (end: AbortSignal) => Promise<boolean>
}

/** The meter as the data path sees it. Each call returns at once. */
export type LeaseAgent = Pick<Meter, 'wantLease' | 'giveBack' | 'noteNow'>

/** Reports cumulative counts to the shop and requests leases; a lost or repeated report changes nothing. */
export class Meter {
  private readonly timing: Timing
  private readonly pending: ReportQueue
  private readonly bell
  private readonly limitedLog
  /** Leases held by this boot, with the last answer for each. */
  private readonly held = new Map<string, { readonly id: string; readonly pool: string; readonly upto: number }>()
  /** `end` stops waiting; `cut` also aborts a request. */
  private readonly end = new AbortController()
  private readonly cut = new AbortController()
  private loops: Promise<unknown> = Promise.resolve()
  private stopping: Promise<void> | undefined
  private lastReport: Promise<unknown> = Promise.resolve()
  private lastSentAt = Number.NEGATIVE_INFINITY
  lastContactAt: number | undefined
  private failures = 0
  private atOnce = maxInReport
  private isReplaced = false
  private isWithdrawn = false
  private isDraining = false
  private isNoteDue = false
  private restEndsAt = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: MeterDeps) {
    this.timing = deps.timing
    this.pending = new ReportQueue(deps.timing.now)
    this.bell = createBell(deps.timing)
    this.limitedLog = createLimitedLog(deps.log, deps.timing.now)
  }

  /** Requests a lease; the answer arrives through allow(). Repeated requests are merged. */
  wantLease(id: string, pool: string): void {
    if (this.isReplaced || this.stopping) return
    const key = subjectKey(id, pool)
    if (!this.held.has(key)) this.held.set(key, { id, pool, upto: 0 })
    this.pending.requestLease(id, pool, 'lease')
    this.bell.ring()
  }

  /** Returns an unused lease. */
  giveBack(id: string, pool: string): void {
    if (this.isReplaced || this.stopping || !this.held.has(subjectKey(id, pool))) return
    this.pending.requestLease(id, pool, 'return')
    this.bell.ring()
  }

  /** A tunnel has moved 1 MiB since the last journal write: write now. */
  noteNow(): void {
    if (this.stopping || this.isNoteDue) return
    const restMs = this.restEndsAt - this.timing.now()
    if (restMs <= 0) return this.gather()
    this.isNoteDue = true
    void this.timing.pause(restMs, this.end.signal).finally(() => {
      this.isNoteDue = false
      if (!this.stopping) this.gather()
    })
  }

  start(): void {
    this.loops = Promise.all([this.reportLoop(), this.noteLoop()])
  }

  /** Another process took over: from now on reports do not show that the node accepts connections. */
  beginDrain(): void {
    this.isDraining = true
  }

  /** Tells the shop to sell nothing more of this node. Gives up after one second. */
  async withdraw(): Promise<void> {
    this.isWithdrawn = true
    const sent = new AbortController()
    const sending = this.send().then(() => sent.abort())
    await this.timing.pause(withdrawLimitMs, sent.signal)
    // A hanging report is cut by stop().
    void sending
  }

  /** Sends final counts and returns leases within 5 s. Call after the data path has stopped. */
  stop(): Promise<void> {
    this.stopping ??= this.stopOnce()
    return this.stopping
  }

  private gather(): void {
    const beganAt = this.timing.now()
    const { dataPath, journal } = this.deps
    const changed = dataPath.takeChanged()
    this.pending.add(changed)
    this.pending.addSources(dataPath.takeSources())
    journal.note(changed)
    const endedAt = this.timing.now()
    this.restEndsAt = endedAt + Math.min(maxRestMs, (endedAt - beganAt) * restTimes)
  }

  private toBody(batch: Batch): ReportBody {
    const { dataPath } = this.deps
    const { tunnels, totalBytes, hopBytes } = dataPath.health
    const health = {
      tunnels,
      total_bytes: totalBytes,
      ...(hopBytes !== undefined && { hop_bytes: hopBytes }),
      lag_ms: this.deps.lagMs(),
      ...(this.isWithdrawn && { stopping: true }),
    }
    return {
      ...batch,
      boot: this.deps.boot,
      ...(this.deps.beside && this.deps.beside.length > 0 && { beside: [...this.deps.beside] }),
      version: this.deps.version,
      health,
      ...(this.isDraining ? { draining: true } : this.deps.extraFields?.()),
      lease_requests: batch.lease_requests.map(({ id, pool, turn, want }) => ({
        id,
        pool,
        turn,
        want,
        ...(dataPath.noteRequest && want === 'lease' && { moving: dataPath.noteRequest(id, pool) }),
        ...(dataPath.paceOf && want === 'lease' && { pace: dataPath.paceOf(id, pool) }),
      })),
    }
  }

  private take(batch: Batch, answer: ReportAnswer): void {
    const answered = this.pending.settle(batch)
    this.deps.journal.taken(batch)
    const allowances = new Map(answer.allowances.map((each) => [subjectKey(each.id, each.pool), each.upto]))
    for (const { id, pool, want } of answered) {
      const key = subjectKey(id, pool)
      if (want === 'return') this.held.delete(key)
      else {
        // The shop omits a request that it has nothing for.
        const upto = allowances.get(key) ?? this.held.get(key)?.upto ?? 0
        this.held.set(key, { id, pool, upto })
        this.deps.dataPath.allow(id, pool, upto)
      }
    }
    if (answer.replaced) this.noteReplaced()
  }

  /** A later boot holds this node's leases: no lease is requested any more. */
  private noteReplaced(): void {
    this.pending.dropLeaseRequests()
    if (this.isReplaced) return
    this.isReplaced = true
    const explanation = 'Another process runs with this node’s identity, and this one gets no more leases. Stop one.'
    this.deps.log.error('replaced', { boot: this.deps.boot, explanation })
  }

  /** A rejected batch goes to the end, and the next is a tenth as long: one bad item fails alone. */
  private noteFailure(error: unknown, batch: Batch): void {
    this.failures += 1
    if (error instanceof LinkError && error.blamesRequest) {
      this.pending.putBack(batch)
      this.atOnce = Math.max(1, Math.floor(this.atOnce / 10))
    }
    const isFault = !(error instanceof LinkError) || error.trouble === 'fault'
    this.limitedLog(isFault ? 'error' : 'warn', 'report not taken', { fault: error })
  }

  private async sendOnce(): Promise<'taken' | 'more' | 'failed'> {
    this.gather()
    this.pending.renumber(renumberMs)
    const batch = this.pending.batch(this.atOnce)
    const isFull = Object.values(batch).some((each) => (each?.length ?? 0) >= this.atOnce)
    this.lastSentAt = this.timing.now()
    try {
      const answer = await this.deps.link.report(this.toBody(batch), this.cut.signal)
      this.lastContactAt = this.timing.now()
      this.failures = 0
      this.atOnce = Math.min(maxInReport, this.atOnce * 10)
      this.take(batch, answer)
    } catch (error) {
      this.noteFailure(error, batch)
      return 'failed'
    }
    return isFull || this.pending.hasLeaseRequests ? 'more' : 'taken'
  }

  /** One report at a time. */
  private async send(): Promise<'taken' | 'more' | 'failed'> {
    const before = this.lastReport
    const { promise, resolve } = Promise.withResolvers<void>()
    this.lastReport = promise
    await before
    try {
      return await this.sendOnce()
    } finally {
      resolve()
    }
  }

  private pauseAfterFailure(until: AbortSignal): Promise<void> {
    return this.timing.pause(growingPause(this.failures, 100, 5_000, this.deps.chance), until)
  }

  private async tryEarlier(): Promise<boolean> {
    try {
      return (await this.deps.sendEarlier?.(this.end.signal)) ?? true
    } catch (error) {
      // An unreadable folder must not stop the node; the journals stay.
      this.limitedLog('error', 'earlier counts not sent', { fault: error })
      return false
    }
  }

  private async tryEarlierAgain(): Promise<void> {
    do await this.timing.pause(earlierAgainMs, this.end.signal)
    while (!this.end.signal.aborted && !(await this.tryEarlier()))
  }

  private async reportLoop(): Promise<void> {
    const again = (await this.tryEarlier()) ? undefined : this.tryEarlierAgain()
    while (!this.end.signal.aborted) {
      await this.bell.wait(Math.max(0, this.lastSentAt + heartbeatMs - this.timing.now()))
      if (this.pending.hasLeaseRequests) await this.timing.pause(collectMs, this.end.signal)
      if (this.end.signal.aborted) break
      const outcome = await this.send()
      if (outcome === 'failed') await this.pauseAfterFailure(this.end.signal)
      if (outcome !== 'taken') this.bell.ring()
    }
    await again
  }

  private async noteLoop(): Promise<void> {
    while (!this.end.signal.aborted) {
      await this.timing.pause(noteEveryMs, this.end.signal)
      if (this.end.signal.aborted) return
      this.gather()
      void this.deps.journal.sync()
      if (!this.pending.isEmpty) this.bell.ring()
    }
  }

  private async stopOnce(): Promise<void> {
    this.end.abort()
    this.bell.ring()
    for (const { id, pool } of this.isReplaced ? [] : this.held.values()) this.pending.requestLease(id, pool, 'return')
    const done = new AbortController()
    const watching = this.timing.pause(stopLimitMs, done.signal).then(() => this.cut.abort())
    try {
      await this.loops
      this.gather()
      // The last report of a draining process shows that its tunnels have ended.
      if (this.isDraining) await this.send()
      while (!this.pending.isEmpty && !this.cut.signal.aborted) {
        if ((await this.send()) === 'failed') await this.pauseAfterFailure(this.cut.signal)
      }
    } finally {
      done.abort()
      await watching
    }
    await this.deps.journal.close()
  }
}
