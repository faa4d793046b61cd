import { readHousehold } from '../../core/household.ts'
import { type CustomerId, makeId, type OperatorId, type RandomBytes, type SessionId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { type OpenTokenBuckets, secondsUntilOne, type TokenBucketRate } from '../../core/token-buckets.ts'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { allScopes, type Scope } from '../customers/rules.ts'
import type { Operators } from '../operators/index.ts'
import { invalidLink, invalidSession, signInFailed, tooManyAttempts } from './errors.ts'
import type { PasswordWork } from './passwords.ts'
import type { Codes } from './ports.ts'
import type { Identity, LinkPurpose, OneTimeLink, Owner, OwnerKind, Session } from './rules.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

/** How exactly the last use of a session is stored. */
const touchEveryMs = 60_000

/** Failed attempts: twenty for a name and sixty from one client prefix in a quarter of an hour. */
const ofName: TokenBucketRate = { perSecond: 20 / 900, burst: 20 }
const ofSource: TokenBucketRate = { perSecond: 60 / 900, burst: 60 }
/** A client prefix of an earlier session counts as known for this long, among so many sessions. */
const knownSourceMs = rules.sessionMs.customer
const maxKnownSources = 200
/** Successful sign-ins of one owner: the row history keeps two versions of every session. */
const ofOwner: TokenBucketRate = { perSecond: 60 / 3600, burst: 30 }

/** A counted attempt. `succeeded` gives it back. */
type Attempt = { readonly clientPrefix: string; readonly succeeded: () => Promise<void> }

/** The browser of a request. `shown` are the texts in its session cookies, unchecked. */
export type Visitor = {
  readonly source: string | null
  readonly clientPrefix: string
  readonly agent: string | null
  readonly shown: readonly string[]
}

/** A session and its cookie's secret, which only this answer has. */
export type Opened = { readonly secret: string; readonly session: Session }

/** The token or session that authenticated an operator. */
export type Credential = {
  readonly expiresAt: number | null
  /** Refuses if it, its operator or the role has ended, with the operator's row locked. */
  readonly assertStill: (tx: Tx) => Promise<void>
}

export type SignInDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
  /** Shared by all shops on one database. */
  readonly buckets: OpenTokenBuckets
  readonly passwords: PasswordWork
  readonly codes: Codes
  readonly customers: Pick<Customers, 'assertOpenIn' | 'isUnusedIn'>
  readonly operators: Pick<Operators, 'assertPresentIn' | 'lockPresentIn'>
}

export type SignIn = ReturnType<typeof createSignIn>

export function createSignIn(deps: SignInDeps) {
  const { db, clock, random, sha256 } = deps
  const names = deps.buckets('sign-in by name', ofName)
  const prefixes = deps.buckets('sign-in', ofSource)
  const owners = deps.buckets('sessions', ofOwner)
  const known = createTtlCache({
    load: async (secret: string) => {
      const digest = sha256(secret)
      const found = await store.findSession(db, digest)
      return found && sameBytes(found.digest, digest) ? found.session : undefined
    },
    clock,
    // A session that another process has ended is refused after this long at most.
    ttlMs: 500,
    maxEntries: 10_000,
    shouldKeep: (found) => found !== undefined,
  })

  /** Takes an attempt from a name's bucket or, if that is empty, from the name's bucket at a known place. */
  async function takeName(name: string, findOwn: () => Promise<string | undefined>): Promise<string> {
    const shared = await names.take(name, 1)
    if (shared.taken > 0) return name
    const place = await findOwn()
    const counted = place === undefined ? name : `${name} at ${place}`
    const own = place === undefined ? shared : await names.take(counted, 1)
    if (own.taken === 0) throw tooManyAttempts(secondsUntilOne(ofName, own.level))
    return counted
  }

  /**
   * Takes an attempt from the client prefix and from the name, if one is tried. A link cannot be guessed, so it has no
   * bucket that others could empty.
   */
  async function attempt(
    name: string | undefined,
    clientPrefix: string,
    findOwn: () => Promise<string | undefined> = async () => undefined,
  ): Promise<Attempt> {
    const ofPrefix = await prefixes.take(clientPrefix, 1)
    if (ofPrefix.taken === 0) throw tooManyAttempts(secondsUntilOne(ofSource, ofPrefix.level))
    const naming = name === undefined ? undefined : takeName(name, findOwn)
    const counted = await naming?.catch(async (error: unknown) => {
      await prefixes.give(clientPrefix)
      throw error
    })
    return {
      clientPrefix,
      async succeeded() {
        if (counted !== undefined) await names.give(counted)
        await prefixes.give(clientPrefix)
      },
    }
  }

  /**
   * A place from which this login was used before: a browser that shows one of its sessions, ended or not, or a client
   * prefix. It has attempts of its own, which others cannot use up. An unknown login makes the same queries, so that
   * timing does not reveal it.
   */
  async function findPlace(kind: OwnerKind, login: string, visitor: Visitor): Promise<string | undefined> {
    const owner = (await store.findByLogin(db, kind, login))?.owner.id ?? ''
    for (const secret of visitor.shown.filter(rules.isSessionText)) {
      const session = await known.get(secret)
      if (session?.owner.id === owner && session.openedBy === null) return session.id
    }
    const sources = await store.sourcesSince(db, owner, clock() - knownSourceMs, maxKnownSources)
    return sources.some((each) => readHousehold(each) === visitor.clientPrefix) ? visitor.clientPrefix : undefined
  }

  /** Compares a password; it takes the same time for an unknown login. */
  async function assertPassword<Of extends Pick<Identity, 'password'>>(
    of: Of | undefined,
    password: string,
    tried: Attempt,
  ): Promise<Of> {
    const kept = of?.password ?? undefined
    const isRight = await deps.passwords.isRight(password, kept, tried.clientPrefix).catch(async (error: unknown) => {
      // The password was not compared: the attempt is given back.
      await tried.succeeded()
      throw error
    })
    if (!of || !isRight) throw signInFailed()
    return of
  }

  /** Accepts a code once. */
  async function assertCode(tx: Tx, identity: Identity, code: string | undefined): Promise<void> {
    const locked = await store.lockIdentity(tx, identity.owner.id)
    if (!locked?.totp || locked.totpSince === null) return
    if (code === undefined) throw new Refusal('code_required', {}, { code_required: true })
    const secret = deps.vault.open(locked.totp, `totp of ${locked.owner.id}`)
    const step = deps.codes.findStep(secret, code, clock())
    if (step === undefined || !(await store.noteStep(tx, locked.owner.id, step))) throw signInFailed()
  }

  async function open(
    tx: Tx,
    owner: Owner,
    visitor: Visitor,
    as: { readonly scopes: readonly Scope[]; readonly openedBy: OperatorId | null; readonly forMs: number },
  ): Promise<Opened> {
    const nowMs = clock()
    const secret = rules.makeSessionText(random(tokenRandomBytes))
    const session: Session = {
      id: makeId('session', nowMs, random),
      owner,
      scopes: as.scopes,
      openedBy: as.openedBy,
      source: visitor.source,
      agent: visitor.agent?.slice(0, 200) ?? null,
      createdAt: nowMs,
      usedAt: nowMs,
      expiresAt: nowMs + as.forMs,
      endedAt: null,
    }
    if (as.openedBy === null) {
      const others = await store.listSessions(tx, owner.id, nowMs)
      for (const old of others.slice(rules.maxSessions - 1)) await store.endSession(tx, owner.id, old.id, nowMs)
    }
    store.insertSession(tx, session, sha256(secret))
    return { secret, session }
  }

  /**
   * Whether an operator below `owner` may hold a sign-in link of a customer: the customer never had a token, a session
   * or money, and has no password. The locks of `isUnusedIn` come first, so that the rest is read under them.
   */
  async function isNewcomer(tx: Tx, customer: CustomerId): Promise<boolean> {
    if (!(await deps.customers.isUnusedIn(tx, customer)) || (await store.hadFullSession(tx, customer))) return false
    const identity = await store.findIdentity(tx, customer)
    return (identity?.password ?? null) === null
  }

  /** Opens a session of its owner, who must not be blocked or removed. */
  async function openOwn(
    tx: Tx,
    owner: Owner,
    visitor: Visitor,
    ofCustomer: readonly Scope[] = allScopes,
  ): Promise<Opened> {
    if (owner.kind === 'customer') await deps.customers.assertOpenIn(tx, owner.id)
    else await deps.operators.assertPresentIn(tx, owner.id)
    const scopes = owner.kind === 'customer' ? ofCustomer : []
    return open(tx, owner, visitor, { scopes, openedBy: null, forMs: rules.sessionMs[owner.kind] })
  }

  function issueLink(
    tx: Tx,
    of: { readonly kind: OwnerKind; readonly owner: string | null; readonly purpose: LinkPurpose; payload?: string },
  ): { readonly text: string; readonly expiresAt: number } {
    const nowMs = clock()
    const text = rules.makeLinkText(random(tokenRandomBytes))
    const expiresAt = nowMs + rules.linkMs[of.purpose]
    const link = { id: makeId('link', nowMs, random), payload: null, ...of, createdAt: nowMs, expiresAt, usedAt: null }
    store.insertLink(tx, link, sha256(text))
    return { text, expiresAt }
  }

  /** Reads a link without using it up. */
  const findLink = async (text: string): Promise<OneTimeLink | undefined> =>
    rules.isLinkText(text) ? store.findLink(db, sha256(text), clock()) : undefined

  /** The owner of a link, if that owner has a second factor. */
  async function findFactored(text: string): Promise<string | undefined> {
    const link = await findLink(text)
    const identity = link?.owner ? await store.findIdentity(db, link.owner) : undefined
    return identity?.totpSince === null ? undefined : identity?.owner.id
  }

  async function useLink(tx: Tx, text: string, purpose: LinkPurpose): Promise<OneTimeLink> {
    const link = rules.isLinkText(text) ? await store.useLink(tx, sha256(text), purpose, clock()) : undefined
    if (!link) throw invalidLink()
    return link
  }

  return {
    attempt,
    assertPassword,
    assertCode,
    open: openOwn,
    isNewcomer,
    useLink,

    async loadLink(text: string): Promise<OneTimeLink> {
      const link = await findLink(text)
      if (!link) throw invalidLink()
      return link
    },

    /** Makes a one-time link, in the caller's transaction. Only this answer has its text. */
    issueLink,

    /** Opens a session by login, password and second factor. */
    async byPassword(
      kind: OwnerKind,
      given: { readonly login: string; readonly password: string; readonly code?: string | undefined },
      visitor: Visitor,
    ): Promise<Opened> {
      const login = rules.toLogin(given.login)
      const tried = await attempt(`${kind} ${login}`, visitor.clientPrefix, () => findPlace(kind, login, visitor))
      const found = await store.findByLogin(db, kind, login)
      const identity = await assertPassword(found, given.password, tried)
      const { taken, level } = await owners.take(identity.owner.id, 1)
      // The attempt is not given back: it has cost a password hash.
      if (taken === 0) throw new Refusal('too_many_sessions', {}, { charged: false }, secondsUntilOne(ofOwner, level))
      const opening = db.transact(async (tx) => {
        await assertCode(tx, identity, given.code)
        return openOwn(tx, identity.owner, visitor)
      })
      const opened = await opening.catch(async (error: unknown) => {
        await owners.give(identity.owner.id)
        throw error
      })
      await tried.succeeded()
      return opened
    },

    /**
     * Opens a session by a one-time link and second factor. A missing or wrong code does not use the link up, and
     * counts against the owner. A link that an operator below `owner` made works while the customer is new, and opens a
     * session that reads and sets the first password.
     */
    async byLink(
      kind: OwnerKind,
      given: { readonly link: string; readonly code?: string | undefined },
      visitor: Visitor,
    ): Promise<Opened> {
      const tried = await attempt(await findFactored(given.link), visitor.clientPrefix)
      const opened = await db.transact(async (tx) => {
        const link = await useLink(tx, given.link, 'enter')
        if (link.kind !== kind || link.owner === null) throw invalidLink()
        const identity = await store.findIdentity(tx, link.owner)
        if (identity) await assertCode(tx, identity, given.code)
        const owner = store.toOwner(kind, link.owner)
        if (owner.kind === 'operator' || link.payload !== rules.forNewcomer) return openOwn(tx, owner, visitor)
        if (!(await isNewcomer(tx, owner.id))) throw invalidLink()
        return openOwn(tx, owner, visitor, ['read'])
      })
      await tried.succeeded()
      return opened
    },

    /**
     * Opens an operator's read-only view of a customer's pages: for an hour, and no longer than the token or session
     * that opens it. `assertStill` checks that token or session again, in the transaction that opens the view.
     */
    openView: (
      by: OperatorId,
      customer: CustomerId,
      visitor: Visitor,
      { expiresAt, assertStill }: Credential = { expiresAt: null, assertStill: async () => {} },
    ): Promise<Opened> => {
      const forMs = Math.min(rules.viewMs, (expiresAt ?? Number.POSITIVE_INFINITY) - clock())
      const as = { scopes: ['read'], openedBy: by, forMs } as const
      return db.transact(async (tx) => {
        await assertStill(tx)
        return open(tx, { kind: 'customer', id: customer }, visitor, as)
      })
    },

    /** Refuses an ended session, in the caller's transaction. */
    async assertOpenIn(tx: Tx, id: SessionId): Promise<void> {
      if (!(await store.isSessionOpen(tx, id, clock()))) throw invalidSession()
    },

    /** The session of a cookie, or a refusal. */
    async load(kind: OwnerKind, secret: string | undefined): Promise<Session> {
      if (secret === undefined || !rules.isSessionText(secret)) throw invalidSession()
      const session = await known.get(secret)
      const nowMs = clock()
      if (!session || session.owner.kind !== kind || !rules.isOpen(session, session.endedAt, nowMs))
        throw invalidSession()
      return session
    },

    /** Writes the last use of a session, once a minute. */
    async touch(session: Session): Promise<void> {
      const nowMs = clock()
      if (nowMs - session.usedAt < touchEveryMs) return
      await db.transact((tx) => store.touchSession(tx, session.id, nowMs))
      known.clear()
    },

    list: (owner: Owner): Promise<Session[]> => store.listSessions(db, owner.id, clock()),

    /** Ends a session. An operator's views of customers' pages end with it: they may have been opened from it. */
    async end(owner: Owner, id: SessionId): Promise<void> {
      const found = await db.transact(async (tx) => {
        if (owner.kind === 'operator') {
          await deps.operators.lockPresentIn(tx, owner.id)
          await store.endViews(tx, owner.id, clock())
        }
        return store.endSession(tx, owner.id, id, clock())
      })
      if (!found) throw new Refusal('session_not_found')
      known.clear()
    },

    /** Ends every view that an operator has open, in the caller's transaction; `forget` follows its commit. */
    endViews: (tx: Tx, operator: OperatorId): Promise<void> => store.endViews(tx, operator, clock()),

    /** Ends all sessions of an owner but one, in the caller's transaction; `forget` follows its commit. */
    endAll: (tx: Tx, owner: Owner, except: SessionId | null): Promise<number> =>
      store.endSessions(tx, owner.id, except, clock()),

    async endOthers(owner: Owner, except: SessionId | null): Promise<number> {
      const ended = await db.transact((tx) => store.endSessions(tx, owner.id, except, clock()))
      known.clear()
      return ended
    },

    /** Clears the cache. */
    forget: () => known.clear(),

    /** Deletes sessions and links that ended this long ago; returns how many. */
    forgetEnded: (keptMs: number, limit: number): Promise<number> =>
      db.transact((tx) => store.forgetEnded(tx, clock() - keptMs, limit)),
  }
}
