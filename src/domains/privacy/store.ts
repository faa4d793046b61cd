import type { CustomerId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import { checksumOf } from '../../db/checksum.ts'
import { idColumn, valuesOf } from '../../db/columns.ts'
import { allOf, containing, list, padded } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type ExportPosition, type Lost, withoutNames } from './rules.ts'
import type { Holding } from './store-holdings.ts'

type Cell = string | bigint | Uint8Array | null
type Row = Record<string, Cell>

/** Rows of one table about a customer, after a key. */
export function rowsAfter(
  reader: Reader,
  { table, of, key }: Holding,
  customer: CustomerId,
  after: ExportPosition['after'],
  limit: number,
): Promise<Row[]> {
  const columns = key.join(', ')
  const beyond = after.length === 0 ? '' : `AND (${columns}) > (${list(after.length, 1)})`
  const sql = `SELECT * FROM ${table} WHERE ${of} ${beyond} ORDER BY ${columns} LIMIT ${limit}`
  return reader.all<Row>(sql, [customer, ...after])
}

/** What an erasure would destroy. */
export async function findLost(
  reader: Reader,
  customer: CustomerId,
  balance: Lost['balance'],
  nowMs: number,
): Promise<Lost> {
  const row = await reader.first<Record<'proxies' | 'subscriptions' | 'payments', bigint> & { bytes: bigint | null }>(
    `SELECT
       (SELECT COUNT(*) FROM proxies WHERE customer_id = $1 AND state = 'held' AND expires_at > $2) AS proxies,
       (SELECT COUNT(*) FROM vpn_subscriptions
        WHERE customer_id = $1 AND deleted_at IS NULL AND expires_at > $2) AS subscriptions,
       (SELECT COUNT(*) FROM payments WHERE customer_id = $1 AND state IN ('new', 'pending')) AS payments,
       (SELECT CAST(SUM(balance + aside) AS BIGINT) FROM traffic_accounts
        WHERE subuser_id IN (SELECT id FROM subusers WHERE customer_id = $1)) AS bytes`,
    [customer, nowMs],
  )
  return {
    balance: kopecks(balance),
    proxies: Number(row?.proxies ?? 0n),
    subscriptions: Number(row?.subscriptions ?? 0n),
    trafficBytes: row?.bytes ?? 0n,
    openPayments: Number(row?.payments ?? 0n),
  }
}

/** Begins or repeats an erasure, which lets the history of this customer be blanked. */
export async function beginErasure(tx: Tx, customer: CustomerId, by: 'customer' | 'operator', nowMs: number) {
  await tx.run(
    `INSERT INTO erasures (customer_id, requested_by, at) VALUES ($1, $2, $3)
     ON CONFLICT (customer_id) DO UPDATE SET finished_at = NULL`,
    [customer, by, nowMs],
  )
}

export async function finishErasure(tx: Tx, customer: string, nowMs: number): Promise<void> {
  await tx.run(
    `UPDATE erasures SET finished_at = CASE WHEN at > $2 THEN at ELSE $2 END
     WHERE customer_id = $1 AND finished_at IS NULL`,
    [customer, nowMs],
  )
}

/** The history can be blanked only for an unfinished erasure. */
export async function reopenErasure(tx: Tx, customer: string): Promise<void> {
  await tx.run('UPDATE erasures SET finished_at = NULL WHERE customer_id = $1', [customer])
}

/** Finished erasures begun since a moment, in pages: a request in flight may have written after them. */
export const begunSince = (reader: Reader, atMs: number, after: string): Promise<CustomerId[]> =>
  valuesOf(idColumn<CustomerId>('customer_id')).all(
    reader,
    `SELECT customer_id FROM erasures WHERE at > $1 AND finished_at IS NOT NULL AND customer_id > $2
     ORDER BY customer_id LIMIT 100`,
    [atMs, after],
  )

export const unfinished = (reader: Reader): Promise<CustomerId[]> =>
  valuesOf(idColumn<CustomerId>('customer_id')).all(
    reader,
    'SELECT customer_id FROM erasures WHERE finished_at IS NULL ORDER BY customer_id LIMIT 100',
  )

export const findErasure = (reader: Reader, customer: CustomerId) =>
  reader.first<{ at: bigint }>('SELECT at FROM erasures WHERE customer_id = $1', [customer])

/**
 * Deletes identity, sessions, answers, events and endpoints of webhooks. Tokens stay, without name and hint, for the
 * postings.
 */
export async function blankPerson(tx: Tx, customer: CustomerId, nowMs: number): Promise<void> {
  const kept = await tx.first<{ login: string; email: string | null }>(
    'SELECT login, email FROM identities WHERE owner_id = $1',
    [customer],
  )
  await tx.run(`UPDATE customers SET name = 'deleted', note = NULL WHERE id = $1`, [customer])
  await tx.run(
    `UPDATE tokens SET name = 'erased', hint = '', allowed_from = '', used_at = NULL, used_from = NULL,
       revoked_at = COALESCE(revoked_at, $2)
     WHERE customer_id = $1 AND (name <> 'erased' OR revoked_at IS NULL)`,
    [customer, nowMs],
  )
  await tx.run('DELETE FROM identities WHERE owner_id = $1', [customer])
  await tx.run('DELETE FROM referral_codes WHERE customer_id = $1', [customer])
  await tx.run('DELETE FROM console_links WHERE owner_id = $1', [customer])
  // The link of an unconfirmed address has no owner.
  for (const address of new Set([kept?.login, kept?.email])) {
    if (!address) continue
    await tx.run(`DELETE FROM console_links WHERE owner_id IS NULL AND payload LIKE $1 ESCAPE '!'`, [
      containing(`"email":${JSON.stringify(address)}`),
    ])
  }
  await tx.run(`DELETE FROM console_sessions WHERE owner_id = $1 AND kind = 'customer'`, [customer])
  await tx.run('DELETE FROM answers WHERE customer_id = $1', [customer])
  await tx.run('DELETE FROM events WHERE customer_id = $1', [customer])
  for (const table of [
    'webhook_deliveries',
    'webhook_progress',
    'webhooks',
    'notice_choices',
    'notice_letters',
    'notice_days',
  ]) {
    await tx.run(`DELETE FROM ${table} WHERE customer_id = $1`, [customer])
  }
}

/** Deletes at most `limit` hosts of the customer's traffic; returns how many. */
export async function forgetHosts(tx: Tx, customer: CustomerId, limit: number): Promise<number> {
  const hosts = await tx.run(
    `DELETE FROM traffic_hosts WHERE (subuser_id, pool, hour, host) IN
       (SELECT subuser_id, pool, hour, host FROM traffic_hosts
        WHERE subuser_id IN (SELECT id FROM subusers WHERE customer_id = $1) LIMIT $2)`,
    [customer, limit],
  )
  const counts = await tx.run(
    `DELETE FROM usage_counts WHERE (node, boot, subject) IN
       (SELECT node, boot, subject FROM usage_counts JOIN subusers
          ON subject >= 'premium-host:' || subusers.id || ':' AND subject < 'premium-host:' || subusers.id || ';'
        WHERE subusers.customer_id = $1 LIMIT $2)`,
    [customer, limit],
  )
  return Math.max(hosts, counts)
}

type OperatorAnswer = { key: string; request: string; answer: string }

/** Operators' stored answers about a customer. */
export const operatorAnswers = (reader: Reader, customer: CustomerId): Promise<OperatorAnswer[]> =>
  reader.all<OperatorAnswer>(
    `SELECT key, request, answer FROM operator_answers
     WHERE request LIKE $1 ESCAPE '!' OR answer LIKE $1 ESCAPE '!'`,
    [containing(customer)],
  )

export async function redactAnswer(tx: Tx, key: string, request: string, answer: string): Promise<void> {
  await tx.run('UPDATE operator_answers SET request = $2, answer = $3 WHERE key = $1', [key, request, answer])
}

/** The key of an operator's sealed answer, and the ids that the request and the answer name. */
export type SealedAnswer = { readonly customer_id: string; readonly key: string; readonly named_ids: string }

export const operatorsSealedAnswers = (reader: Reader, after: SealedAnswer, limit: number): Promise<SealedAnswer[]> =>
  reader.all<SealedAnswer>(
    `SELECT customer_id, key, named_ids FROM answers
     WHERE named_ids IS NOT NULL AND (customer_id, key) > ($1, $2) ORDER BY customer_id, key LIMIT $3`,
    [after.customer_id, after.key, limit],
  )

export async function deleteSealedAnswer(tx: Tx, { customer_id, key }: SealedAnswer): Promise<void> {
  await tx.run('DELETE FROM answers WHERE customer_id = $1 AND key = $2', [customer_id, key])
}

/** Which of these ids and proxy numbers belong or belonged to the customer. */
export async function ownedAmong(
  reader: Reader,
  customer: CustomerId,
  ids: readonly string[],
  numbers: readonly number[],
): Promise<Set<string>> {
  const things = (among: string) =>
    `SELECT id FROM tokens WHERE customer_id = $1 AND id IN (${among})
     UNION ALL SELECT id FROM orders WHERE customer_id = $1 AND id IN (${among})
     UNION ALL SELECT id FROM payments WHERE customer_id = $1 AND id IN (${among})
     UNION ALL SELECT id FROM subusers WHERE customer_id = $1 AND id IN (${among})
     UNION ALL SELECT uuid FROM vpn_subscriptions WHERE customer_id = $1 AND uuid IN (${among})`
  const proxies = (among: string) => `SELECT id FROM proxies WHERE customer_id = $1 AND id IN (${among})`
  const rows = [
    ...(await allOf<{ id: string }>(reader, ids, things, [customer])),
    ...(await allOf<{ id: bigint }>(reader, numbers, proxies, [customer])),
  ]
  return new Set(rows.map((row) => String(row.id)))
}

/** When the customer was added, and the first version of the row, which has the name. */
export async function findBeginning(
  reader: Reader,
  customer: CustomerId,
): Promise<{ createdAt: number; content: string } | undefined> {
  const row = await reader.first<{ created_at: bigint; content: string | null }>(
    `SELECT created_at, (SELECT content FROM row_history
       WHERE of_table = 'customers' AND row_key = customers.id AND version = 1) AS content
     FROM customers WHERE id = $1`,
    [customer],
  )
  return row && { createdAt: Number(row.created_at), content: row.content ?? '' }
}

/** Blanks at most `limit` of a customer's rows and returns how many. */
type Blanking = (tx: Tx, customer: CustomerId, limit: number, nowMs: number) => Promise<number>
/** The same for rows that do not show whether they are blank, after a key. Returns the last key. */
type Walk = (tx: Tx, customer: CustomerId, after: string, limit: number) => Promise<string | undefined>

/** Names, client addresses and automatic renewals. */
export const blankings: readonly Blanking[] = [
  (tx, customer, limit) =>
    tx.run(
      `DELETE FROM request_log WHERE (customer_id, at, request_id) IN
         (SELECT customer_id, at, request_id FROM request_log WHERE customer_id = $1 LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit) =>
    tx.run(
      `DELETE FROM metadata WHERE (customer_id, kind, subject, key) IN
         (SELECT customer_id, kind, subject, key FROM metadata WHERE customer_id = $1 LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit) =>
    tx.run(
      `DELETE FROM proxy_days WHERE (proxy_id, day_at) IN
         (SELECT proxy_id, day_at FROM proxy_days
          WHERE proxy_id IN (SELECT id FROM proxies WHERE customer_id = $1) LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit) =>
    tx.run(
      `UPDATE proxies SET comment = '', sources = '', renew_period = NULL, renew_token_id = NULL
       WHERE id IN (SELECT id FROM proxies WHERE customer_id = $1
         AND (comment <> '' OR sources <> '' OR renew_period IS NOT NULL) LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit) =>
    tx.run(
      `UPDATE vpn_subscriptions SET auto_renew_months = NULL, renew_token_id = NULL, name = NULL
       WHERE uuid IN (SELECT uuid FROM vpn_subscriptions
         WHERE customer_id = $1 AND (auto_renew_months IS NOT NULL OR name IS NOT NULL) LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit, nowMs) =>
    tx.run(
      `UPDATE vpn_peers SET name = 'erased', last_handshake_at = NULL, last_protocol = NULL, last_node = NULL,
         changed_at = $3
       WHERE id IN (SELECT id FROM vpn_peers
         WHERE subscription_uuid IN (SELECT uuid FROM vpn_subscriptions WHERE customer_id = $1)
           AND (name <> 'erased' OR last_handshake_at IS NOT NULL) LIMIT $2)`,
      [customer, limit, nowMs],
    ),
  (tx, customer, limit) =>
    tx.run(
      `DELETE FROM whitelist_entries WHERE (subuser_id, prefix) IN
         (SELECT subuser_id, prefix FROM whitelist_entries
          WHERE subuser_id IN (SELECT id FROM subusers WHERE customer_id = $1) LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit, nowMs) =>
    tx.run(
      `UPDATE subusers SET name = 'erased', keep_hosts = 0, changed_at = $3
       WHERE id IN (SELECT id FROM subusers
         WHERE customer_id = $1 AND (name <> 'erased' OR keep_hosts = 1) LIMIT $2)`,
      [customer, limit, nowMs],
    ),
  (tx, customer, limit) =>
    tx.run(
      `UPDATE payments SET return_url = NULL, pay_url = NULL, qr = NULL, key = NULL, request = $3
       WHERE id IN (SELECT id FROM payments WHERE customer_id = $1 AND (return_url IS NOT NULL OR pay_url IS NOT NULL
         OR qr IS NOT NULL OR key IS NOT NULL OR request <> $3) LIMIT $2)`,
      [customer, limit, new Uint8Array(0)],
    ),
]

/** Replaces chosen logins of sub-users by neutral ones, also in the parameters of gateway ports. */
async function blankLogins(tx: Tx, customer: CustomerId, after: string, limit: number): Promise<string | undefined> {
  const chosen = await tx.all<{ id: string; login: string }>(
    `SELECT id, login FROM subusers WHERE customer_id = $1 AND id > $2 AND login <> 'u' || SUBSTR(id, 5)
     ORDER BY id LIMIT $3`,
    [customer, after, limit],
  )
  for (const { id, login } of chosen) {
    const plain = await freeLogin(tx, `u${id.slice(4)}`, id)
    await tx.run('UPDATE subusers SET login = $2 WHERE id = $1', [id, plain])
    await tx.run(
      'UPDATE gateway_ports SET parameters = $2 || SUBSTR(parameters, CAST($3 AS INTEGER)) WHERE subuser_id = $1',
      [id, plain, login.length + 1],
    )
  }
  return chosen.at(-1)?.id
}

/** Another sub-user may have chosen the neutral login. */
async function freeLogin(tx: Tx, plain: string, id: string): Promise<string> {
  const taken = await tx.first('SELECT id FROM subusers WHERE login = $1 AND id <> $2', [plain, id])
  return taken ? freeLogin(tx, `${plain}x`, id) : plain
}

/** Removes a device's name and key from requests of orders and pending purchases. */
const blankRequests =
  (table: 'orders' | 'payments', column: 'input' | 'purchase_input'): Walk =>
  async (tx, customer, after, limit) => {
    const rows = await tx.all<{ id: string; input: string }>(
      `SELECT id, ${column} AS input FROM ${table} WHERE customer_id = $1 AND id > $2 AND
         (${column} LIKE '%"name"%' OR ${column} LIKE '%"public_key"%' OR ${column} LIKE '%"publicKey"%'
          OR ${column} LIKE '%"comment"%' OR ${column} LIKE '%"metadata"%')
       ORDER BY id LIMIT $3`,
      [customer, after, limit],
    )
    for (const { id, input } of rows) {
      await tx.run(`UPDATE ${table} SET ${column} = $2 WHERE id = $1`, [id, withoutNames(input)])
    }
    return rows.at(-1)?.id
  }

/** Removes idempotency keys, which the customer chose, from orders. */
async function blankKeys(tx: Tx, customer: CustomerId, after: string, limit: number): Promise<string | undefined> {
  const rows = await tx.all<{ id: string }>(
    `SELECT id FROM orders WHERE customer_id = $1 AND id > $2 AND idempotency_key IS NOT NULL ORDER BY id LIMIT $3`,
    [customer, after, limit],
  )
  for (const { id } of rows) await tx.run('UPDATE orders SET idempotency_key = NULL WHERE id = $1', [id])
  return rows.at(-1)?.id
}

export const walks: readonly Walk[] = [
  blankLogins,
  blankKeys,
  blankRequests('orders', 'input'),
  blankRequests('payments', 'purchase_input'),
]

/** At most `limit` rows of each kind; returns the largest number of one kind. */
export async function forgetSources(tx: Tx, before: number, limit: number): Promise<number> {
  const tokens = await tx.run(
    `UPDATE tokens SET used_from = NULL WHERE id IN
       (SELECT id FROM tokens WHERE used_from IS NOT NULL AND used_at < $1 LIMIT $2)`,
    [before, limit],
  )
  const entries = await tx.run(
    `UPDATE whitelist_entries SET last_used_at = NULL WHERE (subuser_id, prefix) IN
       (SELECT subuser_id, prefix FROM whitelist_entries WHERE last_used_at < $1 LIMIT $2)`,
    [before, limit],
  )
  const devices = await tx.run(
    `UPDATE vpn_peers SET last_handshake_at = NULL, last_protocol = NULL, last_node = NULL WHERE id IN
       (SELECT id FROM vpn_peers WHERE last_handshake_at < $1 LIMIT $2)`,
    [before, limit],
  )
  return Math.max(tokens, entries, devices)
}

type TrafficAccount = { readonly subuser_id: string; readonly pool: string }
type TrafficHour = { readonly hour: bigint; readonly received: bigint; readonly sent: bigint }

export async function firstHour(reader: Reader): Promise<number | undefined> {
  const row = await reader.first<{ first: bigint | null }>('SELECT MIN(hour) AS first FROM traffic_hours')
  return row?.first === null || row?.first === undefined ? undefined : Number(row.first)
}

/** Accounts with an hour before this moment that is not the first of its month. */
export function accountsToFold(
  reader: Reader,
  before: number,
  monthStarts: readonly number[],
  limit: number,
): Promise<TrafficAccount[]> {
  const starts = padded(monthStarts)
  return reader.all<TrafficAccount>(
    `SELECT DISTINCT subuser_id, pool FROM traffic_hours
     WHERE hour < $1 AND hour NOT IN (${list(starts.length, 2)}) LIMIT $2`,
    [before, limit, ...starts],
  )
}

export function lockHours(tx: Tx, of: TrafficAccount, before: number): Promise<TrafficHour[]> {
  return tx.all<TrafficHour>(
    `SELECT hour, received, sent FROM traffic_hours WHERE subuser_id = $1 AND pool = $2 AND hour < $3
     ORDER BY hour FOR UPDATE`,
    [of.subuser_id, of.pool, before],
  )
}

/** Joins the hours of a month into its first; their sum stays. */
export async function foldMonth(
  tx: Tx,
  of: TrafficAccount,
  month: number,
  hours: readonly TrafficHour[],
): Promise<void> {
  if (hours.length === 1 && hours[0]?.hour === BigInt(month)) return
  let [received, sent] = [0n, 0n]
  for (const each of hours) {
    received += each.received
    sent += each.sent
  }
  const last = hours.at(-1)?.hour ?? BigInt(month)
  const remove = 'DELETE FROM traffic_hours WHERE subuser_id = $1 AND pool = $2 AND hour BETWEEN $3 AND $4'
  await tx.run(remove, [of.subuser_id, of.pool, month, last])
  await tx.run(
    `INSERT INTO traffic_hours (subuser_id, pool, hour, received, sent, checksum) VALUES ($1, $2, $3, $4, $5, $6)`,
    [of.subuser_id, of.pool, month, received, sent, checksumOf([month, received, sent])],
  )
}
