import { type PeerId, readId } from '../../../core/ids.ts'
import { fieldProblem, problem } from '../../../core/messages/problems.ts'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { Refusal, refuseField } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import {
  ipv4Text,
  isDeviceName,
  type Peer,
  readUuid,
  renewAheadMs,
  type SubscriptionId,
  type View,
} from '../../../domains/vpn/rules.ts'
import {
  balanceAfter,
  bodyInteger,
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
  queryInteger,
  roubles,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const exampleUuid = '0199f3a0-7c00-7b3e-9d41-5a6f0c2e8b17'
const examplePublicKey = 'AcJpN4Lg7v3Q3T0b8XyEHk5rS0mGqP1uWcVZ2nYdQWE='
const exampleDevice = 'dev_01k73sf8000000000000000000'

/** Which subscription; may be left out while only one runs. */
const uuidField = (
  description = 'Which subscription. May be left out while only one runs; those that have ended do not count.',
) =>
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
    'Where the tunnel ends; see the locations. Any, unless said.',
    /^[a-z0-9-]{1,32}$/,
    ['name_of', { thing: 'location' }],
    'local',
  )

const nameField = z.string().refine(isDeviceName, problem('device_name')).openapi({
  type: 'string',
  pattern: "^[\\p{L}\\p{N}][\\p{L}\\p{N} ._'()+-]{0,63}$",
  maxLength: 64,
  description: 'How you call the device.',
  example: 'phone',
})

const newDevice = {
  name: nameField.optional(),
  public_key: checked(
    'Your own WireGuard public key. Without it a pair is made and the private key is in the configuration.',
    /^[A-Za-z0-9+/]{43}=$/,
    ['wireguard_key'],
    examplePublicKey,
  ).optional(),
  location: locationField().optional(),
}

const device = named('VpnDevice', {
  id: text('Its id, to name it by in other operations.', exampleDevice),
  name: text('How you call it.', 'phone'),
  public_key: text('Its WireGuard public key.', examplePublicKey),
  own_key: flag('Whether you brought the key; then its private half is not in the configuration.', false),
  ipv4: text('Its address inside the tunnel.', '10.66.0.2'),
  ipv6: text('Its IPv6 address inside the tunnel.', 'fd74:7572:6e70::a42:2'),
  location: text('Where its tunnel ends; null is anywhere.', 'local').nullable(),
  rx_bytes: whole('Bytes that came to the device.', 0),
  tx_bytes: whole('Bytes that the device sent.', 0),
  last_handshake_at: moment('When it was last heard of; null before the first time.').nullable(),
  created_at: moment('When it was added.'),
})

export const toDevice = (peer: Peer) => ({
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
  created_at: toIso(peer.createdAt),
})

const traffic = z.object({
  rx_bytes: whole('Bytes that came to all devices, removed ones too.', 0),
  tx_bytes: whole('Bytes that all devices sent.', 0),
  limit_bytes: whole('What both may come to; null is no limit.', 500_000_000_000).nullable(),
})

const autoRenew = z.object({
  enabled: flag('Whether it renews by itself.'),
  period: whole('Months that are bought each time; null when it does not.', 1).nullable(),
  next_at: moment('When it is charged next; null when it does not.').nullable(),
  problem: text('The code of the last refusal, such as insufficient_funds; null without one.').nullable(),
})

const nodeState = choice('Whether a VPN node is up to connect to.', ['online', 'offline'])
const linkField = text(
  'A secret link that serves the configuration to a phone.',
  'https://shop.example/vpn/s/kR3n0c9pT1VvYw2mXo8sQe5uJh7aLd4Z',
)
const shownLink = linkField.nullable().openapi({
  description: 'A secret link that serves the configuration to a phone. Null without the scope `passwords`.',
})
const statusMeaning =
  'LIMITED when a limit is reached, see limited_by: without traffic nothing passes; with all devices taken only ' +
  'another one is refused.'
const status = choice(statusMeaning, ['ACTIVE', 'EXPIRED', 'DISABLED', 'LIMITED'])
const limitedBy = list('The limits that are reached.', z.enum(['traffic', 'devices']))
const shownUuid = () => text("The subscription's id.", exampleUuid)
const endsAt = () => moment('When it ends.')
const deviceLimit = () => whole('How many devices it may have.', 5)
const devices = () => list('Its devices, the oldest first.', device)
const trafficField = traffic.openapi({ description: 'What was carried.' })

/** No subscription, and another customer's subscription, are refused alike. */
const noSuchSubscription = new Refusal('vpn_subscription_not_found', {}, { charged: false })
const noSuchDevice = new Refusal('vpn_device_not_found')

const see = {
  period: 'GET /vpn/quote',
  period_months: 'GET /vpn/quote',
  location: 'GET /vpn/locations',
  uuid: 'GET /vpn/info',
  device: 'GET /vpn/info',
}

const operation = operationsOf({ tag: 'VPN', see })

const subscription = named('VpnSubscription', {
  uuid: shownUuid(),
  status,
  limited_by: limitedBy,
  expires_at: endsAt(),
  subscription_url: shownLink,
  device_limit: deviceLimit(),
  devices: devices(),
  traffic: trafficField,
  speed_mbit: whole('The most that each device carries, in Mbit/s; null is no limit.').nullable(),
  auto_renew: autoRenew.openapi({ description: 'How it renews.' }),
  node: nodeState,
  created_at: moment('When it was bought.'),
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

export const toSubscription = (of: View, linkOf: LinkOf) => ({
  uuid: of.subscription.uuid,
  status: of.status,
  limited_by: [...of.limits],
  expires_at: toIso(of.subscription.expiresAt),
  subscription_url: linkOf(of.secret),
  device_limit: of.subscription.deviceLimit,
  devices: of.devices.map(toDevice),
  traffic: {
    rx_bytes: Number(of.subscription.received),
    tx_bytes: Number(of.subscription.sent),
    limit_bytes: of.subscription.trafficLimit === null ? null : Number(of.subscription.trafficLimit),
  },
  speed_mbit: of.subscription.speedMegabits,
  auto_renew: toAutoRenew(of.subscription),
  node: of.node,
  created_at: toIso(of.subscription.createdAt),
})

const toAutoRenew = (of: View['subscription']) => ({
  enabled: of.autoRenewMonths !== null,
  period: of.autoRenewMonths,
  next_at: of.autoRenewMonths === null ? null : toIso(Math.max(of.expiresAt - renewAheadMs, of.renewAfter)),
  problem: of.renewProblem,
})

export function toOverview(views: readonly View[], linkOf: LinkOf, up: boolean) {
  const items = views.map((view) => toSubscription(view, linkOf))
  const [first] = items
  if (first) return { ...first, items }
  return {
    status: 'NONE' as const,
    uuid: null,
    limited_by: [],
    expires_at: null,
    subscription_url: null,
    device_limit: null,
    devices: [],
    traffic: { rx_bytes: 0, tx_bytes: 0, limit_bytes: null },
    auto_renew: null,
    node: up ? ('online' as const) : ('offline' as const),
    items: [],
  }
}

const months = {
  min: 1,
  max: 120,
  example: 1,
  description: 'Months, of those that are sold; as shipped 1, 3, 6 and 12.',
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

export const periodOf = (of: Periods): number | undefined => of.period ?? of.period_months

export function loadPeriod(of: Periods): number {
  const period = periodOf(of)
  if (period === undefined) throw refuseField('period', 'required')
  return period
}

const bodyPeriods = { period: bodyInteger(months).optional(), period_months: bodyInteger(sameMonths).optional() }

const eitherPeriod = {
  anyOf: [
    { required: ['period'], properties: { period: { type: 'integer' as const } } },
    { required: ['period_months'], properties: { period_months: { type: 'integer' as const } } },
  ],
}

const shownMonths = () => whole('Months.', 1)

const price = z.object({
  period: shownMonths(),
  price_rub: roubles('What it costs. This is what is charged.', 299),
  price_per_month_rub: roubles(
    'The price of a month, rounded up to the kopeck: times `period` it may differ from `price_rub`.',
    299,
  ),
})

const notSold = new Refusal('vpn_not_sold', {}, { charged: false })

const available = flag('Whether a VPN node is up that carries a new subscription.')

export const quoteVpn = operation('quoteVpn', 'GET /vpn/quote', {
  summary: 'Price a VPN subscription',
  description:
    'Without `period` every term that is sold is priced, in `prices`. `available` is false while no VPN node is up: ' +
    'a purchase is refused then (503), or in a sandbox goes through with a warning.',
  query: z
    .object({ period: queryInteger(months).optional(), period_months: queryInteger(sameMonths).optional() })
    .refine(agrees, disagreement),
  answer: z.union([
    price.extend({ available }).openapi({ title: 'One term' }),
    z.object({ prices: list('Each term that is sold.', price), available }).openapi({ title: 'All terms' }),
  ]),
  refusals: { not_found: notSold },
})

const bought = z.object({
  order_id: orderId(),
  uuid: shownUuid(),
  period: shownMonths(),
  price_rub: roubles('What it cost.', 299),
  balance_rub: balanceAfter(),
  status,
  expires_at: endsAt(),
  subscription_url: linkField,
  config: text('A complete configuration of the first device, for wg-quick.', configExample),
  device: text('The id of the device that `config` is for.', exampleDevice),
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
  z
    .object({ ...bodyPeriods, ...fields })
    .refine((of) => periodOf(of as Periods) !== undefined, required)
    .refine((of) => agrees(of as Periods), disagreement)
    .openapi(eitherPeriod)

const sold = { exampleBody: { period: 1 }, answer: bought, charges: true }

export const buyVpn = operation('buyVpn', 'POST /vpn/buy', {
  summary: 'Buy a VPN subscription with its first device',
  description:
    'While no VPN node is up, nothing is sold and nothing is charged (503). A sandbox sells all the same: `node` is ' +
    '`offline`, the configuration does not connect, and `warnings` says how to start a node.',
  body: forPeriod({
    ...newDevice,
    auto_renew: z
      .boolean()
      .optional()
      .openapi({ default: false, description: 'Whether it renews by itself, a day ahead, as spent by this token.' }),
  }),
  ...sold,
  refusals: { not_found: notSold, unavailable: noLiveNode },
})

export const renewVpn = operation('renewVpn', 'POST /vpn/renew', {
  summary: 'Add months to a subscription',
  description: 'Months are added to what is left, or begin now when nothing is. Devices, keys and link stay the same.',
  body: forPeriod({
    uuid: uuidField(
      'Which subscription; unless given, the active one that ends first, which `GET /vpn/info` shows on top.',
    ).optional(),
  }),
  ...sold,
  refusals: { not_found: noSuchSubscription, unavailable: noLiveNode },
})

export const getVpn = operation('getVpn', 'GET /vpn/info', {
  isSecret: true,
  summary: 'Read VPN subscriptions',
  description:
    'At the top stands, of those that run, the one that ends first, else the one that ended last. All of them are in ' +
    '`items`, in that order; what was deleted is not. Without any the status is NONE, and what would tell of one is ' +
    'null or empty.',
  query: z.object({ uuid: uuidField('One subscription only; all of yours unless given.').optional() }),
  answer: z.object({
    status: choice(`${statusMeaning} NONE without a subscription.`, [
      'ACTIVE',
      'EXPIRED',
      'DISABLED',
      'LIMITED',
      'NONE',
    ]),
    uuid: shownUuid().nullable(),
    limited_by: limitedBy,
    expires_at: endsAt().nullable(),
    subscription_url: shownLink,
    device_limit: deviceLimit().nullable(),
    devices: devices(),
    traffic: trafficField,
    auto_renew: autoRenew.nullable().openapi({ description: 'How it renews.' }),
    node: nodeState,
    items: list('All of your subscriptions, in the same order.', subscription),
  }),
  refusals: { not_found: noSuchSubscription },
  example: { expires_at: toIso(exampleAt) },
})

export const deleteVpn = operation('deleteVpn', 'POST /vpn/delete', {
  isDestructive: true,
  summary: 'End a subscription at once',
  description:
    'Devices are cut off and keys erased. The unused part of what was paid is given back, if it was sold so.',
  body: z.object({
    uuid: uuidField(
      'Which subscription. May be left out only while there is no other, not even an ended one.',
    ).optional(),
  }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({
    uuid: shownUuid(),
    deleted: z.literal(true).openapi({ description: 'It is no more.' }),
    refunded_rub: roubles('What was given back: the unused part, rounded down to the kopeck.', 149.5),
    balance_rub: balanceAfter(),
  }),
  refusals: {
    not_found: noSuchSubscription,
    conflict: new Refusal('subscription_disabled', {}, { status: 'DISABLED', charged: false }),
  },
})

export const setVpnAutoRenew = operation('setVpnAutoRenew', 'POST /vpn/auto-renew', {
  summary: 'Renew by itself, or no more',
  description:
    'It is charged one day before the end, for as many months as last bought unless said, and spent by the token ' +
    'that asks for it here, within its cap.',
  body: z
    .object({
      uuid: uuidField().optional(),
      enabled: z.boolean().openapi({ description: 'Whether it renews by itself.', example: true }),
      ...bodyPeriods,
    })
    .refine(agrees, disagreement),
  exampleBody: { uuid: exampleUuid },
  answer: subscription,
  refusals: { not_found: noSuchSubscription },
})

export const addVpnDevice = operation('addVpnDevice', 'POST /vpn/devices', {
  summary: 'Add a device',
  body: z.object({ uuid: uuidField().optional(), ...newDevice }),
  exampleBody: { uuid: exampleUuid, name: 'phone' },
  answer: z.object({
    uuid: shownUuid(),
    device,
    config: text('Its complete configuration, for wg-quick.', configExample),
    device_limit: deviceLimit(),
    devices_left: whole('How many more may be added.', 3),
  }),
  refusals: {
    not_found: noSuchSubscription,
    conflict: new Refusal('device_limit', { limit: 5 }, { device_limit: 5, charged: false }),
  },
})

export const removeVpnDevice = operation('removeVpnDevice', 'POST /vpn/devices/remove', {
  isDestructive: true,
  summary: 'Remove a device',
  description: 'It is cut off, and its private key is erased.',
  body: z.object({ uuid: uuidField().optional(), device: deviceField() }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({
    uuid: shownUuid(),
    removed: text('The id of the device that is no more.', exampleDevice),
    devices: devices(),
  }),
  refusals: { not_found: noSuchDevice },
  example: { devices: [] },
})

const formats = ['conf', 'qr', 'svg', 'png'] as const

export const getVpnConfig = operation('getVpnConfig', 'GET /vpn/config', {
  isSecret: true,
  summary: 'Read a configuration as text or as a QR code',
  description:
    '`conf` is text for wg-quick, `qr` a QR code in block characters for a terminal, `svg` a picture as text, ' +
    '`png` a picture in base64. The oldest device, unless one is named. It holds a private key, so the token needs ' +
    'the scope `passwords` as well as `read`.',
  query: z.object({
    uuid: uuidField().optional(),
    device: deviceField().optional(),
    location: locationField().optional(),
    format: z.enum(formats).default('conf').openapi({ description: 'How to write it.' }),
  }),
  answer: z.object({
    uuid: shownUuid(),
    device: text('The id of the device that it is for.', exampleDevice),
    location: text('Where the tunnel ends.', 'local'),
    format: choice('How it is written.', formats),
    media_type: text('The media type of `config`.', 'text/plain'),
    encoding: choice('How `config` is put into JSON.', ['utf-8', 'base64']),
    config: text('The configuration.', configExample),
  }),
  refusals: { ...passwordsRefused, not_found: noSuchDevice },
})

export const resetVpnLink = operation('resetVpnLink', 'POST /vpn/link/reset', {
  isDestructive: true,
  summary: 'Make a new secret link',
  description: 'The old one stops working at once.',
  body: z.object({ uuid: uuidField().optional() }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({ uuid: shownUuid(), subscription_url: linkField }),
  refusals: { not_found: noSuchSubscription },
})

export const listVpnLocations = operation('listVpnLocations', 'GET /vpn/locations', {
  summary: 'List the places to connect to',
  answer: z.object({
    locations: rows('Each place.', {
      location: text('Its name, to choose it by.', 'local'),
      country_code: text('Its country, ISO 3166-1 alpha-2; null where that is not told.', 'DE').nullable(),
      city: text('Its city; null where that is not told.', 'Berlin').nullable(),
      node: nodeState,
    }),
  }),
})
