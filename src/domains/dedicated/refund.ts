import { addDays } from '../../core/calendar.ts'
import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Order } from '../orders/rules.ts'
import { type DedicatedDeps, product } from './proxies.ts'
import {
  type PaidTerm,
  type Proxy,
  readBuyCalculation,
  readProlongCalculation,
  type Unused,
  unusedOf,
} from './rules.ts'

/** The terms paid for each proxy, newest first. The account is locked, so that no charge is added meanwhile. */
export async function paidTermsOf(
  { orders }: DedicatedDeps,
  tx: Tx,
  customer: CustomerId,
  proxies: readonly Proxy[],
): Promise<Map<number, PaidTerm[]>> {
  const terms = new Map<number, PaidTerm[]>(proxies.map((proxy) => [proxy.id, []]))
  const sinceAt = Math.min(...proxies.map((proxy) => proxy.startedAt))
  for (const order of await orders.chargedSince(tx, customer, sinceAt)) {
    if (order.product !== product || order.chargeSeq === null) continue
    const { id, chargeSeq } = order
    const paid = order.action === 'buy' ? paidByPurchase(order, proxies) : paidByProlonging(order, proxies)
    for (const { proxy, days, price, shares } of paid)
      terms.get(proxy)?.push({ order: id, chargeSeq, lengthMs: addDays(0, days), price, shares })
  }
  return terms
}

type Paid = { readonly proxy: number; readonly days: number; readonly price: Kopecks; readonly shares: number }

function paidByPurchase(order: Order, proxies: readonly Proxy[]): Paid[] {
  const bought = proxies.filter((proxy) => proxy.order === order.id)
  if (bought.length === 0) return []
  const { period: days, count: shares } = readable(order, readBuyCalculation(order.calculation))
  return bought.map((proxy) => ({ proxy: proxy.id, days, price: order.price, shares }))
}

function paidByProlonging(order: Order, proxies: readonly Proxy[]): Paid[] {
  const calculation = readable(order, readProlongCalculation(order.calculation))
  return calculation.proxies.flatMap(([id]) => {
    const proxy = proxies.find((each) => each.id === id)
    const line = calculation.lines.find((each) => each.country === proxy?.country && each.ipv === proxy.ipv)
    if (!line) return []
    return [{ proxy: id, days: line.period, price: kopecks(BigInt(line.kopecks)), shares: line.count }]
  })
}

/** A refund is never computed from a calculation that cannot be read. */
function readable<Calculation>(order: Order, calculation: Calculation | undefined): Calculation {
  if (calculation === undefined) throw new Error(`the calculation of order ${order.id} cannot be read`)
  return calculation
}

/** The unused part of each proxy's charges, given the time that it has left. The account is locked. */
export async function findUnused(
  deps: DedicatedDeps,
  tx: Tx,
  customer: CustomerId,
  proxies: readonly Proxy[],
  leftMs: (proxy: Proxy) => number,
): Promise<Map<number, Unused[]>> {
  const terms = await paidTermsOf(deps, tx, customer, proxies)
  return new Map(proxies.map((proxy) => [proxy.id, unusedOf(terms.get(proxy.id) ?? [], leftMs(proxy))]))
}

/** Refunds unused parts, less earlier refunds of their orders. Returns what was refunded, and the balance after it. */
export async function giveBack(
  { orders }: DedicatedDeps,
  tx: Tx,
  due: readonly Unused[],
  note: string,
): Promise<{ refunded: Unused[]; balance: Kopecks | undefined }> {
  const refunded: Unused[] = []
  let balance: Kopecks | undefined
  for (const { order, chargeSeq, amount } of due) {
    const posting = await orders.giveBackUnused(tx, { order, unused: amount, of: 'part' }, note)
    if (!posting) continue
    refunded.push({ order, chargeSeq, amount: posting.amount })
    balance = posting.balanceAfter
  }
  return { refunded, balance }
}
