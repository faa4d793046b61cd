import { formatPrefix, type Prefix, readPrefix } from '../../core/address.ts'
import type { CustomerId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import {
  bytes,
  columnsOf,
  idColumn,
  int,
  money,
  orNull,
  type Row,
  textColumn,
  textList,
  valuesOf,
} from '../../db/columns.ts'
import {
  allIn,
  allOf,
  changesOne,
  containing,
  countBy,
  hasRow,
  list,
  loweredForms,
  padded,
  pastPrefix,
  sendRows,
} from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type Customer, firstApiVersion, isScope, type ShopMode, type Token } from './rules.ts'

const customers = columnsOf<Customer>({
  id: idColumn('id'),
  name: textColumn('name'),
  createdAt: int('created_at'),
  blockedAt: orNull(int('blocked_at')),
  note: orNull(textColumn('note')),
})

const tokens = columnsOf<Token>({
  id: idColumn('id'),
  customer: idColumn('customer_id'),
  hint: textColumn('hint'),
  name: textColumn('name'),
  scopes: { ...textList('scopes'), read: (value) => textList('scopes').read(value).filter(isScope) },
  allowedFrom: {
    name: 'allowed_from',
    read: (value) => textList('allowed_from').read(value).map(loadPrefix),
    write: (prefixes) => prefixes.map(formatPrefix).join(' '),
  },
  cap: orNull(money('cap_kopecks')),
  apiVersion: {
    name: 'api_version',
    read: (value) => orNull(textColumn('api_version')).read(value) ?? firstApiVersion,
    write: (version) => version,
  },
  createdAt: int('created_at'),
  expiresAt: orNull(int('expires_at')),
  revokedAt: orNull(int('revoked_at')),
  usedAt: orNull(int('used_at')),
  usedFrom: orNull(textColumn('used_from')),
})

/** An unreadable address lock must not allow every address. */
function loadPrefix(text: string): Prefix {
  const prefix = readPrefix(text)
  if (!prefix) throw new Error('a token has an address lock that cannot be read')
  return prefix
}

export async function findMode(reader: Reader): Promise<ShopMode | undefined> {
  return (await reader.first<{ mode: ShopMode }>('SELECT mode FROM shop WHERE one = 1'))?.mode
}

/** Returns false if the mode was decided before; then nothing changes. */
export const decideMode = (tx: Tx, mode: ShopMode, nowMs: number, keyFingerprint: Uint8Array): Promise<boolean> =>
  changesOne(
    tx,
    'INSERT INTO shop (one, mode, opened_at, key_fingerprint) VALUES (1, $1, $2, $3) ON CONFLICT (one) DO NOTHING',
    [mode, nowMs, keyFingerprint],
  )

export async function findKeyFingerprint(reader: Reader): Promise<Uint8Array | undefined> {
  const row = await reader.first<{ key_fingerprint: Uint8Array }>('SELECT key_fingerprint FROM shop WHERE one = 1')
  return row?.key_fingerprint
}

export const insertCustomer = (tx: Tx, customer: Customer): void =>
  sendRows(tx, `INSERT INTO customers (${customers.names})`, [customers.values(customer)])

export const findCustomer = (reader: Reader, id: CustomerId): Promise<Customer | undefined> =>
  customers.first(reader, 'SELECT * FROM customers WHERE id = $1', [id])

/** Locks the customer until the commit, so that counts of the customer's things are exact. */
export const lockCustomer = (tx: Tx, id: CustomerId): Promise<boolean> =>
  hasRow(tx, 'SELECT id FROM customers WHERE id = $1 FOR UPDATE', [id])

/** Oldest first; an id made later sorts later. */
export const listCustomers = (reader: Reader, after: string, limit: number): Promise<Customer[]> =>
  customers.all(reader, 'SELECT * FROM customers WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])

/** How many customers have an id from one on and below another. */
export const countBetween = (reader: Reader, from: string, below: string): Promise<number> =>
  countBy(reader, 'SELECT COUNT(*) AS n FROM customers WHERE id >= $1 AND id < $2', [from, below])

/** Newest first, below an id. */
export const listNewest = (reader: Reader, below: string, limit: number): Promise<Customer[]> =>
  customers.all(reader, 'SELECT * FROM customers WHERE id < $1 ORDER BY id DESC LIMIT $2', [below, limit])

/** Oldest first. The text is compared as written too: SQLite lowers Latin letters only. */
export function searchCustomers(
  reader: Reader,
  of: { readonly text: string; readonly found: readonly string[]; readonly after: string; readonly limit: number },
): Promise<Customer[]> {
  const found = padded(of.found.length === 0 ? [''] : of.found)
  return customers.all(
    reader,
    `SELECT * FROM customers WHERE id > $1 AND
       (id = $2 OR LOWER(name) LIKE $3 ESCAPE '!' OR name LIKE $5 ESCAPE '!' OR LOWER(note) LIKE $3 ESCAPE '!' OR
        note LIKE $5 ESCAPE '!' OR
        id IN (${list(found.length, 5)}))
     ORDER BY id LIMIT $4`,
    [of.after, of.text, containing(of.text.toLowerCase()), of.limit, containing(of.text), ...found],
  )
}

/** Customers whose id begins with the text, oldest first; by the primary key. */
export const findByIdPrefix = (reader: Reader, text: string, limit: number): Promise<Customer[]> =>
  customers.all(reader, 'SELECT * FROM customers WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3', [
    text,
    pastPrefix(text),
    limit,
  ])

/** Customers whose name begins with the text, by the index on `LOWER(name)`. */
export async function findByNamePrefix(reader: Reader, text: string, limit: number): Promise<Customer[]> {
  const found: Customer[] = []
  for (const form of loweredForms(text)) {
    const rows = await customers.all(
      reader,
      'SELECT * FROM customers WHERE LOWER(name) >= $1 AND LOWER(name) < $2 ORDER BY LOWER(name) LIMIT $3',
      [form, pastPrefix(form), limit - found.length],
    )
    found.push(...rows)
  }
  return found
}

/** Each customer by id, of up to a few thousand. */
export async function findMany(reader: Reader, ids: readonly string[]): Promise<Map<string, Customer>> {
  const rows = await allOf<Row>(reader, [...new Set(ids)], (among) => `SELECT * FROM customers WHERE id IN (${among})`)
  return new Map(rows.map(customers.read).map((each) => [each.id, each]))
}

export const setNote = (tx: Tx, id: CustomerId, note: string | null): Promise<boolean> =>
  changesOne(tx, 'UPDATE customers SET note = $2 WHERE id = $1', [id, note])

/** The first block keeps its time. An erased customer stays blocked. */
export const setBlocked = (tx: Tx, id: CustomerId, atMs: number | null): Promise<boolean> =>
  changesOne(
    tx,
    `UPDATE customers SET blocked_at = CASE WHEN CAST($2 AS BIGINT) IS NULL THEN NULL ELSE COALESCE(blocked_at, $2) END
     WHERE id = $1 AND
       (CAST($2 AS BIGINT) IS NOT NULL OR NOT EXISTS (SELECT 1 FROM erasures WHERE customer_id = $1))`,
    [id, atMs],
  )

export async function blockedAmong(reader: Reader, ids: readonly CustomerId[]): Promise<Set<CustomerId>> {
  const sql = (among: string) => `SELECT id FROM customers WHERE blocked_at IS NOT NULL AND id IN (${among})`
  return new Set((await allOf<{ id: CustomerId }>(reader, ids, sql)).map((row) => row.id))
}

export const insertToken = (tx: Tx, token: Token, digest: Uint8Array): void =>
  sendRows(tx, `INSERT INTO tokens (digest, ${tokens.names})`, [[digest, ...tokens.values(token)]])

const tokenState = columnsOf({ digest: bytes('digest'), revocationEpoch: int('revocation_epoch') })

/** The token with this digest, and whether its customer is blocked. */
export async function findTokenByDigest(reader: Reader, digest: Uint8Array) {
  const row = await reader.first<Row>(
    `SELECT tokens.*, customers.blocked_at, accounts.revocation_epoch
     FROM tokens JOIN customers ON customers.id = tokens.customer_id
       JOIN accounts ON accounts.customer_id = customers.id
     WHERE tokens.digest = $1`,
    [digest],
  )
  return row && { token: tokens.read(row), blocked: row['blocked_at'] !== null, ...tokenState.read(row) }
}

const access = columnsOf({
  owner: orNull(textColumn('owner_id')),
  blockedAt: orNull(int('blocked_at')),
  expiresAt: orNull(int('expires_at')),
  revokedAt: orNull(int('revoked_at')),
})

/** When a customer was blocked, and the owner and term of a token. Undefined for an unknown customer. */
export const findAccess = (reader: Reader, customer: CustomerId, token: TokenId | null) =>
  access.first(
    reader,
    `SELECT customers.blocked_at, tokens.customer_id AS owner_id, tokens.expires_at, tokens.revoked_at
     FROM customers LEFT JOIN tokens ON tokens.id = $2 WHERE customers.id = $1`,
    [customer, token],
  )

const caps = columnsOf({ cap: orNull(money('cap_kopecks')) })

export const findCap = (reader: Reader, id: TokenId): Promise<{ cap: Kopecks | null } | undefined> =>
  caps.first(reader, 'SELECT cap_kopecks FROM tokens WHERE id = $1', [id])

/** Thousands may be revoked: the list has the others, and the newest of the revoked. */
const maxListed = 200

/** Oldest first. */
export async function listTokens(reader: Reader, customer: CustomerId): Promise<Token[]> {
  const listed = await tokens.all(
    reader,
    `SELECT * FROM tokens WHERE customer_id = $1
     ORDER BY CASE WHEN revoked_at IS NULL THEN 0 ELSE 1 END, id DESC LIMIT $2`,
    [customer, maxListed],
  )
  return listed.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

/** Whether a customer ever had a token. Revoked and expired tokens keep their rows. */
export const hadToken = (reader: Reader, customer: CustomerId): Promise<boolean> =>
  hasRow(reader, 'SELECT 1 AS one FROM tokens WHERE customer_id = $1 LIMIT 1', [customer])

const tokenCounts = columnsOf({ open: int('open'), young: int('young') })

/** Only a token of this customer that is not revoked. */
export const setTokenVersion = (tx: Tx, customer: CustomerId, id: TokenId, version: string): Promise<boolean> =>
  changesOne(tx, 'UPDATE tokens SET api_version = $3 WHERE id = $1 AND customer_id = $2 AND revoked_at IS NULL', [
    id,
    customer,
    version,
  ])

/** The number of a customer's open tokens, and of those issued since. */
export const countTokens = (reader: Reader, customer: CustomerId, nowMs: number, sinceMs: number) =>
  tokenCounts.first(
    reader,
    `SELECT COUNT(CASE WHEN revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) THEN 1 END) AS open,
       COUNT(CASE WHEN created_at > $3 THEN 1 END) AS young
     FROM tokens WHERE customer_id = $1`,
    [customer, nowMs, sinceMs],
  )

export const findOwner = (reader: Reader, id: TokenId): Promise<CustomerId | undefined> =>
  valuesOf(idColumn<CustomerId>('customer_id')).first(reader, 'SELECT customer_id FROM tokens WHERE id = $1', [id])

/** Only a token of this customer. The first revocation keeps its time. */
export const revokeToken = (tx: Tx, customer: CustomerId, id: TokenId, nowMs: number): Promise<boolean> =>
  changesOne(tx, 'UPDATE tokens SET revoked_at = COALESCE(revoked_at, $3) WHERE id = $1 AND customer_id = $2', [
    id,
    customer,
    nowMs,
  ])

export const revokeTokens = (tx: Tx, customer: CustomerId, nowMs: number): Promise<number> =>
  tx.run('UPDATE tokens SET revoked_at = $2 WHERE customer_id = $1 AND revoked_at IS NULL', [customer, nowMs])

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

export const countCustomers = (reader: Reader): Promise<number> =>
  countBy(reader, 'SELECT COUNT(*) AS n FROM customers')

export async function ownersOf(reader: Reader, of: readonly TokenId[]): Promise<Map<TokenId, CustomerId>> {
  const sql = (ids: string) => `SELECT id, customer_id FROM tokens WHERE id IN (${ids})`
  const rows = await allIn<{ id: TokenId; customer_id: CustomerId }>(reader, of, sql)
  return new Map(rows.map((row) => [row.id, row.customer_id]))
}
