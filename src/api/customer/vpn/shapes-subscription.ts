import { z } from '@hono/zod-openapi'
import { type PeerId, readId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
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
import { exampleAt, flag, moment, text, whole } from '../../fields.ts'
import type { RefusalExample } from '../../operation.ts'

export const tag = 'VPN'

export const exampleUuid = '0199f3a0-7c00-7b3e-9d41-5a6f0c2e8b17'
const examplePublicKey = 'AcJpN4Lg7v3Q3T0b8XyEHk5rS0mGqP1uWcVZ2nYdQWE='
export const exampleDevice = 'dev_01k73sf8000000000000000000'

/** Which subscription; may be left out while only one runs. */
export const uuidField = (
  description = 'Which subscription. May be left out while only one runs; those that have ended do not count.',
) =>
  z
    .string()
    .refine((written) => readUuid(written) !== undefined, 'must be a UUID')
    .transform((written) => written.toLowerCase() as SubscriptionId)
    .openapi({
      type: 'string',
      format: 'uuid',
      description,
      example: exampleUuid,
    })

export const deviceField = () =>
  z
    .string()
    .refine((written) => readId('peer', written) !== undefined, 'must be the id of a device, dev_…')
    .transform((written) => written as PeerId)
    .openapi({ type: 'string', description: "The device's id.", example: exampleDevice })

export const locationField = () =>
  z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, 'must be the name of a location')
    .openapi({ description: 'Where the tunnel ends; see the locations. Any, unless said.', example: 'local' })

const nameField = () =>
  z
    .string()
    .refine(isDeviceName, "must be 1 to 64 letters, digits, spaces or ._'()+- and begin with a letter or digit")
    .openapi({
      type: 'string',
      pattern: "^[\\p{L}\\p{N}][\\p{L}\\p{N} ._'()+-]{0,63}$",
      maxLength: 64,
      description: 'How you call the device.',
      example: 'phone',
    })

const publicKeyField = () =>
  z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be a WireGuard public key, as "wg pubkey" prints it')
    .openapi({
      description:
        'Your own WireGuard public key. Without it a pair is made and the private key is in the configuration.',
      example: examplePublicKey,
    })

/** What a device that is added may bring. */
export const newDevice = {
  name: nameField().optional(),
  public_key: publicKeyField().optional(),
  location: locationField().optional(),
}

export const device = z
  .object({
    id: text('Its id, to name it by in other operations.', exampleDevice),
    name: text('How you call it.', 'phone'),
    public_key: text('Its WireGuard public key.', examplePublicKey),
    own_key: flag('Whether you brought the key; then its private half is not in the configuration.'),
    ipv4: text('Its address inside the tunnel.', '10.66.0.2'),
    ipv6: text('Its IPv6 address inside the tunnel.', 'fd74:7572:6e70::a42:2'),
    location: text('Where its tunnel ends; null is anywhere.', 'local').nullable(),
    rx_bytes: whole('Bytes that came to the device.', 0),
    tx_bytes: whole('Bytes that the device sent.', 0),
    last_handshake_at: moment('When it was last heard of; null before the first time.').nullable(),
    created_at: moment('When it was added.'),
  })
  .openapi('VpnDevice')

export const deviceExample = {
  id: exampleDevice,
  name: 'device 1',
  public_key: examplePublicKey,
  own_key: false,
  ipv4: '10.66.0.2',
  ipv6: 'fd74:7572:6e70::a42:2',
  location: null,
  rx_bytes: 0,
  tx_bytes: 0,
  last_handshake_at: null,
  created_at: toIso(exampleAt),
}

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
  last_handshake_at: peer.lastHandshakeAt === null ? null : toIso(peer.lastHandshakeAt),
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
const autoRenewField = autoRenew.openapi({ description: 'How it renews.' })

export const nodeState = z
  .enum(['online', 'offline'])
  .openapi({ description: 'Whether a VPN node is up to connect to.' })
export const linkField = text(
  'A secret link that serves the configuration to a phone.',
  'https://shop.example/vpn/s/kR3n0c9pT1VvYw2mXo8sQe5uJh7aLd4Z',
)
/** The link of a subscription that is looked at. */
const shownLink = linkField.nullable().openapi({
  description: 'A secret link that serves the configuration to a phone. Null without the scope `passwords`.',
})
const statusMeaning =
  'LIMITED when a limit is reached, see limited_by: without traffic nothing passes; with all devices taken only ' +
  'another one is refused.'
export const status = z.enum(['ACTIVE', 'EXPIRED', 'DISABLED', 'LIMITED']).openapi({ description: statusMeaning })
const limitedBy = z.array(z.enum(['traffic', 'devices'])).openapi({ description: 'The limits that are reached.' })
export const shownUuid = () => text("The subscription's id.", exampleUuid)
export const endsAt = () => moment('When it ends.')
export const deviceLimit = () => whole('How many devices it may have.', 5)
export const devices = () => z.array(device).openapi({ description: 'Its devices, the oldest first.' })
const trafficField = traffic.openapi({ description: 'What was carried.' })

/** What has no subscription, and what names one of nobody's, is answered alike. */
export const noSuchSubscription: RefusalExample = new Refusal('vpn_subscription_not_found', {}, { charged: false })
export const noSuchDevice: RefusalExample = new Refusal('vpn_device_not_found')

/** Where to read what there is of each. */
export const see = {
  period: 'GET /vpn/quote',
  period_months: 'GET /vpn/quote',
  location: 'GET /vpn/locations',
  uuid: 'GET /vpn/info',
  device: 'GET /vpn/info',
}

export const subscription = z
  .object({
    uuid: shownUuid(),
    status,
    limited_by: limitedBy,
    expires_at: endsAt(),
    subscription_url: shownLink,
    device_limit: deviceLimit(),
    devices: devices(),
    traffic: trafficField,
    speed_mbit: whole('The most that each device carries, in Mbit/s; null is no limit.').nullable(),
    auto_renew: autoRenewField,
    node: nodeState,
    created_at: moment('When it was bought.'),
  })
  .openapi('VpnSubscription')

/** The top of `info`: the most important subscription, or nothing at all. */
export const overview = z.object({
  status: z
    .enum(['ACTIVE', 'EXPIRED', 'DISABLED', 'LIMITED', 'NONE'])
    .openapi({ description: `${statusMeaning} NONE without a subscription.` }),
  uuid: shownUuid().nullable(),
  limited_by: limitedBy,
  expires_at: endsAt().nullable(),
  subscription_url: shownLink,
  device_limit: deviceLimit().nullable(),
  devices: devices(),
  traffic: trafficField,
  auto_renew: autoRenew.nullable().openapi({ description: 'How it renews.' }),
  node: nodeState,
  items: z.array(subscription).openapi({ description: 'All of your subscriptions, in the same order.' }),
})

export const subscriptionExample = {
  uuid: exampleUuid,
  status: 'ACTIVE' as const,
  limited_by: [],
  expires_at: toIso(exampleAt),
  subscription_url: 'https://shop.example/vpn/s/kR3n0c9pT1VvYw2mXo8sQe5uJh7aLd4Z',
  device_limit: 5,
  devices: [deviceExample],
  traffic: { rx_bytes: 0, tx_bytes: 0, limit_bytes: null },
  speed_mbit: null,
  auto_renew: { enabled: false, period: null, next_at: null, problem: null },
  node: 'online' as const,
  created_at: toIso(exampleAt),
}

const { speed_mbit: _speed, created_at: _created, ...topExample } = subscriptionExample
export const overviewExample = { ...topExample, items: [subscriptionExample] }

export const configExample = [
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
  traffic: toTraffic(of.subscription),
  speed_mbit: of.subscription.speedMegabits,
  auto_renew: toAutoRenew(of.subscription),
  node: of.node,
  created_at: toIso(of.subscription.createdAt),
})

const toTraffic = (of: View['subscription']) => ({
  rx_bytes: Number(of.received),
  tx_bytes: Number(of.sent),
  limit_bytes: of.trafficLimit === null ? null : Number(of.trafficLimit),
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
