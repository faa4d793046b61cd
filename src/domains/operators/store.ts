import { type Chain, emptyChain, endingWith } from '../../core/chain.ts'
import type { OperatorId, OperatorTokenId } from '../../core/ids.ts'
import { numberOrNull } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type Entry, fieldsOf, type Operator, type OperatorToken, type Role } from './rules.ts'

type OperatorRow = { id: OperatorId; name: string; role: Role; created_at: bigint; removed_at: bigint | null }

type TokenRow = {
  id: OperatorTokenId
  operator_id: OperatorId
  hint: string
  name: string
  created_at: bigint
  expires_at: bigint | null
  revoked_at: bigint | null
}

type EntryRow = {
  seq: bigint
  at: bigint
  operator_id: OperatorId | null
  name: string
  role: string
  action: string
  request: string
  source: string | null
  hash: Uint8Array
}

const toOperator = (row: OperatorRow): Operator => ({
  id: row.id,
  name: row.name,
  role: row.role,
  createdAt: Number(row.created_at),
  removedAt: numberOrNull(row.removed_at),
})

const toToken = (row: TokenRow): OperatorToken => ({
  id: row.id,
  operator: row.operator_id,
  hint: row.hint,
  name: row.name,
  createdAt: Number(row.created_at),
  expiresAt: numberOrNull(row.expires_at),
  revokedAt: numberOrNull(row.revoked_at),
})

const toEntry = (row: EntryRow): Entry => ({
  seq: Number(row.seq),
  at: Number(row.at),
  operator: row.operator_id,
  name: row.name,
  role: row.role,
  action: row.action,
  request: row.request,
  source: row.source,
  hash: row.hash,
})

export function insertOperator(tx: Tx, operator: Operator): void {
  const { id, name, role, createdAt, removedAt } = operator
  const sql = 'INSERT INTO operators (id, name, role, created_at, removed_at) VALUES ($1, $2, $3, $4, $5)'
  tx.send(sql, [id, name, role, createdAt, removedAt])
}

export async function findOperator(reader: Reader, id: OperatorId): Promise<Operator | undefined> {
  const row = await reader.first<OperatorRow>('SELECT * FROM operators WHERE id = $1', [id])
  return row && toOperator(row)
}

/** Locks the operator: no view is opened while a token, a session or the role of the operator ends. */
export async function lockOperator(tx: Tx, id: OperatorId): Promise<Operator | undefined> {
  const row = await tx.first<OperatorRow>('SELECT * FROM operators WHERE id = $1 FOR UPDATE', [id])
  return row && toOperator(row)
}

export async function isTokenOpen(reader: Reader, id: OperatorTokenId, nowMs: number): Promise<boolean> {
  const found = await reader.first(
    `SELECT 1 AS one FROM operator_tokens
     WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
    [id, nowMs],
  )
  return found !== undefined
}

/** An operator who is not removed. */
export async function findByName(reader: Reader, name: string): Promise<Operator | undefined> {
  const row = await reader.first<OperatorRow>('SELECT * FROM operators WHERE name = $1 AND removed_at IS NULL', [name])
  return row && toOperator(row)
}

/** Whether a present operator has this name, in any case. */
export async function isNameTaken(reader: Reader, name: string): Promise<boolean> {
  const sql = 'SELECT id FROM operators WHERE LOWER(name) = $1 AND removed_at IS NULL'
  return (await reader.first(sql, [name.toLowerCase()])) !== undefined
}

/** All present operators, oldest first, locked so that the number of owners does not change. */
export async function lockOperators(tx: Tx): Promise<Operator[]> {
  const rows = await tx.all<OperatorRow>('SELECT * FROM operators WHERE removed_at IS NULL ORDER BY id FOR UPDATE')
  return rows.map(toOperator)
}

export async function listOperators(reader: Reader): Promise<Operator[]> {
  const rows = await reader.all<OperatorRow>('SELECT * FROM operators WHERE removed_at IS NULL ORDER BY id')
  return rows.map(toOperator)
}

export async function setRole(tx: Tx, id: OperatorId, role: Role): Promise<void> {
  await tx.run('UPDATE operators SET role = $2 WHERE id = $1', [id, role])
}

export async function remove(tx: Tx, id: OperatorId, nowMs: number): Promise<void> {
  await tx.run('UPDATE operators SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL', [id, nowMs])
  await tx.run('UPDATE operator_tokens SET revoked_at = $2 WHERE operator_id = $1 AND revoked_at IS NULL', [id, nowMs])
}

export function insertToken(tx: Tx, token: OperatorToken, digest: Uint8Array): void {
  tx.send(
    `INSERT INTO operator_tokens (id, operator_id, digest, hint, name, created_at, expires_at, revoked_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [token.id, token.operator, digest, token.hint, token.name, token.createdAt, token.expiresAt, token.revokedAt],
  )
}

/** The token with this digest, and its operator. */
export async function findByDigest(
  reader: Reader,
  digest: Uint8Array,
): Promise<{ token: OperatorToken; digest: Uint8Array; operator: Operator } | undefined> {
  const row = await reader.first<TokenRow & Omit<OperatorRow, 'id'> & { digest: Uint8Array; who: string }>(
    `SELECT operator_tokens.*, operators.name AS who, operators.role, operators.removed_at
     FROM operator_tokens JOIN operators ON operators.id = operator_tokens.operator_id
     WHERE operator_tokens.digest = $1`,
    [digest],
  )
  if (!row) return undefined
  const operator = { id: row.operator_id, name: row.who, role: row.role, created_at: 0n, removed_at: row.removed_at }
  return { token: toToken(row), digest: row.digest, operator: toOperator(operator) }
}

export async function listTokens(reader: Reader, operator: OperatorId): Promise<OperatorToken[]> {
  const sql = 'SELECT * FROM operator_tokens WHERE operator_id = $1 ORDER BY id'
  return (await reader.all<TokenRow>(sql, [operator])).map(toToken)
}

/** The first revocation keeps its time. */
export async function revokeToken(tx: Tx, id: OperatorTokenId, nowMs: number): Promise<OperatorId | undefined> {
  const row = await tx.first<{ operator_id: OperatorId }>(
    'UPDATE operator_tokens SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1 RETURNING operator_id',
    [id, nowMs],
  )
  return row?.operator_id
}

type EndRow = { seq: bigint; head: Uint8Array; last_at: bigint }

const toEnd = (row: EndRow | undefined): Chain =>
  row ? { seq: Number(row.seq), head: row.head, lastAt: Number(row.last_at) } : emptyChain

export async function findEnd(reader: Reader): Promise<Chain> {
  return toEnd(await reader.first<EndRow>('SELECT seq, head, last_at FROM audit_log_end WHERE one = 1'))
}

/** Locks the end of the log until the commit, so that entries become visible in their order. */
export async function lockEnd(tx: Tx): Promise<Chain> {
  await tx.run(
    'INSERT INTO audit_log_end (one, seq, head, last_at) VALUES (1, 0, $1, 0) ON CONFLICT (one) DO NOTHING',
    [emptyChain.head],
  )
  return toEnd(await tx.first<EndRow>('SELECT seq, head, last_at FROM audit_log_end WHERE one = 1 FOR UPDATE'))
}

export function appendEntry(tx: Tx, entry: Entry): void {
  tx.send(
    `INSERT INTO audit_log (seq, at, operator_id, name, role, action, request, source, hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [...fieldsOf(entry), entry.hash],
  )
  const end = endingWith(entry)
  tx.send('UPDATE audit_log_end SET seq = $1, head = $2, last_at = $3 WHERE one = 1', [end.seq, end.head, end.lastAt])
}

/** Newest first. A null operator or an empty action matches all. */
export async function listEntries(
  reader: Reader,
  of: {
    readonly before: number
    readonly operator: OperatorId | null
    readonly action: string
    readonly limit: number
  },
): Promise<Entry[]> {
  const rows = await reader.all<EntryRow>(
    `SELECT * FROM audit_log
     WHERE seq < $1 AND (CAST($2 AS TEXT) IS NULL OR operator_id = $2) AND (CAST($3 AS TEXT) = '' OR action = $3)
     ORDER BY seq DESC LIMIT $4`,
    [of.before, of.operator, of.action, of.limit],
  )
  return rows.map(toEntry)
}

/** Oldest first. */
export async function entriesAfter(reader: Reader, seq: number, limit: number): Promise<Entry[]> {
  const rows = await reader.all<EntryRow>('SELECT * FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT $2', [seq, limit])
  return rows.map(toEntry)
}

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
