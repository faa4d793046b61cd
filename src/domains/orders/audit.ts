import {
  type Audit,
  at,
  attempt,
  type Finding,
  type FindingProblem,
  found,
  idDate,
  moneyText,
  problem,
  type Verifier,
} from '../../core/finding.ts'
import { type CustomerId, timeOfId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { negate } from '../../core/money.ts'
import type { Vault } from '../../core/vault.ts'
import { createWalkingVerifier, pageWalk, type TableWalk, wholeWalk } from '../../db/audit-walks.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Charges, LedgerAudit, LedgerWalks } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import { type Order, openAnswer } from './rules.ts'
import * as store from './store.ts'

const pageSize = 500

/** The finding of an order, or none. */
function findingOf(order: Order, charge: Posting | undefined): Finding[] {
  const wrong = problemOf(order, charge)
  return wrong ? [{ promise: 'order', where: at('order', { id: order.id }), ...wrong }] : []
}

/** Recomputes the promises about money: those of the ledger, and that charges and orders are one to one. */
export function createMoneyVerifier(deps: {
  db: Database
  ledger: LedgerAudit
  ledgerWalks: LedgerWalks
  customers: Customers
  vault: Vault
}): Verifier {
  const beside = {
    onCharges: async (reader: Reader, customer: CustomerId, charges: Charges) => [
      ...(await compareCharges(reader, customer, charges)).findings,
      ...(await checkTokens(reader, deps.customers, customer, charges)),
    ],
    async onAccount(reader: Reader, customer: CustomerId) {
      const findings: Finding[] = []
      await countFree(reader, customer, findings)
      return findings
    },
  }
  const walks = [...deps.ledgerWalks.walks(beside, deps.customers.caps), ...orderWalks(deps)]
  return {
    name: 'money',
    walks: createWalkingVerifier(deps.db, 'money', walks).walks ?? [],
    checkSince: (sinceAt) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const { findings, postings } = await deps.ledgerWalks.checkSince(beside, reader, sinceAt)
        return { findings, covered: { 'new postings': postings } }
      }),
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
        findings.push(...compareCounts(await deps.customers.count(reader), ledger.accounts))
        const answers = await checkAnswers(reader, deps.vault, findings)
        // A difference means orders without a charge; only then is each order looked at.
        if ((await store.countOrders(reader)) !== orders) findings.push(...(await nameStrays(reader, deps.ledger)))
        const { accounts, postings, checkpoints } = ledger
        return { findings, covered: { accounts, postings, orders, checkpoints, answers } }
      }),
  }
}

/** Orders and answers by themselves, and that every customer has an account, some rows at a time. */
const orderWalks = (deps: {
  readonly ledger: LedgerAudit
  readonly customers: Customers
  readonly vault: Vault
}): readonly TableWalk[] => [
  pageWalk({
    name: 'orders',
    start: '',
    size: pageSize,
    read: (reader, after: string, limit) => store.auditPage(reader, after, limit),
    keyOf: (order): string => order.id,
    async check(reader, page, findings) {
      for (const order of page) findings.push(...(await checkOrder(reader, deps.ledger, order)))
      return { orders: page.length }
    },
  }),
  pageWalk({
    name: 'answers',
    start: { customer_id: '', key: '' },
    size: pageSize,
    read: store.answersAfter,
    keyOf: (row) => row,
    async check(_, page, findings) {
      for (const row of page) await checkAnswer(deps.vault, row, findings)
      return { answers: page.length }
    },
  }),
  wholeWalk('customers', async (reader, findings) => {
    findings.push(...compareCounts(await deps.customers.count(reader), await deps.ledger.countAccounts(reader)))
  }),
]

const compareCounts = (customers: number, accounts: number): Finding[] =>
  customers === accounts
    ? []
    : [found('balance', at('table', { table: 'customers' }), 'accounts_counted', { customers, accounts })]

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
    .map((token) => found('token', at('token', { id: token }), 'token_owner', { customer }))
}

/** Every stored answer opens in the row it was stored in. */
async function checkAnswers(reader: Reader, vault: Vault, findings: Finding[]): Promise<number> {
  let count = 0
  const read = (after: { customer_id: string; key: string }, limit: number) => store.answersAfter(reader, after, limit)
  const from = {
    start: { customer_id: '', key: '' },
    size: pageSize,
    keyOf: (row: { customer_id: string; key: string }) => row,
  }
  for await (const page of keysetPages(read, from)) {
    for (const row of page) await checkAnswer(vault, row, findings)
    count += page.length
  }
  return count
}

async function checkAnswer(
  vault: Vault,
  row: Awaited<ReturnType<typeof store.answersAfter>>[number],
  findings: Finding[],
): Promise<void> {
  const { customer_id: customer, order_id: order, key } = row
  await attempt(findings, { promise: 'answer', where: at('answer', { customer, key }) }, () => {
    openAnswer(vault, { ...row, customer, order, at: Number(row.created_at) })
  })
}

/** Compares a customer's charges with the orders: each has one counterpart with the same amount and token. */
async function compare(
  reader: Reader,
  customer: CustomerId,
  charges: Charges,
): Promise<{ findings: Finding[]; orders: number }> {
  const free: Finding[] = []
  const orders = await countFree(reader, customer, free)
  const charged = await compareCharges(reader, customer, charges)
  return { findings: [...free, ...charged.findings], orders: orders + charged.orders }
}

async function compareCharges(
  reader: Reader,
  customer: CustomerId,
  charges: Charges,
): Promise<{ findings: Finding[]; orders: number }> {
  const findings: Finding[] = []
  const all = [...charges.values()]
  let orders = 0
  for (let from = 0; from < all.length; from += pageSize) {
    const batch = all.slice(from, from + pageSize)
    const ids = batch.flatMap((charge) => charge.order ?? [])
    const known = new Map((await store.findAudited(reader, [...new Set(ids)])).map((order) => [order.id, order]))
    for (const charge of batch) {
      const order = charge.order === null ? undefined : known.get(charge.order)
      if (order?.customer === customer && order.chargeSeq === charge.seq) {
        orders += 1
        findings.push(...findingOf(order, charge))
      } else {
        const where = at('posting', { seq: charge.seq, customer })
        findings.push(found('order', where, 'charge_without_order', { order: charge.order }))
      }
    }
  }
  return { findings, orders }
}

/** Orders without a charge must have no price. */
async function countFree(reader: Reader, customer: CustomerId, findings: Finding[]): Promise<number> {
  let orders = 0
  const read = (before: string, limit: number) => store.auditFree(reader, customer, before, limit)
  for await (const page of keysetPages(read, {
    start: store.pastLastId,
    size: pageSize,
    keyOf: ({ id }): string => id,
  })) {
    findings.push(...page.flatMap((order) => findingOf(order, undefined)))
    orders += page.length
  }
  return orders
}

/** Every order whose charge is missing or belongs to another order. */
async function nameStrays(reader: Reader, ledger: LedgerAudit): Promise<Finding[]> {
  const findings: Finding[] = []
  const read = (after: string, limit: number) => store.auditPage(reader, after, limit)
  for await (const page of keysetPages(read, { start: '', size: pageSize, keyOf: (order) => order.id })) {
    for (const order of page) findings.push(...(await checkOrder(reader, ledger, order)))
  }
  return findings.length > 0 ? findings : [found('order', at('table', { table: 'orders' }), 'orders_without_account')]
}

async function checkOrder(reader: Reader, ledger: LedgerAudit, order: Order): Promise<Finding[]> {
  const charge = order.chargeSeq === null ? undefined : await ledger.charge(reader, order.customer, order.chargeSeq)
  return findingOf(order, charge)
}

function problemOf(order: Order, charge: Posting | undefined): FindingProblem | undefined {
  const price = moneyText(order.price)
  if (order.chargeSeq === null) return order.price === 0n ? problemWithin(order) : problem('order_uncharged', { price })
  if (!charge) return problem('order_charge_missing', { charge: order.chargeSeq })
  if (charge.order !== order.id) return problem('order_charge_other', { charge: charge.seq, order: charge.order })
  const charged = negate(charge.amount)
  if (charged !== order.price) return problem('order_amount', { charged: moneyText(charged), price })
  if (charge.token !== order.token) return problem('order_token', { charge: charge.seq })
  const expected = `revenue:${order.product}`
  if (charge.house !== expected) return problem('order_house', { stored: charge.house, expected })
  return problemWithin(order)
}

/** Checks of an order without its charge. */
function problemWithin(order: Order): FindingProblem | undefined {
  if (order.input === null || order.calculation === null) return problem('order_unreadable')
  const madeAt = timeOfId(order.id)
  return madeAt === order.createdAt ? undefined : idDate(order.createdAt, madeAt)
}
