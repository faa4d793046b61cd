import type { Sha256 } from '../../core/chain.ts'
import type { CustomerId, OrderId } from '../../core/ids.ts'
import { fieldProblem } from '../../core/messages/problems.ts'
import { malformed } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { metadataOf } from '../metadata/index.ts'
import type { Metadata } from '../metadata/rules.ts'
import {
  type CustomerEvent,
  type DomainEvent,
  type EndingRow,
  eventKeptMs,
  eventTypes,
  type FeedPosition,
  type FeedType,
  isEventType,
  type NumberedEvent,
  thingOf,
} from './rules.ts'
import * as store from './store.ts'

/** A read of rows that end after a position, in the order of their ends, with the events to write. */
export type ReadEnding = (
  tx: Tx,
  after: EndingRow,
  untilAt: number,
  limit: number,
) => Promise<{ readonly events: readonly DomainEvent[]; readonly count: number; readonly last: EndingRow | undefined }>

/** Gets the customers whose events a transaction writes. */
type NotedListener = (customers: readonly CustomerId[]) => void

type EventDeps = { readonly db: Database; readonly clock: Clock; readonly sha256: Sha256 }

export type Events = ReturnType<typeof createEvents>

export function createEvents(deps: EventDeps) {
  const { db, clock } = deps
  const listeners = new Set<NotedListener>()

  const note = (tx: Tx, events: readonly DomainEvent[]): Promise<void> => noteEvents(deps, listeners, tx, events)
  return {
    /** Calls a function for every transaction of this process that writes events, before it commits or rolls back. */
    onNoted(listener: NotedListener): void {
      listeners.add(listener)
    },

    /** Writes events in the transaction that caused them, in the order of customers' ids, which avoids deadlocks. */
    note,

    announce: (...of: Announcement) => announceEnds(deps, note, ...of),

    /** A page of a customer's events, oldest first. */
    async list(
      customer: CustomerId,
      filter: { readonly after: number; readonly type: string | undefined; readonly limit: number },
    ): Promise<CustomerEvent[]> {
      if (filter.type !== undefined && !isEventType(filter.type)) {
        throw malformed([{ ...fieldProblem('type', 'one_of', { allowed: eventTypes }), see: '/docs/events' }])
      }
      return store.listEvents(db, customer, { ...filter, type: filter.type ?? '' })
    },

    /** The numbers of customers' last events, and how often the access of each was revoked. */
    lastNumbers: (customers: readonly CustomerId[]) => store.lastNumbers(db, customers),

    /** A customer's events after a number, oldest first. */
    between: (customer: CustomerId, after: number, limit: number): Promise<CustomerEvent[]> =>
      store.listEvents(db, customer, { after, type: '', limit }),

    lastOf: store.lastOf,

    /** Events of all customers and of the operators for the activity feed, newest first. */
    feed: (types: readonly FeedType[], below: FeedPosition, limit: number): Promise<NumberedEvent[]> =>
      types.length === 0 ? Promise.resolve([]) : store.listFeed(db, types, below, limit),

    ofOrder: (customer: CustomerId, order: OrderId): Promise<CustomerEvent[]> => store.listOfOrder(db, customer, order),

    /** Deletes at most `limit` events older than 30 days; returns how many. */
    forget: (limit: number): Promise<number> =>
      db.transact((tx) => store.deleteEvents(tx, clock() - eventKeptMs, limit)),
  }
}

async function noteEvents(deps: EventDeps, listeners: Iterable<NotedListener>, tx: Tx, events: readonly DomainEvent[]) {
  if (events.length === 0) return
  const nowMs = deps.clock()
  const byCustomer = [...Map.groupBy(events, (each) => each.customer)]
  for (const [customer, all] of byCustomer.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const of = await withMetadata(tx, customer, all)
    const { first, at } = await store.takeNumbers(tx, customer, of.length, nowMs)
    const numbered = of.map((each, index) => ({ ...each, seq: first + index, at }))
    store.insertEvents(tx, numbered, deps.sha256)
  }
  const customers = byCustomer.map(([customer]) => customer)
  for (const listener of listeners) listener(customers)
}

/** Adds the pairs of each event's thing as they are now. The event of a new order has its pairs already. */
async function withMetadata(tx: Tx, customer: CustomerId, events: readonly DomainEvent[]) {
  const pairs = new Map<string, Metadata>()
  const things = new Set(events.flatMap((each) => (each.type === 'order.created' ? [] : [each.subject ?? ''])))
  const known = [...things].flatMap((subject) => thingOf(subject) ?? [])
  for (const [kind, of] of Map.groupBy(known, (each) => each.kind)) {
    const ids = of.map((each) => each.id)
    for (const [id, metadata] of await metadataOf(tx, customer, kind, ids)) pairs.set(`${kind} ${id}`, metadata)
  }
  if (pairs.size === 0) return events
  return events.map((event) => {
    const thing = thingOf(event.subject ?? '')
    const metadata = thing && pairs.get(`${thing.kind} ${thing.id}`)
    return metadata === undefined ? event : { ...event, data: { ...event.data, metadata } }
  })
}

type Announcement = [
  name: string,
  of: { readonly floorAt: number; readonly untilAt: number; readonly limit: number },
  read: ReadEnding,
]

/**
 * Writes the events of rows whose end is now at most `untilAt`, each once: the mark of what is announced moves in the
 * same transaction. Rows that end up to `floorAt` are left out. Returns how many rows it read.
 */
const announceEnds = (deps: EventDeps, note: Events['note'], ...[name, of, read]: Announcement): Promise<number> =>
  deps.db.transact(async (tx) => {
    // Instants are whole: no row up to `untilAt` is past this position, and each later one is.
    const past = (at: number) => ({ at: at + 1, id: '' })
    const mark = await store.lockMark(tx, name, past(of.untilAt))
    const after = mark.at > of.floorAt ? mark : past(of.floorAt)
    if (after.at > of.untilAt) return 0
    const { events, count, last } = await read(tx, after, of.untilAt, of.limit)
    await note(tx, events)
    store.writeMark(tx, name, count < of.limit || !last ? past(of.untilAt) : last)
    return count
  })
