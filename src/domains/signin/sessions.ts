import { readClientPrefix } from '../../core/address.ts'
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
import type { Events } from '../events/index.ts'
import type { Operators } from '../operators/index.ts'
import type { Action } from '../operators/rules.ts'
import { confirmAddress } from './confirming.ts'
import { invalidLink, invalidSession, signInFailed, tooManyAttempts } from './errors.ts'
import type { PasswordWork } from './passwords.ts'
import type { Codes } from './ports.ts'
import type { Identity, LinkPurpose, OneTimeLink, Owner, OwnerKind, Session } from './rules.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

/** Failed attempts: twenty for a name and sixty from one client prefix in a quarter of an hour. */
const ofName: TokenBucketRate = { perSecond: 20 / 900, burst: 20 }
const ofSource: TokenBucketRate = { perSecond: 60 / 900, burst: 60 }
/** Successful sign-ins of one owner: the row history keeps two versions of every session. */
const ofOwner: TokenBucketRate = { perSecond: 60 / 3600, burst: 30 }

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
  readonly customers: Pick<Customers, 'assertOpenIn' | 'isUnusedIn' | 'revokeTokensIn' | 'forget'>
  readonly operators: Pick<Operators, 'assertPresentIn' | 'lockPresentIn'>
  readonly events: Pick<Events, 'note'>
  /** Appends to the operators' audit log, as the last statement of a transaction. */
  readonly noteAction: (tx: Tx, action: Action) => Promise<void>
}

export type SessionDeps = ReturnType<typeof withBuckets>

export const withBuckets = (given: SignInDeps) => ({
  ...given,
  names: given.buckets('sign-in by name', ofName),
  prefixes: given.buckets('sign-in', ofSource),
  owners: given.buckets('sessions', ofOwner),
  known: createTtlCache({
    async load(secret: string) {
      const digest = given.sha256(secret)
      const found = await store.findSession(given.db, digest)
      return found && sameBytes(found.digest, digest) ? found.session : undefined
    },
    clock: given.clock,
    // A session that another process has ended is refused after this long at most.
    ttlMs: 500,
    maxEntries: 10_000,
    shouldKeep: (found) => found !== undefined,
  }),
})

/** How exactly the last use of a session is stored. */
const touchEveryMs = 60_000

/** A client prefix of an earlier session counts as known for this long, among so many sessions. */
const knownSourceMs = rules.sessionMs.customer
const maxKnownSources = 200
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
export type OpenedSession = { readonly secret: string; readonly session: Session }

/** The token or session that authenticated an operator. */
export type Credential = {
  readonly expiresAt: number | null
  /** Refuses if it, its operator or the role has ended, with the operator's row locked. */
  readonly assertStill: (tx: Tx) => Promise<void>
}

/** Takes an attempt from a name's bucket or, if that is empty, from its bucket for a known browser or client prefix. */
async function takeName(deps: SessionDeps, name: string, findOwn: () => Promise<string | undefined>): Promise<string> {
  const shared = await deps.names.take(name, 1)
  if (shared.taken > 0) return name
  const known = await findOwn()
  const counted = known === undefined ? name : `${name} at ${known}`
  const own = known === undefined ? shared : await deps.names.take(counted, 1)
  if (own.taken === 0) throw tooManyAttempts(secondsUntilOne(ofName, own.level))
  return counted
}

/**
 * Takes an attempt from the client prefix and from the name, if one is tried. A link cannot be guessed, so it has no
 * bucket that others could empty.
 */
export async function attempt(
  deps: SessionDeps,
  name: string | undefined,
  clientPrefix: string,
  findOwn: () => Promise<string | undefined> = async () => undefined,
): Promise<Attempt> {
  const ofPrefix = await deps.prefixes.take(clientPrefix, 1)
  if (ofPrefix.taken === 0) throw tooManyAttempts(secondsUntilOne(ofSource, ofPrefix.level))
  const naming = name === undefined ? undefined : takeName(deps, name, findOwn)
  const counted = await naming?.catch(async (error: unknown) => {
    await deps.prefixes.give(clientPrefix)
    throw error
  })
  return {
    clientPrefix,
    async succeeded() {
      if (counted !== undefined) await deps.names.give(counted)
      await deps.prefixes.give(clientPrefix)
    },
  }
}

/**
 * A source from which this login was used before: a browser that shows one of its sessions, ended or not, or a client
 * prefix. It has attempts of its own, which others cannot use up. An unknown login makes the same queries, so that
 * timing does not reveal it.
 */
async function findKnownSource(deps: SessionDeps, kind: OwnerKind, login: string, visitor: Visitor) {
  const owner = (await store.findByLogin(deps.db, kind, login))?.owner.id ?? ''
  for (const secret of visitor.shown.filter(rules.isSessionText)) {
    const session = await deps.known.get(secret)
    if (session?.owner.id === owner && session.openedBy === null) return session.id
  }
  const sources = await store.sourcesSince(deps.db, owner, deps.clock() - knownSourceMs, maxKnownSources)
  return sources.some((each) => readClientPrefix(each) === visitor.clientPrefix) ? visitor.clientPrefix : undefined
}

/** Compares a password; it takes the same time for an unknown login. */
export async function assertPassword<Of extends Pick<Identity, 'password'>>(
  deps: SessionDeps,
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

/**
 * Locks an owner's identity, and refuses if its password is not the one that was compared. Hashing takes 20 ms outside
 * the transaction; a password change that commits in that time ends sessions, and must not miss the one opened here.
 */
export async function lockCompared(
  tx: Tx,
  owner: Owner,
  compared: Pick<Identity, 'password'> | undefined,
): Promise<Identity | undefined> {
  const locked = await store.lockIdentity(tx, owner.id)
  if ((locked?.password ?? null) !== (compared?.password ?? null)) throw signInFailed()
  return locked
}

/** Accepts a code of the second factor once. Returns how many recovery codes are left, if one was used. */
async function assertCode(
  deps: SessionDeps,
  tx: Tx,
  locked: Identity | undefined,
  code: string | undefined,
): Promise<number | undefined> {
  if (!locked?.totp || locked.totpSince === null) return undefined
  if (code === undefined) throw new Refusal('code_required', {}, { code_required: true })
  const recovery = rules.readRecoveryCode(code)
  if (recovery !== undefined) return useRecoveryCode(deps, tx, locked, recovery)
  const secret = deps.vault.open(locked.totp, `totp of ${locked.owner.id}`)
  const step = deps.codes.findStep(secret, code, deps.clock())
  if (step === undefined || !(await store.noteStep(tx, locked.owner.id, step))) throw signInFailed()
  return undefined
}

/** Uses a recovery code up. Returns how many are left. */
async function useRecoveryCode(deps: SessionDeps, tx: Tx, { owner, recovery }: Identity, plainCode: string) {
  if (!recovery) throw signInFailed()
  const digests = openRecovery(deps, owner, recovery)
  const used = deps.sha256(rules.recoveryText(owner.id, plainCode)).toHex()
  const left = digests.filter((each) => each !== used)
  if (left.length === digests.length) throw signInFailed()
  if (!(await store.useRecovery(tx, owner.id, recovery, sealRecovery(deps, owner, left)))) throw signInFailed()
  return left.length
}

/** The digests of an owner's unused recovery codes. */
export function openRecovery({ vault }: Pick<SignInDeps, 'vault'>, owner: Owner, sealed: Uint8Array): string[] {
  const digests: unknown = JSON.parse(vault.open(sealed, rules.recoveryContext(owner.id)))
  return Array.isArray(digests) ? digests.filter((each) => typeof each === 'string') : []
}

export const sealRecovery = (
  { vault }: Pick<SignInDeps, 'vault'>,
  owner: Owner,
  digests: readonly string[],
): Uint8Array => vault.seal(JSON.stringify(digests), rules.recoveryContext(owner.id))

/** Records the use of a recovery code: an event of the customer, or an entry of the audit log. The last statement. */
async function noteRecovery(deps: SessionDeps, tx: Tx, { owner, source }: Session, left: number): Promise<void> {
  if (owner.kind === 'customer') {
    const event = {
      customer: owner.id,
      type: 'recovery_code.used',
      order: null,
      subject: null,
      data: { left },
    } as const
    return deps.events.note(tx, [event])
  }
  const { name, role } = await deps.operators.lockPresentIn(tx, owner.id)
  const actor = { operator: owner.id, name, role, source }
  await deps.noteAction(tx, { actor, operation: 'useRecoveryCode', request: JSON.stringify({ left }) })
}

async function openSession(
  deps: SessionDeps,
  tx: Tx,
  owner: Owner,
  visitor: Visitor,
  as: { readonly scopes: readonly Scope[]; readonly openedBy: OperatorId | null; readonly forMs: number },
): Promise<OpenedSession> {
  const nowMs = deps.clock()
  const secret = rules.makeSessionText(deps.random(tokenRandomBytes))
  const session: Session = {
    id: makeId('session', nowMs, deps.random),
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
  store.insertSession(tx, session, deps.sha256(secret))
  return { secret, session }
}

/**
 * Whether an operator below `owner` may hold a sign-in link of a customer: the customer never had a token, a session
 * or money, and has no password. The locks of `isUnusedIn` come first, so that the rest is read under them.
 */
export async function isNewcomer(deps: SessionDeps, tx: Tx, customer: CustomerId): Promise<boolean> {
  if (!(await deps.customers.isUnusedIn(tx, customer)) || (await store.hadFullSession(tx, customer))) return false
  const identity = await store.findIdentity(tx, customer)
  return (identity?.password ?? null) === null
}

/** Opens a session of its owner, who must not be blocked or removed. */
export async function open(
  deps: SessionDeps,
  tx: Tx,
  owner: Owner,
  visitor: Visitor,
  ofCustomer: readonly Scope[] = allScopes,
): Promise<OpenedSession> {
  if (owner.kind === 'customer') await deps.customers.assertOpenIn(tx, owner.id)
  else await deps.operators.assertPresentIn(tx, owner.id)
  const scopes = owner.kind === 'customer' ? ofCustomer : []
  return openSession(deps, tx, owner, visitor, { scopes, openedBy: null, forMs: rules.sessionMs[owner.kind] })
}

/** Makes a one-time link, in the caller's transaction. Only this answer has its text. */
export function issueLink(
  deps: SessionDeps,
  tx: Tx,
  of: { readonly kind: OwnerKind; readonly owner: string | null; readonly purpose: LinkPurpose; payload?: string },
): { readonly text: string; readonly expiresAt: number } {
  const nowMs = deps.clock()
  const text = rules.makeLinkText(deps.random(tokenRandomBytes))
  const expiresAt = nowMs + rules.linkMs[of.purpose]
  const link = {
    id: makeId('link', nowMs, deps.random),
    payload: null,
    ...of,
    createdAt: nowMs,
    expiresAt,
    usedAt: null,
  }
  store.insertLink(tx, link, deps.sha256(text))
  return { text, expiresAt }
}

/** Reads a link without using it up. */
const findLink = async (deps: SessionDeps, text: string): Promise<OneTimeLink | undefined> =>
  rules.isLinkText(text) ? store.findLink(deps.db, deps.sha256(text), deps.clock()) : undefined

/** The owner of a link, if that owner has a second factor. */
async function findFactored(deps: SessionDeps, text: string): Promise<string | undefined> {
  const link = await findLink(deps, text)
  const identity = link?.owner ? await store.findIdentity(deps.db, link.owner) : undefined
  return identity?.totpSince === null ? undefined : identity?.owner.id
}

export async function useLink(deps: SessionDeps, tx: Tx, text: string, purpose: LinkPurpose): Promise<OneTimeLink> {
  const link = rules.isLinkText(text) ? await store.useLink(tx, deps.sha256(text), purpose, deps.clock()) : undefined
  if (!link) throw invalidLink()
  return link
}

export async function loadLink(deps: SessionDeps, text: string): Promise<OneTimeLink> {
  const link = await findLink(deps, text)
  if (!link) throw invalidLink()
  return link
}

/** Opens a session by login, password and second factor. */
export async function byPassword(
  deps: SessionDeps,
  kind: OwnerKind,
  given: { readonly login: string; readonly password: string; readonly code?: string | undefined },
  visitor: Visitor,
): Promise<OpenedSession> {
  const login = rules.toLogin(given.login)
  const tried = await attempt(deps, `${kind} ${login}`, visitor.clientPrefix, () =>
    findKnownSource(deps, kind, login, visitor),
  )
  const found = await store.findByLogin(deps.db, kind, login)
  const identity = await assertPassword(deps, found, given.password, tried)
  const { taken, level } = await deps.owners.take(identity.owner.id, 1)
  // The attempt is not given back: it has cost a password hash.
  if (taken === 0) throw new Refusal('too_many_sessions', {}, { charged: false }, secondsUntilOne(ofOwner, level))
  const opening = deps.db.transact(async (tx) => {
    const locked = await lockCompared(tx, identity.owner, identity)
    const left = await assertCode(deps, tx, locked, given.code)
    const entered = await open(deps, tx, identity.owner, visitor)
    if (left !== undefined) await noteRecovery(deps, tx, entered.session, left)
    return entered
  })
  const opened = await opening.catch(async (error: unknown) => {
    await deps.owners.give(identity.owner.id)
    throw error
  })
  await tried.succeeded()
  return opened
}

/**
 * Opens a session by a one-time link and second factor. A missing or wrong code does not use the link up, and
 * counts against the owner. A link that an operator below `owner` made works while the customer is new, and opens a
 * session that reads and sets the first password. `isCleared`: `confirmAddress` ended another person's access.
 */
export async function byLink(
  deps: SessionDeps,
  kind: OwnerKind,
  given: { readonly link: string; readonly code?: string | undefined },
  visitor: Visitor,
): Promise<OpenedSession & { readonly isCleared?: boolean }> {
  const tried = await attempt(deps, await findFactored(deps, given.link), visitor.clientPrefix)
  const found = await findLink(deps, given.link)
  const opened = await deps.db.transact(async (tx) => {
    // The identity is locked before the link is used up, in the order of a password change, which makes links invalid.
    const identity = found?.owner ? await store.lockIdentity(tx, found.owner) : undefined
    const link = await useLink(deps, tx, given.link, 'enter')
    if (link.kind !== kind || link.owner === null) throw invalidLink()
    const owner = store.toOwner(kind, link.owner)
    if (identity?.confirmedAt === null && rules.isByLetter(link.payload)) {
      const isCleared = await confirmAddress(deps, tx, identity)
      return { ...(await open(deps, tx, owner, visitor)), isCleared }
    }
    const left = await assertCode(deps, tx, identity, given.code)
    if (owner.kind === 'operator' || link.payload !== rules.forNewcomer) {
      const entered = await open(deps, tx, owner, visitor)
      if (left !== undefined) await noteRecovery(deps, tx, entered.session, left)
      return { ...entered, isCleared: false }
    }
    if (!(await isNewcomer(deps, tx, owner.id))) throw invalidLink()
    return { ...(await open(deps, tx, owner, visitor, ['read'])), isCleared: false }
  })
  if (opened.isCleared) forget(deps)
  await tried.succeeded()
  return opened
}

/**
 * Opens an operator's read-only view of a customer's pages: for an hour, and no longer than the token or session
 * that opens it. `assertStill` checks that token or session again, in the transaction that opens the view.
 */
export const openView = (
  deps: SessionDeps,
  by: OperatorId,
  customer: CustomerId,
  visitor: Visitor,
  { expiresAt, assertStill }: Credential = { expiresAt: null, assertStill: async () => {} },
): Promise<OpenedSession> => {
  const forMs = Math.min(rules.viewMs, (expiresAt ?? Number.POSITIVE_INFINITY) - deps.clock())
  const as = { scopes: ['read'], openedBy: by, forMs } as const
  return deps.db.transact(async (tx) => {
    await assertStill(tx)
    return openSession(deps, tx, { kind: 'customer', id: customer }, visitor, as)
  })
}

/** Refuses an ended session, in the caller's transaction. */
export async function assertOpenIn(deps: SessionDeps, tx: Tx, id: SessionId): Promise<void> {
  if (!(await store.isSessionOpen(tx, id, deps.clock()))) throw invalidSession()
}

/** The session of a cookie, or a refusal. */
export async function load(deps: SessionDeps, kind: OwnerKind, secret: string | undefined): Promise<Session> {
  if (secret === undefined || !rules.isSessionText(secret)) throw invalidSession()
  const session = await deps.known.get(secret)
  const nowMs = deps.clock()
  if (!session || session.owner.kind !== kind || !rules.isOpen(session, session.endedAt, nowMs)) throw invalidSession()
  return session
}

/** Writes the last use of a session, once a minute. */
export async function touch(deps: SessionDeps, session: Session): Promise<void> {
  const nowMs = deps.clock()
  if (nowMs - session.usedAt < touchEveryMs) return
  await deps.db.transact((tx) => store.touchSession(tx, session.id, nowMs), 'unreplicated')
  deps.known.clear()
}

export const list = (deps: SessionDeps, owner: Owner): Promise<Session[]> =>
  store.listSessions(deps.db, owner.id, deps.clock())

/** Ends a session. An operator's views of customers' pages end with it: they may have been opened from it. */
export async function end(deps: SessionDeps, owner: Owner, id: SessionId): Promise<void> {
  const found = await deps.db.transact(async (tx) => {
    if (owner.kind === 'operator') {
      await deps.operators.lockPresentIn(tx, owner.id)
      await store.endViews(tx, owner.id, deps.clock())
    }
    return store.endSession(tx, owner.id, id, deps.clock())
  })
  if (!found) throw new Refusal('session_not_found')
  deps.known.clear()
}

/** Ends every view that an operator has open, in the caller's transaction; `forget` follows its commit. */
export const endViews = (deps: SessionDeps, tx: Tx, operator: OperatorId): Promise<void> =>
  store.endViews(tx, operator, deps.clock())

/** Ends all sessions of an owner but one, in the caller's transaction; `forget` follows its commit. */
export const endAll = (deps: SessionDeps, tx: Tx, owner: Owner, except: SessionId | null): Promise<number> =>
  store.endSessions(tx, owner.id, except, deps.clock())

export async function endOthers(deps: SessionDeps, owner: Owner, except: SessionId | null): Promise<number> {
  const ended = await deps.db.transact((tx) => store.endSessions(tx, owner.id, except, deps.clock()))
  deps.known.clear()
  return ended
}

/** Clears the caches of sessions and tokens. */
export function forget(deps: SessionDeps): void {
  deps.known.clear()
  deps.customers.forget()
}

/** Notes that a letter's link was opened, in the caller's transaction; `forget` follows its commit. */
export async function confirmOwner(deps: SessionDeps, tx: Tx, owner: string): Promise<boolean> {
  const locked = await store.lockIdentity(tx, owner)
  return locked !== undefined && confirmAddress(deps, tx, locked)
}

/** Deletes sessions and links that ended this long ago; returns how many. */
export const forgetEnded = (deps: SessionDeps, keptMs: number, limit: number): Promise<number> =>
  deps.db.transact((tx) => store.forgetEnded(tx, deps.clock() - keptMs, limit))
