const dayMs = 86_400_000
const usualReportDays = 30
export const mostReportDays = 1000

/**
 * Which days a report is about, counted from 1970 in UTC: up to tomorrow, from 30 days ago, unless said. Undefined if
 * that is none, or too many.
 */
export function daysOf(
  said: { readonly fromAt: number | undefined; readonly toAt: number | undefined },
  nowMs: number,
): { readonly from: number; readonly to: number } | undefined {
  const today = Math.floor(nowMs / dayMs)
  const from = said.fromAt === undefined ? today - usualReportDays : Math.floor(said.fromAt / dayMs)
  const to = said.toAt === undefined ? today + 1 : Math.floor(said.toAt / dayMs)
  return to > from && to - from <= mostReportDays ? { from, to } : undefined
}
