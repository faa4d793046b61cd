import { readHousehold } from '../../core/household.ts'
import { type CustomerId, makeId, type OperatorId, type RandomBytes, type SessionId } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import { type OpenTokenBuckets, secondsUntilOne, type TokenBucketRate } from '../../core/token-buckets.ts'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { allScopes, type Scope } from '../customers/rules.ts'
import type { Operators } from '../operators/index.ts'
import {
  codeRequired,
  invalidLink,
  invalidSession,
  noSuchSession,
  signInFailed,
  tooManyAttempts,
  tooManySessions,
} from './errors.ts'
import type { Codes } from './ports.ts'
import {
  forNewcomer,
  type Identity,
  isLinkText,
  isOpen,
  isSessionText,
  type LinkPurpose,
  linkMs,
  makeLinkText,
  makeSessionText,
  mostSessions,
  type OneTimeLink,
  type Owner,
  type OwnerKind,
  type Session,
  sessionMs,
  toLogin,
  viewMs,
} from './rules.ts'
import type { PasswordWork } from './service-passwords.ts'
import type { Credential, Opened, Visitor } from './service-visits.ts'
import * as store from './store.ts'

/** How long a look-up is believed. A session that another process has ended is known after this long at most. */
const cacheTtlMs = 500
const maxCached = 10_000
/** How exactly the last use of a session is kept. */
const touchEveryMs = 60_000

/** Failures that are forgiven: twenty for a name, and sixty from one household, in a quarter of an hour. */
const ofName: TokenBucketRate = { perSecond: 20 / 900, burst: 20 }
const ofSource: TokenBucketRate = { perSecond: 60 / 900, burst: 60 }
/** How long a place is known from which somebody has signed in, and how many times back that is looked for. */
const placeMs = sessionMs.customer
const mostPlaces = 200
/** How often somebody signs in rightly: every session is two versions in the history, for good. */
const ofOwner: TokenBucketRate = { perSecond: 60 / 3600, burst: 30 }

/** One of the attempts that are counted. It is given back when it succeeds, or when nobody has looked at it. */
type Attempt = { readonly household: string; readonly succeeded: () => Promise<void> }

export type SignInDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
  /** What all shops on one database count attempts in. */
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
  const households = deps.buckets('sign-in', ofSource)
  const owners = deps.buckets('sessions', ofOwner)
  const known = createTtlCache({
    load: async (secret: string) => {
      const digest = sha256(secret)
      const found = await store.findSession(db, digest)
      return found && sameBytes(found.digest, digest) ? found.session : undefined
    },
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
    shouldKeep: (found) => found !== undefined,
  })

  /** Takes one from a name or, where others have used that up, from a place of one's own; tells which. */
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
   * Takes an attempt from whoever tries and, where a name is tried, from that name. One that succeeds is given back.
   * What cannot be guessed, as a link, is nobody's name: nobody shuts it for others.
   */
  async function attempt(
    name: string | undefined,
    household: string,
    findOwn: () => Promise<string | undefined> = async () => undefined,
  ): Promise<Attempt> {
    const ofHousehold = await households.take(household, 1)
    if (ofHousehold.taken === 0) throw tooManyAttempts(secondsUntilOne(ofSource, ofHousehold.level))
    const naming = name === undefined ? undefined : takeName(name, findOwn)
    const counted = await naming?.catch(async (error: unknown) => {
      await households.give(household)
      throw error
    })
    return {
      household,
      async succeeded() {
        if (counted !== undefined) await names.give(counted)
        await households.give(household)
      },
    }
  }

  /**
   * Where somebody has been in before: the browser that shows a session of this login, ended or not, or the household.
   * It opens nothing; whoever tries there has attempts that strangers elsewhere cannot use up. As much is asked for a
   * login that nobody has, so that time tells nobody which it is.
   */
  async function findPlace(kind: OwnerKind, login: string, visitor: Visitor): Promise<string | undefined> {
    const owner = (await store.findByLogin(db, kind, login))?.owner.id ?? ''
    for (const secret of visitor.shown.filter(isSessionText)) {
      const session = await known.get(secret)
      if (session?.owner.id === owner && session.openedBy === null) return session.id
    }
    const sources = await store.sourcesSince(db, owner, clock() - placeMs, mostPlaces)
    return sources.some((each) => readHousehold(each) === visitor.household) ? visitor.household : undefined
  }

  /** Whether a password is the one that is kept here, or nobody's; it takes the same time either way. */
  async function assertPassword<Of extends Pick<Identity, 'password'>>(
    of: Of | undefined,
    password: string,
    tried: Attempt,
  ): Promise<Of> {
    const kept = of?.password ?? undefined
    const isRight = await deps.passwords.isRight(password, kept, tried.household).catch(async (error: unknown) => {
      // Nobody has looked at the password: others were before him.
      await tried.succeeded()
      throw error
    })
    if (!of || !isRight) throw signInFailed()
    return of
  }

  /** Takes a code, once. */
  async function assertCode(tx: Tx, identity: Identity, code: string | undefined): Promise<void> {
    const locked = await store.lockIdentity(tx, identity.owner.id)
    if (!locked?.totp || locked.totpSince === null) return
    if (code === undefined) throw codeRequired()
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
    const secret = makeSessionText(random(tokenRandomBytes))
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
      for (const old of others.slice(mostSessions - 1)) await store.endSession(tx, owner.id, old.id, nowMs)
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

  /** One who was removed, or is blocked, has nothing to sign in to. */
  async function openOwn(
    tx: Tx,
    owner: Owner,
    visitor: Visitor,
    ofCustomer: readonly Scope[] = allScopes,
  ): Promise<Opened> {
    if (owner.kind === 'customer') await deps.customers.assertOpenIn(tx, owner.id)
    else await deps.operators.assertPresentIn(tx, owner.id)
    const scopes = owner.kind === 'customer' ? ofCustomer : []
    return open(tx, owner, visitor, { scopes, openedBy: null, forMs: sessionMs[owner.kind] })
  }

  function issueLink(
    tx: Tx,
    of: { readonly kind: OwnerKind; readonly owner: string | null; readonly purpose: LinkPurpose; payload?: string },
  ): { readonly text: string; readonly expiresAt: number } {
    const nowMs = clock()
    const text = makeLinkText(random(tokenRandomBytes))
    const link: OneTimeLink = {
      id: makeId('link', nowMs, random),
      kind: of.kind,
      owner: of.owner,
      purpose: of.purpose,
      payload: of.payload ?? null,
      createdAt: nowMs,
      expiresAt: nowMs + linkMs[of.purpose],
      usedAt: null,
    }
    store.insertLink(tx, link, sha256(text))
    return { text, expiresAt: link.expiresAt }
  }

  /** What a link would do, which it goes on doing. */
  async function findLink(text: string): Promise<OneTimeLink> {
    const link = isLinkText(text) ? await store.findLink(db, sha256(text), clock()) : undefined
    if (!link) throw invalidLink()
    return link
  }

  /** Whose link it is, if its owner has a second factor. */
  async function findFactored(text: string): Promise<string | undefined> {
    const link = isLinkText(text) ? await store.findLink(db, sha256(text), clock()) : undefined
    const identity = link?.owner ? await store.findIdentity(db, link.owner) : undefined
    return identity?.totpSince === null ? undefined : identity?.owner.id
  }

  async function useLink(tx: Tx, text: string, purpose: LinkPurpose): Promise<OneTimeLink> {
    const link = isLinkText(text) ? await store.useLink(tx, sha256(text), purpose, clock()) : undefined
    if (!link) throw invalidLink()
    return link
  }

  return {
    attempt,
    assertPassword,
    assertCode,
    open: openOwn,
    isNewcomer,
    findLink,
    useLink,

    /** Makes a link that works once, in the caller's transaction. Its text is in the answer and nowhere else. */
    issueLink,

    /** Opens a session by login and password, and by the second factor where there is one. */
    async byPassword(
      kind: OwnerKind,
      given: { readonly login: string; readonly password: string; readonly code?: string | undefined },
      visitor: Visitor,
    ): Promise<Opened> {
      const login = toLogin(given.login)
      const tried = await attempt(`${kind} ${login}`, visitor.household, () => findPlace(kind, login, visitor))
      const found = await store.findByLogin(db, kind, login)
      const identity = await assertPassword(found, given.password, tried)
      const { taken, level } = await owners.take(identity.owner.id, 1)
      // An attempt like any other: what it cost is the hash, however right the password was.
      if (taken === 0) throw tooManySessions(secondsUntilOne(ofOwner, level))
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
     * Opens a session by a link that was given to its owner, and by the second factor where there is one. The link
     * works once; a missing or wrong code does not use it up. Wrong codes count against the owner, because a link can
     * be tried many times. A link that an operator below `owner` made works while the customer is new, and opens a
     * session that reads and sets the first password.
     */
    async byLink(
      kind: OwnerKind,
      given: { readonly link: string; readonly code?: string | undefined },
      visitor: Visitor,
    ): Promise<Opened> {
      const tried = await attempt(await findFactored(given.link), visitor.household)
      const opened = await db.transact(async (tx) => {
        const link = await useLink(tx, given.link, 'enter')
        if (link.kind !== kind || link.owner === null) throw invalidLink()
        const identity = await store.findIdentity(tx, link.owner)
        if (identity) await assertCode(tx, identity, given.code)
        const owner = store.toOwner(kind, link.owner)
        if (owner.kind === 'operator' || link.payload !== forNewcomer) return openOwn(tx, owner, visitor)
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
      const forMs = Math.min(viewMs, (expiresAt ?? Number.POSITIVE_INFINITY) - clock())
      const as = { scopes: ['read'], openedBy: by, forMs } as const
      return db.transact(async (tx) => {
        await assertStill(tx)
        return open(tx, { kind: 'customer', id: customer }, visitor, as)
      })
    },

    /** Refuses a session that has ended, as the caller's transaction sees it. */
    async assertOpenIn(tx: Tx, id: SessionId): Promise<void> {
      if (!(await store.isSessionOpen(tx, id, clock()))) throw invalidSession()
    },

    /** The session that a cookie names, or a refusal. */
    async load(kind: OwnerKind, secret: string | undefined): Promise<Session> {
      if (secret === undefined || !isSessionText(secret)) throw invalidSession()
      const session = await known.get(secret)
      const nowMs = clock()
      if (!session || session.owner.kind !== kind || !isOpen(session, session.endedAt, nowMs)) throw invalidSession()
      return session
    },

    /** Notes that a session is in use, once a minute. */
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
      if (!found) throw noSuchSession()
      known.clear()
    },

    /** Ends every view that an operator has open, in the caller's transaction; `forget` follows its commit. */
    endViews: (tx: Tx, operator: OperatorId): Promise<void> => store.endViews(tx, operator, clock()),

    /** Ends all of somebody's sessions but one, in the caller's transaction; `forget` follows its commit. */
    endAll: (tx: Tx, owner: Owner, except: SessionId | null): Promise<number> =>
      store.endSessions(tx, owner.id, except, clock()),

    async endOthers(owner: Owner, except: SessionId | null): Promise<number> {
      const ended = await db.transact((tx) => store.endSessions(tx, owner.id, except, clock()))
      known.clear()
      return ended
    },

    /** All is asked anew from now on. */
    forget: () => known.clear(),

    /** Sessions and links that ended so long ago are gone; tells how many. */
    forgetEnded: (keptMs: number, limit: number): Promise<number> =>
      db.transact((tx) => store.forgetEnded(tx, clock() - keptMs, limit)),
  }
}
