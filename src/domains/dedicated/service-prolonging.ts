import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, total } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Orders, PurchaseAnswer, PurchaseRequest, Receipt } from '../orders/index.ts'
import type { Plain } from '../orders/rules.ts'
import type { Pricing } from '../pricing/index.ts'
import { type Catalogue, priceProlonging, shareOut } from '../pricing/rules.ts'
import type { Stock } from '../stock/index.ts'
import { beingWithdrawn, notServed, notToRenew } from './errors.ts'
import { isToRenew, type Proxy, prolonged, statusAt } from './rules.ts'
import * as store from './store.ts'

/** One proxy of a prolonging: its share of the price, and until when it will run. */
type ProlongItem = { readonly proxy: Proxy; readonly price: Kopecks; readonly expiresAt: number }
export type ProlongPrice = {
  readonly items: readonly ProlongItem[]
  readonly total: Kopecks
  readonly calculation: Plain
}
export type Prolonged = { readonly receipt: Receipt; readonly period: number } & ProlongPrice

/** More time for proxies that a customer has, asked for or by itself. */
export function createProlonging(deps: {
  readonly orders: Pick<Orders, 'sell'>
  readonly pricing: Pick<Pricing, 'current'>
  readonly stock: Stock
  readonly clock: Clock
  /** The customer's proxies with these numbers, locked, or a refusal. */
  readonly lockAll: (tx: Tx, customer: CustomerId, ids: readonly number[]) => Promise<readonly Proxy[]>
}) {
  const { pricing, stock, clock } = deps

  /**
   * Time is sold by the rule that addresses are sold by. One that is being withdrawn or in quarantine is not sold; one
   * whose time was over is sold anew, so a gateway has to serve it. What runs and is not served is made good by itself.
   */
  async function assertForSale(reader: Reader, proxies: readonly Proxy[], live: readonly string[]): Promise<void> {
    const places = proxies.map((proxy) => proxy.place)
    const withdrawn = await stock.served.withdrawnAmong(reader, places)
    const leaving = proxies.filter((proxy) => withdrawn.has(proxy.place))
    if (leaving.length > 0) throw beingWithdrawn(leaving.map((proxy) => proxy.id))
    const over = proxies.filter((proxy) => statusAt(proxy, clock()) === 'expired')
    if (over.length === 0) return
    const carriers = await stock.served.carriersAmong(
      reader,
      over.map((proxy) => proxy.place),
    )
    const unserved = over.filter((proxy) => !live.includes(carriers.get(proxy.place) ?? ''))
    if (unserved.length > 0) throw notServed(unserved.map((proxy) => proxy.id))
  }

  return {
    async quote(reader: Reader, proxies: readonly Proxy[], period: number): Promise<ProlongPrice> {
      const price = priceItems(await pricing.current(), proxies, period, clock())
      await assertForSale(reader, proxies, await stock.ranges.live())
      return price
    },

    async prolong(
      request: PurchaseRequest<Prolonged>,
      ids: readonly number[],
      period: number,
      action: 'prolong' | 'renew' = 'prolong',
    ): Promise<PurchaseAnswer> {
      const [catalogue, live] = await Promise.all([pricing.current(), stock.ranges.live()])
      const input = { ids: ids.toSorted((a, b) => a - b), period }
      return deps.orders.sell(request, { product: 'dedicated', action, input }, async (sale) => {
        const { tx, nowMs } = sale
        const proxies = await deps.lockAll(tx, request.by.customer, ids)
        // Since this renewal was decided on, its customer may have stopped it, or prolonged the proxy by hand.
        const isWanted = (proxy: Proxy): boolean =>
          isToRenew(proxy, period, nowMs) && proxy.renewToken === (request.by.token?.id ?? null)
        if (action === 'renew' && !proxies.every(isWanted)) throw notToRenew()
        const price = priceItems(catalogue, proxies, period, nowMs)
        await assertForSale(tx, proxies, live)
        const receipt = await sale.charge({
          price: price.total,
          calculation: price.calculation,
          note: `${action === 'renew' ? 'renewed' : 'prolonged'} ${ids.length} by ${period} days`,
        })
        store.setProlonged(tx, price.items, nowMs)
        return { receipt, period, ...price }
      })
    },
  }
}

/** Proxies of one country and kind are a line; each line is priced as a whole and shared out among its proxies. */
export function priceItems(
  catalogue: Catalogue,
  proxies: readonly Proxy[],
  period: number,
  nowMs: number,
): ProlongPrice {
  const lines = new Map<string, Proxy[]>()
  for (const proxy of proxies) {
    const name = `${proxy.country} ${proxy.ipv}`
    lines.set(name, [...(lines.get(name) ?? []), proxy])
  }
  const items: ProlongItem[] = []
  const priced: Plain[] = []
  for (const line of lines.values()) {
    const first = line[0]
    if (!first) continue
    const wish = { country: first.country, ipv: first.ipv, period, count: line.length }
    const price = priceProlonging(catalogue, wish)
    const shares = shareOut(price.total, line.length)
    priced.push({ ...wish, kopecks: String(price.total) })
    for (const [index, proxy] of line.entries()) {
      items.push({ proxy, price: shares[index] ?? price.total, expiresAt: prolonged(proxy, period, nowMs) })
    }
  }
  items.sort((a, b) => a.proxy.id - b.proxy.id)
  return {
    items,
    total: total(items.map((item) => item.price)),
    calculation: {
      catalogue: catalogue.version,
      lines: priced,
      proxies: items.map((item) => [item.proxy.id, item.expiresAt]),
    },
  }
}
