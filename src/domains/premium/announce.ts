import { bytes, toGigabytes } from '../../core/bytes.ts'
import { subjectOf } from '../traffic/accounts/rules.ts'
import type { PremiumDeps } from './deps.ts'
import { ownersOf } from './subusers/store.ts'

/**
 * Writes `traffic.low` for pools of which 80, 95 or 100 % are used since traffic last arrived. Returns how many pools
 * it read; call again while that is `limit`.
 */
export async function announceLow({ db, traffic, events }: PremiumDeps, limit: number): Promise<number> {
  const due = await traffic.alerts.dueAccounts(limit)
  for (const key of due) {
    await db.transact(async (tx) => {
      const account = await traffic.accounts.lock(tx, key)
      const left = account.balance + account.aside
      const percent = await traffic.alerts.takeDue(tx, subjectOf(key), left)
      const customer = (await ownersOf(tx, [key.subuser])).get(key.subuser)
      if (percent === undefined || customer === undefined) return
      const data = { product: 'premium', percent, left_gb: toGigabytes(bytes(left)) }
      const of = { pool_type: key.pool, subuser_id: key.subuser }
      await events.note(tx, [
        { customer, type: 'traffic.low', order: null, subject: key.subuser, data: { ...data, ...of } },
      ])
    })
  }
  return due.length
}
