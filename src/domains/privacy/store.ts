import type { CustomerId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import { containing, list, padded } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type Lost, type Place } from './rules.ts'
import { type Holding, holdings } from './store-holdings.ts'

type Cell = string | bigint | Uint8Array | null
type Row = Record<string, Cell>

/** Rows of one table that tell of a customer, after a key. */
export function rowsAfter(
  reader: Reader,
  { table, of, key }: Holding,
  customer: CustomerId,
  after: Place['after'],
  limit: number,
): Promise<Row[]> {
  const columns = key.join(', ')
  const beyond = after.length === 0 ? '' : `AND (${columns}) > (${list(after.length, 1)})`
  return reader.all<Row>(`SELECT * FROM ${table} WHERE ${of} ${beyond} ORDER BY ${columns} LIMIT ${limit}`, [
    customer,
    ...after,
  ])
}

export const holdingAt = (index: number): Holding | undefined => holdings[index]

/** What a customer has now that goes with him. */
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

/** From now on history is blanked for this customer; once more, if he was erased before. */
export async function beginErasure(tx: Tx, customer: CustomerId, by: 'customer' | 'operator', nowMs: number) {
  await tx.run(
    `INSERT INTO erasures (customer_id, asked_by, at) VALUES ($1, $2, $3)
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

/** History is blanked for erasures that are not finished, and for no others. */
export async function reopenErasure(tx: Tx, customer: string): Promise<void> {
  await tx.run('UPDATE erasures SET finished_at = NULL WHERE customer_id = $1', [customer])
}

/**
 * Those that were begun since and are finished, after one of them: what was on its way to the database then may have
 * come after it. When they were begun stays, however often they are looked at.
 */
export async function begunSince(reader: Reader, atMs: number, after: string): Promise<CustomerId[]> {
  const rows = await reader.all<{ customer_id: string }>(
    `SELECT customer_id FROM erasures WHERE at > $1 AND finished_at IS NOT NULL AND customer_id > $2
     ORDER BY customer_id LIMIT 100`,
    [atMs, after],
  )
  return rows.map((row) => row.customer_id as CustomerId)
}

/** Those that something has interrupted. */
export async function unfinished(reader: Reader): Promise<CustomerId[]> {
  const rows = await reader.all<{ customer_id: string }>(
    'SELECT customer_id FROM erasures WHERE finished_at IS NULL ORDER BY customer_id LIMIT 100',
  )
  return rows.map((row) => row.customer_id as CustomerId)
}

export async function findErasure(
  reader: Reader,
  customer: CustomerId,
): Promise<{ at: bigint; finished_at: bigint | null } | undefined> {
  return reader.first('SELECT at, finished_at FROM erasures WHERE customer_id = $1', [customer])
}

/** Who he is, how he comes in and what he was told is gone; his tokens stay as numbers that money went through. */
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
  // An address that waited to be confirmed stands in its link, which has no owner.
  for (const address of new Set([kept?.login, kept?.email])) {
    if (!address) continue
    await tx.run(`DELETE FROM console_links WHERE owner_id IS NULL AND payload LIKE $1 ESCAPE '!'`, [
      containing(`"email":${JSON.stringify(address)}`),
    ])
  }
  await tx.run(`DELETE FROM console_sessions WHERE owner_id = $1 AND kind = 'customer'`, [customer])
  await tx.run('DELETE FROM answers WHERE customer_id = $1', [customer])
  await tx.run('DELETE FROM events WHERE customer_id = $1', [customer])
}

/** Where his bytes went, a bounded number of rows at a time; tells how many. */
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

type Answered = { key: string; request: string; answer: string }

/** What operators were told about him under a key. */
export const operatorAnswers = (reader: Reader, customer: CustomerId): Promise<Answered[]> =>
  reader.all<Answered>(
    `SELECT key, request, answer FROM operator_answers
     WHERE request LIKE $1 ESCAPE '!' OR answer LIKE $1 ESCAPE '!'`,
    [containing(customer)],
  )

export async function redactAnswer(tx: Tx, key: string, request: string, answer: string): Promise<void> {
  await tx.run('UPDATE operator_answers SET request = $2, answer = $3 WHERE key = $1', [key, request, answer])
}

/** Which of these ids and numbers are his: things that he has or had. */
export async function ownedAmong(
  reader: Reader,
  customer: CustomerId,
  ids: readonly string[],
  numbers: readonly number[],
): Promise<Set<string>> {
  const owned = new Set<string>()
  if (ids.length > 0) {
    const asked = padded(ids)
    const places = list(asked.length, 1)
    const rows = await reader.all<{ id: string }>(
      `SELECT id FROM tokens WHERE customer_id = $1 AND id IN (${places})
       UNION ALL SELECT id FROM orders WHERE customer_id = $1 AND id IN (${places})
       UNION ALL SELECT id FROM payments WHERE customer_id = $1 AND id IN (${places})
       UNION ALL SELECT id FROM subusers WHERE customer_id = $1 AND id IN (${places})
       UNION ALL SELECT uuid FROM vpn_subscriptions WHERE customer_id = $1 AND uuid IN (${places})`,
      [customer, ...asked],
    )
    for (const row of rows) owned.add(row.id)
  }
  if (numbers.length > 0) {
    const asked = padded(numbers)
    const rows = await reader.all<{ id: bigint }>(
      `SELECT id FROM proxies WHERE customer_id = $1 AND id IN (${list(asked.length, 1)})`,
      [customer, ...asked],
    )
    for (const row of rows) owned.add(String(row.id))
  }
  return owned
}

/** When he came, and what the history says of him first: whoever added him was asked for his name. */
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
