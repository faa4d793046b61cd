import type { CustomerId, LinkId, OperatorId, SessionId } from '../../core/ids.ts'
import { containing, list, numberOrNull, padded } from '../../db/rows.ts'
import { ConstraintViolation, type Reader, type Tx } from '../../db/transaction.ts'
import { isScope, type Scope } from '../customers/rules.ts'
import { loginTaken } from './errors.ts'
import type { Identity, LinkPurpose, OneTimeLink, Owner, OwnerKind, Session } from './rules.ts'

type IdentityRow = {
  owner_id: string
  kind: OwnerKind
  login: string
  email: string | null
  named: Uint8Array
  password: string | null
  totp: Uint8Array | null
  totp_since: bigint | null
  totp_step: bigint
  created_at: bigint
  changed_at: bigint
}

type SessionRow = {
  id: SessionId
  kind: OwnerKind
  owner_id: string
  digest: Uint8Array
  scopes: string
  opened_by: OperatorId | null
  source: string | null
  agent: string | null
  created_at: bigint
  used_at: bigint
  expires_at: bigint
  ended_at: bigint | null
}

type LinkRow = {
  id: LinkId
  kind: OwnerKind
  owner_id: string | null
  purpose: LinkPurpose
  payload: string | null
  created_at: bigint
  expires_at: bigint
  used_at: bigint | null
}

export const toOwner = (kind: OwnerKind, id: string): Owner =>
  kind === 'operator' ? { kind, id: id as OperatorId } : { kind: 'customer', id: id as CustomerId }

const toIdentity = (row: IdentityRow): Identity => ({
  owner: toOwner(row.kind, row.owner_id),
  login: row.login,
  email: row.email,
  password: row.password,
  totp: row.totp,
  totpSince: numberOrNull(row.totp_since),
  totpStep: Number(row.totp_step),
  createdAt: Number(row.created_at),
  changedAt: Number(row.changed_at),
})

const toSession = (row: SessionRow): Session => ({
  id: row.id,
  owner: toOwner(row.kind, row.owner_id),
  scopes: row.scopes.split(' ').filter(isScope),
  openedBy: row.opened_by,
  source: row.source,
  agent: row.agent,
  createdAt: Number(row.created_at),
  usedAt: Number(row.used_at),
  expiresAt: Number(row.expires_at),
  endedAt: numberOrNull(row.ended_at),
})

const toLink = (row: LinkRow): OneTimeLink => ({
  id: row.id,
  kind: row.kind,
  owner: row.owner_id,
  purpose: row.purpose,
  payload: row.payload,
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  usedAt: numberOrNull(row.used_at),
})

export async function findIdentity(reader: Reader, owner: string): Promise<Identity | undefined> {
  const row = await reader.first<IdentityRow>('SELECT * FROM identities WHERE owner_id = $1', [owner])
  return row && toIdentity(row)
}

/** Locks the identity until the commit, so that a code is used once. */
export async function lockIdentity(tx: Tx, owner: string): Promise<Identity | undefined> {
  const row = await tx.first<IdentityRow>('SELECT * FROM identities WHERE owner_id = $1 FOR UPDATE', [owner])
  return row && toIdentity(row)
}

export async function findByLogin(reader: Reader, kind: OwnerKind, login: string): Promise<Identity | undefined> {
  const row = await reader.first<IdentityRow>('SELECT * FROM identities WHERE kind = $1 AND login = $2', [kind, login])
  return row && toIdentity(row)
}

/** Inserts or updates an identity. Of two owners who take a login at once one is refused. */
export async function saveIdentity(tx: Tx, of: Identity, named: Uint8Array): Promise<void> {
  const { owner, login, email, password, totp, totpSince, totpStep, createdAt, changedAt } = of
  const written = tx.run(
    `INSERT INTO identities
       (owner_id, kind, login, email, named, password, totp, totp_since, totp_step, created_at, changed_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (owner_id) DO UPDATE SET login = excluded.login, email = excluded.email, named = excluded.named,
       password = excluded.password, totp = excluded.totp, totp_since = excluded.totp_since,
       totp_step = excluded.totp_step, changed_at = excluded.changed_at`,
    [owner.id, owner.kind, login, email, named, password, totp, totpSince, totpStep, createdAt, changedAt],
  )
  await written.catch((error: unknown) => {
    throw error instanceof ConstraintViolation && error.kind === 'unique' ? loginTaken() : error
  })
}

export async function noteStep(tx: Tx, owner: string, step: number): Promise<boolean> {
  const sql = 'UPDATE identities SET totp_step = $2 WHERE owner_id = $1 AND totp_step < $2'
  return (await tx.run(sql, [owner, step])) === 1
}

export async function removeIdentity(tx: Tx, owner: string): Promise<void> {
  await tx.run('DELETE FROM identities WHERE owner_id = $1', [owner])
}

export async function searchLogins(reader: Reader, text: string, limit: number): Promise<Map<string, string>> {
  const rows = await reader.all<{ owner_id: string; login: string }>(
    `SELECT owner_id, login FROM identities
     WHERE kind = 'customer' AND (login LIKE $1 ESCAPE '!' OR email LIKE $1 ESCAPE '!') ORDER BY owner_id LIMIT $2`,
    [containing(text), limit],
  )
  return new Map(rows.map((row) => [row.owner_id, row.login]))
}

export async function loginsOf(reader: Reader, owners: readonly string[]): Promise<Map<string, string>> {
  if (owners.length === 0) return new Map()
  const paddedOwners = padded(owners)
  const rows = await reader.all<{ owner_id: string; login: string }>(
    `SELECT owner_id, login FROM identities WHERE owner_id IN (${list(paddedOwners.length)})`,
    paddedOwners,
  )
  return new Map(rows.map((row) => [row.owner_id, row.login]))
}

export async function identitiesAfter(
  reader: Reader,
  owner: string,
  limit: number,
): Promise<(Identity & { readonly named: Uint8Array })[]> {
  const rows = await reader.all<IdentityRow>(
    'SELECT * FROM identities WHERE owner_id > $1 ORDER BY owner_id LIMIT $2',
    [owner, limit],
  )
  return rows.map((row) => ({ ...toIdentity(row), named: row.named }))
}

export function insertSession(tx: Tx, of: Session, digest: Uint8Array): void {
  const { id, owner, openedBy, source, agent, createdAt, usedAt, expiresAt, endedAt } = of
  const scopes = of.scopes.join(' ')
  tx.send(
    `INSERT INTO console_sessions
       (id, kind, owner_id, digest, scopes, opened_by, source, agent, created_at, used_at, expires_at, ended_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [id, owner.kind, owner.id, digest, scopes, openedBy, source, agent, createdAt, usedAt, expiresAt, endedAt],
  )
}

export async function findSession(
  reader: Reader,
  digest: Uint8Array,
): Promise<{ session: Session; digest: Uint8Array } | undefined> {
  const row = await reader.first<SessionRow>('SELECT * FROM console_sessions WHERE digest = $1', [digest])
  return row && { session: toSession(row), digest: row.digest }
}

export async function isSessionOpen(reader: Reader, id: SessionId, nowMs: number): Promise<boolean> {
  const sql = 'SELECT 1 AS one FROM console_sessions WHERE id = $1 AND ended_at IS NULL AND expires_at > $2'
  return (await reader.first(sql, [id, nowMs])) !== undefined
}

/** Open sessions, newest first, without operators' views. */
export async function listSessions(reader: Reader, owner: string, nowMs: number): Promise<Session[]> {
  const rows = await reader.all<SessionRow>(
    `SELECT * FROM console_sessions
     WHERE owner_id = $1 AND opened_by IS NULL AND ended_at IS NULL AND expires_at > $2 ORDER BY id DESC`,
    [owner, nowMs],
  )
  return rows.map(toSession)
}

/** Whether a customer ever had a session with more than `read`. Ended sessions are kept. */
export async function hadFullSession(reader: Reader, customer: CustomerId): Promise<boolean> {
  const found = await reader.first(
    `SELECT 1 AS one FROM console_sessions WHERE owner_id = $1 AND opened_by IS NULL AND scopes <> 'read' LIMIT 1`,
    [customer],
  )
  return found !== undefined
}

/** The client addresses of the owner's last `limit` sessions since a moment. */
export async function sourcesSince(reader: Reader, owner: string, sinceMs: number, limit: number): Promise<string[]> {
  const rows = await reader.all<{ source: string }>(
    `SELECT source FROM console_sessions
     WHERE owner_id = $1 AND opened_by IS NULL AND created_at >= $2 AND source IS NOT NULL ORDER BY id DESC LIMIT $3`,
    [owner, sinceMs, limit],
  )
  return [...new Set(rows.map((row) => row.source))]
}

export async function endSession(tx: Tx, owner: string, id: SessionId, nowMs: number): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE console_sessions SET ended_at = $3 WHERE id = $1 AND owner_id = $2 AND ended_at IS NULL',
    [id, owner, nowMs],
  )
  return changed === 1
}

/** Ends an owner's sessions but one, and an operator's views of customers' pages. */
export async function endSessions(tx: Tx, owner: string, except: SessionId | null, nowMs: number): Promise<number> {
  return tx.run(
    `UPDATE console_sessions SET ended_at = $3
     WHERE (owner_id = $1 OR opened_by = $1) AND ended_at IS NULL AND id <> COALESCE($2, '')`,
    [owner, except, nowMs],
  )
}

export async function setScopes(tx: Tx, id: SessionId, scopes: readonly Scope[]): Promise<void> {
  await tx.run('UPDATE console_sessions SET scopes = $2 WHERE id = $1', [id, scopes.join(' ')])
}

/** Ends an operator's views of customers' pages. */
export async function endViews(tx: Tx, operator: string, nowMs: number): Promise<void> {
  await tx.run('UPDATE console_sessions SET ended_at = $2 WHERE opened_by = $1 AND ended_at IS NULL', [operator, nowMs])
}

export async function touchSession(tx: Tx, id: string, nowMs: number): Promise<void> {
  await tx.run('UPDATE console_sessions SET used_at = $2 WHERE id = $1 AND used_at < $2', [id, nowMs])
}

export function insertLink(tx: Tx, of: OneTimeLink, digest: Uint8Array): void {
  tx.send(
    `INSERT INTO console_links (id, kind, owner_id, purpose, digest, payload, created_at, expires_at, used_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [of.id, of.kind, of.owner, of.purpose, digest, of.payload, of.createdAt, of.expiresAt, of.usedAt],
  )
}

/** A valid link, which stays valid. */
export async function findLink(reader: Reader, digest: Uint8Array, nowMs: number): Promise<OneTimeLink | undefined> {
  const row = await reader.first<LinkRow>(
    'SELECT * FROM console_links WHERE digest = $1 AND used_at IS NULL AND expires_at > $2',
    [digest, nowMs],
  )
  return row && toLink(row)
}

/** Uses a link up and deletes its payload. Undefined if it was used, has expired or has another purpose. */
export async function useLink(
  tx: Tx,
  digest: Uint8Array,
  purpose: LinkPurpose,
  nowMs: number,
): Promise<OneTimeLink | undefined> {
  const row = await tx.first<LinkRow>(
    `UPDATE console_links SET used_at = $3 WHERE digest = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
     RETURNING *`,
    [digest, purpose, nowMs],
  )
  if (row?.payload) await tx.run('UPDATE console_links SET payload = NULL WHERE id = $1', [row.id])
  return row && toLink(row)
}

export async function voidLinks(tx: Tx, owner: string, nowMs: number): Promise<void> {
  await tx.run('UPDATE console_links SET used_at = $2 WHERE owner_id = $1 AND used_at IS NULL', [owner, nowMs])
}

export async function forgetEnded(tx: Tx, beforeMs: number, limit: number): Promise<number> {
  const sessions = await tx.run(
    'DELETE FROM console_sessions WHERE id IN (SELECT id FROM console_sessions WHERE expires_at < $1 LIMIT $2)',
    [beforeMs, limit],
  )
  const links = await tx.run(
    'DELETE FROM console_links WHERE id IN (SELECT id FROM console_links WHERE expires_at < $1 LIMIT $2)',
    [beforeMs, limit],
  )
  return sessions + links
}
