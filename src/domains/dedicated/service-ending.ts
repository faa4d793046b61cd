import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Events } from '../events/index.ts'
import type { Ports } from '../fleet/index.ts'
import type { Ending, RefundPart } from '../orders/index.ts'
import type { Order } from '../orders/rules.ts'
import type { Stock } from '../stock/index.ts'
import { allEnded, notBought, nothingToEnd } from './errors.ts'
import { closeOutage } from './outages/service.ts'
import { eventOf, isHeld, leftAt, restMs } from './rules.ts'
import { sumByCharge, type Unused } from './rules-refund.ts'
import { closeEntrances } from './service-access.ts'
import { createProxyMoney, type MoneyDeps } from './service-money.ts'
import * as store from './store.ts'

export type EndingDeps = MoneyDeps & {
  readonly stock: Pick<Stock, 'release'>
  readonly ports: Ports
  readonly events: Pick<Events, 'note'>
  readonly clock: Clock
}

/** What ending came to: the proxies that are gone, and what their customer got back for them. */
type Ended = { readonly ids: readonly number[]; readonly refunded: Kopecks; readonly balance: Kopecks }

type How = { readonly give: RefundPart | 'nothing'; readonly order?: Order; readonly note: string }

/** Ends proxies before their time. Gone, money and events are one commit. */
export function createProxyEnding(deps: EndingDeps) {
  const { clock } = deps
  const money = createProxyMoney(deps)

  /** All of one customer's, whose account is locked before their rows are, as in every purchase. */
  async function endAll(tx: Tx, customer: CustomerId, ids: readonly number[], how: How): Promise<Ended> {
    const account = await deps.ledger.lock(tx, customer)
    const nowMs = clock()
    const proxies = (await store.lockProxies(tx, customer, ids)).filter((proxy) => isHeld(proxy, nowMs))
    if (proxies.length === 0) throw how.order ? allEnded() : nothingToEnd()
    const unused =
      how.give === 'nothing'
        ? new Map<number, Unused[]>()
        : await money.unusedOf(tx, customer, proxies, (proxy) => leftAt(proxy, nowMs))
    const whole = how.give === 'whole' ? how.order : undefined
    const due = sumByCharge([...unused.values()].flat()).filter((part) => part.chargeSeq !== whole?.chargeSeq)
    if (whole?.chargeSeq) due.push({ order: whole.id, chargeSeq: whole.chargeSeq, amount: whole.price })
    const { refunded, balance } = await money.giveBack(tx, customer, due, how.note)
    for (const proxy of proxies) if (proxy.interruptedAt !== null) closeOutage(tx, proxy, nowMs, 'nothing')
    await deps.stock.release(
      tx,
      proxies.map((proxy) => ({ id: proxy.place, endedAt: nowMs, restUntil: nowMs + restMs })),
    )
    closeEntrances(tx, deps.ports, proxies, nowMs)
    const gone = proxies.map((proxy) => proxy.id)
    store.setEnded(tx, gone, nowMs)
    const data = { refunded: refunded > 0n, reason: how.note }
    await deps.events.note(
      tx,
      proxies.map((proxy) => eventOf(proxy, 'proxy.ended', { ip: proxy.address, ...data })),
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
