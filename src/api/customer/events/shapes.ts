import { toIso } from '../../../core/time.ts'
import { type CustomerEvent, eventTypes } from '../../../domains/events/rules.ts'
import { choice, exampleOrder, facts, list, moment, named, queryInteger, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'

const operation = operationsOf({ tag: 'Events' })

const event = named('Event', {
  id: whole('Number of the event among your events, from 1 without gaps.', 1),
  type: choice('Type of the event; `/docs/events` describes each type.', eventTypes, 'proxy.replaced'),
  timestamp: moment('When the event happened.'),
  order_id: text('Order with which the product was bought; null if none.', exampleOrder).nullable(),
  data: facts('Details; the fields depend on `type`.', {
    proxy_id: 1201,
    by: 'operator',
    from_ip: '203.0.113.7',
    to_ip: '203.0.113.90',
    reason: 'range lost',
  }),
})

export const listEvents = operation('listEvents', 'GET /events', {
  summary: 'List events, oldest first',
  description:
    'An event is stored in the same transaction as the change it reports, and is deleted after 30 days. To follow ' +
    'events, set `after` to the `id` of the last event you received, and `wait`: you get every later event exactly ' +
    'once. `/docs/events` lists the types and their fields.',
  query: z.object({
    ...pageQuery,
    after: queryInteger({
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      example: 41,
      description:
        'Only events with a greater `id`; use the `id` of the last event you received, and 0 to begin with the ' +
        'first. Ignored if `cursor` is given.',
    }).optional(),
    wait: queryInteger({
      min: 0,
      max: 60,
      example: 30,
      description:
        'Seconds to wait for an event if there is none yet. The answer comes as soon as there is one, and is an ' +
        'empty list after that time. At most 8 requests of a customer wait at a time; with more, the oldest one ' +
        'is answered.',
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
