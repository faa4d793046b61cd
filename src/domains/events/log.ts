import type { Sha256 } from '../../core/chain.ts'
import type { CustomerId, OrderId } from '../../core/ids.ts'
import { fieldProblem } from '../../core/messages/problems.ts'
import { malformed } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { type CustomerEvent, type DomainEvent, eventKeptMs, eventTypes, isEventType } from './rules.ts'
import * as store from './store.ts'

export type Events = ReturnType<typeof createEvents>

export function createEvents(deps: { db: Database; clock: Clock; sha256: Sha256 }) {
  const { db, clock } = deps
  return {
    /** Writes events in the transaction that caused them, in the order of customers' ids, which avoids deadlocks. */
    async note(tx: Tx, events: readonly DomainEvent[]): Promise<void> {
      const nowMs = clock()
      const inOrder = events.toSorted((a, b) => (a.customer < b.customer ? -1 : a.customer > b.customer ? 1 : 0))
      for (const each of inOrder) {
        store.insertEvent(tx, { ...each, ...(await store.takeNumber(tx, each.customer, nowMs)) }, deps.sha256)
      }
    },

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

    ofOrder: (customer: CustomerId, order: OrderId): Promise<CustomerEvent[]> => store.listOfOrder(db, customer, order),

    /** Deletes at most `limit` events older than 30 days; returns how many. */
    forget: (limit: number): Promise<number> =>
      db.transact((tx) => store.deleteEvents(tx, clock() - eventKeptMs, limit)),
  }
}
