import type { Counts, ExitCount, HostCount, ProxyCount, SubuserCount } from '../../../agent/carrier.ts'
import type { CountsMessage, LeaseStanding } from './messages.ts'

type Bytes = { readonly received: number; readonly sent: number }

const none: Bytes = { received: 0, sent: 0 }
const sum = (one: Bytes, other: Bytes): Bytes => ({
  received: one.received + other.received,
  sent: one.sent + other.sent,
})
const subuserKey = (id: string, pool: string): string => `${id} ${pool}`

/** Counts of one kind: what this reactor has told, on top of what those before it had told. */
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
      // What was told and not asked for yet is still to be told on.
      this.now.set(key, { ...count, ...none })
    }
  }
}

/**
 * What reactors have counted, as the main thread knows it. A reactor counts from nothing; cumulative counts of the
 * boot go on over its death: what it had told is kept, what it had not told is lost to the customer's good.
 */
export function createMirror() {
  const proxies = new Table<ProxyCount>()
  const subusers = new Table<SubuserCount>()
  const hosts = new Table<HostCount>()
  const exits = new Table<ExitCount>()
  const leases = new Map<string, LeaseStanding>()
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

    takeChanged(): Counts {
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

    /** Of the same moment as the counts. */
    movingOf: (id: string, pool: string): number => leases.get(subuserKey(id, pool))?.moving ?? 0,
    paceOf: (id: string, pool: string): number => leases.get(subuserKey(id, pool))?.pace ?? 0,

    /** An allowance as a reactor counts it, which knows nothing of those before it. */
    uptoOf(id: string, pool: string, upto: number): number {
      const { received, sent } = subusers.beforeOf(subuserKey(id, pool))
      return Math.max(0, upto - received - sent)
    },

    /** The next counts begin from nothing. */
    restart(): void {
      for (const table of [proxies, subusers, hosts, exits]) table.restart()
      leases.clear()
    },
  }
}
