import { addDays } from '../../core/calendar.ts'
import type { CustomerId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Orders } from '../orders/index.ts'
import type { Order } from '../orders/rules.ts'
import type { Proxy } from './rules.ts'
import type { PaidTerm } from './rules-refund.ts'

type BuyNote = { readonly period: number; readonly count: number }
type ProlongNote = {
  readonly lines: readonly {
    readonly country: string
    readonly ipv: number
    readonly period: number
    readonly count: number
    readonly kopecks: string
  }[]
  readonly proxies: readonly (readonly [id: number, expiresAt: number])[]
}

/**
 * The terms that were paid for each of a customer's proxies, newest first. His charges are read back to when the oldest
 * of them was bought, with his account locked, so that none is added meanwhile.
 */
export async function paidTermsOf(
  orders: Pick<Orders, 'chargedSince'>,
  tx: Tx,
  customer: CustomerId,
  proxies: readonly Proxy[],
): Promise<Map<number, PaidTerm[]>> {
  const terms = new Map<number, PaidTerm[]>(proxies.map((proxy) => [proxy.id, []]))
  const byId = new Map(proxies.map((proxy) => [proxy.id, proxy]))
  const sinceAt = Math.min(...proxies.map((proxy) => proxy.startedAt))
  for (const order of await orders.chargedSince(tx, customer, sinceAt)) {
    if (order.product !== 'dedicated') continue
    const named =
      order.action === 'buy'
        ? proxies.filter((proxy) => proxy.order === order.id)
        : (order.calculation as unknown as ProlongNote).proxies.flatMap(([id]) => byId.get(id) ?? [])
    for (const proxy of named) {
      const term = order.action === 'buy' ? termBought(order) : termProlonged(order, proxy)
      if (term) terms.get(proxy.id)?.push(term)
    }
  }
  return terms
}

const lengthOf = (days: number): number => addDays(0, days)

function termBought(order: Order): PaidTerm | undefined {
  if (order.chargeSeq === null) return undefined
  const note = order.calculation as unknown as BuyNote
  return {
    order: order.id,
    chargeSeq: order.chargeSeq,
    lengthMs: lengthOf(note.period),
    price: order.price,
    shares: note.count,
  }
}

function termProlonged(order: Order, proxy: Proxy): PaidTerm | undefined {
  const note = order.calculation as unknown as ProlongNote
  const line = note.lines.find((each) => each.country === proxy.country && each.ipv === proxy.ipv)
  if (order.chargeSeq === null || !line) return undefined
  return {
    order: order.id,
    chargeSeq: order.chargeSeq,
    lengthMs: lengthOf(line.period),
    price: kopecks(BigInt(line.kopecks)),
    shares: line.count,
  }
}
