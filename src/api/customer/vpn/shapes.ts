import { type PeerId, readId } from '../../../core/ids.ts'
import { fieldProblem, problem } from '../../../core/messages/problems.ts'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { Refusal, refuseField } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { type Metadata, noMetadata } from '../../../domains/metadata/rules.ts'
import { maxSlots } from '../../../domains/pricing/rules.ts'
import {
  ipv4Text,
  isDeviceName,
  type Peer,
  readUuid,
  renewAheadMs,
  type SubscriptionId,
  type View,
  vpnProtocols,
} from '../../../domains/vpn/rules.ts'
import {
  balanceAfter,
  bodyInteger,
  bodyTerm,
  checked,
  choice,
  exampleAt,
  flag,
  isoOrNull,
  list,
  moment,
  named,
  orderId,
  passwordsRefused,
  purchaseOptions,
  queryInteger,
  queryTerm,
  roubles,
  rows,
  shownMetadata,
  soughtMetadata,
  text,
  validUntil,
  whole,
  withTerm,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const exampleUuid = '0199f3a0-7c00-7b3e-9d41-5a6f0c2e8b17'
const examplePublicKey = 'AcJpN4Lg7v3Q3T0b8XyEHk5rS0mGqP1uWcVZ2nYdQWE='
const exampleDevice = 'dev_01k73sf8000000000000000000'

/** Which subscription; may be left out while only one runs. */
const uuidField = (description = 'Subscription. May be omitted if exactly one is running; ended ones do not count.') =>
  z
    .string()
    .refine((written) => readUuid(written) !== undefined, problem('uuid'))
    .transform((written) => written.toLowerCase() as SubscriptionId)
    .openapi({ type: 'string', format: 'uuid', description, example: exampleUuid })

const deviceField = () =>
  z
    .string()
    .refine((written) => readId('peer', written) !== undefined, problem('id', { prefix: 'dev' }))
    .transform((written) => written as PeerId)
    .openapi({ type: 'string', description: "The device's id.", example: exampleDevice })

const locationField = () =>
  checked(
    'Location from `GET /vpn/locations`. Default: any.',
    /^[a-z0-9-]{1,32}$/,
    ['name_of', { thing: 'location' }],
    'local',
  )

const nameField = (description: string, example: string) =>
  z.string().refine(isDeviceName, problem('device_name')).openapi({
    type: 'string',
    pattern: "^[\\p{L}\\p{N}][\\p{L}\\p{N} ._'()+-]{0,63}$",
    maxLength: 64,
    description,
    example,
  })

const newDevice = {
  name: nameField('Name of the device, chosen by you.', 'phone').optional(),
  public_key: checked(
    'Your own WireGuard public key. Default: a key pair is generated and the configuration contains the private key.',
    /^[A-Za-z0-9+/]{43}=$/,
    ['wireguard_key'],
    examplePublicKey,
  ).optional(),
  location: locationField().optional(),
}

const device = named('VpnDevice', {
  id: text("The device's id.", exampleDevice),
  name: text('Name of the device, chosen by you.', 'phone'),
  public_key: text('WireGuard public key of the device.', examplePublicKey),
  own_key: flag(
    'Whether you supplied the public key. If so, the configuration does not contain the private key.',
    false,
  ),
  ipv4: text('IPv4 address inside the tunnel.', '10.66.0.2'),
  ipv6: text('IPv6 address inside the tunnel.', 'fd74:7572:6e70::a42:2'),
  location: text('Location of the device; null means any.', 'local').nullable(),
  rx_bytes: whole('Bytes received by the device.', 0),
  tx_bytes: whole('Bytes sent by the device.', 0),
  last_handshake_at: moment('The same as `last_seen_at`.').nullable(),
  last_seen_at: moment('When the device last connected or carried bytes; null if it never has.').nullable(),
  last_protocol: choice('How it connected last; null if it never has.', vpnProtocols).nullable(),
  last_node: text('Node at which it connected last; null if none is known.', 'frankfurt-1').nullable(),
  protocols: list(
    'How the device can connect now. `wireguard` is in `config`, the others are in `subscription_url`.',
    choice('Protocol.', vpnProtocols),
  ),
  created_at: moment('When the device was added.'),
})

export const toDevice = (peer: Peer, { protocols, nodeNames }: Pick<View, 'protocols' | 'nodeNames'>) => ({
  id: peer.id,
  name: peer.name,
  public_key: peer.publicKey,
  own_key: peer.ownKey,
  ipv4: ipv4Text(peer.ipv4),
  ipv6: peer.ipv6,
  location: peer.location,
  rx_bytes: Number(peer.received),
  tx_bytes: Number(peer.sent),
  last_handshake_at: isoOrNull(peer.lastHandshakeAt),
  last_seen_at: isoOrNull(peer.lastHandshakeAt),
  last_protocol: peer.lastProtocol,
  last_node: nodeNames.get(peer.lastNode ?? '') ?? null,
  protocols: [...protocols],
  created_at: toIso(peer.createdAt),
})

const traffic = z.object({
  rx_bytes: whole('Bytes received by all devices, including removed ones.', 0),
  tx_bytes: whole('Bytes sent by all devices, including removed ones.', 0),
  limit_bytes: whole('Limit on the sum of both; null means no limit.', 500_000_000_000).nullable(),
  parts: rows(
    'Parts of the traffic for groups of nodes, in `GET /vpn/info`; null elsewhere. A used-up part closes its nodes.',
    {
      group: text('Name of the group.', 'far'),
      used_bytes: whole('Bytes of all devices at nodes of the group.', 0),
      limit_bytes: whole('Limit on these bytes.', 5_000_000_000),
    },
  ).nullable(),
})

const autoRenew = z.object({
  enabled: flag('Whether automatic renewal is on.'),
  period: whole('Months added by each renewal; null if automatic renewal is off.', 1).nullable(),
  next_at: moment('Time of the next charge; null if automatic renewal is off.').nullable(),
  problem: text('Error code of the last failed renewal, such as insufficient_funds; null if none.').nullable(),
})

const nodeState = choice('`online` if a VPN node, or a gateway over TLS, has reported within the last 90 seconds.', [
  'online',
  'offline',
])
const linkField = text(
  'Secret link to the configuration and its QR code.',
  'https://shop.example/vpn/s/kR3n0c9pT1VvYw2mXo8sQe5uJh7aLd4Z',
)
const shownLink = linkField.nullable().openapi({
  description: 'Secret link to the configuration and its QR code. Null without the scope `passwords`.',
})
const statusMeaning =
  'LIMITED if the traffic is used up, which stops all devices. A subscription with all its devices is ACTIVE, with ' +
  '`devices` in `limited_by`: no other device can be added. GRACE after the end while gateways over TLS still let ' +
  'its devices reach the shop.'
const status = choice(statusMeaning, ['ACTIVE', 'EXPIRED', 'DISABLED', 'LIMITED', 'GRACE'])
const limitedBy = list('Limits that are reached.', z.enum(['traffic', 'devices']))
const shownUuid = () => text("The subscription's id.", exampleUuid)
const endsAt = () => moment('When the subscription ends.')
const deviceLimit = () => whole('Maximum number of devices.', 5)
const slotsField = () =>
  whole('Device slots bought beyond the number in the price list, included in `device_limit`.', 0)
const devices = () => list('Devices of the subscription, oldest first.', device)
const trafficField = traffic.openapi({ description: 'Traffic of the subscription and its limit.' })

/** No subscription, and another customer's subscription, are refused alike. */
const noSuchSubscription = new Refusal('vpn_subscription_not_found', {}, { charged: false })
const noSuchDevice = new Refusal('vpn_device_not_found')

const see = {
  period: 'GET /vpn/quote',
  period_months: 'GET /vpn/quote',
  location: 'GET /vpn/locations',
  uuid: 'GET /vpn/info',
  device: 'GET /vpn/info',
  count: 'GET /vpn/devices/quote',
}

const operation = operationsOf({ tag: 'VPN', see })

const subscription = named('VpnSubscription', {
  uuid: shownUuid(),
  name: text('Name of the subscription, chosen by you; null if it has none.', 'Office').nullable(),
  status,
  limited_by: limitedBy,
  expires_at: endsAt(),
  subscription_url: shownLink,
  device_limit: deviceLimit(),
  slots: slotsField(),
  devices: devices(),
  traffic: trafficField,
  speed_mbit: whole('Speed limit per device in Mbit/s; null means no limit.').nullable(),
  auto_renew: autoRenew.openapi({ description: 'Automatic renewal.' }),
  node: nodeState,
  metadata: shownMetadata(),
  created_at: moment('When the subscription was bought.'),
})

const configExample = [
  '[Interface]',
  `# device 1 (${exampleDevice}) at local`,
  'PrivateKey = (44 characters)',
  'Address = 10.66.0.2/32, fd74:7572:6e70::a42:2/128',
  'DNS = 1.1.1.1, 2606:4700:4700::1111',
  'MTU = 1420',
  '',
  '[Peer]',
  'PublicKey = (44 characters)',
  'Endpoint = 127.0.0.1:51820',
  'AllowedIPs = 0.0.0.0/0, ::/0',
  'PersistentKeepalive = 25',
  '',
].join('\n')

export const linkPath = '/vpn/s/'
export const toLink = (publicUrl: string, secret: string): string => `${publicUrl}${linkPath}${secret}`

type LinkOf = (secret: string) => string | null

export const toSubscription = (of: View, linkOf: LinkOf, metadata: Metadata = noMetadata) => ({
  uuid: of.subscription.uuid,
  name: of.subscription.name,
  status: of.status,
  limited_by: [...of.limits],
  expires_at: toIso(of.subscription.expiresAt),
  subscription_url: linkOf(of.secret),
  device_limit: of.subscription.deviceLimit,
  slots: of.subscription.slots,
  devices: of.devices.map((each) => toDevice(each, of)),
  traffic: {
    rx_bytes: Number(of.subscription.received),
    tx_bytes: Number(of.subscription.sent),
    limit_bytes: of.subscription.trafficLimit === null ? null : Number(of.subscription.trafficLimit),
    parts:
      of.parts?.map(({ name, used, limit }) => ({
        group: name,
        used_bytes: Number(used),
        limit_bytes: Number(limit),
      })) ?? null,
  },
  speed_mbit: of.subscription.speedMegabits,
  auto_renew: toAutoRenew(of.subscription),
  node: of.node,
  metadata: { ...metadata },
  created_at: toIso(of.subscription.createdAt),
})

const toAutoRenew = (of: View['subscription']) => ({
  enabled: of.autoRenewMonths !== null,
  period: of.autoRenewMonths,
  next_at: of.autoRenewMonths === null ? null : toIso(Math.max(of.expiresAt - renewAheadMs, of.renewAfter)),
  problem: of.renewProblem,
})

export function toOverview(
  views: readonly View[],
  linkOf: LinkOf,
  up: boolean,
  metadata: ReadonlyMap<string, Metadata>,
) {
  const items = views.map((view) => toSubscription(view, linkOf, metadata.get(view.subscription.uuid)))
  const [first] = items
  if (first) return { ...first, items }
  return {
    status: 'NONE' as const,
    uuid: null,
    limited_by: [],
    expires_at: null,
    subscription_url: null,
    device_limit: null,
    slots: null,
    devices: [],
    traffic: { rx_bytes: 0, tx_bytes: 0, limit_bytes: null, parts: [] },
    auto_renew: null,
    node: up ? ('online' as const) : ('offline' as const),
    items: [],
  }
}

const months = {
  min: 1,
  max: 120,
  example: 1,
  description: 'Term in months. In the default price list: 1, 3, 6 or 12.',
}
const sameMonths = { ...months, description: 'The same as `period`.' }

type Periods = { period?: number | undefined; period_months?: number | undefined }

/** Both names of the field mean the same; given together they must agree. */
const agrees = (of: Periods): boolean =>
  of.period === undefined || of.period_months === undefined || of.period === of.period_months
const disagreement = { path: ['period_months'], error: problem('same_as', { other: 'period' }) }
/** Looked at even if other fields are faulty, so that all are named at once. */
const required = {
  path: ['period'],
  error: problem('required'),
  when: (payload: { value: unknown }) => typeof payload.value === 'object' && payload.value !== null,
}

/** Also true for a malformed period, such as null, which is reported by itself. */
const hasPeriod = (of: Periods): boolean => of.period !== undefined || of.period_months !== undefined
export const periodOf = (of: Periods): number | undefined => of.period ?? of.period_months

export function loadPeriod(of: Periods): number {
  const period = periodOf(of)
  if (period === undefined) throw refuseField('period', 'required')
  return period
}

const bodyPeriods = { period: bodyTerm(months).optional(), period_months: bodyInteger(sameMonths).optional() }

const eitherPeriod = {
  anyOf: [
    { required: ['period'], properties: { period: { type: 'integer' as const } } },
    { required: ['period_months'], properties: { period_months: { type: 'integer' as const } } },
  ],
}

const shownMonths = () => whole('Term in months.', 1)

const price = z.object({
  period: shownMonths(),
  price_rub: roubles('Price of the term. A purchase at this moment charges this amount.', 299),
  price_per_month_rub: roubles(
    'Price per month, rounded up to the kopeck; multiplied by `period` it may differ from `price_rub`.',
    299,
  ),
  slots: whole('Device slots that the renewal of `uuid` would renew.', 0),
  slots_price_rub: roubles('Their price, included in `price_rub`.', 0),
})

const notSold = new Refusal('vpn_not_sold', {}, { charged: false })

const slotsNotSold = new Refusal('vpn_slots_not_sold', {}, { charged: false })

const available = flag('Whether a VPN node is online that accepts new subscriptions.')

export const quoteVpn = operation('quoteVpn', 'GET /vpn/quote', {
  summary: 'Price a VPN subscription',
  description:
    'Without `period`, `prices` lists every term on sale. `available` is false while no VPN node accepts new ' +
    'subscriptions: a purchase is then refused (503), or, in a sandbox, succeeds with a warning.',
  query: withTerm(months, {
    period: queryTerm(months).optional(),
    period_months: queryInteger(sameMonths).optional(),
    uuid: uuidField('Subscription to renew: prices include the slots that it has bought.').optional(),
  }).refine(agrees, disagreement),
  answer: z.union([
    price.extend({ available, valid_until: validUntil() }).openapi({ title: 'One term' }),
    z
      .object({ prices: list('Terms on sale.', price), available, valid_until: validUntil() })
      .openapi({ title: 'All terms' }),
  ]),
  refusals: { not_found: notSold },
})

const bought = z.object({
  order_id: orderId(),
  uuid: shownUuid(),
  period: shownMonths(),
  price_rub: roubles('Price charged.', 299),
  balance_rub: balanceAfter(),
  status,
  expires_at: endsAt(),
  subscription_url: linkField,
  config: text('Complete configuration of the first device, for wg-quick.', configExample),
  device: text('Id of the device that `config` belongs to.', exampleDevice),
  node: nodeState,
})

type BoughtShown = { order: string; months: number; price: Kopecks; balance: Kopecks; view: View; config: string }

export const toBought = (of: BoughtShown, publicUrl: string) => ({
  order_id: of.order,
  uuid: of.view.subscription.uuid,
  period: of.months,
  price_rub: toRoubles(of.price),
  balance_rub: toRoubles(of.balance),
  status: of.view.status,
  expires_at: toIso(of.view.subscription.expiresAt),
  subscription_url: toLink(publicUrl, of.view.secret),
  config: of.config,
  device: of.view.devices[0]?.id ?? '',
  node: of.view.node,
})

/** Only a sandbox sells without a node that is up. */
export const nodeOfflineWarning = fieldProblem('node', 'no_vpn_node_up')

const noLiveNode = new Refusal('no_vpn_node_up', {}, { charged: false })

/** The body of what is paid for: a number of months, under one of its names, and what else there is to say. */
const forPeriod = <Fields extends z.ZodRawShape>(fields: Fields) =>
  withTerm(months, { ...bodyPeriods, ...fields, ...purchaseOptions })
    .refine((of) => hasPeriod(of as Periods), required)
    .refine((of) => agrees(of as Periods), disagreement)
    .openapi(eitherPeriod)

const sold = { exampleBody: { period: 1 }, answer: bought, charges: true, isSecret: true }

export const buyVpn = operation('buyVpn', 'POST /vpn/buy', {
  affectsNodes: true,
  summary: 'Buy a VPN subscription with its first device',
  description:
    'While no VPN node is online, the purchase is refused (503) and nothing is charged. A sandbox sells anyway: ' +
    '`node` is `offline`, the configuration does not connect, and the answer contains a warning in `warnings`.',
  body: forPeriod({
    ...newDevice,
    auto_renew: z
      .boolean()
      .optional()
      .openapi({
        default: false,
        description:
          'Whether the subscription renews automatically one day before its end. Renewals count towards the spending ' +
          'cap of this token.',
      }),
  }),
  ...sold,
  refusals: { not_found: notSold, unavailable: noLiveNode },
})

export const renewVpn = operation('renewVpn', 'POST /vpn/renew', {
  affectsNodes: true,
  summary: 'Add months to a subscription',
  description:
    'The months are added to the current term; after its end, they start now. Devices, keys and link do not change.',
  body: forPeriod({
    uuid: uuidField(
      'Subscription. Default: the first one of `GET /vpn/info`, which is the running one that ends first.',
    ).optional(),
  }),
  ...sold,
  refusals: { not_found: noSuchSubscription, unavailable: noLiveNode },
})

export const getVpn = operation('getVpn', 'GET /vpn/info', {
  isSecret: true,
  summary: 'Read VPN subscriptions',
  description:
    'The top-level fields describe the running subscription that ends first, or, if none is running, the one that ' +
    'ended last. `items` lists all subscriptions in this order, without deleted ones. Without a subscription, ' +
    '`status` is NONE and the other fields are null or empty.',
  query: z.object({
    uuid: uuidField('Only this subscription. Default: all your subscriptions.').optional(),
    metadata: soughtMetadata(),
  }),
  answer: z.object({
    status: choice(`${statusMeaning} NONE if you have no subscription.`, [
      'ACTIVE',
      'EXPIRED',
      'DISABLED',
      'LIMITED',
      'GRACE',
      'NONE',
    ]),
    uuid: shownUuid().nullable(),
    limited_by: limitedBy,
    expires_at: endsAt().nullable(),
    subscription_url: shownLink,
    device_limit: deviceLimit().nullable(),
    slots: slotsField().nullable(),
    devices: devices(),
    traffic: trafficField,
    auto_renew: autoRenew.nullable().openapi({ description: 'Automatic renewal.' }),
    node: nodeState,
    items: list('All your subscriptions, in the same order.', subscription),
  }),
  refusals: { not_found: noSuchSubscription },
  example: { expires_at: toIso(exampleAt) },
})

const deletedUuid = () =>
  uuidField('Subscription. May be omitted only if you have exactly one, counting ended ones.').optional()

export const quoteVpnRefund = operation('quoteVpnRefund', 'GET /vpn/delete/quote', {
  summary: 'Read what deleting a subscription would refund now',
  description: 'The amount falls with time and traffic.',
  query: z.object({ uuid: deletedUuid() }),
  answer: z.object({
    uuid: shownUuid(),
    refund_rub: roubles('Amount that a deletion now would refund, rounded down to the kopeck.', 149.5),
  }),
  refusals: { not_found: noSuchSubscription },
})

export const deleteVpn = operation('deleteVpn', 'POST /vpn/delete', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Delete a subscription',
  description:
    'Disconnects the devices and erases their keys at once. The unused part of the price is refunded to the balance, ' +
    'if the price list allowed refunds when the term was bought.',
  body: z.object({ uuid: deletedUuid() }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({
    uuid: shownUuid(),
    deleted: z.literal(true).openapi({ description: 'Always true.' }),
    refunded_rub: roubles('Amount refunded: the unused part of the price, rounded down to the kopeck.', 149.5),
    balance_rub: balanceAfter(),
  }),
  refusals: {
    not_found: noSuchSubscription,
    conflict: new Refusal('subscription_disabled', {}, { status: 'DISABLED', charged: false }),
  },
})

export const setVpnAutoRenew = operation('setVpnAutoRenew', 'POST /vpn/auto-renew', {
  summary: 'Switch automatic renewal on or off',
  description:
    'Each renewal is charged one day before the end. Default for `period`: the term bought last. Renewals count ' +
    'towards the spending cap of the token that makes this request.',
  body: withTerm(months, {
    uuid: uuidField().optional(),
    enabled: z.boolean().openapi({ description: 'Whether to renew automatically.', example: true }),
    ...bodyPeriods,
  }).refine(agrees, disagreement),
  exampleBody: { uuid: exampleUuid },
  answer: subscription,
  refusals: { not_found: noSuchSubscription },
})

export const setVpnName = operation('setVpnName', 'POST /vpn/name', {
  summary: 'Name a subscription',
  body: z.object({
    uuid: uuidField().optional(),
    name: nameField('Name of the subscription, shown to you only; null removes it.', 'Office')
      .nullable()
      .openapi({ type: ['string', 'null'] }),
  }),
  exampleBody: { uuid: exampleUuid },
  answer: subscription,
  refusals: { not_found: noSuchSubscription },
})

export const addVpnDevice = operation('addVpnDevice', 'POST /vpn/devices', {
  affectsNodes: true,
  creates: true,
  isSecret: true,
  summary: 'Add a device',
  body: z.object({ uuid: uuidField().optional(), ...newDevice }),
  exampleBody: { uuid: exampleUuid, name: 'phone' },
  answer: z.object({
    uuid: shownUuid(),
    device,
    config: text('Complete configuration of the device, for wg-quick.', configExample),
    device_limit: deviceLimit(),
    devices_left: whole('Number of devices that can still be added.', 3),
  }),
  refusals: {
    not_found: noSuchSubscription,
    conflict: new Refusal('device_limit', { limit: 5 }, { device_limit: 5, charged: false }),
  },
})

const slotCount = {
  min: 1,
  max: maxSlots,
  example: 2,
  description: 'Device slots. In the default price list: 1, 2, 3, 5, 10.',
}
const slotsPrice = z.object({
  count: whole('Number of device slots.', 2),
  price_rub: roubles('Price until the end of the subscription, and of each renewal of them.', 249),
})

export const quoteVpnSlots = operation('quoteVpnSlots', 'GET /vpn/devices/quote', {
  summary: 'Price more devices for a subscription',
  description: 'Without `count`, `prices` lists every number on sale.',
  query: z.object({ count: queryInteger(slotCount).optional() }),
  answer: z.union([
    slotsPrice.extend({ valid_until: validUntil() }).openapi({ title: 'One number' }),
    z
      .object({ prices: list('Numbers on sale.', slotsPrice), valid_until: validUntil() })
      .openapi({ title: 'All numbers' }),
  ]),
  refusals: { not_found: slotsNotSold },
})

export const increaseVpnDevices = operation('increaseVpnDevices', 'POST /vpn/devices/increase', {
  summary: 'Buy more device slots for a subscription',
  description:
    'The slots last until the end of the subscription. A renewal renews them, at the price of ' +
    '`GET /vpn/quote?uuid=`. Deleting the subscription refunds their unused part.',
  body: z.object({ uuid: uuidField().optional(), count: bodyInteger(slotCount), ...purchaseOptions }),
  exampleBody: { uuid: exampleUuid },
  charges: true,
  answer: z.object({
    order_id: orderId(),
    uuid: shownUuid(),
    count: whole('Number of bought slots.', 2),
    price_rub: roubles('Price charged.', 249),
    balance_rub: balanceAfter(),
    device_limit: whole('Maximum number of devices now.', 7),
    slots: slotsField(),
    expires_at: endsAt(),
  }),
  refusals: {
    not_found: noSuchSubscription,
    conflict: new Refusal('subscription_not_active', { status: 'EXPIRED' }, { status: 'EXPIRED', charged: false }),
  },
})

type SlotsShown = {
  readonly order: string
  readonly count: number
  readonly price: Kopecks
  readonly balance: Kopecks
  readonly subscription: View['subscription']
}

export const toIncreased = (of: SlotsShown) => ({
  order_id: of.order,
  uuid: of.subscription.uuid,
  count: of.count,
  price_rub: toRoubles(of.price),
  balance_rub: toRoubles(of.balance),
  device_limit: of.subscription.deviceLimit,
  slots: of.subscription.slots,
  expires_at: toIso(of.subscription.expiresAt),
})

export const resetVpnDevices = operation('resetVpnDevices', 'POST /vpn/devices/reset', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Remove all devices',
  description: 'Disconnects all devices of the subscription and erases their keys. Its link stays.',
  body: z.object({ uuid: uuidField().optional() }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({
    uuid: shownUuid(),
    removed: list('Ids of the removed devices.', z.string().openapi({ example: exampleDevice })),
    devices: devices(),
  }),
  refusals: { not_found: noSuchSubscription },
  example: { devices: [] },
})

export const removeVpnDevice = operation('removeVpnDevice', 'POST /vpn/devices/remove', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Remove a device',
  description: 'Disconnects the device and erases its private key.',
  body: z.object({ uuid: uuidField().optional(), device: deviceField() }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({
    uuid: shownUuid(),
    removed: text('Id of the removed device.', exampleDevice),
    devices: devices(),
  }),
  refusals: { not_found: noSuchDevice },
  example: { devices: [] },
})

const formats = ['conf', 'qr', 'svg', 'png'] as const

export const getVpnConfig = operation('getVpnConfig', 'GET /vpn/config', {
  isSecret: true,
  summary: 'Read a configuration as text or QR code',
  description:
    '`conf` is text for wg-quick, `qr` a QR code in block characters for a terminal, `svg` a QR code as SVG, `png` a ' +
    'QR code as PNG in base64. Default for `device`: the oldest device. The configuration contains a private key, so ' +
    'the token needs the scope `passwords` in addition to `read`.',
  query: z.object({
    uuid: uuidField().optional(),
    device: deviceField().optional(),
    location: locationField().optional(),
    format: z.enum(formats).default('conf').openapi({ description: 'Format of `config`.' }),
  }),
  answer: z.object({
    uuid: shownUuid(),
    device: text('Id of the device.', exampleDevice),
    location: text('Location of the VPN node.', 'local'),
    format: choice('Format of `config`.', formats),
    media_type: text('Media type of `config`.', 'text/plain'),
    encoding: choice('Encoding of `config` in the JSON string.', ['utf-8', 'base64']),
    config: text('The configuration.', configExample),
  }),
  refusals: { ...passwordsRefused, not_found: noSuchDevice },
})

export const resetVpnLink = operation('resetVpnLink', 'POST /vpn/link/reset', {
  isDestructive: true,
  summary: 'Replace the secret link',
  description: 'The old link stops working at once. Keys of devices stay valid: remove a device to end its keys.',
  body: z.object({ uuid: uuidField().optional() }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({ uuid: shownUuid(), subscription_url: linkField }),
  refusals: { not_found: noSuchSubscription },
})

export const listVpnLocations = operation('listVpnLocations', 'GET /vpn/locations', {
  summary: 'List VPN locations',
  answer: z.object({
    locations: rows('VPN locations.', {
      location: text('Name of the location, for `location` in other operations.', 'local'),
      country_code: text('Country code, ISO 3166-1 alpha-2; null if unknown.', 'DE').nullable(),
      city: text('City; null if unknown.', 'Berlin').nullable(),
      node: nodeState,
    }),
  }),
})
