import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import type { Customer } from '../../../domains/customers/rules.ts'
import type { Posting } from '../../../domains/ledger/rules.ts'
import type { Order } from '../../../domains/orders/rules.ts'
import { toOrder } from '../../customer/account/shapes.ts'
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
  text,
  whole,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { exportedRow, exportQuery, page, pageQuery } from '../../pages.ts'
import { amount, customerParam, exampleCustomer, note, orderParam, printableText, replayed, yes } from '../fields.ts'

const operation = operationsOf({ tag: 'Customers' })
const support = operationsOf({ tag: 'Customers', role: 'support' })
const reader = operationsOf({ tag: 'Customers', role: 'reader' })

const customer = named('Customer', {
  customer_id: text('The id.', exampleCustomer),
  name: text('The name that operators use.', 'Anna'),
  login: text('The login; null without one.', 'anna@example.com').nullable(),
  note: text('A note of operators; the customer never sees it.').nullable(),
  balance_rub: roubles('What the customer can spend now.', 98_200),
  created_at: moment('When the customer was added.'),
  blocked_at: moment('When the customer was blocked; null if not blocked.').nullable(),
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
  summary: 'List customers, oldest first, or look for some',
  query: z.object({
    ...pageQuery,
    search: given('A part of the name, the login or the note, or an id.', 200, 'anna').optional(),
  }),
  answer: page({ items: list('One page.', customer) }),
})

export const getCustomer = reader('getCustomer', 'GET /customers/{customer_id}', {
  summary: 'Read one customer',
  params: customerParam,
  answer: customer,
})

export const createCustomer = support('createCustomer', 'POST /customers', {
  summary: 'Add a customer with an empty account',
  body: z.object({ name: printableText('The name that operators use.', 200, 'Anna') }),
  answer: customer,
})

export const blockCustomer = support('blockCustomer', 'POST /customers/{customer_id}/block', {
  summary: "Stop all of a customer's tokens, proxies and devices within a second, or let them work again",
  params: customerParam,
  body: z.object({ undo: yes('Unblock the customer.') }),
  answer: customer,
  example: { blocked_at: toIso(exampleAt) },
})

export const noteCustomer = support('noteCustomer', 'POST /customers/{customer_id}/note', {
  summary: 'Note something about a customer, for operators only',
  params: customerParam,
  body: z.object({
    note: z.string().max(2000).nullable().openapi({ description: 'Null takes it away.', example: 'pays by invoice' }),
  }),
  answer: customer,
  example: { note: 'pays by invoice' },
})

export const exportCustomer = operation('exportCustomer', 'GET /customers/{customer_id}/export', {
  isSecret: true,
  summary: 'Everything that is kept about a customer, a page at a time; that it was asked for is in the audit log',
  params: customerParam,
  query: z.object(exportQuery),
  answer: page({ items: list('One page, table after table. No secret and no digest is in it.', exportedRow()) }),
})

export const eraseCustomer = operation('eraseCustomer', 'POST /customers/{customer_id}/erase', {
  summary: 'Forget who a customer was, for good; money, orders and addresses stay under the id',
  description:
    'Refused, with a list of the losses, unless `confirm` is true, and while a payment is under way. All services ' +
    'stop at once; nothing is refunded. Older backups hold the data until they are deleted.',
  params: customerParam,
  body: z.object({ confirm: yes('Erase the customer and lose what is listed.') }),
  exampleBody: { confirm: true },
  answer: z.object({
    customer_id: text('The id.', exampleCustomer),
    erased_at: moment('When the customer was erased first.'),
    lost: part('What the customer lost.', {
      balance_rub: roubles('The balance.', 0),
      proxies: whole('Proxies that ran.', 0),
      vpn_subscriptions: whole('VPN subscriptions that ran.', 0),
      traffic_bytes: whole('Premium traffic that was left.', 0),
    }),
    versions: whole('How many earlier versions of rows were blanked.', 12),
    entries: whole('How many entries of the audit log were shortened.', 3),
  }),
  codes: ['not_found', 'conflict'],
})

export const viewCustomer = support('viewCustomer', 'POST /customers/{customer_id}/view', {
  summary: "Look at a customer's pages for an hour, and change nothing there",
  description: 'Sets the cookie of a customer’s session that may only read.',
  params: customerParam,
  answer: z.object({ expires_at: moment('When the look is over.') }),
})

export const linkCustomer = support('linkCustomer', 'POST /customers/{customer_id}/link', {
  summary: 'Make a link by which a customer signs in, once and within a day',
  description:
    'Below `owner`, the link is in the answer only for a new customer: one without a password who never had a token, ' +
    'a session or a movement of money. For others it is sent to the customer’s e-mail address, or refused without one.',
  params: customerParam,
  answer: z.object({
    link: text('The whole link, shown this once; null if it was sent.', 'https://shop.example/#enter=tpl_…').nullable(),
    sent_to: text('The e-mail address that it was sent to; null if it is shown.').nullable(),
    expires_at: moment('Until when it works.'),
  }),
})

export const removeCustomerFactor = operation('removeCustomerFactor', 'POST /customers/{customer_id}/remove-factor', {
  summary: 'Take away the second factor of a customer who has lost it',
  params: customerParam,
  answer: z.object({ removed: flag('Whether there was one.') }),
})

export const listCustomerTokens = reader('listCustomerTokens', 'GET /customers/{customer_id}/tokens', {
  summary: "List a customer's API tokens",
  params: customerParam,
  answer: z.object({ items: list('All of them, oldest first.', token) }),
})

export const createCustomerToken = operation('createCustomerToken', 'POST /customers/{customer_id}/tokens', {
  summary: 'Make an API token for a customer and see it, this once',
  isIssuing: true,
  params: customerParam,
  body: tokenBody,
  exampleBody: { name: 'my program', scopes: ['read'] },
  answer: z.object({ token_id: text('Its id.', exampleToken), token: text('Its text, shown this once.', 'tp_live_…') }),
})

export const revokeCustomerToken = support('revokeCustomerToken', 'POST /tokens/{token_id}/revoke', {
  summary: 'Stop an API token within a second, for good',
  params: z.object({ token_id: text('Which one.', exampleToken) }),
  answer: z.object({ token_id: text('Which one.', exampleToken), revoked: flag('Whether it is revoked.') }),
})

const moneySupport = operationsOf({ tag: 'Money and orders', role: 'support' })
const moneyReader = operationsOf({ tag: 'Money and orders', role: 'reader' })

const movement = named('Movement', {
  transaction: whole("The movement's number in the customer's account.", 1),
  at: moment('When.'),
  kind: choice('What it was.', ['credit', 'charge', 'refund', 'debit']),
  amount_rub: roubles('How much; negative when money was taken.', 1000),
  balance_rub: roubles('The balance after it.', 1000),
  order_id: text('The order that it belongs to.').nullable(),
  key: text('The key that it was asked for under.').nullable(),
  reference: text("The payment's number at the bank.").nullable(),
  note: text('What it was for.', 'top-up'),
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
  summary: "List a customer's movements of money, newest first",
  params: customerParam,
  query: z.object(pageQuery),
  answer: page({ items: list('One page.', movement) }),
})

const adjusting = (kind: 'credit' | 'debit', summary: string, unless: string) =>
  moneySupport(`${kind}Customer`, `POST /customers/{customer_id}/${kind}`, {
    summary,
    description: 'Under an `Idempotency-Key` it happens once, however often it is asked for.',
    params: customerParam,
    body: z.object({
      amount_rub: amount('How much.'),
      note: note(unless),
      reference: printableText("The payment's number at your bank; only operators see it.", 255, 'INV-17').optional(),
    }),
    answer: z.object({ ...movement.shape, repeated: flag('Done before under this key.', false) }),
    codes: ['not_found', 'conflict'],
    charges: 'free',
  })

export const creditCustomer = adjusting('credit', "Add money to a customer's balance", 'top-up')
export const debitCustomer = adjusting('debit', "Take money off a customer's balance", 'correction')

const order = named('AnyOrder', {
  order_id: text('The id.', exampleOrder),
  customer_id: text('Whose.', exampleCustomer),
  product: text('What was sold.', 'dedicated'),
  action: text('What was done with it.', 'buy'),
  price_rub: roubles('What it cost.', 1800),
  transaction: whole('The movement that paid for it; null if it was free.', 2).nullable(),
  token_id: text('The token it was bought through; null for the console.').nullable(),
  request: facts('What was asked for, as it was understood.', { country_code: 'DE', period: 30, count: 10, ipv: 4 }),
  calculation: facts('How the price came about.', { catalogue: 1 }),
  created_at: moment('When.'),
})

export const toAnyOrder = (of: Order): z.input<typeof order> => ({
  ...toOrder(of),
  customer_id: of.customer,
  transaction: of.chargeSeq,
  token_id: of.token,
})

export const listCustomerOrders = moneyReader('listCustomerOrders', 'GET /customers/{customer_id}/orders', {
  summary: "List a customer's orders, newest first",
  params: customerParam,
  query: z.object(pageQuery),
  answer: page({ items: list('One page.', order) }),
})

const event = named('AnyEvent', {
  id: whole("The event's number.", 1),
  type: text('What happened.', 'proxy.replaced'),
  timestamp: moment('When.'),
  order_id: text('The order that it belongs to.', exampleOrder).nullable(),
  data: facts('What it tells.'),
})

export const listCustomerEvents = moneyReader('listCustomerEvents', 'GET /customers/{customer_id}/events', {
  summary: 'List the events of a customer, oldest first; they are kept for 30 days',
  params: customerParam,
  query: z.object({ ...pageQuery, type: given('Of one type.', 64, 'proxy.replaced').optional() }),
  answer: page({ items: list('One page.', event) }),
})

export const getAnyOrder = moneyReader('getOrderStory', 'GET /orders/{order_id}', {
  summary: "An order's whole story: what was asked, the price, what moved, what was delivered and told",
  params: orderParam,
  answer: z.object({
    order,
    transactions: list('The charge, and what was given back of it.', movement),
    delivered: list('As the things are now.', facts('A thing that it has bought.')),
    events: list('What the customer was told of it.', event),
  }),
})

export const refundOrder = moneySupport('refundOrder', 'POST /orders/{order_id}/refund', {
  summary: 'Give back what an order cost, whole or in part; or end what it has bought and give back what is unused',
  params: orderParam,
  body: z.object({
    amount_rub: amount('How much; all of it unless said.').optional(),
    again: yes('Give back more of an order of which a part was given back already.'),
    end: choice('End its proxies, traffic or VPN too, for the unused part or for all that it cost.', [
      'unused',
      'whole',
    ]).optional(),
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
  codes: ['not_found', 'conflict'],
  charges: 'free',
})

export const refundTraffic = moneySupport('refundTraffic', 'POST /orders/{order_id}/refund-traffic', {
  summary: 'Take back what is unused of a purchase of traffic and return that part of its price, once',
  params: orderParam,
  body: z.object({ note: note('unused traffic') }),
  answer: z.object({
    order_id: text('Which order.', exampleOrder),
    returned_gb: z.number().openapi({ description: 'What was taken back.', example: 4.2 }),
    refunded_rub: roubles('What was given back.', 420),
    balance_rub: roubles('The balance after it.', 1420),
  }),
  codes: ['not_found', 'conflict'],
})
