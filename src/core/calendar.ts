const dayMs = 86_400_000

/** Days of exactly 24 hours: UTC has no summer time. */
export const addDays = (fromMs: number, days: number): number => fromMs + days * dayMs

/**
 * Calendar months in UTC, the time of day kept, clamped to the last day of the month. `anchorDay` is the day the term
 * began on: with it, monthly renewal returns to the 31st after a February.
 */
export function addMonths(fromMs: number, months: number, anchorDay?: number): number {
  const from = new Date(fromMs)
  const monthIndex = from.getUTCMonth() + months
  const year = from.getUTCFullYear() + Math.floor(monthIndex / 12)
  const month = ((monthIndex % 12) + 12) % 12
  const day = Math.min(anchorDay ?? from.getUTCDate(), lastDayOf(year, month))
  return Date.UTC(year, month, day) + (fromMs - Math.floor(fromMs / dayMs) * dayMs)
}

export function monthStart(atMs: number): number {
  const date = new Date(atMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}

const lastDayOf = (year: number, month: number): number => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()

const usualReportDays = 30
export const maxReportDays = 1000

/** Days of a report, since 1970 in UTC; by default the last 30 and today. Undefined if none or more than the
 * limit. Days to come are left out. */
export function reportDaysOf(
  period: { readonly fromAt: number | undefined; readonly toAt: number | undefined },
  nowMs: number,
): { readonly from: number; readonly to: number } | undefined {
  const today = Math.floor(nowMs / dayMs)
  const from = period.fromAt === undefined ? today - usualReportDays : Math.floor(period.fromAt / dayMs)
  const to = period.toAt === undefined ? today + 1 : Math.floor(period.toAt / dayMs)
  if (to <= from || to - from > maxReportDays) return undefined
  // A day to come has nothing to report.
  return { from, to: Math.max(from, Math.min(to, today + 1)) }
}
