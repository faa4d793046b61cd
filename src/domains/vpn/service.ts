import type { Tx } from '../../db/transaction.ts'
import { bytes } from '../../kernel/bytes.ts'
import type { CustomerId, OrderId } from '../../kernel/ids.ts'
import { type Kopecks, toRoubles, total, zero } from '../../kernel/money.ts'
import type { Node } from '../fleet/rules.ts'
import type { Payer } from '../ledger/index.ts'
import type { Placed, Sale, Ticket } from '../orders/index.ts'
import { type Catalogue, priceVpn } from '../pricing/rules.ts'
import { noSuchSubscription, subscriptionDisabled, tooManySubscriptions } from './errors.ts'
import {
  deviceLimitAfter,
  makeUuid,
  mostSubscriptions,
  refundOf,
  type Subscription,
  type SubscriptionId,
  spanAfter,
  trafficFor,
  trafficLeft,
  trafficLimitAfter,
  usedBy,
} from './rules.ts'
import { createDevices } from './service-devices.ts'
import { createNodeSide } from './service-nodes.ts'
import { createRenewal } from './service-renewal.ts'
import { type Bought, createShelf, type DeviceWish, type View, type VpnDeps } from './service-shelf.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'

export type Vpn = ReturnType<typeof createVpn>

type Offer = { readonly months: number; readonly total: Kopecks; readonly perMonth: Kopecks }

const product = 'vpn'

export function createVpn(deps: VpnDeps) {
  const { db, clock, ledger, orders, pricing } = deps
  const shelf = createShelf(deps)

  const offerOf = (catalogue: Catalogue, months: number): Offer => {
    const { total: price, perMonth } = priceVpn(catalogue, months)
    return { months, total: price, perMonth }
  }

  const calculationOf = (catalogue: Catalogue, offer: Offer) => ({
    catalogue: catalogue.version,
    months: offer.months,
    per_month_rub: toRoubles(offer.perMonth),
  })

  const noteOf = (months: number): string => `VPN for ${months} ${months === 1 ? 'month' : 'months'}`

  /** Extends a locked subscription by an order's months, inside the order's transaction. */
  async function extend(
    tx: Tx,
    order: OrderId,
    kept: store.Kept,
    months: number,
    at: { catalogue: Catalogue; nodes: readonly Node[] },
  ): Promise<Sale<Bought>> {
    const { catalogue, nodes } = at
    const { plan, total: price } = priceVpn(catalogue, months)
    const nowMs = clock()
    const before = kept.subscription
    if (before.disabledAt !== null) throw subscriptionDisabled()
    const span = spanAfter(before, months, nowMs)
    const held = await peers.listHeld(tx, [before.uuid])
    const terms = await store.listTerms(tx, [before.uuid])
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
      order,
      months,
      price,
      ...span,
      trafficGrant: grant,
      usedBefore: used,
      refund: plan.refund,
      refunded: zero,
    })
    // A subscription that was swept has no device left; the answer carries a configuration all the same.
    const first = held[0] ?? (await shelf.addDevice(tx, after.uuid, {}, 0, nodes))
    peers.touchPeers(tx, after.uuid, nowMs)
    const all = held.length > 0 ? held : [first]
    return {
      price,
      calculation: { ...calculationOf(catalogue, offerOf(catalogue, months)), uuid: after.uuid },
      note: noteOf(months),
      deliver: (paid) => ({
        ...paid,
        months,
        price,
        view: shelf.view({ ...kept, subscription: after }, all, nodes),
        config: shelf.configure(first, nodes, undefined).text,
      }),
    }
  }

  return {
    ...createDevices(deps, shelf),
    ...createNodeSide(deps),
    ...createRenewal(deps, shelf, extend),

    locations: shelf.locations,

    /** What a number of months costs, or what each that is sold costs. */
    async quote(months: number | undefined): Promise<Offer[]> {
      const catalogue = await pricing.current()
      const wanted = months === undefined ? [...(catalogue.vpn?.months.keys() ?? [])] : [months]
      return wanted.map((each) => offerOf(catalogue, each))
    },

    /** A new subscription with its first device: paid and delivered in one commit. */
    async buy(
      by: Payer,
      wish: DeviceWish & { months: number; autoRenew?: boolean | undefined },
      ticket: Ticket<Bought>,
    ): Promise<Placed> {
      const [catalogue, nodes] = await Promise.all([pricing.current(), shelf.forSale(wish.location)])
      const { plan, total: price } = priceVpn(catalogue, wish.months)
      const { months } = wish
      const request = { period: months, ...(wish.location !== undefined && { location: wish.location }) }
      return orders.place(by, { product, action: 'buy', wish: request }, ticket, async (tx, order) => {
        const nowMs = clock()
        if ((await store.countOf(tx, by.customer)) >= mostSubscriptions) throw tooManySubscriptions(mostSubscriptions)
        const uuid = makeUuid(nowMs, deps.random)
        const span = spanAfter(undefined, months, nowMs)
        const grant = trafficFor(plan.trafficGigabytes, months)
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
          autoRenewMonths: wish.autoRenew ? months : null,
          renewAfter: 0,
          renewProblem: null,
          createdAt: nowMs,
          disabledAt: null,
          sweptAt: null,
          deletedAt: null,
        }
        const link = shelf.makeLink(uuid)
        store.insertSubscription(tx, subscription, link)
        store.insertTerm(tx, {
          subscription: uuid,
          seq: 1,
          order,
          months,
          price,
          ...span,
          trafficGrant: grant,
          usedBefore: bytes(0n),
          refund: plan.refund,
          refunded: zero,
        })
        const device = await shelf.addDevice(tx, uuid, wish, 0, nodes)
        return {
          price,
          calculation: { ...calculationOf(catalogue, offerOf(catalogue, months)), uuid },
          note: noteOf(months),
          deliver: (paid) => ({
            ...paid,
            months,
            price,
            view: shelf.view({ subscription, link }, [device], nodes),
            config: shelf.configure(device, nodes, undefined).text,
          }),
        }
      })
    },

    /** Adds months to what is left, or from now when nothing is. Devices, keys and link stay what they were. */
    async renew(
      by: Payer,
      wish: { uuid: SubscriptionId | undefined; months: number },
      ticket: Ticket<Bought>,
    ): Promise<Placed> {
      const [catalogue, nodes] = await Promise.all([pricing.current(), shelf.forSale(undefined)])
      priceVpn(catalogue, wish.months)
      const request = { period: wish.months, ...(wish.uuid !== undefined && { uuid: wish.uuid }) }
      return orders.place(by, { product, action: 'renew', wish: request }, ticket, async (tx, order) => {
        const kept = await shelf.lock(tx, by.customer, { uuid: wish.uuid })
        return extend(tx, order, kept, wish.months, { catalogue, nodes })
      })
    },

    /** All subscriptions of a customer, the one that runs longest first; or the one that is named. */
    async info(customer: CustomerId, uuid: SubscriptionId | undefined): Promise<{ views: View[]; up: boolean }> {
      const nodes = await shelf.nodes()
      const all = await store.listOf(db, customer)
      const wanted = uuid === undefined ? all : all.filter((each) => each.subscription.uuid === uuid)
      if (uuid !== undefined && wanted.length === 0) throw noSuchSubscription()
      const held = await peers.listHeld(
        db,
        wanted.map((each) => each.subscription.uuid),
      )
      const views = wanted.map((kept) =>
        shelf.view(
          kept,
          held.filter((each) => each.peer.subscription === kept.subscription.uuid),
          nodes,
        ),
      )
      const up = (await shelf.locations()).some((place) => place.up)
      return { views: views.toSorted((a, b) => b.subscription.expiresAt - a.subscription.expiresAt), up }
    },

    /** Ends a subscription at once: devices are cut off, keys erased, and the unused part of what was paid is given back. */
    delete: (
      customer: CustomerId,
      uuid: SubscriptionId | undefined,
    ): Promise<{ uuid: SubscriptionId; refunded: Kopecks; balance: Kopecks }> =>
      db.transact(async (tx) => {
        // Money first, as in a purchase, so that a renewal and a deletion at the same time take turns.
        const account = await ledger.lock(tx, customer)
        const { subscription } = await shelf.lock(tx, customer, { uuid })
        if (subscription.disabledAt !== null) throw subscriptionDisabled()
        const nowMs = clock()
        const given = await refundTerms(tx, subscription, nowMs)
        const held = await peers.listHeld(tx, [subscription.uuid])
        await shelf.removeDevices(
          tx,
          held.map((each) => each.peer.id),
        )
        store.markDeleted(tx, subscription.uuid, nowMs)
        return {
          uuid: subscription.uuid,
          refunded: total(given.map((each) => each.amount)),
          balance: given.at(-1)?.balanceAfter ?? account.balance,
        }
      }),

    /** For the operator: stops a subscription without ending it, or lets it go on. Its time runs meanwhile. */
    setDisabled: (uuid: SubscriptionId, disabled: boolean): Promise<void> =>
      db.transact(async (tx) => {
        const kept = await store.lockSubscription(tx, uuid)
        if (!kept) throw noSuchSubscription()
        store.writeDisabled(tx, uuid, disabled ? clock() : null)
        peers.touchPeers(tx, uuid, clock())
      }),

    /** For the operator, who may see every customer's subscriptions. */
    async show(uuid: SubscriptionId): Promise<View> {
      const kept = await store.findSubscription(db, uuid)
      if (!kept) throw noSuchSubscription()
      return shelf.view(kept, await peers.listHeld(db, [uuid]), await shelf.nodes())
    },
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
      if (amount === 0n || seq === null || (await ledger.isRefunded(tx, subscription.customer, seq))) continue
      const note = `VPN deleted before its end, ${term.months} ${term.months === 1 ? 'month' : 'months'}`
      const posting = await ledger.refund(tx, subscription.customer, seq, amount, note)
      store.writeRefund(tx, term, amount)
      given.push({ amount, balanceAfter: posting.balanceAfter })
    }
    return given
  }
}
