import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import type { Tx } from '../../db/transaction.ts'
import { type Payment, retryMs } from './rules.ts'
import { type PaymentRow, toPayment } from './store.ts'

/**
 * Paid payments whose purchase is due for an attempt, one of each customer before the second of any. The time of the
 * next attempt moves on at once, so that no other process tries the same, and a failing one waits longer each time.
 */
export async function takeToBuy(tx: Tx, nowMs: number, limit: number): Promise<Payment[]> {
  const rows = await tx.all<PaymentRow & { buy_tries: bigint }>(
    `SELECT * FROM payments WHERE id IN (
       SELECT id FROM (
         SELECT id, buy_at, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY COALESCE(buy_at, 0), id) AS turn
         FROM payments
         WHERE purchase_state = 'waiting' AND state IN ('paid', 'refunded') AND COALESCE(buy_at, 0) <= $1
       ) AS due
       ORDER BY turn, COALESCE(buy_at, 0), id LIMIT $2)
       AND purchase_state = 'waiting' AND COALESCE(buy_at, 0) <= $1
     FOR UPDATE SKIP LOCKED`,
    [nowMs, limit],
  )
  for (const row of rows) {
    tx.send('UPDATE payments SET buy_at = $2, buy_tries = buy_tries + 1 WHERE id = $1', [
      row.id,
      nowMs + retryMs(Number(row.buy_tries)),
    ])
  }
  return rows.map(toPayment)
}

/**
 * The prices that open payments of a customer hold, begun since then and with longer to pay than that. The account is
 * locked, so none comes between.
 */
export async function sumHeld(
  tx: Tx,
  of: { readonly customer: CustomerId; readonly sinceMs: number; readonly longerThanMs: number },
): Promise<{ readonly count: number; readonly sum: Kopecks }> {
  const row = await tx.first<{ n: bigint; held: bigint }>(
    `SELECT COUNT(*) AS n, CAST(COALESCE(SUM(purchase_price), 0) AS BIGINT) AS held FROM payments
     WHERE customer_id = $1 AND state IN ('new', 'pending') AND purchase_state = 'waiting' AND created_at >= $2
       AND expires_at - created_at > $3`,
    [of.customer, of.sinceMs, of.longerThanMs],
  )
  return { count: Number(row?.n ?? 0n), sum: kopecks(row?.held ?? 0n) }
}
