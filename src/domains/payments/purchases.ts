import type { PaymentId } from '../../core/ids.ts'
import { type Kopecks, kopecks, toRoubles, zero } from '../../core/money.ts'
import { namedWithin, Refusal, refuseField } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import { assertPriceWithin, metadataIn, type Plain, readPlain } from '../orders/rules.ts'
import type { Buyer, PaymentDeps } from './deps.ts'
import { type AwaitedPurchase, heldMs, type Payment, triedMs } from './rules.ts'
import * as store from './store.ts'

/**
 * A price held for days is a free option, so one customer holds 3 prices of 350,000 roubles together at most. Payments
 * that must be made within a day are not counted: one account may sell to many buyers.
 */
const maxHeld = { count: 3, sum: kopecks(35_000_000n) }
const shortMs = 86_400_000
/** How often a purchase is priced again because the price list changed meanwhile. */
const maxPricings = 5

/** The input of a purchase, as its product reads it. */
export type PurchaseInput = {
  readonly product: string
  readonly input: Plain
  /** The highest price that the customer accepts. The payment holds its price, so it is compared once. */
  readonly maxPrice?: Kopecks | undefined
}

function loadBuyer({ buyers }: PaymentDeps, product: string): Buyer {
  const buyer = buyers.find((each) => each.product === product)
  if (!buyer) throw refuseField('purchase.product', 'one_of', { allowed: buyers.map((each) => each.product) })
  return buyer
}

/** The price now, with the version of the price list that it comes from. */
export async function pricePurchase(
  deps: PaymentDeps,
  { product, input, maxPrice }: PurchaseInput,
): Promise<AwaitedPurchase> {
  const buyer = loadBuyer(deps, product)
  for (let priced = 0; priced < maxPricings; priced += 1) {
    const { version: catalogue } = await deps.pricing.current()
    const price = await buyer.quote(input).catch((error: unknown) => {
      throw namedWithin('purchase', error)
    })
    // A price list that came into force meanwhile may have another price.
    if ((await deps.pricing.current()).version !== catalogue) continue
    assertPriceWithin(maxPrice, price)
    return { product, input: JSON.stringify(input), price, catalogue, state: 'waiting', order: null, problem: null }
  }
  throw new Error(`the price list changed during each of ${maxPricings} quotes`)
}

/** Refuses a payment that would hold one price too many. The customer's account is locked. */
export async function assertMayHold({ clock }: PaymentDeps, tx: Tx, payment: Payment): Promise<void> {
  const { customer, purchase, createdAt, expiresAt } = payment
  if (!purchase || expiresAt - createdAt <= shortMs) return
  const held = await store.sumHeld(tx, { customer, sinceMs: clock() - heldMs, longerThanMs: shortMs })
  const { count, sum } = held ?? { count: 0, sum: zero }
  if (count >= maxHeld.count) throw new Refusal('held_price_limit', { max: maxHeld.count }, { charged: false })
  if (sum + purchase.price <= maxHeld.sum) return
  throw new Refusal('held_amount_limit', { max_rub: toRoubles(maxHeld.sum) }, { charged: false })
}

async function endPurchase(
  { db, onPurchase }: PaymentDeps,
  id: PaymentId,
  after: Pick<AwaitedPurchase, 'state' | 'order' | 'problem'>,
): Promise<void> {
  const ended = await db.transact(async (tx) => {
    const payment = await store.lockPayment(tx, id)
    if (!payment?.purchase) return undefined
    const { state } = payment.purchase
    // Another process may have let it lapse while this one bought it.
    if (state !== 'waiting' && !(state === 'lapsed' && after.state === 'bought')) return undefined
    store.updatePayment(tx, { ...payment, purchase: { ...payment.purchase, ...after } })
    return { payment: id, customer: payment.customer, product: payment.purchase.product }
  })
  if (ended) onPurchase?.({ ...ended, state: after.state, order: after.order, reason: after.problem?.reason ?? null })
}

/**
 * Buys what a payment was made for. The purchase has an idempotency key of the payment's own, so that it happens once;
 * customers' keys contain no space.
 */
export async function fulfil(deps: PaymentDeps, payment: Payment): Promise<void> {
  const { purchase, id, customer } = payment
  if (purchase?.state !== 'waiting') return
  const paid = await store.findStep(deps.db, id, 'credited')
  if (!paid) return
  const key = `purchase ${id}`
  // A process that died may have bought it without writing so.
  const made = await deps.orders.findByKey(customer, key)
  if (made) return endPurchase(deps, id, { state: 'bought', order: made, problem: null })
  const isWanted = payment.state !== 'refunded' && deps.clock() < paid.at + triedMs
  if (!isWanted) return endPurchase(deps, id, { state: 'lapsed', order: null, problem: null })
  const by = await deps.customers.payerOf(customer, payment.token)
  try {
    const input = readPlain(purchase.input)
    // Who revoked the token does not want what it ordered. The money stays on the balance.
    const request = {
      by,
      key,
      catalogue: purchase.catalogue,
      metadata: metadataIn(input),
      endsWithToken: true,
    } as const
    const { order } = await loadBuyer(deps, purchase.product).buy(request, input)
    await endPurchase(deps, id, { state: 'bought', order, problem: null })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // A temporary refusal is retried; after any other the money stays on the balance.
    const isPassing = ['unavailable', 'too_many'].includes(error.kind) || error.code === 'request_in_progress'
    if (!isPassing) await endPurchase(deps, id, { state: 'refused', order: null, problem: error })
  }
}

/** Buys at once what a payment that is paid was made for. */
export async function buyPaidFor(deps: PaymentDeps, payment: Payment | undefined): Promise<void> {
  if (payment?.state === 'paid') await fulfil(deps, payment)
}

/** Tries up to `max` purchases that are paid for and due. Returns how many; call again while it is `max`. */
export async function fulfilAll(deps: PaymentDeps, max: number): Promise<number> {
  const waiting = await deps.db.transact((tx) => store.takeToBuy(tx, deps.clock(), max))
  const faults: unknown[] = []
  // One that fails must not keep the others from being bought.
  for (const payment of waiting) await fulfil(deps, payment).catch((fault: unknown) => faults.push(fault))
  if (faults.length > 0) throw faults[0]
  return waiting.length
}
