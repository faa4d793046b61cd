import { problem } from '../../../core/messages/problems.ts'
import { type Kopecks, readRoubles, toRoubles, zero } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { type Payment, toPay } from '../../../domains/payments/rules.ts'
import { checked, choice, examplePayment, flag, list, moment, named, orderId, roubles, text } from '../../fields.ts'
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

const method = named('PaymentMethod', {
  method: text('What to name in `POST /payments`.', 'sandbox'),
  name: text('For people.', 'Sandbox'),
  min_rub: roubles('The least that can be paid.', 1),
  max_rub: roubles('The most that can be paid.', 1_000_000),
  fee_percent: z.number().openapi({ description: 'What is paid on top, in percent of the amount.', example: 0 }),
  email: flag('Whether `email` must be given, for the receipt.', false),
})

export const toTerms = (of: { method: string; min: Kopecks; max: Kopecks; feeHundredths: number }) => ({
  method: of.method,
  min_rub: toRoubles(of.min),
  max_rub: toRoubles(of.max),
  fee_percent: of.feeHundredths / 100,
})

export const listPaymentMethods = operation('listPaymentMethods', 'GET /payments/methods', {
  summary: 'List the ways to pay, with their limits and fees',
  answer: z.object({ items: list('Every way that there is now.', method) }),
})

const paymentId = () => text("The payment's id.", examplePayment)

const payPage = `https://shop.example.net/pay/${examplePayment}`

const payment = named('Payment', {
  payment_id: paymentId(),
  status: choice('Whether the money has come. One that comes after its time is credited all the same.', statuses),
  method: text('The way to pay that was chosen.', 'sandbox'),
  amount_rub: roubles('What goes to your balance.', 500),
  fee_rub: roubles('What is paid on top.', 0),
  to_pay_rub: roubles('What the payer is asked for, both together.', 500),
  refunded_rub: roubles('What has gone back to the payer since, and was taken off your balance.', 0),
  bonus_rub: roubles('What its code adds when it is paid.', 0),
  purchase: z
    .object({
      product: text('What is bought as soon as it is paid.', 'vpn'),
      price_rub: roubles('At this price, if the money comes in time.', 300),
      state: choice(
        'Whether it was bought. `lapsed`: the money did not come in time; `refused`: see `problem`. ' +
          'Either way the money is on your balance.',
        ['waiting', 'bought', 'refused', 'lapsed'],
      ),
      order_id: orderId().nullable(),
      problem: text('Why it was refused; null otherwise.').nullable(),
    })
    .nullable()
    .openapi({ description: 'The purchase that waits for this payment; null without one.', example: null }),
  pay_url: text('Where to pay, in a browser; null before the provider has opened it.', payPage).nullable(),
  qr: text('The content of a QR code, for a payer with a phone; null before that.', payPage).nullable(),
  expires_at: moment('Until when it can be paid.'),
  created_at: moment('When it was begun.'),
})

function readAmount(value: string | number, context: z.RefinementCtx): Kopecks {
  const amount = readRoubles(String(value))
  if (amount !== undefined && amount > 0n) return amount
  context.addIssue({ code: 'custom', message: problem('roubles') })
  return z.NEVER
}

const roublesIn = z.number().transform(readAmount).openapi({
  type: 'number',
  description: 'How much to add to the balance, in roubles, with at most two decimals.',
  example: 500,
})

const queryRoubles = z
  .string()
  .transform(readAmount)
  .openapi({ type: 'number', description: 'How much to add to the balance, in roubles.', example: 500 })

const methodName = () => checked('One of `GET /payments/methods`.', /^[a-z_]{1,40}$/, ['payment_method'], 'sandbox')

const codeText = () =>
  checked('A code that adds to the top-up. Each code can be used once.', /^[A-Za-z0-9_-]{3,40}$/, [
    'promo_code_unknown',
  ])

/** A name before the host makes one host look like another. */
function isWebAddress(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}

export const createPayment = operation('createPayment', 'POST /payments', {
  summary: 'Begin a payment',
  description:
    'Answers with the place to pay at. The balance grows when the provider says that the money has come: ask ' +
    '`GET /payments/{payment_id}`, or follow `GET /events`. The token needs the scope `pay`.',
  body: z.object({
    amount_rub: roublesIn,
    method: methodName(),
    return_url: z
      .string()
      .max(1000)
      .refine(isWebAddress, problem('web_address'))
      .optional()
      .openapi({ description: 'Where the payer is sent afterwards; the shop unless said.' }),
    email: checked(
      'For the receipt, where the method wants one. It is handed on and not kept.',
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
          'What to buy as soon as it is paid: `product`, and the fields of its purchase: `dedicated` as in ' +
          '`POST /dedicated/buy`, `traffic` as in `POST /premium/traffic/buy`, `vpn` as in `POST /vpn/buy`. ' +
          'It happens once, at the price of now if the money comes in time, and within 3 days at most. ' +
          'The token needs the scope `trade` too.',
      }),
  }),
  inner: [{ field: 'purchase', namesIn: ({ product }) => fieldsOfPurchase(product) }],
  answer: payment,
  charges: 'free',
  scope: 'pay',
  refusals: {
    provider_error: new Refusal('provider_silent', {}, { charged: false }),
    conflict: new Refusal('open_payment_limit', { most: 20 }, { charged: false }),
    idempotency_key_reused: new Refusal(
      'payment_key_reused',
      { payment: examplePayment },
      { charged: false, payment_id: examplePayment },
    ),
  },
})

export const quotePayment = operation('quotePayment', 'GET /payments/quote', {
  summary: 'What a payment would come to, and what its code would add',
  description: 'Nothing is begun, and the code is not held: another customer may use it up before you do.',
  query: z.object({ amount_rub: queryRoubles, method: methodName(), code: codeText().optional() }),
  answer: z.object({
    amount_rub: roubles('What goes to your balance.', 500),
    fee_rub: roubles('What is paid on top.', 0),
    to_pay_rub: roubles('What the payer is asked for, both together.', 500),
    bonus_rub: roubles('What the code adds when it is paid.', 50),
    balance_grows_rub: roubles('What the balance grows by, with the bonus.', 550),
  }),
})

export const listPayments = operation('listPayments', 'GET /payments', {
  summary: 'List payments, newest first',
  query: z.object(pageQuery),
  answer: page({ payments: list('One page of payments.', payment) }),
})

export const getPayment = operation('getPayment', 'GET /payments/{payment_id}', {
  summary: 'Read one payment',
  params: z.object({ payment_id: paymentId() }),
  answer: payment,
  refusals: { not_found: new Refusal('payment_not_found') },
})

export const toPaymentShape = (of: Payment) => ({
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
    problem: of.purchase.problem,
  },
  pay_url: of.payUrl,
  qr: of.qr,
  expires_at: toIso(of.expiresAt),
  created_at: toIso(of.createdAt),
})

/** A payment as it was created: a repeated key gets this answer, whatever the payment's state is now. */
export function toBegun(of: Payment) {
  const purchase = of.purchase && ({ ...of.purchase, state: 'waiting', order: null, problem: null } as const)
  return toPaymentShape({ ...of, state: 'pending', debited: zero, purchase })
}
