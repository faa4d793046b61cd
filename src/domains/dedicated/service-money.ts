import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, kopecks, subtract, zero } from '../../core/money.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Orders } from '../orders/index.ts'
import type { Proxy } from './rules.ts'
import { type PaidTerm, type Unused, unusedOf } from './rules-refund.ts'
import { paidTermsOf } from './service-terms.ts'

export type MoneyDeps = {
  readonly ledger: Pick<Ledger, 'lock' | 'refundedOf'>
  readonly orders: Pick<Orders, 'chargedSince' | 'giveBack' | 'find'>
}

/** What a customer gets back for proxies, in a transaction that has locked his account. */
export function createProxyMoney({ ledger, orders }: MoneyDeps) {
  return {
    /** What is unused of each proxy while so much of its time is left, by the charge that paid for it. */
    async unusedOf(
      tx: Tx,
      customer: CustomerId,
      proxies: readonly Proxy[],
      leftMs: (proxy: Proxy) => number,
    ): Promise<Map<number, Unused[]>> {
      const terms: ReadonlyMap<number, readonly PaidTerm[]> = await paidTermsOf(orders, tx, customer, proxies)
      return new Map(proxies.map((proxy) => [proxy.id, unusedOf(terms.get(proxy.id) ?? [], leftMs(proxy))]))
    },

    /** Gives back what is due, no more of a charge than is left of it. Tells how much, and the balance after. */
    async giveBack(
      tx: Tx,
      customer: CustomerId,
      due: readonly Unused[],
      note: string,
    ): Promise<{ refunded: Kopecks; balance: Kopecks | undefined }> {
      let refunded = zero
      let balance: Kopecks | undefined
      for (const { order, chargeSeq, amount } of due) {
        const price = (await orders.find(tx, order))?.price ?? zero
        const left = subtract(price, await ledger.refundedOf(tx, customer, chargeSeq))
        const given = amount < left ? amount : left
        if (given <= 0n) continue
        const posting = await orders.giveBack(tx, { customer, chargeSeq }, given, note, 'in parts')
        refunded = kopecks(refunded + posting.amount)
        balance = posting.balanceAfter
      }
      return { refunded, balance }
    },
  }
}
