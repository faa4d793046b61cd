import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import { malformed } from '../../../core/refusal.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database } from '../../../db/transaction.ts'
import type { Customers } from '../../customers/index.ts'
import { whitelistFull } from '../errors.ts'
import type { PremiumTerms } from '../rules.ts'
import type { Subuser } from '../subusers/rules.ts'
import type { Subusers } from '../subusers/service.ts'
import { lockSubuser, touchSubuser } from '../subusers/store.ts'
import { readEntry, type WhitelistEntry } from './rules.ts'
import * as store from './store.ts'

export type Listed = { readonly subuser: Subuser; readonly entries: readonly WhitelistEntry[]; readonly limit: number }

/** Which addresses need no password. */
export function createWhitelist(deps: {
  db: Database
  clock: Clock
  customers: Customers
  subusers: Subusers
  terms: PremiumTerms
}) {
  const { db, clock, subusers, terms } = deps

  async function read(text: string): Promise<string> {
    const outcome = readEntry(text, (await deps.customers.mode()) === 'sandbox')
    if ('problem' in outcome) throw malformed([outcome.problem])
    return outcome.prefix
  }

  return {
    async list(customer: CustomerId, id: SubuserId | undefined): Promise<Listed> {
      const subuser = await subusers.load(customer, id)
      return { subuser, entries: await store.listEntries(db, subuser.id), limit: terms.mostWhitelisted }
    },

    /** Adding what is there already changes nothing but its comment. Entries are counted under the sub-user's lock. */
    async add(
      customer: CustomerId,
      id: SubuserId | undefined,
      text: string,
      comment: string | undefined,
    ): Promise<Listed & { prefix: string; added: boolean }> {
      const prefix = await read(text)
      return db.transact(async (tx) => {
        const subuser = await subusers.resolve(tx, customer, id)
        await lockSubuser(tx, subuser.id)
        const nowMs = clock()
        const before = await store.listEntries(tx, subuser.id)
        const isThere = before.some((each) => each.prefix === prefix)
        if (!isThere && before.length >= terms.mostWhitelisted) throw whitelistFull(terms.mostWhitelisted)
        const entry = { prefix, comment: comment ?? '', createdAt: nowMs, lastUsedAt: null }
        const added = await store.addEntry(tx, subuser.id, entry)
        if (!added && comment !== undefined) store.recomment(tx, subuser.id, prefix, comment)
        if (added) touchSubuser(tx, subuser.id, nowMs)
        return {
          subuser,
          prefix,
          added,
          entries: await store.listEntries(tx, subuser.id),
          limit: terms.mostWhitelisted,
        }
      })
    },

    async remove(
      customer: CustomerId,
      id: SubuserId | undefined,
      text: string,
    ): Promise<Listed & { prefix: string; removed: boolean }> {
      const prefix = await read(text)
      return db.transact(async (tx) => {
        const subuser = await subusers.resolve(tx, customer, id)
        const removed = await store.removeEntry(tx, subuser.id, prefix)
        if (removed) touchSubuser(tx, subuser.id, clock())
        return {
          subuser,
          prefix,
          removed,
          entries: await store.listEntries(tx, subuser.id),
          limit: terms.mostWhitelisted,
        }
      })
    },
  }
}
