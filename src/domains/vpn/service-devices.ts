import type { CustomerId, PeerId, TokenId } from '../../core/ids.ts'
import { priceVpn } from '../pricing/rules.ts'
import { deviceLimitReached, noDevice, noSuchDevice, noSuchSubscription, notRunning } from './errors.ts'
import { isLinkSecret, type Peer, type SubscriptionId, statusOf, type View } from './rules.ts'
import type { Configuration, DeviceWish, Subscriptions, VpnDeps } from './service-subscriptions.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'

type Which = { readonly uuid?: SubscriptionId | undefined; readonly device?: PeerId | undefined }

/** Devices, their configurations, the secret link and renewal by itself: what a customer changes without paying. */
export function createDevices(
  deps: Pick<VpnDeps, 'db' | 'clock' | 'sha256' | 'pricing' | 'ledger' | 'customers'>,
  subscriptions: Subscriptions,
) {
  const { db, clock } = deps

  return {
    /** Adds a device. The subscription's row is locked, so the last free place is taken once. */
    async addDevice(
      customer: CustomerId,
      wish: DeviceWish & Which,
    ): Promise<{ view: View; configuration: Configuration }> {
      const offering = await subscriptions.offering()
      const { nodes } = offering
      subscriptions.assertOffered(offering, wish.location)
      return db.transact(async (tx) => {
        // Money first, as in a purchase: all that gives a customer a device takes turns.
        await deps.ledger.lock(tx, customer)
        const kept = await subscriptions.lock(tx, customer, { uuid: wish.uuid })
        const { subscription } = kept
        const held = await peers.listHeld(tx, [subscription.uuid])
        const status = statusOf(subscription, held.length, clock())
        if (status === 'EXPIRED' || status === 'DISABLED') throw notRunning(status)
        if (held.length >= subscription.deviceLimit) throw deviceLimitReached(subscription.deviceLimit)
        await subscriptions.assertFresh(tx, customer, 0)
        const device = await subscriptions.addDevice(tx, subscription.uuid, wish, held.length, nodes)
        return {
          view: subscriptions.view(kept, [...held, device], nodes),
          configuration: subscriptions.configure(device, nodes, undefined),
        }
      })
    },

    /** Removes a device: it is cut off, its private key is erased, and its address rests. */
    async removeDevice(customer: CustomerId, wish: Which & { device: PeerId }): Promise<View> {
      const nodes = await subscriptions.nodes()
      return db.transact(async (tx) => {
        const kept = await subscriptions.lock(tx, customer, wish)
        const held = await peers.listHeld(tx, [kept.subscription.uuid])
        if (!held.some((each) => each.peer.id === wish.device)) throw noSuchDevice()
        await subscriptions.removeDevices(tx, [wish.device])
        const left = held.filter((each) => each.peer.id !== wish.device)
        return subscriptions.view(kept, left, nodes)
      })
    },

    /** A device's configuration; the oldest device's unless one is named. */
    async configuration(
      customer: CustomerId,
      wish: Which & { location?: string | undefined },
    ): Promise<{ uuid: SubscriptionId; configuration: Configuration }> {
      const { kept, held } = await subscriptions.load(customer, wish)
      const device = chosen(held, wish.device)
      return {
        uuid: kept.subscription.uuid,
        configuration: subscriptions.configure(device, await subscriptions.nodes(), wish.location),
      }
    },

    /** The same for the operator, who names the subscription. */
    async configurationOf(uuid: SubscriptionId, device: PeerId | undefined): Promise<Configuration> {
      if (!(await store.findSubscription(db, uuid))) throw noSuchSubscription()
      return subscriptions.configure(
        chosen(await peers.listHeld(db, [uuid]), device),
        await subscriptions.nodes(),
        undefined,
      )
    },

    /**
     * What a secret link opens: undefined for anything that is not one now. The database is asked about digests only.
     */
    async openLink(
      secret: string,
      wish: { device?: PeerId | undefined; location?: string | undefined },
    ): Promise<{ view: View; configuration: Configuration | undefined } | undefined> {
      if (!isLinkSecret(secret)) return undefined
      const kept = await store.findByLink(db, deps.sha256(secret))
      if (!kept) return undefined
      const { customer } = kept.subscription
      // Whoever has left took the way in with him.
      if ((await deps.customers.blockedAmong([customer])).has(customer)) return undefined
      const held = await peers.listHeld(db, [kept.subscription.uuid])
      const nodes = await subscriptions.nodes()
      const view = subscriptions.view(kept, held, nodes)
      const device = held.find((each) => wish.device === undefined || each.peer.id === wish.device)
      return { view, configuration: device && subscriptions.configure(device, nodes, wish.location) }
    },

    /** Makes a new secret link. The old one opens nothing from this commit on. */
    async resetLink(customer: CustomerId, uuid: SubscriptionId | undefined): Promise<View> {
      const nodes = await subscriptions.nodes()
      return db.transact(async (tx) => {
        const { subscription } = await subscriptions.lock(tx, customer, { uuid })
        const link = subscriptions.makeLink(subscription.uuid)
        store.writeLink(tx, subscription.uuid, link)
        return subscriptions.view({ subscription, link }, await peers.listHeld(tx, [subscription.uuid]), nodes)
      })
    },

    /**
     * Turns renewal by itself on, for as many months as last bought unless said, or off. The token that asks pays for
     * it.
     */
    async setAutoRenew(
      customer: CustomerId,
      wish: { uuid: SubscriptionId | undefined; enabled: boolean; months: number | undefined; token: TokenId | null },
    ): Promise<View> {
      const [catalogue, nodes] = await Promise.all([deps.pricing.current(), subscriptions.nodes()])
      return db.transact(async (tx) => {
        const kept = await subscriptions.lock(tx, customer, { uuid: wish.uuid })
        const { uuid } = kept.subscription
        const last = (await store.listTerms(tx, [uuid])).at(-1)
        const months = wish.enabled ? (wish.months ?? last?.months ?? 1) : null
        if (months !== null) priceVpn(catalogue, months)
        store.writeAutoRenew(tx, uuid, months, wish.token)
        const renewal = { autoRenewMonths: months, renewToken: wish.token, renewAfter: 0, renewProblem: null }
        const subscription = { ...kept.subscription, ...renewal }
        return subscriptions.view({ ...kept, subscription }, await peers.listHeld(tx, [uuid]), nodes)
      })
    },
  }
}

function chosen(held: readonly peers.KeptPeer[], device: Peer['id'] | undefined): peers.KeptPeer {
  const found = held.find((each) => device === undefined || each.peer.id === device)
  if (!found) throw device === undefined ? noDevice() : noSuchDevice()
  return found
}
