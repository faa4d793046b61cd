import { maxReportDays, reportDaysOf } from '../../../core/calendar.ts'
import { refuseField } from '../../../core/refusal.ts'
import { readIso, toIso } from '../../../core/time.ts'
import type { AdminDeps, BindAdmin } from '../bind.ts'
import { reportDays, reportMethods, reportProducts } from './shapes.ts'

const dateOf = (day: number): string => toIso(day * 86_400_000).slice(0, 10)
/** Formats sums over all customers, which may exceed the limit of one account. */
const roublesOf = (sum: bigint): number => Number(sum) / 100

export function adminReportOperations(bind: BindAdmin, deps: AdminDeps) {
  const { ledgerReports, paymentReports } = deps
  const readDays = (query: { readonly from?: string | undefined; readonly to?: string | undefined }) => {
    const at = (text: string | undefined) => (text === undefined ? undefined : readIso(text))
    const days = reportDaysOf({ fromAt: at(query.from), toAt: at(query.to) }, deps.clock())
    if (days) return days
    throw refuseField('to', 'days_after', { other: 'from', from: 1, to: maxReportDays })
  }
  return [
    bind(reportDays, async ({ query }) => {
      const { from, to } = readDays(query)
      const items = (await ledgerReports.days(from, to)).map((each) => ({
        day: dateOf(each.day),
        turnover_rub: roublesOf(each.charged),
        refunded_rub: roublesOf(each.refunded),
        topped_up_rub: roublesOf(each.toppedUp),
        taken_back_rub: roublesOf(each.chargedBack),
        held_rub: roublesOf(each.held),
        revenue_rub: roublesOf(each.charged - each.refunded),
      }))
      return { items }
    }),
    bind(reportProducts, async ({ query }) => {
      const { from, to } = readDays(query)
      const items = (await ledgerReports.products(from, to)).map(({ day, product, kind, count, amount }) => ({
        day: dateOf(day),
        product,
        kind,
        count,
        amount_rub: roublesOf(amount),
      }))
      return { items }
    }),
    bind(reportMethods, async ({ query }) => {
      const { from, to } = readDays(query)
      const paid = (await paymentReports.methods(from, to)).map((each) => ({
        day: dateOf(each.day),
        method: each.method,
        payments: each.payments,
        topped_up_rub: roublesOf(each.credited),
        fees_rub: roublesOf(each.fees),
        taken_back_rub: roublesOf(each.chargedBack),
        bonuses_rub: roublesOf(each.bonuses),
      }))
      const byHand = (await ledgerReports.adjustments(from, to)).map((each) => ({
        day: dateOf(each.day),
        method: each.source,
        payments: each.credits,
        topped_up_rub: roublesOf(each.credited),
        fees_rub: 0,
        taken_back_rub: roublesOf(each.debited),
        bonuses_rub: 0,
      }))
      return { items: [...paid, ...byHand].toSorted((a, b) => a.day.localeCompare(b.day)) }
    }),
  ]
}
