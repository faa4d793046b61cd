import type { Fleet } from '../domains/fleet/index.ts'
import type { Drawing, Vpn } from '../domains/vpn/index.ts'
import type { View } from '../domains/vpn/rules.ts'
import { ipv4Text, readUuid, type SubscriptionId } from '../domains/vpn/rules.ts'
import { type PeerId, readId } from '../kernel/ids.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, table } from './command.ts'
import type { Opened } from './typed.ts'

type Deps = { vpn: Vpn; drawing: Drawing; fleet: Pick<Fleet, 'findByName'> }

const uuidWord = { name: 'UUID', meaning: "the subscription's uuid" }

export function vpnCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'vpn show',
      operation: 'showVpn',
      summary: 'Shows a VPN subscription, or the configuration of one of its devices.',
      takes: [uuidWord],
      options: [
        { flag: 'config', meaning: 'the configuration for wg-quick; it holds the private key' },
        { flag: 'qr', meaning: 'the same as a QR code for a phone' },
        { flag: 'device', value: 'DEVICE', meaning: 'of this device, dev_…; the oldest unless said' },
      ],
      run: (given) =>
        open(given, async ({ vpn, drawing }) => {
          const uuid = readSubscription(given)
          if (!given.has('config') && !given.has('qr')) return toOutcome(await vpn.show(uuid))
          const { device, location, text } = await vpn.configurationOf(uuid, readDevice(given.flags['device']))
          return {
            json: { uuid, device: device.id, location, config: text },
            lines: (given.has('qr') ? drawing.terminal(text) : text).trimEnd().split('\n'),
          }
        }),
    },
    {
      name: 'vpn move',
      operation: 'moveVpn',
      summary: 'Moves a VPN subscription to another node of its location. Keys and addresses stay what they are.',
      takes: [uuidWord],
      options: [{ flag: 'to', value: 'NODE', meaning: 'the name of a VPN node, as "node list" shows it' }],
      run: (given) =>
        open(given, async ({ vpn, fleet }) => {
          const uuid = readSubscription(given)
          const node = await fleet.findByName(given.flags['to'] ?? '')
          if (node?.kind !== 'vpn') throw mistyped('--to is the name of a VPN node, as "node list" shows it.')
          const { devices } = await vpn.move(uuid, node)
          return {
            json: { uuid, node: node.name, devices },
            lines: [
              `${uuid} is on ${node.name} from now on, with ${devices} ${devices === 1 ? 'device' : 'devices'}.`,
              'Each takes the new endpoint from its configuration; the old one works while the old node does.',
            ],
          }
        }),
    },
    ...(['disable', 'enable'] as const).map(
      (verb): Command => ({
        name: `vpn ${verb}`,
        operation: `${verb}Vpn`,
        summary:
          verb === 'disable'
            ? 'Cuts a VPN subscription off until it is enabled. Its time runs meanwhile.'
            : 'Lets a disabled VPN subscription go on.',
        takes: [uuidWord],
        options: [],
        run: (given) =>
          open(given, async ({ vpn }) => {
            const uuid = readSubscription(given)
            await vpn.setDisabled(uuid, verb === 'disable')
            return { json: { uuid, disabled: verb === 'disable' }, lines: [`${uuid} is ${verb}d.`] }
          }),
      }),
    ),
  ]
}

function toOutcome(view: View) {
  const { subscription } = view
  return {
    json: {
      uuid: subscription.uuid,
      customer: subscription.customer,
      status: view.status,
      limited_by: view.limits,
      expires_at: toIso(subscription.expiresAt),
      device_limit: subscription.deviceLimit,
      auto_renew_months: subscription.autoRenewMonths,
      node: view.node,
      devices: view.devices.map((device) => ({
        id: device.id,
        name: device.name,
        public_key: device.publicKey,
        ipv4: ipv4Text(device.ipv4),
        ipv6: device.ipv6,
        rx_bytes: Number(device.received),
        tx_bytes: Number(device.sent),
      })),
    },
    lines: [
      `${subscription.uuid} of ${subscription.customer}: ${view.status} until ${toIso(subscription.expiresAt)}`,
      ...table(
        ['DEVICE', 'NAME', 'IPV4', 'IPV6', 'RECEIVED', 'SENT'],
        view.devices.map((device) => [
          device.id,
          device.name,
          ipv4Text(device.ipv4),
          device.ipv6,
          String(device.received),
          String(device.sent),
        ]),
      ),
    ],
  }
}

function readSubscription(given: Given): SubscriptionId {
  const uuid = readUuid(given.words[0] ?? '')
  if (!uuid) throw mistyped('UUID is a subscription, as "vpn/info" shows it.')
  return uuid
}

function readDevice(text: string | undefined): PeerId | undefined {
  if (text === undefined) return undefined
  const id = readId('peer', text)
  if (!id) throw mistyped('--device is an id like dev_….')
  return id
}
