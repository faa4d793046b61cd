import { type Audit, attempt, type Finding, type Verifier } from '../../core/finding.ts'
import { timeOfId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { LedgerAudit } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import { readTermsText } from './providers.ts'
import { type ChangeKind, isStep, type Payment, type PaymentState } from './rules.ts'
import { contextOf } from './service-providers.ts'
import * as store from './store.ts'
import * as audits from './store-audit.ts'
import { listProviders } from './store-operator.ts'
import { findWithoutStep } from './store-refunds.ts'

const page = 100

type Change = Awaited<ReturnType<typeof audits.changesOf>>[number]

/**
 * Recomputes that payments and the money that they moved are one to one, and that every payment has come by its steps.
 */
export function createPaymentsVerifier(deps: { db: Database; ledgerAudit: LedgerAudit; vault: Vault }): Verifier {
  return {
    name: 'payments',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        let [payments, steps, moved] = [0, 0, 0]
        const read = (after: string, limit: number) => store.paymentsAfter(reader, after, limit)
        for await (const batch of keysetPages(read, { start: '', size: page, keyOf: (each: Payment) => each.id })) {
          const walked = await walkBatch(reader, batch, deps.ledgerAudit, findings)
          payments += batch.length
          steps += walked.steps
          moved += walked.moved
          onProgress?.(payments)
        }
        const counted = await audits.countChanges(reader)
        if (counted !== steps) {
          findings.push(found('payment_changes', `${counted} exist, the payments count ${steps}`))
        }
        const unnoted = await findWithoutStep(reader)
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
  const changes = Map.groupBy(await audits.changesOf(reader, ids), (each) => each.payment_id)
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

/** A payment is what its steps have made of it. */
function* problemsOfSteps(payment: Payment, changes: readonly Change[]): Generator<string> {
  let before: PaymentState | undefined
  let [credited, debited] = [0n, 0n]
  for (const [index, change] of changes.entries()) {
    const [kind, state] = [change.kind as ChangeKind, change.state as PaymentState]
    if (Number(change.number) !== index + 1) yield `its step ${index + 1} is missing`
    if (!isStep(before, kind, state)) yield `step ${change.number} leads from ${before ?? 'nothing'} to ${state}`
    if (kind === 'credited') credited += change.amount
    if (kind === 'debited') debited -= change.amount
    if (kind === 'debited' && change.total !== debited) yield `step ${change.number} does not add up`
    before = state
  }
  if (changes.length !== payment.changes) yield `it counts ${payment.changes} steps and has ${changes.length}`
  if (before !== payment.state) yield `it is ${payment.state}, its steps end with ${before ?? 'nothing'}`
  if (credited !== payment.credited) yield 'what was credited is not what its steps say'
  if (debited !== payment.debited) yield 'what was taken back is not what its steps say'
  if (credited !== 0n && credited !== payment.amount) yield 'it was not credited its amount'
  if (timeOfId(payment.id) !== payment.createdAt) yield 'it is not dated as its id is'
}

/** Each step that moved money has its posting, and no posting stands for it without a step. */
function* problemsOfMoney(
  payment: Payment,
  changes: readonly Change[],
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

const houseOf = (payment: Payment, kind: string): string =>
  kind.startsWith('share') ? 'funds:referral' : kind.startsWith('bonus') ? 'funds:bonus' : `funds:${payment.provider}`

/** A share goes to somebody else; everything else is between the payment and its own customer. */
const isMoneyOf = (payment: Payment, change: Change, posting: Posting): boolean =>
  BigInt(posting.seq) === change.posting &&
  posting.amount === change.amount &&
  posting.house === houseOf(payment, change.kind) &&
  (change.kind.startsWith('share') ? posting.customer !== payment.customer : posting.customer === payment.customer)

/** What a provider was set up with can be read, and its secret opens. */
async function checkProviders(reader: Reader, vault: Vault, findings: Finding[]): Promise<void> {
  for (const row of await listProviders(reader)) {
    await attempt(findings, { promise: 'payment', where: `provider ${row.name}` }, () => {
      readTermsText(row.settings)
      if (row.secret !== null) vault.open(row.secret, contextOf(row.name))
    })
  }
}
