import type { CustomerId, DeliveryId, WebhookId } from '../../core/ids.ts'
import { bytes, columnsOf, flag, idColumn, int, oneOf, orNull, textColumn, textList } from '../../db/columns.ts'
import { changesOne, countBy, list, sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import {
  attemptMs,
  type CheckedDelivery,
  deliveryStatuses,
  maxSlowOfCustomer,
  type Progress,
  slowMs,
  type Webhook,
  type WebhookDelivery,
} from './rules.ts'

const webhooks = columnsOf<Webhook>({
  id: idColumn('id'),
  customer: idColumn('customer_id'),
  url: textColumn('url'),
  events: textList('events'),
  sealedSecrets: bytes('secrets'),
  oldSecrets: orNull(bytes('old_secrets')),
  oldUntil: orNull(int('old_until')),
  state: oneOf('state', ['enabled', 'disabled']),
  problem: orNull(textColumn('problem')),
  createdAt: int('created_at'),
})

const progress = columnsOf<Progress>({
  webhook: idColumn('webhook_id'),
  customer: idColumn('customer_id'),
  doneSeq: int('done_seq'),
  tries: int('tries'),
  tookMs: int('took_ms'),
  nextAt: int('next_at'),
  asked: flag('asked'),
  lease: textColumn('lease'),
  leaseUntil: int('lease_until'),
  leasedAt: int('leased_at'),
})

const deliveryColumns = {
  id: idColumn<DeliveryId>('id'),
  webhook: idColumn<WebhookId>('webhook_id'),
  customer: idColumn<CustomerId>('customer_id'),
  seq: int('seq'),
  type: textColumn('type'),
  status: oneOf('status', deliveryStatuses),
  tries: int('tries'),
  createdAt: int('created_at'),
  triedAt: orNull(int('tried_at')),
  answerStatus: orNull(int('answer_status')),
  problem: orNull(textColumn('problem')),
  tookMs: orNull(int('took_ms')),
} as const
const deliveries = columnsOf<WebhookDelivery>(deliveryColumns)

const checkedDeliveries = columnsOf<CheckedDelivery>({
  ...deliveryColumns,
  ownerOfWebhook: orNull(textColumn('owner_of_webhook')),
  typeOfEvent: orNull(textColumn('type_of_event')),
  lastSeq: int('last_seq'),
})

/** SQLite uses a partial index only if the query repeats its condition. */
const isWaiting = `status IN ('waiting', 'retrying') AND status = 'waiting'`

export function insertWebhook(tx: Tx, webhook: Webhook, doneSeq: number): void {
  tx.send(`INSERT INTO webhooks (${webhooks.names}) VALUES (${list(10)})`, webhooks.values(webhook))
  const { id, customer, createdAt } = webhook
  const began: Progress = {
    webhook: id,
    customer,
    doneSeq,
    tries: 0,
    tookMs: attemptMs,
    nextAt: 0,
    asked: false,
    lease: '',
    leaseUntil: 0,
    leasedAt: createdAt,
  }
  tx.send(`INSERT INTO webhook_progress (${progress.names}) VALUES (${list(10)})`, progress.values(began))
}

/** Writes what its owner may change. */
export const updateWebhook = (tx: Tx, of: Webhook): void =>
  tx.send(
    `UPDATE webhooks SET url = $2, events = $3, secrets = $4, old_secrets = $5, old_until = $6, state = $7, problem = $8
     WHERE id = $1`,
    [of.id, of.url, of.events.join(' '), of.sealedSecrets, of.oldSecrets, of.oldUntil, of.state, of.problem],
  )

/** Deletes an endpoint. Its deliveries stay for 30 days; those that wait end. */
export function deleteWebhook(tx: Tx, id: WebhookId): void {
  tx.send('DELETE FROM webhooks WHERE id = $1', [id])
  tx.send('DELETE FROM webhook_progress WHERE webhook_id = $1', [id])
  tx.send(
    `UPDATE webhook_deliveries SET status = 'failed', problem = 'removed'
     WHERE webhook_id = $1 AND status IN ('waiting', 'retrying')`,
    [id],
  )
}

export const listWebhooks = (reader: Reader, customer: CustomerId): Promise<Webhook[]> =>
  webhooks.all(reader, 'SELECT * FROM webhooks WHERE customer_id = $1 ORDER BY id', [customer])

export const findWebhook = (reader: Reader, id: WebhookId): Promise<Webhook | undefined> =>
  webhooks.first(reader, 'SELECT * FROM webhooks WHERE id = $1', [id])

/** Locks an endpoint of a customer, so that its changes are serialised; undefined for another customer's. */
export const lockWebhook = (tx: Tx, customer: CustomerId, id: WebhookId): Promise<Webhook | undefined> =>
  webhooks.first(tx, 'SELECT * FROM webhooks WHERE id = $1 AND customer_id = $2 FOR UPDATE', [id, customer])

/** The owners of enabled endpoints. */
export async function listOwners(reader: Reader): Promise<ReadonlySet<CustomerId>> {
  const rows = await reader.all<{ customer_id: CustomerId }>(
    `SELECT DISTINCT customer_id FROM webhooks WHERE state = 'enabled'`,
  )
  return new Set(rows.map((row) => row.customer_id))
}

/** Every endpoint, for `verify`. */
export const webhooksAfter = (reader: Reader, after: string, limit: number): Promise<Webhook[]> =>
  webhooks.all(reader, 'SELECT * FROM webhooks WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])

/** Endpoints whose progress is missing or impossible, and progress of no endpoint, for `verify`. */
export const brokenProgress = (reader: Reader, limit: number): Promise<{ id: string }[]> =>
  reader.all<{ id: string }>(
    `SELECT COALESCE(webhooks.id, seen.webhook_id) AS id FROM webhooks
     FULL JOIN webhook_progress AS seen ON seen.webhook_id = webhooks.id
     LEFT JOIN event_numbers ON event_numbers.customer_id = seen.customer_id
     WHERE webhooks.id IS NULL OR seen.webhook_id IS NULL OR seen.customer_id <> webhooks.customer_id
       OR seen.done_seq < 0 OR seen.done_seq > COALESCE(event_numbers.last, 0) OR seen.tries < 0 OR seen.took_ms < 0
       OR (seen.lease = '' AND seen.lease_until <> 0)
       OR (seen.asked = 0 AND EXISTS (
         SELECT 1 FROM webhook_deliveries WHERE webhook_id = seen.webhook_id AND ${isWaiting}))
     ORDER BY 1 LIMIT $1`,
    [limit],
  )

/** A page of deliveries, for `verify`. */
export const deliveriesAfter = (reader: Reader, after: string, limit: number): Promise<CheckedDelivery[]> =>
  checkedDeliveries.all(
    reader,
    `SELECT webhook_deliveries.*, webhooks.customer_id AS owner_of_webhook, events.type AS type_of_event,
       COALESCE(event_numbers.last, 0) AS last_seq
     FROM webhook_deliveries
     LEFT JOIN webhooks ON webhooks.id = webhook_deliveries.webhook_id
     LEFT JOIN events ON events.customer_id = webhook_deliveries.customer_id AND events.seq = webhook_deliveries.seq
     LEFT JOIN event_numbers ON event_numbers.customer_id = webhook_deliveries.customer_id
     WHERE webhook_deliveries.id > $1 ORDER BY webhook_deliveries.id LIMIT $2`,
    [after, limit],
  )

const isSlowNow = 'CASE WHEN tries = 0 AND took_ms <= $3 THEN 0 ELSE 1 END'

/**
 * Endpoints with something to deliver that no shop has a lease on: first those that answered quickly, then the slow
 * ones. Customers with the fewest leases are first, and of one customer the endpoint that was leased longest ago. A
 * customer has a share of the slow leases; `full` customers have attempts of this shop for all of theirs.
 */
export const findDue = (
  reader: Reader,
  nowMs: number,
  limit: number,
  full: readonly CustomerId[],
): Promise<Progress[]> =>
  progress.all(
    reader,
    `SELECT * FROM (
       SELECT webhook_progress.*, ${isSlowNow} AS slow,
         ROW_NUMBER() OVER (PARTITION BY webhook_progress.customer_id, ${isSlowNow}
           ORDER BY CASE WHEN lease_until > $1 THEN 0 ELSE 1 END, leased_at, webhook_id) AS turn
       FROM webhook_progress
       JOIN webhooks ON webhooks.id = webhook_progress.webhook_id
       LEFT JOIN event_numbers ON event_numbers.customer_id = webhook_progress.customer_id
       WHERE webhooks.state = 'enabled' AND (lease_until > $1
         OR (next_at <= $1 AND done_seq < event_numbers.last) OR asked = 1)
     ) AS ranked
     WHERE lease_until <= $1 AND (slow = 0 OR (turn <= $4 AND customer_id NOT IN (${list(full.length + 1, 4)})))
     ORDER BY slow, turn, leased_at, webhook_id LIMIT $2`,
    [nowMs, limit, slowMs, maxSlowOfCustomer, '', ...full],
  )

/** Takes the lease of an endpoint that no shop holds, and returns how far the endpoint is. */
export const takeLease = (tx: Tx, id: WebhookId, lease: string, untilAt: number, nowMs: number) =>
  progress.first(
    tx,
    `UPDATE webhook_progress SET lease = $2, lease_until = $3, leased_at = $4
     WHERE webhook_id = $1 AND lease_until <= $4 RETURNING *`,
    [id, lease, untilAt, nowMs],
  )

/** How far an endpoint is, while the lease is held. */
export const findProgress = (reader: Reader, id: WebhookId, lease: string): Promise<Progress | undefined> =>
  progress.first(reader, 'SELECT * FROM webhook_progress WHERE webhook_id = $1 AND lease = $2', [id, lease])

/** Notes that no test or repetition waits, if that is so. */
export async function settleAsked(tx: Tx, id: WebhookId): Promise<void> {
  // A transaction that adds one locks the endpoint too.
  await tx.all('SELECT id FROM webhooks WHERE id = $1 FOR UPDATE', [id])
  await tx.run(
    `UPDATE webhook_progress SET asked = 0 WHERE webhook_id = $1 AND NOT EXISTS
       (SELECT 1 FROM webhook_deliveries WHERE webhook_id = $1 AND ${isWaiting})`,
    [id],
  )
}

type ProgressStep = Pick<Progress, 'webhook' | 'lease' | 'doneSeq' | 'tries' | 'tookMs' | 'nextAt' | 'leaseUntil'>

/** Writes how far a lease holder has come; false if another shop has the lease now. */
export const writeStep = (tx: Tx, of: ProgressStep): Promise<boolean> =>
  changesOne(
    tx,
    `UPDATE webhook_progress SET done_seq = $3, tries = $4, took_ms = $5, next_at = $6, lease_until = $7
     WHERE webhook_id = $1 AND lease = $2`,
    [of.webhook, of.lease, of.doneSeq, of.tries, of.tookMs, of.nextAt, of.leaseUntil],
  )

/** Lets the next event be tried at once, as the first of an endpoint is. */
export const tryNow = (tx: Tx, id: WebhookId): void =>
  tx.send('UPDATE webhook_progress SET next_at = 0, tries = 0, took_ms = $2 WHERE webhook_id = $1', [id, attemptMs])

/** Ends the lease of the shop that delivers with the former address, types or secrets; it stops at its next write. */
export const breakLease = (tx: Tx, id: WebhookId): void =>
  tx.send(`UPDATE webhook_progress SET lease = '', lease_until = 0 WHERE webhook_id = $1`, [id])

export const setAsked = (tx: Tx, id: WebhookId, asked: boolean): void =>
  tx.send('UPDATE webhook_progress SET asked = $2 WHERE webhook_id = $1', [id, asked ? 1 : 0])

/** Writes attempts. The row of an event that was tried before keeps its id. */
export function writeDeliveries(tx: Tx, tried: readonly WebhookDelivery[]): void {
  const events = tried.filter(({ seq }) => seq > 0)
  sendRows(
    tx,
    `INSERT INTO webhook_deliveries (${deliveries.names})`,
    events.map(deliveries.values),
    `ON CONFLICT (webhook_id, seq) WHERE seq > 0 DO UPDATE SET status = excluded.status,
       tries = webhook_deliveries.tries + 1, tried_at = excluded.tried_at, answer_status = excluded.answer_status,
       problem = excluded.problem, took_ms = excluded.took_ms`,
  )
}

export const insertTest = (tx: Tx, of: WebhookDelivery): void =>
  sendRows(tx, `INSERT INTO webhook_deliveries (${deliveries.names})`, [deliveries.values(of)])

/** Writes the attempt of a test or a repetition. */
export const writeSingle = (tx: Tx, of: WebhookDelivery): void =>
  tx.send(
    `UPDATE webhook_deliveries SET status = $2, tries = $3, tried_at = $4, answer_status = $5, problem = $6,
       took_ms = $7 WHERE id = $1`,
    [of.id, of.status, of.tries, of.triedAt, of.answerStatus, of.problem, of.tookMs],
  )

export const setWaiting = (tx: Tx, id: DeliveryId): void =>
  tx.send(`UPDATE webhook_deliveries SET status = 'waiting' WHERE id = $1`, [id])

export const listWaiting = (reader: Reader, webhook: WebhookId, limit: number): Promise<WebhookDelivery[]> =>
  deliveries.all(
    reader,
    `SELECT * FROM webhook_deliveries WHERE webhook_id = $1 AND ${isWaiting} ORDER BY id LIMIT $2`,
    [webhook, limit],
  )

export const countWaiting = (reader: Reader, webhook: WebhookId): Promise<number> =>
  countBy(reader, `SELECT COUNT(*) AS n FROM webhook_deliveries WHERE webhook_id = $1 AND ${isWaiting}`, [webhook])

export const findDelivery = (
  reader: Reader,
  customer: CustomerId,
  id: DeliveryId,
): Promise<WebhookDelivery | undefined> =>
  deliveries.first(reader, 'SELECT * FROM webhook_deliveries WHERE id = $1 AND customer_id = $2', [id, customer])

export type DeliveryFilter = {
  readonly before: string
  readonly limit: number
  readonly webhook: string
  readonly status: string
}

/** A page of a customer's deliveries, newest first. */
export const listDeliveries = (reader: Reader, customer: CustomerId, of: DeliveryFilter): Promise<WebhookDelivery[]> =>
  deliveries.all(
    reader,
    `SELECT * FROM webhook_deliveries
     WHERE customer_id = $1 AND id < $2 AND ($3 = '' OR webhook_id = $3) AND ($4 = '' OR status = $4)
     ORDER BY id DESC LIMIT $5`,
    [customer, of.before, of.webhook, of.status, of.limit],
  )

export const deleteDeliveries = (tx: Tx, before: number, limit: number): Promise<number> =>
  tx.run(
    `DELETE FROM webhook_deliveries WHERE id IN
       (SELECT id FROM webhook_deliveries WHERE created_at <= $1 ORDER BY created_at, id LIMIT $2)`,
    [before, limit],
  )
