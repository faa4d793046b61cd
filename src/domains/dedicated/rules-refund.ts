import type { OrderId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'

/** Time that an order has paid for: how long, its price, and how many proxies share that. */
export type PaidTerm = {
  readonly order: OrderId
  readonly chargeSeq: number
  readonly lengthMs: number
  readonly price: Kopecks
  readonly shares: number
}

/** What of a charge is unused. */
export type Unused = { readonly order: OrderId; readonly chargeSeq: number; readonly amount: Kopecks }

/**
 * What is unused of a proxy's terms, newest first, while so much of its time is left: the newest term is the last to be
 * used. Each part is rounded down, so all of them never come to more than was paid. Time that was given for an outage
 * stands for time that was paid for and lost, and is worth the same.
 */
export function unusedOf(terms: readonly PaidTerm[], leftMs: number): Unused[] {
  const unused: Unused[] = []
  let rest = Math.max(0, leftMs)
  for (const term of terms) {
    const partMs = Math.min(rest, term.lengthMs)
    if (partMs === 0) break
    const amount = (term.price * BigInt(partMs)) / (BigInt(term.lengthMs) * BigInt(term.shares))
    unused.push({ order: term.order, chargeSeq: term.chargeSeq, amount: kopecks(amount) })
    rest -= partMs
  }
  return unused
}

/** What becomes due for a charge once all that is said of it is added up. */
export function sumByCharge(parts: readonly Unused[]): Unused[] {
  const sums = new Map<number, Unused>()
  for (const part of parts) {
    const before = sums.get(part.chargeSeq)
    sums.set(part.chargeSeq, { ...part, amount: kopecks(part.amount + (before?.amount ?? 0n)) })
  }
  return [...sums.values()].toSorted((a, b) => a.chargeSeq - b.chargeSeq)
}
