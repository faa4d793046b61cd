import { z } from '@hono/zod-openapi'
import type { Posting } from '../../../domains/ledger/rules.ts'
import type { Order } from '../../../domains/orders/rules.ts'
import { type Kopecks, toRoubles } from '../../../kernel/money.ts'
import { toIso } from '../../../kernel/time.ts'
import { cursorAfter, moment, nextCursor, pageQuery, roubles } from '../../fields.ts'
import { operation } from '../../operation.ts'

const tag = 'Account'

export const getBalance = operation({
  id: 'getBalance',
  method: 'GET',
  path: '/balance',
  tag,
  summary: 'Read the balance',
  answer: z.object({
    balance_rub: roubles().openapi({ description: 'What can be spent now.' }),
    api_spent_rub: roubles().openapi({
      description: 'All that was charged through API tokens, less what was refunded of it.',
    }),
  }),
  example: { balance_rub: 98_200, api_spent_rub: 1800 },
})

export const toBalance = (of: { balance: Kopecks; apiSpent: Kopecks }) => ({
  balance_rub: toRoubles(of.balance),
  api_spent_rub: toRoubles(of.apiSpent),
})

const transaction = z
  .object({
    id: z.int().openapi({ description: "The movement's number in this customer's account, from 1 without gaps." }),
    kind: z.enum(['credit', 'charge', 'refund']),
    amount_rub: roubles().openapi({ description: 'Negative when money was taken.' }),
    balance_after_rub: roubles(),
    order_id: z.string().nullable(),
    refund_of: z.int().nullable().openapi({ description: 'The number of the charge that this gives back.' }),
    note: z.string(),
    created_at: moment(),
  })
  .openapi('Transaction')

export const listTransactions = operation({
  id: 'listTransactions',
  method: 'GET',
  path: '/transactions',
  tag,
  summary: 'List every movement of money, newest first',
  query: z.object(pageQuery),
  answer: z.object({ transactions: z.array(transaction), next_cursor: nextCursor() }),
  example: {
    transactions: [
      {
        id: 1,
        kind: 'credit',
        amount_rub: 100_000,
        balance_after_rub: 100_000,
        order_id: null,
        refund_of: null,
        note: 'sandbox money',
        created_at: toIso(1_760_000_000_000),
      },
    ],
    next_cursor: null,
  },
})

export const toTransactions = (postings: readonly Posting[], limit: number) => ({
  transactions: postings.map((posting) => ({
    id: posting.seq,
    kind: posting.kind,
    amount_rub: toRoubles(posting.amount),
    balance_after_rub: toRoubles(posting.balanceAfter),
    order_id: posting.order,
    refund_of: posting.refundOf,
    note: posting.note,
    created_at: toIso(posting.at),
  })),
  next_cursor: cursorAfter(postings, limit, (posting) => String(posting.seq)),
})

const order = z
  .object({
    order_id: z.string(),
    product: z.string(),
    action: z.string(),
    price_rub: roubles(),
    request: z.unknown().openapi({ description: 'What was asked for.' }),
    calculation: z.unknown().openapi({ description: 'How the price came about.' }),
    created_at: moment(),
  })
  .openapi('Order')

const orderExample = {
  order_id: 'ord_01k73sf80000000000000000000',
  product: 'dedicated',
  action: 'buy',
  price_rub: 1800,
  request: { country_code: 'DE', period: 30, count: 10, ipv: 4 },
  calculation: { catalogue: 1, per_proxy_rub: 180 },
  created_at: toIso(1_760_000_000_000),
}

export const listOrders = operation({
  id: 'listOrders',
  method: 'GET',
  path: '/orders',
  tag,
  summary: 'List orders, newest first',
  query: z.object(pageQuery),
  answer: z.object({ orders: z.array(order), next_cursor: nextCursor() }),
  example: { orders: [orderExample], next_cursor: null },
})

export const getOrder = operation({
  id: 'getOrder',
  method: 'GET',
  path: '/orders/{order_id}',
  tag,
  summary: 'Read one order',
  params: z.object({ order_id: z.string().openapi({ example: orderExample.order_id }) }),
  answer: order,
  example: orderExample,
  codes: ['not_found'],
})

export const toOrder = (of: Order) => ({
  order_id: of.id,
  product: of.product,
  action: of.action,
  price_rub: toRoubles(of.price),
  request: of.wish,
  calculation: of.calculation,
  created_at: toIso(of.createdAt),
})

export const toOrders = (orders: readonly Order[], limit: number) => ({
  orders: orders.map(toOrder),
  next_cursor: cursorAfter(orders, limit, (each) => each.id),
})
