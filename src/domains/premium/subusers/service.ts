import { type CustomerId, makeId, type RandomBytes, type SubuserId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/time.ts'
import type { Vault } from '../../../core/vault.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Ledger } from '../../ledger/index.ts'
import { loginTaken, noSuchSubuser, tooManySubusers } from '../errors.ts'
import { forgetHostsOf } from '../usage/store.ts'
import { contextOf, type Limits, makeLogin, makePassword, mostSubusers, noLimits, type Subuser } from './rules.ts'
import * as store from './store.ts'

export type NewSubuser = {
  readonly name: string
  readonly login?: string | undefined
  readonly limits?: Limits
  readonly keepHosts?: boolean
}

/** What is to change; what is left out stays as it is. */
export type SubuserChange = {
  readonly name?: string | undefined
  readonly blocked?: boolean | undefined
  readonly keepHosts?: boolean | undefined
  readonly limits: { readonly [Name in keyof Limits]?: Limits[Name] | undefined }
}

const mostLoginAttempts = 4

export type Subusers = ReturnType<typeof createSubusers>

export function createSubusers(deps: {
  db: Database
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Vault
  ledger: Pick<Ledger, 'lock'>
}) {
  const { db, clock, random, vault } = deps

  const secretOf = (id: SubuserId, password: string): store.Secret => ({
    sealed: vault.seal(password, contextOf(id)),
    digest: deps.sha256(password),
  })

  async function insert(
    tx: Tx,
    customer: CustomerId,
    asked: NewSubuser,
    isDefault: boolean,
  ): Promise<Subuser | undefined> {
    const nowMs = clock()
    const subuser: Subuser = {
      id: makeId('subuser', nowMs, random),
      customer,
      login: asked.login ?? makeLogin(random),
      name: asked.name,
      isDefault,
      blockedAt: null,
      deletedAt: null,
      limits: asked.limits ?? noLimits,
      keepHosts: asked.keepHosts ?? true,
      createdAt: nowMs,
      changedAt: nowMs,
    }
    const added = await store.insertSubuser(tx, subuser, secretOf(subuser.id, makePassword(random)))
    return added ? subuser : undefined
  }

  /** Every customer has one; whoever comes first makes it, and whoever comes second at the same moment finds it. */
  async function ensureDefault(tx: Tx, customer: CustomerId): Promise<Subuser> {
    for (let attempt = 0; attempt < mostLoginAttempts; attempt += 1) {
      const known = await store.findDefault(tx, customer)
      if (known) return known
      const made = await insert(tx, customer, { name: 'default' }, true)
      if (made) return made
    }
    throw new Error('no default sub-user could be made')
  }

  /** The sub-user that an operation is about, inside a transaction. */
  async function resolve(tx: Tx, customer: CustomerId, id: SubuserId | undefined): Promise<Subuser> {
    if (id === undefined) return ensureDefault(tx, customer)
    const found = await store.findSubuser(tx, customer, id)
    if (!found) throw noSuchSubuser()
    return found
  }

  /** The same for reading: it only opens a transaction the first time a customer is seen here. */
  async function load(customer: CustomerId, id: SubuserId | undefined): Promise<Subuser> {
    const found = id === undefined ? await store.findDefault(db, customer) : await store.findSubuser(db, customer, id)
    if (found) return found
    if (id !== undefined) throw noSuchSubuser()
    return db.transact((tx) => ensureDefault(tx, customer))
  }

  return {
    resolve,
    load,

    /** Adds a sub-user. A login that is asked for is got or refused; one that is not asked for is made. */
    create: (customer: CustomerId, asked: NewSubuser): Promise<Subuser> =>
      db.transact(async (tx) => {
        // In turn with the customer's other requests, so that two at once do not both find the last place free.
        await deps.ledger.lock(tx, customer)
        await ensureDefault(tx, customer)
        if ((await store.countSubusers(tx, customer)) >= mostSubusers) throw tooManySubusers(mostSubusers)
        for (let attempt = 0; attempt < mostLoginAttempts; attempt += 1) {
          const made = await insert(tx, customer, asked, false)
          if (made) return made
          if (asked.login !== undefined) break
        }
        throw loginTaken()
      }),

    async list(customer: CustomerId, after: string, limit: number): Promise<Subuser[]> {
      if (after === '') await load(customer, undefined)
      return store.listSubusers(db, customer, after, limit)
    },

    update: (customer: CustomerId, id: SubuserId | undefined, to: SubuserChange): Promise<Subuser> =>
      db.transact(async (tx) => {
        const { id: known } = await resolve(tx, customer, id)
        const before = await store.lockSubuser(tx, known)
        if (!before || before.deletedAt !== null) throw noSuchSubuser()
        const nowMs = clock()
        const blockedAt = to.blocked === undefined ? before.blockedAt : to.blocked ? (before.blockedAt ?? nowMs) : null
        const after: Subuser = {
          ...before,
          name: to.name ?? before.name,
          blockedAt,
          keepHosts: to.keepHosts ?? before.keepHosts,
          limits: {
            dayBytes: to.limits.dayBytes === undefined ? before.limits.dayBytes : to.limits.dayBytes,
            monthBytes: to.limits.monthBytes === undefined ? before.limits.monthBytes : to.limits.monthBytes,
            totalBytes: to.limits.totalBytes === undefined ? before.limits.totalBytes : to.limits.totalBytes,
            tunnels: to.limits.tunnels === undefined ? before.limits.tunnels : to.limits.tunnels,
          },
          changedAt: nowMs,
        }
        store.updateSubuser(tx, before.id, after, nowMs)
        if (!after.keepHosts && before.keepHosts) forgetHostsOf(tx, before.id)
        return after
      }),

    /** The password in plain text: for the customer who asks, and for nobody else. */
    async password(customer: CustomerId, id: SubuserId | undefined): Promise<{ subuser: Subuser; password: string }> {
      const subuser = await load(customer, id)
      return { subuser, password: await openPassword(db, subuser.id) }
    },

    openPassword: (reader: Reader, id: SubuserId): Promise<string> => openPassword(reader, id),

    /** A new password; nodes learn of it with their next look, and close what the old one opened. */
    resetPassword: (customer: CustomerId, id: SubuserId | undefined): Promise<{ subuser: Subuser; password: string }> =>
      db.transact(async (tx) => {
        const subuser = await resolve(tx, customer, id)
        const password = makePassword(random)
        store.writePassword(tx, subuser.id, secretOf(subuser.id, password), clock())
        return { subuser, password }
      }),
  }

  async function openPassword(reader: Reader, id: SubuserId): Promise<string> {
    return vault.open(await store.findPassword(reader, id), contextOf(id))
  }
}
