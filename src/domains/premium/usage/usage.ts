import type { CustomerId } from '../../../core/ids.ts'
import { refuseField } from '../../../core/refusal.ts'
import { type PremiumDeps, unknownPool } from '../deps.ts'
import { load } from '../subusers/manage.ts'
import { dayMs, dayStart, hourMs, hourOf } from './rules.ts'
import { findExitUsers, sumUsage, type UsageFilter } from './store.ts'

type UsageRequest = UsageFilter & { readonly from: number | undefined; readonly to: number | undefined }

const maxRows = 10_000
const maxCandidates = 1000

/** The bytes relayed for a customer, for one sub-user or over all that the customer has or had. */
export async function usage(deps: PremiumDeps, customer: CustomerId, request: UsageRequest) {
  const subuser = request.subuser === undefined ? null : await load(deps, customer, request.subuser)
  // The current hour is included; an hour that begins at the given end is not.
  const to = request.to === undefined ? hourOf(deps.clock()) + hourMs : hourOf(request.to + hourMs - 1)
  const usual = request.by === 'hour' ? to - dayMs : dayStart(to) - 29 * dayMs
  const from = hourOf(request.from ?? usual)
  const maxDays = request.by === 'hour' ? 31 : 400
  if (from > to) throw refuseField('from', 'not_after', { other: 'to' })
  if (to - from > maxDays * dayMs) throw refuseField('from', 'earlier_by', { other: 'to', max_days: maxDays })
  const { by, pool } = request
  const rows = await sumUsage(deps.db, { ...request, customer, from, to, limit: maxRows })
  if (rows.length === 0 && pool !== undefined) await assertPool(deps, customer, pool)
  return { by, from, to, subuser, rows }
}

/** A pool is known if it is sold, or if the customer ever had traffic in it. */
async function assertPool({ db, pricing }: PremiumDeps, customer: CustomerId, pool: string): Promise<void> {
  const sold = [...(await pricing.current()).premium.pools.keys()]
  if (sold.includes(pool)) return
  const usedBefore = await sumUsage(db, { customer, pool, from: 0, to: Number.MAX_SAFE_INTEGER, by: 'pool', limit: 1 })
  if (usedBefore.length === 0) throw unknownPool(sold)
}

/** Sub-users with traffic in the pool of an exit in these hours, which may have left through it. */
export const mayHaveLeft = (
  { db }: PremiumDeps,
  of: { readonly exit: string; readonly from: number; readonly to: number; readonly host: string },
) =>
  db.snapshot((reader) =>
    findExitUsers(reader, { ...of, from: hourOf(of.from), to: hourOf(of.to), limit: maxCandidates }),
  )
