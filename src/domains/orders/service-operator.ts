import type { OrderId } from '../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { cannotEnd, noSuchOrder, operatorKeyReused } from './errors.ts'
import { type Order, type Plain, toCanonical } from './rules.ts'
import type { Orders } from './service.ts'
import * as store from './store-operator.ts'

/** What an operator's action came to, in plain words and numbers: it is kept under its key. */
export type Told = { readonly [name: string]: Plain }

/** How much is given back of what is ended: the part that is unused, or all that the order cost. */
export type GivenBack = 'unused' | 'whole'

type Refunded = { readonly amount_rub: number; readonly balance_rub: number }

/** How a product ends what one of its orders has bought and gives money back for it, in the caller's transaction. */
export type Ending = {
  readonly product: string
  endOrder(tx: Tx, order: Order, how: GivenBack, note: string): Promise<Told & Refunded>
}

export type Once = ReturnType<typeof createOnce>

/** Whether it was done before, under the same key. */
export type Replayed = { readonly replayed?: boolean }

/** An operator's action in one transaction; under a key, once however often it is asked for. */
export function createOnce(deps: { db: Database; clock: Clock }) {
  return <Made extends Told>(
    key: string | undefined,
    request: Plain,
    work: (tx: Tx) => Promise<Made>,
  ): Promise<Made & Replayed> =>
    deps.db.transact(async (tx) => {
      if (key === undefined) return work(tx)
      const asked = toCanonical(request)
      const kept = await store.takeKey(tx, key, asked, deps.clock())
      if (kept && kept.request !== asked) throw operatorKeyReused()
      if (kept) return { ...(JSON.parse(kept.answer) as Made), replayed: true }
      const told = await work(tx)
      store.writeAnswer(tx, key, JSON.stringify(told))
      return told
    })
}

export type Refunds = ReturnType<typeof createRefunds>

/** How an operator gives money back: alone, or together with what it was paid for. */
export function createRefunds(deps: { orders: Orders; once: Once; endings: readonly Ending[] }) {
  const { orders } = deps
  return {
    /** Money alone, whole or in part. Once for an order, unless it is said that more of it is to be given back. */
    refund: (wish: {
      readonly order: OrderId
      readonly amount: Kopecks | 'all'
      readonly again: boolean
      readonly note: string
      readonly key: string | undefined
    }) => {
      const { order: id, note } = wish
      const amount = wish.amount === 'all' ? 'all' : String(wish.amount)
      return deps.once(wish.key, { refund: id, amount, again: wish.again, note }, async (tx) => {
        const order = await orders.find(tx, id)
        if (!order?.chargeSeq) throw noSuchOrder()
        const charge = { customer: order.customer, chargeSeq: order.chargeSeq }
        const posting = await orders.giveBack(tx, charge, wish.amount, note, wish.again ? 'in parts' : 'once')
        return {
          customer: order.customer,
          order_id: id,
          transaction: posting.seq,
          amount_rub: toRoubles(posting.amount),
          balance_rub: toRoubles(posting.balanceAfter),
        }
      })
    },

    /** Ends what an order has bought and gives back what is unused of it, or all that it cost. */
    end: (wish: {
      readonly order: OrderId
      readonly how: GivenBack
      readonly note: string
      readonly key: string | undefined
    }) => {
      const { order: id, how, note } = wish
      return deps.once(wish.key, { end: id, how, note }, async (tx) => {
        const order = await orders.find(tx, id)
        if (!order) throw noSuchOrder()
        const ending = deps.endings.find((each) => each.product === order.product)
        if (!ending) throw cannotEnd()
        return { customer: order.customer, order_id: id, ...(await ending.endOrder(tx, order, how, note)) }
      })
    },
  }
}
