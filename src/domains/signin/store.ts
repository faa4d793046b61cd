import type { CustomerId, OperatorId, SessionId } from '../../core/ids.ts'
import {
  bytes,
  columnsOf,
  idColumn,
  int,
  oneOf,
  orNull,
  type Row,
  recordsOf,
  textColumn,
  textList,
} from '../../db/columns.ts'
import { allOf, changesOne, containing, hasRow, pastPrefix, runRows, sendRows } from '../../db/rows.ts'
import { ConstraintViolation, type Reader, type Tx } from '../../db/transaction.ts'
import { isScope, type Scope } from '../customers/rules.ts'
import { loginTaken } from './errors.ts'
import type { Identity, LinkPurpose, OneTimeLink, Owner, OwnerKind, Session } from './rules.ts'

export const toOwner = (kind: OwnerKind, id: string): Owner =>
  kind === 'operator' ? { kind, id: id as OperatorId } : { kind: 'customer', id: id as CustomerId }

const kindColumn = oneOf<OwnerKind>('kind', ['customer', 'operator'])
const ownerOf = (row: Row): Owner => toOwner(kindColumn.read(row['kind']), textColumn('owner_id').read(row['owner_id']))

const identityColumns = columnsOf<Omit<Identity, 'owner'>>({
  login: textColumn('login'),
  email: orNull(textColumn('email')),
  password: orNull(textColumn('password')),
  totp: orNull(bytes('totp')),
  totpSince: orNull(int('totp_since')),
  totpStep: int('totp_step'),
  recovery: orNull(bytes('recovery')),
  confirmedAt: orNull(int('confirmed_at')),
  createdAt: int('created_at'),
  changedAt: int('changed_at'),
})
const identities = recordsOf((row): Identity => ({ owner: ownerOf(row), ...identityColumns.read(row) }))

const sessionColumns = columnsOf<Omit<Session, 'owner'>>({
  id: idColumn('id'),
  scopes: { ...textList('scopes'), read: (value) => textList('scopes').read(value).filter(isScope) },
  openedBy: orNull(idColumn('opened_by')),
  source: orNull(textColumn('source')),
  agent: orNull(textColumn('agent')),
  createdAt: int('created_at'),
  usedAt: int('used_at'),
  expiresAt: int('expires_at'),
  endedAt: orNull(int('ended_at')),
})
const sessions = recordsOf((row): Session => ({ owner: ownerOf(row), ...sessionColumns.read(row) }))

const links = columnsOf<OneTimeLink>({
  id: idColumn('id'),
  kind: kindColumn,
  owner: orNull(textColumn('owner_id')),
  purpose: oneOf('purpose', ['enter', 'confirm', 'reset']),
  payload: orNull(textColumn('payload')),
  createdAt: int('created_at'),
  expiresAt: int('expires_at'),
  usedAt: orNull(int('used_at')),
})

export const findIdentity = (reader: Reader, owner: string): Promise<Identity | undefined> =>
  identities.first(reader, 'SELECT * FROM identities WHERE owner_id = $1', [owner])

/** Locks the identity until the commit, so that a code is used once. */
export const lockIdentity = (tx: Tx, owner: string): Promise<Identity | undefined> =>
  identities.first(tx, 'SELECT * FROM identities WHERE owner_id = $1 FOR UPDATE', [owner])

export const findByLogin = (reader: Reader, of: OwnerKind, login: string): Promise<Identity | undefined> =>
  identities.first(reader, 'SELECT * FROM identities WHERE kind = $1 AND login = $2', [of, login])

/** Inserts or updates an identity. Of two owners who take a login at once one is refused. */
export async function saveIdentity(tx: Tx, of: Identity, named: Uint8Array): Promise<void> {
  const written = runRows(
    tx,
    `INSERT INTO identities (owner_id, kind, named, ${identityColumns.names})`,
    [[of.owner.id, of.owner.kind, named, ...identityColumns.values(of)]],
    `ON CONFLICT (owner_id) DO UPDATE SET login = excluded.login, email = excluded.email, named = excluded.named,
       password = excluded.password, totp = excluded.totp, totp_since = excluded.totp_since,
       totp_step = excluded.totp_step, recovery = excluded.recovery,
       confirmed_at = excluded.confirmed_at, changed_at = excluded.changed_at`,
  )
  await written.catch((error: unknown) => {
    throw error instanceof ConstraintViolation && error.kind === 'unique' ? loginTaken() : error
  })
}

export const noteStep = (tx: Tx, owner: string, step: number): Promise<boolean> =>
  changesOne(tx, 'UPDATE identities SET totp_step = $2 WHERE owner_id = $1 AND totp_step < $2', [owner, step])

/** Replaces the recovery codes if they are still `before`: of two sign-ins with one code the second changes no row. */
export const useRecovery = (tx: Tx, owner: string, before: Uint8Array, after: Uint8Array): Promise<boolean> =>
  changesOne(tx, 'UPDATE identities SET recovery = $3 WHERE owner_id = $1 AND recovery = $2', [owner, before, after])

/** Removes what signs in to an account whose address was not confirmed, and notes that it is. */
export async function confirmIdentity(tx: Tx, owner: string, nowMs: number): Promise<void> {
  await tx.run(
    `UPDATE identities SET confirmed_at = $2, password = NULL, totp_since = NULL, totp = NULL, recovery = NULL,
       changed_at = $2 WHERE owner_id = $1`,
    [owner, nowMs],
  )
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

/** Customers whose login or e-mail address begins with the text; each by its index. */
export async function ownersByPrefix(reader: Reader, text: string, limit: number): Promise<string[]> {
  const found: string[] = []
  for (const column of ['login', 'email']) {
    const rows = await reader.all<{ owner_id: string }>(
      `SELECT owner_id FROM identities WHERE kind = 'customer' AND ${column} >= $1 AND ${column} < $2
       ORDER BY ${column} LIMIT $3`,
      [text, pastPrefix(text), limit],
    )
    found.push(...rows.map((row) => row.owner_id))
  }
  return [...new Set(found)].slice(0, limit)
}

/** The e-mail address of each owner, or the login if there is none. */
export async function contactsOf(reader: Reader, owners: readonly string[]): Promise<Map<string, string>> {
  const sql = (ids: string) =>
    `SELECT owner_id, COALESCE(email, login) AS login FROM identities WHERE owner_id IN (${ids})`
  const rows = await allOf<{ owner_id: string; login: string }>(reader, owners, sql)
  return new Map(rows.map((row) => [row.owner_id, row.login]))
}

export async function loginsOf(reader: Reader, owners: readonly string[]): Promise<Map<string, string>> {
  const sql = (ids: string) => `SELECT owner_id, login FROM identities WHERE owner_id IN (${ids})`
  const rows = await allOf<{ owner_id: string; login: string }>(reader, owners, sql)
  return new Map(rows.map((row) => [row.owner_id, row.login]))
}

const namedIdentities = recordsOf((row) => ({ ...identities.read(row), named: bytes('named').read(row['named']) }))

export const identitiesAfter = (reader: Reader, owner: string, limit: number) =>
  namedIdentities.all(reader, 'SELECT * FROM identities WHERE owner_id > $1 ORDER BY owner_id LIMIT $2', [owner, limit])

export const insertSession = (tx: Tx, of: Session, digest: Uint8Array): void =>
  sendRows(tx, `INSERT INTO console_sessions (kind, owner_id, digest, ${sessionColumns.names})`, [
    [of.owner.kind, of.owner.id, digest, ...sessionColumns.values(of)],
  ])

const digestedSessions = recordsOf((row) => ({
  session: sessions.read(row),
  digest: bytes('digest').read(row['digest']),
}))

export const findSession = (reader: Reader, digest: Uint8Array) =>
  digestedSessions.first(reader, 'SELECT * FROM console_sessions WHERE digest = $1', [digest])

export const isSessionOpen = (reader: Reader, id: SessionId, nowMs: number): Promise<boolean> =>
  hasRow(reader, 'SELECT 1 AS one FROM console_sessions WHERE id = $1 AND ended_at IS NULL AND expires_at > $2', [
    id,
    nowMs,
  ])

/** Open sessions, newest first, without operators' views. */
export const listSessions = (reader: Reader, owner: string, nowMs: number): Promise<Session[]> =>
  sessions.all(
    reader,
    `SELECT * FROM console_sessions
     WHERE owner_id = $1 AND opened_by IS NULL AND ended_at IS NULL AND expires_at > $2 ORDER BY id DESC`,
    [owner, nowMs],
  )

/** Whether a customer ever had a session with more than `read`. Ended sessions are kept. */
export const hadFullSession = (reader: Reader, customer: CustomerId): Promise<boolean> =>
  hasRow(
    reader,
    `SELECT 1 AS one FROM console_sessions WHERE owner_id = $1 AND opened_by IS NULL AND scopes <> 'read' LIMIT 1`,
    [customer],
  )

/** The client addresses of the owner's last `limit` sessions since a moment. */
export async function sourcesSince(reader: Reader, owner: string, sinceMs: number, limit: number): Promise<string[]> {
  const rows = await reader.all<{ source: string }>(
    `SELECT source FROM console_sessions
     WHERE owner_id = $1 AND opened_by IS NULL AND created_at >= $2 AND source IS NOT NULL ORDER BY id DESC LIMIT $3`,
    [owner, sinceMs, limit],
  )
  return [...new Set(rows.map((row) => row.source))]
}

export const endSession = (tx: Tx, owner: string, id: SessionId, nowMs: number): Promise<boolean> =>
  changesOne(tx, 'UPDATE console_sessions SET ended_at = $3 WHERE id = $1 AND owner_id = $2 AND ended_at IS NULL', [
    id,
    owner,
    nowMs,
  ])

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

export const insertLink = (tx: Tx, of: OneTimeLink, digest: Uint8Array): void =>
  sendRows(tx, `INSERT INTO console_links (digest, ${links.names})`, [[digest, ...links.values(of)]])

/** A valid link, which stays valid. */
export const findLink = (reader: Reader, digest: Uint8Array, nowMs: number): Promise<OneTimeLink | undefined> =>
  links.first(reader, 'SELECT * FROM console_links WHERE digest = $1 AND used_at IS NULL AND expires_at > $2', [
    digest,
    nowMs,
  ])

/** Uses a link up and deletes its payload. Undefined if it was used, has expired or has another purpose. */
export async function useLink(tx: Tx, digest: Uint8Array, purpose: LinkPurpose, nowMs: number) {
  const link = await links.first(
    tx,
    `UPDATE console_links SET used_at = $3 WHERE digest = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
     RETURNING *`,
    [digest, purpose, nowMs],
  )
  if (link?.payload) await tx.run('UPDATE console_links SET payload = NULL WHERE id = $1', [link.id])
  return link
}

export async function voidLinks(tx: Tx, owner: string, nowMs: number): Promise<void> {
  await tx.run('UPDATE console_links SET used_at = $2 WHERE owner_id = $1 AND used_at IS NULL', [owner, nowMs])
}

export async function endAllSessions(tx: Tx, nowMs: number): Promise<void> {
  await tx.run('UPDATE console_sessions SET ended_at = $1 WHERE ended_at IS NULL', [nowMs])
}

export async function voidAllLinks(tx: Tx, nowMs: number): Promise<void> {
  await tx.run('UPDATE console_links SET used_at = $1, payload = NULL WHERE used_at IS NULL', [nowMs])
}

/** Deletes all recovery codes. Codes of the second factor up to `step` are not accepted. */
export async function voidAllCodes(tx: Tx, step: number): Promise<void> {
  await tx.run(
    `UPDATE identities SET recovery = NULL, totp_step = CASE WHEN totp_step < $1 THEN $1 ELSE totp_step END
     WHERE totp_since IS NOT NULL`,
    [step],
  )
}

export async function forgetEnded(tx: Tx, beforeMs: number, limit: number): Promise<number> {
  const endedSessions = await tx.run(
    'DELETE FROM console_sessions WHERE id IN (SELECT id FROM console_sessions WHERE expires_at < $1 LIMIT $2)',
    [beforeMs, limit],
  )
  const endedLinks = await tx.run(
    'DELETE FROM console_links WHERE id IN (SELECT id FROM console_links WHERE expires_at < $1 LIMIT $2)',
    [beforeMs, limit],
  )
  return endedSessions + endedLinks
}
