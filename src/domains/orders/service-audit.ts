import { type Audit, attempt, type Finding, type Verifier } from '../../core/finding.ts'
import { type CustomerId, timeOfId } from '../../core/ids.ts'
import { negate } from '../../core/money.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Charges, LedgerAudit } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import { type Order, openAnswer } from './rules.ts'
import * as store from './store.ts'
import * as audits from './store-audit.ts'

const page = 500

/** Recomputes the promises about money: the ledger's own, and that charges and orders are one to one. */
export function createMoneyVerifier(deps: {
  db: Database
  ledger: LedgerAudit
  customers: Customers
  vault: Vault
}): Verifier {
  return {
    name: 'money',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        let orders = 0
        const caps = await deps.customers.caps(reader)
        const onCustomer = async (customer: CustomerId, charges: Charges): Promise<Finding[]> => {
          const outcome = await compare(reader, customer, charges)
          orders += outcome.orders
          return [...outcome.findings, ...(await checkTokens(reader, deps.customers, customer, charges))]
        }
        const ledger = await deps.ledger.verify(reader, caps, onCustomer, onProgress)
        const findings = [...ledger.findings]
        const customers = await deps.customers.count(reader)
        if (customers !== ledger.accounts) {
          const problem = `there are ${customers} customers and ${ledger.accounts} accounts`
          findings.push({ promise: 'balance', where: 'customers', problem })
        }
        const answers = await checkAnswers(reader, deps.vault, findings)
        // Orders that no charge leads to show as a difference; only then is each looked at for its name.
        if ((await store.countOrders(reader)) !== orders) findings.push(...(await nameStrays(reader, deps.ledger)))
        const { accounts, postings, checkpoints } = ledger
        return { findings, covered: { accounts, postings, orders, checkpoints, answers } }
      }),
  }
}

/** Whoever was charged through a token is the one who has it. */
async function checkTokens(
  reader: Reader,
  customers: Customers,
  customer: CustomerId,
  charges: Charges,
): Promise<Finding[]> {
  const used = [...new Set([...charges.values()].flatMap((charge) => charge.token ?? []))]
  const owners = await customers.ownersOf(reader, used)
  return used
    .filter((token) => owners.get(token) !== customer)
    .map((token) => ({ promise: 'token', where: `token ${token}`, problem: `${customer} paid with it and has it not` }))
}

/** Every stored answer opens in the row it was stored in. */
async function checkAnswers(reader: Reader, vault: Vault, findings: Finding[]): Promise<number> {
  let count = 0
  for (let after = { customer: '', key: '' }; ; ) {
    const batch = await audits.answersAfter(reader, after, page)
    for (const row of batch) {
      const where = `answer of ${row.customer_id} to key ${row.key}`
      await attempt(findings, { promise: 'answer', where }, () => {
        openAnswer(vault, { ...row, customer: row.customer_id, order: row.order_id, at: Number(row.created_at) })
      })
    }
    count += batch.length
    const last = batch.at(-1)
    if (!last || batch.length < page) return count
    after = { customer: last.customer_id, key: last.key }
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
    const found = new Map((await audits.findAudited(reader, [...new Set(ids)])).map((order) => [order.id, order]))
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
    const batch = await audits.freeBefore(reader, customer, before, page)
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
    const batch = await audits.allOrdersAfter(reader, after, page)
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
  if (order.chargeSeq === null) return order.price === 0n ? problemWithin(order) : 'it has a price and no charge'
  if (!charge) return 'its charge is not there'
  if (charge.order !== order.id) return 'its charge is for another order'
  if (negate(charge.amount) !== order.price) return 'it was not charged its price'
  if (charge.token !== order.token) return 'it was charged through another token'
  return charge.house === `revenue:${order.product}`
    ? problemWithin(order)
    : 'its charge is counted for another product'
}

/** What is wrong with an order by itself. */
function problemWithin(order: Order): string | undefined {
  if (order.wish === null || order.calculation === null) return 'what it remembers cannot be read'
  return timeOfId(order.id) === order.createdAt ? undefined : 'it is not dated as its id is'
}
