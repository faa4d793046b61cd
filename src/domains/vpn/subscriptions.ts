import type { CustomerId, PeerId, RandomBytes } from '../../core/ids.ts'
import { fieldProblem } from '../../core/messages/problems.ts'
import type { Hmac } from '../../core/password-mac.ts'
import { malformed, refuseField } from '../../core/refusal.ts'
import { runningSince, type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import { type GatewayProtocol, gatewayProtocols } from '../../core/vpn-protocols.ts'
import type { PublicKeyOf } from '../../core/wireguard.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { Fleet } from '../fleet/index.ts'
import { isLive, isServing, type Location, locationsOf, type Node } from '../fleet/rules.ts'
import type { Ledger, LedgerAudit } from '../ledger/index.ts'
import type { Orders } from '../orders/index.ts'
import type { Pricing } from '../pricing/index.ts'
import type { Traffic } from '../traffic/index.ts'
import { noLiveNode, noSuchDevice, noSuchSubscription } from './errors.ts'
import { loadGroups, partsOf, type TrafficPart } from './groups.ts'
import {
  byImportance,
  isRunning,
  type LinkForm,
  limitsReached,
  makeLinkSecret,
  type Peer,
  readLinkForm,
  readUuid,
  type Subscription,
  type SubscriptionId,
  shownStatusOf,
  type TunnelPool,
  type TunnelSettings,
  type View,
  type VpnProtocol,
} from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'

/** The operator's settings of the VPN. */
export type VpnSettings = {
  readonly tunnel: TunnelSettings
  readonly pool: TunnelPool
  /** How long after the end a device still reaches the shop. */
  readonly graceMs: number
}

export type VpnDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly stalls: Stalls
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly sha224: (text: string) => Uint8Array
  readonly hmac: Hmac
  readonly vault: Vault
  readonly publicKeyOf: PublicKeyOf
  readonly ledger: Ledger
  readonly ledgerAudit: LedgerAudit
  readonly orders: Orders
  readonly customers: Customers
  readonly pricing: Pricing
  readonly fleet: Fleet
  readonly traffic: Pick<Traffic, 'counts' | 'alerts'>
  readonly events: Pick<Events, 'note' | 'announce'>
  readonly settings: VpnSettings
}

/** Names a subscription, or a device of it; both may be left out while only one subscription runs. */
export type SubscriptionChoice = { readonly uuid?: SubscriptionId | undefined; readonly device?: PeerId | undefined }

/** VPN nodes, and the gateways that serve VPN devices over TLS. */
export async function nodesOf(deps: VpnDeps): Promise<Node[]> {
  const [nodes, gateways] = await Promise.all([deps.fleet.nodes('vpn'), deps.fleet.nodes('gateway')])
  return [...nodes, ...gateways.filter(({ health }) => health?.isForVpn === true && health.tls !== null)]
}

export const withWireGuard = (nodes: readonly Node[]): Node[] => nodes.filter(({ kind }) => kind === 'vpn')

const isUp = (deps: VpnDeps, nodes: readonly Node[]): boolean => nodes.some((node) => isLive(node, runningSince(deps)))

const isAnyServing = (deps: VpnDeps, nodes: readonly Node[]): boolean =>
  nodes.some((node) => isServing(node, runningSince(deps)))

/** How devices connect now: WireGuard where a node is open, and the protocols that links of gateways name. */
function protocolsOf(deps: VpnDeps, nodes: readonly Node[]): VpnProtocol[] {
  const hasNode = withWireGuard(nodes).some((node) => node.state === 'open' && node.publicKey !== null)
  const gateways = nodes.filter((node) => node.kind === 'gateway' && isServing(node, runningSince(deps)))
  const isServed = (name: GatewayProtocol) =>
    gateways.some(({ vpnLinks }) => vpnLinks.protocols?.includes(name) ?? true)
  return [...(hasNode ? ['wireguard' as const] : []), ...gatewayProtocols.filter(isServed)]
}

export const listProtocols = async (deps: VpnDeps): Promise<VpnProtocol[]> => protocolsOf(deps, await nodesOf(deps))

export function nodesAt(all: readonly Node[], location: string | undefined): readonly Node[] {
  const locations = locationsOf(withWireGuard(all))
  if (location === undefined) return locations.flatMap((each) => each.nodes)
  const found = locations.find((each) => each.name === location)
  if (!found) throw refuseField('location', 'one_of', { allowed: locations.map((each) => each.name) })
  return found.nodes
}

export const listLocations = async (deps: VpnDeps): Promise<(Location & { up: boolean })[]> =>
  locationsOf(withWireGuard(await nodesOf(deps))).map((each) => ({ ...each, up: isUp(deps, each.nodes) }))

export type Offering = Awaited<ReturnType<typeof loadOffering>>

/**
 * Prices of now, or of the price list that was promised to the buyer, nodes and mode. They are read before the
 * transaction, because reading may need another connection, and judged inside, after the idempotency key.
 */
export async function loadOffering(deps: VpnDeps, promisedCatalogue?: number) {
  const [catalogue, nodes, mode, groups] = await Promise.all([
    deps.pricing.current(promisedCatalogue),
    nodesOf(deps),
    deps.customers.mode(),
    loadGroups(deps),
  ])
  return { catalogue, nodes, groups, inProduction: mode !== 'sandbox' }
}

/**
 * A shop in production sells only while a node of the location serves, or a gateway over TLS; a sandbox needs a node,
 * up or down.
 */
export function assertOffered(deps: VpnDeps, { nodes, inProduction }: Offering, location: string | undefined): void {
  const there = nodesAt(nodes, location)
  const ways = [...there, ...nodes.filter(({ kind }) => kind === 'gateway')]
  if (there.length === 0 || (inProduction && !isAnyServing(deps, ways))) throw noLiveNode()
}

/** Whether a node serves, so that a subscription can be sold. */
export const isServed = async (deps: VpnDeps): Promise<boolean> => isAnyServing(deps, await nodesOf(deps))

export function view(
  deps: VpnDeps,
  of: Subscription,
  devices: readonly Peer[],
  nodes: readonly Node[],
  parts?: readonly TrafficPart[],
): View {
  return {
    subscription: of,
    status: shownStatusOf(of, deps.clock(), deps.settings.graceMs),
    limits: limitsReached(of, devices.length),
    devices,
    secret: secretOf(deps, of),
    node: isUp(deps, nodes) ? 'online' : 'offline',
    nodeNames: new Map(nodes.map(({ id, name }) => [id, name])),
    protocols: protocolsOf(deps, nodes),
    ...(parts && { parts }),
  }
}

/** All subscriptions of a customer in display order, or the named one. */
export async function info(deps: VpnDeps, customer: CustomerId, uuid: SubscriptionId | undefined) {
  const nodes = await nodesOf(deps)
  const all = await store.listOf(deps.db, customer)
  const wanted = uuid === undefined ? all : all.filter((each) => each.uuid === uuid)
  if (uuid !== undefined && wanted.length === 0) throw noSuchSubscription()
  const uuids = wanted.map((each) => each.uuid)
  const devices = Map.groupBy(await peers.listHeld(deps.db, uuids), (peer) => peer.subscription)
  const parts = await partsOf(deps, deps.db, await loadGroups(deps), uuids)
  const views = wanted
    .toSorted((a, b) => byImportance(a, b, deps.clock()))
    .map((each) => view(deps, each, devices.get(each.uuid) ?? [], nodes, parts.get(each.uuid) ?? []))
  return { views, up: (await listLocations(deps)).some((each) => each.up) }
}

async function pick(deps: VpnDeps, reader: Reader, customer: CustomerId, which: SubscriptionChoice) {
  if (which.uuid !== undefined) return which.uuid
  if (which.device !== undefined) {
    const owner = await peers.findOwner(reader, customer, which.device)
    if (!owner) throw noSuchDevice()
    return owner
  }
  const all = await store.listOf(reader, customer)
  const running = all.filter((each) => isRunning(each, deps.clock()))
  return onlyOf(running.length > 0 ? running : all)
}

/** The one subscription in a list; several are refused with their ids. */
export function onlyOf(all: readonly Subscription[]): SubscriptionId {
  const [only, another] = all
  if (!only) throw noSuchSubscription()
  if (!another) return only.uuid
  throw malformed([{ ...fieldProblem('uuid', 'several_subscriptions'), allowed: all.map((each) => each.uuid) }])
}

export async function lock(deps: VpnDeps, tx: Tx, customer: CustomerId, which: SubscriptionChoice) {
  const found = await store.lockSubscription(tx, await pick(deps, tx, customer, which))
  if (found?.customer !== customer) throw noSuchSubscription()
  return found
}

/** The id of a subscription that the customer has; others are refused. */
export async function findOwned(deps: VpnDeps, tx: Tx, customer: CustomerId, text: string): Promise<string> {
  const uuid = readUuid(text)
  if (uuid === undefined) throw noSuchSubscription()
  await lock(deps, tx, customer, { uuid })
  return uuid
}

export async function load(deps: VpnDeps, customer: CustomerId, which: SubscriptionChoice): Promise<Subscription> {
  const found = await store.findSubscription(deps.db, await pick(deps, deps.db, customer, which))
  if (found?.customer !== customer) throw noSuchSubscription()
  return found
}

/** The context of a sealed text: a text moved to another row does not open there. */
const linkContext = (uuid: SubscriptionId): string => `vpn link ${uuid}`

const linkMacOf = ({ vault, hmac }: Pick<VpnDeps, 'vault' | 'hmac'>): ((text: string) => Uint8Array) => {
  const key = vault.derive('MACs of VPN links')
  return (text) => hmac(key, text)
}

/** What a secret link can be by its text alone: the database is not asked. */
export const linkFormOf = (deps: Pick<VpnDeps, 'vault' | 'hmac'>, text: string): LinkForm | undefined =>
  readLinkForm(text, linkMacOf(deps))

export function makeLink(deps: VpnDeps, uuid: SubscriptionId) {
  const secret = makeLinkSecret(deps.random, linkMacOf(deps))
  return { uuid, linkDigest: deps.sha256(secret), sealedLink: deps.vault.seal(secret, linkContext(uuid)) }
}

export const secretOf = (deps: VpnDeps, { uuid, sealedLink }: Subscription): string =>
  sealedLink === null ? '' : deps.vault.open(sealedLink, linkContext(uuid))

/** Replaces the secret link. The old one opens nothing from this commit on. */
export async function resetLink(deps: VpnDeps, customer: CustomerId, uuid: SubscriptionId | undefined): Promise<View> {
  const nodes = await nodesOf(deps)
  return deps.db.transact(async (tx) => {
    const before = await lock(deps, tx, customer, { uuid })
    const link = makeLink(deps, before.uuid)
    store.writeLink(tx, link)
    return view(deps, { ...before, ...link }, await peers.listHeld(tx, [before.uuid]), nodes)
  })
}

/** Names a subscription, for its customer only; null removes the name. */
export async function setName(
  deps: VpnDeps,
  customer: CustomerId,
  { uuid, name }: { readonly uuid?: SubscriptionId | undefined; readonly name: string | null },
): Promise<View> {
  const nodes = await nodesOf(deps)
  return deps.db.transact(async (tx) => {
    const before = await lock(deps, tx, customer, { uuid })
    store.writeName(tx, before.uuid, name)
    return view(deps, { ...before, name }, await peers.listHeld(tx, [before.uuid]), nodes)
  })
}

/** The subscription that a secret link opens now. The database is asked for the digest only. */
export async function findByLink(deps: VpnDeps, secret: string): Promise<Subscription | 'blocked' | undefined> {
  if (!linkFormOf(deps, secret)) return undefined
  const found = await store.findByLink(deps.db, deps.sha256(secret))
  return found && (await deps.customers.blockedAmong([found.customer])).has(found.customer) ? 'blocked' : found
}
