import { type Audit, attempt, type Finding, type Verifier } from '../../core/finding.ts'
import { type CustomerId, timeOfId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { negate } from '../../core/money.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Charges, LedgerAudit } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import { type Order, openAnswer } from './rules.ts'
import * as store from './store.ts'

const pageSize = 500

const found = (where: string, problem: string): Finding => ({ promise: 'order', where, problem })

/** Recomputes the promises about money: those of the ledger, and that charges and orders are one to one. */
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
        // A difference means orders without a charge; only then is each order looked at.
        if ((await store.countOrders(reader)) !== orders) findings.push(...(await nameStrays(reader, deps.ledger)))
        const { accounts, postings, checkpoints } = ledger
        return { findings, covered: { accounts, postings, orders, checkpoints, answers } }
      }),
  }
}

/** The tokens of a customer's charges must be the customer's. */
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
  const all = keysetPages(
    (after: { customer_id: string; key: string }, limit) => store.answersAfter(reader, after, limit),
    {
      start: { customer_id: '', key: '' },
      size: pageSize,
      keyOf: (row) => row,
    },
  )
  for await (const page of all) {
    for (const row of page) {
      const { customer_id: customer, order_id: order, key } = row
      await attempt(findings, { promise: 'answer', where: `answer of ${customer} to key ${key}` }, () => {
        openAnswer(vault, { ...row, customer, order, at: Number(row.created_at) })
      })
    }
    count += page.length
  }
  return count
}

/** Compares a customer's charges with the orders: each has one counterpart with the same amount and token. */
async function compare(
  reader: Reader,
  customer: CustomerId,
  charges: Charges,
): Promise<{ findings: Finding[]; orders: number }> {
  const findings: Finding[] = []
  const all = [...charges.values()]
  let orders = await countFree(reader, customer, findings)
  for (let at = 0; at < all.length; at += pageSize) {
    const batch = all.slice(at, at + pageSize)
    const ids = batch.flatMap((charge) => charge.order ?? [])
    const known = new Map((await store.findAudited(reader, [...new Set(ids)])).map((order) => [order.id, order]))
    for (const charge of batch) {
      const order = charge.order === null ? undefined : known.get(charge.order)
      if (order?.customer === customer && order.chargeSeq === charge.seq) {
        orders += 1
        const problem = problemOf(order, charge)
        if (problem) findings.push(found(`order ${order.id}`, problem))
      } else {
        findings.push(found(`posting ${charge.seq} of ${customer}`, 'it charges for no order'))
      }
    }
  }
  return { findings, orders }
}

/** Orders without a charge must have no price. */
async function countFree(reader: Reader, customer: CustomerId, findings: Finding[]): Promise<number> {
  let orders = 0
  const all = keysetPages((before: string, limit) => store.auditFree(reader, customer, before, limit), {
    start: store.pastLastId,
    size: pageSize,
    keyOf: (order) => order.id,
  })
  for await (const page of all) {
    for (const order of page) {
      const problem = problemOf(order, undefined)
      if (problem) findings.push(found(`order ${order.id}`, problem))
    }
    orders += page.length
  }
  return orders
}

/** Every order whose charge is missing or belongs to another order. */
async function nameStrays(reader: Reader, ledger: LedgerAudit): Promise<Finding[]> {
  const findings: Finding[] = []
  const all = keysetPages((after: string, limit) => store.auditPage(reader, after, limit, undefined), {
    start: '',
    size: pageSize,
    keyOf: (order) => order.id,
  })
  for await (const page of all) {
    for (const order of page) {
      const charge = order.chargeSeq === null ? undefined : await ledger.charge(reader, order.customer, order.chargeSeq)
      const problem = problemOf(order, charge)
      if (problem) findings.push(found(`order ${order.id}`, problem))
    }
  }
  return findings.length > 0 ? findings : [found('orders', 'some belong to no customer with an account')]
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

/** Checks of an order without its charge. */
function problemWithin(order: Order): string | undefined {
  if (order.input === null || order.calculation === null) return 'what it remembers cannot be read'
  return timeOfId(order.id) === order.createdAt ? undefined : 'it is not dated as its id is'
}
