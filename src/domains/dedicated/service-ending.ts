import type { Tx } from '../../db/transaction.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { type Kopecks, kopecks, subtract, toRoubles, zero } from '../../kernel/money.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Events } from '../events/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Ending, GivenBack, Orders } from '../orders/index.ts'
import type { Order } from '../orders/rules.ts'
import type { Stock } from '../stock/index.ts'
import { notBought, nothingToEnd } from './errors.ts'
import { eventOf, isHeld, type Proxy, restMs } from './rules.ts'
import { type PaidTerm, sumByCharge, type Unused, unusedOf } from './rules-refund.ts'
import { paidTermsOf } from './service-terms.ts'
import * as store from './store.ts'

export type EndingDeps = {
  readonly ledger: Pick<Ledger, 'lock' | 'refundedOf'>
  readonly orders: Pick<Orders, 'walkCharged' | 'giveBack' | 'find'>
  readonly stock: Pick<Stock, 'release'>
  readonly events: Pick<Events, 'note'>
  readonly clock: Clock
}

/** What ending came to: the proxies that are gone, and what their customer got back for them. */
export type Ended = {
  readonly ids: readonly number[]
  readonly refunded: Kopecks
  readonly balance: Kopecks
}

type How = { readonly give: GivenBack | 'nothing'; readonly order?: Order; readonly note: string }

/** Ends proxies before their time. Gone, money and events are one commit. */
export function createProxyEnding(deps: EndingDeps) {
  const { ledger, orders, clock } = deps

  /** What is unused of each proxy, by the charge that paid for it. */
  async function unusedOfAll(tx: Tx, customer: CustomerId, proxies: readonly Proxy[], nowMs: number) {
    const terms: ReadonlyMap<number, readonly PaidTerm[]> = await paidTermsOf(orders, tx, customer, proxies)
    return new Map(proxies.map((proxy) => [proxy.id, unusedOf(terms.get(proxy.id) ?? [], proxy.expiresAt - nowMs)]))
  }

  /** Gives back what is due, no more of a charge than is left of it. Tells how much, and what its customer has then. */
  async function giveBack(tx: Tx, customer: CustomerId, due: readonly (Unused & { price: Kopecks })[], note: string) {
    let refunded = zero
    let balance: Kopecks | undefined
    for (const { chargeSeq, amount, price } of due) {
      const left = subtract(price, await ledger.refundedOf(tx, customer, chargeSeq))
      const given = amount < left ? amount : left
      if (given <= 0n) continue
      const posting = await orders.giveBack(tx, { customer, chargeSeq }, given, note, 'in parts')
      refunded = kopecks(refunded + posting.amount)
      balance = posting.balanceAfter
    }
    return { refunded, balance }
  }

  async function withPrices(tx: Tx, parts: readonly Unused[]): Promise<(Unused & { price: Kopecks })[]> {
    const priced: (Unused & { price: Kopecks })[] = []
    for (const part of parts) priced.push({ ...part, price: (await orders.find(tx, part.order))?.price ?? zero })
    return priced
  }

  /** All of one customer's, whose account is locked before their rows are, as in every purchase. */
  async function endAll(tx: Tx, customer: CustomerId, ids: readonly number[], how: How): Promise<Ended> {
    const account = await ledger.lock(tx, customer)
    const nowMs = clock()
    const proxies = (await store.lockProxies(tx, customer, ids)).filter((proxy) => isHeld(proxy, nowMs))
    if (proxies.length === 0) throw nothingToEnd()
    const unused =
      how.give === 'nothing' ? new Map<number, Unused[]>() : await unusedOfAll(tx, customer, proxies, nowMs)
    const whole = how.give === 'whole' ? how.order : undefined
    const parts = sumByCharge([...unused.values()].flat()).filter((part) => part.chargeSeq !== whole?.chargeSeq)
    const due = await withPrices(tx, parts)
    if (whole?.chargeSeq) {
      due.push({ order: whole.id, chargeSeq: whole.chargeSeq, amount: whole.price, price: whole.price })
    }
    const { refunded, balance } = await giveBack(tx, customer, due, how.note)
    await deps.stock.release(
      tx,
      proxies.map((proxy) => ({ id: proxy.place, endedAt: nowMs, restUntil: nowMs + restMs })),
    )
    const gone = proxies.map((proxy) => proxy.id)
    store.setEnded(tx, gone, nowMs)
    await deps.events.note(
      tx,
      proxies.map((proxy) =>
        eventOf(proxy, 'proxy.ended', { ip: proxy.address, refunded: refunded > 0n, reason: how.note }),
      ),
    )
    return { ids: gone, refunded, balance: balance ?? account.balance }
  }

  const ending: Ending = {
    product: 'dedicated',
    async endOrder(tx, order, how, note) {
      if (order.action !== 'buy') throw notBought()
      const ids = await store.idsOfOrder(tx, order.customer, order.id)
      const ended = await endAll(tx, order.customer, ids, { give: how, order, note })
      return { proxies: ended.ids, amount_rub: toRoubles(ended.refunded), balance_rub: toRoubles(ended.balance) }
    },
  }

  return { endAll, ending }
}
