import { z } from '@hono/zod-openapi'
import { add, type Kopecks, readRoubles, toRoubles, zero } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { type AwaitedPurchase, type Payment, toPay } from '../../../domains/payments/rules.ts'
import {
  exampleAt,
  examplePayment,
  moment,
  nextCursor,
  orderId,
  pageOf,
  pageQuery,
  roubles,
  text,
} from '../../fields.ts'
import { operation } from '../../operation.ts'
import { fieldsOfPurchase } from './shapes-purchase.ts'

const tag = 'Payments'
const statuses = ['pending', 'paid', 'expired', 'cancelled', 'refunded'] as const

const method = z
  .object({
    method: text('What to name in `POST /payments`.', 'sandbox'),
    name: text('For people.', 'Sandbox'),
    min_rub: roubles('The least that can be paid.', 1),
    max_rub: roubles('The most that can be paid.', 1_000_000),
    fee_percent: z.number().openapi({ description: 'What is paid on top, in percent of the amount.', example: 0 }),
    email: z.boolean().openapi({ description: 'Whether `email` must be given, for the receipt.' }),
  })
  .openapi('PaymentMethod')

/** What is known of a way to pay. */
type Offered = {
  readonly method: string
  readonly name: string
  readonly min: Kopecks
  readonly max: Kopecks
  readonly feeHundredths: number
  readonly wantsEmail: boolean
}

export const listPaymentMethods = operation({
  id: 'listPaymentMethods',
  method: 'GET',
  path: '/payments/methods',
  tag,
  summary: 'List the ways to pay, with their limits and fees',
  answer: z.object({ items: z.array(method).openapi({ description: 'Every way that there is now.' }) }),
  example: {
    items: [{ method: 'sandbox', name: 'Sandbox', min_rub: 1, max_rub: 1_000_000, fee_percent: 0, email: false }],
  },
})

export const toMethods = (methods: readonly Offered[]) => ({
  items: methods.map((each) => ({
    method: each.method,
    name: each.name,
    min_rub: toRoubles(each.min),
    max_rub: toRoubles(each.max),
    fee_percent: each.feeHundredths / 100,
    email: each.wantsEmail,
  })),
})

const paymentId = () => text("The payment's id.", examplePayment)

const payment = z
  .object({
    payment_id: paymentId(),
    status: z.enum(statuses).openapi({
      description: 'Whether the money has come. One that comes after its time is credited all the same.',
    }),
    method: text('The way to pay that was chosen.', 'sandbox'),
    amount_rub: roubles('What goes to your balance.', 500),
    fee_rub: roubles('What is paid on top.', 0),
    to_pay_rub: roubles('What the payer is asked for, both together.', 500),
    refunded_rub: roubles('What has gone back to the payer since, and was taken off your balance.', 0),
    bonus_rub: roubles('What its code adds when it is paid.', 0),
    // It is what the API calls it; nothing here is a promise.
    // oxlint-disable-next-line unicorn/no-thenable
    then: z
      .object({
        product: text('What is bought as soon as it is paid.', 'vpn'),
        price_rub: roubles('At this price, if the money comes in time.', 300),
        state: z.enum(['waiting', 'bought', 'refused', 'lapsed']).openapi({
          description:
            'Whether it was bought. `lapsed`: the money did not come in time; `refused`: see `problem`. ' +
            'Either way the money is on your balance.',
        }),
        order_id: orderId().nullable(),
        problem: text('Why it was refused; null otherwise.').nullable(),
      })
      .nullable()
      .openapi({ description: 'The purchase that waits for this payment; null without one.' }),
    pay_url: text('Where to pay, in a browser; null before the provider has opened it.').nullable(),
    qr: text('What a QR code should hold, for whoever pays by phone; null before that.').nullable(),
    expires_at: moment('Until when it can be paid.'),
    created_at: moment('When it was begun.'),
  })
  .openapi('Payment')

const payPage = `https://shop.example.net/pay/${examplePayment}`
const paymentExample = {
  payment_id: examplePayment,
  status: 'pending' as const,
  method: 'sandbox',
  amount_rub: 500,
  fee_rub: 0,
  to_pay_rub: 500,
  refunded_rub: 0,
  bonus_rub: 0,
  // oxlint-disable-next-line unicorn/no-thenable
  then: null,
  pay_url: payPage,
  qr: payPage,
  expires_at: toIso(exampleAt + 3_600_000),
  created_at: toIso(exampleAt),
}

const roublesIn = z
  .number('must be a number of roubles')
  .transform((value, context) => {
    const amount = readRoubles(String(value))
    if (amount !== undefined && amount > 0n) return amount
    context.addIssue({ code: 'custom', message: 'must be more than nothing, in roubles with at most two decimals' })
    return z.NEVER
  })
  .openapi({
    type: 'number',
    description: 'How much to add to the balance, in roubles, with at most two decimals.',
    example: 500,
  })

const queryRoubles = z
  .string()
  .transform((value, context) => {
    const amount = readRoubles(value)
    if (amount !== undefined && amount > 0n) return amount
    context.addIssue({ code: 'custom', message: 'must be more than nothing, in roubles with at most two decimals' })
    return z.NEVER
  })
  .openapi({ type: 'number', description: 'How much to add to the balance, in roubles.', example: 500 })

const methodName = () =>
  z
    .string('must be a string')
    .regex(/^[a-z_]{1,40}$/, 'must be a method that GET /payments/methods lists')
    .openapi({ description: 'One of `GET /payments/methods`.', example: 'sandbox' })

const codeText = () =>
  z
    .string('must be a string')
    .regex(/^[A-Za-z0-9_-]{3,40}$/, 'must be a code of this shop')
    .openapi({ description: 'A code that adds to the top-up. Each code can be used once.' })

/** A name before the host makes one host look like another. */
function isWebAddress(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}

export const createPayment = operation({
  id: 'createPayment',
  method: 'POST',
  path: '/payments',
  tag,
  summary: 'Begin a payment',
  description:
    'Answers with the place to pay at. The balance grows when the provider says that the money has come: ask ' +
    '`GET /payments/{payment_id}`, or follow `GET /events`. The token needs the scope `pay`.',
  body: z.object({
    amount_rub: roublesIn,
    method: methodName(),
    return_url: z
      .string('must be a string')
      .max(1000, 'must have at most 1000 characters')
      .refine(isWebAddress, 'must be an http or https address without a user name')
      .optional()
      .openapi({ description: 'Where the payer is sent afterwards; the shop unless said.' }),
    email: z
      .string('must be a string')
      .regex(/^[^\s@]{1,64}@[^\s@]{1,190}$/, 'must be an e-mail address')
      .optional()
      .openapi({ description: 'For the receipt, where the method wants one. It is handed on and not kept.' }),
    code: codeText().optional(),
    // oxlint-disable-next-line unicorn/no-thenable
    then: z
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
  exampleBody: { amount_rub: 500, method: 'sandbox' },
  inner: [{ field: 'then', namesIn: ({ product }) => fieldsOfPurchase(product) }],
  answer: payment,
  example: paymentExample,
  charges: true,
  isFree: true,
  scope: 'pay',
  codes: ['provider_error'],
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

export const quotePayment = operation({
  id: 'quotePayment',
  method: 'GET',
  path: '/payments/quote',
  tag,
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
  example: { amount_rub: 500, fee_rub: 0, to_pay_rub: 500, bonus_rub: 50, balance_grows_rub: 550 },
})

export const toQuote = (of: Pick<Payment, 'amount' | 'fee' | 'bonus'>) => ({
  amount_rub: toRoubles(of.amount),
  fee_rub: toRoubles(of.fee),
  to_pay_rub: toRoubles(toPay(of)),
  bonus_rub: toRoubles(of.bonus),
  balance_grows_rub: toRoubles(add(of.amount, of.bonus)),
})

export const listPayments = operation({
  id: 'listPayments',
  method: 'GET',
  path: '/payments',
  tag,
  summary: 'List payments, newest first',
  query: z.object(pageQuery),
  answer: z.object({
    payments: z.array(payment).openapi({ description: 'One page of payments.' }),
    next_cursor: nextCursor(),
  }),
  example: { payments: [paymentExample], next_cursor: null },
})

export const getPayment = operation({
  id: 'getPayment',
  method: 'GET',
  path: '/payments/{payment_id}',
  tag,
  summary: 'Read one payment',
  params: z.object({ payment_id: paymentId() }),
  answer: payment,
  example: paymentExample,
  codes: ['not_found'],
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
  // oxlint-disable-next-line unicorn/no-thenable
  then: of.purchase && toPurchaseShape(of.purchase),
  pay_url: of.payUrl,
  qr: of.qr,
  expires_at: toIso(of.expiresAt),
  created_at: toIso(of.createdAt),
})

const toPurchaseShape = (of: AwaitedPurchase) => ({
  product: of.product,
  price_rub: toRoubles(of.price),
  state: of.state,
  order_id: of.order,
  problem: of.problem,
})

/** A payment as it was when it was begun: the same key gets the same answer, whatever has become of it since. */
export function toBegun(of: Payment) {
  const purchase: AwaitedPurchase | null = of.purchase && {
    ...of.purchase,
    state: 'waiting',
    order: null,
    problem: null,
  }
  return toPaymentShape({ ...of, state: 'pending', debited: zero, purchase })
}

export const toPayments = (found: readonly Payment[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => each.id)
  return { payments: items.map(toPaymentShape), next_cursor }
}
