import { bytes, toGigabytes } from '../../core/bytes.ts'
import { toIso } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { ReadEnding } from '../events/index.ts'
import { announcedDays, type DomainEvent, type EventData, type EventType } from '../events/rules.ts'
import { alertSubjectOf, type Subscription, type SubscriptionId, usedBy } from './rules.ts'
import * as store from './store.ts'
import type { VpnDeps } from './subscriptions.ts'

const dayMs = 86_400_000

export const eventOf = (
  of: Pick<Subscription, 'uuid' | 'customer'>,
  type: EventType,
  data: EventData,
  order: DomainEvent['order'] = null,
): DomainEvent => ({ customer: of.customer, type, order, subject: of.uuid, data: { uuid: of.uuid, ...data } })

/** Subscriptions that end after a position, locked in the order of their ids. */
const readEnding =
  (toEvent: (of: Subscription) => DomainEvent): ReadEnding =>
  async (tx, after, untilAt, limit) => {
    const found = await store.findEnding(tx, after, untilAt, limit)
    const ends = new Map(found.map((each) => [each.uuid, each.expiresAt]))
    // A subscription that was renewed or deleted meanwhile has another end.
    const isEnding = (of: Subscription) => of.deletedAt === null && of.expiresAt === ends.get(of.uuid)
    const locked = ends.size === 0 ? [] : await store.lockMany(tx, [...ends.keys()])
    const last = found.at(-1)
    return {
      events: locked.filter(isEnding).map(toEvent),
      count: found.length,
      last: last && { at: last.expiresAt, id: last.uuid },
    }
  }

const expiringEvent = (of: Subscription, days: number): DomainEvent =>
  eventOf(of, 'vpn.expiring', { days, expires_at: toIso(of.expiresAt), renews: of.autoRenewMonths !== null })

/** Writes `vpn.expired`, and `vpn.expiring` 1, 3 and 7 days before the end, as the events of proxies. */
export async function announceEnds(deps: VpnDeps, limit: number): Promise<number> {
  const nowMs = deps.clock()
  const expired = readEnding((of) => eventOf(of, 'vpn.expired', { expires_at: toIso(of.expiresAt) }))
  let most = await deps.events.announce('vpn.expired', { floorAt: 0, untilAt: nowMs, limit }, expired)
  let floorAt = nowMs
  for (const days of announcedDays) {
    const untilAt = nowMs + days * dayMs
    const read = readEnding((of) => expiringEvent(of, days))
    most = Math.max(most, await deps.events.announce(`vpn.expiring ${days}`, { floorAt, untilAt, limit }, read))
    floorAt = untilAt
  }
  return most
}

/** Writes `traffic.low` for subscriptions of whose traffic 80, 95 or 100 % are used since the last purchase. */
export async function announceLow(deps: VpnDeps, limit: number): Promise<number> {
  const due = await store.findLow(deps.db, limit)
  for (const uuid of due) await deps.db.transact((tx) => announceOne(deps, tx, uuid))
  return due.length
}

async function announceOne(deps: VpnDeps, tx: Tx, uuid: SubscriptionId): Promise<void> {
  const of = await store.lockSubscription(tx, uuid)
  if (!of || of.trafficLimit === null) return
  const left = of.trafficLimit > usedBy(of) ? of.trafficLimit - usedBy(of) : 0n
  const percent = await deps.traffic.alerts.takeDue(tx, alertSubjectOf(uuid), left)
  if (percent === undefined) return
  const data = { product: 'vpn', percent, left_gb: toGigabytes(bytes(left)) }
  await deps.events.note(tx, [eventOf(of, 'traffic.low', data)])
}
