import { type Chain, emptyChain, endingWith } from '../../core/chain.ts'
import type { OperatorId, OperatorTokenId } from '../../core/ids.ts'
import { bytes, columnsOf, idColumn, int, oneOf, orNull, type Row, textColumn, valuesOf } from '../../db/columns.ts'
import { hasRow, list, sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type Entry, type Operator, type OperatorToken, type Role, roles } from './rules.ts'

const operators = columnsOf<Operator>({
  id: idColumn('id'),
  name: textColumn('name'),
  role: oneOf('role', roles),
  createdAt: int('created_at'),
  removedAt: orNull(int('removed_at')),
})

const tokens = columnsOf<OperatorToken>({
  id: idColumn('id'),
  operator: idColumn('operator_id'),
  hint: textColumn('hint'),
  name: textColumn('name'),
  createdAt: int('created_at'),
  expiresAt: orNull(int('expires_at')),
  revokedAt: orNull(int('revoked_at')),
})

const entries = columnsOf<Entry>({
  seq: int('seq'),
  at: int('at'),
  operator: orNull(idColumn('operator_id')),
  name: textColumn('name'),
  role: textColumn('role'),
  action: textColumn('action'),
  request: textColumn('request'),
  source: orNull(textColumn('source')),
  hash: bytes('hash'),
})

export const insertOperator = (tx: Tx, operator: Operator): void =>
  sendRows(tx, `INSERT INTO operators (${operators.names})`, [operators.values(operator)])

export const findOperator = (reader: Reader, id: OperatorId): Promise<Operator | undefined> =>
  operators.first(reader, 'SELECT * FROM operators WHERE id = $1', [id])

/** Locks the operator: no view is opened while a token, a session or the role of the operator ends. */
export const lockOperator = (tx: Tx, id: OperatorId): Promise<Operator | undefined> =>
  operators.first(tx, 'SELECT * FROM operators WHERE id = $1 FOR UPDATE', [id])

export const isTokenOpen = (reader: Reader, id: OperatorTokenId, nowMs: number): Promise<boolean> =>
  hasRow(
    reader,
    `SELECT 1 AS one FROM operator_tokens
     WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
    [id, nowMs],
  )

/** An operator who is not removed. */
export const findByName = (reader: Reader, name: string): Promise<Operator | undefined> =>
  operators.first(reader, 'SELECT * FROM operators WHERE name = $1 AND removed_at IS NULL', [name])

/** Whether a present operator has this name, in any case. */
export const isNameTaken = (reader: Reader, name: string): Promise<boolean> =>
  hasRow(reader, 'SELECT id FROM operators WHERE LOWER(name) = $1 AND removed_at IS NULL', [name.toLowerCase()])

/** All present operators, oldest first, locked so that the number of owners does not change. */
export const lockOperators = (tx: Tx): Promise<Operator[]> =>
  operators.all(tx, 'SELECT * FROM operators WHERE removed_at IS NULL ORDER BY id FOR UPDATE')

export const listOperators = (reader: Reader): Promise<Operator[]> =>
  operators.all(reader, 'SELECT * FROM operators WHERE removed_at IS NULL ORDER BY id')

export async function setRole(tx: Tx, id: OperatorId, role: Role): Promise<void> {
  await tx.run('UPDATE operators SET role = $2 WHERE id = $1', [id, role])
}

export async function remove(tx: Tx, id: OperatorId, nowMs: number): Promise<void> {
  await tx.run('UPDATE operators SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL', [id, nowMs])
  await tx.run('UPDATE operator_tokens SET revoked_at = $2 WHERE operator_id = $1 AND revoked_at IS NULL', [id, nowMs])
}

export const insertToken = (tx: Tx, token: OperatorToken, digest: Uint8Array): void =>
  sendRows(tx, `INSERT INTO operator_tokens (digest, ${tokens.names})`, [[digest, ...tokens.values(token)]])

/** The token with this digest, and its operator. */
export async function findByDigest(
  reader: Reader,
  digest: Uint8Array,
): Promise<{ token: OperatorToken; digest: Uint8Array; operator: Operator } | undefined> {
  const row = await reader.first<Row>('SELECT * FROM operator_tokens WHERE digest = $1', [digest])
  const token = row && tokens.read(row)
  const operator = token && (await findOperator(reader, token.operator))
  return operator && { token, digest: bytes('digest').read(row?.['digest']), operator }
}

export const listTokens = (reader: Reader, operator: OperatorId): Promise<OperatorToken[]> =>
  tokens.all(reader, 'SELECT * FROM operator_tokens WHERE operator_id = $1 ORDER BY id', [operator])

/** The first revocation keeps its time. */
export const revokeToken = (tx: Tx, id: OperatorTokenId, nowMs: number): Promise<OperatorId | undefined> =>
  valuesOf(idColumn<OperatorId>('operator_id')).first(
    tx,
    'UPDATE operator_tokens SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1 RETURNING operator_id',
    [id, nowMs],
  )

const ends = columnsOf<Chain>({ seq: int('seq'), head: bytes('head'), lastAt: int('last_at') })

export const findEnd = async (reader: Reader): Promise<Chain> =>
  (await ends.first(reader, 'SELECT * FROM audit_log_end WHERE one = 1')) ?? emptyChain

/** Locks the end of the log until the commit, so that entries become visible in their order. */
export async function lockEnd(tx: Tx): Promise<Chain> {
  await tx.run(
    'INSERT INTO audit_log_end (one, seq, head, last_at) VALUES (1, 0, $1, 0) ON CONFLICT (one) DO NOTHING',
    [emptyChain.head],
  )
  return (await ends.first(tx, 'SELECT * FROM audit_log_end WHERE one = 1 FOR UPDATE')) ?? emptyChain
}

export function appendEntry(tx: Tx, entry: Entry): void {
  sendRows(tx, `INSERT INTO audit_log (${entries.names})`, [entries.values(entry)])
  const end = endingWith(entry)
  tx.send('UPDATE audit_log_end SET seq = $1, head = $2, last_at = $3 WHERE one = 1', [end.seq, end.head, end.lastAt])
}

/** Newest first, below a number. No operator or action matches all. */
export const listEntries = (
  reader: Reader,
  of: {
    readonly before: number | undefined
    readonly operator: OperatorId | undefined
    readonly action: string | undefined
    readonly limit: number
  },
): Promise<Entry[]> =>
  entries.all(
    reader,
    `SELECT * FROM audit_log
     WHERE seq < $1 AND (CAST($2 AS TEXT) IS NULL OR operator_id = $2) AND (CAST($3 AS TEXT) = '' OR action = $3)
     ORDER BY seq DESC LIMIT $4`,
    [of.before ?? Number.MAX_SAFE_INTEGER, of.operator ?? null, of.action ?? '', of.limit],
  )

/** Entries of these actions, newest first, below a time and the number of an entry of that time. */
export const listActions = (
  reader: Reader,
  actions: readonly string[],
  below: { readonly at: number; readonly seq: number },
  limit: number,
): Promise<Entry[]> =>
  entries.all(
    reader,
    `SELECT * FROM audit_log WHERE at <= $1 AND (at < $1 OR seq < $2) AND action IN (${list(actions.length, 3)})
     ORDER BY seq DESC LIMIT $3`,
    [below.at, below.seq, limit, ...actions],
  )

/** Oldest first. */
export const entriesAfter = (reader: Reader, seq: number, limit: number): Promise<Entry[]> =>
  entries.all(reader, 'SELECT * FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT $2', [seq, limit])

/** The seals of redacted entries, by number. */
export async function redactionsAmong(reader: Reader, from: number, to: number): Promise<Map<number, Uint8Array>> {
  const rows = await reader.all<{ seq: bigint; seal: Uint8Array }>(
    'SELECT seq, seal FROM audit_redactions WHERE seq BETWEEN $1 AND $2',
    [from, to],
  )
  return new Map(rows.map((row) => [Number(row.seq), row.seal]))
}

/** Replaces the request of an entry. Its hash stays, and a seal covers its new content. */
export async function redactEntry(
  tx: Tx,
  of: { readonly seq: number; readonly request: string; readonly customer: string; readonly seal: Uint8Array },
  nowMs: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO audit_redactions (seq, customer_id, seal, at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (seq) DO UPDATE SET customer_id = excluded.customer_id, seal = excluded.seal, at = excluded.at`,
    [of.seq, of.customer, of.seal, nowMs],
  )
  await tx.run('UPDATE audit_log SET request = $2 WHERE seq = $1', [of.seq, of.request])
}
