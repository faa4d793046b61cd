import type { PaymentId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import type { Reader, Tx } from '../../db/transaction.ts'

/** One refund that was asked of a provider. `asked` has no outcome yet, and a payment has one such refund at most. */
export type ProviderRefund = {
  readonly payment: PaymentId
  /** The number of the payment's step that noted it. */
  readonly step: number
  readonly amount: Kopecks
  /** What had gone back of the payment, or was to go back, when it was asked for. */
  readonly before: Kopecks
  readonly state: 'asked' | 'done' | 'refused'
  /** How often the provider was asked. */
  readonly tries: number
  readonly askedAt: number
}

type RefundRow = {
  payment_id: string
  step: bigint
  amount: bigint
  before: bigint
  state: string
  tries: bigint
  asked_at: bigint
}

const toRefund = (row: RefundRow): ProviderRefund => ({
  payment: row.payment_id as PaymentId,
  step: Number(row.step),
  amount: kopecks(row.amount),
  before: kopecks(row.before),
  state: row.state as ProviderRefund['state'],
  tries: Number(row.tries),
  askedAt: Number(row.asked_at),
})

/** A second one without an outcome makes the transaction fail. */
export function insertRefund(tx: Tx, refund: ProviderRefund): void {
  const { payment, step, amount, before, state, tries, askedAt } = refund
  tx.send(
    `INSERT INTO payment_refunds (payment_id, step, amount, before, state, tries, asked_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [payment, step, amount, before, state, tries, askedAt],
  )
}

/** Writes one more try. The payment's row is locked. */
export function writeTry(tx: Tx, { payment, step, before, state, tries, askedAt }: ProviderRefund): void {
  tx.send(
    `UPDATE payment_refunds SET before = $3, state = $4, tries = $5, asked_at = $6
     WHERE payment_id = $1 AND step = $2`,
    [payment, step, before, state, tries, askedAt],
  )
}

export function writeDone(tx: Tx, { payment, step }: ProviderRefund): void {
  tx.send(`UPDATE payment_refunds SET state = 'done' WHERE payment_id = $1 AND step = $2 AND state <> 'done'`, [
    payment,
    step,
  ])
}

/** A no to a try says nothing about a later try of the same refund. */
export function writeRefused(tx: Tx, { payment, step, tries }: ProviderRefund): void {
  tx.send(
    `UPDATE payment_refunds SET state = 'refused'
     WHERE payment_id = $1 AND step = $2 AND tries = $3 AND state = 'asked'`,
    [payment, step, tries],
  )
}

/** All refunds that were asked of a payment's provider, the first one first. */
export async function refundsOf(reader: Reader, payment: PaymentId): Promise<ProviderRefund[]> {
  const rows = await reader.all<RefundRow>('SELECT * FROM payment_refunds WHERE payment_id = $1 ORDER BY step', [
    payment,
  ])
  return rows.map(toRefund)
}

/** A refund whose payment has no step that noted it. */
export async function findWithoutStep(reader: Reader): Promise<ProviderRefund | undefined> {
  const row = await reader.first<RefundRow>(
    `SELECT * FROM payment_refunds WHERE NOT EXISTS (SELECT 1 FROM payment_changes AS change
       WHERE change.payment_id = payment_refunds.payment_id AND change.number = payment_refunds.step
         AND change.kind = 'refund_asked')
     ORDER BY payment_id, step LIMIT 1`,
  )
  return row && toRefund(row)
}
