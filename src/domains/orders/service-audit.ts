import type { Database, Reader } from '../../db/transaction.ts'
import type { Audit, Finding, Verifier } from '../../kernel/finding.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { negate } from '../../kernel/money.ts'
import type { Customers } from '../customers/index.ts'
import type { Charges, LedgerAudit } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
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
        // Orders that no charge leads to show as a difference; only then is each looked at for its name.
        if ((await store.countOrders(reader)) !== orders) findings.push(...(await nameStrays(reader, deps.ledger)))
        const { accounts, postings, checkpoints } = ledger
        return { findings, covered: { accounts, postings, orders, checkpoints } }
      }),
  }
}

/** A customer's charges against the orders: each has its one counterpart, of the same amount, token and order. */
async function compare(
  reader: Reader,
  customer: CustomerId,
  charges: Charges,
): Promise<{ findings: Finding[]; orders: number }> {
  const findings: Finding[] = []
  const all = [...charges.values()]
  let orders = await countFree(reader, customer, findings)
  for (let at = 0; at < all.length; at += page) {
    const batch = all.slice(at, at + page)
    const ids = batch.flatMap((charge) => charge.order ?? [])
    const found = new Map((await store.findMany(reader, [...new Set(ids)])).map((order) => [order.id, order]))
    for (const charge of batch) {
      const order = charge.order === null ? undefined : found.get(charge.order)
      if (order?.customer === customer && order.chargeSeq === charge.seq) {
        orders += 1
        const problem = problemOf(order, charge)
        if (problem) findings.push({ promise: 'order', where: `order ${order.id}`, problem })
      } else {
        const where = `posting ${charge.seq} of ${customer}`
        findings.push({ promise: 'order', where, problem: 'it charges for no order' })
      }
    }
  }
  return { findings, orders }
}

/** Orders without a charge, which must be without a price. */
async function countFree(reader: Reader, customer: CustomerId, findings: Finding[]): Promise<number> {
  let orders = 0
  for (let before = store.pastLastId; ; ) {
    const batch = await store.listFree(reader, customer, before, page)
    for (const order of batch) {
      const problem = problemOf(order, undefined)
      if (problem) findings.push({ promise: 'order', where: `order ${order.id}`, problem })
    }
    orders += batch.length
    const last = batch.at(-1)
    if (!last || batch.length < page) return orders
    before = last.id
  }
}

/** Every order whose charge is not there, or is somebody else's. */
async function nameStrays(reader: Reader, ledger: LedgerAudit): Promise<Finding[]> {
  const findings: Finding[] = []
  for (let after = ''; ; ) {
    const batch = await store.allOrdersAfter(reader, after, page)
    for (const order of batch) {
      const charge = order.chargeSeq === null ? undefined : await ledger.charge(reader, order.customer, order.chargeSeq)
      const problem = problemOf(order, charge)
      if (problem) findings.push({ promise: 'order', where: `order ${order.id}`, problem })
    }
    const last = batch.at(-1)
    if (last && batch.length === page) after = last.id
    else break
  }
  const where = 'orders'
  return findings.length > 0
    ? findings
    : [{ promise: 'order', where, problem: 'some belong to nobody who has an account' }]
}

function problemOf(order: Order, charge: Posting | undefined): string | undefined {
  if (order.chargeSeq === null) return order.price === 0n ? undefined : 'it has a price and no charge'
  if (!charge) return 'its charge is not there'
  if (charge.order !== order.id) return 'its charge is for another order'
  if (negate(charge.amount) !== order.price) return 'it was not charged its price'
  if (charge.token !== order.token) return 'it was charged through another token'
  return charge.house === `revenue:${order.product}` ? undefined : 'its charge is counted for another product'
}
