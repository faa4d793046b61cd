import { z } from '@hono/zod-openapi'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import { type Notice, type Payment, type PaymentChange, reasonMeanings } from '../../../domains/payments/rules.ts'
import { exampleAt, examplePayment, moment, nextCursor, pageOf, pageQuery, roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { amount, exampleCustomer, isoOrNull, replayed, words, yes } from '../fields.ts'

const tag = 'Payments'

const states = ['new', 'pending', 'paid', 'expired', 'cancelled', 'refunded'] as const
const payment = z
  .object({
    payment_id: text('The id.', examplePayment),
    customer_id: text('Whose.', exampleCustomer),
    state: z.enum(states).openapi({ description: 'How it stands; `new` is not yet known to be at the provider.' }),
    provider: text('Through whom.', 'yookassa'),
    provider_id: text('Its id there; null before the provider has it.').nullable(),
    method: text('By which method.', 'card'),
    amount_rub: roubles('What goes to the balance.', 1000),
    fee_rub: roubles('What the payer pays on top.', 25),
    refunded_rub: roubles('What has gone back to the payer.', 0),
    pay_url: text('Where it is paid.').nullable(),
    created_at: moment('When it was begun.'),
    expires_at: moment('Until when it can be paid.'),
  })
  .openapi('AnyPayment')

const paymentExample = {
  payment_id: examplePayment,
  customer_id: exampleCustomer,
  state: 'paid' as const,
  provider: 'invoice',
  provider_id: examplePayment,
  method: 'transfer',
  amount_rub: 1000,
  fee_rub: 0,
  refunded_rub: 0,
  pay_url: null,
  created_at: toIso(exampleAt),
  expires_at: toIso(exampleAt + 86_400_000),
}

export const toAnyPayment = (of: Payment): z.input<typeof payment> => ({
  payment_id: of.id,
  customer_id: of.customer,
  state: of.state,
  provider: of.provider,
  provider_id: of.providerId,
  method: of.method,
  amount_rub: toRoubles(of.amount),
  fee_rub: toRoubles(of.fee),
  refunded_rub: toRoubles(of.debited),
  pay_url: of.payUrl,
  created_at: toIso(of.createdAt),
  expires_at: toIso(of.expiresAt),
})

export const listAllPayments = operation({
  id: 'listAllPayments',
  method: 'GET',
  path: '/payments',
  tag,
  summary: 'List payments of all customers, newest first',
  role: 'reader',
  query: z.object({
    ...pageQuery,
    customer_id: z.string().max(64).optional().openapi({ description: 'Of one customer.', example: exampleCustomer }),
    state: z.enum(states).optional().openapi({ description: 'Only those that are so.' }),
  }),
  answer: z.object({ items: z.array(payment).openapi({ description: 'One page.' }), next_cursor: nextCursor() }),
  example: { items: [paymentExample], next_cursor: null },
})

export const toAnyPayments = (found: readonly Payment[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => each.id)
  return { items: items.map(toAnyPayment), next_cursor }
}

const paymentParam = z.object({
  payment_id: z.string().openapi({ description: "The payment's id.", example: examplePayment }),
})

const step = z.object({
  step: whole('Its number.', 1),
  at: moment('When.'),
  kind: text('What happened.', 'credited'),
  state: z.enum(states).openapi({ description: 'How the payment stood after it.' }),
  amount_rub: roubles('What it moved; below zero when money was taken.', 1000),
  transaction: whole('The movement of money that it made; null if none.', 1).nullable(),
  note: text('What is said of it.'),
})

const stepExample = {
  step: 3,
  at: toIso(exampleAt),
  kind: 'credited',
  state: 'paid' as const,
  amount_rub: 1000,
  transaction: 1,
  note: 'statement 17',
}

export const getPaymentSteps = operation({
  id: 'getPaymentSteps',
  method: 'GET',
  path: '/payments/{payment_id}',
  tag,
  summary: 'Read one payment and every step of it',
  role: 'reader',
  params: paymentParam,
  answer: z.object({ payment, steps: z.array(step).openapi({ description: 'All of them, the first one first.' }) }),
  example: { payment: paymentExample, steps: [stepExample] },
  codes: ['not_found'],
})

export const toStep = (of: PaymentChange): z.input<typeof step> => ({
  step: of.number,
  at: toIso(of.at),
  kind: of.kind,
  state: of.state,
  amount_rub: toRoubles(of.amount),
  transaction: of.posting,
  note: of.note,
})

export const listWaysToPay = operation({
  id: 'listWaysToPay',
  method: 'GET',
  path: '/payment-methods',
  tag,
  summary: 'List the ways to pay that customers have now',
  role: 'reader',
  answer: z.object({
    items: z
      .array(
        z.object({
          method: text('The method.', 'card'),
          provider: text('Through whom.', 'yookassa'),
          name: text('What customers read.', 'Card'),
          min_rub: roubles('The least that is paid by it.', 10),
          max_rub: roubles('The most.', 350_000),
          fee_percent: z.number().openapi({ description: 'What customers pay on top, in percent.', example: 2.5 }),
        }),
      )
      .openapi({ description: 'All of them.' }),
  }),
  example: { items: [] },
})

export const toWayToPay = (of: {
  readonly method: string
  readonly provider: string
  readonly name: string
  readonly min: Kopecks
  readonly max: Kopecks
  readonly feeHundredths: number
}) => ({
  method: of.method,
  provider: of.provider,
  name: of.name,
  min_rub: toRoubles(of.min),
  max_rub: toRoubles(of.max),
  fee_percent: of.feeHundredths / 100,
})

/** Only operators see it. */
const remark = (description: string, unless: string) =>
  words(description, 500, unless).default(unless).openapi({ default: unless })

const moved = () =>
  z.object({
    payment_id: text('The payment.', examplePayment),
    customer: text('Who paid.', exampleCustomer),
    status: text('How it stands.', 'paid'),
    amount_rub: roubles('How much was paid.', 1000),
    refunded_rub: roubles('How much of it has gone back.', 0),
    replayed,
  })
const movedExample = {
  payment_id: examplePayment,
  customer: exampleCustomer,
  status: 'paid',
  amount_rub: 1000,
  refunded_rub: 0,
}

export const markPaid = operation({
  id: 'markPaid',
  method: 'POST',
  path: '/payments/{payment_id}/mark-paid',
  tag,
  summary: 'Say that the money of an invoice is there: by bank transfer, or in cash',
  description:
    'Only for what no provider can be asked about. It is credited once, with or without a key; ' +
    '`replayed` is true if it was credited before.',
  role: 'support',
  params: paymentParam,
  body: z.object({ note: remark('Where the money came; only operators see it.', 'marked as paid') }),
  answer: moved(),
  example: movedExample,
  codes: ['not_found', 'conflict'],
  charges: true,
  isFree: true,
})

export const refundPayment = operation({
  id: 'refundPayment',
  method: 'POST',
  path: '/payments/{payment_id}/refund',
  tag,
  summary: 'Give a payment back to whoever paid, whole or in part, and take it off the balance',
  description:
    'The provider is asked to give it back; what it says it has given is taken off the balance, now or once it says ' +
    'so. Under an `Idempotency-Key` it happens once, however often it is asked for. While another refund of the ' +
    'payment has no answer from the provider, it is refused as a `conflict` with the amount of that one in `details`.',
  role: 'support',
  params: paymentParam,
  body: z.object({
    amount_rub: amount('How much; all that is left of it unless said.').optional(),
    into_debt: yes('Also if the money was spent: the customer owes it then, and can buy nothing.'),
    note: remark('Why; only operators see it.', 'refund'),
  }),
  exampleBody: { amount_rub: 100 },
  answer: moved(),
  example: { ...movedExample, refunded_rub: 100 },
  codes: ['not_found', 'conflict', 'provider_error'],
  charges: true,
  isFree: true,
})

const exampleNotice = 'ntc_01k73sf8000000000000000000'
const notice = z
  .object({
    notice_id: text('The id.', exampleNotice),
    at: moment('When it was said.'),
    provider: text('Who says it.', 'yookassa'),
    provider_id: text('Of which payment there.'),
    reason: z
      .enum(Object.keys(reasonMeanings) as [Notice['reason'], ...Notice['reason'][]])
      .openapi({ description: 'Why it is no payment’s.' }),
    meaning: text('The same in words.', reasonMeanings.amount),
    payment_id: text('Which payment here it may be about.', examplePayment).nullable(),
    amount: z.number().nullable().openapi({ description: 'How much, in `currency`.', example: 100 }),
    currency: text('In which currency.', 'RUB').nullable(),
    resolved_at: moment('When it was dealt with; null if it was not.').nullable(),
    resolution: text('What was done about it.').nullable(),
  })
  .openapi('PaymentNotice')

export const toNotice = (of: Notice): z.input<typeof notice> => ({
  notice_id: of.id,
  at: toIso(of.at),
  provider: of.provider,
  provider_id: of.providerId,
  reason: of.reason,
  meaning: reasonMeanings[of.reason],
  payment_id: of.payment,
  amount: of.amount === null ? null : toRoubles(of.amount),
  currency: of.currency,
  resolved_at: isoOrNull(of.resolvedAt),
  resolution: of.resolution,
})

export const listUnmatched = operation({
  id: 'listUnmatched',
  method: 'GET',
  path: '/payment-notices',
  tag,
  summary: 'List what providers have said and no payment explains, oldest first',
  role: 'reader',
  query: z.object({
    limit: pageQuery.limit,
    all: z.enum(['true', 'false']).default('false').openapi({ description: 'Those that were dealt with too.' }),
  }),
  answer: z.object({ items: z.array(notice).openapi({ description: 'The first so many.' }) }),
  example: { items: [] },
})

export const resolveUnmatched = operation({
  id: 'resolveUnmatched',
  method: 'POST',
  path: '/payment-notices/{notice_id}/resolve',
  tag,
  summary: 'Say what was done about something unmatched, or credit it to a customer in the same step',
  description: 'Once: what was dealt with is not found again.',
  role: 'support',
  params: z.object({ notice_id: z.string().openapi({ description: 'Which one.', example: exampleNotice }) }),
  body: z.object({
    credit_to: z
      .string()
      .max(64)
      .optional()
      .openapi({ description: 'Add its amount to the balance of this customer.', example: exampleCustomer }),
    note: words('What was done; a customer who is credited sees it.', 500, 'paid twice').optional(),
  }),
  exampleBody: { note: 'paid twice' },
  answer: z.object({
    notice_id: text('Which one.', exampleNotice),
    resolved: z.boolean().openapi({ description: 'Whether it was dealt with.' }),
    credited_rub: roubles('What was credited; null if nothing was.', 100).nullable(),
  }),
  example: { notice_id: exampleNotice, resolved: true, credited_rub: null },
  codes: ['not_found', 'conflict'],
})
