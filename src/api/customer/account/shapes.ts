import { readId } from '../../../core/ids.ts'
import { kopecks, toRoubles } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { Posting } from '../../../domains/ledger/rules.ts'
import { type Metadata, noMetadata } from '../../../domains/metadata/rules.ts'
import { isIdempotencyKey, type Order, type Plain } from '../../../domains/orders/rules.ts'
import type { RequestPosition, ShownRequest } from '../../../domains/requests/rules.ts'
import {
  checked,
  choice,
  exampleAt,
  exampleOrder,
  examplePayment,
  facts,
  list,
  moment,
  named,
  orderId,
  readAmount,
  roubles,
  shownMetadata,
  soughtMetadata,
  text,
  whole,
} from '../../fields.ts'
import { exampleOf, operationsOf, z } from '../../operation.ts'
import { exportedRow, exportQuery, page, pageQuery } from '../../pages.ts'

const operation = operationsOf({ tag: 'Account' })
/** A tag of its own, listed after the products: a reader who tries all operations in order has an order by then. */
const orderOperation = operationsOf({ tag: 'Orders' })

const alertBelow = () => roubles('Balance below which you get the event `balance.low`; null is never.', 500).nullable()

export const getBalance = operation('getBalance', 'GET /balance', {
  summary: 'Read the balance',
  answer: z.object({
    balance_rub: roubles(
      'Balance available for purchases. A negative balance is a debt, left by a returned payment.',
      98_200,
    ),
    api_spent_rub: roubles(
      'Total charged through API tokens, including automatic renewals that they switched on, minus refunds.',
      1800,
    ),
  }),
})

export const getBalanceAlert = operation('getBalanceAlert', 'GET /balance/alert', {
  summary: 'Read the balance below which you get an event',
  answer: z.object({ alert_below_rub: alertBelow() }),
})

export const setBalanceAlert = operation('setBalanceAlert', 'POST /balance/alert', {
  summary: 'Set the balance below which you get an event',
  description:
    'A charge or debit that takes the balance below `alert_below_rub` writes the event `balance.low`. It is written ' +
    'once; the next one follows after the balance was at or above the threshold again.',
  body: z.object({
    alert_below_rub: z
      .number()
      .transform(readAmount)
      .nullable()
      .openapi({
        type: ['number', 'null'],
        description: 'Threshold in roubles; null switches the event off.',
        example: 500,
      }),
  }),
  answer: z.object({ alert_below_rub: alertBelow() }),
})

export const exportAccount = operation('exportAccount', 'GET /export', {
  summary: 'Export all data stored about you, in pages',
  description: 'Only in a signed-in session. API tokens cannot export personal data.',
  access: 'session',
  // An operator's view of the customer's pages has the scope "read" alone: exporting is the customer's own.
  scope: 'trade',
  query: z.object(exportQuery),
  answer: page({ items: list('One page of rows, table by table. Passwords are not included.', exportedRow()) }),
})

const transaction = named('Transaction', {
  id: whole('Number of the transaction in your account, from 1 without gaps.', 1),
  kind: choice(
    '`credit`: money added; `charge`: payment for an order; `refund`: return of a charge; `debit`: money withdrawn.',
    ['credit', 'charge', 'refund', 'debit'],
  ),
  amount_rub: roubles('Amount; negative for charges and debits.', 100_000),
  balance_after_rub: roubles('Balance after the transaction.', 100_000),
  order_id: text('Order that was paid or refunded; null if none.', exampleOrder).nullable(),
  refund_of: whole('Id of the refunded charge; null otherwise.').nullable(),
  payment_id: text('Payment that caused the transaction; null if none.', examplePayment).nullable(),
  note: text('Description of the transaction.', 'sandbox money'),
  created_at: moment('When the transaction was made.'),
})

export const listTransactions = operation('listTransactions', 'GET /transactions', {
  summary: 'List transactions, newest first',
  query: z.object(pageQuery),
  answer: page({ transactions: list('One page of transactions.', transaction) }),
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

const loggedRequest = named('LoggedRequest', {
  id: text('`X-Request-Id` of the answer.', '0199f3a07c007b3e9d415a6f'),
  created_at: moment('When the answer was ready.'),
  operation: text('Operation, by its name in this description.', 'buyDedicated'),
  status: whole('HTTP status of the answer.', 409),
  reason: text('Reason of a refusal; null without one.', 'out_of_stock').nullable(),
  idempotency_key: text('`Idempotency-Key`; null without one.', 'order-2026-10-001').nullable(),
  token_name: text('Name of the API token; null for the console.', 'shop bot').nullable(),
})

export const listRequests = operation('listRequests', 'GET /requests', {
  summary: 'List your own requests of the last 7 days, newest first',
  description:
    'Without bodies and secrets. The newest 5000 changes, 2000 refusals and 1000 successful reads are kept. ' +
    'Requests to another shop process appear within a second or two; a crash of the shop loses those of the last ' +
    'second. For money and goods look at `GET /orders`: this log decides nothing.',
  query: z.object(pageQuery),
  answer: page({ requests: list('One page of requests.', loggedRequest) }),
})

export const toLoggedRequest = (of: ShownRequest) => ({
  id: of.id,
  created_at: toIso(of.at),
  operation: of.operation,
  status: of.status,
  reason: of.reason,
  idempotency_key: of.key,
  token_name: of.tokenName,
})

/** A position in the log, as its cursor holds it. */
export function readRequestPosition(written: string): RequestPosition | undefined {
  const [, at, id] = /^(\d{1,15}) ([\w-]{1,64})$/.exec(written) ?? []
  return at === undefined || id === undefined ? undefined : { at: Number(at), id }
}

const order = named('Order', {
  order_id: orderId(),
  product: text('Product: `dedicated`, `premium` or `vpn`.', 'dedicated'),
  action: text('Action, such as `buy`, `prolong` or `renew`.', 'buy'),
  price_rub: roubles('Price charged.', 1658.7),
  request: facts('Fields of the request after parsing.', { country_code: 'DE', period: 30, count: 10, ipv: 4 }),
  calculation: facts('Calculation of the price.', {
    catalogue: 1,
    country_code: 'DE',
    ipv: 4,
    period: 30,
    count: 10,
    price_rub: 1658.7,
    full_price_rub: 1800,
    discount_percent: 7.85,
    expires_at: toIso(exampleAt + 30 * 86_400_000),
  }),
  metadata: shownMetadata(),
  created_at: moment('When the order was placed.'),
})

export const listOrders = orderOperation('listOrders', 'GET /orders', {
  summary: 'List orders, newest first',
  query: z.object({
    ...pageQuery,
    idempotency_key: checked(
      'Only the order that the purchase with this `Idempotency-Key` has made. Keys are kept for 7 days.',
      isIdempotencyKey,
      ['visible', { from: 1, to: 255 }],
      'order-2026-10-001',
    ).optional(),
    metadata: soughtMetadata(),
  }),
  answer: page({ orders: list('One page of orders.', order) }),
})

export const delivered = {
  delivered: list(
    'The first 200 services that the order bought or prolonged, in their current state.',
    facts('A proxy, traffic of a sub-user, or a VPN subscription.', {
      proxy: 1,
      address: '198.51.100.7',
      username: 'tp1k7qd',
      status: 'active',
      started_at: toIso(exampleAt),
      expires_at: toIso(exampleAt + 30 * 86_400_000),
    }),
  ),
  delivered_count: whole('Number of these services.', 1),
}

export const toDelivered = ({ services, count }: { services: readonly object[]; count: number }) => ({
  delivered: services.map((each) => ({ ...each })),
  delivered_count: count,
})

export const getOrder = orderOperation('getOrder', 'GET /orders/{order_id}', {
  summary: 'Read one order, and the services that it bought',
  params: z.object({ order_id: orderId() }),
  answer: named('OrderDetails', { ...order.shape, ...delivered }),
  refusals: { not_found: new Refusal('order_not_found') },
})

/** An order stores an object of fields; any other value is shown as one field. */
const toFields = (of: Plain): Record<string, unknown> =>
  typeof of === 'object' && of !== null && !('length' in of) ? { ...of } : { value: of }

/** Names of a stored calculation that differ from those of the API. */
const shownNames: Readonly<Record<string, string>> = {
  country: 'country_code',
  kopecks: 'price_rub',
  full_kopecks: 'full_price_rub',
  per_month_kopecks: 'per_month_rub',
  price_per_gb_kopecks: 'price_per_gb_rub',
}

/** Ends of terms are stored in milliseconds: `expires_at`, and of each prolonged proxy `[id, end]`. */
function toShownTime(name: string, value: Plain): Plain | undefined {
  if (name === 'expires_at' && typeof value === 'number') return toIso(value)
  if (name !== 'proxies' || !Array.isArray(value)) return undefined
  return value.map((pair: Plain) =>
    Array.isArray(pair) && typeof pair[1] === 'number' ? [pair[0], toIso(pair[1])] : pair,
  )
}

/** A calculation is stored with its amounts in kopecks, as texts. VPN and traffic were stored in roubles before 0.3. */
function toShown(of: Plain): Plain {
  if (typeof of !== 'object' || of === null) return of
  if (Array.isArray(of)) return of.map(toShown)
  const fields = Object.entries(of).map(([name, value]): [string, Plain] => {
    const isAmount = name.endsWith('kopecks') && typeof value === 'string' && /^\d+$/.test(value)
    return [
      shownNames[name] ?? name,
      isAmount ? toRoubles(kopecks(BigInt(value))) : (toShownTime(name, value) ?? toShown(value)),
    ]
  })
  return Object.fromEntries(fields)
}

export const toOrder = (of: Order, metadata: Metadata = noMetadata) => ({
  order_id: of.id,
  product: of.product,
  action: of.action,
  price_rub: toRoubles(of.price),
  request: toFields(of.input),
  calculation: toFields(toShown(of.calculation)),
  metadata: { ...metadata },
  created_at: toIso(of.createdAt),
})
