import type { CustomerId, NoticeId, PaymentId } from '../../core/ids.ts'
import { zero } from '../../core/money.ts'
import {
  big,
  bytes,
  columnsOf,
  flag,
  idColumn,
  int,
  money,
  oneOf,
  orNull,
  type Row,
  recordsOf,
  textColumn,
  valuesOf,
} from '../../db/columns.ts'
import { allOf, list, pastPrefix, sendRows } from '../../db/rows.ts'
import type { Reader, Tx, Value } from '../../db/transaction.ts'
import {
  type AwaitedPurchase,
  type ChangeKind,
  changeKinds,
  codeKinds,
  type Notice,
  noticeReasons,
  type Payment,
  type PaymentChange,
  type PromoCode,
  type ProviderRefund,
  type PurchaseProblem,
  paymentStates,
  purchaseStates,
  type ReferralTerms,
  readPurchaseProblem,
  refundStates,
  retryMs,
} from './rules.ts'

const paymentColumns = columnsOf<Omit<Payment, 'purchase'>>({
  id: idColumn('id'),
  customer: idColumn('customer_id'),
  token: orNull(idColumn('token_id')),
  key: orNull(textColumn('key')),
  request: bytes('request'),
  provider: textColumn('provider'),
  method: textColumn('method'),
  amount: money('amount'),
  fee: money('fee'),
  returnUrl: orNull(textColumn('return_url')),
  state: oneOf('state', paymentStates),
  providerId: orNull(textColumn('provider_id')),
  payUrl: orNull(textColumn('pay_url')),
  qr: orNull(textColumn('qr')),
  credited: money('credited'),
  debited: money('debited'),
  changes: int('changes'),
  createdAt: int('created_at'),
  expiresAt: int('expires_at'),
  askAt: orNull(int('ask_at')),
  code: orNull(textColumn('code')),
  bonus: money('bonus'),
})

const problem = orNull<PurchaseProblem>({
  name: 'purchase_problem',
  read: (value) => readPurchaseProblem(String(value)),
  write: ({ reason, params }) => JSON.stringify({ reason, params }),
})

const purchaseColumns = columnsOf<AwaitedPurchase>({
  product: textColumn('purchase_product'),
  input: textColumn('purchase_input'),
  price: money('purchase_price'),
  catalogue: int('purchase_catalogue'),
  state: oneOf('purchase_state', purchaseStates),
  order: orNull(idColumn('purchase_order')),
  problem,
})

const payments = recordsOf(
  (row): Payment => ({
    ...paymentColumns.read(row),
    purchase: row['purchase_product'] === null ? null : purchaseColumns.read(row),
  }),
)

const changeColumns = columnsOf<PaymentChange>({
  payment: idColumn('payment_id'),
  number: int('number'),
  kind: oneOf('kind', changeKinds),
  state: oneOf('state', paymentStates),
  amount: money('amount'),
  total: orNull(money('total')),
  posting: orNull(int('posting')),
  at: int('at'),
  note: textColumn('note'),
})

const noticeColumns = columnsOf<Notice>({
  id: idColumn('id'),
  provider: textColumn('provider'),
  providerId: textColumn('provider_id'),
  reason: oneOf('reason', noticeReasons),
  payment: orNull(idColumn('payment_id')),
  amount: orNull(money('amount')),
  currency: orNull(textColumn('currency')),
  at: int('at'),
  resolvedAt: orNull(int('resolved_at')),
  resolution: orNull(textColumn('resolution')),
})

const counts = valuesOf(int('n'))

/** The number that a `SELECT … AS n` answers. */
const count = async (reader: Reader, sql: string, values: readonly Value[] = []): Promise<number> =>
  (await counts.first(reader, sql, values)) ?? 0

const refundColumns = columnsOf<ProviderRefund>({
  payment: idColumn('payment_id'),
  step: int('step'),
  amount: money('amount'),
  before: money('before'),
  state: oneOf('state', refundStates),
  tries: int('tries'),
  requestedAt: int('requested_at'),
})

/** A provider as it was set up. `settings` is the JSON of its `ProviderTerms`, `secret` is sealed. */
export type ProviderRow = {
  readonly name: string
  readonly settings: string
  readonly secret: Uint8Array | null
  readonly isEnabled: boolean
  readonly changedAt: number
}

const providerColumns = columnsOf<ProviderRow>({
  name: textColumn('name'),
  settings: textColumn('settings'),
  secret: orNull(bytes('secret')),
  isEnabled: flag('enabled'),
  changedAt: int('changed_at'),
})

const codeColumns = columnsOf<PromoCode>({
  code: textColumn('code'),
  kind: oneOf('kind', codeKinds),
  value: big('value'),
  least: money('least'),
  uses: orNull(int('uses')),
  untilAt: orNull(int('until_at')),
  createdAt: int('created_at'),
  endedAt: orNull(int('ended_at')),
  note: textColumn('note'),
})

export function insertPayment(tx: Tx, payment: Payment): void {
  const noPurchase = [null, null, null, null, null, null, null]
  const purchase = payment.purchase ? purchaseColumns.values(payment.purchase) : noPurchase
  sendRows(tx, `INSERT INTO payments (${paymentColumns.names}, ${purchaseColumns.names})`, [
    [...paymentColumns.values(payment), ...purchase],
  ])
}

/** Writes the columns of a payment that can change. Its row is locked. */
export function updatePayment(tx: Tx, payment: Payment): void {
  const { key, state, providerId, payUrl, qr, credited, debited, changes, expiresAt, askAt, purchase } = payment
  const bought = [purchase?.state ?? null, purchase?.order ?? null, problem.write(purchase?.problem ?? null)]
  tx.send(
    `UPDATE payments SET key = $2, state = $3, provider_id = $4, pay_url = $5, qr = $6, credited = $7, debited = $8,
       changes = $9, expires_at = $10, ask_at = $11, purchase_state = $12, purchase_order = $13, purchase_problem = $14
     WHERE id = $1`,
    [payment.id, key, state, providerId, payUrl, qr, credited, debited, changes, expiresAt, askAt, ...bought],
  )
}

/** A second credit, or a second debit to the same total, makes the transaction fail. */
export const insertChange = (tx: Tx, change: PaymentChange): void =>
  sendRows(tx, `INSERT INTO payment_changes (${changeColumns.names})`, [changeColumns.values(change)])

/** The row stays locked until the transaction ends. */
export const lockPayment = (tx: Tx, payment: PaymentId): Promise<Payment | undefined> =>
  payments.first(tx, 'SELECT * FROM payments WHERE id = $1 FOR UPDATE', [payment])

export const findAny = (reader: Reader, payment: PaymentId): Promise<Payment | undefined> =>
  payments.first(reader, 'SELECT * FROM payments WHERE id = $1', [payment])

export const findPayment = (reader: Reader, customer: CustomerId, payment: PaymentId): Promise<Payment | undefined> =>
  payments.first(reader, 'SELECT * FROM payments WHERE id = $1 AND customer_id = $2', [payment, customer])

export const findByKey = (reader: Reader, customer: CustomerId, key: string): Promise<Payment | undefined> =>
  payments.first(reader, 'SELECT * FROM payments WHERE customer_id = $1 AND key = $2', [customer, key])

/** Payments whose id begins with the text, oldest first. */
export const findByPrefix = (reader: Reader, text: string, limit: number): Promise<Payment[]> =>
  payments.all(reader, 'SELECT * FROM payments WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3', [
    text,
    pastPrefix(text),
    limit,
  ])

export const findByProviderId = (reader: Reader, provider: string, providerId: string): Promise<Payment | undefined> =>
  payments.first(reader, 'SELECT * FROM payments WHERE provider = $1 AND provider_id = $2', [provider, providerId])

/** Frees an expired key for another payment. */
export function releaseKey(tx: Tx, customer: CustomerId, key: string, before: number): void {
  const sql = 'UPDATE payments SET key = NULL WHERE customer_id = $1 AND key = $2 AND created_at <= $3'
  tx.send(sql, [customer, key, before])
}

/** The customer's account is locked, so concurrent payments are counted one after the other. */
export const countOpen = (tx: Tx, customer: CustomerId): Promise<number> =>
  count(tx, `SELECT COUNT(*) AS n FROM payments WHERE customer_id = $1 AND state IN ('new', 'pending')`, [customer])

/** When the payment that is `back` refusals ago was begun. A refused payment has no id at the provider. */
export const findRefusedAt = (
  reader: Reader,
  { customer, provider, back }: { readonly customer: CustomerId; readonly provider: string; readonly back: number },
): Promise<number | undefined> =>
  valuesOf(int('created_at')).first(
    reader,
    `SELECT created_at FROM payments
     WHERE customer_id = $1 AND provider = $2 AND state = 'cancelled' AND provider_id IS NULL
     ORDER BY id DESC LIMIT 1 OFFSET $3`,
    [customer, provider, back - 1],
  )

/** Sorts after every payment's id. */
const pastLastId = 'pbz'

/** Keyset pagination, newest first, from just below `before`. */
export const listOf = (
  reader: Reader,
  customer: CustomerId,
  before: string | undefined,
  limit: number,
): Promise<Payment[]> =>
  payments.all(reader, 'SELECT * FROM payments WHERE customer_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3', [
    customer,
    before ?? pastLastId,
    limit,
  ])

export const findMany = async (reader: Reader, ids: readonly string[]): Promise<Payment[]> =>
  (await allOf<Row>(reader, ids, (among) => `SELECT * FROM payments WHERE id IN (${among})`)).map(payments.read)

/** For the operator: of one customer or all, in one state or any. */
export const listAll = (
  reader: Reader,
  filter: { readonly customer: string; readonly state: string; readonly before: string | undefined; limit: number },
): Promise<Payment[]> =>
  payments.all(
    reader,
    `SELECT * FROM payments WHERE id < $1 AND ($2 = '' OR customer_id = $2) AND ($3 = '' OR state = $3)
     ORDER BY id DESC LIMIT $4`,
    [filter.before ?? pastLastId, filter.customer, filter.state, filter.limit],
  )

/** Payments of a provider that were begun in [fromAt, toAt), by id. */
export const listBegun = (
  reader: Reader,
  of: { readonly provider: string; readonly fromAt: number; readonly toAt: number; readonly after: string },
  limit: number,
): Promise<Payment[]> =>
  payments.all(
    reader,
    `SELECT * FROM payments WHERE provider = $1 AND created_at >= $2 AND created_at < $3 AND id > $4
     ORDER BY id LIMIT $5`,
    [of.provider, of.fromAt, of.toAt, of.after, limit],
  )

/** All steps of these payments, each payment's in their order. */
export const changesOf = (reader: Reader, ids: readonly PaymentId[]): Promise<PaymentChange[]> =>
  changeColumns.all(
    reader,
    `SELECT * FROM payment_changes WHERE payment_id IN (${list(ids.length)}) ORDER BY payment_id, number`,
    ids,
  )

/** All steps, how many the payments count, and how many have a posting. */
export async function countChanges(reader: Reader): Promise<Record<'rows' | 'counted' | 'moved', number>> {
  const row = await reader.first<Record<'n' | 'counted' | 'moved', bigint>>(
    `SELECT COUNT(*) AS n, COUNT(posting) AS moved,
       (SELECT CAST(COALESCE(SUM(changes), 0) AS BIGINT) FROM payments) AS counted FROM payment_changes`,
  )
  return { rows: Number(row?.n ?? 0n), counted: Number(row?.counted ?? 0n), moved: Number(row?.moved ?? 0n) }
}

/** Takes due payments and postpones them at once, so that no other process asks for them. */
export async function takeDue(tx: Tx, nowMs: number, untilAt: number, max: number): Promise<Payment[]> {
  const due = await payments.all(
    tx,
    'SELECT * FROM payments WHERE ask_at <= $1 ORDER BY ask_at LIMIT $2 FOR UPDATE SKIP LOCKED',
    [nowMs, max],
  )
  for (const payment of due) setAskAt(tx, payment.id, untilAt)
  return due
}

/**
 * Makes every payment due whose provider would be polled later, open ones first. A restored shop does not know what the
 * providers reported since the backup.
 */
export async function askAgainAfterRestore(tx: Tx): Promise<void> {
  await tx.run(
    `UPDATE payments SET ask_at = CASE WHEN state IN ('new', 'pending') THEN 0 ELSE 1 END WHERE ask_at IS NOT NULL`,
  )
}

/** Sets when a payment's provider is asked next. */
export const setAskAt = (tx: Tx, payment: PaymentId, askAt: number | null): void =>
  tx.send('UPDATE payments SET ask_at = $2 WHERE id = $1', [payment, askAt])

/** Keyset pagination over all payments, by id. */
export const paymentsAfter = (reader: Reader, after: string, limit: number): Promise<Payment[]> =>
  payments.all(reader, 'SELECT * FROM payments WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])

/** How many payments that were or can be made use a code: of one customer, or of all (''). */
export const countUses = (reader: Reader, code: string, customer: string): Promise<number> =>
  count(
    reader,
    `SELECT COUNT(*) AS n FROM payments
     WHERE code = $1 AND state IN ('new', 'pending', 'paid', 'refunded') AND ($2 = '' OR customer_id = $2)`,
    [code, customer],
  )

export const countPaid = (reader: Reader, customer: CustomerId): Promise<number> =>
  count(reader, 'SELECT COUNT(*) AS n FROM payments WHERE customer_id = $1 AND credited > 0', [customer])

/** A step that a payment takes at most once. */
export const findStep = (reader: Reader, payment: PaymentId, kind: ChangeKind): Promise<PaymentChange | undefined> =>
  changeColumns.first(reader, 'SELECT * FROM payment_changes WHERE payment_id = $1 AND kind = $2', [payment, kind])

const daySums = columnsOf({
  day: int('day'),
  method: textColumn('method'),
  kind: textColumn('kind'),
  count: int('n'),
  amount: money('amount'),
  fee: money('fee'),
})

/** Amounts by day, method and kind of step; a day is its number since 1970, in UTC. */
export const sumByDay = (reader: Reader, fromAt: number, toAt: number) =>
  daySums.all(
    reader,
    `SELECT change.at / 86400000 AS day, payments.method AS method, change.kind AS kind, COUNT(*) AS n,
       CAST(SUM(change.amount) AS BIGINT) AS amount,
       CAST(SUM(CASE WHEN change.kind = 'credited' THEN payments.fee ELSE 0 END) AS BIGINT) AS fee
     FROM payment_changes AS change JOIN payments ON payments.id = change.payment_id
     WHERE change.amount <> 0 AND change.at >= $1 AND change.at < $2
     GROUP BY change.at / 86400000, payments.method, change.kind
     ORDER BY 1, 2, 3`,
    [fromAt, toAt],
  )

/**
 * Paid payments whose purchase is due, one of each customer before the second of any. The next attempt is scheduled
 * here with exponential backoff, so that no other process tries the same.
 */
export async function takeToBuy(tx: Tx, nowMs: number, limit: number): Promise<Payment[]> {
  const rows = await tx.all<Row & { readonly id: string; readonly buy_tries: bigint }>(
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
    const buyAt = nowMs + retryMs(Number(row.buy_tries))
    tx.send('UPDATE payments SET buy_at = $2, buy_tries = buy_tries + 1 WHERE id = $1', [row.id, buyAt])
  }
  return rows.map(payments.read)
}

const heldSums = columnsOf({ count: int('n'), sum: money('held') })

/**
 * The prices that a customer's open payments hold, of those begun since a moment with more than that long to pay. The
 * account is locked.
 */
export const sumHeld = (
  tx: Tx,
  of: { readonly customer: CustomerId; readonly sinceMs: number; readonly longerThanMs: number },
) =>
  heldSums.first(
    tx,
    `SELECT COUNT(*) AS n, CAST(COALESCE(SUM(purchase_price), 0) AS BIGINT) AS held FROM payments
     WHERE customer_id = $1 AND state IN ('new', 'pending') AND purchase_state = 'waiting' AND created_at >= $2
       AND expires_at - created_at > $3`,
    [of.customer, of.sinceMs, of.longerThanMs],
  )

/** A second refund without an outcome makes the transaction fail. */
export const insertRefund = (tx: Tx, refund: ProviderRefund): void =>
  sendRows(tx, `INSERT INTO payment_refunds (${refundColumns.names})`, [refundColumns.values(refund)])

/** Writes one more try. The payment's row is locked. */
export const writeTry = (tx: Tx, { payment, step, before, state, tries, requestedAt }: ProviderRefund): void =>
  tx.send(
    `UPDATE payment_refunds SET before = $3, state = $4, tries = $5, requested_at = $6
     WHERE payment_id = $1 AND step = $2`,
    [payment, step, before, state, tries, requestedAt],
  )

export function writeDone(tx: Tx, { payment, step }: ProviderRefund): void {
  const sql = `UPDATE payment_refunds SET state = 'done' WHERE payment_id = $1 AND step = $2 AND state <> 'done'`
  tx.send(sql, [payment, step])
}

/** A refused try decides nothing about a later try of the same refund. */
export const writeRefused = (tx: Tx, { payment, step, tries }: ProviderRefund): void =>
  tx.send(
    `UPDATE payment_refunds SET state = 'refused'
     WHERE payment_id = $1 AND step = $2 AND tries = $3 AND state = 'requested'`,
    [payment, step, tries],
  )

/** All refunds that were asked of a payment's provider, the first one first. */
export const refundsOf = (reader: Reader, payment: PaymentId): Promise<ProviderRefund[]> =>
  refundColumns.all(reader, 'SELECT * FROM payment_refunds WHERE payment_id = $1 ORDER BY step', [payment])

/** A refund whose payment has no step that notes it. */
export const findWithoutStep = (reader: Reader): Promise<ProviderRefund | undefined> =>
  refundColumns.first(
    reader,
    `SELECT * FROM payment_refunds WHERE NOT EXISTS (SELECT 1 FROM payment_changes AS change
       WHERE change.payment_id = payment_refunds.payment_id AND change.number = payment_refunds.step
         AND change.kind = 'refund_requested')
     ORDER BY payment_id, step LIMIT 1`,
  )

/**
 * One notice for each problem of one payment at a provider. An `excess` notice takes a larger total and becomes
 * unresolved again.
 */
export const insertNotice = (tx: Tx, notice: Notice): void =>
  sendRows(
    tx,
    `INSERT INTO payment_notices (${noticeColumns.names})`,
    [noticeColumns.values(notice)],
    `ON CONFLICT (provider, provider_id, reason) DO UPDATE
       SET amount = excluded.amount, at = excluded.at, resolved_at = NULL, resolution = NULL
       WHERE payment_notices.reason = 'excess' AND excluded.amount > payment_notices.amount`,
  )

export const countUnresolved = (reader: Reader): Promise<number> =>
  count(reader, 'SELECT COUNT(*) AS n FROM payment_notices WHERE resolved_at IS NULL')

/** Oldest first. */
export const listNotices = (reader: Reader, withResolved: boolean, limit: number): Promise<Notice[]> =>
  noticeColumns.all(
    reader,
    'SELECT * FROM payment_notices WHERE resolved_at IS NULL OR CAST($1 AS BIGINT) = 1 ORDER BY id LIMIT $2',
    [withResolved ? 1 : 0, limit],
  )

/** What a provider reported as paid for a payment that the shop does not know. */
export async function findUnknown(reader: Reader, payment: PaymentId) {
  const notice = await noticeColumns.first(
    reader,
    `SELECT * FROM payment_notices WHERE payment_id = $1 AND reason = 'unknown' ORDER BY id LIMIT 1`,
    [payment],
  )
  return notice && ({ ...notice, state: 'paid' } as const)
}

export const lockUnresolved = (tx: Tx, notice: NoticeId): Promise<Notice | undefined> =>
  noticeColumns.first(tx, 'SELECT * FROM payment_notices WHERE id = $1 AND resolved_at IS NULL FOR UPDATE', [notice])

export const resolveNotice = (tx: Tx, notice: NoticeId, at: number, resolution: string): void =>
  tx.send('UPDATE payment_notices SET resolved_at = $2, resolution = $3 WHERE id = $1', [notice, at, resolution])

export const findProvider = (reader: Reader, name: string): Promise<ProviderRow | undefined> =>
  providerColumns.first(reader, 'SELECT * FROM payment_providers WHERE name = $1', [name])

export const listProviders = (reader: Reader): Promise<ProviderRow[]> =>
  providerColumns.all(reader, 'SELECT * FROM payment_providers ORDER BY name')

export const writeProvider = (tx: Tx, provider: ProviderRow): void =>
  tx.send(
    `INSERT INTO payment_providers (${providerColumns.names}) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO UPDATE SET settings = $2, secret = $3, enabled = $4, changed_at = $5`,
    providerColumns.values(provider),
  )

/** False if a code of that name exists. */
export async function insertCode(tx: Tx, code: PromoCode): Promise<boolean> {
  const sql = `INSERT INTO payment_codes (${codeColumns.names}) VALUES (${list(9)}) ON CONFLICT (code) DO NOTHING`
  return (await tx.run(sql, codeColumns.values(code))) === 1
}

/** Locks a promo code until the transaction ends, so that two payments cannot both get its last use. */
export const lockCode = (tx: Tx, code: string): Promise<PromoCode | undefined> =>
  codeColumns.first(tx, 'SELECT * FROM payment_codes WHERE code = $1 FOR UPDATE', [code])

export const findCode = (reader: Reader, code: string): Promise<PromoCode | undefined> =>
  codeColumns.first(reader, 'SELECT * FROM payment_codes WHERE code = $1', [code])

export const listCodes = (reader: Reader, limit: number): Promise<PromoCode[]> =>
  codeColumns.all(reader, 'SELECT * FROM payment_codes ORDER BY created_at DESC, code LIMIT $1', [limit])

export async function endCode(tx: Tx, code: string, at: number): Promise<boolean> {
  return (await tx.run('UPDATE payment_codes SET ended_at = $2 WHERE code = $1 AND ended_at IS NULL', [code, at])) === 1
}

const termsColumns = columnsOf<ReferralTerms>({ hundredths: int('hundredths'), topUps: int('top_ups') })

export const findTerms = (reader: Reader): Promise<ReferralTerms | undefined> =>
  termsColumns.first(reader, 'SELECT hundredths, top_ups FROM referral_terms WHERE one = 1')

export const writeTerms = (tx: Tx, { hundredths, topUps }: ReferralTerms, at: number): void =>
  tx.send(
    `INSERT INTO referral_terms (one, hundredths, top_ups, changed_at) VALUES (1, $1, $2, $3)
     ON CONFLICT (one) DO UPDATE SET hundredths = $1, top_ups = $2, changed_at = $3`,
    [hundredths, topUps, at],
  )

const customerIds = valuesOf(idColumn<CustomerId>('id'))

/** False if the customer has a referrer. */
export async function insertReferral(tx: Tx, customer: CustomerId, referrer: CustomerId, at: number): Promise<boolean> {
  const added = await tx.run(
    'INSERT INTO referrals (customer_id, referrer_id, at) VALUES ($1, $2, $3) ON CONFLICT (customer_id) DO NOTHING',
    [customer, referrer, at],
  )
  return added === 1
}

export const findReferrer = (reader: Reader, customer: CustomerId): Promise<CustomerId | undefined> =>
  customerIds.first(reader, 'SELECT referrer_id AS id FROM referrals WHERE customer_id = $1', [customer])

export const findByReferralCode = (reader: Reader, code: string): Promise<CustomerId | undefined> =>
  customerIds.first(reader, 'SELECT customer_id AS id FROM referral_codes WHERE code = $1', [code])

export const findReferralCode = (reader: Reader, customer: CustomerId): Promise<string | undefined> =>
  valuesOf(textColumn('code')).first(reader, 'SELECT code FROM referral_codes WHERE customer_id = $1', [customer])

/** False if the customer has a code, or another customer has this one. */
export async function insertReferralCode(tx: Tx, customer: CustomerId, code: string, at: number): Promise<boolean> {
  const added = await tx.run(
    'INSERT INTO referral_codes (customer_id, code, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [customer, code, at],
  )
  return added === 1
}

const broughtSums = columnsOf({ brought: int('brought'), earned: money('earned') })

/** How many customers a referrer has brought, and the shares of their payments, less those that went back. */
export async function sumBrought(reader: Reader, referrer: CustomerId) {
  const sums = await broughtSums.first(
    reader,
    `SELECT (SELECT COUNT(*) FROM referrals WHERE referrer_id = $1) AS brought,
       (SELECT CAST(COALESCE(SUM(payment_changes.amount), 0) AS BIGINT) FROM referrals
        JOIN payments ON payments.customer_id = referrals.customer_id
        JOIN payment_changes ON payment_changes.payment_id = payments.id
        WHERE referrals.referrer_id = $1 AND payment_changes.kind IN ('share', 'share_back')) AS earned`,
    [referrer],
  )
  return sums ?? { brought: 0, earned: zero }
}

const referrals = columnsOf({
  customer: textColumn('customer_id'),
  referrer: textColumn('referrer_id'),
  at: int('at'),
})

export const listReferrals = (reader: Reader, limit: number) =>
  referrals.all(reader, 'SELECT * FROM referrals ORDER BY at DESC, customer_id LIMIT $1', [limit])
