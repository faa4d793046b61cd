import { z } from '@hono/zod-openapi'
import { toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import type { Event } from '../../../domains/events/rules.ts'
import type { Posting } from '../../../domains/ledger/rules.ts'
import type { Order } from '../../../domains/orders/rules.ts'
import { exampleAt, exampleOrder, moment, nextCursor, pageOf, pageQuery, roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { amount, customerParam, exampleCustomer, note, orderParam, replayed, told, words, yes } from '../fields.ts'

const tag = 'Money and orders'

const movement = z
  .object({
    transaction: whole("The movement's number in the customer's account.", 1),
    at: moment('When.'),
    kind: z.enum(['credit', 'charge', 'refund', 'debit']).openapi({ description: 'What it was.' }),
    amount_rub: roubles('How much; negative when money was taken.', 1000),
    balance_rub: roubles('The balance after it.', 1000),
    order_id: text('The order that it belongs to.', exampleOrder).nullable(),
    key: text('The key that it was asked for under.').nullable(),
    reference: text("The payment's number at the bank.").nullable(),
    note: text('What it was for.', 'top-up'),
  })
  .openapi('Movement')

const movementExample = {
  transaction: 1,
  at: toIso(exampleAt),
  kind: 'credit' as const,
  amount_rub: 1000,
  balance_rub: 1000,
  order_id: null,
  key: null,
  reference: null,
  note: 'top-up',
}

export const toMovement = (of: Posting): z.input<typeof movement> => ({
  transaction: of.seq,
  at: toIso(of.at),
  kind: of.kind,
  amount_rub: toRoubles(of.amount),
  balance_rub: toRoubles(of.balanceAfter),
  order_id: of.order,
  key: of.key,
  reference: of.reference,
  note: of.note,
})

export const listMovements = operation({
  id: 'listMovements',
  method: 'GET',
  path: '/customers/{customer_id}/transactions',
  tag,
  summary: "List a customer's movements of money, newest first",
  role: 'reader',
  params: customerParam,
  query: z.object(pageQuery),
  answer: z.object({ items: z.array(movement).openapi({ description: 'One page.' }), next_cursor: nextCursor() }),
  example: { items: [movementExample], next_cursor: null },
  codes: ['not_found'],
})

export const toMovements = (found: readonly Posting[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => String(each.seq))
  return { items: items.map(toMovement), next_cursor }
}

const adjusting = (kind: 'credit' | 'debit', summary: string, unless: string) =>
  operation({
    id: `${kind}Customer`,
    method: 'POST',
    path: `/customers/{customer_id}/${kind}`,
    tag,
    summary,
    description: 'Under an `Idempotency-Key` it happens once, however often it is asked for.',
    role: 'support',
    params: customerParam,
    body: z.object({
      amount_rub: amount('How much.'),
      note: note(unless),
      reference: words("The payment's number at your bank; only operators see it.", 255, 'INV-17').optional(),
    }),
    exampleBody: { amount_rub: 1000 },
    answer: z.object({
      ...movement.shape,
      repeated: z.boolean().openapi({ description: 'Done before under this key.' }),
    }),
    example: { ...movementExample, repeated: false },
    codes: ['not_found', 'conflict'],
    charges: true,
    isFree: true,
  })

export const creditCustomer = adjusting('credit', "Add money to a customer's balance", 'top-up')
export const debitCustomer = adjusting('debit', "Take money off a customer's balance", 'correction')

const order = z
  .object({
    order_id: text('The id.', exampleOrder),
    customer_id: text('Whose.', exampleCustomer),
    product: text('What was sold.', 'dedicated'),
    action: text('What was done with it.', 'buy'),
    price_rub: roubles('What it cost.', 1800),
    transaction: whole('The movement that paid for it; null if it was free.').nullable(),
    token_id: text('The token it was bought through; null for the console.').nullable(),
    request: told('What was asked for, as it was understood.'),
    calculation: told('How the price came about.'),
    created_at: moment('When.'),
  })
  .openapi('AnyOrder')

const orderExample = {
  order_id: exampleOrder,
  customer_id: exampleCustomer,
  product: 'dedicated',
  action: 'buy',
  price_rub: 1800,
  transaction: 2,
  token_id: null,
  request: { country_code: 'DE', period: 30, count: 10, ipv: 4 },
  calculation: { catalogue: 1 },
  created_at: toIso(exampleAt),
}

const toFields = (of: unknown): Record<string, unknown> =>
  typeof of === 'object' && of !== null && !Array.isArray(of) ? { ...of } : { value: of }

export const toAnyOrder = (of: Order): z.input<typeof order> => ({
  order_id: of.id,
  customer_id: of.customer,
  product: of.product,
  action: of.action,
  price_rub: toRoubles(of.price),
  transaction: of.chargeSeq,
  token_id: of.token,
  request: toFields(of.wish),
  calculation: toFields(of.calculation),
  created_at: toIso(of.createdAt),
})

export const listCustomerOrders = operation({
  id: 'listCustomerOrders',
  method: 'GET',
  path: '/customers/{customer_id}/orders',
  tag,
  summary: "List a customer's orders, newest first",
  role: 'reader',
  params: customerParam,
  query: z.object(pageQuery),
  answer: z.object({ items: z.array(order).openapi({ description: 'One page.' }), next_cursor: nextCursor() }),
  example: { items: [orderExample], next_cursor: null },
  codes: ['not_found'],
})

export const toAnyOrders = (found: readonly Order[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => each.id)
  return { items: items.map(toAnyOrder), next_cursor }
}

const event = z
  .object({
    id: whole("The event's number.", 1),
    type: text('What happened.', 'proxy.replaced'),
    timestamp: moment('When.'),
    order_id: text('The order that it belongs to.', exampleOrder).nullable(),
    data: told('What it tells.'),
  })
  .openapi('AnyEvent')

export const toAnyEvent = (of: Event): z.input<typeof event> => ({
  id: of.seq,
  type: of.type,
  timestamp: toIso(of.at),
  order_id: of.order,
  data: { ...of.data },
})

export const listCustomerEvents = operation({
  id: 'listCustomerEvents',
  method: 'GET',
  path: '/customers/{customer_id}/events',
  tag,
  summary: 'List what a customer was told of his things, oldest first; it is kept for 30 days',
  role: 'reader',
  params: customerParam,
  query: z.object({
    ...pageQuery,
    type: z.string().max(64).optional().openapi({ description: 'Of one type.', example: 'proxy.replaced' }),
  }),
  answer: z.object({ items: z.array(event).openapi({ description: 'One page.' }), next_cursor: nextCursor() }),
  example: { items: [], next_cursor: null },
  codes: ['not_found'],
})

export const toAnyEvents = (found: readonly Event[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => String(each.seq))
  return { items: items.map(toAnyEvent), next_cursor }
}

export const getAnyOrder = operation({
  id: 'getOrderStory',
  method: 'GET',
  path: '/orders/{order_id}',
  tag,
  summary: "An order's whole story: what was asked, the price, what moved, what was delivered and told",
  role: 'reader',
  params: orderParam,
  answer: z.object({
    order,
    transactions: z.array(movement).openapi({ description: 'The charge, and what was given back of it.' }),
    delivered: z.array(told('A thing that it has bought.')).openapi({ description: 'As the things are now.' }),
    events: z.array(event).openapi({ description: 'What the customer was told of it.' }),
  }),
  example: { order: orderExample, transactions: [movementExample], delivered: [], events: [] },
  codes: ['not_found'],
})

export const refundOrder = operation({
  id: 'refundOrder',
  method: 'POST',
  path: '/orders/{order_id}/refund',
  tag,
  summary: 'Give back what an order cost, whole or in part; or end what it has bought and give back what is unused',
  role: 'support',
  params: orderParam,
  body: z.object({
    amount_rub: amount('How much; all of it unless said.').optional(),
    again: yes('Give back more of an order of which a part was given back already.'),
    end: z
      .enum(['unused', 'whole'])
      .optional()
      .openapi({ description: 'End its proxies, traffic or VPN too, for the unused part or for all that it cost.' }),
    note: note('refund'),
  }),
  exampleBody: { amount_rub: 100 },
  answer: z.object({
    customer: text('Whose order it is.', exampleCustomer),
    order_id: text('The order.', exampleOrder),
    amount_rub: roubles('What was given back.', 100),
    balance_rub: roubles('The balance after it.', 1000),
    transaction: whole('The movement of the money, where nothing was ended.').optional(),
    proxies: z.array(z.int()).optional().openapi({ description: 'Proxies that were ended.' }),
    returned_gb: z.number().optional().openapi({ description: 'Traffic that was taken back, in gigabytes.' }),
    uuid: text('The VPN subscription that was ended.').optional(),
    replayed,
  }),
  example: { customer: exampleCustomer, order_id: exampleOrder, amount_rub: 100, balance_rub: 1000 },
  codes: ['not_found', 'conflict'],
  charges: true,
  isFree: true,
})

export const refundTraffic = operation({
  id: 'refundTraffic',
  method: 'POST',
  path: '/orders/{order_id}/refund-traffic',
  tag,
  summary: 'Take back what is unused of a purchase of traffic and return that part of its price, once',
  role: 'support',
  params: orderParam,
  body: z.object({ note: note('unused traffic') }),
  answer: z.object({
    order_id: text('Which order.', exampleOrder),
    returned_gb: z.number().openapi({ description: 'What was taken back.', example: 4.2 }),
    refunded_rub: roubles('What was given back.', 420),
    balance_rub: roubles('The balance after it.', 1420),
  }),
  example: { order_id: exampleOrder, returned_gb: 4.2, refunded_rub: 420, balance_rub: 1420 },
  codes: ['not_found', 'conflict'],
})
