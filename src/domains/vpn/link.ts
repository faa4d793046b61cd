import { keysOfExit, loginOfExit, toEntrySecret, toExitsSecret } from '../../core/device-exits.ts'
import { pathOfDevice } from '../../core/device-path.ts'
import { runningSince } from '../../core/stall-monitor.ts'
import { type HopPath, isServing, type Node, pathsOf, type VpnLinks } from '../fleet/rules.ts'
import { type AccessKeys, openAccessKeys } from './access-keys.ts'
import { type AppIdentity, takeAppDevice } from './app-devices.ts'
import { configure } from './devices.ts'
import { loadGroups, partsOf } from './groups.ts'
import * as peers from './store-peers.ts'
import { findByLink, nodesOf, type VpnDeps, view } from './subscriptions.ts'

/** Which device a link is opened for: the named one, else the one of the app, else the oldest. */
export type LinkChoice = {
  /** The id of a device, or its name. */
  readonly device?: string | undefined
  readonly app?: AppIdentity | undefined
  readonly location?: string | undefined
}

/**
 * What a secret link shows; undefined for a text that is not a link now. Only the holder of a link learns that its
 * customer is blocked, or that the subscription has no such device.
 */
export async function openLink(deps: VpnDeps, secret: string, which: LinkChoice) {
  const subscription = await findByLink(deps, secret)
  if (!subscription || subscription === 'blocked') return subscription
  const held = await peers.listHeld(deps.db, [subscription.uuid])
  const named = held.find(({ id }) => id === which.device) ?? held.find(({ name }) => name === which.device)
  if (which.device !== undefined && !named) return 'no_device'
  const [nodes, { known, serving }, groups] = await Promise.all([nodesOf(deps), listGateways(deps), loadGroups(deps)])
  const usedUp = new Set(subscription.usedUpGroups?.split(' '))
  // Nodes of which the subscription has used up its part would refuse the device.
  const gateways = serving.filter(({ links }) => links.group === null || !usedUp.has(links.group))
  const parts = await partsOf(deps, deps.db, groups, [subscription.uuid])
  const taken = named || !which.app ? undefined : await takeAppDevice(deps, subscription, held, which.app, nodes)
  const device = named ?? (taken ? taken.device : held[0])
  const devices = device && !held.some(({ id }) => id === device.id) ? [...held, device] : held
  // With gateways a device connects without a VPN node.
  const hasNode = known === 0 || nodes.some((node) => node.state === 'open' && node.publicKey !== null)
  const keys = device && openAccessKeys(deps, device)
  return {
    view: view(deps, subscription, devices, nodes, parts.get(subscription.uuid)),
    device,
    refused: taken?.refused,
    configuration: device && hasNode ? configure(deps, device, nodes, which.location) : undefined,
    keys,
    path: keys ? pathOf(deps, keys) : '/',
    gateways: keys ? gateways.map((gateway) => withExitKeys(deps, gateway, device.id, keys)) : gateways,
    /** Whether the shop has gateways for VPN devices; all may be down. */
    hasGateways: known > 0,
  }
}

/** A gateway that serves VPN devices over TLS now. */
export type VpnGateway = {
  readonly name: string
  readonly host: string
  readonly port: number
  /** The operator's settings of links. */
  readonly links: VpnLinks
  /** SHA-256 of its certificate, in hex, and of that one's public key, in base64, if no authority has signed it. */
  readonly pin: { readonly certificate: string; readonly key: string } | null
  /** Set if it is the entry of another gateway, from which devices leave then. */
  readonly path?: { readonly entry: string; readonly exit: string } | undefined
  /** The user name, keys and path of a device there, if they are not its own: they name the exit. */
  readonly ofExit?: { readonly device: string; readonly keys: AccessKeys; readonly path: string } | undefined
}

const pathOf = ({ sha256 }: VpnDeps, { uuid }: AccessKeys): string => pathOfDevice(sha256(uuid).toHex())

/** At an entry, a device has keys of its own for each exit. */
function withExitKeys(deps: VpnDeps, gateway: VpnGateway, device: string, { password }: AccessKeys): VpnGateway {
  const { path } = gateway
  if (!path) return gateway
  const secret = toEntrySecret(deps.hmac, toExitsSecret(deps.hmac, password), path.entry)
  const keys = keysOfExit(deps.hmac, secret, path.exit)
  return { ...gateway, ofExit: { device: loginOfExit(device, path.exit), keys, path: pathOf(deps, keys) } }
}

/**
 * The gateways for VPN devices: their number, and by location and name those that are neither down nor draining. One
 * whose customers enter elsewhere is reached through its entry, unless the entry reports that this fails.
 */
async function listGateways(deps: VpnDeps): Promise<{ readonly known: number; readonly serving: VpnGateway[] }> {
  const all = await deps.fleet.nodes('gateway')
  const paths = pathsOf(all)
  const nodes = all.filter((node) => toVpnGateway(node) !== undefined)
  const serving = nodes
    .filter((node) => isServing(node, runningSince(deps)))
    .toSorted((a, b) => (`${a.location} ${a.name}` < `${b.location} ${b.name}` ? -1 : 1))
  const ofNode = (node: Node): VpnGateway | undefined => {
    const path = paths.find(({ exit }) => exit.id === node.id)
    return path ? toPathGateway(path, serving) : toVpnGateway(node)
  }
  return { known: nodes.length, serving: serving.flatMap((node) => ofNode(node) ?? []) }
}

/** The exit under its own name, where its entry is reached. */
function toPathGateway({ entry, exit, report }: HopPath, serving: readonly Node[]): VpnGateway | undefined {
  const at = serving.some(({ id }) => id === entry.id) && report?.isUp !== false ? toVpnGateway(entry) : undefined
  return at && { ...at, name: nameOf(exit), path: { entry: entry.id, exit: exit.id } }
}

const nameOf = ({ location, name }: Node): string => `${location} ${name}`

function toVpnGateway(node: Node): VpnGateway | undefined {
  const { health, hopTls, vpnLinks: links } = node
  if (!health?.tls || health.isForVpn !== true) return undefined
  const { host, port, pin } = health.tls
  const key = hopTls && Buffer.from(hopTls.key, 'base64url').toString('base64')
  // A first report is written in two transactions. Without both pins an app refuses the gateway's own certificate.
  if (pin && !key) return undefined
  return {
    name: nameOf(node),
    host,
    port: links.port ?? port,
    links,
    pin: pin && key ? { certificate: pin, key } : null,
  }
}
