import type { Address } from '../../core/address.ts'
import { Refusal } from '../../core/refusal.ts'
import { toIso } from '../../core/time.ts'
import type { Node } from '../fleet/rules.ts'
import type { Delivered } from '../orders/index.ts'
import type { Order } from '../orders/rules.ts'
import { noSuchSubscription } from './errors.ts'
import { subscriptionOf } from './refund.ts'
import { deviceSubjects, readUuid, type SubscriptionId, type View } from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'
import { nodesOf, type VpnDeps, view } from './subscriptions.ts'

/** Any customer's subscription. */
export async function show(deps: VpnDeps, uuid: SubscriptionId): Promise<View> {
  const found = await store.findSubscription(deps.db, uuid)
  if (!found) throw noSuchSubscription()
  return view(deps, found, await peers.listHeld(deps.db, [uuid]), await nodesOf(deps))
}

/** The subscription with this id, and devices with this id, public key, address or beginning of a name. */
export async function findNamed(deps: VpnDeps, text: string, address: Address | undefined, limit: number) {
  const uuid = readUuid(text)
  const subscription = uuid === undefined ? undefined : await store.findSubscription(deps.db, uuid)
  const known = await peers.findNamed(deps.db, text, address)
  const named = await peers.findByNamePrefix(deps.db, text, limit)
  const devices = new Map([...known, ...named].map((each) => [each.id, each]))
  return { subscription, devices: [...devices.values()].slice(0, limit) }
}

/** Stops a subscription without ending it, or lets it run again. Its term runs meanwhile. */
export const setDisabled = (deps: VpnDeps, uuid: SubscriptionId, disabled: boolean): Promise<void> =>
  deps.db.transact(async (tx) => {
    if (!(await store.lockSubscription(tx, uuid))) throw noSuchSubscription()
    store.writeDisabled(tx, uuid, disabled ? deps.clock() : null)
    peers.touchPeers(tx, uuid, deps.clock())
  })

/**
 * Moves the devices of a subscription to a node of their location. Keys, addresses and counts stay; every node knows
 * every device, so the old configuration works while the old node does.
 */
export const move = (deps: VpnDeps, uuid: SubscriptionId, to: Node): Promise<{ devices: number }> =>
  deps.db.transact(async (tx) => {
    if (to.kind !== 'vpn' || to.state !== 'open') throw new Refusal('vpn_node_not_found')
    if (!(await store.lockSubscription(tx, uuid))) throw noSuchSubscription()
    const devices = await peers.listHeld(tx, [uuid])
    const chosen = devices.find(({ location }) => location !== null && location !== to.location)?.location
    if (chosen) throw new Refusal('device_location_differs', { chosen, offered: to.location })
    const ids = devices.map((peer) => peer.id)
    await peers.writeNode(tx, ids, to.id, deps.clock())
    return { devices: devices.length }
  })

/** The subscription that an order has bought or renewed, as it is now. */
export async function delivered(deps: VpnDeps, order: Order): Promise<Delivered> {
  const uuid = subscriptionOf(order)
  const found = uuid === undefined ? undefined : await store.findSubscription(deps.db, uuid)
  if (!found) return { services: [], count: 0 }
  const { name, expiresAt, received, sent } = found
  const counted = { expires_at: toIso(expiresAt), rx_bytes: Number(received), tx_bytes: Number(sent) }
  return { services: [{ uuid: found.uuid, name, ...counted }], count: 1 }
}

/** Which devices had an address inside the tunnel between two moments, both included. */
export const holdersOf = (deps: VpnDeps, address: Address, from: number, to: number) =>
  deps.db.snapshot((reader) => peers.holdersBetween(reader, address, from, to))

/** How many subscriptions run now. */
export const countActive = (deps: VpnDeps): Promise<number> => store.countActive(deps.db, deps.clock())

/** Subscriptions that end on each UTC day until a moment. */
export const countEnding = ({ db, clock }: VpnDeps, toAt: number) => store.countEnding(db, clock(), toAt)

/** How many customers hold subscriptions now, and which of them renew automatically. */
export const held = (deps: VpnDeps) => store.findHeld(deps.db, deps.clock())

/** The bytes of all devices by node and protocol. */
export async function usage(deps: VpnDeps) {
  const nodes = [...(await deps.fleet.nodes('vpn')), ...(await deps.fleet.nodes('gateway'))]
  const names = new Map<string, string>(nodes.map(({ id, name }) => [id, name]))
  const found = await deps.traffic.counts.byNode(deviceSubjects)
  return found
    .filter(({ received, sent }) => received + sent > 0n)
    .map(({ node, part, subjects, received, sent }) => ({
      node: names.get(node) ?? node,
      protocol: part === '' ? 'wireguard' : part,
      devices: subjects,
      received,
      sent,
    }))
    .toSorted((a, b) => (`${a.node} ${a.protocol}` < `${b.node} ${b.protocol}` ? -1 : 1))
}
