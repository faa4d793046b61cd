import type { Events } from '../../../domains/events/index.ts'
import { type Bound, bind } from '../../bind.ts'
import { positionOf, readNumber, soughtFor } from '../../fields.ts'
import { listEvents, toEvents } from './shapes.ts'

export function eventOperations(deps: { events: Events }): readonly Bound[] {
  return [
    bind(listEvents, async ({ caller, query }) => {
      const after = positionOf(query.cursor, readNumber) ?? query.after ?? 0
      const filter = { after, type: query.type, limit: soughtFor(query.limit) }
      return toEvents(await deps.events.list(caller.customer, filter), query.limit)
    }),
  ]
}
