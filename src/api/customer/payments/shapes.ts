import { toText } from '../../../core/messages/catalogue.ts'
import { problem } from '../../../core/messages/problems.ts'
import type { Sentences } from '../../../core/messages/sentences.ts'
import { type Kopecks, toRoubles, zero } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { type Payment, toPay } from '../../../domains/payments/rules.ts'
import {
  checked,
  choice,
  examplePayment,
  flag,
  list,
  moment,
  named,
  orderId,
  readAmount,
  roubles,
  text,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { buyDedicated } from '../dedicated/shapes.ts'
import { buyTraffic } from '../premium/shapes.ts'
import { buyVpn } from '../vpn/shapes.ts'

/** The names of a purchase's fields; undefined for an unknown product. */
function fieldsOfPurchase(product: unknown): readonly string[] | undefined {
  const of = { dedicated: buyDedicated.body, traffic: buyTraffic.body, vpn: buyVpn.body }
  const isKnown = (name: unknown): name is keyof typeof of => typeof name === 'string' && Object.hasOwn(of, name)
  return isKnown(product) ? ['product', ...Object.keys(of[product].shape)] : undefined
}

const operation = operationsOf({ tag: 'Payments' })
const statuses = ['pending', 'paid', 'expired', 'cancelled', 'refunded'] as const

export const method = named('PaymentMethod', {
  method: text('Id of the payment method, for `method` in `POST /payments`.', 'sandbox'),
  name: text('Display name.', 'Sandbox'),
  min_rub: roubles('Minimum amount.', 1),
  max_rub: roubles('Maximum amount.', 1_000_000),
  fee_percent: z.number().openapi({ description: 'Fee added to the amount, in percent of it.', example: 0 }),
  email: flag('Whether `POST /payments` requires `email`, for the receipt.', false),
})

export const toTerms = (of: { method: string; min: Kopecks; max: Kopecks; feeHundredths: number }) => ({
  method: of.method,
  min_rub: toRoubles(of.min),
  max_rub: toRoubles(of.max),
  fee_percent: of.feeHundredths / 100,
})

export const listPaymentMethods = operation('listPaymentMethods', 'GET /payments/methods', {
  summary: 'List payment methods with their limits and fees',
  answer: z.object({ items: list('Payment methods available now.', method) }),
})

const paymentId = () => text("The payment's id.", examplePayment)

const payPage = `https://shop.example.net/pay/${examplePayment}`

const payment = named('Payment', {
  payment_id: paymentId(),
  status: choice('State of the payment. Money that arrives after `expires_at` is still credited.', statuses),
  method: text('Id of the payment method.', 'sandbox'),
  amount_rub: roubles('Amount added to your balance.', 500),
  fee_rub: roubles('Fee added to the amount.', 0),
  to_pay_rub: roubles('Amount to pay: `amount_rub` plus `fee_rub`.', 500),
  refunded_rub: roubles('Amount returned to the payer and debited from your balance.', 0),
  bonus_rub: roubles('Bonus of the promo code, added when the payment is paid.', 0),
  purchase: z
    .object({
      product: text('Product bought when the payment is paid.', 'vpn'),
      price_rub: roubles('Price of the purchase if the money arrives in time.', 300),
      state: choice(
        'State of the purchase. `lapsed`: the money did not arrive in time, or the purchase did not succeed within ' +
          '3 days; `refused`: see `problem`. Money that arrived and was not refunded stays on your balance.',
        ['waiting', 'bought', 'refused', 'lapsed'],
      ),
      order_id: orderId().nullable(),
      problem: text('Reason of the refusal; null otherwise. In Russian for `Accept-Language: ru`.').nullable(),
    })
    .nullable()
    .openapi({ description: 'Purchase to be made with this payment; null if none.', example: null }),
  pay_url: text('Payment page for a browser; null until the provider has created the payment.', payPage).nullable(),
  qr: text('Content of the payment QR code; null if the provider has not given one.', payPage).nullable(),
  expires_at: moment('When the payment expires.'),
  created_at: moment('When the payment was created.'),
})

const roublesIn = z.number().transform(readAmount).openapi({
  type: 'number',
  description: 'Amount to add to the balance, in roubles, at most two decimals.',
  example: 500,
})

const queryRoubles = z
  .string()
  .transform(readAmount)
  .openapi({ type: 'number', description: 'Amount to add to the balance, in roubles.', example: 500 })

const methodName = () =>
  checked('Id of a payment method from `GET /payments/methods`.', /^[a-z_]{1,40}$/, ['payment_method'], 'sandbox')

const codeText = () =>
  checked('Promo code that adds a bonus to the top-up. A customer can use each code once.', /^[A-Za-z0-9_-]{3,40}$/, [
    'promo_code_unknown',
  ])

/** A name before the host makes one host look like another. */
function isWebAddress(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}

export const createPayment = operation('createPayment', 'POST /payments', {
  affectsNodes: true,
  summary: 'Create a payment',
  description:
    'The answer contains the payment page. The balance is credited when the provider confirms the payment: poll ' +
    '`GET /payments/{payment_id}` or `GET /events`. The token needs the scope `pay`.',
  body: z.object({
    amount_rub: roublesIn,
    method: methodName(),
    return_url: z
      .string()
      .max(1000)
      .refine(isWebAddress, problem('web_address'))
      .optional()
      .openapi({ description: 'URL to which the payer returns after paying. Default: the shop.' }),
    email: checked(
      'Email address for the receipt, if the payment method requires it. It is passed to the provider and not stored.',
      /^[^\s@]{1,64}@[^\s@]{1,190}$/,
      ['email'],
    ).optional(),
    code: codeText().optional(),
    purchase: z
      .looseObject({ product: z.enum(['dedicated', 'traffic', 'vpn']) })
      .optional()
      .openapi({
        type: 'object',
        description:
          'Purchase to make when the payment is paid: `product` and the fields of its purchase: `dedicated` as in ' +
          '`POST /dedicated/buy`, `traffic` as in `POST /premium/traffic/buy`, `vpn` as in `POST /vpn/buy`. ' +
          'It is made once, at the price of now, which the payment holds and `max_price_rub` limits, if the money ' +
          'arrives before `expires_at` and within 3 days. ' +
          'Otherwise the money stays on your balance. The token also needs the scope `trade`.',
      }),
  }),
  inner: [{ field: 'purchase', namesIn: ({ product }) => fieldsOfPurchase(product) }],
  answer: payment,
  charges: 'free',
  scope: 'pay',
  refusals: {
    provider_error: new Refusal('provider_silent', {}, { charged: false }),
    conflict: new Refusal('open_payment_limit', { max: 20 }, { charged: false }),
    idempotency_key_reused: new Refusal(
      'payment_key_reused',
      { payment: examplePayment },
      { charged: false, payment_id: examplePayment },
    ),
  },
})

export const quotePayment = operation('quotePayment', 'GET /payments/quote', {
  summary: 'Calculate the fee and the bonus of a payment',
  description: 'No payment is created and the code is not reserved: other customers may use it up first.',
  query: z.object({ amount_rub: queryRoubles, method: methodName(), code: codeText().optional() }),
  answer: z.object({
    amount_rub: roubles('Amount added to your balance.', 500),
    fee_rub: roubles('Fee added to the amount.', 0),
    to_pay_rub: roubles('Amount to pay: `amount_rub` plus `fee_rub`.', 500),
    bonus_rub: roubles('Bonus of the promo code, added when the payment is paid.', 50),
    balance_grows_rub: roubles('Total added to the balance: amount plus bonus.', 550),
  }),
})

export const listPayments = operation('listPayments', 'GET /payments', {
  summary: 'List payments, newest first',
  query: z.object(pageQuery),
  answer: page({ payments: list('One page of payments.', payment) }),
  isTranslated: true,
})

export const getPayment = operation('getPayment', 'GET /payments/{payment_id}', {
  summary: 'Read one payment',
  params: z.object({ payment_id: paymentId() }),
  answer: payment,
  isTranslated: true,
  refusals: { not_found: new Refusal('payment_not_found') },
})

export const toPaymentShape = (of: Payment, sentences: Sentences) => ({
  payment_id: of.id,
  status: of.state === 'new' ? ('pending' as const) : of.state,
  method: of.method,
  amount_rub: toRoubles(of.amount),
  fee_rub: toRoubles(of.fee),
  to_pay_rub: toRoubles(toPay(of)),
  refunded_rub: toRoubles(of.debited),
  bonus_rub: toRoubles(of.bonus),
  purchase: of.purchase && {
    product: of.purchase.product,
    price_rub: toRoubles(of.purchase.price),
    state: of.purchase.state,
    order_id: of.purchase.order,
    problem: of.purchase.problem && toText(sentences, of.purchase.problem),
  },
  pay_url: of.payUrl,
  qr: of.qr,
  expires_at: toIso(of.expiresAt),
  created_at: toIso(of.createdAt),
})

/** A payment as it was created: a repeated key gets this answer, whatever the payment's state is now. */
export function toBegun(of: Payment, sentences: Sentences) {
  const purchase = of.purchase && ({ ...of.purchase, state: 'waiting', order: null, problem: null } as const)
  return toPaymentShape({ ...of, state: 'pending', debited: zero, purchase }, sentences)
}
