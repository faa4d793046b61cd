import { toIso } from '../../core/time.ts'
import type { ReadEnding } from '../events/index.ts'
import { announcedDays, type DomainEvent } from '../events/rules.ts'
import type { DedicatedDeps } from './proxies.ts'
import { eventOf, type Proxy } from './rules.ts'
import * as store from './store.ts'

const dayMs = 86_400_000

/** The event of a proxy whose term has ended. */
export const expiredEvent = (proxy: Proxy): DomainEvent =>
  eventOf(proxy, 'proxy.expired', { ip: proxy.address, expires_at: toIso(proxy.expiresAt) })

/** None for a proxy that was bought for so few days: its purchase said when it ends. */
const expiringEvents = (proxy: Proxy, days: number): DomainEvent[] =>
  proxy.expiresAt - proxy.startedAt <= days * dayMs ? [] : [expiringEvent(proxy, days)]

const expiringEvent = (proxy: Proxy, days: number): DomainEvent =>
  eventOf(proxy, 'proxy.expiring', {
    ip: proxy.address,
    days,
    expires_at: toIso(proxy.expiresAt),
    renews: proxy.renewPeriod !== null,
  })

/** Proxies that end after a position, locked in the order of their ids as a purchase locks them. */
const readEnding =
  (toEvents: (proxy: Proxy) => DomainEvent | DomainEvent[]): ReadEnding =>
  async (tx, after, untilAt, limit) => {
    const found = await store.findEnding(tx, { at: after.at, id: Number(after.id) }, untilAt, limit)
    const ends = new Map(found.map((each) => [each.id, each.expiresAt]))
    // A proxy that was prolonged or interrupted meanwhile has another end.
    const isEnding = (proxy: Proxy) =>
      proxy.state === 'held' && proxy.interruptedAt === null && proxy.expiresAt === ends.get(proxy.id)
    const events = (await store.lockMany(tx, [...ends.keys()])).filter(isEnding).flatMap(toEvents)
    const last = found.at(-1)
    return { events, count: found.length, last: last && { at: last.expiresAt, id: String(last.id) } }
  }

/**
 * Writes `proxy.expired`, and `proxy.expiring` 1, 3 and 7 days before the end. A proxy that passes several of these
 * moments while no shop runs gets the last one. Returns how many proxies it read; call again while that is `limit`.
 */
export async function announceEnds(deps: DedicatedDeps, limit: number): Promise<number> {
  const nowMs = deps.clock()
  let most = await deps.events.announce(
    'proxy.expired',
    { floorAt: 0, untilAt: nowMs, limit },
    readEnding(expiredEvent),
  )
  let floorAt = nowMs
  for (const days of announcedDays) {
    const untilAt = nowMs + days * dayMs
    const read = readEnding((proxy) => expiringEvents(proxy, days))
    most = Math.max(most, await deps.events.announce(`proxy.expiring ${days}`, { floorAt, untilAt, limit }, read))
    floorAt = untilAt
  }
  return most
}
