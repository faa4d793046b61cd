import { type CustomerId, makeId, readId, type SubuserId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { attachMetadata } from '../../metadata/index.ts'
import { type Metadata, noMetadata } from '../../metadata/rules.ts'
import type { PremiumDeps } from '../deps.ts'
import { forgetHostsOf } from '../usage/store.ts'
import { contextOf, makeLogin, maxSubusers, noLimits, type Subuser, type SubuserLimits } from './rules.ts'
import * as store from './store.ts'

type NewSubuser = {
  readonly name: string
  readonly login?: string | undefined
  readonly limits?: SubuserLimits
  readonly keepHosts?: boolean
  readonly metadata?: Metadata | undefined
}

/** Fields that are left out stay as they are. */
type SubuserChange = {
  readonly name?: string | undefined
  readonly blocked?: boolean | undefined
  readonly keepHosts?: boolean | undefined
  readonly limits: { readonly [Name in keyof SubuserLimits]?: SubuserLimits[Name] | undefined }
}

const maxLoginAttempts = 4

/** The same for an unknown sub-user and for another customer's. */
export const noSuchSubuser = (): Refusal => new Refusal('subuser_not_found', {}, { charged: false })

const secretOf = ({ vault, sha256 }: PremiumDeps, id: SubuserId, plainText: string): store.SubuserSecret => ({
  sealed: vault.seal(plainText, contextOf(id)),
  digest: sha256(plainText),
})

async function insert(deps: PremiumDeps, tx: Tx, customer: CustomerId, fields: NewSubuser, isDefault: boolean) {
  const { random } = deps
  const nowMs = deps.clock()
  const subuser: Subuser = {
    id: makeId('subuser', nowMs, random),
    customer,
    login: fields.login ?? makeLogin(random),
    name: fields.name,
    isDefault,
    blockedAt: null,
    deletedAt: null,
    limits: fields.limits ?? noLimits,
    keepHosts: fields.keepHosts ?? false,
    createdAt: nowMs,
    changedAt: nowMs,
  }
  const made = await deps.fleet.makePasswordFor(tx, subuser.login)
  const added = await store.insertSubuser(tx, subuser, secretOf(deps, subuser.id, made))
  return added ? subuser : undefined
}

/** The customer's default sub-user. Of two concurrent calls, one makes it and the other finds it. */
async function ensureDefault(deps: PremiumDeps, tx: Tx, customer: CustomerId): Promise<Subuser> {
  for (let attempt = 0; attempt < maxLoginAttempts; attempt += 1) {
    const known = await store.findDefault(tx, customer)
    if (known) return known
    const made = await insert(deps, tx, customer, { name: 'default' }, true)
    if (made) return made
  }
  throw new Error('no default sub-user could be made')
}

/** The sub-user of an operation, the default one unless an id is given, inside a transaction. */
export async function resolve(deps: PremiumDeps, tx: Tx, customer: CustomerId, id: SubuserId | undefined) {
  if (id === undefined) return ensureDefault(deps, tx, customer)
  const found = await store.findSubuser(tx, customer, id)
  if (!found) throw noSuchSubuser()
  return found
}

/** The same for reading: it opens a transaction only to make the default sub-user. */
export async function load(deps: PremiumDeps, customer: CustomerId, id: SubuserId | undefined): Promise<Subuser> {
  const { db } = deps
  const found = id === undefined ? await store.findDefault(db, customer) : await store.findSubuser(db, customer, id)
  if (found) return found
  if (id !== undefined) throw noSuchSubuser()
  return db.transact((tx) => ensureDefault(deps, tx, customer))
}

/** Adds a sub-user with the given login, which is refused if it is taken, or with a random one. */
export const create = (deps: PremiumDeps, customer: CustomerId, fields: NewSubuser): Promise<Subuser> =>
  deps.db.transact((tx) => createIn(deps, tx, customer, fields))

export async function createIn(deps: PremiumDeps, tx: Tx, customer: CustomerId, fields: NewSubuser): Promise<Subuser> {
  // Serialises the customer's requests, so that two at once do not both take the last free number, and none that was
  // authenticated before an erasure writes a name after it.
  await deps.ledger.assertNotErased(tx, customer)
  await ensureDefault(deps, tx, customer)
  const count = await store.countSubusers(tx, customer)
  if (count >= maxSubusers) throw new Refusal('subuser_limit', { max: maxSubusers })
  for (let attempt = 0; attempt < maxLoginAttempts; attempt += 1) {
    const made = await insert(deps, tx, customer, fields, false)
    if (made) {
      attachMetadata(tx, customer, 'subuser', [made.id], fields.metadata ?? noMetadata)
      return made
    }
    if (fields.login !== undefined) break
  }
  throw new Refusal('subuser_login_taken')
}

/** A page of a customer's sub-users, or of those with all of the pairs. */
export async function list(
  deps: PremiumDeps,
  customer: CustomerId,
  after: string,
  limit: number,
  pairs: Metadata = noMetadata,
): Promise<Subuser[]> {
  if (after === '') await load(deps, customer, undefined)
  return store.listSubusers(deps.db, customer, after, limit, pairs)
}

/** The id of a sub-user that the customer has; others are refused. The lock keeps it from being deleted meanwhile. */
export async function findOwned(deps: PremiumDeps, tx: Tx, customer: CustomerId, text: string): Promise<string> {
  const id = readId('subuser', text)
  if (id === undefined) throw noSuchSubuser()
  await resolve(deps, tx, customer, id)
  const locked = await store.lockSubuser(tx, id)
  if (!locked || locked.deletedAt !== null) throw noSuchSubuser()
  return id
}

/** A customer's first sub-users with their traffic by pool, for the operator. It makes no default sub-user. */
export async function withTraffic(deps: PremiumDeps, customer: CustomerId, limit: number) {
  const found = await store.listSubusers(deps.db, customer, '', limit)
  const { balances } = deps.traffic.accounts
  return Promise.all(found.map(async (subuser) => ({ subuser, pools: [...(await balances(subuser.id)).values()] })))
}

/** The sub-user with this login, of any customer. */
export const findByLogin = ({ db }: PremiumDeps, login: string) => store.findForNodes(db, 'login', login)

export function update(deps: PremiumDeps, customer: CustomerId, id: SubuserId | undefined, to: SubuserChange) {
  return deps.db.transact(async (tx) => {
    const { id: known } = await resolve(deps, tx, customer, id)
    const before = await store.lockSubuser(tx, known)
    if (!before || before.deletedAt !== null) throw noSuchSubuser()
    const nowMs = deps.clock()
    const { limits } = before
    const after: Subuser = {
      ...before,
      name: to.name ?? before.name,
      blockedAt: to.blocked === undefined ? before.blockedAt : to.blocked ? (before.blockedAt ?? nowMs) : null,
      keepHosts: to.keepHosts ?? before.keepHosts,
      limits: {
        dayBytes: to.limits.dayBytes === undefined ? limits.dayBytes : to.limits.dayBytes,
        monthBytes: to.limits.monthBytes === undefined ? limits.monthBytes : to.limits.monthBytes,
        totalBytes: to.limits.totalBytes === undefined ? limits.totalBytes : to.limits.totalBytes,
        tunnels: to.limits.tunnels === undefined ? limits.tunnels : to.limits.tunnels,
      },
      changedAt: nowMs,
    }
    store.updateSubuser(tx, after)
    if (!after.keepHosts && before.keepHosts) forgetHostsOf(tx, before.id)
    return after
  })
}

export async function openPassword({ vault }: PremiumDeps, reader: Reader, id: SubuserId): Promise<string> {
  return vault.open(await store.findPassword(reader, id), contextOf(id))
}

/** The password in plain text, for its customer only. */
export async function password(deps: PremiumDeps, customer: CustomerId, id: SubuserId | undefined) {
  const subuser = await load(deps, customer, id)
  return { subuser, password: await openPassword(deps, deps.db, subuser.id) }
}

/** Sets a new password. Nodes read it with their next poll and close the tunnels that the old one opened. */
export function resetPassword(deps: PremiumDeps, customer: CustomerId, id: SubuserId | undefined) {
  return deps.db.transact(async (tx) => {
    const subuser = await resolve(deps, tx, customer, id)
    const made = await deps.fleet.makePasswordFor(tx, subuser.login)
    store.writePassword(tx, subuser.id, secretOf(deps, subuser.id, made), deps.clock())
    return { subuser, password: made }
  })
}
