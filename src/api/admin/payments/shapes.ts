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
import {
  amount,
  customerName,
  day,
  dryRun,
  exampleCustomer,
  instant,
  isDryRun,
  percent,
  printableText,
  remark,
  replayed,
  yes,
} from '../fields.ts'

const support = operationsOf({ tag: 'Payments', role: 'support' })
const reader = operationsOf({ tag: 'Payments', role: 'reader' })

const states = ['new', 'pending', 'paid', 'expired', 'cancelled', 'refunded'] as const
const payment = named('AnyPayment', {
  payment_id: text('The payment’s id.', examplePayment),
  customer_id: text('The customer’s id.', exampleCustomer),
  customer_name: customerName,
  state: choice('State of the payment; `new`: not yet confirmed to exist at the provider.', states, 'paid'),
  provider: text('Payment provider.', 'yookassa'),
  provider_id: text('Id of the payment at the provider; null before the provider has it.').nullable(),
  method: text('Payment method.', 'card'),
  amount_rub: roubles('Amount credited to the balance.', 1000),
  fee_rub: roubles('Fee that the payer pays on top.', 25),
  refunded_rub: roubles('Amount refunded to the payer.', 0),
  pay_url: text('Payment page; null without one.').nullable(),
  created_at: moment('Time of creation.'),
  expires_at: moment('Time until which the payment can be paid.'),
})

export const toAnyPayment = (of: Payment, payerName: string): z.input<typeof payment> => ({
  payment_id: of.id,
  customer_id: of.customer,
  customer_name: payerName,
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
    customer_id: given('Only payments of this customer.', 64, exampleCustomer).optional(),
    state: choice('Only payments in this state.', states).optional(),
  }),
  answer: page({ items: list('One page of payments.', payment) }),
})

const paymentParam = z.object({ payment_id: text("The payment's id.", examplePayment) })

const step = z.object({
  step: whole('Number of the step.', 1),
  at: moment('Time of the step.'),
  kind: text('Kind of the step.', 'credited'),
  state: choice('State of the payment after the step.', states, 'paid'),
  amount_rub: roubles('Amount posted to the balance; negative for a debit.', 1000),
  transaction: whole('Number of the ledger transaction; null if no money moved.', 1).nullable(),
  note: text('Note.', 'statement 17'),
})

export const getPaymentSteps = reader('getPaymentSteps', 'GET /payments/{payment_id}', {
  summary: 'Read one payment with all its steps',
  params: paymentParam,
  answer: z.object({ payment, steps: list('All steps, oldest first.', step) }),
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
  summary: 'List the payment methods that customers can use now',
  answer: items('All methods that are offered.', {
    method: text('Payment method.', 'card'),
    provider: text('Payment provider.', 'yookassa'),
    name: text('Name that customers see.', 'Card'),
    min_rub: roubles('Smallest payment.', 10),
    max_rub: roubles('Largest payment.', 350_000),
    fee_percent: z.number().openapi({ description: 'Fee that customers pay on top, in percent.', example: 2.5 }),
  }),
})

const moved = () =>
  z.object({
    payment_id: text('The payment’s id.', examplePayment),
    customer: text('The customer’s id.', exampleCustomer),
    status: text('State of the payment.', 'paid'),
    amount_rub: roubles('Amount of the payment.', 1000),
    refunded_rub: roubles('Amount refunded so far.', 0),
    replayed,
    dry_run: isDryRun,
  })

export const markPaid = support('markPaid', 'POST /payments/{payment_id}/mark-paid', {
  affectsNodes: true,
  summary: 'Confirm that an invoice was paid by bank transfer or in cash, and credit the balance',
  description:
    'Only for payments without an online provider. The payment is credited once, with or without an ' +
    '`Idempotency-Key`; ' +
    '`replayed` is true if it was credited earlier.',
  params: paymentParam,
  body: z.object({ note: remark('How the money arrived; only operators see it.', 'marked as paid') }),
  answer: moved(),
  codes: ['not_found', 'conflict'],
  charges: 'free',
})

export const refundPayment = support('refundPayment', 'POST /payments/{payment_id}/refund', {
  affectsNodes: true,
  summary: 'Refund a payment to the payer, whole or in part, and debit the balance',
  description:
    'The refund is requested from the provider. The balance is debited by the amount that the provider confirms, now ' +
    'or when it confirms. A repeat with the same `Idempotency-Key` refunds nothing more. While another refund of the ' +
    'payment is unconfirmed, the answer is `conflict` with the amount of that refund in `details`.',
  params: paymentParam,
  body: z.object({
    amount_rub: amount('Amount to refund. Default: all that is not yet refunded.').optional(),
    into_debt: yes(
      'Refund also if the money was spent. The balance becomes negative and the customer cannot buy until it is ' +
        'covered.',
    ),
    note: remark('Reason; only operators see it.', 'refund'),
    dry_run: dryRun(),
  }),
  exampleBody: { amount_rub: 100 },
  answer: moved(),
  example: { refunded_rub: 100 },
  codes: ['not_found', 'conflict', 'provider_error'],
  charges: 'free',
})

const exampleNotice = 'ntc_01k73sf8000000000000000000'
const notice = named('PaymentNotice', {
  notice_id: text('The notice’s id.', exampleNotice),
  at: moment('Time of the notice.'),
  provider: text('Payment provider.', 'yookassa'),
  provider_id: text('Id of the payment at the provider.', '2c0f5d3e'),
  reason: choice(
    'Why the notice matches no payment.',
    Object.keys(reasonMeanings) as [Notice['reason'], ...Notice['reason'][]],
  ),
  meaning: text('The reason as a sentence.', reasonMeanings.amount),
  payment_id: text('Id of the payment that it may belong to.', examplePayment).nullable(),
  amount: z.number().nullable().openapi({ description: 'Amount in `currency`.', example: 100 }),
  currency: text('Currency.', 'RUB').nullable(),
  resolved_at: moment('Time of resolution; null while it is open.').nullable(),
  resolution: text('How it was resolved.').nullable(),
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
  summary: 'List notices of providers that match no payment, oldest first',
  query: z.object({
    limit: pageQuery.limit,
    all: z.enum(['true', 'false']).default('false').openapi({ description: 'Include resolved notices.' }),
  }),
  answer: z.object({ items: list('The oldest notices, at most `limit`.', notice) }),
})

export const resolveUnmatched = support('resolveUnmatched', 'POST /payment-notices/{notice_id}/resolve', {
  affectsNodes: true,
  summary: 'Resolve an unmatched notice with a note, or by crediting its amount to a customer',
  description: 'Works once: a resolved notice is answered with `not_found`.',
  params: z.object({ notice_id: text('The notice’s id.', exampleNotice) }),
  body: z.object({
    credit_to: given('Id of the customer whose balance is credited with the amount.', 64, exampleCustomer).optional(),
    note: printableText('How it was resolved; a credited customer sees it.', 500, 'paid twice').optional(),
  }),
  exampleBody: { note: 'paid twice' },
  answer: z.object({
    notice_id: text('The notice’s id.', exampleNotice),
    resolved: flag('Whether the notice is resolved.'),
    credited_rub: roubles('Amount credited; null if none.', 100).nullable(),
  }),
  codes: ['not_found', 'conflict'],
})

const comparison = named('Reconciliation', {
  state: choice('State of the reconciliation.', ['never', 'running', 'done', 'failed']),
  started_at: moment('Start.').nullable(),
  ended_at: moment('End.').nullable(),
  compared: whole('Payments compared.', 120),
  differences: rows('All differences.', {
    provider: text('Payment provider.', 'yookassa'),
    payment_id: text('Id of the payment in the shop; null if there is none.', examplePayment).nullable(),
    provider_id: text('Id of the payment at the provider; null if there is none.').nullable(),
    problem: text(
      'Description of the difference; in Russian for `Accept-Language: ru`.',
      'paid at the provider, pending here',
    ),
    reason: text('Stable key of the difference, for programs.', 'not_paid_here'),
    params: facts('Values used in `problem`. Amounts are strings in roubles.', { state: 'pending' }),
  }),
  problem: text(
    'Why the reconciliation failed, in Russian for `Accept-Language: ru`; null if it did not fail.',
  ).nullable(),
  reason: text('Stable key of the failure, for programs.').nullable(),
  params: facts('Values used in `problem`.'),
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
  summary: 'Start a comparison of payments with the providers’ lists; `GET /payment-reconciliation` shows the result',
  isTranslated: true,
  isRead: true,
  body: z.object({
    from: day('First day, UTC: payments created on or after it. Default: 30 days ago.').optional(),
    to: day('End, exclusive, UTC. Default: tomorrow.').optional(),
    provider: given('Only payments of this provider. Default: all providers that are set up.', 40).optional(),
  }),
  exampleBody: { from: '2026-01-01', to: '2026-02-01' },
  answer: comparison,
  example: { ...noComparison, state: 'running', started_at: toIso(exampleAt) },
  codes: ['not_found', 'conflict'],
})

export const getReconcile = reader('getReconcile', 'GET /payment-reconciliation', {
  summary: 'Show the state and result of the last reconciliation in this process',
  isTranslated: true,
  answer: comparison,
  example: noComparison,
})

const providerOperation = operationsOf({ tag: 'Payment providers' })

const provider = named('PaymentProvider', {
  name: text('Name of the provider.', 'yookassa'),
  state: choice(
    'Customers can use its methods only while it is `enabled`.',
    ['not_set_up', 'enabled', 'disabled'],
    'enabled',
  ),
  settings: z
    .record(z.string(), z.string())
    .openapi({ description: 'Settings of the provider, without its secret.', example: { shop_id: '100500' } }),
  wants: rows('Settings that the provider has.', {
    name: text('Name of the setting.', 'shop_id'),
    meaning: text('Meaning of the setting.', 'the number of the shop'),
    required: flag('Whether the setting is required.'),
  }),
  wants_secret: flag('Whether the provider needs a secret.'),
  methods: rows('Methods that customers can use while the provider is enabled.', {
    method: text('Payment method.', 'card'),
    min_rub: roubles('Smallest payment.', 50),
    max_rub: roubles('Largest payment.', 350_000),
    fee_percent: z.number().openapi({ description: 'Fee that customers pay on top, in percent.', example: 2.5 }),
  }),
  health: part(
    'Results of calls from this process since it started; null for a provider without an external service.',
    {
      answered_at: moment('Time of the last successful call; null if none.').nullable(),
      failed_at: moment('Time of the last failed call; null if none.').nullable(),
      failure: choice('Last failure: `refused` by the provider, or `unavailable`: no usable answer.', [
        'refused',
        'unavailable',
      ]).nullable(),
    },
  ).nullable(),
})

export type ProviderSight = z.input<typeof provider>

export const listProviders = providerOperation('listProviders', 'GET /payment-providers', {
  role: 'reader',
  summary: 'List payment providers with their settings and state',
  answer: z.object({ items: list('All supported providers.', provider) }),
})

const providerParam = z.object({ name: given("The provider's name.", 40, 'yookassa') })

const settingName = z
  .string()
  .regex(/^[a-z_]{1,40}$/, problem('made_of', { from: 1, to: 40, of: ['small_letters', 'underscores'] }))

const byName = <Value extends z.ZodType>(value: Value, description: string, example: Record<string, z.input<Value>>) =>
  z.record(settingName, value).default({}).openapi({ description, example })

export const setProvider = providerOperation('setProvider', 'POST /payment-providers/{name}', {
  summary: 'Set up and enable a payment provider, or change its settings; omitted fields stay unchanged',
  description:
    'The secret is stored encrypted and never appears in an answer or the audit log. The provider is enabled.',
  params: providerParam,
  body: z.object({
    settings: byName(z.string().max(200), 'Settings by name.', { shop_id: '100500' }),
    secret: z.string().max(1000).optional().openapi({ description: 'Secret of the provider.', format: 'password' }),
    methods: z
      .array(settingName)
      .max(20)
      .optional()
      .openapi({
        description: 'Methods that customers can use. Default: the methods set before, or all.',
        example: ['card'],
      }),
    min_rub: byName(amount('Smallest payment.'), 'Smallest payment, by method.', { card: 50 }),
    max_rub: byName(amount('Largest payment.'), 'Largest payment, by method.', { card: 100_000 }),
    fee_percent: byName(percent('Fee.', 2.5), 'Fee that customers pay on top, by method, in percent.', { card: 2.5 }),
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

export const enableProvider = switching('enable', 'Enable a provider: customers can use its methods again')
export const disableProvider = switching(
  'disable',
  'Disable a provider: its methods are no longer offered, and open payments can still be completed',
)

const codeOperation = operationsOf({ tag: 'Codes and referrals' })
const codeSupport = operationsOf({ tag: 'Codes and referrals', role: 'support' })
const codeReader = operationsOf({ tag: 'Codes and referrals', role: 'reader' })
const exampleReferrer = 'cus_01k73se9000000000000000000'

const code = named('Code', {
  name: text('Promo code, as customers type it.', 'SPRING'),
  amount_rub: roubles('Fixed bonus; null for a code with `percent`.').nullable().openapi({ example: null }),
  percent: z
    .number()
    .nullable()
    .openapi({ description: 'Bonus in percent of the top-up; null for a code with `amount_rub`.', example: 10 }),
  least_rub: roubles('Smallest top-up that gets the bonus.', 0),
  uses: whole('Largest number of uses by all customers; null for no limit.', 100).nullable(),
  used: whole('Uses so far; an open payment counts until it expires.', 0),
  until: moment('Expiry; null for none.').nullable(),
  ended_at: moment('Time when an operator ended the code; null if not ended.').nullable(),
  note: text('Purpose of the code.', 'code'),
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
  summary: 'List promo codes, newest first, with their number of uses',
  query: z.object({ limit: pageQuery.limit }),
  answer: z.object({ items: list('The newest codes, at most `limit`.', code) }),
})

export const addCode = codeSupport('addCode', 'POST /codes', {
  creates: true,
  summary: 'Create a promo code that adds a bonus to a top-up, once per customer',
  description: 'Exactly one of `amount_rub` and `percent` is required.',
  body: z.object({
    // Not `code`: the audit log leaves out fields of that name, for codes of second factors.
    name: checked(
      'Promo code; case is ignored.',
      (value) => readCode(value) !== undefined,
      ['made_of', { from: 3, to: 40, of: ['letters', 'digits', 'dashes', 'underscores'] }],
      'SPRING',
    ),
    amount_rub: amount('Fixed bonus.').optional(),
    percent: percent('Bonus as a share of the top-up.', 10)
      .min(0.01, problem('more_than', { min: 0 }))
      .optional(),
    least_rub: amount('Smallest top-up that gets the bonus. Default: any.').optional(),
    uses: bodyInteger({
      min: 1,
      max: 1_000_000_000,
      example: 100,
      description: 'Largest number of uses by all customers. Default: no limit.',
    }).optional(),
    until: instant('Expiry. Default: none.').optional(),
    note: remark('Purpose of the code; only operators see it.', 'code'),
  }),
  exampleBody: { percent: 10 },
  answer: z.object({ name: text('Promo code.', 'SPRING') }),
  codes: ['conflict'],
})

export const endCode = codeSupport('endCode', 'POST /codes/{name}/end', {
  summary: 'End a promo code; open payments created with it still get the bonus',
  params: z.object({ name: text('Promo code; case is ignored.', 'SPRING') }),
  answer: z.object({ name: text('Promo code.', 'SPRING'), ended: flag('Whether the code has ended.') }),
})

const referralTerms = z.object({
  percent: z.number().openapi({ description: 'Share of each top-up that the referrer gets, in percent.', example: 5 }),
  top_ups: whole('Number of first top-ups that count.', 3),
})

export const listReferrals = codeReader('listReferrals', 'GET /referrals', {
  summary: 'List referrals, newest first, and the referral terms',
  query: z.object({ limit: pageQuery.limit }),
  answer: z.object({
    terms: referralTerms.nullable().openapi({ description: 'Referral terms; null if they were never set.' }),
    items: rows('The newest referrals, at most `limit`.', {
      customer_id: text('Id of the referred customer.', exampleCustomer),
      customer_name: customerName,
      referrer_id: text('Id of the referrer.', exampleReferrer),
      referrer_name: text('Name of the referrer.', 'Boris'),
      at: moment('Time when the referral was recorded.'),
    }),
  }),
})

export const setReferralTerms = codeOperation('setReferralTerms', 'POST /referrals/terms', {
  summary: 'Set the referrer’s share of the first top-ups of a referred customer; 0 turns referrals off',
  body: z.object({
    percent: percent('Share of each top-up that the referrer gets.', 5),
    top_ups: bodyInteger({ min: 1, max: 1000, example: 3, description: 'Number of first top-ups that count.' })
      .default(1)
      .openapi({ default: 1 }),
  }),
  answer: referralTerms,
})

export const addReferral = codeSupport('addReferral', 'POST /referrals', {
  creates: true,
  summary: 'Record the referrer of a customer; it cannot be changed later',
  body: z.object({
    customer_id: given('Id of the referred customer.', 64, exampleCustomer),
    referrer_id: given('Id of the referrer, who became a customer earlier.', 64, exampleReferrer),
  }),
  answer: z.object({
    customer_id: text('Id of the referred customer.', exampleCustomer),
    referrer_id: text('Id of the referrer.', exampleReferrer),
  }),
  codes: ['not_found', 'conflict'],
})
