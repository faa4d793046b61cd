import { choice, items, moment, roubles, text } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { exampleCustomer, printableText } from '../fields.ts'

const operation = operationsOf({ tag: 'At a glance', role: 'reader' })

export const search = operation('search', 'GET /search', {
  summary: 'Find customers, proxies, sub-users, VPN subscriptions, devices, orders and payments',
  description:
    'At most 10 of each kind. A customer is found by the beginning of the name, login, e-mail address or id; an ' +
    'order or a payment by the beginning of its id, an order also by its request id or `Idempotency-Key`, a payment ' +
    'by its id at the provider; a proxy by its ' +
    'number or login; a sub-user by login; a subscription by its id; a device by its id, its public key or the ' +
    'beginning of its name. From ' +
    '`support` on, a whole IP address finds the proxies and devices that have it now. A search for an address, and ' +
    'one that finds a proxy, is recorded in the audit log.',
  isWide: true,
  query: z.object({ q: printableText('The text to find.', 200, 'anna') }),
  answer: items('Matches, by kind.', {
    kind: choice('Kind of the object.', ['customer', 'proxy', 'subuser', 'vpn', 'device', 'order', 'payment']),
    id: text('Id of the object; of a proxy its number.', exampleCustomer),
    title: text(
      'Name of a customer, address of a proxy, login of a sub-user, status of a subscription, name of a device, ' +
        'product of an order, state of a payment.',
      'Anna',
    ),
    detail: text(
      'Login of a customer or proxy, subscription of a device, action of an order, method of a payment; else null.',
      'anna@example.com',
    ).nullable(),
    amount_rub: roubles('Price of an order or amount of a payment; else null.', 1800).nullable(),
    at: moment('Creation of the object; null for a sub-user’s, device’s or subscription’s.').nullable(),
    customer_id: text('Id of the customer who has it.', exampleCustomer),
    customer_name: text('Name of that customer.', 'Anna'),
  }),
})
