import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, toRoubles, total } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { toIso } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Ending } from '../orders/index.ts'
import { type Order, textIn } from '../orders/rules.ts'
import { product } from './buy.ts'
import { removeAll } from './devices.ts'
import { noSuchSubscription, subscriptionDisabled } from './errors.ts'
import {
  deletedNote,
  increaseAction,
  readUuid,
  refundOf,
  type Subscription,
  type SubscriptionId,
  type Term,
  trafficLeft,
} from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'
import { load, lock, onlyOf, type VpnDeps } from './subscriptions.ts'

/** Ends a subscription: devices are removed, keys erased, and the unused part of the price is given back. */
export const deleteSubscription = (deps: VpnDeps, customer: CustomerId, uuid: SubscriptionId | undefined) =>
  deps.db.transact(async (tx) => {
    // The account is locked first, as in a purchase, so that renewal and deletion are serialised.
    const account = await deps.ledger.lock(tx, customer)
    const found = await lock(deps, tx, customer, { uuid: uuid ?? onlyOf(await store.listOf(tx, customer)) })
    if (found.disabledAt !== null) throw subscriptionDisabled()
    return end(deps, tx, found, account.balance)
  })

/** The amount that `deleteSubscription` would give back now. */
export async function quoteRefund(deps: VpnDeps, customer: CustomerId, uuid: SubscriptionId | undefined) {
  const of = await load(deps, customer, { uuid: uuid ?? onlyOf(await store.listOf(deps.db, customer)) })
  const refund = await deps.db.transact(async (tx) => {
    const parts = await findUnused(tx, of, deps.clock())
    const slots = await findUnusedSlots(tx, of, deps.clock())
    const refunds: Kopecks[] = []
    for (const { term, unused } of [...parts, ...slots])
      refunds.push(await deps.orders.quoteUnused(tx, unusedOf(term, unused)))
    return total(refunds)
  })
  return { uuid: of.uuid, refund }
}

/** How the operator ends what an order has bought; a disabled subscription too. */
export const endingOf = (deps: VpnDeps): Ending => ({
  product,
  async endOrder(tx, order, how) {
    if (how === 'whole') throw new Refusal('subscription_refund_is_unused_part')
    if (order.action === increaseAction) throw new Refusal('slots_end_with_subscription')
    const bought = subscriptionOf(order)
    if (bought === undefined) throw noSuchSubscription()
    const account = await deps.ledger.lock(tx, order.customer)
    const found = await lock(deps, tx, order.customer, { uuid: bought })
    const { uuid, refunded, balance, devices, orders } = await end(deps, tx, found, account.balance)
    return {
      uuid,
      // A subscription ends whole, whichever of its orders is refunded.
      subscription: { until: toIso(found.expiresAt), devices, orders: orders.filter((each) => each !== order.id) },
      amount_rub: toRoubles(refunded),
      balance_rub: toRoubles(balance),
    }
  },
})

/** The subscription that an order has bought or renewed. */
export const subscriptionOf = (order: Order): SubscriptionId | undefined =>
  readUuid(textIn(order.calculation, 'uuid') ?? '')

async function end(deps: VpnDeps, tx: Tx, of: Subscription, balance: Kopecks) {
  const nowMs = deps.clock()
  const unused = { terms: await findUnused(tx, of, nowMs), slots: await findUnusedSlots(tx, of, nowMs) }
  const given = await refundTerms(deps, tx, unused)
  const held = await peers.listHeld(tx, [of.uuid])
  await removeAll(deps, tx, held)
  store.markDeleted(tx, of.uuid, nowMs)
  return {
    uuid: of.uuid,
    devices: held.length,
    /** The orders that paid for what ends. */
    orders: [...new Set([...unused.terms, ...unused.slots].map(({ term }) => term.order))],
    refunded: total(given.map((each) => each.amount)),
    balance: given.at(-1)?.balanceAfter ?? balance,
  }
}

/** An order pays for one term or for slots, which end once. */
const unusedOf = ({ order }: Pick<Term, 'order'>, unused: Kopecks) => ({ order, unused, of: 'order' as const })

/** The unused part of the price of every term that is not over. */
async function findUnused(tx: Tx, { uuid, ...of }: Subscription, nowMs: number) {
  const terms = (await store.listTerms(tx, [uuid])).filter((term) => term.endsAt > nowMs)
  const traffic = trafficLeft(of, terms, nowMs)
  return terms.map((term) => ({ term, unused: refundOf(term, nowMs, traffic) }))
}

/** The same of slots, by time only: they grant no traffic. */
const findUnusedSlots = async (tx: Tx, { uuid }: Subscription, nowMs: number) =>
  (await store.listSlots(tx, [uuid]))
    .filter((each) => each.endsAt > nowMs)
    .map((term) => ({ term, unused: refundOf(term, nowMs, null) }))

type Unused = {
  readonly terms: Awaited<ReturnType<typeof findUnused>>
  readonly slots: Awaited<ReturnType<typeof findUnusedSlots>>
}

/** Refunds each of these parts, less what was refunded of its order. */
async function refundTerms(deps: VpnDeps, tx: Tx, { terms, slots }: Unused) {
  const given: { amount: Kopecks; balanceAfter: Kopecks }[] = []
  for (const { term, unused } of terms) {
    const note = `${deletedNote}, ${term.months} ${term.months === 1 ? 'month' : 'months'}`
    const posting = await deps.orders.giveBackUnused(tx, unusedOf(term, unused), note)
    if (!posting) continue
    store.writeRefund(tx, term, posting.amount)
    given.push(posting)
  }
  for (const { term: bought, unused } of slots) {
    const note = `${deletedNote}, slots for ${bought.slots} more ${bought.slots === 1 ? 'device' : 'devices'}`
    const posting = await deps.orders.giveBackUnused(tx, unusedOf(bought, unused), note)
    if (!posting) continue
    store.writeSlotsRefund(tx, bought, posting.amount)
    given.push(posting)
  }
  return given
}
