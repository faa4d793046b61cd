import { readId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { Payments } from '../../../domains/payments/index.ts'
import { type Bound, bind, bindRepeatable } from '../../bind.ts'
import { positionOf, soughtFor } from '../../fields.ts'
import { readPurchase } from './purchase.ts'
import {
  createPayment,
  getPayment,
  listPaymentMethods,
  listPayments,
  quotePayment,
  toBegun,
  toMethods,
  toPaymentShape,
  toPayments,
  toQuote,
} from './shapes.ts'

const mayNotBuy = (): Refusal => new Refusal('scope_missing', { needed: 'trade' }, { needed: 'trade', charged: false })

export function paymentOperations(deps: { payments: Payments; publicUrl: () => string }): readonly Bound[] {
  const { payments, publicUrl } = deps
  return [
    bind(listPaymentMethods, async () => toMethods(await payments.methods())),

    bind(quotePayment, async ({ caller, query }) => {
      const { amount_rub: amount, method, code } = query
      return toQuote(await payments.quote(caller.customer, { amount, method, code }))
    }),

    bindRepeatable(createPayment, async ({ caller, key, body }) => {
      const { amount_rub: amount, method, return_url: returnUrl, email, code } = body
      // Whoever may only pay may not buy by paying.
      if (body.then && !caller.scopes.includes('trade')) throw mayNotBuy()
      const purchase = body.then && readPurchase(body.then)
      const begun = await payments.begin(caller, key, { amount, method, returnUrl, email, code, purchase }, publicUrl())
      return { data: toBegun(begun.payment), isRepeat: begun.isRepeat }
    }),

    bind(listPayments, async ({ caller, query }) => {
      const before = positionOf(query.cursor, (text) => readId('payment', text))
      return toPayments(await payments.list(caller.customer, before, soughtFor(query.limit)), query.limit)
    }),

    bind(getPayment, async ({ caller, params }) => {
      const id = readId('payment', params.payment_id)
      if (!id) throw new Refusal('payment_not_found')
      return toPaymentShape(await payments.load(caller.customer, id))
    }),
  ]
}
