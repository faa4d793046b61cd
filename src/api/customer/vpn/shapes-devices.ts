import { z } from '@hono/zod-openapi'
import { Refusal } from '../../../core/refusal.ts'
import type { View } from '../../../domains/vpn/rules.ts'
import { passwordsRefused, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import {
  configExample,
  device,
  deviceExample,
  deviceField,
  deviceLimit,
  devices,
  exampleDevice,
  exampleUuid,
  linkField,
  locationField,
  newDevice,
  nodeState,
  noSuchDevice,
  noSuchSubscription,
  see,
  shownUuid,
  subscriptionExample,
  tag,
  toDevice,
  toLink,
  uuidField,
} from './shapes-subscription.ts'

export const addVpnDevice = operation({
  id: 'addVpnDevice',
  method: 'POST',
  path: '/vpn/devices',
  tag,
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
  example: { uuid: exampleUuid, device: deviceExample, config: configExample, device_limit: 5, devices_left: 3 },
  see,
  codes: ['not_found', 'conflict'],
  refusals: {
    not_found: noSuchSubscription,
    conflict: new Refusal('device_limit', { limit: 5 }, { device_limit: 5, charged: false }),
  },
})

export const toAdded = (of: {
  view: View
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
  isDestructive: true,
  tag,
  summary: 'Remove a device',
  description: 'It is cut off, and its private key is erased.',
  body: z.object({ uuid: uuidField().optional(), device: deviceField() }),
  exampleBody: { uuid: exampleUuid, device: exampleDevice },
  answer: z.object({
    uuid: shownUuid(),
    removed: text('The id of the device that is no more.', exampleDevice),
    devices: devices(),
  }),
  example: { uuid: exampleUuid, removed: exampleDevice, devices: [] },
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchDevice },
})

const formats = ['conf', 'qr', 'svg', 'png'] as const

export const getVpnConfig = operation({
  id: 'getVpnConfig',
  method: 'GET',
  path: '/vpn/config',
  isSecret: true,
  tag,
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
    format: z.enum(formats).openapi({ description: 'How it is written.' }),
    media_type: text('The media type of `config`.', 'text/plain'),
    encoding: z.enum(['utf-8', 'base64']).openapi({ description: 'How `config` is put into JSON.' }),
    config: text('The configuration.', configExample),
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
  see,
  codes: ['not_found'],
  refusals: { ...passwordsRefused, not_found: noSuchDevice },
})

export const resetVpnLink = operation({
  id: 'resetVpnLink',
  method: 'POST',
  path: '/vpn/link/reset',
  isDestructive: true,
  tag,
  summary: 'Make a new secret link',
  description: 'The old one stops working at once.',
  body: z.object({ uuid: uuidField().optional() }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({ uuid: shownUuid(), subscription_url: linkField }),
  example: { uuid: exampleUuid, subscription_url: subscriptionExample.subscription_url },
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchSubscription },
})

export const toReset = (of: View, publicUrl: string) => ({
  uuid: of.subscription.uuid,
  subscription_url: toLink(publicUrl, of.secret),
})

export const listVpnLocations = operation({
  id: 'listVpnLocations',
  method: 'GET',
  path: '/vpn/locations',
  tag,
  summary: 'List the places to connect to',
  answer: z.object({
    locations: z
      .array(
        z.object({
          location: text('Its name, to choose it by.', 'local'),
          country_code: text('Its country, ISO 3166-1 alpha-2; null where that is not told.', 'DE').nullable(),
          city: text('Its city; null where that is not told.', 'Berlin').nullable(),
          node: nodeState,
        }),
      )
      .openapi({ description: 'Each place.' }),
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
