import { z } from '@hono/zod-openapi'
import { readId } from '../../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { Posting } from '../../../domains/ledger/rules.ts'
import type { Order, Plain } from '../../../domains/orders/rules.ts'
import {
  exampleAt,
  exampleOrder,
  examplePayment,
  exportQuery,
  handedOut,
  moment,
  nextCursor,
  orderId,
  pageOf,
  pageQuery,
  roubles,
  text,
  whole,
} from '../../fields.ts'
import { operation } from '../../operation.ts'

const tag = 'Account'
/** Orders stand after what can be bought, so that whoever tries the operations in turn has one to look at. */
const ordersTag = 'Orders'

export const getBalance = operation({
  id: 'getBalance',
  method: 'GET',
  path: '/balance',
  tag,
  summary: 'Read the balance',
  answer: z.object({
    balance_rub: roubles(
      'What can be spent now; below zero it is a debt, which a payment that was taken back leaves.',
      98_200,
    ),
    api_spent_rub: roubles(
      'All that was charged through API tokens, renewals that they have set included, less what was refunded of it.',
      1800,
    ),
  }),
  example: { balance_rub: 98_200, api_spent_rub: 1800 },
})

export const toBalance = (of: { balance: Kopecks; apiSpent: Kopecks }) => ({
  balance_rub: toRoubles(of.balance),
  api_spent_rub: toRoubles(of.apiSpent),
})

export const exportAccount = operation({
  id: 'exportAccount',
  method: 'GET',
  path: '/export',
  tag,
  summary: 'Everything that is kept about you, a page at a time, for your own records',
  description: 'Only for whoever has signed in: a token is for programs, which need not know who you are.',
  access: 'session',
  // An operator's view of the customer's pages has the scope "read" alone: exporting is the customer's own.
  scope: 'trade',
  query: z.object(exportQuery),
  answer: z.object({
    items: z.array(handedOut()).openapi({ description: 'One page, table after table. No password is in it.' }),
    next_cursor: nextCursor(),
  }),
  example: { items: [{ table: 'proxies', row: { id: 7 } }], next_cursor: null },
})

const transaction = z
  .object({
    id: whole("The movement's number in this customer's account, from 1 without gaps.", 1),
    kind: z
      .enum(['credit', 'charge', 'refund', 'debit'])
      .openapi({ description: 'Money that came in, that was taken, or that was given back.' }),
    amount_rub: roubles('How much; negative when money was taken.', 100_000),
    balance_after_rub: roubles('The balance after it.', 100_000),
    order_id: text('The order that it paid for or gave back; null without one.', exampleOrder).nullable(),
    refund_of: whole('The number of the charge that this gives back; null otherwise.').nullable(),
    payment_id: text('The payment that it stands for; null without one.', examplePayment).nullable(),
    note: text('What it was for, in words.', 'sandbox money'),
    created_at: moment('When it happened.'),
  })
  .openapi('Transaction')

export const listTransactions = operation({
  id: 'listTransactions',
  method: 'GET',
  path: '/transactions',
  tag,
  summary: 'List every movement of money, newest first',
  query: z.object(pageQuery),
  answer: z.object({
    transactions: z.array(transaction).openapi({ description: 'One page of movements.' }),
    next_cursor: nextCursor(),
  }),
  example: {
    transactions: [
      {
        id: 1,
        kind: 'credit',
        amount_rub: 100_000,
        balance_after_rub: 100_000,
        order_id: null,
        refund_of: null,
        payment_id: null,
        note: 'sandbox money',
        created_at: toIso(exampleAt),
      },
    ],
    next_cursor: null,
  },
})

/** What an operator refers to is his own affair, and a share stands for the payment of somebody else. */
const notTold = ['funds:operator', 'funds:referral']

const paymentOf = (of: Posting): string | null =>
  of.reference === null || notTold.includes(of.house) ? null : (readId('payment', of.reference) ?? null)

const toTransaction = (of: Posting) => ({
  id: of.seq,
  kind: of.kind,
  amount_rub: toRoubles(of.amount),
  balance_after_rub: toRoubles(of.balanceAfter),
  order_id: of.order,
  refund_of: of.refundOf,
  payment_id: paymentOf(of),
  note: of.note,
  created_at: toIso(of.at),
})

export const toTransactions = (found: readonly Posting[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (posting) => String(posting.seq))
  return { transactions: items.map(toTransaction), next_cursor }
}

const order = z
  .object({
    order_id: orderId(),
    product: text('What was sold: `dedicated`, `premium` or `vpn`.', 'dedicated'),
    action: text('What was done with it, such as `buy`, `prolong` or `renew`.', 'buy'),
    price_rub: roubles('What it cost.', 1800),
    request: z.looseObject({}).openapi({ type: 'object', description: 'What was asked for, as it was understood.' }),
    calculation: z.looseObject({}).openapi({ type: 'object', description: 'How the price came about.' }),
    created_at: moment('When it was placed.'),
  })
  .openapi('Order')

const orderExample = {
  order_id: exampleOrder,
  product: 'dedicated',
  action: 'buy',
  price_rub: 1658.7,
  request: { country_code: 'DE', period: 30, count: 10, ipv: 4 },
  calculation: {
    catalogue: 1,
    country: 'DE',
    ipv: 4,
    period: 30,
    count: 10,
    kopecks: '165870',
    discount_percent: 7.85,
    expires_at: exampleAt + 30 * 86_400_000,
  },
  created_at: toIso(exampleAt),
}

export const listOrders = operation({
  id: 'listOrders',
  method: 'GET',
  path: '/orders',
  tag: ordersTag,
  summary: 'List orders, newest first',
  query: z.object(pageQuery),
  answer: z.object({
    orders: z.array(order).openapi({ description: 'One page of orders.' }),
    next_cursor: nextCursor(),
  }),
  example: { orders: [orderExample], next_cursor: null },
})

export const getOrder = operation({
  id: 'getOrder',
  method: 'GET',
  path: '/orders/{order_id}',
  tag: ordersTag,
  summary: 'Read one order',
  params: z.object({ order_id: orderId() }),
  answer: order,
  example: orderExample,
  codes: ['not_found'],
  refusals: { not_found: new Refusal('order_not_found') },
})

/** What an order remembers is made of fields; anything else would be shown as one. */
const toFields = (of: Plain): Record<string, unknown> =>
  typeof of === 'object' && of !== null && !('length' in of) ? { ...of } : { value: of }

export const toOrder = (of: Order) => ({
  order_id: of.id,
  product: of.product,
  action: of.action,
  price_rub: toRoubles(of.price),
  request: toFields(of.wish),
  calculation: toFields(of.calculation),
  created_at: toIso(of.createdAt),
})

export const toOrders = (found: readonly Order[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => each.id)
  return { orders: items.map(toOrder), next_cursor }
}
