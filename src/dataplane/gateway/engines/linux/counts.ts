import type { After } from '../../../../core/time.ts'
import type { DataPath, NodeCounts, Reported } from '../../../agent/data-path.ts'
import type { CountsMessage, FromReactor, LeaseStatus } from './messages.ts'
import type { ReactorThread } from './thread.ts'

/** Counts reach the main thread within this time. */
const everyMs = 50
/** Sooner after 1 MiB. */
const minMs = 10

/** Sends cumulative counts to the main thread at a limited rate. */
export function createReports(dataPath: Required<DataPath>, post: (message: FromReactor) => void, now: () => number) {
  let sentAt = Number.NEGATIVE_INFINITY
  let isUrgent = false
  let isPlanned = false

  function send(): void {
    sentAt = now()
    const counts = dataPath.takeChanged()
    const sources = dataPath.takeSources()
    if (isEmpty(counts) && sources.length === 0) return
    const leased = counts.subusers.map(({ id, pool }) => ({
      id,
      pool,
      moving: dataPath.noteRequest(id, pool),
      pace: dataPath.paceOf(id, pool),
    }))
    post({ type: 'counts', counts, leased, sources, isUrgent })
    isUrgent = false
  }

  return {
    send,
    hurry: (): void => void (isUrgent = true),

    /** Called after every turn; schedules a turn for the next report. */
    sendIfDue(after: After): void {
      const dueInMs = sentAt + (isUrgent ? minMs : everyMs) - now()
      if (dueInMs <= 0) send()
      else if (!isPlanned) {
        isPlanned = true
        after(dueInMs, () => {
          isPlanned = false
        })
      }
    },
  }
}

const isEmpty = ({ proxies, subusers, hosts, peers, exits = [] }: NodeCounts): boolean =>
  proxies.length + subusers.length + hosts.length + peers.length + exits.length === 0

type Bytes = { readonly received: number; readonly sent: number }

const none: Bytes = { received: 0, sent: 0 }
const sum = (one: Bytes, other: Bytes): Bytes => ({
  received: one.received + other.received,
  sent: one.sent + other.sent,
})
const subuserKey = (id: string, pool: string): string => `${id} ${pool}`

/** Counts of running reactors, and the sum of those of reactors that have died. */
class Table<Count extends Bytes> {
  private readonly now: Map<string, Count>[]
  private readonly before = new Map<string, Bytes>()
  /** The latest count of each key that has changed, for its other fields. */
  private readonly changed = new Map<string, Count>()

  constructor(threads: number) {
    this.now = Array.from({ length: threads }, () => new Map<string, Count>())
  }

  put(thread: number, key: string, count: Count): void {
    this.now[thread]?.set(key, count)
    this.changed.set(key, count)
  }

  beforeOf(key: string): Bytes {
    return this.before.get(key) ?? none
  }

  takeChanged(): Count[] {
    const taken = [...this.changed].map(([key, count]) => ({ ...count, ...this.sumOf(key) }))
    this.changed.clear()
    return taken
  }

  /** The reactor's reported counts are kept; its successor counts from zero. */
  bury(thread: number): void {
    for (const [key, count] of this.now[thread] ?? []) this.before.set(key, sum(count, this.beforeOf(key)))
    this.now[thread]?.clear()
  }

  private sumOf(key: string): Bytes {
    let all = this.beforeOf(key)
    for (const each of this.now) {
      const count = each.get(key)
      if (count) all = sum(all, count)
    }
    return all
  }
}

type ReactorMemory = { readonly memory: Pick<ReactorThread['memory'], 'totalBytes' | 'hopBytes' | 'status'> }

/** Counts of all reactors of this boot; a dead reactor's unreported counts are not billed. */
export class ReactorCounts implements DataPath {
  private readonly proxies
  private readonly subusers
  private readonly hosts
  private readonly exits
  private readonly peers
  /** By thread. */
  private readonly leases: Map<string, LeaseStatus>[]
  private sources: Reported<'sources'>[] = []
  /** Bytes that earlier reactors relayed. */
  private totalBefore = 0
  private hopBytesBefore = 0

  constructor(
    private readonly threads: readonly ReactorMemory[],
    /** The shop's answer about a lease. */
    readonly allow: DataPath['allow'],
  ) {
    const { length } = threads
    this.proxies = new Table<Reported<'proxies'>>(length)
    this.subusers = new Table<Reported<'subusers'>>(length)
    this.hosts = new Table<Reported<'hosts'>>(length)
    this.exits = new Table<Reported<'exits'>>(length)
    this.peers = new Table<Reported<'peers'>>(length)
    this.leases = threads.map(() => new Map<string, LeaseStatus>())
  }

  take(thread: number, { counts, leased, sources }: CountsMessage): void {
    for (const count of counts.proxies) this.proxies.put(thread, String(count.id), count)
    for (const count of counts.subusers) this.subusers.put(thread, subuserKey(count.id, count.pool), count)
    for (const count of counts.hosts) this.hosts.put(thread, `${subuserKey(count.id, count.pool)} ${count.host}`, count)
    for (const count of counts.peers) this.peers.put(thread, `${count.id} ${count.protocol}`, count)
    for (const count of counts.exits ?? []) this.exits.put(thread, count.id, count)
    for (const each of leased) this.leases[thread]?.set(subuserKey(each.id, each.pool), each)
    this.sources.push(...sources)
  }

  /** The reactor has died; the next one counts from zero. */
  noteDeath(thread: number): void {
    const memory = this.threads[thread]?.memory
    this.totalBefore += memory?.totalBytes ?? 0
    this.hopBytesBefore += memory?.hopBytes ?? 0
    for (const table of [this.proxies, this.subusers, this.hosts, this.exits, this.peers]) table.bury(thread)
    this.leases[thread]?.clear()
  }

  /** What reactors that have died had counted of a sub-user. */
  countedBefore(id: string, pool: string): number {
    const { received, sent } = this.subusers.beforeOf(subuserKey(id, pool))
    return received + sent
  }

  takeChanged(): NodeCounts {
    return {
      proxies: this.proxies.takeChanged(),
      subusers: this.subusers.takeChanged(),
      hosts: this.hosts.takeChanged(),
      peers: this.peers.takeChanged(),
      exits: this.exits.takeChanged(),
    }
  }

  takeSources(): readonly Reported<'sources'>[] {
    const taken = this.sources
    this.sources = []
    return taken
  }

  /** Bytes under way at the instant of the last counts. */
  noteRequest(id: string, pool: string): number {
    return this.sumOfLeases(id, pool, 'moving')
  }

  paceOf(id: string, pool: string): number {
    return this.sumOfLeases(id, pool, 'pace')
  }

  private sumOfLeases(id: string, pool: string, field: 'moving' | 'pace'): number {
    const key = subuserKey(id, pool)
    return this.leases.reduce((all, leases) => all + (leases.get(key)?.[field] ?? 0), 0)
  }

  get health() {
    let tunnels = 0
    let totalBytes = this.totalBefore
    let hopBytes = this.hopBytesBefore
    for (const { memory } of this.threads) {
      const { status } = memory
      tunnels += status.tunnels + status.dialling
      totalBytes += memory.totalBytes
      hopBytes += memory.hopBytes
    }
    return { tunnels, totalBytes, hopBytes }
  }
}
