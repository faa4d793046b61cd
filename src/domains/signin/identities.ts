import { malformed, Refusal } from '../../core/refusal.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { allScopes } from '../customers/rules.ts'
import { badLogin, factorThere, invalidLink, loginTaken, noPassword, signInFailed } from './errors.ts'
import type { Identity, Owner, Session } from './rules.ts'
import * as rules from './rules.ts'
import type { SignIn, SignInDeps } from './sessions.ts'
import * as store from './store.ts'

/** An owner's sign-in data, as the owner sees it. */
type Profile = {
  readonly login: string | null
  readonly email: string | null
  readonly hasPassword: boolean
  readonly hasFactor: boolean
}

const noFactor = { totp: null, totpSince: null, totpStep: 0 }

export type Identities = ReturnType<typeof createIdentities>

export function createIdentities(deps: SignInDeps & { readonly signIn: SignIn }) {
  const { db, clock, sha256, signIn } = deps

  const save = (tx: Tx, of: Identity): Promise<void> =>
    store.saveIdentity(tx, of, sha256(rules.namedText(of.owner.id, of.login, of.email)))

  function assertPassword(password: string, login: string): void {
    const problem = rules.problemOfPassword(password, login)
    if (problem !== undefined) throw malformed([{ field: 'password', problem }])
  }

  async function hash(password: string, login: string, clientPrefix: string): Promise<string> {
    assertPassword(password, login)
    return deps.passwords.hash(password, clientPrefix)
  }

  /** Checks the present password again before a change. */
  async function confirm(
    owner: Owner,
    password: string | undefined,
    clientPrefix: string,
  ): Promise<Identity | undefined> {
    const identity = await store.findIdentity(db, owner.id)
    if (!identity?.password) return identity
    if (password === undefined) throw signInFailed()
    const tried = await signIn.attempt(owner.id, clientPrefix)
    await signIn.assertPassword(identity, password, tried)
    await tried.succeeded()
    return identity
  }

  /** Refuses if the customer has used the account since an operator below `owner` made the link of this session. */
  async function becomeFull(tx: Tx, { id, owner }: Session): Promise<void> {
    if (owner.kind !== 'customer' || !(await signIn.isNewcomer(tx, owner.id)))
      throw new Refusal('link_outdated', {}, { charged: false })
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
      await save(tx, { owner, ...of, ...noFactor, createdAt: nowMs, changedAt: nowMs })
    },

    confirm,

    findByLogin: (kind: Owner['kind'], login: string, reader: Reader = db): Promise<Identity | undefined> =>
      store.findByLogin(reader, kind, rules.toLogin(login)),

    /** The owners with this text in login or e-mail address, for an operator's search. */
    search: (text: string, limit: number): Promise<Map<string, string>> =>
      store.searchLogins(db, rules.toLogin(text), limit),

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
     * Sets a password, and the login with the first one. Every other session ends and earlier links become invalid. A
     * provisional session sets it while the customer is new, and becomes a full one.
     */
    async setPassword(
      owner: Owner,
      request: {
        readonly login: string | undefined
        readonly current: string | undefined
        readonly password: string
        readonly clientPrefix: string
      },
      session: Session | null,
    ): Promise<{ readonly ended: number }> {
      const before = await confirm(owner, request.current, request.clientPrefix)
      const login = request.login === undefined ? (before?.login ?? '') : rules.toLogin(request.login)
      if (!rules.mayHaveLogin(owner.kind, login, before)) throw badLogin()
      const password = await hash(request.password, login, request.clientPrefix)
      const ended = await db.transact(async (tx) => {
        if (session && rules.isProvisional(session)) await becomeFull(tx, session)
        const taken = await store.findByLogin(tx, owner.kind, login)
        if (taken && taken.owner.id !== owner.id) throw loginTaken()
        const nowMs = clock()
        const kept = await store.lockIdentity(tx, owner.id)
        const former = kept ?? { owner, email: null, ...noFactor, createdAt: nowMs }
        await save(tx, { ...former, login, password, changedAt: nowMs })
        await store.voidLinks(tx, owner.id, nowMs)
        return signIn.endAll(tx, owner, session?.id ?? null)
      })
      signIn.forget()
      return { ended }
    },

    /** Sets a password by an e-mailed link. All sessions end; the second factor stays. The caller calls `forget`. */
    async replacePassword(tx: Tx, owner: string, given: { readonly text: string; readonly kept: string }) {
      const before = await store.lockIdentity(tx, owner)
      if (!before) throw invalidLink()
      assertPassword(given.text, before.login)
      await save(tx, { ...before, password: given.kept, changedAt: clock() })
      await store.voidLinks(tx, before.owner.id, clock())
      await signIn.endAll(tx, before.owner, null)
    },

    /** Makes a second factor, which takes effect when `confirmFactor` accepts a code of it. */
    async beginFactor(owner: Owner, password: string | undefined, clientPrefix: string) {
      const identity = await confirm(owner, password, clientPrefix)
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

    async confirmFactor(owner: Owner, code: string, clientPrefix: string): Promise<void> {
      const tried = await signIn.attempt(owner.id, clientPrefix)
      await db.transact(async (tx) => {
        const kept = await store.lockIdentity(tx, owner.id)
        if (!kept?.totp) throw new Refusal('second_factor_missing')
        if (kept.totpSince !== null) throw factorThere()
        const step = deps.codes.findStep(deps.vault.open(kept.totp, factorOf(owner)), code, clock())
        if (step === undefined) {
          const problem = 'is not what the second factor shows now, or was used already'
          throw malformed([{ field: 'code', problem }])
        }
        await save(tx, { ...kept, totpSince: clock(), totpStep: step, changedAt: clock() })
      })
      await tried.succeeded()
    },

    /** Removes the second factor. Password and session suffice: the phone may be lost. */
    async removeFactor(owner: Owner, password: string | undefined, clientPrefix: string): Promise<void> {
      await confirm(owner, password, clientPrefix)
      await db.transact(async (tx) => {
        const kept = await store.lockIdentity(tx, owner.id)
        if (kept) await save(tx, { ...kept, totp: null, totpSince: null, changedAt: clock() })
      })
    },

    /** Removes the second factor for an owner who lost it. Returns whether there was one. */
    dropFactor: (owner: Owner): Promise<boolean> =>
      db.transact(async (tx) => {
        const kept = await store.lockIdentity(tx, owner.id)
        if (!kept?.totp) return false
        await save(tx, { ...kept, totp: null, totpSince: null, changedAt: clock() })
        return true
      }),

    /** Deletes an identity and ends its sessions and links, in the caller's transaction. */
    async remove(tx: Tx, owner: Owner): Promise<void> {
      await store.removeIdentity(tx, owner.id)
      await store.voidLinks(tx, owner.id, clock())
      await signIn.endAll(tx, owner, null)
    },
  }
}
