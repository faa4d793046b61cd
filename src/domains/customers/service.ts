import { type Address, formatAddress, type Prefix } from '../../core/address.ts'
import { type CustomerId, makeId, type RandomBytes, type SessionId, type TokenId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Ledger, Payer } from '../ledger/index.ts'
import {
  customerBlocked,
  invalidToken,
  noSuchCustomer,
  noSuchToken,
  shopIsProduction,
  tokensUsedUp,
  tooManyTokens,
  wrongAddress,
  wrongScope,
} from './errors.ts'
import {
  allScopes,
  type Customer,
  hintOf,
  isSandboxTokenText,
  isTokenText,
  makeTokenText,
  mayComeFrom,
  type Scope,
  type ShopMode,
  type Token,
  whyClosed,
} from './rules.ts'
import * as store from './store.ts'

/** How long a look-up is believed. A revocation in another process is known after this long at most. */
const cacheTtlMs = 500
/** The same for a sale, which compares in its own transaction whether anybody was shut out since. */
const saleCacheTtlMs = 10_000
const maxCached = 10_000
/** Within a day so many times the tokens that may be open are made: their rows stay, revoked or not. */
const turnover = 10
const youngMs = 86_400_000

export type Customers = ReturnType<typeof createCustomers>

/** Who is calling, once a token or a session has let them in. What a session buys is charged through no token. */
export type Caller = {
  readonly customer: CustomerId
  readonly token: NonNullable<Payer['token']> | null
  /** What the token or the session may do. */
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
  /** How many of a customer's tokens may be open at once. */
  mostTokens?: number
}) {
  const { db, clock, random, mostTokens = 100 } = deps
  let decided: ShopMode | undefined

  /** Asked for with every sale. Once decided it never changes. */
  async function findMode(): Promise<ShopMode | undefined> {
    decided ??= await store.findMode(db)
    return decided
  }

  const decideMode = (tx: Tx, mode: ShopMode): Promise<boolean> =>
    store.decideMode(tx, mode, clock(), deps.vault.fingerprint)
  /** Many requests of one token share a look-up. What is not a token is forgotten at once. */
  const tokens = createTtlCache({
    load: findToken,
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
    shouldKeep: (found) => found !== undefined,
  })
  /** Whether customers are blocked, for sessions: many requests share a look. */
  const present = createTtlCache({
    load: (id: CustomerId) => store.findCustomer(db, id),
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
  })
  /** When tokens were used since that was last written down. */
  const uses = new Map<TokenId, { readonly at: number; readonly from: Address | undefined }>()

  /** The one text without a checksum that is let through to the look-up, in a sandbox that was given it. */
  let sandboxText: string | undefined

  /** Compared again here: what an index takes for equal is not what opens a door. */
  async function findToken(text: string) {
    const digest = deps.sha256(text)
    const found = await store.findTokenByDigest(db, digest)
    return found && sameBytes(found.digest, digest) ? found : undefined
  }

  const isOpen = ({ token, blocked }: { token: Token; blocked: boolean }): boolean =>
    !blocked && whyClosed(token, clock()) === undefined

  async function addCustomer(tx: Tx, name: string): Promise<Customer> {
    const nowMs = clock()
    const customer: Customer = {
      id: makeId('customer', nowMs, random),
      name,
      createdAt: nowMs,
      blockedAt: null,
      note: null,
    }
    store.insertCustomer(tx, customer)
    deps.ledger.open(tx, customer.id)
    return customer
  }

  function addToken(tx: Tx, customer: CustomerId, text: string, wish: TokenRequest): Token {
    const nowMs = clock()
    const token: Token = {
      id: makeId('token', nowMs, random),
      customer,
      hint: hintOf(text),
      name: wish.name,
      scopes: wish.scopes ?? allScopes,
      allowedFrom: wish.allowedFrom ?? [],
      cap: wish.cap ?? null,
      createdAt: nowMs,
      expiresAt: wish.expiresAt ?? null,
      revokedAt: null,
      usedAt: null,
      usedFrom: null,
    }
    store.insertToken(tx, token, deps.sha256(text))
    return token
  }

  return {
    /** Lets a caller in, or refuses. The checksum is looked at before the database is. */
    async authenticate(
      text: string | undefined,
      from: Address | undefined,
      needed: Scope,
      purpose?: 'sale',
    ): Promise<Caller> {
      if (text === undefined) throw invalidToken('missing')
      if (!(isTokenText(text) || text === sandboxText)) throw invalidToken('malformed')
      const earlier = purpose === 'sale' ? await tokens.get(text, saleCacheTtlMs) : undefined
      // Whoever was shut out then may have been let in again: a refusal is never an old one.
      const known = earlier && isOpen(earlier) ? earlier : await tokens.get(text)
      if (!known) throw invalidToken('unknown')
      const { token } = known
      if (whyClosed(token, clock())) throw invalidToken('ended')
      if (known.blocked) throw customerBlocked()
      if (!mayComeFrom(token, from)) throw wrongAddress()
      if (!token.scopes.includes(needed)) throw wrongScope(needed)
      uses.set(token.id, { at: clock(), from })
      const { id, customer, cap, scopes, expiresAt } = token
      return { customer, token: { id, cap, seen: { expiresAt, revocationEpoch: known.revocationEpoch } }, scopes }
    },

    /** Refuses a customer who is blocked or not there, as known half a second ago at most. */
    async assertOpen(id: CustomerId): Promise<void> {
      const customer = await present.get(id)
      if (!customer) throw noSuchCustomer()
      if (customer.blockedAt !== null) throw customerBlocked()
    },

    /** The same as the caller's transaction sees it. */
    async assertOpenIn(tx: Tx, id: CustomerId): Promise<void> {
      const customer = await store.findCustomer(tx, id)
      if (!customer) throw noSuchCustomer()
      if (customer.blockedAt !== null) throw customerBlocked()
    },

    /**
     * Whether a customer never had a token and no money has moved on the account. Both rows are locked, so that a
     * credit or a new token waits for the caller's transaction.
     */
    async isUnusedIn(tx: Tx, id: CustomerId): Promise<boolean> {
      const { seq } = await deps.ledger.lock(tx, id)
      await store.lockCustomer(tx, id)
      return seq === 0 && !(await store.hadToken(tx, id))
    },

    /** Whether there is such a customer, and nobody has shut him out. */
    async isOpenIn(reader: Reader, id: CustomerId): Promise<boolean> {
      return (await store.findCustomer(reader, id))?.blockedAt === null
    },

    /** Writes down which tokens were used since the last time. A crash loses a minute of it, which nobody pays by. */
    async noteUses(): Promise<void> {
      // In the order of their ids, so that two who write at once do not wait for one another.
      const noted = [...uses].toSorted(([one], [other]) => (one < other ? -1 : 1))
      uses.clear()
      if (noted.length === 0) return
      await db.transact(async (tx) => {
        for (const [id, { at, from }] of noted) await store.noteUse(tx, id, at, from ? formatAddress(from) : null)
      })
    },

    /**
     * Why whoever buys may not buy now, as his purchase's transaction sees it: he was let in when the request began,
     * and may have been shut out before it had its turn. What was found then still holds if nobody of this customer's
     * was shut out since, which the account's count tells.
     */
    async findObjection(tx: Tx, { customer, token }: Payer, revocationEpoch: number): Promise<Refusal | undefined> {
      if (token?.seen?.revocationEpoch === revocationEpoch) {
        return whyClosed({ expiresAt: token.seen.expiresAt, revokedAt: null }, clock()) && invalidToken('ended')
      }
      const found = await store.findStanding(tx, customer, token?.id ?? null)
      if (!found) return noSuchCustomer()
      if (token && (found.owner !== customer || whyClosed(found.term, clock()))) return invalidToken('ended')
      return found.blocked ? customerBlocked() : undefined
    },

    /**
     * Who pays for what goes on by itself: the customer, through the token that has set it going. That the token is
     * revoked or expired since is no matter, because the wish was the customer's; its cap still holds.
     */
    async payerOf(customer: CustomerId, token: TokenId | null): Promise<Payer> {
      const found = token === null ? undefined : await store.findCap(db, token)
      return { customer, token: token === null || !found ? null : { id: token, cap: found.cap } }
    },

    mode: findMode,

    /** Decides what kind of shop this is, once. Tells whether this call was the one that decided. */
    decideMode,

    addCustomer,

    /** An operator's customer makes an undecided shop a production one: real business has begun. */
    create: (name: string): Promise<Customer> =>
      db.transact(async (tx) => {
        await decideMode(tx, 'production')
        return addCustomer(tx, name)
      }),

    list: (after: string, limit: number): Promise<Customer[]> => store.listCustomers(db, after, limit),

    /** Those whose id, name or note has this text in it, and those who were found by something else. */
    search: (of: { text: string; found: readonly string[]; after: string; limit: number }): Promise<Customer[]> =>
      store.searchCustomers(db, of),

    async setNote(id: CustomerId, note: string | null): Promise<void> {
      if (!(await db.transact((tx) => store.setNote(tx, id, note)))) throw noSuchCustomer()
    },

    /** All is asked anew from now on. */
    forget(): void {
      tokens.clear()
      present.clear()
    },

    async load(id: CustomerId): Promise<Customer> {
      const customer = await store.findCustomer(db, id)
      if (!customer) throw noSuchCustomer()
      return customer
    },

    /**
     * Blocks a customer or lets him go on, in the caller's transaction: what he has must be touched with it, for nodes
     * to hear.
     */
    async setBlocked(tx: Tx, id: CustomerId, blocked: boolean): Promise<void> {
      if (!(await store.findCustomer(tx, id))) throw noSuchCustomer()
      await deps.ledger.lock(tx, id)
      if (!(await store.setBlocked(tx, id, blocked ? clock() : null))) throw noSuchCustomer()
    },

    /** Which of these customers are blocked. A name may be given twice. */
    blockedAmong: (ids: readonly CustomerId[]): Promise<Set<CustomerId>> => store.blockedAmong(db, [...new Set(ids)]),

    /** Makes a token. Its text is in the answer and nowhere else. */
    issueToken: (customer: CustomerId, wish: TokenRequest): Promise<{ text: string; token: Token }> =>
      db.transact(async (tx) => {
        if (!(await store.lockCustomer(tx, customer))) throw noSuchCustomer()
        const { open, young } = await store.countTokens(tx, customer, clock(), clock() - youngMs)
        if (open >= mostTokens) throw tooManyTokens(mostTokens)
        if (young >= mostTokens * turnover) throw tokensUsedUp(mostTokens * turnover)
        const mode = (await store.findMode(tx)) ?? 'production'
        const text = makeTokenText(mode, random(tokenRandomBytes))
        return { text, token: addToken(tx, customer, text, wish) }
      }),

    /** How many customers there are now. */
    countAll: (): Promise<number> => store.countCustomers(db),

    /** How many customers there are, for `verify`. */
    count: (reader: Reader): Promise<number> => store.countCustomers(reader),

    /** Whose these tokens are, for `verify`; one that does not exist is left out. */
    ownersOf: (reader: Reader, ids: readonly TokenId[]): Promise<Map<TokenId, CustomerId>> =>
      store.ownersOf(reader, ids),

    /** The spending caps of all tokens that have one, for `verify`. */
    caps: (reader: Reader): Promise<Map<string, Kopecks>> => store.listCaps(reader),

    listTokens: (customer: CustomerId): Promise<Token[]> => store.listTokens(db, customer),

    async revokeToken(id: TokenId): Promise<void> {
      await db.transact(async (tx) => {
        const owner = await store.findOwner(tx, id)
        if (!owner) throw noSuchToken()
        // The account comes first, as in everything that touches both.
        await deps.ledger.lock(tx, owner)
        await store.revokeToken(tx, owner, id, clock())
      })
      tokens.clear()
    },

    /** Revokes one of a customer's own. */
    async revokeOwnToken(customer: CustomerId, id: TokenId): Promise<void> {
      await db.transact(async (tx) => {
        await deps.ledger.lock(tx, customer)
        if (!(await store.revokeToken(tx, customer, id, clock()))) throw noSuchToken()
      })
      tokens.clear()
    },

    /** The customer of a sandbox, where this is one. */
    async findSandboxCustomer(): Promise<CustomerId | undefined> {
      if ((await findMode()) !== 'sandbox') return undefined
      return (await store.listCustomers(db, '', 1))[0]?.id
    },

    /** Makes the sandbox customer's token: the text that scripts were promised, or a fresh one. */
    giveSandboxToken(tx: Tx, customer: CustomerId, text: string): void {
      addToken(tx, customer, text, { name: 'sandbox' })
    },

    makeSandboxToken: (): string => makeTokenText('sandbox', random(tokenRandomBytes)),

    /** Whether a text is a token here. */
    isToken: async (text: string): Promise<boolean> =>
      (await store.findTokenByDigest(db, deps.sha256(text))) !== undefined,

    /** Lets a sandbox's fixed token in although it has no checksum, and adds it if the sandbox has none like it yet. */
    async admitSandboxToken(text: string): Promise<void> {
      if (!isSandboxTokenText(text)) throw new RangeError('a sandbox token is 8 to 200 visible characters')
      if ((await findMode()) !== 'sandbox') throw shopIsProduction()
      await db.transact(async (tx) => {
        if (await store.findTokenByDigest(tx, deps.sha256(text))) return
        const [first] = await store.listCustomers(tx, '', 1)
        if (first) addToken(tx, first.id, text, { name: 'sandbox' })
      })
      sandboxText = text
    },
  }
}
