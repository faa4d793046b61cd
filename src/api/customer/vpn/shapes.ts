import { z } from '@hono/zod-openapi'
import { type Kopecks, toRoubles } from '../../../kernel/money.ts'
import { malformed } from '../../../kernel/refusal.ts'
import { toIso } from '../../../kernel/time.ts'
import { bodyInteger, moment, queryInteger, roubles } from '../../fields.ts'
import { operation } from '../../operation.ts'
import {
  configExample,
  device,
  deviceExample,
  deviceField,
  exampleAt,
  exampleDevice,
  exampleUuid,
  locationField,
  nameField,
  overview,
  publicKeyField,
  type Shown,
  subscription,
  subscriptionExample,
  toDevice,
  toLink,
  uuidField,
} from './shapes-subscription.ts'

export { toDevice, toOverview, toSubscription } from './shapes-subscription.ts'

const tag = 'VPN'
const months = { min: 1, max: 120, example: 1, description: 'Months, of those that are sold.' }
const sameMonths = { ...months, description: 'The same as `period`.' }

type Periods = { period?: number | undefined; period_months?: number | undefined }

/** Both names of the field mean the same; given together they must agree. */
const agrees = (of: Periods): boolean =>
  of.period === undefined || of.period_months === undefined || of.period === of.period_months
const disagreement = { path: ['period_months'], error: 'must be the same as period, or left out' }
/** Looked at even if other fields are faulty, so that all are named at once. */
const required = {
  path: ['period'],
  error: 'is required',
  when: (payload: { value: unknown }) => typeof payload.value === 'object' && payload.value !== null,
}
const hasPeriod = (of: Periods): boolean => of.period !== undefined || of.period_months !== undefined

export const periodOf = (of: Periods): number | undefined => of.period ?? of.period_months

export function loadPeriod(of: Periods): number {
  const period = periodOf(of)
  if (period === undefined) throw malformed([{ field: 'period', problem: 'is required' }])
  return period
}

const bodyPeriods = { period: bodyInteger(months).optional(), period_months: bodyInteger(sameMonths).optional() }

const price = z.object({ period: z.int(), price_rub: roubles(), price_per_month_rub: roubles() })

export const quoteVpn = operation({
  id: 'quoteVpn',
  method: 'GET',
  path: '/vpn/quote',
  tag,
  summary: 'Price a VPN subscription',
  description: 'Without `period` every term that is sold is priced, in `prices`.',
  query: z
    .object({ period: queryInteger(months).optional(), period_months: queryInteger(sameMonths).optional() })
    .refine(agrees, disagreement),
  answer: z.union([price, z.object({ prices: z.array(price) })]),
  example: { period: 1, price_rub: 299, price_per_month_rub: 299 },
  codes: ['not_found'],
})

const toPrice = (of: { months: number; total: Kopecks; perMonth: Kopecks }) => ({
  period: of.months,
  price_rub: toRoubles(of.total),
  price_per_month_rub: toRoubles(of.perMonth),
})

export function toQuote(offers: readonly Parameters<typeof toPrice>[0][], one: boolean) {
  const prices = offers.map(toPrice)
  return one && prices[0] ? prices[0] : { prices }
}

const bought = z.object({
  order_id: z.string(),
  uuid: z.string(),
  period: z.int(),
  price_rub: roubles(),
  balance_rub: roubles(),
  status: z.enum(['ACTIVE', 'EXPIRED', 'DISABLED', 'LIMITED']),
  expires_at: moment(),
  subscription_url: z.string(),
  config: z.string().openapi({ description: 'A complete configuration of the first device, for wg-quick.' }),
  device: z.string().openapi({ description: 'The id of the device that `config` is for.' }),
  node: z.enum(['online', 'offline']),
})

const boughtExample = {
  order_id: 'ord_01k73sf80000000000000000000',
  uuid: exampleUuid,
  period: 1,
  price_rub: 299,
  balance_rub: 99_701,
  status: 'ACTIVE' as const,
  expires_at: toIso(exampleAt),
  subscription_url: subscriptionExample.subscription_url,
  config: configExample,
  device: exampleDevice,
  node: 'online' as const,
}

type BoughtShown = { order: string; months: number; price: Kopecks; balance: Kopecks; view: Shown; config: string }

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

const newDevice = {
  name: nameField().optional(),
  public_key: publicKeyField().optional(),
  location: locationField().optional(),
}

export const buyVpn = operation({
  id: 'buyVpn',
  method: 'POST',
  path: '/vpn/buy',
  tag,
  summary: 'Buy a VPN subscription with its first device',
  body: z
    .object({ ...bodyPeriods, ...newDevice, auto_renew: z.boolean().optional() })
    .refine(hasPeriod, required)
    .refine(agrees, disagreement),
  answer: bought,
  example: boughtExample,
  codes: ['not_found'],
  charges: true,
})

export const renewVpn = operation({
  id: 'renewVpn',
  method: 'POST',
  path: '/vpn/renew',
  tag,
  summary: 'Add months to a subscription',
  description: 'Months are added to what is left, or begin now when nothing is. Devices, keys and link stay the same.',
  body: z
    .object({ ...bodyPeriods, uuid: uuidField().optional() })
    .refine(hasPeriod, required)
    .refine(agrees, disagreement),
  answer: bought,
  example: boughtExample,
  codes: ['not_found'],
  charges: true,
})

export const getVpn = operation({
  id: 'getVpn',
  method: 'GET',
  path: '/vpn/info',
  tag,
  summary: 'Read VPN subscriptions',
  description: 'The one that runs longest stands at the top, all of them in `items`. Without any the status is NONE.',
  query: z.object({ uuid: uuidField().optional() }),
  answer: overview,
  example: { ...subscriptionExample, items: [subscriptionExample] },
  codes: ['not_found'],
})

export const deleteVpn = operation({
  id: 'deleteVpn',
  method: 'POST',
  path: '/vpn/delete',
  tag,
  summary: 'End a subscription at once',
  description:
    'Devices are cut off and keys erased. The unused part of what was paid is given back, if it was sold so.',
  body: z.object({ uuid: uuidField().optional() }),
  answer: z.object({ uuid: z.string(), deleted: z.literal(true), refunded_rub: roubles(), balance_rub: roubles() }),
  example: { uuid: exampleUuid, deleted: true, refunded_rub: 149.5, balance_rub: 99_850.5 },
  codes: ['not_found', 'conflict'],
})

export const addVpnDevice = operation({
  id: 'addVpnDevice',
  method: 'POST',
  path: '/vpn/devices',
  tag,
  summary: 'Add a device',
  body: z.object({ uuid: uuidField().optional(), ...newDevice }),
  answer: z.object({
    uuid: z.string(),
    device,
    config: z.string(),
    device_limit: z.int(),
    devices_left: z.int(),
  }),
  example: { uuid: exampleUuid, device: deviceExample, config: configExample, device_limit: 5, devices_left: 3 },
  codes: ['not_found', 'conflict'],
})

export const toAdded = (of: {
  view: Shown
  configuration: { device: Parameters<typeof toDevice>[0]; text: string }
}) => ({
  uuid: of.view.subscription.uuid,
  device: toDevice(of.configuration.device),
  config: of.configuration.text,
  device_limit: of.view.subscription.deviceLimit,
  devices_left: of.view.subscription.deviceLimit - of.view.devices.length,
})

export const removeVpnDevice = operation({
  id: 'removeVpnDevice',
  method: 'POST',
  path: '/vpn/devices/remove',
  tag,
  summary: 'Remove a device',
  description: 'It is cut off, and its private key is erased.',
  body: z.object({ uuid: uuidField().optional(), device: deviceField() }),
  answer: z.object({ uuid: z.string(), removed: z.string(), devices: z.array(device) }),
  example: { uuid: exampleUuid, removed: exampleDevice, devices: [] },
  codes: ['not_found'],
})

export const getVpnConfig = operation({
  id: 'getVpnConfig',
  method: 'GET',
  path: '/vpn/config',
  tag,
  summary: 'Read a configuration as text or as a QR code',
  description:
    '`conf` is text for wg-quick, `qr` a QR code in block characters for a terminal, `svg` a picture as text, `png` a picture ' +
    'in base64. The oldest device, unless one is named.',
  query: z.object({
    uuid: uuidField().optional(),
    device: deviceField().optional(),
    location: locationField().optional(),
    format: z.enum(['conf', 'qr', 'svg', 'png']).optional(),
  }),
  answer: z.object({
    uuid: z.string(),
    device: z.string(),
    location: z.string(),
    format: z.enum(['conf', 'qr', 'svg', 'png']),
    media_type: z.string(),
    encoding: z.enum(['utf-8', 'base64']),
    config: z.string(),
  }),
  example: {
    uuid: exampleUuid,
    device: exampleDevice,
    location: 'local',
    format: 'conf',
    media_type: 'text/plain',
    encoding: 'utf-8',
    config: configExample,
  },
  codes: ['not_found'],
})

export const resetVpnLink = operation({
  id: 'resetVpnLink',
  method: 'POST',
  path: '/vpn/link/reset',
  tag,
  summary: 'Make a new secret link',
  description: 'The old one stops working at once.',
  body: z.object({ uuid: uuidField().optional() }),
  answer: z.object({ uuid: z.string(), subscription_url: z.string() }),
  example: { uuid: exampleUuid, subscription_url: subscriptionExample.subscription_url },
  codes: ['not_found'],
})

export const toReset = (of: Shown, publicUrl: string) => ({
  uuid: of.subscription.uuid,
  subscription_url: toLink(publicUrl, of.secret),
})

export const setVpnAutoRenew = operation({
  id: 'setVpnAutoRenew',
  method: 'POST',
  path: '/vpn/auto-renew',
  tag,
  summary: 'Renew by itself, or no more',
  description: 'It is charged one day before the end, for as many months as last bought unless said.',
  body: z.object({ uuid: uuidField().optional(), enabled: z.boolean(), ...bodyPeriods }).refine(agrees, disagreement),
  answer: subscription,
  example: subscriptionExample,
  codes: ['not_found'],
})

export const listVpnLocations = operation({
  id: 'listVpnLocations',
  method: 'GET',
  path: '/vpn/locations',
  tag,
  summary: 'List the places to connect to',
  answer: z.object({
    locations: z.array(
      z.object({
        location: z.string(),
        country_code: z.string().nullable(),
        city: z.string().nullable(),
        node: z.enum(['online', 'offline']),
      }),
    ),
  }),
  example: { locations: [{ location: 'local', country_code: null, city: null, node: 'online' }] },
})

export const toLocations = (
  places: readonly { name: string; countryCode: string | null; city: string | null; up: boolean }[],
) => ({
  locations: places.map((place) => ({
    location: place.name,
    country_code: place.countryCode,
    city: place.city,
    node: place.up ? ('online' as const) : ('offline' as const),
  })),
})
