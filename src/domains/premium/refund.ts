import { bytes, toGigabytes } from '../../core/bytes.ts'
import type { OrderId } from '../../core/ids.ts'
import { kopecks, toRoubles, zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { toIso } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Delivered, Ending } from '../orders/index.ts'
import { maxDelivered, type Order } from '../orders/rules.ts'
import { never } from '../traffic/accounts/rules.ts'
import type { PremiumDeps } from './deps.ts'
import { product } from './rules.ts'
import { loginsOf } from './subusers/store.ts'

/**
 * Takes back and refunds the unused bytes of an order, in one commit. Bytes that a node holds are not unused. The money
 * is the same part of the price as the bytes are of the order, rounded down to a kopeck, less earlier refunds by hand.
 */
export const refund = (deps: PremiumDeps, id: OrderId, note: string) =>
  deps.db.transact(async (tx) => refundWithin(deps, tx, await deps.orders.find(tx, id), note))

async function refundWithin(
  { ledger, orders, traffic: { accounts } }: PremiumDeps,
  tx: Tx,
  order: Order | undefined,
  note: string,
) {
  if (!order?.chargeSeq || order.product !== product || order.action !== 'buy')
    throw new Refusal('traffic_order_not_found')
  const account = await ledger.lock(tx, order.customer)
  const returned = await accounts.reclaim(tx, order.id)
  const bought = (await accounts.boughtWith(tx, order.id)).reduce((sum, each) => sum + each.bytes, 0n)
  if (returned === 0n || bought === 0n) throw new Refusal('no_unused_traffic', {}, { charged: false })
  // Bytes that a node held at an earlier refund may have come back since: all returned bytes count, as all refunds do.
  const unused = kopecks((order.price * (await accounts.refundedWith(tx, order.id))) / bought)
  if (unused === 0n) throw new Refusal('no_unused_traffic', {}, { charged: false })
  const posting = await orders.giveBackUnused(tx, { order: order.id, unused, of: 'order' }, note)
  const balance = posting?.balanceAfter ?? account.balance
  return { order: order.id, returned: bytes(returned), money: posting?.amount ?? zero, balance }
}

/** How the operator ends an order for traffic. */
export const endingOf = (deps: PremiumDeps): Ending => ({
  product,
  async endOrder(tx, order, how, note) {
    if (how === 'whole') throw new Refusal('traffic_refund_is_unused_part')
    const { returned, money, balance } = await refundWithin(deps, tx, order, note)
    return { returned_gb: toGigabytes(returned), amount_rub: toRoubles(money), balance_rub: toRoubles(balance) }
  },
})

/** The bytes of an order, and those that are left. */
export async function delivered({ db, traffic }: PremiumDeps, order: Order): Promise<Delivered> {
  const lots = await traffic.accounts.lotsOf(db, order.id)
  const shown = lots.slice(0, maxDelivered)
  const logins = await loginsOf(
    db,
    shown.map((lot) => lot.subuser),
  )
  const services = shown.map((lot) => ({
    username: logins.get(lot.subuser) ?? null,
    subuser: lot.subuser,
    pool: lot.pool,
    bought_gb: toGigabytes(bytes(lot.size)),
    left_gb: toGigabytes(bytes(lot.rest)),
    expires_at: lot.expiresAt >= never ? null : toIso(lot.expiresAt),
  }))
  return { services, count: lots.length }
}
