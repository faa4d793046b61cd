import type { Address } from '../../core/address.ts'
import { bytes } from '../../core/bytes.ts'
import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, toRoubles, total, zero } from '../../core/money.ts'
import { toIso } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Node } from '../fleet/rules.ts'
import type { Payer } from '../ledger/index.ts'
import { assertCovers } from '../ledger/rules.ts'
import type { Answer, Ending, PurchaseRequest, Sale, Told } from '../orders/index.ts'
import type { Order, Plain } from '../orders/rules.ts'
import { type Catalogue, priceVpn } from '../pricing/rules.ts'
import {
  noSuchSubscription,
  noSuchVpnNode,
  onlyUnused,
  otherLocation,
  subscriptionDisabled,
  tooManySubscriptions,
} from './errors.ts'
import { createVpnNodes } from './nodes.ts'
import {
  byImportance,
  deletedNote,
  deviceLimitAfter,
  makeUuid,
  mostSubscriptions,
  refundOf,
  type Subscription,
  type SubscriptionId,
  spanAfter,
  type Term,
  trafficFor,
  trafficLeft,
  trafficLimitAfter,
  usedBy,
  type View,
} from './rules.ts'
import { createDevices } from './service-devices.ts'
import { createRenewal } from './service-renewal.ts'
import {
  type Bought,
  createSubscriptions,
  type DeviceWish,
  type Offering,
  type VpnDeps,
} from './service-subscriptions.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'

export type Vpn = ReturnType<typeof createVpn>

type Offer = { readonly months: number; readonly total: Kopecks; readonly perMonth: Kopecks }

type VpnWish = DeviceWish & { readonly months: number; readonly autoRenew?: boolean | undefined }

const product = 'vpn'

export function createVpn(deps: VpnDeps) {
  const { db, clock, ledger, orders, pricing } = deps
  const subscriptions = createSubscriptions(deps)

  const offerOf = (catalogue: Catalogue, months: number): Offer => {
    const { total: price, perMonth } = priceVpn(catalogue, months)
    return { months, total: price, perMonth }
  }

  function chargeOf(catalogue: Catalogue, months: number, uuid: SubscriptionId) {
    const { total: price, perMonth } = priceVpn(catalogue, months)
    return {
      price,
      calculation: { catalogue: catalogue.version, months, per_month_rub: toRoubles(perMonth), uuid },
      note: `VPN for ${months} ${months === 1 ? 'month' : 'months'}`,
    }
  }

  /** Charges for months and adds them to a locked subscription, inside the sale. */
  async function extend(sale: Sale, kept: store.Kept, months: number, at: Offering): Promise<Bought> {
    const { tx, nowMs } = sale
    const before = kept.subscription
    if (before.disabledAt !== null) throw subscriptionDisabled()
    const { plan, total: price } = priceVpn(at.catalogue, months)
    const span = spanAfter(before, months, nowMs)
    const held = await peers.listHeld(tx, [before.uuid])
    const terms = await store.listTerms(tx, [before.uuid])
    const receipt = await sale.charge(chargeOf(at.catalogue, months, before.uuid))
    const runs = span.startsAt === before.expiresAt
    const used = usedBy(before)
    const grant = trafficFor(plan.trafficGigabytes, months)
    const after: Subscription = {
      ...before,
      anchorDay: span.anchorDay,
      expiresAt: span.endsAt,
      deviceLimit: deviceLimitAfter({ limit: before.deviceLimit, held: held.length, runs }, plan.deviceLimit),
      trafficLimit: trafficLimitAfter({ limit: before.trafficLimit, used, runs }, grant),
      speedMegabits: plan.speedMegabits,
      renewAfter: 0,
      renewProblem: null,
      sweptAt: null,
    }
    store.writeRenewal(tx, after)
    store.insertTerm(tx, {
      subscription: after.uuid,
      seq: (terms.at(-1)?.seq ?? 0) + 1,
      order: sale.order,
      months,
      price,
      ...span,
      trafficGrant: grant,
      usedBefore: used,
      refund: plan.refund,
      refunded: zero,
    })
    // A subscription that was swept has no device left; the answer carries a configuration all the same.
    const first = held[0] ?? (await subscriptions.addDevice(tx, after.uuid, {}, 0, at.nodes))
    peers.touchPeers(tx, after.uuid, nowMs)
    const all = held.length > 0 ? held : [first]
    return {
      ...receipt,
      months,
      price,
      view: subscriptions.view({ ...kept, subscription: after }, all, at.nodes),
      config: subscriptions.configure(first, at.nodes, undefined).text,
    }
  }

  /** A subscription as it begins, its first term included. */
  function begin(sale: Sale, by: Payer, wish: VpnWish, catalogue: Catalogue) {
    const { nowMs, order } = sale
    const { plan, total: price } = priceVpn(catalogue, wish.months)
    const uuid = makeUuid(nowMs, deps.random)
    const span = spanAfter(undefined, wish.months, nowMs)
    const grant = trafficFor(plan.trafficGigabytes, wish.months)
    const subscription: Subscription = {
      uuid,
      customer: by.customer,
      anchorDay: span.anchorDay,
      expiresAt: span.endsAt,
      deviceLimit: plan.deviceLimit,
      trafficLimit: grant,
      speedMegabits: plan.speedMegabits,
      received: bytes(0n),
      sent: bytes(0n),
      autoRenewMonths: wish.autoRenew ? wish.months : null,
      renewToken: wish.autoRenew ? (by.token?.id ?? null) : null,
      renewAfter: 0,
      renewProblem: null,
      createdAt: nowMs,
      disabledAt: null,
      sweptAt: null,
      deletedAt: null,
    }
    const term: Term = {
      subscription: uuid,
      seq: 1,
      order,
      months: wish.months,
      price,
      ...span,
      trafficGrant: grant,
      usedBefore: bytes(0n),
      refund: plan.refund,
      refunded: zero,
    }
    return { subscription, term }
  }

  return {
    ...createDevices(deps, subscriptions),
    nodes: createVpnNodes(deps),
    ...createRenewal(deps, subscriptions, extend),

    locations: subscriptions.locations,
    isCarried: subscriptions.isCarried,

    /** Which devices had an address inside the tunnel between two moments, both included. */
    holdersOf: (address: Address, from: number, to: number) =>
      db.snapshot((reader) => peers.holdersBetween(reader, address, from, to)),

    /** What a number of months costs, or what each that is sold costs. */
    async quote(months: number | undefined): Promise<Offer[]> {
      const catalogue = await pricing.current()
      const wanted = months === undefined ? [...(catalogue.vpn?.months.keys() ?? [])] : [months]
      return wanted.map((each) => offerOf(catalogue, each))
    },

    /** A new subscription with its first device: paid and delivered in one commit. */
    async buy(request: PurchaseRequest<Bought>, wish: VpnWish): Promise<Answer> {
      const offering = await subscriptions.offering(request.catalogue)
      const { catalogue, nodes } = offering
      return orders.sell(request, { product, action: 'buy', wish: wishJson(wish) }, async (sale) => {
        const { tx } = sale
        const { customer } = request.by
        subscriptions.assertOffered(offering, wish.location)
        const { total: price, plan } = priceVpn(catalogue, wish.months)
        assertCovers(sale.account, price)
        if ((await store.countOf(tx, customer)) >= mostSubscriptions) throw tooManySubscriptions(mostSubscriptions)
        await subscriptions.assertFresh(tx, customer, plan.deviceLimit)
        const { subscription, term } = begin(sale, request.by, wish, catalogue)
        const receipt = await sale.charge(chargeOf(catalogue, wish.months, subscription.uuid))
        const link = subscriptions.makeLink(subscription.uuid)
        store.insertSubscription(tx, subscription, link)
        store.insertTerm(tx, term)
        const device = await subscriptions.addDevice(tx, subscription.uuid, wish, 0, nodes)
        return {
          ...receipt,
          months: wish.months,
          price,
          view: subscriptions.view({ subscription, link }, [device], nodes),
          config: subscriptions.configure(device, nodes, undefined).text,
        }
      })
    },

    /**
     * Adds months to what is left, or from now when nothing is. Devices, keys and link stay what they were. Without a
     * uuid the subscription that `info` shows first is meant.
     */
    async renew(
      request: PurchaseRequest<Bought>,
      wish: { uuid: SubscriptionId | undefined; months: number },
    ): Promise<Answer> {
      const offering = await subscriptions.offering()
      const asked = { period: wish.months, ...(wish.uuid !== undefined && { uuid: wish.uuid }) }
      return orders.sell(request, { product, action: 'renew', wish: asked }, async (sale) => {
        subscriptions.assertOffered(offering, undefined)
        const uuid = wish.uuid ?? (await subscriptions.loadTop(sale.tx, request.by.customer))
        const kept = await subscriptions.lock(sale.tx, request.by.customer, { uuid })
        return extend(sale, kept, wish.months, offering)
      })
    },

    /**
     * All subscriptions of a customer, those that run first and of these the one that ends first; or the one that is
     * named.
     */
    async info(customer: CustomerId, uuid: SubscriptionId | undefined): Promise<{ views: View[]; up: boolean }> {
      const nodes = await subscriptions.nodes()
      const all = await store.listOf(db, customer)
      const wanted = uuid === undefined ? all : all.filter((each) => each.subscription.uuid === uuid)
      if (uuid !== undefined && wanted.length === 0) throw noSuchSubscription()
      const held = await peers.listHeld(
        db,
        wanted.map((each) => each.subscription.uuid),
      )
      const views = wanted.map((kept) =>
        subscriptions.view(
          kept,
          held.filter((each) => each.peer.subscription === kept.subscription.uuid),
          nodes,
        ),
      )
      const up = (await subscriptions.locations()).some((place) => place.up)
      return { views: views.toSorted((a, b) => byImportance(a.subscription, b.subscription, clock())), up }
    },

    /**
     * Ends a subscription at once: devices are cut off, keys erased, and the unused part of what was paid is given
     * back.
     */
    delete: (
      customer: CustomerId,
      uuid: SubscriptionId | undefined,
    ): Promise<{ uuid: SubscriptionId; refunded: Kopecks; balance: Kopecks }> =>
      db.transact((tx) => end(tx, customer, uuid, 'customer')),

    /** The same, as the operator ends whatever an order has bought: one that is disabled too. */
    /** How many subscriptions run now. */
    countActive: (): Promise<number> => store.countActive(db, clock()),

    /** Who has subscriptions now, and which of them renew themselves. */
    held: () => store.findHeld(db, clock()),

    /** What an order has bought: its subscription as it is now. */
    async delivered(order: Order): Promise<Told[]> {
      const { uuid } = order.calculation as unknown as { uuid?: SubscriptionId }
      const kept = uuid === undefined ? undefined : await store.findSubscription(db, uuid)
      if (!kept) return []
      const { subscription } = kept
      return [
        {
          uuid: subscription.uuid,
          expires_at: toIso(subscription.expiresAt),
          rx_bytes: Number(subscription.received),
          tx_bytes: Number(subscription.sent),
        },
      ]
    },

    ending: {
      product,
      async endOrder(tx, order, how) {
        if (how === 'whole') throw onlyUnused()
        const { uuid } = order.calculation as unknown as { uuid: SubscriptionId }
        const { refunded, balance } = await end(tx, order.customer, uuid, 'operator')
        return { uuid, amount_rub: toRoubles(refunded), balance_rub: toRoubles(balance) }
      },
    } satisfies Ending,

    /** For the operator: stops a subscription without ending it, or lets it go on. Its time runs meanwhile. */
    setDisabled: (uuid: SubscriptionId, disabled: boolean): Promise<void> =>
      db.transact(async (tx) => {
        const kept = await store.lockSubscription(tx, uuid)
        if (!kept) throw noSuchSubscription()
        store.writeDisabled(tx, uuid, disabled ? clock() : null)
        peers.touchPeers(tx, uuid, clock())
      }),

    /**
     * For the operator: moves the devices of a subscription to a node of their location. Keys, addresses and counts
     * stay; every node knows every device, so the old configuration works for as long as the old node does.
     */
    move: (uuid: SubscriptionId, to: Node): Promise<{ devices: number }> =>
      db.transact(async (tx) => {
        if (to.kind !== 'vpn' || to.state !== 'open') throw noSuchVpnNode()
        if (!(await store.lockSubscription(tx, uuid))) throw noSuchSubscription()
        const held = (await peers.listHeld(tx, [uuid])).map((each) => each.peer)
        const elsewhere = held.find((peer) => peer.location !== null && peer.location !== to.location)
        if (elsewhere) throw otherLocation(elsewhere.location ?? '', to.location)
        await peers.writeNode(
          tx,
          held.map((peer) => peer.id),
          to.id,
          clock(),
        )
        return { devices: held.length }
      }),

    /** For the operator, who may see every customer's subscriptions. */
    async show(uuid: SubscriptionId): Promise<View> {
      const kept = await store.findSubscription(db, uuid)
      if (!kept) throw noSuchSubscription()
      return subscriptions.view(kept, await peers.listHeld(db, [uuid]), await subscriptions.nodes())
    },
  }

  async function end(
    tx: Tx,
    customer: CustomerId,
    uuid: SubscriptionId | undefined,
    by: 'customer' | 'operator',
  ): Promise<{ uuid: SubscriptionId; refunded: Kopecks; balance: Kopecks }> {
    // Money first, as in a purchase, so that a renewal and a deletion at the same time take turns.
    const account = await ledger.lock(tx, customer)
    const { subscription } = await subscriptions.lock(tx, customer, {
      uuid: uuid ?? (await subscriptions.loadOnly(tx, customer)),
    })
    if (subscription.disabledAt !== null && by === 'customer') throw subscriptionDisabled()
    const nowMs = clock()
    const given = await refundTerms(tx, subscription, nowMs)
    const held = await peers.listHeld(tx, [subscription.uuid])
    await subscriptions.removeDevices(
      tx,
      held.map((each) => each.peer.id),
    )
    store.markDeleted(tx, subscription.uuid, nowMs)
    return {
      uuid: subscription.uuid,
      refunded: total(given.map((each) => each.amount)),
      balance: given.at(-1)?.balanceAfter ?? account.balance,
    }
  }

  /** Gives back the unused part of every term that is not over, each to the charge that paid for it. */
  async function refundTerms(tx: Tx, subscription: Subscription, nowMs: number) {
    const terms = (await store.listTerms(tx, [subscription.uuid])).filter((term) => term.endsAt > nowMs)
    const paid = new Map(
      (
        await orders.findMany(
          tx,
          terms.map((term) => term.order),
        )
      ).map((each) => [each.id, each]),
    )
    const traffic = trafficLeft(subscription, terms, nowMs)
    const given: { amount: Kopecks; balanceAfter: Kopecks }[] = []
    for (const term of terms) {
      const amount = refundOf(term, nowMs, traffic)
      const seq = paid.get(term.order)?.chargeSeq ?? null
      // What an operator has given back by hand is not given back again.
      if (amount === 0n || seq === null || (await ledger.refundedOf(tx, subscription.customer, seq)) > 0n) continue
      const note = `${deletedNote}, ${term.months} ${term.months === 1 ? 'month' : 'months'}`
      const posting = await orders.giveBack(tx, { customer: subscription.customer, chargeSeq: seq }, amount, note)
      store.writeRefund(tx, term, amount)
      given.push({ amount, balanceAfter: posting.balanceAfter })
    }
    return given
  }
}

/**
 * What was asked for, for the order. What was left out is absent, so that a repeat that leaves it out too is the same.
 */
const wishJson = (wish: VpnWish): Plain => ({
  period: wish.months,
  ...(wish.location !== undefined && { location: wish.location }),
  ...(wish.name !== undefined && { name: wish.name }),
  ...(wish.publicKey !== undefined && { public_key: wish.publicKey }),
  ...(wish.autoRenew === true && { auto_renew: true }),
})
