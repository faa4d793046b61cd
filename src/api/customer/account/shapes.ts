import { readId } from '../../../core/ids.ts'
import { toRoubles } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { Posting } from '../../../domains/ledger/rules.ts'
import type { Order, Plain } from '../../../domains/orders/rules.ts'
import {
  choice,
  exampleAt,
  exampleOrder,
  examplePayment,
  facts,
  list,
  moment,
  named,
  orderId,
  roubles,
  text,
  whole,
} from '../../fields.ts'
import { exampleOf, operationsOf, z } from '../../operation.ts'
import { exportedRow, exportQuery, page, pageQuery } from '../../pages.ts'

const operation = operationsOf({ tag: 'Account' })
/** A tag of its own, listed after the products: a reader who tries all operations in order has an order by then. */
const orderOperation = operationsOf({ tag: 'Orders' })

export const getBalance = operation('getBalance', 'GET /balance', {
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
})

export const exportAccount = operation('exportAccount', 'GET /export', {
  summary: 'Everything that is kept about you, a page at a time, for your own records',
  description: 'Only in a session: a token is for programs, which need not know who you are.',
  access: 'session',
  // An operator's view of the customer's pages has the scope "read" alone: exporting is the customer's own.
  scope: 'trade',
  query: z.object(exportQuery),
  answer: page({ items: list('One page, table after table. No password is in it.', exportedRow()) }),
})

const transaction = named('Transaction', {
  id: whole("The movement's number in this customer's account, from 1 without gaps.", 1),
  kind: choice('Money that came in, that was taken, or that was given back.', ['credit', 'charge', 'refund', 'debit']),
  amount_rub: roubles('How much; negative when money was taken.', 100_000),
  balance_after_rub: roubles('The balance after it.', 100_000),
  order_id: text('The order that it paid for or gave back; null without one.', exampleOrder).nullable(),
  refund_of: whole('The number of the charge that this gives back; null otherwise.').nullable(),
  payment_id: text('The payment that it stands for; null without one.', examplePayment).nullable(),
  note: text('What it was for, in words.', 'sandbox money'),
  created_at: moment('When it happened.'),
})

export const listTransactions = operation('listTransactions', 'GET /transactions', {
  summary: 'List every movement of money, newest first',
  query: z.object(pageQuery),
  answer: page({ transactions: list('One page of movements.', transaction) }),
  example: { transactions: [{ ...exampleOf(transaction), order_id: null, payment_id: null }] },
})

/** Sources of money whose reference is not shown: an operator's own, and another customer's payment. */
const hiddenSources = ['funds:operator', 'funds:referral']

const paymentOf = (of: Posting): string | null =>
  of.reference === null || hiddenSources.includes(of.house) ? null : (readId('payment', of.reference) ?? null)

export const toTransaction = (of: Posting) => ({
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

const order = named('Order', {
  order_id: orderId(),
  product: text('What was sold: `dedicated`, `premium` or `vpn`.', 'dedicated'),
  action: text('What was done with it, such as `buy`, `prolong` or `renew`.', 'buy'),
  price_rub: roubles('What it cost.', 1658.7),
  request: facts('What was asked for, as it was understood.', { country_code: 'DE', period: 30, count: 10, ipv: 4 }),
  calculation: facts('How the price came about.', {
    catalogue: 1,
    country: 'DE',
    ipv: 4,
    period: 30,
    count: 10,
    kopecks: '165870',
    discount_percent: 7.85,
    expires_at: exampleAt + 30 * 86_400_000,
  }),
  created_at: moment('When it was placed.'),
})

export const listOrders = orderOperation('listOrders', 'GET /orders', {
  summary: 'List orders, newest first',
  query: z.object(pageQuery),
  answer: page({ orders: list('One page of orders.', order) }),
})

export const getOrder = orderOperation('getOrder', 'GET /orders/{order_id}', {
  summary: 'Read one order',
  params: z.object({ order_id: orderId() }),
  answer: order,
  refusals: { not_found: new Refusal('order_not_found') },
})

/** An order stores an object of fields; any other value is shown as one field. */
const toFields = (of: Plain): Record<string, unknown> =>
  typeof of === 'object' && of !== null && !('length' in of) ? { ...of } : { value: of }

export const toOrder = (of: Order) => ({
  order_id: of.id,
  product: of.product,
  action: of.action,
  price_rub: toRoubles(of.price),
  request: toFields(of.input),
  calculation: toFields(of.calculation),
  created_at: toIso(of.createdAt),
})
