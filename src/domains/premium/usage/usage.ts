import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import type { PremiumDeps } from '../deps.ts'
import { endsBeforeItBegins, longRange, unknownPool } from '../errors.ts'
import { load } from '../subusers/manage.ts'
import { dayMs, dayStart, hourMs, hourOf } from './rules.ts'
import { findExitUsers, sumUsage, type UsageFilter } from './store.ts'

type UsageRequest = {
  readonly subuser: SubuserId | undefined
  readonly by: UsageFilter['by']
  readonly from: number | undefined
  readonly to: number | undefined
  readonly pool: string | undefined
  readonly host: string | undefined
}

const maxRows = 10_000
/** Longest range by the hour, and by anything else. */
const maxHours = 31 * 24
const maxDays = 400
const maxCandidates = 1000

/** The bytes carried for a customer, for one sub-user or over all that the customer has or had. */
export async function usage(deps: PremiumDeps, customer: CustomerId, request: UsageRequest) {
  const subuser = request.subuser === undefined ? null : await load(deps, customer, request.subuser)
  // The current hour is included; an hour that begins at the given end is not.
  const to = request.to === undefined ? hourOf(deps.clock()) + hourMs : hourOf(request.to + hourMs - 1)
  const usual = request.by === 'hour' ? to - dayMs : dayStart(to) - 29 * dayMs
  const from = hourOf(request.from ?? usual)
  const longest = request.by === 'hour' ? maxHours * hourMs : maxDays * dayMs
  if (from > to) throw endsBeforeItBegins()
  if (to - from > longest) throw longRange(request.by === 'hour' ? 31 : 400)
  const { by, pool = null, host = null } = request
  const rows = await sumUsage(deps.db, {
    customer,
    subuser: subuser?.id ?? null,
    from,
    to,
    pool,
    host,
    by,
    limit: maxRows,
  })
  if (rows.length === 0 && pool !== null) await assertPool(deps, customer, pool)
  return { by, from, to, subuser, rows }
}

/** A pool is known if it is sold, or if it ever carried something. */
async function assertPool({ db, pricing }: PremiumDeps, customer: CustomerId, pool: string): Promise<void> {
  const sold = [...(await pricing.current()).premium.pools.keys()]
  if (sold.includes(pool)) return
  const ever = { from: 0, to: Number.MAX_SAFE_INTEGER, by: 'pool' as const, limit: 1 }
  const usedBefore = await sumUsage(db, { customer, subuser: null, pool, host: null, ...ever })
  if (usedBefore.length === 0) throw unknownPool(sold)
}

/** Sub-users that carried something in the pool of an exit in these hours, and so may have left through it. */
export const mayHaveLeft = (
  { db }: PremiumDeps,
  of: { readonly exit: string; readonly from: number; readonly to: number; readonly host: string },
) =>
  db.snapshot((reader) =>
    findExitUsers(reader, { ...of, from: hourOf(of.from), to: hourOf(of.to), limit: maxCandidates }),
  )
