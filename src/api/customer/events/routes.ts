import type { Events } from '../../../domains/events/index.ts'
import { type Bound, bind } from '../../bind.ts'
import { pageOf, positionOf, readNumber, soughtFor } from '../../pages.ts'
import { listEvents, toEvent } from './shapes.ts'

export function eventOperations(deps: { events: Events }): readonly Bound[] {
  return [
    bind(listEvents, async ({ caller, query }) => {
      const after = positionOf(query.cursor, readNumber) ?? query.after ?? 0
      const filter = { after, type: query.type, limit: soughtFor(query.limit) }
      const found = await deps.events.list(caller.customer, filter)
      const { items, next_cursor } = pageOf(found, query.limit, 'seq', toEvent)
      return { events: items, next_cursor }
    }),
  ]
}
