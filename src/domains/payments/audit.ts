import {
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
import { timeOfId } from '../../core/ids.ts'
import type { Vault } from '../../core/vault.ts'
import { createWalkingVerifier, pageWalk, wholeWalk } from '../../db/audit-walks.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { LedgerAudit } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import { contextOf, readTermsText } from './providers.ts'
import { isStep, type Payment, type PaymentChange, type PaymentState } from './rules.ts'
import * as store from './store.ts'

const pageSize = 100

/** Checks that payments and their postings are one to one, and that every payment follows from its steps. */
export const createPaymentsVerifier = (deps: { db: Database; ledgerAudit: LedgerAudit; vault: Vault }): Verifier =>
  createWalkingVerifier(deps.db, 'payments', [
    pageWalk({
      name: 'payments',
      start: '',
      size: pageSize,
      read: store.paymentsAfter,
      keyOf: ({ id }: Payment): string => id,
      async check(reader, batch, findings) {
        if (batch.length > 0) await checkBatch(reader, batch, deps.ledgerAudit, findings)
        return { payments: batch.length }
      },
    }),
    wholeWalk('sums', (reader, findings) => checkSums(reader, deps, findings)),
  ])

/** Steps and postings beside the payments: each payment is compared with its own, and the database counts all. */
async function checkSums(
  reader: Reader,
  { ledgerAudit, vault }: { readonly ledgerAudit: LedgerAudit; readonly vault: Vault },
  findings: Finding[],
): Promise<void> {
  const { rows, counted, moved } = await store.countChanges(reader)
  if (rows !== counted) {
    const counts = { rows, counted, by: 'payments' } as const
    findings.push(found('payment', at('table', { table: 'payment_changes' }), 'rows_counted', counts))
  }
  const unnoted = await store.findWithoutStep(reader)
  if (unnoted)
    findings.push(found('payment', at('payment', { id: unnoted.payment }), 'refund_step', { step: unnoted.step }))
  const posted = await ledgerAudit.countByReference(reader)
  if (posted !== moved) {
    const counts = { postings: posted, steps: moved }
    findings.push(found('payment', at('table', { table: 'postings' }), 'payments_posted', counts))
  }
  await checkProviders(reader, vault, findings)
}

async function checkBatch(reader: Reader, batch: readonly Payment[], ledger: LedgerAudit, findings: Finding[]) {
  const ids = batch.map((each) => each.id)
  const changes = Map.groupBy(await store.changesOf(reader, ids), (each) => each.payment)
  const postings = Map.groupBy(await ledger.byReference(reader, ids), (each) => each.reference ?? '')
  for (const payment of batch) {
    const [own, money] = [changes.get(payment.id) ?? [], postings.get(payment.id) ?? []]
    const of = { promise: 'payment', where: at('payment', { id: payment.id }) } as const
    await attempt(findings, of, () => {
      const problems = [...problemsOfSteps(payment, own), ...problemsOfMoney(payment, own, money)]
      findings.push(...problems.map((each) => ({ ...of, ...each })))
    })
  }
}

/** Compares a payment with the sum of its steps. */
function* problemsOfSteps(payment: Payment, changes: readonly PaymentChange[]): Generator<FindingProblem> {
  let before: PaymentState | undefined
  let [credited, debited] = [0n, 0n]
  for (const [index, { number, kind, state, amount, total }] of changes.entries()) {
    if (number !== index + 1) yield problem('step_missing', { step: index + 1 })
    if (!isStep(before, kind, state)) yield problem('step_state', { step: number, from: before ?? null, to: state })
    if (kind === 'credited') credited += amount
    if (kind === 'debited') debited -= amount
    if (kind === 'debited' && total !== debited)
      yield problem('step_total', { step: number, stored: moneyText(total ?? 0n), expected: moneyText(debited) })
    before = state
  }
  if (changes.length !== payment.changes)
    yield problem('steps_counted', { stored: payment.changes, found: changes.length })
  if (before !== payment.state) yield problem('payment_state', { stored: payment.state, expected: before ?? null })
  for (const [column, sum] of [
    ['credited', credited],
    ['debited', debited],
  ] as const) {
    if (sum !== payment[column])
      yield problem('payment_sum', { column, stored: moneyText(payment[column]), expected: moneyText(sum) })
  }
  if (credited !== 0n && credited !== payment.amount)
    yield problem('payment_amount', { credited: moneyText(credited), amount: moneyText(payment.amount) })
  const madeAt = timeOfId(payment.id)
  if (madeAt !== payment.createdAt) yield idDate(payment.createdAt, madeAt)
}

/** Each step that moved money has its posting, and each posting its step. */
function* problemsOfMoney(
  payment: Payment,
  changes: readonly PaymentChange[],
  postings: readonly Posting[],
): Generator<FindingProblem> {
  const left = [...postings]
  for (const change of changes) {
    if (change.posting === null) continue
    const index = left.findIndex((each) => isMoneyOf(payment, change, each))
    if (index < 0) yield problem('step_without_posting', { step: change.number })
    else left.splice(index, 1)
  }
  for (const { seq, customer } of left) yield problem('posting_without_step', { posting: seq, customer })
}

/** A share is posted to the referrer's account, all other steps to the payment's own customer. */
function isMoneyOf(payment: Payment, { kind, posting: seq, amount }: PaymentChange, posting: Posting): boolean {
  const isShare = kind.startsWith('share')
  const house = isShare ? 'funds:referral' : kind.startsWith('bonus') ? 'funds:bonus' : `funds:${payment.provider}`
  const isOwn = posting.customer === payment.customer
  return posting.seq === seq && posting.amount === amount && posting.house === house && isOwn !== isShare
}

/** The settings of each provider can be read, and its secret opens. */
async function checkProviders(reader: Reader, vault: Vault, findings: Finding[]): Promise<void> {
  for (const row of await store.listProviders(reader)) {
    await attempt(findings, { promise: 'payment', where: at('provider', { name: row.name }) }, () => {
      readTermsText(row.settings)
      if (row.secret !== null) vault.open(row.secret, contextOf(row.name))
    })
  }
}
