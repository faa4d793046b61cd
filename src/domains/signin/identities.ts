import type { BoundCases } from '../../core/bind.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { allScopes } from '../customers/rules.ts'
import type { EventData, EventType } from '../events/rules.ts'
import { factorThere, invalidLink, loginTaken, noPassword, signInFailed } from './errors.ts'
import { assertPassword } from './passwords.ts'
import type { Identity, Owner, Session } from './rules.ts'
import * as rules from './rules.ts'
import type * as sessions from './sessions.ts'
import { lockCompared, type SignInDeps } from './sessions.ts'
import * as store from './store.ts'

const noFactor = { totp: null, totpSince: null, totpStep: 0, recovery: null }

type SignInCases = Pick<
  typeof sessions,
  'attempt' | 'assertPassword' | 'isNewcomer' | 'openRecovery' | 'endAll' | 'forget' | 'sealRecovery'
>

export type IdentitiesDeps = SignInDeps & { readonly signIn: BoundCases<SignInCases> }

const save = (deps: IdentitiesDeps, tx: Tx, of: Identity): Promise<void> =>
  store.saveIdentity(tx, of, deps.sha256(rules.namedText(of.owner.id, of.login, of.email)))

export async function hash(deps: IdentitiesDeps, password: string, login: string, clientPrefix: string) {
  assertPassword(password, login)
  return deps.passwords.hash(password, clientPrefix)
}

/** Checks the present password again before a change. */
export async function confirm(deps: IdentitiesDeps, owner: Owner, password: string | undefined, clientPrefix: string) {
  const identity = await store.findIdentity(deps.db, owner.id)
  if (!identity?.password) return identity
  if (password === undefined) throw signInFailed()
  const tried = await deps.signIn.attempt(owner.id, clientPrefix)
  await deps.signIn.assertPassword(identity, password, tried)
  await tried.succeeded()
  return identity
}

/** Refuses if the customer has used the account since an operator below `owner` made the link of this session. */
async function becomeFull(deps: IdentitiesDeps, tx: Tx, { id, owner }: Session): Promise<void> {
  if (owner.kind !== 'customer' || !(await deps.signIn.isNewcomer(tx, owner.id)))
    throw new Refusal('link_outdated', {}, { charged: false })
  await store.setScopes(tx, id, allScopes)
}

const factorOf = (owner: Owner): string => `totp of ${owner.id}`

/** Writes an event of the customer. An operator's change is in the audit log by its operation. */
async function note(deps: IdentitiesDeps, tx: Tx, owner: Owner, type: EventType, data: EventData = {}): Promise<void> {
  if (owner.kind !== 'customer') return
  await deps.events.note(tx, [{ customer: owner.id, type, order: null, subject: null, data }])
}

/** Writes a new identity, in the caller's transaction. */
export async function create(
  deps: IdentitiesDeps,
  tx: Tx,
  owner: Owner,
  of: { login: string; email: string | null; password: string | null; isConfirmed: boolean },
) {
  if (await store.findByLogin(tx, owner.kind, of.login)) throw loginTaken()
  const nowMs = deps.clock()
  const { login, email, password } = of
  const confirmedAt = of.isConfirmed ? nowMs : null
  const times = { confirmedAt, createdAt: nowMs, changedAt: nowMs }
  await save(deps, tx, { owner, login, email, password, ...noFactor, ...times })
  if (of.email !== null) await note(deps, tx, owner, 'email.set')
  if (of.password !== null) await note(deps, tx, owner, 'password.set')
}

export const findByLogin = (
  deps: IdentitiesDeps,
  kind: Owner['kind'],
  login: string,
  reader: Reader = deps.db,
): Promise<Identity | undefined> => store.findByLogin(reader, kind, rules.toLogin(login))

/** The owners with this text in login or e-mail address, for an operator's search. */
export const search = (deps: IdentitiesDeps, text: string, limit: number): Promise<Map<string, string>> =>
  store.searchLogins(deps.db, rules.toLogin(text), limit)

/** The customers whose login or e-mail address begins with this text. */
export const ownersByPrefix = (deps: IdentitiesDeps, text: string, limit: number): Promise<string[]> =>
  store.ownersByPrefix(deps.db, rules.toLogin(text), limit)

export const contactsOf = (deps: IdentitiesDeps, owners: readonly string[]): Promise<Map<string, string>> =>
  store.contactsOf(deps.db, owners)

export const loginsOf = (deps: IdentitiesDeps, owners: readonly string[]): Promise<Map<string, string>> =>
  store.loginsOf(deps.db, owners)

/** An owner's sign-in data, as the owner sees it. */
export async function profile(deps: IdentitiesDeps, owner: Owner, reader: Reader = deps.db) {
  const found = await store.findIdentity(reader, owner.id)
  return {
    login: found?.login ?? null,
    email: found?.email ?? null,
    hasPassword: typeof found?.password === 'string',
    hasFactor: typeof found?.totpSince === 'number',
    /** Recovery codes that were not used; null before any were made. */
    recoveryCodes: found?.recovery ? deps.signIn.openRecovery(owner, found.recovery).length : null,
  }
}

/**
 * Sets a password, and the login with the first one. Every other session ends and earlier links become invalid. A
 * provisional session sets it while the customer is new, and becomes a full one.
 */
export async function setPassword(
  deps: IdentitiesDeps,
  owner: Owner,
  request: {
    readonly login: string | undefined
    readonly current: string | undefined
    readonly password: string
    readonly clientPrefix: string
  },
  session: Session | null,
): Promise<{ readonly ended: number }> {
  const before = await confirm(deps, owner, request.current, request.clientPrefix)
  const login = request.login === undefined ? (before?.login ?? '') : rules.toLogin(request.login)
  if (!rules.mayHaveLogin(owner.kind, login, before)) throw refuseField('login', 'account_login')
  const password = await hash(deps, request.password, login, request.clientPrefix)
  const ended = await deps.db.transact(async (tx) => {
    if (session && rules.isProvisional(session)) await becomeFull(deps, tx, session)
    const taken = await store.findByLogin(tx, owner.kind, login)
    if (taken && taken.owner.id !== owner.id) throw loginTaken()
    const nowMs = deps.clock()
    const kept = await lockCompared(tx, owner, before)
    const former = kept ?? { owner, email: null, ...noFactor, confirmedAt: null, createdAt: nowMs }
    await save(deps, tx, { ...former, login, password, changedAt: nowMs })
    await store.voidLinks(tx, owner.id, nowMs)
    const count = await deps.signIn.endAll(tx, owner, session?.id ?? null)
    await note(deps, tx, owner, kept?.password ? 'password.changed' : 'password.set')
    return count
  })
  deps.signIn.forget()
  return { ended }
}

/** Sets a password by an e-mailed link. All sessions end; the second factor stays. The caller calls `forget`. */
export async function replacePassword(
  deps: IdentitiesDeps,
  tx: Tx,
  owner: string,
  given: { readonly text: string; readonly kept: string },
) {
  const before = await store.lockIdentity(tx, owner)
  if (!before) throw invalidLink()
  assertPassword(given.text, before.login)
  await save(deps, tx, { ...before, password: given.kept, changedAt: deps.clock() })
  await store.voidLinks(tx, before.owner.id, deps.clock())
  await deps.signIn.endAll(tx, before.owner, null)
  // `create` has written the event of a customer whom this link has registered.
  if (before.password === given.kept) return
  await note(deps, tx, before.owner, before.password === null ? 'password.set' : 'password.changed', { by: 'link' })
}

/** Makes a second factor, which takes effect when `confirmFactor` accepts a code of it. */
export async function beginFactor(
  deps: IdentitiesDeps,
  owner: Owner,
  password: string | undefined,
  clientPrefix: string,
) {
  const identity = await confirm(deps, owner, password, clientPrefix)
  if (!identity?.password) throw noPassword()
  const secret = deps.codes.makeSecret()
  await deps.db.transact(async (tx) => {
    const kept = await lockCompared(tx, owner, identity)
    if (!kept) throw noPassword()
    if (kept.totpSince !== null) throw factorThere()
    await save(deps, tx, { ...kept, totp: deps.vault.seal(secret, factorOf(owner)), changedAt: deps.clock() })
  })
  return { secret, uri: deps.codes.toUri(secret, identity.login) }
}

/** Makes the recovery codes of an owner. Only this answer has them: the shop stores digests. */
function makeRecovery(deps: IdentitiesDeps, owner: Owner) {
  const make = () => rules.makeRecoveryCode(deps.random(rules.recoveryRandomBytes))
  const codes = Array.from({ length: rules.recoveryCodeCount }, make)
  const digestOf = (code: string) => deps.sha256(rules.recoveryText(owner.id, code.replaceAll('-', ''))).toHex()
  return { codes, recovery: deps.signIn.sealRecovery(owner, codes.map(digestOf)) }
}

const noteMade = (deps: IdentitiesDeps, tx: Tx, owner: Owner): Promise<void> =>
  note(deps, tx, owner, 'recovery_codes.made', { left: rules.recoveryCodeCount })

/** Activates the second factor with its first code. Returns its recovery codes. */
export async function confirmFactor(
  deps: IdentitiesDeps,
  owner: Owner,
  code: string,
  clientPrefix: string,
): Promise<readonly string[]> {
  const tried = await deps.signIn.attempt(owner.id, clientPrefix)
  const { codes, recovery } = makeRecovery(deps, owner)
  await deps.db.transact(async (tx) => {
    const kept = await store.lockIdentity(tx, owner.id)
    if (!kept?.totp) throw new Refusal('second_factor_missing')
    if (kept.totpSince !== null) throw factorThere()
    const step = deps.codes.findStep(deps.vault.open(kept.totp, factorOf(owner)), code, deps.clock())
    if (step === undefined) throw refuseField('code', 'second_factor_code')
    const nowMs = deps.clock()
    await save(deps, tx, { ...kept, totpSince: nowMs, totpStep: step, recovery, changedAt: nowMs })
    await note(deps, tx, owner, 'second_factor.set')
    await noteMade(deps, tx, owner)
  })
  await tried.succeeded()
  return codes
}

/** Makes new recovery codes, with the password. Earlier ones become invalid. */
export async function renewRecovery(
  deps: IdentitiesDeps,
  owner: Owner,
  password: string | undefined,
  clientPrefix: string,
): Promise<readonly string[]> {
  const confirmed = await confirm(deps, owner, password, clientPrefix)
  const { codes, recovery } = makeRecovery(deps, owner)
  await deps.db.transact(async (tx) => {
    const kept = await lockCompared(tx, owner, confirmed)
    if (!kept || kept.totpSince === null) throw new Refusal('second_factor_missing')
    await save(deps, tx, { ...kept, recovery, changedAt: deps.clock() })
    await noteMade(deps, tx, owner)
  })
  return codes
}

/** Removes the second factor. Password and session suffice: the phone may be lost. */
export async function removeFactor(
  deps: IdentitiesDeps,
  owner: Owner,
  password: string | undefined,
  clientPrefix: string,
): Promise<void> {
  const confirmed = await confirm(deps, owner, password, clientPrefix)
  await deps.db.transact(async (tx) => {
    const kept = await lockCompared(tx, owner, confirmed)
    if (kept) await forgetFactor(deps, tx, kept, 'customer')
  })
}

async function forgetFactor(deps: IdentitiesDeps, tx: Tx, kept: Identity, by: 'customer' | 'operator'): Promise<void> {
  // Without the factor, an account of which it is unknown counts as not confirmed.
  const confirmedAt = kept.confirmedAt || null
  await save(deps, tx, { ...kept, totp: null, totpSince: null, recovery: null, confirmedAt, changedAt: deps.clock() })
  if (kept.totpSince !== null) await note(deps, tx, kept.owner, 'second_factor.removed', { by })
}

/** Removes the second factor for an owner who lost it. Returns whether there was one. */
export const dropFactor = (deps: IdentitiesDeps, owner: Owner): Promise<boolean> =>
  deps.db.transact(async (tx) => {
    const kept = await store.lockIdentity(tx, owner.id)
    if (!kept?.totp) return false
    await forgetFactor(deps, tx, kept, 'operator')
    return true
  })

/** Deletes an identity and ends its sessions and links, in the caller's transaction. */
export async function remove(deps: IdentitiesDeps, tx: Tx, owner: Owner): Promise<void> {
  await store.removeIdentity(tx, owner.id)
  await store.voidLinks(tx, owner.id, deps.clock())
  await deps.signIn.endAll(tx, owner, null)
}
