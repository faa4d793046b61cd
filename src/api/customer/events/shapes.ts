import { toIso } from '../../../core/time.ts'
import { type CustomerEvent, eventTypes } from '../../../domains/events/rules.ts'
import { choice, exampleOrder, facts, list, moment, named, queryInteger, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'

const operation = operationsOf({ tag: 'Events' })

const event = named('Event', {
  id: whole('Its number among your events, from 1 without gaps.', 1),
  type: choice('What happened, and to what; `/docs/events` tells of each.', eventTypes, 'proxy.replaced'),
  timestamp: moment('When it happened.'),
  order_id: text('The order that the thing was bought with; null without one.', exampleOrder).nullable(),
  data: facts('What there is to know, by type.', {
    proxy_id: 1201,
    by: 'operator',
    from_ip: '203.0.113.7',
    to_ip: '203.0.113.90',
    reason: 'range lost',
  }),
})

export const listEvents = operation('listEvents', 'GET /events', {
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
    type: choice('Only events of this type.', eventTypes).optional(),
  }),
  answer: page({ events: list('One page of events.', event) }),
})

export const toEvent = (of: CustomerEvent) => ({
  id: of.seq,
  type: of.type,
  timestamp: toIso(of.at),
  order_id: of.order,
  data: { ...of.data },
})
