import { checkOutcome } from '../../customer/dedicated/shapes.ts'
import { choice, exampleOrder, flag, given, items, moment, named, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { customerName, dryRun, exampleCustomer, isDryRun, note, refundParts, replayed } from '../fields.ts'

const support = operationsOf({ tag: 'Dedicated proxies', role: 'support' })
const reader = operationsOf({ tag: 'Dedicated proxies', role: 'reader' })

const proxyParam = z.object({ proxy: text('Number of the proxy.', '7') })

export const showProxy = reader('showProxy', 'GET /proxies/{proxy}', {
  summary: 'Show a dedicated proxy: order, term, gateway, status, traffic and all its addresses',
  description: 'It names the holder of the addresses, so each call is recorded in the audit log.',
  params: proxyParam,
  answer: z.object({
    proxy: whole('Number of the proxy.', 7),
    customer_id: text('The customer’s id.', exampleCustomer),
    customer_name: customerName,
    order_id: text('Order that bought the proxy.', exampleOrder),
    status: choice('Status of the proxy.', ['active', 'expired', 'gone']),
    address: text('Egress address.', '203.0.113.7'),
    node: text('Gateway that serves the proxy.', 'gate-1').nullable(),
    country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
    ipv: whole('Kind of address: 3, 4 or 6.', 4),
    port_type: text('Protocol.', 'http'),
    username: text('Login of the proxy.', 'u7abcd'),
    comment: text('Comment of the customer.', 'shop 7'),
    started_at: moment('Start.'),
    expires_at: moment('Expiry.'),
    ended_at: moment('Time when the proxy was ended early; null if it was not.').nullable(),
    interrupted_at: moment('Start of the current interruption; null if the proxy works.').nullable(),
    interrupted_by: text('Reason of the interruption.').nullable(),
    auto_renew: whole('Days of each automatic renewal; null if it is off.').nullable(),
    rx_bytes: whole('Bytes that the customer received.', 0),
    tx_bytes: whole('Bytes that the customer sent.', 0),
    addresses: rows('All addresses of the proxy, oldest first.', {
      address: text('The address.', '203.0.113.7'),
      from: moment('Start.'),
      until: moment('End; null for the current address.').nullable(),
    }),
  }),
  codes: ['not_found', 'conflict'],
})

export const listInterrupted = reader('listInterrupted', 'GET /proxies/interrupted', {
  summary: 'List proxies that are interrupted now; their terms are paused',
  query: z.object(pageQuery),
  answer: page({
    items: rows('One page of proxies.', {
      proxy: whole('Number of the proxy.', 7),
      customer_id: text('The customer’s id.', exampleCustomer),
      customer_name: customerName,
      address: text('Egress address.', '203.0.113.7'),
      node: text('Name of the gateway.').nullable(),
      since: moment('Start.'),
      reason: text('Reason of the interruption.', 'outage').nullable(),
    }),
  }),
})

const endedShape = { customer: text('The customer’s id.', exampleCustomer), proxy: whole('Number of the proxy.', 7) }

export const endProxy = support('endProxy', 'POST /proxies/{proxy}/end', {
  affectsNodes: true,
  summary: 'End a proxy now and refund its unused time',
  params: proxyParam,
  body: z.object({
    refund: z.boolean().default(true).openapi({ description: 'Whether the unused time is refunded.', default: true }),
    note: note('ended by the operator'),
    dry_run: dryRun(),
  }),
  answer: z.object({
    ...endedShape,
    amount_rub: roubles('Amount refunded.', 100),
    ...refundParts,
    balance_rub: roubles('Balance after the refund.', 1000),
    replayed,
    dry_run: isDryRun,
  }),
  codes: ['not_found', 'conflict'],
  charges: 'free',
})

export const replaceProxy = support('replaceProxy', 'POST /proxies/{proxy}/replace', {
  affectsNodes: true,
  summary: "Replace a proxy's address with another of its kind; number, credentials and term stay",
  params: proxyParam,
  body: z.object({ note: note('replaced by the operator') }),
  answer: z.object({
    ...endedShape,
    from: text('Previous address.', '203.0.113.7'),
    to: text('New address.', '203.0.113.8'),
    at: moment('Time of the replacement.'),
    replayed,
  }),
  codes: ['not_found', 'conflict', 'out_of_stock'],
  charges: 'free',
})

export const checkAnyProxy = support('checkProxy', 'POST /proxies/{proxy}/check', {
  summary: 'Check a proxy with a real connection, with the credentials of its customer',
  params: proxyParam,
  answer: z.object({ proxy: whole('Number of the proxy.', 7), ...checkOutcome }),
  isRead: true,
})

const vpnOperation = operationsOf({ tag: 'VPN', role: 'support' })
const exampleUuid = '00000000-0000-4000-8000-000000000000'
const uuidParam = z.object({ uuid: text('The subscription’s id.', exampleUuid) })

const subscription = named('Subscription', {
  uuid: text('The subscription’s id.', exampleUuid),
  customer_id: text('The customer’s id.', exampleCustomer),
  customer_name: customerName,
  status: text('Status of the subscription.', 'ACTIVE'),
  expires_at: moment('Expiry.'),
  device_limit: whole('Maximum number of devices.', 5),
  auto_renew_months: whole('Months of each automatic renewal; null if it is off.').nullable(),
  node: choice('State of the node that serves the subscription.', ['online', 'offline']),
  devices: rows('Devices of the subscription.', {
    device_id: text('The device’s id.', 'dev_01k73sf8000000000000000000'),
    name: text('Name of the device.', 'phone'),
    public_key: text('WireGuard public key.', 'AcJpN4Lg7v3Q3T0b8XyEHk5rS0mGqP1uWcVZ2nYdQWE='),
    ipv4: text('IPv4 address inside the tunnel.', '10.64.0.2'),
    ipv6: text('IPv6 address inside the tunnel.', 'fd74:7572:6e70::a42:2'),
    rx_bytes: whole('Bytes that the device received.', 0),
    tx_bytes: whole('Bytes that the device sent.', 0),
    last_seen_at: moment('When the device last connected or carried bytes; null if it never has.').nullable(),
    last_protocol: text('How it connected last; null if it never has.', 'vless').nullable(),
    last_node: text('Node at which it connected last; null if none is known.', 'gate-1').nullable(),
  }),
})

export const showVpn = vpnOperation('showVpn', 'GET /vpn/{uuid}', {
  role: 'reader',
  summary: 'Show a VPN subscription and its devices',
  params: uuidParam,
  answer: subscription,
})

export const getVpnUsage = vpnOperation('getVpnUsage', 'GET /vpn/usage', {
  role: 'reader',
  summary: 'Show the bytes of VPN devices by node and protocol, since the first one',
  description:
    'Billed bytes of all devices, removed ones too. An HTTP proxy, NaïveProxy and TrustTunnel over TLS are `http`, ' +
    '`naive` and `trusttunnel`; TCP of TrustTunnel is `http` while that is on.',
  answer: items('Every node and protocol with bytes, by name.', {
    node: text('Name of the node; its id if it is removed.', 'gate-1'),
    protocol: text('`wireguard`, or a protocol over TLS.', 'vless'),
    devices: whole('Devices that have used it.', 3),
    rx_bytes: whole('Bytes that devices received.', 1_000_000),
    tx_bytes: whole('Bytes that devices sent.', 50_000),
  }),
})

export const moveVpn = vpnOperation('moveVpn', 'POST /vpn/{uuid}/move', {
  affectsNodes: true,
  summary: 'Move a VPN subscription to another node of its location',
  params: uuidParam,
  body: z.object({ node: given('The name of a VPN node.', 63, 'vpn-2') }),
  answer: z.object({
    uuid: text('The subscription’s id.', exampleUuid),
    node: text('Name of the new node.', 'vpn-2'),
    devices: whole('Devices moved.', 1),
  }),
  codes: ['not_found', 'conflict'],
})

const switching = (verb: 'disable' | 'enable', summary: string) =>
  vpnOperation(`${verb}Vpn`, `POST /vpn/{uuid}/${verb}`, {
    affectsNodes: true,
    summary,
    params: uuidParam,
    answer: z.object({
      uuid: text('The subscription’s id.', exampleUuid),
      disabled: flag('Whether the subscription is disabled.'),
    }),
    example: { disabled: verb === 'disable' },
  })

export const disableVpn = switching(
  'disable',
  'Disable a VPN subscription until it is enabled again; its term is not paused',
)
export const enableVpn = switching('enable', 'Enable a disabled VPN subscription')
