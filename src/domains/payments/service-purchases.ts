import type { OrderId, PaymentId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { namedWithin, Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Payer } from '../ledger/index.ts'
import type { Orders } from '../orders/index.ts'
import type { Plain } from '../orders/rules.ts'
import { notForSale, tooManyHeld, tooMuchHeld } from './errors.ts'
import { type AwaitedPurchase, heldMs, isStillTried, type Payment } from './rules.ts'
import * as store from './store.ts'
import { sumHeld, takeToBuy } from './store-purchases.ts'

/**
 * A price held for days is a free option: how many one customer has, and of what sum, which is what one card payment
 * takes. Payments that must be made within a day are not counted: one account may sell to many buyers.
 */
const shortMs = 86_400_000
const mostHeld = { count: 3, sum: kopecks(35_000_000n) }

/** A product that a payment can buy: what it costs now, and how it is bought at the price of a price list. */
export type Buyer = {
  readonly product: string
  quote(wish: Plain): Promise<Kopecks>
  buy(request: { readonly by: Payer; readonly key: string; readonly catalogue: number }, wish: Plain): Promise<OrderId>
}

/** What is to be bought, as it was understood. */
export type PurchaseWish = { readonly product: string; readonly wish: Plain }

export type Purchases = ReturnType<typeof createPurchases>

/** Purchases that wait for their payment, and happen once when it is there. */
export function createPurchases(deps: {
  db: Database
  customers: Pick<Customers, 'payerOf'>
  orders: Pick<Orders, 'findByKey'>
  pricing: { readonly current: () => Promise<{ readonly version: number }> }
  buyers: readonly Buyer[]
  clock: Clock
}) {
  const { db, buyers } = deps

  function loadBuyer(product: string): Buyer {
    const buyer = buyers.find((each) => each.product === product)
    if (!buyer) throw notForSale(buyers.map((each) => each.product))
    return buyer
  }

  const end = (id: PaymentId, after: Pick<AwaitedPurchase, 'state' | 'order' | 'problem'>): Promise<void> =>
    db.transact(async (tx) => {
      const payment = await store.lockPayment(tx, id)
      const isOpen = payment?.purchase?.state === 'waiting'
      // Whoever gave it up meanwhile did not know that it was being bought.
      const isBoughtAfterAll = payment?.purchase?.state === 'lapsed' && after.state === 'bought'
      if (!payment?.purchase || !(isOpen || isBoughtAfterAll)) return
      store.updatePayment(tx, { ...payment, purchase: { ...payment.purchase, ...after } })
    })

  /**
   * Buys what a payment was made for. The purchase has a key of the payment's own, so that it happens once however
   * often this is begun; a key with a space in it is nobody else's.
   */
  async function carryOut(payment: Payment): Promise<void> {
    const { purchase, id } = payment
    if (purchase?.state !== 'waiting') return
    const paid = await store.findStep(db, id, 'credited')
    if (!paid) return
    const key = `then ${id}`
    // Bought perhaps by a process that died before it could say so.
    const made = await deps.orders.findByKey(payment.customer, key)
    if (made) return end(id, { state: 'bought', order: made, problem: null })
    // Nobody wants to buy any more with money that he has had back.
    const isWanted = payment.state !== 'refunded' && isStillTried(paid.at, deps.clock())
    if (!isWanted) return end(id, { state: 'lapsed', order: null, problem: null })
    const by = await deps.customers.payerOf(payment.customer, payment.token)
    try {
      const request = { by, key, catalogue: purchase.catalogue }
      const order = await loadBuyer(purchase.product).buy(request, JSON.parse(purchase.wish) as Plain)
      await end(id, { state: 'bought', order, problem: null })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      // What passes by itself is tried again; any other no stands, and the money stays on the balance.
      const isPassing = ['unavailable', 'too_many'].includes(error.kind) || error.code === 'request_in_progress'
      if (!isPassing) await end(id, { state: 'refused', order: null, problem: error.message })
    }
  }

  return {
    /** What it costs now, to be held to later. */
    async price({ product, wish }: PurchaseWish): Promise<AwaitedPurchase> {
      const buyer = loadBuyer(product)
      // A price list that comes into force between the two questions would promise a price of the other one.
      for (;;) {
        const { version: catalogue } = await deps.pricing.current()
        const price = await buyer.quote(wish).catch((error: unknown) => {
          throw namedWithin('then', error)
        })
        if ((await deps.pricing.current()).version !== catalogue) continue
        return { product, wish: JSON.stringify(wish), price, catalogue, state: 'waiting', order: null, problem: null }
      }
    },

    /**
     * Refuses a payment that would hold a price for long when the customer's others hold as many or as much as one may.
     * The customer's account is locked, so two payments that begin at once are counted one after the other.
     */
    async assertMayHold(tx: Tx, { customer, purchase, createdAt, expiresAt }: Payment): Promise<void> {
      if (!purchase || expiresAt - createdAt <= shortMs) return
      const { count, sum } = await sumHeld(tx, { customer, sinceMs: deps.clock() - heldMs, longerThanMs: shortMs })
      if (count >= mostHeld.count) throw tooManyHeld(mostHeld.count)
      if (sum + purchase.price > mostHeld.sum) throw tooMuchHeld(mostHeld.sum)
    },

    carryOut,

    /**
     * Tries what was paid for, is not bought yet and is due, in turn between customers. Returns how many were tried;
     * call again while it is as many as asked for.
     */
    async carryOutAll(most: number): Promise<number> {
      const waiting = await db.transact((tx) => takeToBuy(tx, deps.clock(), most))
      const faults: unknown[] = []
      // One that fails must not keep the others from being bought.
      for (const payment of waiting) await carryOut(payment).catch((fault: unknown) => faults.push(fault))
      if (faults.length > 0) throw faults[0]
      return waiting.length
    },
  }
}
