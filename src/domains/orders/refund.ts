import type { CustomerId, OrderId } from '../../core/ids.ts'
import { type Kopecks, toRoubles, zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Posting } from '../ledger/rules.ts'
import { noSuchOrder } from './errors.ts'
import { dueAtEnd, type Order, type Plain, refunded, toCanonical } from './rules.ts'
import type { OrdersDeps } from './sell.ts'
import * as store from './store.ts'

/** Refunds a charge, whole or in part, in the caller's transaction, with an event for the customer. */
async function giveBack(
  deps: Pick<OrdersDeps, 'ledger' | 'events'>,
  tx: Tx,
  of: { readonly customer: CustomerId; readonly chargeSeq: number },
  amount: Kopecks | 'all',
  note: string,
  how: 'once' | 'in parts',
): Promise<Posting> {
  const posting = await deps.ledger.refund(tx, of.customer, of.chargeSeq, amount, note, how)
  await deps.events.note(tx, [refunded(posting)])
  return posting
}

/** The price of an order's service that ends unused: of all its service, or of a part (`dueAtEnd`). */
export type UnusedService = { readonly order: OrderId; readonly unused: Kopecks; readonly of: 'order' | 'part' }

/** What ending this service would refund now; the account is locked if it is ended. */
export async function quoteUnused(
  { ledger }: Pick<OrdersDeps, 'ledger'>,
  tx: Tx,
  { order: id, unused, of }: UnusedService,
): Promise<Kopecks> {
  const order = await store.findAnyOrder(tx, id)
  if (!order || order.chargeSeq === null) return zero
  return dueAtEnd(order.price, await ledger.refundedOf(tx, order.customer, order.chargeSeq), unused, of)
}

/**
 * Refunds unused service that the caller ends, in the caller's transaction, with the account locked. Earlier refunds of
 * the order are subtracted. Returns nothing if nothing is due. All products refund with this function.
 */
export async function giveBackUnused(
  deps: Pick<OrdersDeps, 'ledger' | 'events'>,
  tx: Tx,
  service: UnusedService,
  note: string,
): Promise<Posting | undefined> {
  const due = await quoteUnused(deps, tx, service)
  if (due === 0n) return undefined
  return giveBack(deps, tx, await loadCharged(tx, service.order), due, note, 'in parts')
}

/** Refunds an order once, whole or in part. What the order delivered stays. */
export const refund = (
  deps: OrdersDeps,
  id: OrderId,
  amount: Kopecks | 'all',
  note: string,
): Promise<{ order: Order; posting: Posting }> =>
  deps.db.transact(async (tx) => {
    const order = await loadCharged(tx, id)
    return { order, posting: await giveBack(deps, tx, order, amount, note, 'once') }
  })

async function loadCharged(tx: Tx, id: OrderId): Promise<Order & { readonly chargeSeq: number }> {
  const order = await store.findAnyOrder(tx, id)
  if (!order?.chargeSeq) throw noSuchOrder()
  return { ...order, chargeSeq: order.chargeSeq }
}

/** The answer to an operator's action: plain JSON, kept under the action's key. */
export type ActionAnswer = { readonly [name: string]: Plain }

/** How much is refunded when the operator ends what an order has bought: the unused part, or the whole price. */
export type RefundPart = 'unused' | 'whole'

/** How a product ends what one of its orders has bought and refunds it, in the caller's transaction. */
export type Ending = {
  readonly product: string
  endOrder(
    tx: Tx,
    order: Order,
    how: RefundPart,
    note: string,
  ): Promise<ActionAnswer & { readonly amount_rub: number; readonly balance_rub: number }>
}

export type Once = ReturnType<typeof createOnce>

/** True if the answer is that of an earlier action under the same key. */
export type Replayed = { readonly replayed?: boolean }

/** Runs an operator's action in one transaction; under a key, once. */
export function createOnce(deps: { readonly db: Database; readonly clock: Clock }) {
  return <Made extends ActionAnswer>(
    key: string | undefined,
    input: Plain,
    work: (tx: Tx) => Promise<Made>,
  ): Promise<Made & Replayed> => {
    /** A stored answer has the type of the action: its request is the same. */
    const isMade = (value: unknown): value is Made => typeof value === 'object' && value !== null
    return deps.db.transact(async (tx) => {
      if (key === undefined) return work(tx)
      const request = toCanonical(input)
      const kept = await store.takeKey(tx, key, request, deps.clock())
      if (kept && kept.request !== request) throw new Refusal('operator_key_reused')
      if (kept) {
        const answer: unknown = JSON.parse(kept.answer)
        if (!isMade(answer)) throw new TypeError('the stored answer of a key is no object')
        return { ...answer, replayed: true }
      }
      const made = await work(tx)
      store.writeAnswer(tx, key, JSON.stringify(made))
      return made
    })
  }
}

export type Refunds = ReturnType<typeof createRefunds>

/** Refunds by the operator: money alone, or together with ending what it paid for. */
export function createRefunds(
  deps: Pick<OrdersDeps, 'ledger' | 'events'> & { readonly once: Once; readonly endings: readonly Ending[] },
) {
  const { once } = deps
  return {
    /** Refunds an order, whole or in part; a second refund of the same order needs `again`. */
    refund: (of: {
      readonly order: OrderId
      readonly amount: Kopecks | 'all'
      readonly again: boolean
      readonly note: string
      readonly key: string | undefined
    }) => {
      const { order: id, again, note } = of
      const amount = of.amount === 'all' ? 'all' : String(of.amount)
      return once(of.key, { refund: id, amount, again, note }, async (tx) => {
        const order = await loadCharged(tx, id)
        const posting = await giveBack(deps, tx, order, of.amount, note, again ? 'in parts' : 'once')
        return {
          customer: order.customer,
          order_id: id,
          transaction: posting.seq,
          amount_rub: toRoubles(posting.amount),
          balance_rub: toRoubles(posting.balanceAfter),
        }
      })
    },

    /** Ends what an order has bought and refunds its unused part, or the whole price. */
    end: (of: {
      readonly order: OrderId
      readonly how: RefundPart
      readonly note: string
      readonly key: string | undefined
    }) => {
      const { order: id, how, note } = of
      return once(of.key, { end: id, how, note }, async (tx) => {
        const order = await store.findAnyOrder(tx, id)
        if (!order) throw noSuchOrder()
        const ending = deps.endings.find((each) => each.product === order.product)
        if (!ending) throw new Refusal('order_cannot_be_ended')
        return { customer: order.customer, order_id: id, ...(await ending.endOrder(tx, order, how, note)) }
      })
    },
  }
}
