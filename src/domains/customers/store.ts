import { formatPrefix, type Prefix, readPrefix } from '../../core/address.ts'
import type { CustomerId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { chunked, containing, list, numberOrNull, padded } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type Customer, isScope, type ShopMode, type Token } from './rules.ts'

type CustomerRow = {
  id: CustomerId
  name: string
  created_at: bigint
  blocked_at: bigint | null
  note: string | null
}

type TokenRow = {
  id: TokenId
  customer_id: CustomerId
  hint: string
  name: string
  scopes: string
  allowed_from: string
  cap_kopecks: bigint | null
  created_at: bigint
  expires_at: bigint | null
  revoked_at: bigint | null
  used_at: bigint | null
  used_from: string | null
}

const toCustomer = ({ id, name, note, ...row }: CustomerRow): Customer => ({
  id,
  name,
  createdAt: Number(row.created_at),
  blockedAt: numberOrNull(row.blocked_at),
  note,
})

const toToken = (row: TokenRow): Token => ({
  id: row.id,
  customer: row.customer_id,
  hint: row.hint,
  name: row.name,
  scopes: row.scopes.split(' ').filter(isScope),
  allowedFrom: toPrefixes(row.allowed_from),
  cap: row.cap_kopecks === null ? null : kopecks(row.cap_kopecks),
  createdAt: Number(row.created_at),
  expiresAt: numberOrNull(row.expires_at),
  revokedAt: numberOrNull(row.revoked_at),
  usedAt: numberOrNull(row.used_at),
  usedFrom: row.used_from,
})

function toPrefixes(text: string): Prefix[] {
  if (text === '') return []
  return text.split(' ').map((each) => {
    const prefix = readPrefix(each)
    // An unreadable address lock must not allow every address.
    if (!prefix) throw new Error('a token has an address lock that cannot be read')
    return prefix
  })
}

export async function findMode(reader: Reader): Promise<ShopMode | undefined> {
  return (await reader.first<{ mode: ShopMode }>('SELECT mode FROM shop WHERE one = 1'))?.mode
}

/** Returns false if the mode was decided before; then nothing changes. */
export async function decideMode(tx: Tx, mode: ShopMode, nowMs: number, keyFingerprint: Uint8Array): Promise<boolean> {
  const added = await tx.run(
    'INSERT INTO shop (one, mode, opened_at, key_fingerprint) VALUES (1, $1, $2, $3) ON CONFLICT (one) DO NOTHING',
    [mode, nowMs, keyFingerprint],
  )
  return added === 1
}

export async function findKeyFingerprint(reader: Reader): Promise<Uint8Array | undefined> {
  const row = await reader.first<{ key_fingerprint: Uint8Array }>('SELECT key_fingerprint FROM shop WHERE one = 1')
  return row?.key_fingerprint
}

export function insertCustomer(tx: Tx, customer: Customer): void {
  tx.send('INSERT INTO customers (id, name, created_at, blocked_at) VALUES ($1, $2, $3, $4)', [
    customer.id,
    customer.name,
    customer.createdAt,
    customer.blockedAt,
  ])
}

export async function findCustomer(reader: Reader, id: CustomerId): Promise<Customer | undefined> {
  const row = await reader.first<CustomerRow>('SELECT * FROM customers WHERE id = $1', [id])
  return row && toCustomer(row)
}

/** Locks the customer until the commit, so that counts of the customer's things are exact. */
export async function lockCustomer(tx: Tx, id: CustomerId): Promise<boolean> {
  return (await tx.first('SELECT id FROM customers WHERE id = $1 FOR UPDATE', [id])) !== undefined
}

/** Oldest first; an id made later sorts later. */
export async function listCustomers(reader: Reader, after: string, limit: number): Promise<Customer[]> {
  const rows = await reader.all<CustomerRow>('SELECT * FROM customers WHERE id > $1 ORDER BY id LIMIT $2', [
    after,
    limit,
  ])
  return rows.map(toCustomer)
}

/** Oldest first. The text is compared as written too: SQLite lowers Latin letters only. */
export async function searchCustomers(
  reader: Reader,
  of: { readonly text: string; readonly found: readonly string[]; readonly after: string; readonly limit: number },
): Promise<Customer[]> {
  const found = padded(of.found.length === 0 ? [''] : of.found)
  const rows = await reader.all<CustomerRow>(
    `SELECT * FROM customers WHERE id > $1 AND
       (id = $2 OR LOWER(name) LIKE $3 ESCAPE '!' OR name LIKE $5 ESCAPE '!' OR LOWER(note) LIKE $3 ESCAPE '!' OR
        note LIKE $5 ESCAPE '!' OR
        id IN (${list(found.length, 5)}))
     ORDER BY id LIMIT $4`,
    [of.after, of.text, containing(of.text.toLowerCase()), of.limit, containing(of.text), ...found],
  )
  return rows.map(toCustomer)
}

export async function setNote(tx: Tx, id: CustomerId, note: string | null): Promise<boolean> {
  return (await tx.run('UPDATE customers SET note = $2 WHERE id = $1', [id, note])) === 1
}

/** The first block keeps its time. An erased customer stays blocked. */
export async function setBlocked(tx: Tx, id: CustomerId, atMs: number | null): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE customers SET blocked_at = CASE WHEN CAST($2 AS BIGINT) IS NULL THEN NULL ELSE COALESCE(blocked_at, $2) END
     WHERE id = $1 AND
       (CAST($2 AS BIGINT) IS NOT NULL OR NOT EXISTS (SELECT 1 FROM erasures WHERE customer_id = $1))`,
    [id, atMs],
  )
  return changed === 1
}

export async function blockedAmong(reader: Reader, ids: readonly CustomerId[]): Promise<Set<CustomerId>> {
  if (ids.length === 0) return new Set()
  const paddedIds = padded(ids)
  const rows = await reader.all<{ id: CustomerId }>(
    `SELECT id FROM customers WHERE blocked_at IS NOT NULL AND id IN (${list(paddedIds.length)})`,
    paddedIds,
  )
  return new Set(rows.map((row) => row.id))
}

export function insertToken(tx: Tx, token: Token, digest: Uint8Array): void {
  const { id, customer, hint, name, cap, createdAt, expiresAt, revokedAt } = token
  const allowedFrom = token.allowedFrom.map(formatPrefix).join(' ')
  tx.send(
    `INSERT INTO tokens
       (id, customer_id, digest, hint, name, scopes, allowed_from, cap_kopecks, created_at, expires_at, revoked_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [id, customer, digest, hint, name, token.scopes.join(' '), allowedFrom, cap, createdAt, expiresAt, revokedAt],
  )
}

/** The token with this digest, and whether its customer is blocked. */
export async function findTokenByDigest(
  reader: Reader,
  digest: Uint8Array,
): Promise<{ token: Token; digest: Uint8Array; blocked: boolean; revocationEpoch: number } | undefined> {
  const row = await reader.first<
    TokenRow & { digest: Uint8Array; blocked_at: bigint | null; revocation_epoch: bigint }
  >(
    `SELECT tokens.*, customers.blocked_at, accounts.revocation_epoch
     FROM tokens JOIN customers ON customers.id = tokens.customer_id
       JOIN accounts ON accounts.customer_id = customers.id
     WHERE tokens.digest = $1`,
    [digest],
  )
  if (!row) return undefined
  const { digest: stored, blocked_at, revocation_epoch } = row
  return {
    token: toToken(row),
    digest: stored,
    blocked: blocked_at !== null,
    revocationEpoch: Number(revocation_epoch),
  }
}

/** Whether a customer is blocked, and the owner and term of a token. Undefined for an unknown customer. */
export async function findAccess(
  reader: Reader,
  customer: CustomerId,
  token: TokenId | null,
): Promise<{ blocked: boolean; owner: string | null; term: Pick<Token, 'expiresAt' | 'revokedAt'> } | undefined> {
  const row = await reader.first<{
    blocked_at: bigint | null
    owner_id: string | null
    expires_at: bigint | null
    revoked_at: bigint | null
  }>(
    `SELECT customers.blocked_at, tokens.customer_id AS owner_id, tokens.expires_at, tokens.revoked_at
     FROM customers LEFT JOIN tokens ON tokens.id = $2 WHERE customers.id = $1`,
    [customer, token],
  )
  if (!row) return undefined
  const term = { expiresAt: numberOrNull(row.expires_at), revokedAt: numberOrNull(row.revoked_at) }
  return { blocked: row.blocked_at !== null, owner: row.owner_id, term }
}

export async function findCap(reader: Reader, id: TokenId): Promise<{ cap: Kopecks | null } | undefined> {
  const row = await reader.first<Pick<TokenRow, 'cap_kopecks'>>('SELECT cap_kopecks FROM tokens WHERE id = $1', [id])
  return row && { cap: row.cap_kopecks === null ? null : kopecks(row.cap_kopecks) }
}

/** Thousands may be revoked: the list has the others, and the newest of the revoked. */
const maxListed = 200

/** Oldest first. */
export async function listTokens(reader: Reader, customer: CustomerId): Promise<Token[]> {
  const rows = await reader.all<TokenRow>(
    `SELECT * FROM tokens WHERE customer_id = $1
     ORDER BY CASE WHEN revoked_at IS NULL THEN 0 ELSE 1 END, id DESC LIMIT $2`,
    [customer, maxListed],
  )
  return rows.map(toToken).toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

/** Whether a customer ever had a token. Revoked and expired tokens keep their rows. */
export async function hadToken(reader: Reader, customer: CustomerId): Promise<boolean> {
  return (await reader.first('SELECT 1 AS one FROM tokens WHERE customer_id = $1 LIMIT 1', [customer])) !== undefined
}

/** The number of a customer's open tokens, and of those issued since. */
export async function countTokens(
  reader: Reader,
  customer: CustomerId,
  nowMs: number,
  sinceMs: number,
): Promise<{ open: number; young: number }> {
  const row = await reader.first<{ open: bigint; young: bigint }>(
    `SELECT COUNT(CASE WHEN revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) THEN 1 END) AS open,
       COUNT(CASE WHEN created_at > $3 THEN 1 END) AS young
     FROM tokens WHERE customer_id = $1`,
    [customer, nowMs, sinceMs],
  )
  return { open: Number(row?.open ?? 0n), young: Number(row?.young ?? 0n) }
}

export async function findOwner(reader: Reader, id: TokenId): Promise<CustomerId | undefined> {
  return (await reader.first<{ customer_id: CustomerId }>('SELECT customer_id FROM tokens WHERE id = $1', [id]))
    ?.customer_id
}

/** Only a token of this customer. The first revocation keeps its time. */
export async function revokeToken(tx: Tx, customer: CustomerId, id: TokenId, nowMs: number): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE tokens SET revoked_at = COALESCE(revoked_at, $3) WHERE id = $1 AND customer_id = $2',
    [id, customer, nowMs],
  )
  return changed === 1
}

/** Skips an erased token, which has no hint. */
export async function noteUse(tx: Tx, id: string, atMs: number, from: string | null): Promise<void> {
  await tx.run(
    `UPDATE tokens SET used_at = $2, used_from = $3 WHERE id = $1 AND COALESCE(used_at, 0) < $2 AND hint <> ''`,
    [id, atMs, from],
  )
}

export async function listCaps(reader: Reader): Promise<Map<string, Kopecks>> {
  const rows = await reader.all<{ id: string; cap_kopecks: bigint }>(
    'SELECT id, cap_kopecks FROM tokens WHERE cap_kopecks IS NOT NULL',
  )
  return new Map(rows.map((row) => [row.id, kopecks(row.cap_kopecks)]))
}

export async function countCustomers(reader: Reader): Promise<number> {
  return Number((await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM customers'))?.n ?? 0n)
}

export async function ownersOf(reader: Reader, tokens: readonly TokenId[]): Promise<Map<TokenId, CustomerId>> {
  const owners = new Map<TokenId, CustomerId>()
  for (const chunk of chunked(tokens)) {
    const rows = await reader.all<Pick<TokenRow, 'id' | 'customer_id'>>(
      `SELECT id, customer_id FROM tokens WHERE id IN (${list(chunk.length)})`,
      chunk,
    )
    for (const row of rows) owners.set(row.id, row.customer_id)
  }
  return owners
}
