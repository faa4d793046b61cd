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

const isEmpty = ({ proxies, subusers, hosts, exits = [] }: NodeCounts): boolean =>
  proxies.length + subusers.length + hosts.length + exits.length === 0

type Bytes = { readonly received: number; readonly sent: number }

const none: Bytes = { received: 0, sent: 0 }
const sum = (one: Bytes, other: Bytes): Bytes => ({
  received: one.received + other.received,
  sent: one.sent + other.sent,
})
const subuserKey = (id: string, pool: string): string => `${id} ${pool}`

/** Counts of this reactor plus those of its predecessors. */
class Table<Count extends Bytes> {
  private readonly now = new Map<string, Count>()
  private readonly before = new Map<string, Bytes>()
  private readonly changed = new Set<string>()

  put(key: string, count: Count): void {
    this.now.set(key, count)
    this.changed.add(key)
  }

  beforeOf(key: string): Bytes {
    return this.before.get(key) ?? none
  }

  takeChanged(): Count[] {
    const taken = [...this.changed].flatMap((key) => {
      const count = this.now.get(key)
      return count ? [{ ...count, ...sum(count, this.beforeOf(key)) }] : []
    })
    this.changed.clear()
    return taken
  }

  restart(): void {
    for (const [key, count] of this.now) {
      this.before.set(key, sum(count, this.beforeOf(key)))
      // Reported counts stay reportable.
      this.now.set(key, { ...count, ...none })
    }
  }
}

/** Counts of all reactors of this boot; a dead reactor's unreported counts are not billed. */
export class ReactorCounts implements DataPath {
  private readonly proxies = new Table<Reported<'proxies'>>()
  private readonly subusers = new Table<Reported<'subusers'>>()
  private readonly hosts = new Table<Reported<'hosts'>>()
  private readonly exits = new Table<Reported<'exits'>>()
  private readonly leases = new Map<string, LeaseStatus>()
  private sources: Reported<'sources'>[] = []
  /** Bytes that earlier reactors relayed. */
  private totalBefore = 0
  private hopBytesBefore = 0

  constructor(private readonly thread: Pick<ReactorThread, 'memory' | 'post'>) {}

  take({ counts, leased, sources }: CountsMessage): void {
    for (const count of counts.proxies) this.proxies.put(String(count.id), count)
    for (const count of counts.subusers) this.subusers.put(subuserKey(count.id, count.pool), count)
    for (const count of counts.hosts) this.hosts.put(`${subuserKey(count.id, count.pool)} ${count.host}`, count)
    for (const count of counts.exits ?? []) this.exits.put(count.id, count)
    for (const each of leased) this.leases.set(subuserKey(each.id, each.pool), each)
    this.sources.push(...sources)
  }

  /** The reactor has died; the next one counts from zero. */
  noteDeath(): void {
    const { totalBytes, hopBytes } = this.thread.memory
    this.totalBefore += totalBytes
    this.hopBytesBefore += hopBytes
    for (const table of [this.proxies, this.subusers, this.hosts, this.exits]) table.restart()
    this.leases.clear()
  }

  takeChanged(): NodeCounts {
    return {
      proxies: this.proxies.takeChanged(),
      subusers: this.subusers.takeChanged(),
      hosts: this.hosts.takeChanged(),
      peers: [],
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
    return this.leases.get(subuserKey(id, pool))?.moving ?? 0
  }

  paceOf(id: string, pool: string): number {
    return this.leases.get(subuserKey(id, pool))?.pace ?? 0
  }

  /** Converts the limit to the count of the current reactor, which began at zero. */
  allow(id: string, pool: string, upto: number): void {
    const { received, sent } = this.subusers.beforeOf(subuserKey(id, pool))
    this.thread.post({ type: 'allow', id, pool, upto: Math.max(0, upto - received - sent) })
  }

  get health() {
    const { totalBytes, hopBytes, status } = this.thread.memory
    return {
      tunnels: status.tunnels + status.dialling,
      totalBytes: this.totalBefore + totalBytes,
      hopBytes: this.hopBytesBefore + hopBytes,
    }
  }
}
