import { z } from '@hono/zod-openapi'
import { toIso } from '../../../core/time.ts'
import { exampleAt, exampleOrder, flag, moment, nextCursor, pageQuery, roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { exampleCustomer, note, replayed } from '../fields.ts'

const tag = 'Dedicated proxies'

const proxyParam = z.object({ proxy: z.string().openapi({ description: "The proxy's number.", example: '7' }) })

export const showProxy = operation({
  id: 'showProxy',
  method: 'GET',
  path: '/proxies/{proxy}',
  tag,
  summary: 'A dedicated proxy: its order, term, gateway, state, bytes, and every address it has had',
  role: 'reader',
  params: proxyParam,
  answer: z.object({
    proxy: whole('Its number.', 7),
    customer_id: text('Whose.', exampleCustomer),
    order_id: text('Bought with.', exampleOrder),
    status: z.enum(['active', 'expired', 'gone']).openapi({ description: 'How it is.' }),
    address: text('Where it leaves from.', '203.0.113.7'),
    node: text('The gateway that carries it.').nullable(),
    country: text('Its country.', 'DE'),
    ipv: whole('Its kind.', 4),
    port_type: text('Its protocol.', 'http'),
    username: text('Its login.', 'u7abcd'),
    comment: text('What the customer noted.'),
    started_at: moment('Since when.'),
    expires_at: moment('Until when.'),
    ended_at: moment('When it was ended before its time.').nullable(),
    interrupted_at: moment('Since when it cannot be used.').nullable(),
    interrupted_by: text('Why not.').nullable(),
    auto_renew: whole('For how many days it renews by itself.').nullable(),
    rx_bytes: whole('What the customer received.', 0),
    tx_bytes: whole('What he sent.', 0),
    addresses: z
      .array(
        z.object({
          address: text('The address.', '203.0.113.7'),
          from: moment('Since when.'),
          until: moment('Until when.').nullable(),
        }),
      )
      .openapi({ description: 'The oldest first.' }),
  }),
  example: {
    proxy: 7,
    customer_id: exampleCustomer,
    order_id: exampleOrder,
    status: 'active',
    address: '203.0.113.7',
    node: 'gate-1',
    country: 'DE',
    ipv: 4,
    port_type: 'http',
    username: 'u7abcd',
    comment: '',
    started_at: toIso(exampleAt),
    expires_at: toIso(exampleAt),
    ended_at: null,
    interrupted_at: null,
    interrupted_by: null,
    auto_renew: null,
    rx_bytes: 0,
    tx_bytes: 0,
    addresses: [{ address: '203.0.113.7', from: toIso(exampleAt), until: null }],
  },
  codes: ['not_found', 'conflict'],
})

export const listInterrupted = operation({
  id: 'listInterrupted',
  method: 'GET',
  path: '/proxies/interrupted',
  tag,
  summary: 'List proxies that cannot be used now; their terms stand still',
  role: 'reader',
  query: z.object(pageQuery),
  answer: z.object({
    items: z
      .array(
        z.object({
          proxy: whole('Its number.', 7),
          customer_id: text('Whose.', exampleCustomer),
          address: text('Its address.', '203.0.113.7'),
          node: text('On which gateway.').nullable(),
          since: moment('Since when.'),
          reason: text('Why.', 'outage').nullable(),
        }),
      )
      .openapi({ description: 'One page.' }),
    next_cursor: nextCursor(),
  }),
  example: { items: [], next_cursor: null },
})

const endedShape = { customer: text('Whose it is.', exampleCustomer), proxy: whole('The proxy.', 7) }

export const endProxy = operation({
  id: 'endProxy',
  method: 'POST',
  path: '/proxies/{proxy}/end',
  tag,
  summary: 'End a proxy now and give back what is unused of its price',
  role: 'support',
  params: proxyParam,
  body: z.object({
    refund: z.boolean().default(true).openapi({ description: 'Whether what is unused is given back.', default: true }),
    note: note('ended by the operator'),
  }),
  answer: z.object({
    ...endedShape,
    amount_rub: roubles('What was given back.', 100),
    balance_rub: roubles('The balance after it.', 1000),
    replayed,
  }),
  example: { customer: exampleCustomer, proxy: 7, amount_rub: 100, balance_rub: 1000 },
  codes: ['not_found', 'conflict'],
  charges: true,
  isFree: true,
})

export const replaceProxy = operation({
  id: 'replaceProxy',
  method: 'POST',
  path: '/proxies/{proxy}/replace',
  tag,
  summary: "Swap a proxy's address for another of its kind; id, credentials and term stay",
  role: 'support',
  params: proxyParam,
  body: z.object({ note: note('replaced by the operator') }),
  answer: z.object({
    ...endedShape,
    from: text('The address before.', '203.0.113.7'),
    to: text('The address now.', '203.0.113.8'),
    at: moment('When.'),
    replayed,
  }),
  example: { customer: exampleCustomer, proxy: 7, from: '203.0.113.7', to: '203.0.113.8', at: toIso(exampleAt) },
  codes: ['not_found', 'conflict', 'out_of_stock'],
  charges: true,
  isFree: true,
})

const vpnTag = 'VPN'
const uuidParam = z.object({
  uuid: z.string().openapi({ description: 'The subscription.', example: '00000000-0000-4000-8000-000000000000' }),
})

const subscription = z
  .object({
    uuid: text('The subscription.'),
    customer_id: text('Whose.', exampleCustomer),
    status: text('How it is.', 'ACTIVE'),
    expires_at: moment('Until when.'),
    device_limit: whole('How many devices it may have.', 5),
    auto_renew_months: whole('For how many months it renews by itself.').nullable(),
    node: z.enum(['online', 'offline']).openapi({ description: 'Whether its node is there.' }),
    devices: z
      .array(
        z.object({
          device_id: text('Its id.', 'dev_01k73sf8000000000000000000'),
          name: text('Its name.', 'phone'),
          public_key: text('Its key.'),
          ipv4: text('Its address inside.', '10.64.0.2'),
          ipv6: text('The same in IPv6.'),
          rx_bytes: whole('What it received.', 0),
          tx_bytes: whole('What it sent.', 0),
        }),
      )
      .openapi({ description: 'Those that it has.' }),
  })
  .openapi('Subscription')

const subscriptionExample = {
  uuid: '00000000-0000-4000-8000-000000000000',
  customer_id: exampleCustomer,
  status: 'ACTIVE',
  expires_at: toIso(exampleAt),
  device_limit: 5,
  auto_renew_months: null,
  node: 'online' as const,
  devices: [],
}

export const showVpn = operation({
  id: 'showVpn',
  method: 'GET',
  path: '/vpn/{uuid}',
  tag: vpnTag,
  summary: 'A VPN subscription and its devices',
  role: 'reader',
  params: uuidParam,
  answer: subscription,
  example: subscriptionExample,
  codes: ['not_found'],
})

export const moveVpn = operation({
  id: 'moveVpn',
  method: 'POST',
  path: '/vpn/{uuid}/move',
  tag: vpnTag,
  summary: 'Move a VPN subscription to another node of its location',
  role: 'support',
  params: uuidParam,
  body: z.object({ node: z.string().max(63).openapi({ description: 'The name of a VPN node.', example: 'vpn-2' }) }),
  exampleBody: { node: 'vpn-2' },
  answer: z.object({
    uuid: text('Which.'),
    node: text('Where it is now.', 'vpn-2'),
    devices: whole('How many devices moved.', 1),
  }),
  example: { uuid: subscriptionExample.uuid, node: 'vpn-2', devices: 1 },
  codes: ['not_found', 'conflict'],
})

const switching = (verb: 'disable' | 'enable', summary: string) =>
  operation({
    id: `${verb}Vpn`,
    method: 'POST',
    path: `/vpn/{uuid}/${verb}`,
    tag: vpnTag,
    summary,
    role: 'support',
    params: uuidParam,
    answer: z.object({ uuid: text('Which.'), disabled: flag('Whether it is cut off.') }),
    example: { uuid: subscriptionExample.uuid, disabled: verb === 'disable' },
    codes: ['not_found'],
  })

export const disableVpn = switching(
  'disable',
  'Cut a VPN subscription off until it is enabled; its time runs meanwhile',
)
export const enableVpn = switching('enable', 'Let a disabled VPN subscription go on')
