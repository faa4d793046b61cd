import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import { malformed, Refusal } from '../../../core/refusal.ts'
import type { Reader } from '../../../db/transaction.ts'
import type { PremiumDeps } from '../deps.ts'
import { load, resolve } from './manage.ts'
import { readEntry, type Subuser } from './rules.ts'
import * as store from './store.ts'

async function read({ customers }: PremiumDeps, text: string): Promise<string> {
  const outcome = readEntry(text, (await customers.mode()) === 'sandbox')
  if ('problem' in outcome) throw malformed([outcome.problem])
  return outcome.prefix
}

/** The addresses from which a sub-user needs no password. */
async function show({ terms }: PremiumDeps, reader: Reader, subuser: Subuser) {
  return { subuser, entries: await store.listEntries(reader, subuser.id), limit: terms.maxWhitelisted }
}

export async function list(deps: PremiumDeps, customer: CustomerId, id: SubuserId | undefined) {
  return show(deps, deps.db, await load(deps, customer, id))
}

/** Adds an entry, or updates the comment of a listed one. Entries are counted under the sub-user's lock. */
export async function add(
  deps: PremiumDeps,
  customer: CustomerId,
  id: SubuserId | undefined,
  text: string,
  comment: string | undefined,
) {
  const { maxWhitelisted: max } = deps.terms
  const prefix = await read(deps, text)
  return deps.db.transact(async (tx) => {
    const subuser = await resolve(deps, tx, customer, id)
    await store.lockSubuser(tx, subuser.id)
    const nowMs = deps.clock()
    const before = await store.listEntries(tx, subuser.id)
    const isThere = before.some((each) => each.prefix === prefix)
    if (!isThere && before.length >= max) throw new Refusal('whitelist_full', { max }, { limit: max })
    const entry = { prefix, comment: comment ?? '', createdAt: nowMs, lastUsedAt: null }
    const added = await store.addEntry(tx, subuser.id, entry)
    if (!added && comment !== undefined) store.recomment(tx, subuser.id, prefix, comment)
    if (added) store.touchSubuser(tx, subuser.id, nowMs)
    return { ...(await show(deps, tx, subuser)), prefix, added }
  })
}

export async function remove(deps: PremiumDeps, customer: CustomerId, id: SubuserId | undefined, text: string) {
  const prefix = await read(deps, text)
  return deps.db.transact(async (tx) => {
    const subuser = await resolve(deps, tx, customer, id)
    const removed = await store.removeEntry(tx, subuser.id, prefix)
    if (removed) store.touchSubuser(tx, subuser.id, deps.clock())
    return { ...(await show(deps, tx, subuser)), prefix, removed }
  })
}
