import { bytes } from '../../core/bytes.ts'
import { type CustomerId, makeId, type OrderId, type PeerId, type RandomBytes } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { runningSince, type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import { makeKeyPair, type PublicKeyOf, readPublicKey } from '../../core/wireguard.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Fleet } from '../fleet/index.ts'
import { isLive, isServing, type Location, locationsOf, type Node } from '../fleet/rules.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Orders } from '../orders/index.ts'
import type { Pricing } from '../pricing/index.ts'
import type { Catalogue } from '../pricing/rules.ts'
import type { Traffic } from '../traffic/index.ts'
import {
  badLocation,
  badPublicKey,
  keyInUse,
  noFreeAddress,
  noLiveNode,
  noSuchDevice,
  noSuchSubscription,
  tooManyFreshDevices,
  whichSubscription,
} from './errors.ts'
import { configText, type Tunnel } from './render.ts'
import {
  addressRestMs,
  byImportance,
  freshWithinMs,
  isRunning,
  limitsReached,
  makeLinkSecret,
  mostFreshDevices,
  nodeOf,
  type Peer,
  type Subscription,
  type SubscriptionId,
  statusOf,
  unusedRestMs,
  type View,
} from './rules.ts'
import { ipv6Of, type Pool, rangeOf } from './rules-addresses.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'

/** What an operator has settled about the VPN. */
export type VpnArrangement = { readonly tunnel: Tunnel; readonly pool: Pool }

/** What a new device is to be; the shop makes a key pair unless the customer brings a public key. */
export type DeviceWish = {
  readonly name?: string | undefined
  readonly publicKey?: string | undefined
  readonly location?: string | undefined
}

/**
 * What can be sold and where, as of a moment ago. It is looked at before a transaction begins, never inside, because it
 * may need a connection of its own; it is judged inside, after the key.
 */
export type Offering = {
  readonly catalogue: Catalogue
  readonly nodes: readonly Node[]
  readonly inProduction: boolean
}

/** A device's configuration, and where it leads. */
export type Configuration = { readonly device: Peer; readonly location: string; readonly text: string }

/** What a purchase or a renewal hands back. */
export type Bought = {
  readonly order: OrderId
  readonly months: number
  readonly price: Kopecks
  readonly balance: Kopecks
  readonly view: View
  readonly config: string
}

export type VpnDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly stalls: Stalls
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
  readonly publicKeyOf: PublicKeyOf
  readonly ledger: Ledger
  readonly orders: Orders
  readonly customers: Customers
  readonly pricing: Pricing
  readonly fleet: Fleet
  readonly traffic: Pick<Traffic, 'counts'>
  readonly arranged: VpnArrangement
}

export type Subscriptions = ReturnType<typeof createSubscriptions>

/**
 * What all parts of the VPN's service share: finding a subscription, showing it, its devices and their configurations.
 */
export function createSubscriptions(
  deps: Pick<
    VpnDeps,
    | 'db'
    | 'clock'
    | 'stalls'
    | 'random'
    | 'sha256'
    | 'vault'
    | 'publicKeyOf'
    | 'customers'
    | 'pricing'
    | 'fleet'
    | 'arranged'
  >,
) {
  const { db, clock, random, vault, arranged } = deps
  const since = runningSince(deps)

  const nodes = (): Promise<Node[]> => deps.fleet.nodes('vpn')
  const isUp = (all: readonly Node[]): boolean => all.some((node) => isLive(node, since))

  const isProduction = async (): Promise<boolean> => (await deps.customers.mode()) !== 'sandbox'

  function nodesAt(all: readonly Node[], location: string | undefined): readonly Node[] {
    const places = locationsOf(all)
    if (location === undefined) return places.flatMap((place) => place.nodes)
    const place = places.find((each) => each.name === location)
    if (!place) throw badLocation(places.map((each) => each.name))
    return place.nodes
  }

  /** The key of a fresh device, sealed; or the customer's own, judged. */
  function keysFor(
    id: PeerId,
    own: string | undefined,
    all: readonly Node[],
  ): { publicKey: string; sealed: Uint8Array | null } {
    if (own === undefined) {
      const pair = makeKeyPair(random, deps.publicKeyOf)
      return { publicKey: pair.publicKey, sealed: vault.seal(pair.privateKey, keyContext(id)) }
    }
    const publicKey = readPublicKey(own)
    if (publicKey === undefined) throw badPublicKey()
    if (all.some((node) => node.publicKey === publicKey)) throw keyInUse()
    return { publicKey, sealed: null }
  }

  const privateKeyOf = (kept: peers.KeptPeer): string | undefined =>
    kept.sealedKey === null ? undefined : vault.open(kept.sealedKey, keyContext(kept.peer.id))

  function makeLink(uuid: SubscriptionId): { secret: string; digest: Uint8Array; sealed: Uint8Array } {
    const secret = makeLinkSecret(random)
    return { secret, digest: deps.sha256(secret), sealed: vault.seal(secret, linkContext(uuid)) }
  }

  const secretOf = (kept: store.Kept): string =>
    kept.link.sealed === null ? '' : vault.open(kept.link.sealed, linkContext(kept.subscription.uuid))

  async function pick(
    reader: Reader,
    customer: CustomerId,
    wish: { uuid?: SubscriptionId | undefined; device?: PeerId | undefined },
  ): Promise<SubscriptionId> {
    if (wish.uuid !== undefined) return wish.uuid
    if (wish.device !== undefined) {
      const owner = await peers.findOwner(reader, customer, wish.device)
      if (!owner) throw noSuchDevice()
      return owner
    }
    const all = await listOf(reader, customer)
    const running = all.filter((each) => isRunning(each, clock()))
    return onlyOf(running.length > 0 ? running : all)
  }

  const listOf = async (reader: Reader, customer: CustomerId): Promise<Subscription[]> =>
    (await store.listOf(reader, customer)).map((each) => each.subscription)

  /** What is offered now, or at the prices that were promised. */
  async function offering(promised?: number): Promise<Offering> {
    const [catalogue, all, inProduction] = await Promise.all([deps.pricing.current(promised), nodes(), isProduction()])
    return { catalogue, nodes: all, inProduction }
  }

  /**
   * A shop in production sells only what it can deliver now, on a node that was heard of a moment ago; a sandbox sells
   * without a node that is up.
   */
  function assertOffered({ nodes: all, inProduction }: Offering, location: string | undefined): void {
    const there = nodesAt(all, location)
    if (there.length === 0 || (inProduction && !there.some((node) => isServing(node, since)))) throw noLiveNode()
  }

  return {
    nodes,
    privateKeyOf,
    secretOf,
    makeLink,

    locations: async (): Promise<(Location & { up: boolean })[]> =>
      locationsOf(await nodes()).map((place) => ({ ...place, up: isUp(place.nodes) })),

    offering,
    assertOffered,

    /** Whether a node that something can be sold on is up. */
    isCarried: async (): Promise<boolean> => (await nodes()).some((node) => isServing(node, since)),

    /** The subscription that is renewed when none is named: the one that is shown first. */
    async loadTop(reader: Reader, customer: CustomerId): Promise<SubscriptionId> {
      const [top] = (await listOf(reader, customer)).toSorted((a, b) => byImportance(a, b, clock()))
      if (!top) throw noSuchSubscription()
      return top.uuid
    },

    /** The subscription that is deleted when none is named: there must be no other, not even one that has ended. */
    loadOnly: async (reader: Reader, customer: CustomerId): Promise<SubscriptionId> =>
      onlyOf(await listOf(reader, customer)),

    /** A customer's subscription, locked. Which one may be left open while only one runs, or a device tells. */
    async lock(
      tx: Tx,
      customer: CustomerId,
      wish: { uuid?: SubscriptionId | undefined; device?: PeerId | undefined },
    ): Promise<store.Kept> {
      const kept = await store.lockSubscription(tx, await pick(tx, customer, wish))
      if (kept?.subscription.customer !== customer) throw noSuchSubscription()
      return kept
    },

    /** The same without a lock, with its devices. */
    async load(
      customer: CustomerId,
      wish: { uuid?: SubscriptionId | undefined; device?: PeerId | undefined },
    ): Promise<{ kept: store.Kept; held: peers.KeptPeer[] }> {
      const kept = await store.findSubscription(db, await pick(db, customer, wish))
      if (kept?.subscription.customer !== customer) throw noSuchSubscription()
      return { kept, held: await peers.listHeld(db, [kept.subscription.uuid]) }
    },

    view(kept: store.Kept, held: readonly peers.KeptPeer[], all: readonly Node[]): View {
      const { subscription } = kept
      return {
        subscription,
        status: statusOf(subscription, held.length, clock()),
        limits: limitsReached(subscription, held.length),
        devices: held.map((each) => each.peer),
        secret: secretOf(kept),
        node: isUp(all) ? 'online' : 'offline',
      }
    },

    /**
     * Refuses a customer one device too many in a day. `bought` is room for devices that he is paying for now. His
     * money account is locked, so that he is counted once at a time.
     */
    async assertFresh(tx: Tx, customer: CustomerId, bought: number): Promise<void> {
      const nowMs = clock()
      const most = mostFreshDevices((await store.sumPlaces(tx, customer, nowMs)) + bought)
      if ((await peers.countSince(tx, customer, nowMs - freshWithinMs)) >= most) throw tooManyFreshDevices(most)
    },

    /** Adds a device to a subscription that this transaction has locked. */
    async addDevice(
      tx: Tx,
      uuid: SubscriptionId,
      wish: DeviceWish,
      held: number,
      all: readonly Node[],
    ): Promise<peers.KeptPeer> {
      const nowMs = clock()
      const id = makeId('peer', nowMs, random)
      const { publicKey, sealed } = keysFor(id, wish.publicKey, all)
      const ipv4 = await peers.takeAddress(tx, rangeOf(arranged.pool), id, nowMs)
      if (ipv4 === undefined) throw noFreeAddress()
      const peer: Peer = {
        id,
        subscription: uuid,
        name: wish.name ?? `device ${held + 1}`,
        publicKey,
        ownKey: wish.publicKey !== undefined,
        ipv4,
        ipv6: ipv6Of(arranged.pool, ipv4),
        location: wish.location ?? null,
        node: null,
        received: bytes(0n),
        sent: bytes(0n),
        lastHandshakeAt: null,
        createdAt: nowMs,
        removedAt: null,
        changedAt: nowMs,
      }
      await peers.insertPeer(tx, peer, sealed)
      return { peer, sealedKey: sealed }
    },

    /** Cuts devices off and lets their addresses rest. */
    async removeDevices(tx: Tx, ids: readonly PeerId[]): Promise<void> {
      const nowMs = clock()
      await peers.removePeers(tx, ids, nowMs)
      peers.restAddresses(tx, ids, { used: nowMs + addressRestMs, unused: nowMs + unusedRestMs })
    },

    /** A device's configuration for a location: the one asked for, its own, or any if its own is no more. */
    configure(kept: peers.KeptPeer, all: readonly Node[], location: string | undefined): Configuration {
      const own = location ?? kept.peer.location ?? undefined
      const known = location !== undefined || locationsOf(all).some((place) => place.name === own)
      const node = nodeOf(kept.peer, nodesAt(all, known ? own : undefined), since)
      if (!node || node.publicKey === null) throw noLiveNode()
      const text = configText(
        kept.peer,
        privateKeyOf(kept),
        { name: node.name, publicKey: node.publicKey, endpoint: node.endpoint ?? arranged.tunnel.endpoint },
        arranged.tunnel,
      )
      return { device: kept.peer, location: node.location, text }
    },
  }
}

function onlyOf(all: readonly Subscription[]): SubscriptionId {
  const [only, another] = all
  if (!only) throw noSuchSubscription()
  if (another) throw whichSubscription(all.map((each) => each.uuid))
  return only.uuid
}

/** What a sealed text is bound to: moved to another row, it does not open there. */
const keyContext = (id: PeerId): string => `vpn device ${id} private key`
const linkContext = (uuid: SubscriptionId): string => `vpn link ${uuid}`
