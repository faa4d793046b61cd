import { sameBytes } from '../../core/token-text.ts'
import type { Node } from '../fleet/rules.ts'
import { freshLimit, insertDevice } from './devices.ts'
import { type Peer, type Subscription, type SubscriptionId, statusOf, usedBy } from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'
import type { VpnDeps } from './subscriptions.ts'

/** What an app says of itself when it asks a secret link: its hardware id, and a name for its device. */
export type AppIdentity = { readonly hardwareId: string; readonly name: string | undefined }

/** The device of an app, or why it has none: all slots are taken, or the subscription does not run. */
export type AppDevice =
  | { readonly device: Peer; readonly refused?: undefined }
  | { readonly device?: undefined; readonly refused: 'devices' | 'ended' }

/**
 * Of the devices that a customer may add in a day, so many are not for apps: a stranger with the link cannot use up the
 * day's number.
 */
const keptForCustomer = 20

/** The id of the subscription makes the digests of one machine differ between customers. */
const digestOf = ({ sha256 }: VpnDeps, uuid: SubscriptionId, { hardwareId }: AppIdentity): Uint8Array =>
  sha256(`vpn app ${uuid} ${hardwareId}`)

const ofApp = (held: readonly Peer[], digest: Uint8Array): Peer | undefined =>
  held.find(({ appDigest }) => appDigest !== null && sameBytes(appDigest, digest))

/** A device that no app has and no node has seen, such as the first one of a purchase. */
const isUnused = (of: Peer): boolean =>
  of.appDigest === null && !of.ownKey && of.lastHandshakeAt === null && usedBy(of) === 0n

/**
 * The device of an app. An app that has none gets a new one while a slot is free, else one that is unused. It is the
 * caller's read of the devices that finds most apps, without a transaction.
 */
export async function takeAppDevice(
  deps: VpnDeps,
  { uuid, customer, linkDigest }: Subscription,
  known: readonly Peer[],
  app: AppIdentity,
  nodes: readonly Node[],
): Promise<AppDevice> {
  const appDigest = digestOf(deps, uuid, app)
  const own = ofApp(known, appDigest)
  if (own) return { device: own }
  return deps.db.transact(async (tx) => {
    // The account is locked first, as in a purchase.
    await deps.ledger.lock(tx, customer)
    const subscription = await store.lockSubscription(tx, uuid)
    // The link was replaced, or the subscription deleted, since it was read.
    if (!subscription || !sameBytes(subscription.linkDigest, linkDigest)) return { refused: 'ended' }
    const held = await peers.listHeld(tx, [uuid])
    const made = ofApp(held, appDigest)
    if (made) return { device: made }
    const status = statusOf(subscription, deps.clock())
    if (status === 'EXPIRED' || status === 'DISABLED') return { refused: 'ended' }
    const isFree = held.length < subscription.deviceLimit
    if (isFree && (await freshLimit(deps, tx, customer, 0, keptForCustomer)).hasRoom) {
      const order = { name: app.name, appDigest }
      return { device: await insertDevice(deps, tx, { subscription: uuid, held: held.length, nodes }, order) }
    }
    const unused = held.find(isUnused)
    if (!unused) return { refused: 'devices' }
    const device = { ...unused, appDigest, name: app.name ?? unused.name }
    peers.writeApp(tx, device)
    return { device }
  })
}
