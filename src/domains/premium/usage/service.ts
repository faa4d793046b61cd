import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database } from '../../../db/transaction.ts'
import type { Pricing } from '../../pricing/index.ts'
import { endsBeforeItBegins, longRange, unknownPool } from '../errors.ts'
import type { Subuser } from '../subusers/rules.ts'
import type { Subusers } from '../subusers/service.ts'
import { dayStart, hourMs, hourOf } from './rules.ts'
import { sumUsage, type UsageFilter, type UsageRow } from './store.ts'

type UsageBy = UsageFilter['by']

export type UsageRequest = {
  readonly subuser: SubuserId | undefined
  readonly by: UsageBy
  readonly from: number | undefined
  readonly to: number | undefined
  readonly pool: string | undefined
  readonly host: string | undefined
}

export type UsageReport = {
  readonly by: UsageBy
  readonly from: number
  readonly to: number
  readonly subuser: Subuser | null
  readonly rows: readonly UsageRow[]
}

const dayMs = 24 * hourMs
const mostRows = 10_000
/** Rows by the hour for a month, by anything else for a little more than a year. */
const mostHours = 31 * 24
const mostDays = 400

/** What was carried, as the customer sees it. Without a sub-user it is the sum of all that the customer has or had. */
export function createUsageReport(deps: {
  db: Database
  clock: Clock
  subusers: Subusers
  pricing: Pick<Pricing, 'current'>
}) {
  return async function report(customer: CustomerId, asked: UsageRequest): Promise<UsageReport> {
    const subuser = asked.subuser === undefined ? null : await deps.subusers.load(customer, asked.subuser)
    // The hour that runs now is in it; an hour that only begins at the given end is not.
    const to = asked.to === undefined ? hourOf(deps.clock()) + hourMs : hourOf(asked.to + hourMs - 1)
    const usual = asked.by === 'hour' ? to - dayMs : dayStart(to) - 29 * dayMs
    const from = hourOf(asked.from ?? usual)
    const longest = asked.by === 'hour' ? mostHours * hourMs : mostDays * dayMs
    if (from > to) throw endsBeforeItBegins()
    if (to - from > longest) throw longRange(asked.by === 'hour' ? '31 days' : '400 days')
    const rows = await sumUsage(deps.db, {
      customer,
      subuser: subuser?.id ?? null,
      from,
      to,
      pool: asked.pool ?? null,
      host: asked.host ?? null,
      by: asked.by,
      most: mostRows,
    })
    if (rows.length === 0 && asked.pool !== undefined) await assertPool(customer, asked.pool)
    return { by: asked.by, from, to, subuser, rows }
  }

  /** A pool that is not sold any more was once, if anything was carried in it. */
  async function assertPool(customer: CustomerId, pool: string): Promise<void> {
    const sold = [...(await deps.pricing.current()).premium.pools.keys()]
    if (sold.includes(pool)) return
    const ever = { from: 0, to: Number.MAX_SAFE_INTEGER, by: 'pool' as const, most: 1 }
    const carried = await sumUsage(deps.db, { customer, subuser: null, pool, host: null, ...ever })
    if (carried.length === 0) throw unknownPool(sold)
  }
}
