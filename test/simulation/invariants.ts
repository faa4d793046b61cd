import { Database } from 'bun:sqlite'
import { writeFileSync } from 'node:fs'
import type { Reader, Value } from '../../src/db/transaction.ts'
import { BrokenPromise } from './world.ts'

/**
 * The promises of ARCHITECTURE.md about rows, each as a query for what breaks it. They read the tables and none of the
 * shop's code, so that a mistake in `verify` hides nothing.
 */
const broken: readonly (readonly [promise: string, sql: string])[] = [
  [
    'the balance of an account is the sum of its postings',
    `SELECT a.customer_id AS subject FROM accounts a
     LEFT JOIN (SELECT customer_id, SUM(amount) AS total, COUNT(*) AS postings FROM postings GROUP BY customer_id) p
       ON p.customer_id = a.customer_id
     WHERE a.balance <> COALESCE(p.total, 0) OR a.seq <> COALESCE(p.postings, 0)`,
  ],
  [
    'no purchase overdraws an account',
    `SELECT customer_id AS subject FROM postings WHERE kind = 'charge' AND balance_after < 0`,
  ],
  [
    'each order has its charge',
    `SELECT o.id AS subject FROM orders o LEFT JOIN postings p ON p.customer_id = o.customer_id AND p.seq = o.charge_seq
     WHERE o.price > 0 AND (p.order_id IS NULL OR p.order_id <> o.id OR p.amount <> -o.price OR p.kind <> 'charge')`,
  ],
  [
    'each charge has its order',
    `SELECT p.order_id AS subject FROM postings p LEFT JOIN orders o ON o.id = p.order_id AND o.charge_seq = p.seq
     WHERE p.kind = 'charge' AND o.id IS NULL`,
  ],
  [
    'one idempotency key makes one order',
    `SELECT MIN(id) AS subject FROM orders WHERE idempotency_key IS NOT NULL GROUP BY customer_id, idempotency_key
     HAVING COUNT(*) > 1`,
  ],
  [
    'no order is made that was not asked for under a key',
    `SELECT id AS subject FROM orders WHERE idempotency_key IS NULL AND product <> 'premium'`,
  ],
  [
    'no refund exceeds its charge',
    `SELECT order_id AS subject FROM postings WHERE order_id IS NOT NULL GROUP BY order_id HAVING SUM(amount) > 0`,
  ],
  [
    'a dedicated address has one holder at a time',
    `SELECT a.address AS subject FROM proxies a JOIN proxies b ON b.slot_id = a.slot_id AND b.id > a.id
     WHERE a.state = 'held' AND b.state = 'held'`,
  ],
  [
    'no two leases of an address overlap',
    `SELECT CAST(a.slot_id AS TEXT) AS subject FROM leases a JOIN leases b ON b.slot_id = a.slot_id
     WHERE b.started_at > a.started_at AND (a.ended_at IS NULL OR a.ended_at > b.started_at)`,
  ],
  [
    'a held proxy holds its lease',
    `SELECT p.username AS subject FROM proxies p LEFT JOIN leases l ON l.proxy_id = p.id AND l.slot_id = p.slot_id
       AND l.ended_at IS NULL
     WHERE p.state = 'held' AND l.proxy_id IS NULL`,
  ],
  [
    'the events of a customer have no gap',
    `SELECT e.customer_id AS subject FROM events e LEFT JOIN event_numbers n ON n.customer_id = e.customer_id
     GROUP BY e.customer_id, n.last HAVING COUNT(*) <> MAX(e.seq) OR n.last IS NULL OR n.last <> MAX(e.seq)`,
  ],
  [
    'each order has one event',
    `SELECT o.id AS subject FROM orders o
     LEFT JOIN events e ON e.customer_id = o.customer_id AND e.order_id = o.id AND e.type = 'order.created'
     GROUP BY o.id HAVING COUNT(e.seq) <> 1`,
  ],
  [
    'a payment is credited once, with what was paid',
    `SELECT p.id AS subject FROM payments p LEFT JOIN postings c ON c.customer_id = p.customer_id AND c.key = p.id
     GROUP BY p.id, p.credited HAVING COALESCE(SUM(c.amount), 0) <> p.credited OR COUNT(c.seq) > 1`,
  ],
  [
    'a traffic account never holds less than is aside',
    `SELECT subuser_id AS subject FROM traffic_accounts WHERE balance < 0 OR aside < 0`,
  ],
]

const allBroken = broken
  .map(([promise, sql]) => `SELECT '${promise}' AS promise, subject FROM (${sql}) AS found`)
  .join(' UNION ALL ')

/** Throws if the rows of the database break a promise now. */
export async function checkRows(reader: Reader): Promise<void> {
  const found = await reader.first<{ readonly promise: string; readonly subject: string }>(`${allBroken} LIMIT 1`)
  if (found) throw new BrokenPromise(`${found.promise}: not so for ${found.subject}`)
}

/** The bytes that the shop has counted, by byte account. */
export async function readCounted(reader: Reader): Promise<ReadonlyMap<string, number>> {
  const rows = await reader.all<{ subject: string; bytes: bigint }>(
    `SELECT subject, CAST(SUM(believed_received + believed_sent) AS BIGINT) AS bytes
     FROM usage_counts GROUP BY subject`,
  )
  return new Map(rows.map(({ subject, bytes }) => [subject, Number(bytes)]))
}

/** Reads the committed rows of a SQLite file, beside the shop. */
export function openReader(path: string): Reader & { copyTo(file: string): void; close(): void } {
  const connection = new Database(path, { readonly: true, safeIntegers: true, strict: true })
  return {
    all: async <Row>(sql: string, values: readonly Value[] = []): Promise<Row[]> =>
      connection.query<Row, Value[]>(sql.replaceAll(/\$(\d+)/g, '?$1')).all(...values),
    first: async <Row>(sql: string, values: readonly Value[] = []): Promise<Row | undefined> =>
      connection.query<Row, Value[]>(sql.replaceAll(/\$(\d+)/g, '?$1')).get(...values) ?? undefined,
    copyTo: (file) => writeFileSync(file, connection.serialize()),
    close: () => connection.close(),
  }
}
