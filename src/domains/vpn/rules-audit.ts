import type { Bytes } from '../../core/bytes.ts'
import { addMonths } from '../../core/calendar.ts'
import type { Order } from '../orders/rules.ts'
import { type Catalogue, priceVpn } from '../pricing/rules.ts'
import { limitOfTerms, refundOf, type Subscription, type Term, trafficFor, usedBy } from './rules.ts'

/** A term begins when it is paid for, give or take what a transaction may take. */
const paidWithinMs = 60_000

/** What is wrong between a subscription and the terms that paid for it: every month of it must have been charged. */
export function problemsOfTerms(subscription: Subscription, terms: readonly Term[]): string[] {
  const problems: string[] = []
  let ends = Number.NaN
  let anchorDay = 0
  for (const [index, term] of terms.entries()) {
    const continues = term.startsAt === ends
    if (term.seq !== index + 1) problems.push(`term ${term.seq} stands where ${index + 1} should`)
    if (!continues) {
      if (term.startsAt < ends) problems.push(`term ${term.seq} begins before the one before it ends`)
      anchorDay = new Date(term.startsAt).getUTCDate()
    }
    if (term.endsAt !== addMonths(term.startsAt, term.months, anchorDay)) {
      problems.push(`term ${term.seq} does not last ${term.months} months`)
    }
    const usedLater = terms[index + 1]?.usedBefore ?? usedBy(subscription)
    if (term.usedBefore > usedLater || (index === 0 && term.usedBefore !== 0n)) {
      problems.push(`term ${term.seq} says that more was used than was`)
    }
    ends = term.endsAt
    problems.push(...problemsOfRefund(subscription, term))
  }
  if (terms.length === 0) return ['no order has paid for it']
  if (ends !== subscription.expiresAt) problems.push('it does not end where its terms end')
  if (anchorDay !== subscription.anchorDay) problems.push('it ends on another day than its terms')
  if (limitOfTerms(terms) !== subscription.trafficLimit)
    problems.push('its traffic limit is not what its terms granted')
  return problems
}

function problemsOfRefund(subscription: Subscription, term: Term): string[] {
  if (term.refunded === 0n) return []
  if (subscription.deletedAt === null) return [`term ${term.seq} is refunded and the subscription is not deleted`]
  const most = refundOf(term, subscription.deletedAt, null)
  return term.refunded > most ? [`term ${term.seq} was refunded more than its unused part`] : []
}

/** What is wrong between a term and its order, priced again from the price list that the order names. */
export function problemsOfOrder(
  subscription: Subscription,
  term: Term,
  order: Order | undefined,
  catalogue: Catalogue | undefined,
): string[] {
  if (!order) return [`term ${term.seq} was paid by no order`]
  const problems: string[] = []
  if (order.customer !== subscription.customer) problems.push(`term ${term.seq} was paid by another customer's order`)
  if (order.action !== (term.seq === 1 ? 'buy' : 'renew')) problems.push(`term ${term.seq} was paid by another action`)
  const wish = order.wish as { period?: unknown; automatic?: unknown } | null
  // A renewal by itself lasts as long as its customer wants by then, which may be news since it was decided on.
  if (wish?.automatic !== true && wish?.period !== term.months) {
    problems.push(`term ${term.seq} does not last as long as was asked for`)
  }
  const told = order.calculation as { uuid?: unknown; months?: unknown } | null
  if (told?.uuid !== subscription.uuid || told.months !== term.months) {
    problems.push(`order ${order.id} was priced for something else than term ${term.seq}`)
  }
  if (order.product !== 'vpn') problems.push(`term ${term.seq} was paid by an order for something else`)
  if (order.price !== term.price) problems.push(`term ${term.seq} has another price than its order`)
  if (Math.abs(Math.min(0, term.startsAt - order.createdAt)) > paidWithinMs) {
    problems.push(`term ${term.seq} begins before it was paid for`)
  }
  const plan = catalogue?.vpn
  if (!catalogue || !plan?.months.has(term.months)) {
    problems.push(`order ${order.id} names no price list that sells ${term.months} months`)
    return problems
  }
  if (priceVpn(catalogue, term.months).total !== order.price)
    problems.push(`order ${order.id} has a price of no price list`)
  if (trafficFor(plan.trafficGigabytes, term.months) !== term.trafficGrant) {
    problems.push(`term ${term.seq} grants other traffic than its price list`)
  }
  return problems
}

/** The version of the price list that an order was priced with. */
export function catalogueVersionOf(order: Order | undefined): number | undefined {
  const { calculation } = order ?? {}
  if (typeof calculation !== 'object' || calculation === null || !('catalogue' in calculation)) return undefined
  return typeof calculation.catalogue === 'number' ? calculation.catalogue : undefined
}

/** What is wrong with a subscription's count of bytes, against its devices'. */
export function problemsOfTraffic(
  subscription: Subscription,
  peers: readonly { readonly received: Bytes; readonly sent: Bytes }[],
): string[] {
  let [received, sent] = [0n, 0n]
  for (const peer of peers) {
    received += peer.received
    sent += peer.sent
  }
  const isSame = received === subscription.received && sent === subscription.sent
  return isSame ? [] : ['it has carried other bytes than its devices']
}
