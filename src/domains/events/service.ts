import type { Sha256 } from '../../core/chain.ts'
import type { CustomerId, OrderId } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { unknownType } from './errors.ts'
import { type DomainEvent, type Event, eventKeptMs, eventTypes, isEventType } from './rules.ts'
import * as store from './store.ts'

export type Events = ReturnType<typeof createEvents>

/** What customers are told of their things. */
export function createEvents(deps: { db: Database; clock: Clock; sha256: Sha256 }) {
  const { db, clock } = deps
  return {
    /**
     * Writes events down in the transaction of what they tell of. Customers take their turn in the order of their ids,
     * so that two transactions that tell several never wait for each other.
     */
    async note(tx: Tx, happenings: readonly DomainEvent[]): Promise<void> {
      const nowMs = clock()
      const inTurn = happenings.toSorted((a, b) => (a.customer < b.customer ? -1 : a.customer > b.customer ? 1 : 0))
      for (const each of inTurn) {
        store.insertEvent(tx, { ...each, ...(await store.takeNumber(tx, each.customer, nowMs)) }, deps.sha256)
      }
    },

    /** A page of a customer's events, oldest first. */
    async list(
      customer: CustomerId,
      filter: { readonly after: number; readonly type: string | undefined; readonly limit: number },
    ): Promise<Event[]> {
      if (filter.type !== undefined && !isEventType(filter.type)) throw unknownType(eventTypes)
      return store.listEvents(db, customer, { ...filter, type: filter.type ?? '' })
    },

    /** What was told of an order, the oldest first. */
    ofOrder: (customer: CustomerId, order: OrderId): Promise<Event[]> => store.listOfOrder(db, customer, order),

    /** Forgets events past their time. Returns how many; call again while it is as many as asked for. */
    forget: (most: number): Promise<number> => db.transact((tx) => store.deleteEvents(tx, clock() - eventKeptMs, most)),
  }
}
