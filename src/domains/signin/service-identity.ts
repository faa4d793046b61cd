import type { Reader, Tx } from '../../db/transaction.ts'
import { allScopes } from '../customers/rules.ts'
import {
  badLogin,
  badPassword,
  factorThere,
  invalidLink,
  linkOutdated,
  loginTaken,
  noFactor,
  noPassword,
  signInFailed,
  wrongCode,
} from './errors.ts'
import {
  type Identity,
  isProvisional,
  mayHaveLogin,
  namedText,
  type Owner,
  problemOfPassword,
  type Session,
  toLogin,
} from './rules.ts'
import type { SignIn, SignInDeps } from './service.ts'
import * as store from './store.ts'

/** How somebody signs in, as he is shown it. */
type Profile = {
  readonly login: string | null
  readonly email: string | null
  readonly hasPassword: boolean
  readonly hasFactor: boolean
}

export type Identities = ReturnType<typeof createIdentities>

/** Logins, passwords and second factors: what their owner does with them. */
export function createIdentities(deps: SignInDeps & { readonly signIn: SignIn }) {
  const { db, clock, sha256, signIn } = deps

  const save = (tx: Tx, of: Identity): Promise<void> =>
    store.saveIdentity(tx, of, sha256(namedText(of.owner.id, of.login, of.email)))

  function assertPassword(password: string, login: string): void {
    const problem = problemOfPassword(password, login)
    if (problem !== undefined) throw badPassword(problem)
  }

  async function hash(password: string, login: string, household: string): Promise<string> {
    assertPassword(password, login)
    return deps.passwords.hash(password, household)
  }

  /** Whoever changes how he signs in shows once more that it is he. */
  async function confirm(owner: Owner, password: string | undefined, household: string): Promise<Identity | undefined> {
    const identity = await store.findIdentity(db, owner.id)
    if (!identity?.password) return identity
    if (password === undefined) throw signInFailed()
    const tried = await signIn.attempt(owner.id, household)
    await signIn.assertPassword(identity, password, tried)
    await tried.succeeded()
    return identity
  }

  async function becomeFull(tx: Tx, { id, owner }: Session): Promise<void> {
    if (owner.kind !== 'customer' || !(await signIn.isNewcomer(tx, owner.id))) throw linkOutdated()
    await store.setScopes(tx, id, allScopes)
  }

  const factorOf = (owner: Owner): string => `totp of ${owner.id}`

  return {
    assertPassword,
    hash,

    /** Writes a new identity, in the caller's transaction. */
    async create(tx: Tx, owner: Owner, of: { login: string; email: string | null; password: string | null }) {
      if (await store.findByLogin(tx, owner.kind, of.login)) throw loginTaken()
      const nowMs = clock()
      const factor = { totp: null, totpSince: null, totpStep: 0 }
      await save(tx, { owner, ...of, ...factor, createdAt: nowMs, changedAt: nowMs })
    },

    confirm,

    findByLogin: (kind: Owner['kind'], login: string, reader: Reader = db): Promise<Identity | undefined> =>
      store.findByLogin(reader, kind, toLogin(login)),

    /** Whose logins or addresses have this text in them, for operators who look for a customer. */
    search: (text: string, limit: number): Promise<Map<string, string>> => store.searchLogins(db, toLogin(text), limit),

    /** What these owners sign in with; those without a login are left out. */
    loginsOf: (owners: readonly string[]): Promise<Map<string, string>> => store.loginsOf(db, owners),

    async profile(owner: Owner, reader: Reader = db): Promise<Profile> {
      const found = await store.findIdentity(reader, owner.id)
      return {
        login: found?.login ?? null,
        email: found?.email ?? null,
        hasPassword: typeof found?.password === 'string',
        hasFactor: typeof found?.totpSince === 'number',
      }
    },

    /**
     * Sets a password, and the login with the first one. Every other session ends, and no link that was sent before
     * lets anybody in. A provisional session sets it while the customer is new, and becomes a full one.
     */
    async setPassword(
      owner: Owner,
      wish: {
        readonly login: string | undefined
        readonly current: string | undefined
        readonly password: string
        readonly household: string
      },
      session: Session | null,
    ): Promise<{ readonly ended: number }> {
      const before = await confirm(owner, wish.current, wish.household)
      const login = wish.login === undefined ? (before?.login ?? '') : toLogin(wish.login)
      if (!mayHaveLogin(owner.kind, login, before)) throw badLogin()
      const password = await hash(wish.password, login, wish.household)
      const ended = await db.transact(async (tx) => {
        if (session && isProvisional(session)) await becomeFull(tx, session)
        const taken = await store.findByLogin(tx, owner.kind, login)
        if (taken && taken.owner.id !== owner.id) throw loginTaken()
        const nowMs = clock()
        const kept = await store.lockIdentity(tx, owner.id)
        await save(tx, {
          owner,
          login,
          email: kept?.email ?? null,
          password,
          totp: kept?.totp ?? null,
          totpSince: kept?.totpSince ?? null,
          totpStep: kept?.totpStep ?? 0,
          createdAt: kept?.createdAt ?? nowMs,
          changedAt: nowMs,
        })
        await store.voidLinks(tx, owner.id, nowMs)
        return signIn.endAll(tx, owner, session?.id ?? null)
      })
      signIn.forget()
      return { ended }
    },

    /**
     * Sets a password for whoever has shown by a letter that it is he, in the caller's transaction; `forget` follows
     * its commit. The second factor stays; all sessions end.
     */
    async replacePassword(tx: Tx, owner: string, given: { readonly text: string; readonly kept: string }) {
      const before = await store.lockIdentity(tx, owner)
      if (!before) throw invalidLink()
      assertPassword(given.text, before.login)
      await save(tx, { ...before, password: given.kept, changedAt: clock() })
      await store.voidLinks(tx, before.owner.id, clock())
      await signIn.endAll(tx, before.owner, null)
    },

    /** Makes a second factor, which counts once a code of it was given. */
    async beginFactor(owner: Owner, password: string | undefined, household: string) {
      const identity = await confirm(owner, password, household)
      if (!identity?.password) throw noPassword()
      const secret = deps.codes.makeSecret()
      await db.transact(async (tx) => {
        const kept = await store.lockIdentity(tx, owner.id)
        if (!kept) throw noPassword()
        if (kept.totpSince !== null) throw factorThere()
        await save(tx, { ...kept, totp: deps.vault.seal(secret, factorOf(owner)), changedAt: clock() })
      })
      return { secret, uri: deps.codes.toUri(secret, identity.login) }
    },

    async confirmFactor(owner: Owner, code: string, household: string): Promise<void> {
      const tried = await signIn.attempt(owner.id, household)
      await db.transact(async (tx) => {
        const kept = await store.lockIdentity(tx, owner.id)
        if (!kept?.totp) throw noFactor()
        if (kept.totpSince !== null) throw factorThere()
        const step = deps.codes.findStep(deps.vault.open(kept.totp, factorOf(owner)), code, clock())
        if (step === undefined) throw wrongCode()
        await save(tx, { ...kept, totpSince: clock(), totpStep: step, changedAt: clock() })
      })
      await tried.succeeded()
    },

    /** Takes the second factor away. Whoever has password and session needs no code: the telephone may be lost. */
    async removeFactor(owner: Owner, password: string | undefined, household: string): Promise<void> {
      await confirm(owner, password, household)
      await db.transact(async (tx) => {
        const kept = await store.lockIdentity(tx, owner.id)
        if (kept) await save(tx, { ...kept, totp: null, totpSince: null, changedAt: clock() })
      })
    },

    /** Takes away the second factor of an owner who has lost it. Tells whether there was one. */
    dropFactor: (owner: Owner): Promise<boolean> =>
      db.transact(async (tx) => {
        const kept = await store.lockIdentity(tx, owner.id)
        if (!kept?.totp) return false
        await save(tx, { ...kept, totp: null, totpSince: null, changedAt: clock() })
        return true
      }),

    /** Nobody signs in as this owner any more, in the caller's transaction. */
    async remove(tx: Tx, owner: Owner): Promise<void> {
      await store.removeIdentity(tx, owner.id)
      await store.voidLinks(tx, owner.id, clock())
      await signIn.endAll(tx, owner, null)
    },
  }
}
