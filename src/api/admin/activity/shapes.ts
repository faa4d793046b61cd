import { toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import { choice, exampleOrder, facts, given, list, moment, named, queryInteger, roubles, text } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { customerName, exampleCustomer } from '../fields.ts'
import { type Activity, activityKinds } from './shapes-kinds.ts'

const operation = operationsOf({ tag: 'At a glance', role: 'reader' })

const activity = named('Activity', {
  id: text('Id of the item in the feed.', `1760000000000 0 ${exampleOrder}`),
  at: moment('When it happened.'),
  kind: choice('Kind of the item.', activityKinds, 'order'),
  type: text(
    '`order.created`, `customer.created`, `node.joined`, the type of an event or an alert, or an operator’s action.',
    'order.created',
  ),
  customer_id: text('The customer; null if there is none.', exampleCustomer).nullable(),
  customer_name: customerName.nullable(),
  order_id: text('The order; null if there is none.', exampleOrder).nullable(),
  price_rub: roubles('Price of the order; null for other kinds.', 1800).nullable(),
  node: text('The node; null if there is none.', 'gate-1').nullable(),
  data: facts('Details; the fields depend on `type`.', { product: 'dedicated', action: 'buy' }),
})

export const toActivity = (of: Activity, id: string, name: string | null): z.input<typeof activity> => ({
  id,
  at: toIso(of.at),
  kind: of.kind,
  type: of.type,
  customer_id: of.customer,
  customer_name: name,
  order_id: of.order,
  price_rub: of.price === null ? null : toRoubles(of.price),
  node: of.node,
  data: { ...of.data },
})

export const listActivity = operation('listActivity', 'GET /activity', {
  summary: 'List what happens in the shop, newest first: purchases, payments, refunds, registrations, nodes, alerts',
  description:
    'Payments, refunds and alerts are kept for 30 days. To follow the list, send the `id` of its first item as ' +
    '`seen`, and `wait`: the answer comes as soon as there is something newer.',
  query: z.object({
    ...pageQuery,
    kind: choice('Only items of this kind.', activityKinds).optional(),
    wait: queryInteger({
      min: 0,
      max: 60,
      example: 30,
      description:
        'Seconds to wait until the first item is another one than `seen`. At most 8 requests wait at a time; with ' +
        'more, the oldest one is answered.',
    }).optional(),
    seen: given(
      '`id` of the first item that you have; empty if you have none.',
      100,
      `1760000000000 0 ${exampleOrder}`,
    ).optional(),
  }),
  answer: page({ items: list('One page of items.', activity) }),
})
