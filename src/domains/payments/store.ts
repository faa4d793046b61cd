import type { CustomerId, OrderId, PaymentId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { numberOrNull } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { AwaitedPurchase, ChangeKind, Payment, PaymentChange, PaymentState } from './rules.ts'

export type PaymentRow = {
  id: string
  customer_id: string
  token_id: string | null
  key: string | null
  request: Uint8Array
  provider: string
  method: string
  amount: bigint
  fee: bigint
  return_url: string | null
  state: string
  provider_id: string | null
  pay_url: string | null
  qr: string | null
  credited: bigint
  debited: bigint
  changes: bigint
  created_at: bigint
  expires_at: bigint
  ask_at: bigint | null
  code: string | null
  bonus: bigint
  purchase_product: string | null
  purchase_wish: string | null
  purchase_price: bigint | null
  purchase_catalogue: bigint | null
  purchase_state: string | null
  purchase_order: string | null
  purchase_problem: string | null
}

const toPurchase = (row: PaymentRow): AwaitedPurchase | null =>
  row.purchase_product === null
    ? null
    : {
        product: row.purchase_product,
        wish: row.purchase_wish ?? '',
        price: kopecks(row.purchase_price ?? 0n),
        catalogue: Number(row.purchase_catalogue ?? 0n),
        state: row.purchase_state as AwaitedPurchase['state'],
        order: row.purchase_order as OrderId | null,
        problem: row.purchase_problem,
      }

export const toPayment = (row: PaymentRow): Payment => ({
  id: row.id as PaymentId,
  customer: row.customer_id as CustomerId,
  token: row.token_id as TokenId | null,
  key: row.key,
  request: row.request,
  provider: row.provider,
  method: row.method,
  amount: kopecks(row.amount),
  fee: kopecks(row.fee),
  returnUrl: row.return_url,
  state: row.state as PaymentState,
  providerId: row.provider_id,
  payUrl: row.pay_url,
  qr: row.qr,
  credited: kopecks(row.credited),
  debited: kopecks(row.debited),
  changes: Number(row.changes),
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  askAt: numberOrNull(row.ask_at),
  code: row.code,
  bonus: kopecks(row.bonus),
  purchase: toPurchase(row),
})

type ChangeRow = {
  payment_id: string
  number: bigint
  kind: string
  state: string
  amount: bigint
  total: bigint | null
  posting: bigint | null
  at: bigint
  note: string
}

const toChange = (row: ChangeRow): PaymentChange => ({
  payment: row.payment_id as PaymentId,
  number: Number(row.number),
  kind: row.kind as ChangeKind,
  state: row.state as PaymentState,
  amount: kopecks(row.amount),
  total: row.total === null ? null : kopecks(row.total),
  posting: numberOrNull(row.posting),
  at: Number(row.at),
  note: row.note,
})

export function insertPayment(tx: Tx, payment: Payment): void {
  tx.send(
    `INSERT INTO payments
       (id, customer_id, token_id, key, request, provider, method, amount, fee, return_url, state, provider_id,
        pay_url, qr, credited, debited, changes, created_at, expires_at, ask_at, code, bonus, purchase_product,
        purchase_wish, purchase_price, purchase_catalogue, purchase_state)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
       $24, $25, $26, $27)`,
    [
      payment.id,
      payment.customer,
      payment.token,
      payment.key,
      payment.request,
      payment.provider,
      payment.method,
      payment.amount,
      payment.fee,
      payment.returnUrl,
      payment.state,
      payment.providerId,
      payment.payUrl,
      payment.qr,
      payment.credited,
      payment.debited,
      payment.changes,
      payment.createdAt,
      payment.expiresAt,
      payment.askAt,
      payment.code,
      payment.bonus,
      payment.purchase?.product ?? null,
      payment.purchase?.wish ?? null,
      payment.purchase?.price ?? null,
      payment.purchase?.catalogue ?? null,
      payment.purchase?.state ?? null,
    ],
  )
}

/** Writes what of a payment can change. Its row is locked, so it is the one that was decided on. */
export function updatePayment(tx: Tx, payment: Payment): void {
  tx.send(
    `UPDATE payments SET key = $2, state = $3, provider_id = $4, pay_url = $5, qr = $6, credited = $7, debited = $8,
       changes = $9, expires_at = $10, ask_at = $11, purchase_state = $12, purchase_order = $13, purchase_problem = $14
     WHERE id = $1`,
    [
      payment.id,
      payment.key,
      payment.state,
      payment.providerId,
      payment.payUrl,
      payment.qr,
      payment.credited,
      payment.debited,
      payment.changes,
      payment.expiresAt,
      payment.askAt,
      payment.purchase?.state ?? null,
      payment.purchase?.order ?? null,
      payment.purchase?.problem ?? null,
    ],
  )
}

/** A second credit, or a second debit for the same, makes the transaction fail. */
export function insertChange(tx: Tx, change: PaymentChange): void {
  tx.send(
    `INSERT INTO payment_changes (payment_id, number, kind, state, amount, total, posting, at, note)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      change.payment,
      change.number,
      change.kind,
      change.state,
      change.amount,
      change.total,
      change.posting,
      change.at,
      change.note,
    ],
  )
}

/** Nobody else changes this payment until the transaction ends. */
export async function lockPayment(tx: Tx, id: PaymentId): Promise<Payment | undefined> {
  const row = await tx.first<PaymentRow>('SELECT * FROM payments WHERE id = $1 FOR UPDATE', [id])
  return row && toPayment(row)
}

/** For the operator, who may see every customer's. */
export async function findAny(reader: Reader, id: PaymentId): Promise<Payment | undefined> {
  const row = await reader.first<PaymentRow>('SELECT * FROM payments WHERE id = $1', [id])
  return row && toPayment(row)
}

/** Another customer's payment is as good as none. */
export async function findPayment(reader: Reader, customer: CustomerId, id: PaymentId): Promise<Payment | undefined> {
  const row = await reader.first<PaymentRow>('SELECT * FROM payments WHERE id = $1 AND customer_id = $2', [
    id,
    customer,
  ])
  return row && toPayment(row)
}

export async function findByKey(reader: Reader, customer: CustomerId, key: string): Promise<Payment | undefined> {
  const row = await reader.first<PaymentRow>('SELECT * FROM payments WHERE customer_id = $1 AND key = $2', [
    customer,
    key,
  ])
  return row && toPayment(row)
}

export async function findByProviderId(
  reader: Reader,
  provider: string,
  providerId: string,
): Promise<Payment | undefined> {
  const row = await reader.first<PaymentRow>('SELECT * FROM payments WHERE provider = $1 AND provider_id = $2', [
    provider,
    providerId,
  ])
  return row && toPayment(row)
}

/** A key past its time is free for another payment. */
export function releaseKey(tx: Tx, customer: CustomerId, key: string, before: number): void {
  tx.send('UPDATE payments SET key = NULL WHERE customer_id = $1 AND key = $2 AND created_at <= $3', [
    customer,
    key,
    before,
  ])
}

/** The customer's account is locked, so two that begin at once are counted one after the other. */
export async function countOpen(tx: Tx, customer: CustomerId): Promise<number> {
  const row = await tx.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM payments WHERE customer_id = $1 AND state IN ('new', 'pending')`,
    [customer],
  )
  return Number(row?.n ?? 0n)
}

/** When the payment was begun that is so many refusals back; a payment without an id at the provider was refused. */
export async function findRefusedAt(
  reader: Reader,
  { customer, provider, back }: { readonly customer: CustomerId; readonly provider: string; readonly back: number },
): Promise<number | undefined> {
  const row = await reader.first<{ created_at: bigint }>(
    `SELECT created_at FROM payments
     WHERE customer_id = $1 AND provider = $2 AND state = 'cancelled' AND provider_id IS NULL
     ORDER BY id DESC LIMIT 1 OFFSET $3`,
    [customer, provider, back - 1],
  )
  return row && Number(row.created_at)
}

/** A text that every payment's id is below. */
const pastLastId = 'pbz'

/** Newest first, from just below `before`. */
export async function listOf(
  reader: Reader,
  customer: CustomerId,
  before: string | undefined,
  limit: number,
): Promise<Payment[]> {
  const rows = await reader.all<PaymentRow>(
    'SELECT * FROM payments WHERE customer_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3',
    [customer, before ?? pastLastId, limit],
  )
  return rows.map(toPayment)
}

/** For the operator: of all customers or one, in one state or any. */
export async function listAll(
  reader: Reader,
  filter: { readonly customer: string; readonly state: string; readonly before: string | undefined; limit: number },
): Promise<Payment[]> {
  const rows = await reader.all<PaymentRow>(
    `SELECT * FROM payments WHERE id < $1 AND ($2 = '' OR customer_id = $2) AND ($3 = '' OR state = $3)
     ORDER BY id DESC LIMIT $4`,
    [filter.before ?? pastLastId, filter.customer, filter.state, filter.limit],
  )
  return rows.map(toPayment)
}

/** Payments of a provider that were begun within a time, in the order of their ids. */
export async function listBegun(
  reader: Reader,
  of: { readonly provider: string; readonly fromAt: number; readonly toAt: number; readonly after: string },
  limit: number,
): Promise<Payment[]> {
  const rows = await reader.all<PaymentRow>(
    `SELECT * FROM payments WHERE provider = $1 AND created_at >= $2 AND created_at < $3 AND id > $4
     ORDER BY id LIMIT $5`,
    [of.provider, of.fromAt, of.toAt, of.after, limit],
  )
  return rows.map(toPayment)
}

export async function changesOf(reader: Reader, payment: PaymentId): Promise<PaymentChange[]> {
  const rows = await reader.all<ChangeRow>('SELECT * FROM payment_changes WHERE payment_id = $1 ORDER BY number', [
    payment,
  ])
  return rows.map(toChange)
}

/**
 * Payments whose turn it is to be asked for, put off at once so that no other process asks for the same. Should this
 * one die, their turn comes again.
 */
export async function takeDue(tx: Tx, nowMs: number, untilAt: number, most: number): Promise<Payment[]> {
  const rows = await tx.all<PaymentRow>(
    'SELECT * FROM payments WHERE ask_at <= $1 ORDER BY ask_at LIMIT $2 FOR UPDATE SKIP LOCKED',
    [nowMs, most],
  )
  for (const row of rows) tx.send('UPDATE payments SET ask_at = $2 WHERE id = $1', [row.id, untilAt])
  return rows.map(toPayment)
}

/** When a payment's provider is asked next. */
export function putOff(tx: Tx, id: PaymentId, askAt: number | null): void {
  tx.send('UPDATE payments SET ask_at = $2 WHERE id = $1', [id, askAt])
}

/** Every payment once, in the order of their ids, a page at a time. */
export async function paymentsAfter(reader: Reader, after: string, limit: number): Promise<Payment[]> {
  const rows = await reader.all<PaymentRow>('SELECT * FROM payments WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])
  return rows.map(toPayment)
}

/** How often a code counts as used: by payments that were made or still can be, of one customer or of all. */
export async function countUses(reader: Reader, code: string, customer: string): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM payments
     WHERE code = $1 AND state IN ('new', 'pending', 'paid', 'refunded') AND ($2 = '' OR customer_id = $2)`,
    [code, customer],
  )
  return Number(row?.n ?? 0n)
}

/** How many top-ups of a customer were paid. */
export async function countPaid(reader: Reader, customer: CustomerId): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    'SELECT COUNT(*) AS n FROM payments WHERE customer_id = $1 AND credited > 0',
    [customer],
  )
  return Number(row?.n ?? 0n)
}

/** A step that a payment takes once at most, if it has. */
export async function findStep(
  reader: Reader,
  payment: PaymentId,
  kind: ChangeKind,
): Promise<PaymentChange | undefined> {
  const row = await reader.first<ChangeRow>('SELECT * FROM payment_changes WHERE payment_id = $1 AND kind = $2', [
    payment,
    kind,
  ])
  return row && toChange(row)
}

/** What was topped up and taken back, by day and method; a day is its number since 1970, in UTC. */
export async function sumByDay(
  reader: Reader,
  fromAt: number,
  toAt: number,
): Promise<{ day: number; method: string; kind: string; count: number; amount: Kopecks; fee: Kopecks }[]> {
  const rows = await reader.all<{ day: bigint; method: string; kind: string; n: bigint; amount: bigint; fee: bigint }>(
    `SELECT change.at / 86400000 AS day, payments.method AS method, change.kind AS kind, COUNT(*) AS n,
       CAST(SUM(change.amount) AS BIGINT) AS amount,
       CAST(SUM(CASE WHEN change.kind = 'credited' THEN payments.fee ELSE 0 END) AS BIGINT) AS fee
     FROM payment_changes AS change JOIN payments ON payments.id = change.payment_id
     WHERE change.amount <> 0 AND change.at >= $1 AND change.at < $2
     GROUP BY change.at / 86400000, payments.method, change.kind
     ORDER BY 1, 2, 3`,
    [fromAt, toAt],
  )
  return rows.map((row) => ({
    day: Number(row.day),
    method: row.method,
    kind: row.kind,
    count: Number(row.n),
    amount: kopecks(row.amount),
    fee: kopecks(row.fee),
  }))
}
