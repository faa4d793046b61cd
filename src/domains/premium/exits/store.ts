import type { ExitId } from '../../../core/ids.ts'
import { checksumIn, checksumOf } from '../../../db/checksum.ts'
import { chunked, list, numberOrNull, padded, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { type Exit, type ExitWord, readOffers, writeOffers } from './rules.ts'

type Row = {
  id: string
  pool: string
  kind: Exit['kind']
  host: string
  port: bigint | null
  country: string
  state: string
  city: string
  zip: string
  asn: bigint | null
  node_id: string | null
  offers: string | null
  drained_at: bigint | null
  created_at: bigint
  changed_at: bigint
}

const toExit = (row: Row): Exit => ({
  id: row.id as ExitId,
  pool: row.pool,
  kind: row.kind,
  host: row.host,
  port: numberOrNull(row.port),
  country: row.country,
  state: row.state,
  city: row.city,
  zip: row.zip,
  asn: numberOrNull(row.asn),
  offers: row.offers === null ? null : readOffers(row.offers),
  node: row.node_id,
  drainedAt: numberOrNull(row.drained_at),
  createdAt: Number(row.created_at),
  changedAt: Number(row.changed_at),
})

const columns =
  'id, pool, kind, host, port, country, state, city, zip, asn, node_id, offers, drained_at, created_at, changed_at'

export function insertExits(tx: Tx, exits: readonly { exit: Exit; credentials: Uint8Array | null }[]): void {
  sendRows(
    tx,
    `INSERT INTO exits (${columns}, credentials)`,
    exits.map(({ exit, credentials }) => [
      exit.id,
      exit.pool,
      exit.kind,
      exit.host,
      exit.port,
      exit.country,
      exit.state,
      exit.city,
      exit.zip,
      exit.asn,
      exit.node,
      exit.offers && writeOffers(exit.offers),
      exit.drainedAt,
      exit.createdAt,
      exit.changedAt,
      credentials,
    ]),
  )
}

/**
 * Whether each exit is up by what gateways said of it at `$1` or later, as standingOf has it: the word of the gateway
 * that it belongs to, or else at least half of the words. No row where none that counts was ever said.
 */
const standings = `(SELECT of_exit.id AS exit_id,
    CASE WHEN MAX(CASE WHEN said_at >= $1 THEN up ELSE 0 END) = 1
      AND SUM(CASE WHEN said_at < $1 THEN 0 WHEN up = 1 THEN 1 ELSE -1 END) >= 0 THEN 1 ELSE 0 END AS up
  FROM exit_words JOIN exits AS of_exit ON of_exit.id = exit_words.exit_id
  WHERE of_exit.node_id IS NULL OR of_exit.node_id = exit_words.node_id
  GROUP BY of_exit.id)`

/**
 * The exits that are not drained, of all pools, without those that gateways have tried and cannot leave through. What
 * was last said before `believedAt` does not count; what none has tried yet is a no if only what was tried counts.
 */
export async function listServing(reader: Reader, believedAt: number, triedOnly: boolean): Promise<Exit[]> {
  const untried = triedOnly ? '' : 'words.up IS NULL OR'
  const rows = await reader.all<Row>(
    `SELECT ${columns} FROM exits
     LEFT JOIN ${standings} AS words ON words.exit_id = exits.id
     WHERE drained_at IS NULL AND (${untried} words.up = 1) ORDER BY id`,
    [believedAt],
  )
  return rows.map(toExit)
}

type WordRow = { exit_id: string; node_id: string; up: bigint; since_at: bigint; reason: string; said_at: bigint }

/** What gateways last said of these exits. */
export async function listWords(reader: Reader, ids: readonly string[]): Promise<ExitWord[]> {
  if (ids.length === 0) return []
  const found: ExitWord[] = []
  for (const some of chunked(ids)) {
    const rows = await reader.all<WordRow>(
      `SELECT * FROM exit_words WHERE exit_id IN (${list(some.length)}) ORDER BY exit_id, node_id`,
      some,
    )
    for (const row of rows) {
      found.push({
        exit: row.exit_id,
        node: row.node_id,
        isUp: row.up === 1n,
        sinceAt: Number(row.since_at),
        reason: row.reason,
        saidAt: Number(row.said_at),
      })
    }
  }
  return found
}

/** The last word of each gateway on each exit stands, whichever shop took it. */
export function writeWords(tx: Tx, words: readonly ExitWord[]): void {
  sendRows(
    tx,
    'INSERT INTO exit_words (exit_id, node_id, up, since_at, reason, said_at)',
    words.map((word) => [word.exit, word.node, word.isUp ? 1 : 0, word.sinceAt, word.reason, word.saidAt]),
    `ON CONFLICT (exit_id, node_id) DO UPDATE SET
       up = excluded.up, since_at = excluded.since_at, reason = excluded.reason, said_at = excluded.said_at`,
  )
}

/** Which of these exits there are. */
export async function knownAmong(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const asked = padded(ids)
  const rows = await reader.all<{ id: string }>(`SELECT id FROM exits WHERE id IN (${list(asked.length)})`, asked)
  return new Set(rows.map((row) => row.id))
}

export async function listExits(
  reader: Reader,
  pool: string | undefined,
  after: string,
  limit: number,
): Promise<Exit[]> {
  const rows = await reader.all<Row>(
    pool === undefined
      ? `SELECT ${columns} FROM exits WHERE id > $1 ORDER BY id LIMIT $2`
      : `SELECT ${columns} FROM exits WHERE id > $1 AND pool = $3 ORDER BY id LIMIT $2`,
    pool === undefined ? [after, limit] : [after, limit, pool],
  )
  return rows.map(toExit)
}

/** How many exits each pool has, and how many of them serve. */
export async function countByPool(
  reader: Reader,
  believedAt: number,
): Promise<{ pool: string; exits: number; serving: number }[]> {
  const rows = await reader.all<{ pool: string; exits: bigint; serving: bigint }>(
    `SELECT pool, COUNT(*) AS exits,
       CAST(SUM(CASE WHEN drained_at IS NULL AND words.up = 1 THEN 1 ELSE 0 END) AS BIGINT) AS serving
     FROM exits LEFT JOIN ${standings} AS words ON words.exit_id = exits.id
     GROUP BY pool ORDER BY pool`,
    [believedAt],
  )
  return rows.map((row) => ({ pool: row.pool, exits: Number(row.exits), serving: Number(row.serving) }))
}

export async function setDrained(tx: Tx, id: ExitId, drainedAt: number | null, nowMs: number): Promise<boolean> {
  return (await tx.run('UPDATE exits SET drained_at = $2, changed_at = $3 WHERE id = $1', [id, drainedAt, nowMs])) === 1
}

export type ExitWithCredentials = { readonly exit: Exit; readonly credentials: Uint8Array | null }

/**
 * What changed after a position, oldest change first; only what serves, or drained ones too, so that a node lets them
 * go.
 */
export async function changedAfter(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  servingOnly: boolean,
): Promise<ExitWithCredentials[]> {
  const rows = await reader.all<Row & { credentials: Uint8Array | null }>(
    `SELECT ${columns}, credentials FROM exits
     WHERE (changed_at, id) > ($1, $2) ${servingOnly ? 'AND drained_at IS NULL' : ''} ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map((row) => ({ exit: toExit(row), credentials: row.credentials }))
}

type CountRow = { exit_id: string; received: bigint; sent: bigint }
export type ExitCount = { readonly exit: string; readonly received: bigint; readonly sent: bigint }

/** What a gateway's boot has counted for exits so far; its rows stay locked. */
export async function lockCounts(tx: Tx, node: string, boot: string, ids: readonly string[]): Promise<ExitCount[]> {
  const asked = padded(ids)
  const rows = await tx.all<CountRow>(
    `SELECT exit_id, received, sent FROM exit_counts
     WHERE node_id = $1 AND boot = $2 AND exit_id IN (${list(asked.length, 2)}) ORDER BY exit_id FOR UPDATE`,
    [node, boot, ...asked],
  )
  return rows.map((row) => ({ exit: row.exit_id, received: row.received, sent: row.sent }))
}

/** Counts only rise; of two that are told at once the larger stays. */
export function raiseCounts(tx: Tx, node: string, boot: string, counts: readonly ExitCount[]): void {
  sendRows(
    tx,
    'INSERT INTO exit_counts (exit_id, node_id, boot, received, sent, checksum)',
    counts.map(({ exit, received, sent }) => [exit, node, boot, received, sent, checksumOf([received, sent])]),
    `ON CONFLICT (exit_id, node_id, boot) DO UPDATE SET
       received = excluded.received, sent = excluded.sent, checksum = excluded.checksum`,
  )
}

/** What went through these exits on a day so far; the rows stay locked. */
export async function lockDay(tx: Tx, day: number, ids: readonly string[]): Promise<ExitCount[]> {
  const asked = padded(ids)
  const rows = await tx.all<CountRow>(
    `SELECT exit_id, received, sent FROM exit_days
     WHERE day = $1 AND exit_id IN (${list(asked.length, 1)}) ORDER BY exit_id FOR UPDATE`,
    [day, ...asked],
  )
  return rows.map((row) => ({ exit: row.exit_id, received: row.received, sent: row.sent }))
}

export function addToDay(tx: Tx, day: number, added: readonly ExitCount[]): void {
  const [more, moreSent] = ['exit_days.received + excluded.received', 'exit_days.sent + excluded.sent']
  sendRows(
    tx,
    'INSERT INTO exit_days (exit_id, day, received, sent, checksum)',
    added.map(({ exit, received, sent }) => [exit, day, received, sent, checksumOf([day, received, sent])]),
    `ON CONFLICT (exit_id, day) DO UPDATE SET
       received = ${more}, sent = ${moreSent}, checksum = ${checksumIn(['exit_days.day', more, moreSent])}`,
  )
}

export type ExitDay = { readonly day: number; readonly received: bigint; readonly sent: bigint }

/** What went through an exit on each day from one to another, both included. */
export async function listDays(reader: Reader, id: ExitId, from: number, to: number): Promise<ExitDay[]> {
  const rows = await reader.all<{ day: bigint; received: bigint; sent: bigint }>(
    'SELECT day, received, sent FROM exit_days WHERE exit_id = $1 AND day BETWEEN $2 AND $3 ORDER BY day',
    [id, from, to],
  )
  return rows.map((row) => ({ day: Number(row.day), received: row.received, sent: row.sent }))
}

/** Exits whose days do not add up to what gateways counted, for `verify`. */
export async function unevenExits(reader: Reader, limit: number): Promise<string[]> {
  const rows = await reader.all<{ exit_id: string }>(
    `SELECT exit_id FROM (
       SELECT exit_id, received, sent FROM exit_counts
       UNION ALL SELECT exit_id, -received, -sent FROM exit_days) AS both_books
     GROUP BY exit_id HAVING SUM(received) <> 0 OR SUM(sent) <> 0 ORDER BY exit_id LIMIT $1`,
    [limit],
  )
  return rows.map((row) => row.exit_id)
}

/** Exits of whose figures some are not those that were written, and of which somebody speaks who is no gateway. */
export async function unsoundExits(reader: Reader, limit: number): Promise<{ exit: string; problem: string }[]> {
  return reader.all(
    `SELECT exit_id AS exit, 'figures of it are not those that were last written' AS problem FROM exit_counts
     WHERE checksum <> ${checksumIn(['received', 'sent'])}
     UNION ALL SELECT exit_id, 'figures of it are not those that were last written' FROM exit_days
     WHERE checksum <> ${checksumIn(['day', 'received', 'sent'])}
     UNION ALL SELECT exit_id, 'it is spoken of and is not there, or a node speaks of it that is not there'
     FROM (SELECT exit_id, node_id FROM exit_counts UNION ALL SELECT exit_id, node_id FROM exit_words) AS spoken
     WHERE NOT EXISTS (SELECT 1 FROM exits WHERE exits.id = spoken.exit_id)
       OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = spoken.node_id AND nodes.kind = 'gateway')
     LIMIT $1`,
    [limit],
  )
}

/** Whether an address is an exit of ours now. */
export async function isLocal(reader: Reader, host: string): Promise<boolean> {
  const row = await reader.first<{ one: bigint }>(
    `SELECT 1 AS one FROM exits WHERE kind = 'local' AND host = $1 LIMIT 1`,
    [host],
  )
  return row !== undefined
}
