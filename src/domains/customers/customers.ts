import { type Address, formatAddress, type Prefix } from '../../core/address.ts'
import type { BoundCases } from '../../core/bind.ts'
import { type CustomerId, makeId, type RandomBytes, type SessionId, type TokenId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Ledger, Payer } from '../ledger/index.ts'
import { customerBlocked, invalidToken, noSuchCustomer, noSuchToken, ScopeMissing } from './errors.ts'
import type { Customer, Scope, ShopMode, Token } from './rules.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

/** A sale accepts an older entry: its transaction compares the account's revocation epoch. */
const saleCacheTtlMs = 10_000
/** A customer may issue this many times the allowed open tokens within a day: their rows are kept. */
const turnover = 10
const turnoverMs = 86_400_000

/** An authenticated caller. A purchase in a session is charged through no token. */
export type Caller = {
  readonly customer: CustomerId
  readonly token: NonNullable<Payer['token']> | null
  readonly scopes: readonly Scope[]
  readonly session?: SessionId
  /** The version of the API of the token. */
  readonly apiVersion?: string
}

export type TokenRequest = {
  readonly name: string
  readonly scopes?: readonly Scope[]
  readonly allowedFrom?: readonly Prefix[]
  readonly cap?: Kopecks | null
  readonly expiresAt?: number | null
  /** The latest by default. */
  readonly apiVersion?: string | undefined
}

type Given = {
  /** The version of the API for new tokens. */
  apiVersion?: string | undefined
  db: Database
  ledger: Pick<Ledger, 'open' | 'lock'>
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Pick<Vault, 'fingerprint'>
  /** The largest number of open tokens of one customer. */
  maxTokens?: number
}

export type CustomersDeps = ReturnType<typeof withCaches>

export function withCaches(given: Given) {
  // A revocation in another process takes effect after `ttlMs` at most.
  const cached = { clock: given.clock, ttlMs: 500, maxEntries: 10_000 }
  const memo: {
    /** The fixed token of a sandbox, the only one accepted without a checksum. */
    sandboxText?: string
    mode?: ShopMode | undefined
  } = {}
  return {
    ...given,
    maxTokens: given.maxTokens ?? 100,
    tokens: createTtlCache({
      ...cached,
      load: (text: string) => findToken(given, text),
      shouldKeep: (found) => found !== undefined,
    }),
    known: createTtlCache({ ...cached, load: (id: CustomerId) => store.findCustomer(given.db, id) }),
    /** Token uses since the last `noteUses`. */
    uses: new Map<TokenId, { readonly at: number; readonly from: Address | undefined }>(),
    memo,
  }
}

/** Compares the digest again: an index may match by collation. */
async function findToken({ db, sha256 }: Given, text: string) {
  const digest = sha256(text)
  const found = await store.findTokenByDigest(db, digest)
  return found && sameBytes(found.digest, digest) ? found : undefined
}

/** The mode of the shop; undefined until it is decided. It never changes afterwards. */
export async function mode(deps: CustomersDeps): Promise<ShopMode | undefined> {
  deps.memo.mode ??= await store.findMode(deps.db)
  return deps.memo.mode
}

/** Decides the mode of the shop, once. Returns whether this call decided it. */
export const decideMode = (deps: CustomersDeps, tx: Tx, shopMode: ShopMode): Promise<boolean> =>
  store.decideMode(tx, shopMode, deps.clock(), deps.vault.fingerprint)

export async function addCustomer(deps: CustomersDeps, tx: Tx, name: string): Promise<Customer> {
  const nowMs = deps.clock()
  const id = makeId('customer', nowMs, deps.random)
  const customer: Customer = { id, name, createdAt: nowMs, blockedAt: null, note: null }
  store.insertCustomer(tx, customer)
  deps.ledger.open(tx, id)
  return customer
}

function addToken(deps: CustomersDeps, tx: Tx, customer: CustomerId, text: string, request: TokenRequest): Token {
  const nowMs = deps.clock()
  const token: Token = {
    id: makeId('token', nowMs, deps.random),
    customer,
    hint: rules.hintOf(text),
    name: request.name,
    scopes: request.scopes ?? rules.allScopes,
    allowedFrom: request.allowedFrom ?? [],
    cap: request.cap ?? null,
    apiVersion: request.apiVersion ?? deps.apiVersion ?? rules.firstApiVersion,
    createdAt: nowMs,
    expiresAt: request.expiresAt ?? null,
    revokedAt: null,
    usedAt: null,
    usedFrom: null,
  }
  store.insertToken(tx, token, deps.sha256(text))
  return token
}

/** Authenticates a caller. The checksum is checked before any look-up. */
export async function authenticate(
  deps: CustomersDeps,
  text: string | undefined,
  from: Address | undefined,
  needed: Scope,
  purpose?: 'sale',
): Promise<Caller> {
  if (text === undefined) throw invalidToken('missing')
  if (!(rules.isTokenText(text) || text === deps.memo.sandboxText)) throw invalidToken('malformed')
  const earlier = purpose === 'sale' ? await deps.tokens.get(text, saleCacheTtlMs) : undefined
  const isOpen = earlier && !earlier.blocked && rules.whyClosed(earlier.token, deps.clock()) === undefined
  // A refusal never comes from the older entry: the token may have been opened since.
  const found = isOpen ? earlier : await deps.tokens.get(text)
  if (!found) throw invalidToken('unknown')
  const { token, revocationEpoch } = found
  if (rules.whyClosed(token, deps.clock())) throw invalidToken('ended')
  if (found.blocked) throw customerBlocked()
  if (!rules.mayComeFrom(token, from)) throw new Refusal('token_address_not_allowed', {}, { charged: false })
  if (!token.scopes.includes(needed)) throw new ScopeMissing(needed, { customer: token.customer, token: token.id })
  deps.uses.set(token.id, { at: deps.clock(), from })
  const { id, customer, cap, scopes, expiresAt } = token
  const { apiVersion } = token
  return { customer, token: { id, cap, seen: { expiresAt, revocationEpoch } }, scopes, apiVersion }
}

function assertNotBlocked(customer: Customer | undefined): void {
  if (!customer) throw noSuchCustomer()
  if (customer.blockedAt !== null) throw customerBlocked()
}

/** Refuses a customer who is blocked or unknown, in the caller's transaction. */
export const assertOpenIn = async (tx: Tx, id: CustomerId): Promise<void> =>
  assertNotBlocked(await store.findCustomer(tx, id))

/** Whether the customer exists and is not blocked. */
export const isOpenIn = async (reader: Reader, id: CustomerId): Promise<boolean> =>
  (await store.findCustomer(reader, id))?.blockedAt === null

/** Goods on nodes: touched rows are sent to nodes again. */
type Touched = { readonly touch: (tx: Tx, customer: CustomerId) => void }

/** Blocks or unblocks a customer and touches the customer's goods in one commit, so that nodes learn of it. */
export function createBlocking(deps: {
  db: Database
  customers: BoundCases<{ setBlocked: typeof setBlocked }>
  touched: readonly Touched[]
}) {
  /** In the caller's transaction. */
  async function within(tx: Tx, id: CustomerId, blocked: boolean): Promise<void> {
    await deps.customers.setBlocked(tx, id, blocked)
    for (const each of deps.touched) each.touch(tx, id)
  }
  return {
    within,
    setBlocked: (id: CustomerId, blocked: boolean): Promise<void> => deps.db.transact((tx) => within(tx, id, blocked)),
  }
}

/** Refuses a customer who is blocked or unknown, from the cache. */
export const assertOpen = async (deps: CustomersDeps, id: CustomerId): Promise<void> =>
  assertNotBlocked(await deps.known.get(id))

/** Whether a customer never had a token or money. Locks both rows, so that a credit or a new token waits. */
export async function isUnusedIn(deps: CustomersDeps, tx: Tx, id: CustomerId): Promise<boolean> {
  const { seq } = await deps.ledger.lock(tx, id)
  await store.lockCustomer(tx, id)
  return seq === 0 && !(await store.hadToken(tx, id))
}

/** Writes token uses down. A crash or a failover loses at most those since the last call. */
export async function noteUses(deps: CustomersDeps): Promise<void> {
  // Sorted, so that two processes that write at once take row locks in one order.
  const noted = [...deps.uses].toSorted(([one], [other]) => (one < other ? -1 : 1))
  deps.uses.clear()
  if (noted.length === 0) return
  await deps.db.transact(async (tx) => {
    for (const [id, { at, from }] of noted) await store.noteUse(tx, id, at, from ? formatAddress(from) : null)
  }, 'unreplicated')
}

/**
 * Why the payer may not buy, as the purchase's transaction sees it. While the account's revocation epoch is the one
 * seen at authentication, that result holds; else the customer and the token are checked again.
 */
export async function findObjection(
  deps: CustomersDeps,
  tx: Tx,
  { customer, token }: Payer,
  revocationEpoch: number,
): Promise<Refusal | undefined> {
  if (token?.seen?.revocationEpoch === revocationEpoch) {
    return rules.whyClosed({ expiresAt: token.seen.expiresAt, revokedAt: null }, deps.clock()) && invalidToken('ended')
  }
  const found = await store.findAccess(tx, customer, token?.id ?? null)
  if (!found) return noSuchCustomer()
  const expiresAt = token?.isSetUp ? null : found.expiresAt
  if (token && (found.owner !== customer || rules.whyClosed({ ...found, expiresAt }, deps.clock())))
    return invalidToken('ended')
  return found.blockedAt === null ? undefined : customerBlocked()
}

/** The payer of an automatic renewal or of a purchase by payment. The token may have ended since; its cap holds. */
export async function payerOf(deps: CustomersDeps, customer: CustomerId, token: TokenId | null): Promise<Payer> {
  const found = token === null ? undefined : await store.findCap(deps.db, token)
  return { customer, token: token === null || !found ? null : { id: token, cap: found.cap, isSetUp: true } }
}

/** Adds an operator's customer. An undecided shop becomes a production one. */
export const create = (deps: CustomersDeps, name: string): Promise<Customer> =>
  deps.db.transact(async (tx) => {
    await decideMode(deps, tx, 'production')
    return addCustomer(deps, tx, name)
  })

export async function setNote(deps: CustomersDeps, id: CustomerId, note: string | null): Promise<void> {
  if (!(await deps.db.transact((tx) => store.setNote(tx, id, note)))) throw noSuchCustomer()
}

/** Clears the caches. */
export function forget(deps: CustomersDeps): void {
  deps.tokens.clear()
  deps.known.clear()
}

export async function load(deps: CustomersDeps, id: CustomerId): Promise<Customer> {
  const customer = await store.findCustomer(deps.db, id)
  if (!customer) throw noSuchCustomer()
  return customer
}

/** Blocks or unblocks a customer. The caller touches the customer's goods in the same transaction. */
export async function setBlocked(deps: CustomersDeps, tx: Tx, id: CustomerId, blocked: boolean): Promise<void> {
  if (!(await store.findCustomer(tx, id))) throw noSuchCustomer()
  await deps.ledger.lock(tx, id)
  if (!(await store.setBlocked(tx, id, blocked ? deps.clock() : null))) throw noSuchCustomer()
}

/** Which of these customers are blocked. */
export const blockedAmong = (deps: CustomersDeps, ids: readonly CustomerId[]): Promise<Set<CustomerId>> =>
  store.blockedAmong(deps.db, [...new Set(ids)])

/** Issues a token. Only this answer has its text. */
export const issueToken = (deps: CustomersDeps, customer: CustomerId, request: TokenRequest): Promise<IssuedToken> =>
  deps.db.transact((tx) => issueTokenIn(deps, tx, customer, request))

type IssuedToken = { readonly text: string; readonly token: Token }

export async function issueTokenIn(
  deps: CustomersDeps,
  tx: Tx,
  customer: CustomerId,
  request: TokenRequest,
): Promise<IssuedToken> {
  if ((request.expiresAt ?? Number.POSITIVE_INFINITY) <= deps.clock()) throw refuseField('expires_at', 'future')
  if (!(await store.lockCustomer(tx, customer))) throw noSuchCustomer()
  const counts = await store.countTokens(tx, customer, deps.clock(), deps.clock() - turnoverMs)
  const { open = 0, young = 0 } = counts ?? {}
  const maxPerDay = deps.maxTokens * turnover
  if (open >= deps.maxTokens) throw new Refusal('token_limit', { max: deps.maxTokens }, { limit: deps.maxTokens })
  if (young >= maxPerDay) throw new Refusal('daily_token_limit', { max: maxPerDay }, { limit: maxPerDay })
  const text = rules.makeTokenText((await store.findMode(tx)) ?? 'production', deps.random(tokenRandomBytes))
  return { text, token: addToken(deps, tx, customer, text, request) }
}

export async function revokeToken(deps: CustomersDeps, id: TokenId): Promise<void> {
  const owner = await store.findOwner(deps.db, id)
  if (!owner) throw noSuchToken()
  await revokeOwnToken(deps, owner, id)
}

/** Revokes one of the customer's own tokens. */
export async function revokeOwnToken(deps: CustomersDeps, customer: CustomerId, id: TokenId): Promise<void> {
  await deps.db.transact(async (tx) => {
    // Lock order: the account first, as in every transaction that locks both.
    await deps.ledger.lock(tx, customer)
    if (!(await store.revokeToken(tx, customer, id, deps.clock()))) throw noSuchToken()
  })
  deps.tokens.clear()
}

/** Revokes all tokens of a customer, in the caller's transaction; `forget` follows its commit. Returns how many. */
export async function revokeTokensIn(deps: CustomersDeps, tx: Tx, customer: CustomerId): Promise<number> {
  await deps.ledger.lock(tx, customer)
  return store.revokeTokens(tx, customer, deps.clock())
}

/** Sets the version of the API of one of the customer's tokens. */
export async function setTokenVersion(
  deps: CustomersDeps,
  customer: CustomerId,
  id: TokenId,
  version: string,
): Promise<void> {
  if (!(await deps.db.transact((tx) => store.setTokenVersion(tx, customer, id, version)))) throw noSuchToken()
  deps.tokens.clear()
}

const customersPerPage = 1000

/** The customers whose pseudonyms on nodes these are. It computes the pseudonyms of all customers. */
export async function findOwners(
  { db, sha256 }: CustomersDeps,
  owners: ReadonlySet<string>,
): Promise<Map<string, { readonly id: CustomerId; readonly name: string }>> {
  const found = new Map<string, { readonly id: CustomerId; readonly name: string }>()
  for (let after = ''; found.size < owners.size; ) {
    const page = await store.listCustomers(db, after, customersPerPage)
    for (const { id, name } of page) {
      const owner = rules.ownerName(id, sha256)
      if (owners.has(owner)) found.set(owner, { id, name })
    }
    const last = page.at(-1)
    if (!last || page.length < customersPerPage) break
    after = last.id
  }
  return found
}

/** The customer of a sandbox; undefined in a production shop. */
export async function findSandboxCustomer(deps: CustomersDeps): Promise<CustomerId | undefined> {
  if ((await mode(deps)) !== 'sandbox') return undefined
  return (await store.listCustomers(deps.db, '', 1))[0]?.id
}

export function giveSandboxToken(deps: CustomersDeps, tx: Tx, customer: CustomerId, text: string): void {
  addToken(deps, tx, customer, text, { name: 'sandbox' })
}

export const makeSandboxToken = (deps: CustomersDeps): string =>
  rules.makeTokenText('sandbox', deps.random(tokenRandomBytes))

export const isToken = async (deps: CustomersDeps, text: string): Promise<boolean> =>
  (await store.findTokenByDigest(deps.db, deps.sha256(text))) !== undefined

/** Accepts a sandbox's fixed token without a checksum, and adds it if the sandbox does not have it. */
export async function admitSandboxToken(deps: CustomersDeps, text: string): Promise<void> {
  if (!rules.isSandboxTokenText(text)) throw new RangeError('a sandbox token is 8 to 200 visible characters')
  if ((await mode(deps)) !== 'sandbox') throw new Refusal('sandbox_token_in_production')
  await deps.db.transact(async (tx) => {
    if (await store.findTokenByDigest(tx, deps.sha256(text))) return
    const [first] = await store.listCustomers(tx, '', 1)
    if (first) addToken(deps, tx, first.id, text, { name: 'sandbox' })
  })
  deps.memo.sandboxText = text
}
