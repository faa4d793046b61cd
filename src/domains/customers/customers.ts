import { type Address, formatAddress, type Prefix } from '../../core/address.ts'
import { type CustomerId, makeId, type RandomBytes, type SessionId, type TokenId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Ledger, Payer } from '../ledger/index.ts'
import { customerBlocked, invalidToken, noSuchCustomer, noSuchToken, wrongScope } from './errors.ts'
import type { Customer, Scope, ShopMode, Token } from './rules.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

/** A revocation in another process takes effect after this long at most. */
const cacheTtlMs = 500
/** The same for a sale, whose transaction compares the account's revocation epoch. */
const saleCacheTtlMs = 10_000
const maxCached = 10_000
/** A customer may issue this many times the allowed open tokens within a day: their rows are kept. */
const turnover = 10
const turnoverMs = 86_400_000

export type Customers = ReturnType<typeof createCustomers>

/** An authenticated caller. A purchase in a session is charged through no token. */
export type Caller = {
  readonly customer: CustomerId
  readonly token: NonNullable<Payer['token']> | null
  readonly scopes: readonly Scope[]
  readonly session?: SessionId
}

export type TokenRequest = {
  readonly name: string
  readonly scopes?: readonly Scope[]
  readonly allowedFrom?: readonly Prefix[]
  readonly cap?: Kopecks | null
  readonly expiresAt?: number | null
}

export function createCustomers(deps: {
  db: Database
  ledger: Pick<Ledger, 'open' | 'lock'>
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Pick<Vault, 'fingerprint'>
  /** The largest number of open tokens of one customer. */
  mostTokens?: number
}) {
  const { db, clock, random, mostTokens: maxTokens = 100 } = deps
  const cached = { clock, ttlMs: cacheTtlMs, maxEntries: maxCached }
  const tokens = createTtlCache({ ...cached, load: findToken, shouldKeep: (found) => found !== undefined })
  const known = createTtlCache({ ...cached, load: (id: CustomerId) => store.findCustomer(db, id) })
  /** Token uses since the last `noteUses`. */
  const uses = new Map<TokenId, { readonly at: number; readonly from: Address | undefined }>()
  /** The fixed token of a sandbox, the only one accepted without a checksum. */
  let sandboxText: string | undefined
  let decidedMode: ShopMode | undefined

  /** The mode never changes once it is decided. */
  async function findMode(): Promise<ShopMode | undefined> {
    decidedMode ??= await store.findMode(db)
    return decidedMode
  }

  const decideMode = (tx: Tx, mode: ShopMode): Promise<boolean> =>
    store.decideMode(tx, mode, clock(), deps.vault.fingerprint)

  /** Compares the digest again: an index may match by collation. */
  async function findToken(text: string) {
    const digest = deps.sha256(text)
    const found = await store.findTokenByDigest(db, digest)
    return found && sameBytes(found.digest, digest) ? found : undefined
  }

  async function addCustomer(tx: Tx, name: string): Promise<Customer> {
    const nowMs = clock()
    const id = makeId('customer', nowMs, random)
    const customer: Customer = { id, name, createdAt: nowMs, blockedAt: null, note: null }
    store.insertCustomer(tx, customer)
    deps.ledger.open(tx, id)
    return customer
  }

  function addToken(tx: Tx, customer: CustomerId, text: string, request: TokenRequest): Token {
    const nowMs = clock()
    const token: Token = {
      id: makeId('token', nowMs, random),
      customer,
      hint: rules.hintOf(text),
      name: request.name,
      scopes: request.scopes ?? rules.allScopes,
      allowedFrom: request.allowedFrom ?? [],
      cap: request.cap ?? null,
      createdAt: nowMs,
      expiresAt: request.expiresAt ?? null,
      revokedAt: null,
      usedAt: null,
      usedFrom: null,
    }
    store.insertToken(tx, token, deps.sha256(text))
    return token
  }

  function assertNotBlocked(customer: Customer | undefined): void {
    if (!customer) throw noSuchCustomer()
    if (customer.blockedAt !== null) throw customerBlocked()
  }

  return {
    /** Authenticates a caller. The checksum is checked before any look-up. */
    async authenticate(
      text: string | undefined,
      from: Address | undefined,
      needed: Scope,
      purpose?: 'sale',
    ): Promise<Caller> {
      if (text === undefined) throw invalidToken('missing')
      if (!(rules.isTokenText(text) || text === sandboxText)) throw invalidToken('malformed')
      const earlier = purpose === 'sale' ? await tokens.get(text, saleCacheTtlMs) : undefined
      const isOpen = earlier && !earlier.blocked && rules.whyClosed(earlier.token, clock()) === undefined
      // A refusal never comes from the older entry: the token may have been opened since.
      const found = isOpen ? earlier : await tokens.get(text)
      if (!found) throw invalidToken('unknown')
      const { token, revocationEpoch } = found
      if (rules.whyClosed(token, clock())) throw invalidToken('ended')
      if (found.blocked) throw customerBlocked()
      if (!rules.mayComeFrom(token, from)) throw new Refusal('token_address_not_allowed', {}, { charged: false })
      if (!token.scopes.includes(needed)) throw wrongScope(needed)
      uses.set(token.id, { at: clock(), from })
      const { id, customer, cap, scopes, expiresAt } = token
      return { customer, token: { id, cap, seen: { expiresAt, revocationEpoch } }, scopes }
    },

    /** Refuses a customer who is blocked or unknown, from the cache. */
    assertOpen: async (id: CustomerId): Promise<void> => assertNotBlocked(await known.get(id)),

    /** The same, in the caller's transaction. */
    assertOpenIn: async (tx: Tx, id: CustomerId): Promise<void> => assertNotBlocked(await store.findCustomer(tx, id)),

    /**
     * Whether a customer never had a token and no money has moved on the account. Both rows are locked, so that a
     * credit or a new token waits for the caller's transaction.
     */
    async isUnusedIn(tx: Tx, id: CustomerId): Promise<boolean> {
      const { seq } = await deps.ledger.lock(tx, id)
      await store.lockCustomer(tx, id)
      return seq === 0 && !(await store.hadToken(tx, id))
    },

    /** Whether the customer exists and is not blocked. */
    async isOpenIn(reader: Reader, id: CustomerId): Promise<boolean> {
      return (await store.findCustomer(reader, id))?.blockedAt === null
    },

    /** Writes token uses down. A crash loses at most those since the last call. */
    async noteUses(): Promise<void> {
      // Sorted, so that two processes that write at once take row locks in one order.
      const noted = [...uses].toSorted(([one], [other]) => (one < other ? -1 : 1))
      uses.clear()
      if (noted.length === 0) return
      await db.transact(async (tx) => {
        for (const [id, { at, from }] of noted) await store.noteUse(tx, id, at, from ? formatAddress(from) : null)
      })
    },

    /**
     * Why the payer may not buy, as the purchase's transaction sees it. While the account's revocation epoch is the one
     * seen at authentication, that result holds; else the customer and the token are checked again.
     */
    async findObjection(tx: Tx, { customer, token }: Payer, revocationEpoch: number): Promise<Refusal | undefined> {
      if (token?.seen?.revocationEpoch === revocationEpoch) {
        return rules.whyClosed({ expiresAt: token.seen.expiresAt, revokedAt: null }, clock()) && invalidToken('ended')
      }
      const found = await store.findAccess(tx, customer, token?.id ?? null)
      if (!found) return noSuchCustomer()
      if (token && (found.owner !== customer || rules.whyClosed(found.term, clock()))) return invalidToken('ended')
      return found.blocked ? customerBlocked() : undefined
    },

    /**
     * The payer of an automatic renewal: the customer, through the token that set it up. A revoked or expired token
     * does not stop it; its cap still holds.
     */
    async payerOf(customer: CustomerId, token: TokenId | null): Promise<Payer> {
      const found = token === null ? undefined : await store.findCap(db, token)
      return { customer, token: token === null || !found ? null : { id: token, cap: found.cap } }
    },

    mode: findMode,

    /** Decides the mode of the shop, once. Returns whether this call decided it. */
    decideMode,

    addCustomer,

    /** Adds an operator's customer. An undecided shop becomes a production one. */
    create: (name: string): Promise<Customer> =>
      db.transact(async (tx) => {
        await decideMode(tx, 'production')
        return addCustomer(tx, name)
      }),

    list: (after: string, limit: number): Promise<Customer[]> => store.listCustomers(db, after, limit),

    /** Customers with this text in id, name or note, and those in `found`. */
    search: (of: { text: string; found: readonly string[]; after: string; limit: number }): Promise<Customer[]> =>
      store.searchCustomers(db, of),

    async setNote(id: CustomerId, note: string | null): Promise<void> {
      if (!(await db.transact((tx) => store.setNote(tx, id, note)))) throw noSuchCustomer()
    },

    /** Clears the caches. */
    forget(): void {
      tokens.clear()
      known.clear()
    },

    async load(id: CustomerId): Promise<Customer> {
      const customer = await store.findCustomer(db, id)
      if (!customer) throw noSuchCustomer()
      return customer
    },

    /** Blocks or unblocks a customer. The caller touches the customer's goods in the same transaction. */
    async setBlocked(tx: Tx, id: CustomerId, blocked: boolean): Promise<void> {
      if (!(await store.findCustomer(tx, id))) throw noSuchCustomer()
      await deps.ledger.lock(tx, id)
      if (!(await store.setBlocked(tx, id, blocked ? clock() : null))) throw noSuchCustomer()
    },

    /** Which of these customers are blocked. */
    blockedAmong: (ids: readonly CustomerId[]): Promise<Set<CustomerId>> => store.blockedAmong(db, [...new Set(ids)]),

    /** Issues a token. Only this answer has its text. */
    issueToken: (customer: CustomerId, request: TokenRequest): Promise<{ text: string; token: Token }> =>
      db.transact(async (tx) => {
        if (!(await store.lockCustomer(tx, customer))) throw noSuchCustomer()
        const { open, young } = await store.countTokens(tx, customer, clock(), clock() - turnoverMs)
        const maxPerDay = maxTokens * turnover
        if (open >= maxTokens) throw new Refusal('token_limit', { most: maxTokens }, { limit: maxTokens })
        if (young >= maxPerDay) throw new Refusal('daily_token_limit', { most: maxPerDay }, { limit: maxPerDay })
        const mode = (await store.findMode(tx)) ?? 'production'
        const text = rules.makeTokenText(mode, random(tokenRandomBytes))
        return { text, token: addToken(tx, customer, text, request) }
      }),

    countAll: (): Promise<number> => store.countCustomers(db),

    /** For `verify`: the number of customers, the owners of tokens, and the caps of capped tokens. */
    count: store.countCustomers,
    ownersOf: store.ownersOf,
    caps: store.listCaps,

    listTokens: (customer: CustomerId): Promise<Token[]> => store.listTokens(db, customer),

    async revokeToken(id: TokenId): Promise<void> {
      await db.transact(async (tx) => {
        const owner = await store.findOwner(tx, id)
        if (!owner) throw noSuchToken()
        // Lock order: the account first, as in every transaction that locks both.
        await deps.ledger.lock(tx, owner)
        await store.revokeToken(tx, owner, id, clock())
      })
      tokens.clear()
    },

    /** Revokes one of the customer's own tokens. */
    async revokeOwnToken(customer: CustomerId, id: TokenId): Promise<void> {
      await db.transact(async (tx) => {
        await deps.ledger.lock(tx, customer)
        if (!(await store.revokeToken(tx, customer, id, clock()))) throw noSuchToken()
      })
      tokens.clear()
    },

    /** The customer of a sandbox; undefined in a production shop. */
    async findSandboxCustomer(): Promise<CustomerId | undefined> {
      if ((await findMode()) !== 'sandbox') return undefined
      return (await store.listCustomers(db, '', 1))[0]?.id
    },

    giveSandboxToken(tx: Tx, customer: CustomerId, text: string): void {
      addToken(tx, customer, text, { name: 'sandbox' })
    },

    makeSandboxToken: (): string => rules.makeTokenText('sandbox', random(tokenRandomBytes)),

    isToken: async (text: string): Promise<boolean> =>
      (await store.findTokenByDigest(db, deps.sha256(text))) !== undefined,

    /** Accepts a sandbox's fixed token without a checksum, and adds it if the sandbox does not have it. */
    async admitSandboxToken(text: string): Promise<void> {
      if (!rules.isSandboxTokenText(text)) throw new RangeError('a sandbox token is 8 to 200 visible characters')
      if ((await findMode()) !== 'sandbox') throw new Refusal('sandbox_token_in_production')
      await db.transact(async (tx) => {
        if (await store.findTokenByDigest(tx, deps.sha256(text))) return
        const [first] = await store.listCustomers(tx, '', 1)
        if (first) addToken(tx, first.id, text, { name: 'sandbox' })
      })
      sandboxText = text
    },
  }
}

/** Goods that nodes carry: touched rows are sent to nodes again. */
type Touched = { readonly touch: (tx: Tx, customer: CustomerId) => void }

/** Blocks or unblocks a customer and touches the customer's goods in one commit, so that nodes learn of it. */
export function createBlocking(deps: {
  db: Database
  customers: Pick<Customers, 'setBlocked'>
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

/** The fingerprint of the key that seals the shop's secrets. It is checked before the services start. */
export const createShopKey = ({ db }: { readonly db: Database }) => ({
  isShop: async (): Promise<boolean> => (await store.findKeyFingerprint(db)) !== undefined,

  /** Whether this is the shop's key, or there is no shop yet. */
  async isRight(fingerprint: Uint8Array): Promise<boolean> {
    const found = await store.findKeyFingerprint(db)
    return !found || sameBytes(found, fingerprint)
  },
})
