import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import type { Customer } from '../../../domains/customers/rules.ts'
import type { Posting } from '../../../domains/ledger/rules.ts'
import type { Order } from '../../../domains/orders/rules.ts'
import { delivered, toOrder } from '../../customer/account/shapes.ts'
import { exampleToken, token, tokenBody } from '../../customer/tokens/shapes.ts'
import {
  choice,
  exampleAt,
  exampleOrder,
  facts,
  flag,
  given,
  isoOrNull,
  list,
  moment,
  named,
  part,
  roubles,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { exportedRow, exportQuery, page, pageQuery } from '../../pages.ts'
import {
  amount,
  customerName,
  customerParam,
  dryRun,
  exampleCustomer,
  isDryRun,
  note,
  orderParam,
  printableText,
  refundParts,
  replayed,
  yes,
} from '../fields.ts'

const operation = operationsOf({ tag: 'Customers' })
const support = operationsOf({ tag: 'Customers', role: 'support' })
const reader = operationsOf({ tag: 'Customers', role: 'reader' })

const customer = named('Customer', {
  customer_id: text('The customer’s id.', exampleCustomer),
  name: text('Name that operators see.', 'Anna'),
  login: text('Login; null if the customer has none.', 'anna@example.com').nullable(),
  note: text('Note of operators; the customer never sees it.').nullable(),
  balance_rub: roubles('Balance.', 98_200),
  created_at: moment('When the customer was added.'),
  blocked_at: moment('When the customer was blocked; null if not blocked.').nullable(),
  has_second_factor: flag('Whether the customer signs in with a second factor; absent in lists.').optional(),
})

export const toCustomer = (of: Customer, balance: Kopecks, login: string | null): z.input<typeof customer> => ({
  customer_id: of.id,
  name: of.name,
  login,
  note: of.note,
  balance_rub: toRoubles(balance),
  created_at: toIso(of.createdAt),
  blocked_at: isoOrNull(of.blockedAt),
})

export const listCustomers = reader('listCustomers', 'GET /customers', {
  summary: 'List or search customers, oldest first',
  query: z.object({
    ...pageQuery,
    search: given('Part of the name, login or note, or a customer id.', 200, 'anna').optional(),
  }),
  answer: page({ items: list('One page of customers.', customer) }),
})

export const getCustomer = reader('getCustomer', 'GET /customers/{customer_id}', {
  summary: 'Read one customer',
  params: customerParam,
  answer: customer,
})

export const createCustomer = support('createCustomer', 'POST /customers', {
  creates: true,
  summary: 'Add a customer with a balance of 0',
  body: z.object({ name: printableText('Name that operators see.', 200, 'Anna') }),
  answer: customer,
})

export const blockCustomer = support('blockCustomer', 'POST /customers/{customer_id}/block', {
  affectsNodes: true,
  summary: "Block a customer's tokens, proxies and VPN devices within a second, or unblock them",
  params: customerParam,
  body: z.object({ undo: yes('Unblock the customer.') }),
  answer: customer,
  example: { blocked_at: toIso(exampleAt) },
})

export const noteCustomer = support('noteCustomer', 'POST /customers/{customer_id}/note', {
  summary: 'Set the note about a customer; only operators see it',
  params: customerParam,
  body: z.object({
    note: z
      .string()
      .max(2000)
      .nullable()
      .openapi({ description: 'Text of the note; null deletes it.', example: 'pays by invoice' }),
  }),
  answer: customer,
  example: { note: 'pays by invoice' },
})

export const exportCustomer = operation('exportCustomer', 'GET /customers/{customer_id}/export', {
  isSecret: true,
  summary: 'Export all stored data of a customer, page by page; recorded in the audit log',
  params: customerParam,
  query: z.object(exportQuery),
  answer: page({ items: list('One page of records, table by table, without secrets and digests.', exportedRow()) }),
})

export const eraseCustomer = operation('eraseCustomer', 'POST /customers/{customer_id}/erase', {
  affectsNodes: true,
  summary: 'Erase the personal data of a customer; money, orders and addresses stay under the id. Cannot be undone',
  description:
    'Without `confirm: true` the request is refused with a list of the losses. It is also refused while a payment is ' +
    'open. All services stop at once and nothing is refunded. Older backups keep the data until they are deleted.',
  params: customerParam,
  body: z.object({ confirm: yes('Erase the customer and accept the listed losses.') }),
  exampleBody: { confirm: true },
  answer: z.object({
    customer_id: text('The customer’s id.', exampleCustomer),
    erased_at: moment('Time of the first erasure.'),
    lost: part('Losses of the customer.', {
      balance_rub: roubles('Balance.', 0),
      proxies: whole('Active proxies.', 0),
      vpn_subscriptions: whole('Active VPN subscriptions.', 0),
      traffic_bytes: whole('Unused premium traffic in bytes.', 0),
    }),
    versions: whole('Earlier row versions that were blanked.', 12),
    entries: whole('Audit log entries from which personal data was removed.', 3),
  }),
  codes: ['not_found', 'conflict'],
})

export const viewCustomer = support('viewCustomer', 'POST /customers/{customer_id}/view', {
  summary: "Open a customer's console read-only for an hour",
  description: 'Sets the cookie of a read-only session of the customer.',
  params: customerParam,
  answer: z.object({ expires_at: moment('End of the session.') }),
})

export const linkCustomer = support('linkCustomer', 'POST /customers/{customer_id}/link', {
  creates: true,
  summary: 'Create a sign-in link for a customer, valid once within 24 hours',
  description:
    'Below `owner`, the link is in the answer only for a new customer: one without a password who never had a token, ' +
    'a session or a transaction. For others it is sent to the customer’s e-mail address, or refused without one.',
  params: customerParam,
  answer: z.object({
    link: text(
      'Sign-in link, shown only in this answer; null if it was sent by e-mail.',
      'https://shop.example/#enter=tpl_…',
    ).nullable(),
    sent_to: text('E-mail address that the link was sent to; null if it is in `link`.').nullable(),
    expires_at: moment('Expiry of the link.'),
  }),
})

export const removeCustomerFactor = operation('removeCustomerFactor', 'POST /customers/{customer_id}/remove-factor', {
  summary: 'Remove the second factor of a customer who has lost it',
  params: customerParam,
  answer: z.object({ removed: flag('Whether the customer had a second factor.') }),
})

export const listCustomerTokens = reader('listCustomerTokens', 'GET /customers/{customer_id}/tokens', {
  summary: "List a customer's API tokens",
  params: customerParam,
  answer: z.object({ items: list('All tokens, oldest first.', token) }),
})

export const createCustomerToken = operation('createCustomerToken', 'POST /customers/{customer_id}/tokens', {
  creates: true,
  summary: 'Create an API token for a customer; its text is shown once',
  isIssuing: true,
  params: customerParam,
  body: tokenBody,
  exampleBody: { name: 'my program', scopes: ['read'] },
  answer: z.object({
    token_id: text('The token’s id.', exampleToken),
    token: text('Text of the token, shown only in this answer.', 'tp_live_…'),
  }),
})

export const revokeCustomerToken = support('revokeCustomerToken', 'POST /tokens/{token_id}/revoke', {
  summary: 'Revoke an API token within a second; this cannot be undone',
  params: z.object({ token_id: text('The token’s id.', exampleToken) }),
  answer: z.object({ token_id: text('The token’s id.', exampleToken), revoked: flag('Whether the token is revoked.') }),
})

export const listCustomerProxies = reader('listCustomerProxies', 'GET /customers/{customer_id}/proxies', {
  summary: "List a customer's dedicated proxies, newest first, without passwords",
  description: 'It names the holder of addresses, so each call is recorded in the audit log.',
  params: customerParam,
  query: z.object(pageQuery),
  answer: page({
    items: rows('One page of proxies.', {
      proxy: whole('Number of the proxy.', 7),
      address: text('Egress address.', '203.0.113.7'),
      country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
      ipv: whole('Kind of address: 3, 4 or 6.', 4),
      status: choice('Status of the proxy.', ['active', 'expired', 'gone']),
      username: text('Login of the proxy.', 'tp7abcd'),
      comment: text('Comment of the customer.', 'shop 7'),
      expires_at: moment('Expiry.'),
      auto_renew: whole('Days of each automatic renewal; null if it is off.').nullable(),
      rx_bytes: whole('Bytes that the customer received.', 0),
      tx_bytes: whole('Bytes that the customer sent.', 0),
    }),
  }),
})

export const getCustomerServices = reader('getCustomerServices', 'GET /customers/{customer_id}/services', {
  summary: "Show a customer's VPN subscriptions, premium traffic by sub-user, and its usage by day",
  params: customerParam,
  answer: z.object({
    vpn: rows('VPN subscriptions.', {
      uuid: text('The subscription’s id.', '00000000-0000-4000-8000-000000000000'),
      status: text('Status of the subscription.', 'ACTIVE'),
      expires_at: moment('Expiry.'),
      devices: whole('Devices of the subscription.', 1),
      device_limit: whole('Maximum number of devices.', 5),
      auto_renew_months: whole('Months of each automatic renewal; null if it is off.').nullable(),
      rx_bytes: whole('Bytes that the devices received.', 0),
      tx_bytes: whole('Bytes that the devices sent.', 0),
    }),
    traffic: rows('Premium traffic of the 50 oldest sub-users, by sub-user and pool.', {
      subuser_id: text('The sub-user’s id.', 'sub_01k73sf8000000000000000000'),
      login: text('Login of the sub-user.', 'u0123abcd'),
      name: text('Name of the sub-user.', 'default'),
      blocked: flag('Whether the customer has blocked the sub-user.', false),
      pool: text('Pool.', 'residential'),
      left_bytes: whole('Unused bytes.', 1_000_000_000),
      used_bytes: whole('Used bytes.', 0),
    }),
    usage: rows('Premium traffic of the last 30 days, by day.', {
      day: text('The day, in UTC.', '2026-01-01'),
      rx_bytes: whole('Bytes that the customer received.', 1_000_000),
      tx_bytes: whole('Bytes that the customer sent.', 1_000_000),
    }),
  }),
})

const moneySupport = operationsOf({ tag: 'Money and orders', role: 'support' })
const moneyReader = operationsOf({ tag: 'Money and orders', role: 'reader' })

const movement = named('Movement', {
  transaction: whole('Number of the transaction in the customer’s account.', 1),
  at: moment('Time of the transaction.'),
  kind: choice('Kind of the transaction.', ['credit', 'charge', 'refund', 'debit']),
  amount_rub: roubles('Amount; negative for a charge or debit.', 1000),
  balance_rub: roubles('Balance after the transaction.', 1000),
  order_id: text('Id of the order; null if there is none.').nullable(),
  key: text('`Idempotency-Key` of the request; null if there was none.').nullable(),
  reference: text('Reference number of the payment at the bank.').nullable(),
  note: text('Note.', 'top-up'),
})

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

export const listMovements = moneyReader('listMovements', 'GET /customers/{customer_id}/transactions', {
  summary: "List a customer's transactions, newest first",
  params: customerParam,
  query: z.object(pageQuery),
  answer: page({ items: list('One page of transactions.', movement) }),
})

const adjusting = (kind: 'credit' | 'debit', summary: string, unless: string) =>
  moneySupport(`${kind}Customer`, `POST /customers/{customer_id}/${kind}`, {
    summary,
    description:
      'A repeat with the same `Idempotency-Key` moves no money.' +
      (kind === 'credit'
        ? ' If the key or the reference is the id of a payment of the shop, the payment itself is credited, once: ' +
          'its provider is asked, and a payment that is not paid is refused.'
        : ''),
    params: customerParam,
    body: z.object({
      amount_rub: amount('Amount.'),
      note: note(unless),
      reference: printableText(
        'Reference number of the payment at your bank; only operators see it.',
        255,
        'INV-17',
      ).optional(),
      dry_run: dryRun(),
    }),
    answer: z.object({
      ...movement.shape,
      repeated: flag('Whether an earlier request with this key did it.', false),
      dry_run: isDryRun,
    }),
    codes: ['not_found', 'conflict', kind === 'debit' ? 'insufficient_funds' : 'provider_error'],
    charges: 'free',
  })

export const creditCustomer = adjusting('credit', "Credit a customer's balance", 'top-up')
export const debitCustomer = adjusting('debit', "Debit a customer's balance", 'correction')

const exampleRequest = '5f0c1d2e3b4a59687786a5b4'

export const anyOrder = named('AnyOrder', {
  order_id: text('The order’s id.', exampleOrder),
  customer_id: text('The customer’s id.', exampleCustomer),
  product: text('Product.', 'dedicated'),
  action: text('Action, such as a purchase or a renewal.', 'buy'),
  price_rub: roubles('Price.', 1800),
  transaction: whole('Number of the transaction that paid for it; null if it was free.', 2).nullable(),
  token_id: text('Id of the API token that placed the order; null for the console.').nullable(),
  request: facts('The request as it was read.', { country_code: 'DE', period: 30, count: 10, ipv: 4 }),
  calculation: facts('Calculation of the price.', { catalogue: 1 }),
  created_at: moment('Time of the order.'),
  request_id: text(
    '`X-Request-Id` of the answer to the purchase; null for a job or a command.',
    exampleRequest,
  ).nullable(),
  idempotency_key: text(
    '`Idempotency-Key` of the purchase; null without one, and after the customer is erased.',
    'order-2026-10-001',
  ).nullable(),
})

export const toAnyOrder = (of: Order): z.input<typeof anyOrder> => ({
  ...toOrder(of),
  customer_id: of.customer,
  transaction: of.chargeSeq,
  token_id: of.token,
  request_id: of.requestId,
  idempotency_key: of.key,
})

export const listCustomerOrders = moneyReader('listCustomerOrders', 'GET /customers/{customer_id}/orders', {
  summary: "List a customer's orders, newest first",
  params: customerParam,
  query: z.object({
    ...pageQuery,
    request_id: given('Only the order of this request.', 64, exampleRequest).optional(),
    idempotency_key: given('Only orders with this `Idempotency-Key`.', 255, 'order-2026-10-001').optional(),
  }),
  answer: page({ items: list('One page of orders.', anyOrder) }),
})

const event = named('AnyEvent', {
  id: whole("The event's number.", 1),
  type: text('Type of the event.', 'proxy.replaced'),
  timestamp: moment('Time of the event.'),
  order_id: text('Id of the order; null if there is none.', exampleOrder).nullable(),
  data: facts('Data of the event.'),
})

export const listCustomerEvents = moneyReader('listCustomerEvents', 'GET /customers/{customer_id}/events', {
  summary: 'List the events of a customer, oldest first; events are kept for 30 days',
  params: customerParam,
  query: z.object({ ...pageQuery, type: given('Only events of this type.', 64, 'proxy.replaced').optional() }),
  answer: page({ items: list('One page of events.', event) }),
})

export const getAnyOrder = moneyReader('getOrderStory', 'GET /orders/{order_id}', {
  summary: 'Show an order with its request, price, transactions, delivered services and events',
  description: 'It names the holder of addresses, so each call is recorded in the audit log.',
  params: orderParam,
  answer: z.object({
    order: anyOrder,
    customer_name: customerName,
    transactions: list('The charge and its refunds.', movement),
    ...delivered,
    events: list('Events that the customer received about the order.', event),
  }),
})

const refundEnds =
  'End the proxies, traffic or VPN too, and refund the `unused` part or the `whole` price. An order of a VPN ' +
  'subscription, a renewal too, ends the whole subscription: all its terms and devices.'

export const refundOrder = moneySupport('refundOrder', 'POST /orders/{order_id}/refund', {
  affectsNodes: true,
  summary: 'Refund an order, whole or in part; with `end` also end the services that it bought',
  params: orderParam,
  body: z.object({
    amount_rub: amount('Amount to refund. Default: all that is not yet refunded.').optional(),
    again: yes('Refund more of an order that is already partly refunded.'),
    end: choice(refundEnds, ['unused', 'whole']).optional(),
    note: note('refund'),
    dry_run: dryRun(),
  }),
  exampleBody: { amount_rub: 100 },
  answer: z.object({
    customer: text('The customer’s id.', exampleCustomer),
    order_id: text('The order’s id.', exampleOrder),
    amount_rub: roubles('Amount refunded.', 100),
    balance_rub: roubles('Balance after the transaction.', 1000),
    transaction: whole('Number of the refund transaction; absent with `end`.').optional(),
    proxies: z.array(z.int()).optional().openapi({ description: 'Numbers of the proxies that were ended.' }),
    returned_gb: z.number().optional().openapi({ description: 'Unused traffic that was removed, in gigabytes.' }),
    uuid: text('Id of the VPN subscription that was ended.').optional(),
    subscription: part('What ended with the order: the whole subscription, whichever of its orders is refunded.', {
      until: moment('End of its paid term.'),
      devices: whole('Devices that were removed.', 2),
      orders: list('Its other orders with unused time, which were refunded too.', text('Order.', exampleOrder)),
    }).optional(),
    ...refundParts,
    replayed,
    dry_run: isDryRun,
  }),
  codes: ['not_found', 'conflict'],
  charges: 'free',
})

export const refundTraffic = moneySupport('refundTraffic', 'POST /orders/{order_id}/refund-traffic', {
  creates: true,
  affectsNodes: true,
  summary: 'Remove the unused traffic of an order and refund its part of the price, once',
  params: orderParam,
  body: z.object({ note: note('unused traffic') }),
  answer: z.object({
    order_id: text('The order’s id.', exampleOrder),
    returned_gb: z.number().openapi({ description: 'Unused traffic that was removed, in gigabytes.', example: 4.2 }),
    refunded_rub: roubles('Amount refunded.', 420),
    balance_rub: roubles('Balance after the transaction.', 1420),
  }),
  codes: ['not_found', 'conflict'],
})
