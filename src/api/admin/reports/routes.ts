import { maxReportDays, reportDaysOf } from '../../../core/calendar.ts'
import { readId } from '../../../core/ids.ts'
import { toRoubles } from '../../../core/money.ts'
import { refuseField } from '../../../core/refusal.ts'
import { readIso, toIso } from '../../../core/time.ts'
import type { Posting } from '../../../domains/ledger/rules.ts'
import type { z } from '../../operation.ts'
import { positionOf, soughtFor, toCursor } from '../../pages.ts'
import { type AdminDeps, type BindAdmin, namesOf } from '../bind.ts'
import { reportDays, reportMethods, reportPayments, reportProducts } from './shapes.ts'

const dateOf = (day: number): string => toIso(day * 86_400_000).slice(0, 10)
/** Formats sums over all customers, which may exceed the limit of one account. */
const roublesOf = (sum: bigint): number => Number(sum) / 100

function readPosition(written: string) {
  const [, at, customer, seq] = /^(\d{1,15}) (cus_\w{26}) (\d{1,15})$/.exec(written) ?? []
  return at === undefined || customer === undefined ? undefined : { at: Number(at), customer, seq: Number(seq) }
}

type FundingRow = z.input<typeof reportPayments.answer>['items'][number]

/** Movements with their payments. The fee belongs to the credit of the payment itself, not to its bonus. */
async function toRows(deps: AdminDeps, found: readonly Posting[]): Promise<FundingRow[]> {
  const ids = found.flatMap(({ reference }) => (reference === null ? [] : (readId('payment', reference) ?? [])))
  const payments = new Map((await deps.paymentOperator.findMany(ids)).map((each) => [each.id as string, each]))
  const nameIn = await namesOf(
    deps,
    found.map(({ customer }) => customer),
  )
  return found.map((each) => {
    const payment = payments.get(each.reference ?? '')
    const source = each.house.slice(each.house.indexOf(':') + 1)
    const isPayment = payment !== undefined && each.kind === 'credit' && source === payment.provider
    return {
      at: toIso(each.at),
      customer_id: each.customer,
      customer_name: nameIn(each.customer),
      transaction: each.seq,
      kind: each.kind === 'credit' ? 'credit' : 'debit',
      source,
      payment_id: payment?.id ?? null,
      provider_id: payment?.providerId ?? null,
      method: payment?.method ?? null,
      amount_rub: toRoubles(each.amount),
      fee_rub: isPayment ? toRoubles(payment.fee) : 0,
      reference: payment ? null : each.reference,
      note: each.note,
    }
  })
}

type ReadDays = (query: { readonly from?: string | undefined; readonly to?: string | undefined }) => {
  readonly from: number
  readonly to: number
}

const paymentsReport = (bind: BindAdmin, deps: AdminDeps, readDays: ReadDays) =>
  bind(reportPayments, async ({ query }) => {
    const { from, to } = readDays(query)
    const after = positionOf(query.cursor, readPosition)
    const found = await deps.ledgerReports.funding(from, to, after, soughtFor(query.limit))
    const shown = found.slice(0, query.limit)
    const last = found.length > query.limit ? shown.at(-1) : undefined
    return {
      items: await toRows(deps, shown),
      next_cursor: last === undefined ? null : toCursor(`${last.at} ${last.customer} ${last.seq}`),
    }
  })

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
    paymentsReport(bind, deps, readDays),
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
        method: 'operator',
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
