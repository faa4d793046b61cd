import { mostInReport, type ReportBody } from '../../node-protocol/report.ts'
import type { Counts, ExitCount, HostCount, PeerCount, ProxyCount, SubuserCount } from './carrier.ts'

export type PendingWish = {
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
export type Batch = Pick<ReportBody, 'proxies' | 'subusers' | 'peers' | 'hosts' | 'sources' | 'exits'> & {
  readonly wishes: readonly PendingWish[]
}

type Source = { readonly id: string; readonly address: string }

/** Of no bill, so the newest are left out when there are too many; a host that goes on moving comes again. */
const mostHosts = 20_000
const mostSources = 20_000

export const subjectKey = (id: string, pool: string): string => `${id}\n${pool}`

/**
 * Everything that the shop has not confirmed. Of each subject only the latest count is kept, so this is never larger
 * than the number of subjects. A wish is numbered once, and a new wish about the same subject takes the place of the
 * old one.
 */
export function createPending(now: () => number) {
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
