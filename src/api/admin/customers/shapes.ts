import { z } from '@hono/zod-openapi'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import type { Customer } from '../../../domains/customers/rules.ts'
import { token, tokenWish } from '../../customer/tokens/shapes.ts'
import {
  exampleAt,
  exportQuery,
  flag,
  handedOut,
  moment,
  nextCursor,
  pageOf,
  pageQuery,
  roubles,
  text,
  whole,
} from '../../fields.ts'
import { operation } from '../../operation.ts'
import { customerParam, exampleCustomer, isoOrNull, words, yes } from '../fields.ts'

const tag = 'Customers'

const customer = z
  .object({
    customer_id: text('The id.', exampleCustomer),
    name: text('How operators call him.', 'Anna'),
    login: text('What he signs in with; null if he cannot.', 'anna@example.com').nullable(),
    note: text('What operators note about him; he never sees it.').nullable(),
    balance_rub: roubles('What he can spend now.', 98_200),
    created_at: moment('Since when he is there.'),
    blocked_at: moment('Since when he is blocked; null if he is not.').nullable(),
  })
  .openapi('Customer')

const example = {
  customer_id: exampleCustomer,
  name: 'Anna',
  login: 'anna@example.com',
  note: null,
  balance_rub: 98_200,
  created_at: toIso(exampleAt),
  blocked_at: null,
}

export type CustomerSight = { readonly customer: Customer; readonly balance: Kopecks; readonly login: string | null }

export const toCustomer = ({ customer: of, balance, login }: CustomerSight): z.input<typeof customer> => ({
  customer_id: of.id,
  name: of.name,
  login,
  note: of.note,
  balance_rub: toRoubles(balance),
  created_at: toIso(of.createdAt),
  blocked_at: isoOrNull(of.blockedAt),
})

export const listCustomers = operation({
  id: 'listCustomers',
  method: 'GET',
  path: '/customers',
  tag,
  summary: 'List customers, oldest first, or look for some',
  role: 'reader',
  query: z.object({
    ...pageQuery,
    search: z
      .string()
      .max(200)
      .optional()
      .openapi({ description: 'A part of the name, the login or the note, or an id.', example: 'anna' }),
  }),
  answer: z.object({ items: z.array(customer).openapi({ description: 'One page.' }), next_cursor: nextCursor() }),
  example: { items: [example], next_cursor: null },
})

export const toCustomers = (found: readonly CustomerSight[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => each.customer.id)
  return { items: items.map(toCustomer), next_cursor }
}

export const getCustomer = operation({
  id: 'getCustomer',
  method: 'GET',
  path: '/customers/{customer_id}',
  tag,
  summary: 'Read one customer',
  role: 'reader',
  params: customerParam,
  answer: customer,
  example,
  codes: ['not_found'],
})

export const createCustomer = operation({
  id: 'createCustomer',
  method: 'POST',
  path: '/customers',
  tag,
  summary: 'Add a customer with an empty account',
  role: 'support',
  body: z.object({ name: words('How you call him.', 200, 'Anna') }),
  exampleBody: { name: 'Anna' },
  answer: customer,
  example,
})

export const blockCustomer = operation({
  id: 'blockCustomer',
  method: 'POST',
  path: '/customers/{customer_id}/block',
  tag,
  summary: "Stop all of a customer's tokens, proxies and devices within a second, or let them work again",
  role: 'support',
  params: customerParam,
  body: z.object({ undo: yes('Let him go on.') }),
  answer: customer,
  example: { ...example, blocked_at: toIso(exampleAt) },
  codes: ['not_found'],
})

export const noteCustomer = operation({
  id: 'noteCustomer',
  method: 'POST',
  path: '/customers/{customer_id}/note',
  tag,
  summary: 'Note something about a customer, for operators only',
  role: 'support',
  params: customerParam,
  body: z.object({
    note: z.string().max(2000).nullable().openapi({ description: 'Null takes it away.', example: 'pays by invoice' }),
  }),
  exampleBody: { note: 'pays by invoice' },
  answer: customer,
  example: { ...example, note: 'pays by invoice' },
  codes: ['not_found'],
})

export const exportCustomer = operation({
  id: 'exportCustomer',
  method: 'GET',
  path: '/customers/{customer_id}/export',
  isSecret: true,
  tag,
  summary: 'Everything that is kept about a customer, a page at a time; that it was asked for is in the audit log',
  role: 'owner',
  params: customerParam,
  query: z.object(exportQuery),
  answer: z.object({
    items: z
      .array(handedOut())
      .openapi({ description: 'One page, table after table. No secret and no digest is in it.' }),
    next_cursor: nextCursor(),
  }),
  example: { items: [{ table: 'proxies', row: { id: 7 } }], next_cursor: null },
  codes: ['not_found'],
})

export const eraseCustomer = operation({
  id: 'eraseCustomer',
  method: 'POST',
  path: '/customers/{customer_id}/erase',
  tag,
  summary: 'Forget who a customer was, for good; his money, orders and addresses stay under his number',
  description:
    'Refused with what goes with him unless `confirm` is true, and while a payment of his is under way. His things ' +
    'stop at once; nothing is refunded. Backups that were made before have him until they are deleted.',
  role: 'owner',
  params: customerParam,
  body: z.object({ confirm: yes('It is meant, with all that goes with him.') }),
  exampleBody: { confirm: true },
  answer: z.object({
    customer_id: text('The id.', exampleCustomer),
    erased_at: moment('When he was erased first.'),
    lost: z
      .object({
        balance_rub: roubles('What he had.', 0),
        proxies: whole('Proxies that ran.', 0),
        vpn_subscriptions: whole('VPN subscriptions that ran.', 0),
        traffic_bytes: whole('Premium traffic that was left.', 0),
      })
      .openapi({ description: 'What went with him.' }),
    versions: whole('How many earlier versions of his rows were blanked.', 12),
    entries: whole('How many entries of the audit log were shortened.', 3),
  }),
  example: {
    customer_id: exampleCustomer,
    erased_at: toIso(exampleAt),
    lost: { balance_rub: 0, proxies: 0, vpn_subscriptions: 0, traffic_bytes: 0 },
    versions: 12,
    entries: 3,
  },
  codes: ['not_found', 'conflict'],
})

export const viewCustomer = operation({
  id: 'viewCustomer',
  method: 'POST',
  path: '/customers/{customer_id}/view',
  tag,
  summary: "Look at a customer's pages for an hour, and change nothing there",
  description: 'Sets the cookie of a customer’s session that may only read.',
  role: 'support',
  params: customerParam,
  answer: z.object({ expires_at: moment('When the look is over.') }),
  example: { expires_at: toIso(exampleAt) },
  codes: ['not_found'],
})

export const linkCustomer = operation({
  id: 'linkCustomer',
  method: 'POST',
  path: '/customers/{customer_id}/link',
  tag,
  summary: 'Make a link by which a customer signs in, once and within a day',
  description:
    'Below `owner`, the link is in the answer only for a new customer: one without a password who never had a token, ' +
    'a session or a movement of money. For others it is sent to the customer’s e-mail address, or refused without one.',
  role: 'support',
  params: customerParam,
  answer: z.object({
    link: text('The whole link, shown this once; null if it was sent.').nullable(),
    sent_to: text('The e-mail address that it was sent to; null if it is shown.').nullable(),
    expires_at: moment('Until when it works.'),
  }),
  example: { link: 'https://shop.example/#enter=tpl_…', sent_to: null, expires_at: toIso(exampleAt) },
  codes: ['not_found'],
})

export const removeCustomerFactor = operation({
  id: 'removeCustomerFactor',
  method: 'POST',
  path: '/customers/{customer_id}/remove-factor',
  tag,
  summary: 'Take away the second factor of a customer who has lost it',
  role: 'owner',
  params: customerParam,
  answer: z.object({ removed: flag('Whether there was one.') }),
  example: { removed: true },
  codes: ['not_found'],
})

export const listCustomerTokens = operation({
  id: 'listCustomerTokens',
  method: 'GET',
  path: '/customers/{customer_id}/tokens',
  tag,
  summary: "List a customer's API tokens",
  role: 'reader',
  params: customerParam,
  answer: z.object({ items: z.array(token).openapi({ description: 'All of them, oldest first.' }) }),
  example: { items: [] },
  codes: ['not_found'],
})

export const createCustomerToken = operation({
  id: 'createCustomerToken',
  method: 'POST',
  path: '/customers/{customer_id}/tokens',
  tag,
  summary: 'Make an API token for a customer and see it, this once',
  isIssuing: true,
  role: 'owner',
  params: customerParam,
  body: tokenWish,
  exampleBody: { name: 'my program', scopes: ['read'] },
  answer: z.object({ token_id: text('Its id.'), token: text('Its text, shown this once.', 'tp_live_…') }),
  example: { token_id: 'tok_01k73sf8000000000000000000', token: 'tp_live_…' },
  codes: ['not_found'],
})

export const revokeCustomerToken = operation({
  id: 'revokeCustomerToken',
  method: 'POST',
  path: '/tokens/{token_id}/revoke',
  tag,
  summary: 'Stop an API token within a second, for good',
  role: 'support',
  params: z.object({
    token_id: z.string().openapi({ description: 'Which one.', example: 'tok_01k73sf8000000000000000000' }),
  }),
  answer: z.object({ token_id: text('Which one.'), revoked: flag('Whether it is revoked.') }),
  example: { token_id: 'tok_01k73sf8000000000000000000', revoked: true },
  codes: ['not_found'],
})
