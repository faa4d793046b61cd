import { z } from '@hono/zod-openapi'
import { toIso } from '../../../core/time.ts'
import { type Event, eventTypes } from '../../../domains/events/rules.ts'
import {
  exampleAt,
  exampleOrder,
  moment,
  nextCursor,
  pageOf,
  pageQuery,
  queryInteger,
  text,
  whole,
} from '../../fields.ts'
import { operation } from '../../operation.ts'

const event = z
  .object({
    id: whole('Its number among your events, from 1 without gaps.', 1),
    type: z.enum(eventTypes).openapi({ description: 'What happened, and to what; `/docs/events` tells of each.' }),
    timestamp: moment('When it happened.'),
    order_id: text('The order that the thing was bought with; null without one.', exampleOrder).nullable(),
    data: z.looseObject({}).openapi({ type: 'object', description: 'What there is to know, by type.' }),
  })
  .openapi('Event')

export const listEvents = operation({
  id: 'listEvents',
  method: 'GET',
  path: '/events',
  tag: 'Events',
  summary: 'List what happened to your things, oldest first',
  description:
    'Each event was written in the same moment as what it tells of, and is kept for 30 days. To follow them, ask ' +
    'again with `after` set to the `id` of the last one that you have seen: none is told twice and none is missed. ' +
    '`/docs/events` lists the types and what each carries.',
  query: z.object({
    ...pageQuery,
    after: queryInteger({
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
      example: 41,
      description: 'Only events past this number, the `id` of the last one that you have seen. A `cursor` goes before.',
    }).optional(),
    type: z.enum(eventTypes).optional().openapi({ description: 'Only events of this type.' }),
  }),
  answer: z.object({
    events: z.array(event).openapi({ description: 'One page of events.' }),
    next_cursor: nextCursor(),
  }),
  example: {
    events: [
      {
        id: 1,
        type: 'proxy.replaced',
        timestamp: toIso(exampleAt),
        order_id: exampleOrder,
        data: { proxy_id: 1201, by: 'operator', from_ip: '203.0.113.7', to_ip: '203.0.113.90', reason: 'range lost' },
      },
    ],
    next_cursor: null,
  },
})

const toEvent = (of: Event) => ({
  id: of.seq,
  type: of.type,
  timestamp: toIso(of.at),
  order_id: of.order,
  data: { ...of.data },
})

export const toEvents = (found: readonly Event[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => String(each.seq))
  return { events: items.map(toEvent), next_cursor }
}
