import type { CustomerId } from '../../../core/ids.ts'
import type { Events } from '../../../domains/events/index.ts'
import { type Bound, bind } from '../../bind.ts'
import type { z } from '../../operation.ts'
import { pageOf, positionOf, readNumber, soughtFor } from '../../pages.ts'
import { listEvents, toEvent } from './shapes.ts'
import type { EventWatch } from './watch.ts'

type Query = z.output<typeof listEvents.query>

const filterOf = (query: Query) => ({
  after: positionOf(query.cursor, readNumber) ?? query.after ?? 0,
  type: query.type,
})

export function eventOperations(deps: { events: Events; eventWatch: EventWatch }): readonly Bound[] {
  return [
    {
      ...bind(listEvents, async ({ caller, query }) => {
        const found = await deps.events.list(caller.customer, { ...filterOf(query), limit: soughtFor(query.limit) })
        const { items, next_cursor } = pageOf(found, query.limit, 'seq', toEvent)
        return { events: items, next_cursor }
      }),
      waitFirst: ({ caller, query, signal }) => waitForOne(deps, caller.customer, query as Query, signal),
    },
  ]
}

/** Waits until the list would have an event, or for as long as the query says. */
async function waitForOne(
  { events, eventWatch }: Parameters<typeof eventOperations>[0],
  customer: CustomerId,
  query: Query,
  signal: AbortSignal,
): Promise<void> {
  const untilAt = performance.now() + (query.wait ?? 0) * 1000
  const filter = { ...filterOf(query), limit: 1 }
  for (let leftMs = untilAt - performance.now(); leftMs > 0; leftMs = untilAt - performance.now()) {
    const seen = await eventWatch.seen(customer)
    if ((await events.list(customer, filter)).length > 0) return
    await eventWatch.wait(customer, seen, leftMs, signal)
    if (signal.aborted || eventWatch.isStopped) return
    // Only another type's event leads to another wait: after a revocation, and over the limit, the wait has ended.
    const { last, epoch } = await eventWatch.seen(customer)
    if (epoch !== seen.epoch || last === seen.last) return
  }
}
