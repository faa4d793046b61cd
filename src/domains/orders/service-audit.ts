import type { Database, Reader } from '../../db/transaction.ts'
import type { Audit, Finding, Verifier } from '../../kernel/finding.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { negate } from '../../kernel/money.ts'
import type { Customers } from '../customers/index.ts'
import type { Charges, LedgerAudit } from '../ledger/index.ts'
import type { Order } from './rules.ts'
import * as store from './store.ts'

const page = 500

/** Recomputes the promises about money: the ledger's own, and that charges and orders are one to one. */
export function createMoneyVerifier(deps: { db: Database; ledger: LedgerAudit; customers: Customers }): Verifier {
  return {
    name: 'money',
    verify: () =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        let orders = 0
        const caps = await deps.customers.caps(reader)
        const ledger = await deps.ledger.verify(reader, caps, async (customer, charges) => {
          const outcome = await compare(reader, customer, charges)
          orders += outcome.orders
          return outcome.findings
        })
        const findings = [...ledger.findings]
        const stored = await store.countOrders(reader)
        if (stored !== orders) {
          findings.push({ promise: 'order', where: 'orders', problem: `${stored} exist, customers have ${orders}` })
        }
        const { accounts, postings, checkpoints } = ledger
        return { findings, covered: { accounts, postings, orders, checkpoints } }
      }),
  }
}

/** A customer's orders against the charges: each has its one counterpart, of the same amount, token and order. */
async function compare(
  reader: Reader,
  customer: CustomerId,
  charges: Charges,
): Promise<{ findings: Finding[]; orders: number }> {
  const findings: Finding[] = []
  const unmatched = new Map(charges)
  let orders = 0
  for (let before = store.pastLastId; ; ) {
    const batch = await store.listOrders(reader, customer, before, page)
    for (const order of batch) {
      orders += 1
      const problem = problemOf(order, charges)
      if (problem) findings.push({ promise: 'order', where: `order ${order.id}`, problem })
      if (order.chargeSeq !== null) unmatched.delete(order.chargeSeq)
    }
    const last = batch.at(-1)
    if (!last || batch.length < page) break
    before = last.id
  }
  for (const charge of unmatched.values()) {
    findings.push({
      promise: 'order',
      where: `posting ${charge.seq} of ${customer}`,
      problem: 'it charges for no order',
    })
  }
  return { findings, orders }
}

function problemOf(order: Order, charges: Charges): string | undefined {
  if (order.chargeSeq === null) return order.price === 0n ? undefined : 'it has a price and no charge'
  const charge = charges.get(order.chargeSeq)
  if (!charge) return 'its charge is not there'
  if (charge.order !== order.id) return 'its charge is for another order'
  if (negate(charge.amount) !== order.price) return 'it was not charged its price'
  if (charge.token !== order.token) return 'it was charged through another token'
  return charge.house === `revenue:${order.product}` ? undefined : 'its charge is counted for another product'
}
