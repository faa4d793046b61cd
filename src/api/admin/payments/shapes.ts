import { problem } from '../../../core/messages/problems.ts'
import { toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import {
  type Notice,
  type Payment,
  type PaymentChange,
  type PromoCode,
  readCode,
  reasonMeanings,
} from '../../../domains/payments/rules.ts'
import {
  bodyInteger,
  checked,
  choice,
  exampleAt,
  examplePayment,
  facts,
  flag,
  given,
  isoOrNull,
  items,
  list,
  moment,
  named,
  part,
  roubles,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { amount, day, exampleCustomer, instant, percent, printableText, remark, replayed, yes } from '../fields.ts'

const support = operationsOf({ tag: 'Payments', role: 'support' })
const reader = operationsOf({ tag: 'Payments', role: 'reader' })

const states = ['new', 'pending', 'paid', 'expired', 'cancelled', 'refunded'] as const
const payment = named('AnyPayment', {
  payment_id: text('The id.', examplePayment),
  customer_id: text('Whose.', exampleCustomer),
  state: choice('How it stands; `new` is not yet known to be at the provider.', states, 'paid'),
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

export const listAllPayments = reader('listAllPayments', 'GET /payments', {
  summary: 'List payments of all customers, newest first',
  query: z.object({
    ...pageQuery,
    customer_id: given('Of one customer.', 64, exampleCustomer).optional(),
    state: choice('Only those that are so.', states).optional(),
  }),
  answer: page({ items: list('One page.', payment) }),
})

const paymentParam = z.object({ payment_id: text("The payment's id.", examplePayment) })

const step = z.object({
  step: whole('Its number.', 1),
  at: moment('When.'),
  kind: text('What happened.', 'credited'),
  state: choice('How the payment stood after it.', states, 'paid'),
  amount_rub: roubles('What it moved; below zero when money was taken.', 1000),
  transaction: whole('The movement of money that it made; null if none.', 1).nullable(),
  note: text('What is said of it.', 'statement 17'),
})

export const getPaymentSteps = reader('getPaymentSteps', 'GET /payments/{payment_id}', {
  summary: 'Read one payment and every step of it',
  params: paymentParam,
  answer: z.object({ payment, steps: list('All of them, the first one first.', step) }),
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

export const listWaysToPay = reader('listWaysToPay', 'GET /payment-methods', {
  summary: 'List the ways to pay that customers have now',
  answer: items('All of them.', {
    method: text('The method.', 'card'),
    provider: text('Through whom.', 'yookassa'),
    name: text('What customers read.', 'Card'),
    min_rub: roubles('The least that is paid by it.', 10),
    max_rub: roubles('The most.', 350_000),
    fee_percent: z.number().openapi({ description: 'What customers pay on top, in percent.', example: 2.5 }),
  }),
})

const moved = () =>
  z.object({
    payment_id: text('The payment.', examplePayment),
    customer: text('Who paid.', exampleCustomer),
    status: text('How it stands.', 'paid'),
    amount_rub: roubles('How much was paid.', 1000),
    refunded_rub: roubles('How much of it has gone back.', 0),
    replayed,
  })

export const markPaid = support('markPaid', 'POST /payments/{payment_id}/mark-paid', {
  summary: 'Say that the money of an invoice is there: by bank transfer, or in cash',
  description:
    'Only for what no provider can be asked about. It is credited once, with or without a key; ' +
    '`replayed` is true if it was credited before.',
  params: paymentParam,
  body: z.object({ note: remark('Where the money came; only operators see it.', 'marked as paid') }),
  answer: moved(),
  codes: ['not_found', 'conflict'],
  charges: 'free',
})

export const refundPayment = support('refundPayment', 'POST /payments/{payment_id}/refund', {
  summary: 'Give a payment back to the payer, whole or in part, and take it off the balance',
  description:
    'The provider is asked to give it back; what it says it has given is taken off the balance, now or once it says ' +
    'so. Under an `Idempotency-Key` it happens once, however often it is asked for. While another refund of the ' +
    'payment has no answer from the provider, it is refused as a `conflict` with the amount of that one in `details`.',
  params: paymentParam,
  body: z.object({
    amount_rub: amount('How much; all that is left of it unless said.').optional(),
    into_debt: yes('Also if the money was spent: the customer owes it then, and can buy nothing.'),
    note: remark('Why; only operators see it.', 'refund'),
  }),
  exampleBody: { amount_rub: 100 },
  answer: moved(),
  example: { refunded_rub: 100 },
  codes: ['not_found', 'conflict', 'provider_error'],
  charges: 'free',
})

const exampleNotice = 'ntc_01k73sf8000000000000000000'
const notice = named('PaymentNotice', {
  notice_id: text('The id.', exampleNotice),
  at: moment('When it was said.'),
  provider: text('Who says it.', 'yookassa'),
  provider_id: text('Of which payment there.', '2c0f5d3e'),
  reason: choice('Why it is no payment’s.', Object.keys(reasonMeanings) as [Notice['reason'], ...Notice['reason'][]]),
  meaning: text('The same in words.', reasonMeanings.amount),
  payment_id: text('Which payment here it may be about.', examplePayment).nullable(),
  amount: z.number().nullable().openapi({ description: 'How much, in `currency`.', example: 100 }),
  currency: text('In which currency.', 'RUB').nullable(),
  resolved_at: moment('When it was dealt with; null if it was not.').nullable(),
  resolution: text('What was done about it.').nullable(),
})

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

export const listUnmatched = reader('listUnmatched', 'GET /payment-notices', {
  summary: 'List what providers have said and no payment explains, oldest first',
  query: z.object({
    limit: pageQuery.limit,
    all: z.enum(['true', 'false']).default('false').openapi({ description: 'Those that were dealt with too.' }),
  }),
  answer: z.object({ items: list('The first so many.', notice) }),
})

export const resolveUnmatched = support('resolveUnmatched', 'POST /payment-notices/{notice_id}/resolve', {
  summary: 'Say what was done about something unmatched, or credit it to a customer in the same step',
  description: 'Once: what was dealt with is not found again.',
  params: z.object({ notice_id: text('Which one.', exampleNotice) }),
  body: z.object({
    credit_to: given('Add its amount to the balance of this customer.', 64, exampleCustomer).optional(),
    note: printableText('What was done; a customer who is credited sees it.', 500, 'paid twice').optional(),
  }),
  exampleBody: { note: 'paid twice' },
  answer: z.object({
    notice_id: text('Which one.', exampleNotice),
    resolved: flag('Whether it was dealt with.'),
    credited_rub: roubles('What was credited; null if nothing was.', 100).nullable(),
  }),
  codes: ['not_found', 'conflict'],
})

const comparison = named('Reconciliation', {
  state: choice('How it goes.', ['never', 'running', 'done', 'failed']),
  started_at: moment('When it was begun.').nullable(),
  ended_at: moment('When it was over.').nullable(),
  compared: whole('How many payments were compared.', 120),
  differences: rows('Each difference.', {
    provider: text('Whose list.', 'yookassa'),
    payment_id: text('Which payment here.', examplePayment).nullable(),
    provider_id: text('Which one there.').nullable(),
    problem: text('What differs, in Russian for `Accept-Language: ru`.', 'paid at the provider, pending here'),
    reason: text('Stable, for programs: what differs.', 'not_paid_here'),
    params: facts('What the problem names. Amounts are texts in roubles.', { state: 'pending' }),
  }),
  problem: text('Why it failed, in Russian for `Accept-Language: ru`; null if it did not.').nullable(),
  reason: text('Stable, for programs: why it failed.').nullable(),
  params: facts('What the problem names.'),
})

export type Comparison = z.input<typeof comparison>

export const noComparison: Comparison = {
  state: 'never',
  started_at: null,
  ended_at: null,
  compared: 0,
  differences: [],
  problem: null,
  reason: null,
  params: {},
}

export const startReconcile = support('startReconcile', 'POST /payment-reconciliation', {
  summary: 'Compare payments with the providers’ own lists; ask `GET /payment-reconciliation` how it goes',
  isTranslated: true,
  isRead: true,
  body: z.object({
    from: day('Payments begun on or after this day.'),
    to: day('And before this day.'),
    provider: given('Of one provider; of all that are set up unless said.', 40).optional(),
  }),
  exampleBody: { to: '2026-02-01' },
  answer: comparison,
  example: { ...noComparison, state: 'running', started_at: toIso(exampleAt) },
  codes: ['not_found', 'conflict'],
})

export const getReconcile = reader('getReconcile', 'GET /payment-reconciliation', {
  summary: 'How the last comparison in this process goes, or what it has found',
  isTranslated: true,
  answer: comparison,
  example: noComparison,
})

const providerOperation = operationsOf({ tag: 'Payment providers' })

const provider = named('PaymentProvider', {
  name: text('The provider.', 'yookassa'),
  state: choice('Whether its methods are offered.', ['not_set_up', 'enabled', 'disabled'], 'enabled'),
  settings: z
    .record(z.string(), z.string())
    .openapi({ description: 'What it was told, without its secret.', example: { shop_id: '100500' } }),
  wants: rows('What it wants to know.', {
    name: text('The setting.', 'shop_id'),
    meaning: text('What it is.', 'the number of the shop'),
    required: flag('Whether it must be said.'),
  }),
  wants_secret: flag('Whether it has a secret.'),
  methods: rows('Its methods that customers have while it is enabled.', {
    method: text('The method.', 'card'),
    min_rub: roubles('The least that is paid by it.', 50),
    max_rub: roubles('The most.', 350_000),
    fee_percent: z.number().openapi({ description: 'What customers pay on top, in percent.', example: 2.5 }),
  }),
  health: part('How it has answered this process since it was started; null without a service outside.', {
    answered_at: moment('When it last did what it was asked; null if it never did.').nullable(),
    failed_at: moment('When it last did not; null if that never was.').nullable(),
    failure: choice('How it failed then: it said no, or nothing that makes sense came back.', [
      'refused',
      'unavailable',
    ]).nullable(),
  }).nullable(),
})

export type ProviderSight = z.input<typeof provider>

export const listProviders = providerOperation('listProviders', 'GET /payment-providers', {
  role: 'reader',
  summary: 'List payment providers, what each wants to know, and which are set up',
  answer: z.object({ items: list('All that there are.', provider) }),
})

const providerParam = z.object({ name: given("The provider's name.", 40, 'yookassa') })

const settingName = z
  .string()
  .regex(/^[a-z_]{1,40}$/, problem('made_of', { from: 1, to: 40, of: ['small_letters', 'underscores'] }))

const byName = <Value extends z.ZodType>(value: Value, description: string, example: Record<string, z.input<Value>>) =>
  z.record(settingName, value).default({}).openapi({ description, example })

export const setProvider = providerOperation('setProvider', 'POST /payment-providers/{name}', {
  summary: 'Set a payment provider up, or change what was set; what is not said stays as it was',
  description: 'Its secret is sealed, and neither an answer nor the audit log ever has it. It is enabled with this.',
  params: providerParam,
  body: z.object({
    settings: byName(z.string().max(200), 'What it wants to know.', { shop_id: '100500' }),
    secret: z.string().max(1000).optional().openapi({ description: 'Its secret.', format: 'password' }),
    methods: z
      .array(settingName)
      .max(20)
      .optional()
      .openapi({ description: 'Which of its methods customers have; all unless ever said.', example: ['card'] }),
    min_rub: byName(amount('The least.'), 'The least that is paid, by method.', { card: 50 }),
    max_rub: byName(amount('The most.'), 'The most that is paid, by method.', { card: 100_000 }),
    fee_percent: byName(percent('The fee.', 2.5), 'What customers pay on top, by method, in percent.', { card: 2.5 }),
  }),
  exampleBody: { settings: { shop_id: '100500' }, secret: 'live_…' },
  answer: provider,
})

const switching = (verb: 'enable' | 'disable', summary: string) =>
  providerOperation(`${verb}Provider`, `POST /payment-providers/{name}/${verb}`, {
    summary,
    params: providerParam,
    answer: provider,
    example: { state: verb === 'enable' ? 'enabled' : 'disabled' },
  })

export const enableProvider = switching('enable', "Offer a provider's methods again")
export const disableProvider = switching(
  'disable',
  "Take a provider's methods off; what customers have begun to pay goes on",
)

const codeOperation = operationsOf({ tag: 'Codes and referrals' })
const codeSupport = operationsOf({ tag: 'Codes and referrals', role: 'support' })
const codeReader = operationsOf({ tag: 'Codes and referrals', role: 'reader' })
const exampleReferrer = 'cus_01k73se9000000000000000000'

const code = named('Code', {
  name: text('The code, as customers type it.', 'SPRING'),
  amount_rub: roubles('How much it adds; null if it adds a part.').nullable().openapi({ example: null }),
  percent: z.number().nullable().openapi({ description: 'Which part of the top-up it adds.', example: 10 }),
  least_rub: roubles('The least top-up that it adds to.', 0),
  uses: whole('How often in all; null without a bound.', 100).nullable(),
  used: whole('How often it was used.', 0),
  until: moment('Until when; null without an end.').nullable(),
  ended_at: moment('When it was ended; null if it was not.').nullable(),
  note: text('What it is for.', 'code'),
})

export const toCode = (of: PromoCode & { readonly used: number }): z.input<typeof code> => ({
  name: of.code,
  amount_rub: of.kind === 'amount' ? Number(of.value) / 100 : null,
  percent: of.kind === 'percent' ? Number(of.value) / 100 : null,
  least_rub: toRoubles(of.least),
  uses: of.uses,
  used: of.used,
  until: isoOrNull(of.untilAt),
  ended_at: isoOrNull(of.endedAt),
  note: of.note,
})

export const listCodes = codeReader('listCodes', 'GET /codes', {
  summary: 'List codes that add to top-ups, newest first, and how often each was used',
  query: z.object({ limit: pageQuery.limit }),
  answer: z.object({ items: list('The newest so many.', code) }),
})

export const addCode = codeSupport('addCode', 'POST /codes', {
  summary: 'Make a code that adds to top-ups, once for each customer',
  description: 'It adds an amount or a part: say one of `amount_rub` and `percent`.',
  body: z.object({
    // Not `code`: the audit log leaves out fields of that name, for codes of second factors.
    name: checked(
      'The code, in any case.',
      (value) => readCode(value) !== undefined,
      ['made_of', { from: 3, to: 40, of: ['letters', 'digits', 'dashes', 'underscores'] }],
      'SPRING',
    ),
    amount_rub: amount('How much it adds.').optional(),
    percent: percent('Which part of the top-up it adds.', 10)
      .min(0.01, problem('more_than', { min: 0 }))
      .optional(),
    least_rub: amount('Only to a top-up of at least so much.').optional(),
    uses: bodyInteger({ min: 1, max: 1_000_000_000, example: 100, description: 'How often in all.' }).optional(),
    until: instant('Until when.').optional(),
    note: remark('What it is for; only operators see it.', 'code'),
  }),
  exampleBody: { percent: 10 },
  answer: z.object({ name: text('The code.', 'SPRING') }),
  codes: ['conflict'],
})

export const endCode = codeSupport('endCode', 'POST /codes/{name}/end', {
  summary: 'End a code; what was promised with it before is given',
  params: z.object({ name: text('The code, in any case.', 'SPRING') }),
  answer: z.object({ name: text('The code.', 'SPRING'), ended: flag('Whether it has ended.') }),
})

const referralTerms = z.object({
  percent: z.number().openapi({ description: 'Which part of each of these top-ups.', example: 5 }),
  top_ups: whole('Of how many top-ups.', 3),
})

export const listReferrals = codeReader('listReferrals', 'GET /referrals', {
  summary: 'List who brought whom, newest first, and what that is worth',
  query: z.object({ limit: pageQuery.limit }),
  answer: z.object({
    terms: referralTerms.nullable().openapi({ description: 'Null while nothing was ever set.' }),
    items: rows('The newest so many.', {
      customer_id: text('Who was brought.', exampleCustomer),
      referrer_id: text('Who has brought the customer.', exampleReferrer),
      at: moment('When that was said.'),
    }),
  }),
})

export const setReferralTerms = codeOperation('setReferralTerms', 'POST /referrals/terms', {
  summary: 'Set the referrer’s share of the first top-ups of a customer; 0 is off',
  body: z.object({
    percent: percent('Which part of each of these top-ups.', 5),
    top_ups: bodyInteger({ min: 1, max: 1000, example: 3, description: 'Of how many.' })
      .default(1)
      .openapi({ default: 1 }),
  }),
  answer: referralTerms,
})

export const addReferral = codeSupport('addReferral', 'POST /referrals', {
  summary: 'Say who brought a customer, once and for good',
  body: z.object({
    customer_id: given('Who was brought.', 64, exampleCustomer),
    referrer_id: given('Who was a customer before.', 64, exampleReferrer),
  }),
  answer: z.object({
    customer_id: text('Who was brought.', exampleCustomer),
    referrer_id: text('Who has brought the customer.', exampleReferrer),
  }),
  codes: ['not_found', 'conflict'],
})
