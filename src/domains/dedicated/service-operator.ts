import type { Address } from '../../core/address.ts'
import type { CustomerId, OrderId } from '../../core/ids.ts'
import { toRoubles } from '../../core/money.ts'
import { toIso } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Once, OperatorAnswer, RefundPart } from '../orders/index.ts'
import type { Order } from '../orders/rules.ts'
import type { HeldGoods } from '../pricing/index.ts'
import type { Stock, StockOperator } from '../stock/index.ts'
import type { Traffic } from '../traffic/index.ts'
import { hasExpired, nothingToEnd } from './errors.ts'
import type { Outages } from './outages/service.ts'
import { isHeld, type Proxy, statusAt, subjectOf } from './rules.ts'
import { createProxyEnding, type EndingDeps } from './service-ending.ts'
import { kindOf, swapAddress } from './service-swap.ts'
import * as store from './store.ts'
import { countActive, countHeld, countRenewals } from './store-count.ts'

export type ProxyOperator = ReturnType<typeof createProxyOperator>

/** A proxy as the operator sees it: everything but its password. */
export type ProxySight = {
  readonly proxy: Omit<Proxy, 'sealedPassword' | 'passwordDigest'>
  readonly status: 'active' | 'expired' | 'gone'
  /** The gateway that carries it, or did last. */
  readonly node: string | null
  readonly received: bigint
  readonly sent: bigint
  /** Every address that it has had, the oldest first. */
  readonly addresses: readonly {
    readonly address: string
    readonly startedAt: number
    readonly endedAt: number | null
  }[]
}

/** Somebody who held an address for a time. */
type Holder = {
  readonly proxy: number
  readonly customer: CustomerId
  readonly order: OrderId
  readonly username: string
  readonly startedAt: number
  readonly endedAt: number | null
}

/** An order of more than so many proxies is told by its first ones. */
const mostDelivered = 200

/** What an operator does with a customer's proxies. */
export function createProxyOperator(
  deps: EndingDeps & {
    readonly db: Database
    readonly stock: Stock
    readonly stockOperator: Pick<StockOperator, 'leasesOf' | 'holdersBetween'>
    readonly traffic: Pick<Traffic, 'counts'>
    readonly once: Once
    readonly outages: Pick<Outages, 'endBySwap' | 'rule'>
  },
) {
  const { db, clock, stock } = deps
  const { endAll, ending } = createProxyEnding(deps)

  async function load(id: number): Promise<Proxy> {
    const proxy = await store.findProxy(db, id)
    if (!proxy) throw nothingToEnd()
    return proxy
  }

  return {
    /** How `turnpike refund --end` ends what an order of proxies has bought. */
    ending,

    async show(id: number): Promise<ProxySight> {
      const { sealedPassword: _, passwordDigest: __, ...proxy } = await load(id)
      const count = (await deps.traffic.counts.totals(db, [subjectOf(id)])).get(subjectOf(id))
      return {
        proxy,
        status: isHeld(proxy, clock()) ? statusAt(proxy, clock()) : 'gone',
        node: (await stock.served.carrierNames([proxy.place])).get(proxy.place) ?? null,
        received: count?.received ?? 0n,
        sent: count?.sent ?? 0n,
        addresses: await deps.stockOperator.leasesOf(id),
      }
    },

    /** How many proxies run now, and how many of them cannot be used. */
    countActive: () => countActive(db, clock()),

    /** Who has proxies of each kind now, and which of them renew themselves. */
    async held(): Promise<HeldGoods[]> {
      const [kinds, renewals] = [await countHeld(db, clock()), await countRenewals(db, clock())]
      return kinds.map(({ country, ipv, proxies, customers }) => ({
        goods: { product: 'dedicated', country, ipv },
        customers,
        services: proxies,
        renewals: new Map(
          renewals
            .filter((each) => each.country === country && each.ipv === ipv)
            .map((each) => [each.period, each.proxies]),
        ),
      }))
    },

    /** Whose proxies left from an address between two moments, and which orders they were bought with. */
    async holdersOf(address: Address, from: number, to: number): Promise<Holder[]> {
      const leases = await deps.stockOperator.holdersBetween(address, from, to)
      const proxies = new Map(
        (
          await store.findMany(
            db,
            leases.map((each) => each.proxy),
          )
        ).map((each) => [each.id, each]),
      )
      return leases.flatMap((lease) => {
        const proxy = proxies.get(lease.proxy)
        return proxy ? [{ ...lease, customer: proxy.customer, order: proxy.order, username: proxy.username }] : []
      })
    },

    /** What an order has bought: its proxies as they are now. */
    async delivered(order: Order): Promise<OperatorAnswer[]> {
      const ids = (await store.idsOfOrder(db, order.customer, order.id)).slice(0, mostDelivered)
      const proxies = await store.findMany(db, ids)
      const counts = await deps.traffic.counts.totals(db, ids.map(subjectOf))
      return proxies.map((proxy) => ({
        proxy: proxy.id,
        address: proxy.address,
        status: isHeld(proxy, clock()) ? statusAt(proxy, clock()) : 'gone',
        started_at: toIso(proxy.startedAt),
        expires_at: toIso(proxy.expiresAt),
        rx_bytes: Number(counts.get(subjectOf(proxy.id))?.received ?? 0n),
        tx_bytes: Number(counts.get(subjectOf(proxy.id))?.sent ?? 0n),
      }))
    },

    /** Ends a proxy now. What its customer paid for time that it had ahead is given back, unless that is not wanted. */
    async end(
      id: number,
      wish: {
        readonly give: Extract<RefundPart, 'unused'> | 'nothing'
        readonly note: string
        readonly key?: string | undefined
      },
    ) {
      const { customer } = await load(id)
      const { give, note } = wish
      return deps.once(wish.key, { end_proxy: id, give, note }, async (tx) => {
        const ended = await endAll(tx, customer, [id], { give, note })
        return { customer, proxy: id, amount_rub: toRoubles(ended.refunded), balance_rub: toRoubles(ended.balance) }
      })
    },

    /** Swaps its address for another of its kind. It does not count against what its customer may swap himself. */
    async replace(id: number, wish: { readonly note: string; readonly key?: string | undefined }) {
      const unlocked = await load(id)
      const [ready, rule] = await Promise.all([stock.prepare(kindOf(unlocked), 1), deps.outages.rule()])
      return deps.once(wish.key, { replace_proxy: id, note: wish.note }, async (tx) => {
        await deps.ledger.lock(tx, unlocked.customer)
        const [proxy] = await store.lockProxies(tx, unlocked.customer, [id])
        const nowMs = clock()
        if (!proxy || !isHeld(proxy, nowMs)) throw nothingToEnd()
        if (statusAt(proxy, nowMs) === 'expired') throw hasExpired()
        const cause = { by: 'operator', reason: wish.note } as const
        const usable = await deps.outages.endBySwap(tx, proxy, rule)
        const { place } = await swapAddress(deps, tx, usable, { ready, cause, nowMs })
        return { customer: proxy.customer, proxy: id, from: proxy.address, to: place.address, at: toIso(nowMs) }
      })
    },
  }
}
