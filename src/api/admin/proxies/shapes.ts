import { choice, exampleOrder, flag, given, moment, named, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { exampleCustomer, note, replayed } from '../fields.ts'

const support = operationsOf({ tag: 'Dedicated proxies', role: 'support' })
const reader = operationsOf({ tag: 'Dedicated proxies', role: 'reader' })

const proxyParam = z.object({ proxy: text("The proxy's number.", '7') })

export const showProxy = reader('showProxy', 'GET /proxies/{proxy}', {
  summary: 'A dedicated proxy: its order, term, gateway, state, bytes, and every address it has had',
  params: proxyParam,
  answer: z.object({
    proxy: whole('Its number.', 7),
    customer_id: text('Whose.', exampleCustomer),
    order_id: text('Bought with.', exampleOrder),
    status: choice('How it is.', ['active', 'expired', 'gone']),
    address: text('Where it leaves from.', '203.0.113.7'),
    node: text('The gateway that carries it.', 'gate-1').nullable(),
    country: text('Its country.', 'DE'),
    ipv: whole('Its kind.', 4),
    port_type: text('Its protocol.', 'http'),
    username: text('Its login.', 'u7abcd'),
    comment: text('What the customer noted.', 'shop 7'),
    started_at: moment('Since when.'),
    expires_at: moment('Until when.'),
    ended_at: moment('When it was ended before its time.').nullable(),
    interrupted_at: moment('Since when it cannot be used.').nullable(),
    interrupted_by: text('Why not.').nullable(),
    auto_renew: whole('For how many days it renews by itself.').nullable(),
    rx_bytes: whole('What the customer received.', 0),
    tx_bytes: whole('What the customer sent.', 0),
    addresses: rows('The oldest first.', {
      address: text('The address.', '203.0.113.7'),
      from: moment('Since when.'),
      until: moment('Until when.').nullable(),
    }),
  }),
  codes: ['not_found', 'conflict'],
})

export const listInterrupted = reader('listInterrupted', 'GET /proxies/interrupted', {
  summary: 'List proxies that cannot be used now; their terms stand still',
  query: z.object(pageQuery),
  answer: page({
    items: rows('One page.', {
      proxy: whole('Its number.', 7),
      customer_id: text('Whose.', exampleCustomer),
      address: text('Its address.', '203.0.113.7'),
      node: text('On which gateway.').nullable(),
      since: moment('Since when.'),
      reason: text('Why.', 'outage').nullable(),
    }),
  }),
})

const endedShape = { customer: text('Whose it is.', exampleCustomer), proxy: whole('The proxy.', 7) }

export const endProxy = support('endProxy', 'POST /proxies/{proxy}/end', {
  summary: 'End a proxy now and give back what is unused of its price',
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
  codes: ['not_found', 'conflict'],
  charges: 'free',
})

export const replaceProxy = support('replaceProxy', 'POST /proxies/{proxy}/replace', {
  summary: "Swap a proxy's address for another of its kind; id, credentials and term stay",
  params: proxyParam,
  body: z.object({ note: note('replaced by the operator') }),
  answer: z.object({
    ...endedShape,
    from: text('The address before.', '203.0.113.7'),
    to: text('The address now.', '203.0.113.8'),
    at: moment('When.'),
    replayed,
  }),
  codes: ['not_found', 'conflict', 'out_of_stock'],
  charges: 'free',
})

const vpnOperation = operationsOf({ tag: 'VPN', role: 'support' })
const exampleUuid = '00000000-0000-4000-8000-000000000000'
const uuidParam = z.object({ uuid: text('The subscription.', exampleUuid) })

const subscription = named('Subscription', {
  uuid: text('The subscription.', exampleUuid),
  customer_id: text('Whose.', exampleCustomer),
  status: text('How it is.', 'ACTIVE'),
  expires_at: moment('Until when.'),
  device_limit: whole('How many devices it may have.', 5),
  auto_renew_months: whole('For how many months it renews by itself.').nullable(),
  node: choice('Whether its node is there.', ['online', 'offline']),
  devices: rows('Those that it has.', {
    device_id: text('Its id.', 'dev_01k73sf8000000000000000000'),
    name: text('Its name.', 'phone'),
    public_key: text('Its key.', 'AcJpN4Lg7v3Q3T0b8XyEHk5rS0mGqP1uWcVZ2nYdQWE='),
    ipv4: text('Its address inside.', '10.64.0.2'),
    ipv6: text('The same in IPv6.', 'fd74:7572:6e70::a42:2'),
    rx_bytes: whole('What it received.', 0),
    tx_bytes: whole('What it sent.', 0),
  }),
})

export const showVpn = vpnOperation('showVpn', 'GET /vpn/{uuid}', {
  role: 'reader',
  summary: 'A VPN subscription and its devices',
  params: uuidParam,
  answer: subscription,
})

export const moveVpn = vpnOperation('moveVpn', 'POST /vpn/{uuid}/move', {
  summary: 'Move a VPN subscription to another node of its location',
  params: uuidParam,
  body: z.object({ node: given('The name of a VPN node.', 63, 'vpn-2') }),
  answer: z.object({
    uuid: text('Which.', exampleUuid),
    node: text('Where it is now.', 'vpn-2'),
    devices: whole('How many devices moved.', 1),
  }),
  codes: ['not_found', 'conflict'],
})

const switching = (verb: 'disable' | 'enable', summary: string) =>
  vpnOperation(`${verb}Vpn`, `POST /vpn/{uuid}/${verb}`, {
    summary,
    params: uuidParam,
    answer: z.object({ uuid: text('Which.', exampleUuid), disabled: flag('Whether it is cut off.') }),
    example: { disabled: verb === 'disable' },
  })

export const disableVpn = switching(
  'disable',
  'Cut a VPN subscription off until it is enabled; its time runs meanwhile',
)
export const enableVpn = switching('enable', 'Let a disabled VPN subscription go on')
