import { readId } from '../../../core/ids.ts'
import { add, toRoubles } from '../../../core/money.ts'
import { namedWithin, Refusal } from '../../../core/refusal.ts'
import type { Metadata } from '../../../domains/metadata/rules.ts'
import type { Payments, PaymentWatch, PurchaseInput } from '../../../domains/payments/index.ts'
import { toPay } from '../../../domains/payments/rules.ts'
import { orRefuse } from '../../answers.ts'
import { type Bound, bind, bindReply } from '../../bind.ts'
import { readBytes } from '../../body.ts'
import { sentencesOf } from '../../language.ts'
import type { z } from '../../operation.ts'
import { pageOf, positionOf, soughtFor } from '../../pages.ts'
import type { PlainRoute } from '../../plain-route.ts'
import { readFields } from '../../validate.ts'
import { buyDedicated } from '../dedicated/shapes.ts'
import { readSubuser } from '../premium/routes.ts'
import { buyTraffic } from '../premium/shapes.ts'
import { buyVpn, loadPeriod } from '../vpn/shapes.ts'
import * as shapes from './shapes.ts'

export function paymentOperations(deps: { payments: Payments; publicUrl: () => string }): readonly Bound[] {
  const { payments, publicUrl } = deps
  return [
    bind(shapes.listPaymentMethods, async () => ({
      items: (await payments.methods()).map((each) => ({
        ...shapes.toTerms(each),
        name: each.name,
        email: each.wantsEmail,
      })),
    })),

    bind(shapes.quotePayment, async ({ caller, query }) => {
      const { amount_rub: amount, method, code } = query
      const quote = await payments.quote(caller.customer, { amount, method, code })
      return {
        amount_rub: toRoubles(quote.amount),
        fee_rub: toRoubles(quote.fee),
        to_pay_rub: toRoubles(toPay(quote)),
        bonus_rub: toRoubles(quote.bonus),
        balance_grows_rub: toRoubles(add(quote.amount, quote.bonus)),
      }
    }),

    bindReply(shapes.createPayment, async ({ caller, key, body, language }) => {
      const { amount_rub: amount, method, return_url: returnUrl, email, code } = body
      // A token that may pay but not trade must not buy through a payment.
      if (body.purchase && !caller.scopes.includes('trade')) {
        throw new Refusal('scope_missing', { needed: 'trade' }, { needed: 'trade', charged: false })
      }
      const purchase = body.purchase && readPurchase(body.purchase)
      const begun = await payments.begin(caller, key, { amount, method, returnUrl, email, code, purchase }, publicUrl())
      return { data: shapes.toBegun(begun.payment, sentencesOf[language]), replayed: begun.isRepeat }
    }),

    bind(shapes.listPayments, async ({ caller, query, language }) => {
      const before = positionOf(query.cursor, (text) => readId('payment', text))
      const found = await payments.list(caller.customer, before, soughtFor(query.limit))
      const { items, next_cursor } = pageOf(found, query.limit, 'id', (each) =>
        shapes.toPaymentShape(each, sentencesOf[language]),
      )
      return { payments: items, next_cursor }
    }),

    bind(shapes.getPayment, async ({ caller, params, language }) => {
      const id = orRefuse(readId('payment', params.payment_id), 'payment_not_found')
      return shapes.toPaymentShape(await payments.load(caller.customer, id), sentencesOf[language])
    }),
  ]
}

/** The purchase that follows a payment, read with the schema of the product's own purchase. */
export function readPurchase(request: Readonly<Record<string, unknown>>): PurchaseInput {
  const { product, ...fields } = request
  if (product === 'dedicated') {
    const {
      country_code: country,
      port_type: portType,
      max_price_rub: maxPrice,
      metadata,
      ...order
    } = read(buyDedicated.body, fields)
    // The default is left out, so that a repeat without it is the same.
    const input = { country, ...order, ...(portType !== 'http' && { port_type: portType }), ...pairsOf(metadata) }
    return { product, input, maxPrice }
  }
  if (product === 'traffic') {
    const traffic = read(buyTraffic.body, fields)
    const { pool_type: pool, gb: tenths, max_price_rub: maxPrice, metadata } = traffic
    const subuser = readSubuser(traffic.subuser_id)
    const input = { pool, tenths, ...(subuser !== undefined && { subuser }), ...pairsOf(metadata) }
    return { product, input, maxPrice }
  }
  const input = read(buyVpn.body, fields)
  const { name, public_key: publicKey, location, auto_renew: autoRenew } = input
  return {
    product: 'vpn',
    input: {
      months: loadPeriod(input),
      ...(name !== undefined && { name }),
      ...(publicKey !== undefined && { publicKey }),
      ...(location !== undefined && { location }),
      // It renews by itself only if that was asked for: left out, it is the same as no.
      ...(autoRenew === true && { autoRenew }),
      ...pairsOf(input.metadata),
    },
    maxPrice: input.max_price_rub,
  }
}

const pairsOf = (metadata: Metadata | undefined) => (metadata && Object.keys(metadata).length > 0 ? { metadata } : {})

/** Reads a product's own fields; their problems are named within `purchase`. */
function read<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.output<Schema> {
  try {
    return readFields(schema, fields)
  } catch (error) {
    throw namedWithin('purchase', error)
  }
}

/** Notifications of providers. The provider's adapter authenticates the caller; the message is only a hint. */
export function notifyRoute({ paymentWatch }: { paymentWatch: PaymentWatch }): PlainRoute {
  return {
    path: '/api/v1/payments/notify/:provider',
    takes: 'POST',
    // More than any provider sends from one client prefix.
    perMinute: 600,
    // A payment may have bought something.
    affectsNodes: true,
    async answer(request, params, from) {
      const body = await readBytes(request)
      await paymentWatch.notify(params['provider'] ?? '', { headers: request.headers, body, from })
      return Response.json({ ok: true })
    },
  }
}
