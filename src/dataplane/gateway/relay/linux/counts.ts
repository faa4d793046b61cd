import type { After } from '../../../../core/time.ts'
import type { Carrier, ExitCounter, HostCount, NodeCounts, ProxyCount, SubuserCount } from '../../../agent/carrier.ts'
import type { CountsMessage, FromReactor, LeaseStatus } from './messages.ts'

/** Counts reach the main thread within this time. */
const everyMs = 50
/** Sooner after 1 MiB. */
const minMs = 10

/** Sends cumulative counts to the main thread at a limited rate. */
export function createReports(carrier: Required<Carrier>, post: (message: FromReactor) => void, now: () => number) {
  let sentAt = Number.NEGATIVE_INFINITY
  let isUrgent = false
  let isPlanned = false

  function send(): void {
    sentAt = now()
    const counts = carrier.takeChanged()
    const sources = carrier.takeSources()
    if (isEmpty(counts) && sources.length === 0) return
    const leased = counts.subusers.map(({ id, pool }) => ({
      id,
      pool,
      moving: carrier.noteAsked(id, pool),
      pace: carrier.paceOf(id, pool),
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
export function createMirror() {
  const proxies = new Table<ProxyCount>()
  const subusers = new Table<SubuserCount>()
  const hosts = new Table<HostCount>()
  const exits = new Table<ExitCounter>()
  const leases = new Map<string, LeaseStatus>()
  let sources: { readonly id: string; readonly address: string }[] = []

  return {
    take({ counts, leased, sources: from }: CountsMessage): void {
      for (const count of counts.proxies) proxies.put(String(count.id), count)
      for (const count of counts.subusers) subusers.put(subuserKey(count.id, count.pool), count)
      for (const count of counts.hosts) hosts.put(`${subuserKey(count.id, count.pool)} ${count.host}`, count)
      for (const count of counts.exits ?? []) exits.put(count.id, count)
      for (const each of leased) leases.set(subuserKey(each.id, each.pool), each)
      sources.push(...from)
    },

    takeChanged(): NodeCounts {
      return {
        proxies: proxies.takeChanged(),
        subusers: subusers.takeChanged(),
        hosts: hosts.takeChanged(),
        peers: [],
        exits: exits.takeChanged(),
      }
    },

    takeSources(): readonly { readonly id: string; readonly address: string }[] {
      const taken = sources
      sources = []
      return taken
    },

    /** Same instant as the counts. */
    movingOf: (id: string, pool: string): number => leases.get(subuserKey(id, pool))?.moving ?? 0,
    paceOf: (id: string, pool: string): number => leases.get(subuserKey(id, pool))?.pace ?? 0,

    /** Converts a limit to the count of the current reactor. */
    uptoOf(id: string, pool: string, upto: number): number {
      const { received, sent } = subusers.beforeOf(subuserKey(id, pool))
      return Math.max(0, upto - received - sent)
    },

    restart(): void {
      for (const table of [proxies, subusers, hosts, exits]) table.restart()
      leases.clear()
    },
  }
}
