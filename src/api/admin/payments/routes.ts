import { type CustomerId, type NoticeId, type PaymentId, readId } from '../../../core/ids.ts'
import { kopecks } from '../../../core/money.ts'
import { malformed, Refusal } from '../../../core/refusal.ts'
import { type Clock, readIso } from '../../../core/time.ts'
import type { PaymentOperator, Payments, Providers } from '../../../domains/payments/index.ts'
import type { Bound } from '../../bind.ts'
import { positionOf, soughtFor } from '../../fields.ts'
import type { AdminCaller, BindAdmin } from '../bind.ts'
import { toHundredths } from '../fields.ts'
import { createReconciliation } from './reconciling.ts'
import { adminProviderOperations } from './routes-providers.ts'
import * as shapes from './shapes.ts'
import { getReconcile, startReconcile } from './shapes-reconcile.ts'

export type AdminPaymentsDeps = {
  readonly payments: Payments
  readonly paymentOperator: PaymentOperator
  readonly providers: Providers
  readonly clock: Clock
  readonly onReconcileFault: (fault: unknown) => void
}

function readPayment(text: string): PaymentId {
  const id = readId('payment', text)
  if (!id) throw new Refusal('payment_not_found')
  return id
}

function readNotice(text: string): NoticeId {
  const id = readId('notice', text)
  if (!id) throw new Refusal('notice_not_found')
  return id
}

/** A customer who is named in a query or a body. */
export function readNamedCustomer(field: string, text: string): CustomerId {
  const id = readId('customer', text)
  if (!id) throw malformed([{ field, problem: 'must be a customer’s id, like cus_…' }])
  return id
}

export function adminPaymentOperations(bind: BindAdmin, deps: AdminPaymentsDeps): readonly Bound<AdminCaller>[] {
  const { payments, paymentOperator } = deps
  return [
    bind(shapes.listAllPayments, async ({ query }) => {
      const found = await paymentOperator.list({
        customer: query.customer_id === undefined ? '' : readNamedCustomer('customer_id', query.customer_id),
        state: query.state ?? '',
        before: positionOf(query.cursor, (text) => readId('payment', text)),
        limit: soughtFor(query.limit),
      })
      return shapes.toAnyPayments(found, query.limit)
    }),
    bind(shapes.getPaymentSteps, async ({ params }) => {
      const { payment, changes } = await paymentOperator.show(readPayment(params.payment_id))
      return { payment: shapes.toAnyPayment(payment), steps: changes.map(shapes.toStep) }
    }),
    bind(shapes.listWaysToPay, async () => ({ items: (await payments.methods()).map(shapes.toWayToPay) })),
    bind(shapes.markPaid, async ({ params, body, key }) => ({
      ...(await paymentOperator.markPaid(readPayment(params.payment_id), body.note, key)),
    })),
    bind(shapes.refundPayment, async ({ params, body, key }) => {
      const amount = body.amount_rub === undefined ? 'all' : kopecks(BigInt(toHundredths(body.amount_rub)))
      const wish = { amount, intoDebt: body.into_debt, note: body.note, key } as const
      return { ...(await paymentOperator.refund(readPayment(params.payment_id), wish)) }
    }),
    ...noticeOperations(bind, deps),
    ...adminProviderOperations(bind, deps.providers),
  ]
}

function noticeOperations(bind: BindAdmin, deps: AdminPaymentsDeps): readonly Bound<AdminCaller>[] {
  const reconciliation = createReconciliation(deps)
  return [
    bind(shapes.listUnmatched, async ({ query }) => ({
      items: (await deps.paymentOperator.unmatched(query.all === 'true', query.limit)).map(shapes.toNotice),
    })),
    bind(shapes.resolveUnmatched, async ({ params, body }) => {
      const id = readNotice(params.notice_id)
      const customer = body.credit_to === undefined ? undefined : readNamedCustomer('credit_to', body.credit_to)
      const note = body.note ?? (customer === undefined ? 'dealt with' : 'top-up')
      const credited = (await deps.paymentOperator.resolve(id, { customer, note }))['credited_rub']
      return { notice_id: id, resolved: true, credited_rub: typeof credited === 'number' ? credited : null }
    }),
    bind(startReconcile, ({ body }) => {
      const [fromAt, toAt] = [readIso(body.from) ?? 0, readIso(body.to) ?? 0]
      if (toAt <= fromAt) throw malformed([{ field: 'to', problem: 'must be a later day than from' }])
      return reconciliation.start({ provider: body.provider, fromAt, toAt })
    }),
    bind(getReconcile, async () => reconciliation.show()),
  ]
}
