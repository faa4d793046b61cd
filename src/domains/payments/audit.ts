import { type Audit, attempt, type Finding, type Verifier } from '../../core/finding.ts'
import { timeOfId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { LedgerAudit } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import { contextOf, readTermsText } from './providers.ts'
import { isStep, type Payment, type PaymentChange, type PaymentState } from './rules.ts'
import * as store from './store.ts'

const pageSize = 100

/** Checks that payments and their postings are one to one, and that every payment follows from its steps. */
export function createPaymentsVerifier(deps: { db: Database; ledgerAudit: LedgerAudit; vault: Vault }): Verifier {
  return {
    name: 'payments',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        let [payments, steps, moved] = [0, 0, 0]
        const read = (after: string, limit: number) => store.paymentsAfter(reader, after, limit)
        for await (const batch of keysetPages(read, { start: '', size: pageSize, keyOf: (each: Payment) => each.id })) {
          const walked = await walkBatch(reader, batch, deps.ledgerAudit, findings)
          payments += batch.length
          steps += walked.steps
          moved += walked.moved
          onProgress?.(payments)
        }
        const counted = await store.countChanges(reader)
        if (counted !== steps) {
          findings.push(found('payment_changes', `${counted} exist, the payments count ${steps}`))
        }
        const unnoted = await store.findWithoutStep(reader)
        if (unnoted) findings.push(found(`payment ${unnoted.payment}`, `no step ${unnoted.step} notes its refund`))
        const posted = await deps.ledgerAudit.countByReference(reader)
        if (posted !== moved)
          findings.push(found('postings', `${posted} stand for payments, whose steps tell of ${moved}`))
        await checkProviders(reader, deps.vault, findings)
        return { findings, covered: { payments } }
      }),
  }
}

const found = (where: string, problem: string): Finding => ({ promise: 'payment', where, problem })

async function walkBatch(
  reader: Reader,
  batch: readonly Payment[],
  ledger: LedgerAudit,
  findings: Finding[],
): Promise<{ steps: number; moved: number }> {
  const ids = batch.map((each) => each.id)
  const changes = Map.groupBy(await store.changesOf(reader, ids), (each) => each.payment)
  const postings = Map.groupBy(await ledger.byReference(reader, ids), (each) => each.reference ?? '')
  let [steps, moved] = [0, 0]
  for (const payment of batch) {
    const [own, money] = [changes.get(payment.id) ?? [], postings.get(payment.id) ?? []]
    steps += own.length
    moved += own.filter((each) => each.posting !== null).length
    await attempt(findings, { promise: 'payment', where: `payment ${payment.id}` }, () => {
      const problems = [...problemsOfSteps(payment, own), ...problemsOfMoney(payment, own, money)]
      for (const problem of problems) findings.push(found(`payment ${payment.id}`, problem))
    })
  }
  return { steps, moved }
}

/** Compares a payment with the sum of its steps. */
function* problemsOfSteps(payment: Payment, changes: readonly PaymentChange[]): Generator<string> {
  let before: PaymentState | undefined
  let [credited, debited] = [0n, 0n]
  for (const [index, { number, kind, state, amount, total }] of changes.entries()) {
    if (number !== index + 1) yield `its step ${index + 1} is missing`
    if (!isStep(before, kind, state)) yield `step ${number} leads from ${before ?? 'nothing'} to ${state}`
    if (kind === 'credited') credited += amount
    if (kind === 'debited') debited -= amount
    if (kind === 'debited' && total !== debited) yield `step ${number} does not add up`
    before = state
  }
  if (changes.length !== payment.changes) yield `it counts ${payment.changes} steps and has ${changes.length}`
  if (before !== payment.state) yield `it is ${payment.state}, its steps end with ${before ?? 'nothing'}`
  if (credited !== payment.credited) yield 'what was credited is not what its steps say'
  if (debited !== payment.debited) yield 'what was taken back is not what its steps say'
  if (credited !== 0n && credited !== payment.amount) yield 'it was not credited its amount'
  if (timeOfId(payment.id) !== payment.createdAt) yield 'it is not dated as its id is'
}

/** Each step that moved money has its posting, and each posting its step. */
function* problemsOfMoney(
  payment: Payment,
  changes: readonly PaymentChange[],
  postings: readonly Posting[],
): Generator<string> {
  const left = [...postings]
  for (const change of changes) {
    if (change.posting === null) continue
    const index = left.findIndex((each) => isMoneyOf(payment, change, each))
    if (index < 0) yield `step ${change.number} tells of money that did not move`
    else left.splice(index, 1)
  }
  for (const posting of left) yield `posting ${posting.seq} of ${posting.customer} stands for it without a step`
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
    await attempt(findings, { promise: 'payment', where: `provider ${row.name}` }, () => {
      readTermsText(row.settings)
      if (row.secret !== null) vault.open(row.secret, contextOf(row.name))
    })
  }
}
