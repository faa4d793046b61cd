import type { Told } from '../domains/orders/index.ts'
import type { Method, PaymentOperator, Payments } from '../domains/payments/index.ts'
import { type Notice, type Payment, type PaymentChange, reasonMeanings } from '../domains/payments/rules.ts'
import { daysOf, mostReportDays } from '../kernel/days.ts'
import { type NoticeId, type PaymentId, readId } from '../kernel/ids.ts'
import { readRoubles, toRoubles, toRoubleText } from '../kernel/money.ts'
import { readIso, toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, type Outcome, table } from './command.ts'
import { keyOption, type Opened, readCustomer, readKey, readNote, readWhole } from './typed.ts'

type Deps = { payments: Payments; paymentOperator: PaymentOperator; now: () => number }

const dayMs = 86_400_000

const paymentWord = { name: 'PAYMENT', meaning: "the payment's id, pay_…" }
const states = ['new', 'pending', 'paid', 'expired', 'cancelled', 'refunded']

export function paymentCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'payments list',
      operation: 'listAllPayments',
      summary: 'Lists payments of all customers, newest first.',
      takes: [],
      options: [
        { flag: 'customer', value: 'CUSTOMER', meaning: 'of one customer' },
        { flag: 'state', value: 'STATE', meaning: `only those that are ${states.join(', ')}` },
        { flag: 'limit', value: 'N', meaning: 'how many, 1 to 500; 100 unless said' },
        { flag: 'before', value: 'PAYMENT', meaning: 'begin below this one' },
      ],
      run: (given) => open(given, ({ paymentOperator }) => listPayments(paymentOperator, given)),
    },
    {
      name: 'payments show',
      operation: 'getPaymentSteps',
      summary: 'Shows one payment and every step of it.',
      takes: [paymentWord],
      options: [],
      run: (given) =>
        open(given, async ({ paymentOperator }) => {
          const { payment, changes } = await paymentOperator.show(readPayment(given.words[0]))
          const json = { ...toJson(payment), steps: changes.map(toStep) }
          return { json, lines: [Bun.YAML.stringify(json, null, 2)] }
        }),
    },
    {
      name: 'payments methods',
      operation: 'listWaysToPay',
      summary: 'Lists the ways to pay that customers have now.',
      takes: [],
      options: [],
      run: (given) => open(given, async ({ payments }) => toMethods(await payments.methods())),
    },
    {
      name: 'payments mark-paid',
      operation: 'markPaid',
      summary: 'Says that the money of an invoice is there: by bank transfer, or in cash.',
      takes: [paymentWord],
      options: [{ flag: 'note', value: 'TEXT', meaning: 'where it came; only operators see it' }, keyOption],
      run: (given) =>
        open(given, async ({ paymentOperator }) => {
          const note = readNote(given, 'marked as paid')
          const told = await paymentOperator.markPaid(readPayment(given.words[0]), note, readKey(given))
          return { json: told, lines: [`${textOf(told, 'payment_id')} is ${textOf(told, 'status')}.`] }
        }),
    },
    {
      name: 'payments refund',
      operation: 'refundPayment',
      summary: 'Gives a payment back to whoever paid, whole or in part, and takes it off the balance.',
      takes: [paymentWord],
      options: [
        { flag: 'amount', value: 'ROUBLES', meaning: 'how much; all that is left of it unless said' },
        { flag: 'into-debt', meaning: 'also if the money was spent: the customer owes it then, and can buy nothing' },
        { flag: 'note', value: 'TEXT', meaning: 'why; only operators see it' },
        keyOption,
      ],
      run: (given) => open(given, ({ paymentOperator }) => refund(paymentOperator, given)),
    },
    ...noticeCommands(open),
    {
      name: 'payments reconcile',
      operation: 'startReconcile',
      summary: "Compares payments with a provider's own list, names each difference, and ends with 1 if there is one.",
      takes: [],
      options: [
        {
          flag: 'from',
          value: 'DATE',
          meaning: 'payments begun on or after this day, like 2026-11-01; 30 days ago unless said',
        },
        { flag: 'to', value: 'DATE', meaning: 'and before this day; tomorrow unless said' },
        { flag: 'provider', value: 'NAME', meaning: 'of one provider; of all that are set up unless said' },
      ],
      run: (given) => open(given, ({ paymentOperator, now }) => reconcile(paymentOperator, given, now())),
    },
  ]
}

function noticeCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'payments unmatched',
      operation: 'listUnmatched',
      summary: 'Lists what providers have said and no payment explains, oldest first.',
      takes: [],
      options: [
        { flag: 'all', meaning: 'those that were dealt with too' },
        { flag: 'limit', value: 'N', meaning: 'how many, 1 to 500; 100 unless said' },
      ],
      run: (given) =>
        open(given, async ({ paymentOperator }) => {
          const limit = readWhole(given, 'limit', 100, { min: 1, max: 500 })
          return toNotices(await paymentOperator.unmatched(given.has('all'), limit))
        }),
    },
    {
      name: 'payments resolve',
      operation: 'resolveUnmatched',
      summary: 'Deals with something unmatched: says what was done about it, or credits it to a customer.',
      takes: [{ name: 'NOTICE', meaning: 'its id, ntc_…' }],
      options: [
        { flag: 'credit', value: 'CUSTOMER', meaning: 'add its amount to this customer’s balance in the same step' },
        { flag: 'note', value: 'TEXT', meaning: 'what was done; a customer who is credited sees it' },
      ],
      run: (given) =>
        open(given, async ({ paymentOperator }) => {
          const customer = given.flags['credit'] === undefined ? undefined : readCustomer(given.flags['credit'])
          const note = readNote(given, customer === undefined ? 'dealt with' : 'top-up')
          const told = await paymentOperator.resolve(readNotice(given.words[0]), { customer, note })
          const credited = told['credited_rub']
          return {
            json: told,
            lines: [credited === null ? 'Resolved.' : `Resolved: ${Number(credited)} RUB credited.`],
          }
        }),
    },
  ]
}

/** A text of what was told. */
const textOf = (told: Told, name: string): string => {
  const value = told[name]
  return typeof value === 'string' ? value : ''
}

function readPayment(text = ''): PaymentId {
  const id = readId('payment', text)
  if (!id) throw mistyped('PAYMENT is an id like pay_…, as "payments list" shows it.')
  return id
}

function readNotice(text = ''): NoticeId {
  const id = readId('notice', text)
  if (!id) throw mistyped('NOTICE is an id like ntc_…, as "payments unmatched" shows it.')
  return id
}

/** A day, as its first moment in UTC. */
export function readDay(given: Given, flag: string): number {
  const at = readIso(given.flags[flag] ?? '')
  if (at === undefined) throw mistyped(`--${flag} is a day like 2026-11-01.`)
  return at
}

async function listPayments(operator: PaymentOperator, given: Given): Promise<Outcome> {
  const state = given.flags['state'] ?? ''
  if (state !== '' && !states.includes(state)) throw mistyped(`--state is one of ${states.join(', ')}.`)
  const found = await operator.list({
    customer: given.flags['customer'] === undefined ? '' : readCustomer(given.flags['customer']),
    state,
    before: given.flags['before'] === undefined ? undefined : readPayment(given.flags['before']),
    limit: readWhole(given, 'limit', 100, { min: 1, max: 500 }),
  })
  return {
    json: found.map(toJson),
    lines: table(
      ['PAYMENT', 'AT', 'CUSTOMER', 'METHOD', 'AMOUNT', 'FEE', 'STATE', 'TAKEN BACK'],
      found.map((each) => [
        each.id,
        toIso(each.createdAt),
        each.customer,
        each.method,
        toRoubleText(each.amount),
        toRoubleText(each.fee),
        each.state,
        each.debited === 0n ? '' : toRoubleText(each.debited),
      ]),
    ),
  }
}

const toJson = (of: Payment) => ({
  payment_id: of.id,
  customer: of.customer,
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

const toStep = (of: PaymentChange) => ({
  step: of.number,
  at: toIso(of.at),
  kind: of.kind,
  state: of.state,
  amount_rub: toRoubles(of.amount),
  transaction: of.posting,
  note: of.note,
})

const toMethods = (methods: readonly Method[]): Outcome => ({
  json: methods.map((each) => ({
    method: each.method,
    provider: each.provider,
    name: each.name,
    min_rub: toRoubles(each.min),
    max_rub: toRoubles(each.max),
    fee_percent: each.feeHundredths / 100,
  })),
  lines: table(
    ['METHOD', 'PROVIDER', 'FROM', 'TO', 'FEE %'],
    methods.map((each) => [
      each.method,
      each.provider,
      toRoubleText(each.min),
      toRoubleText(each.max),
      String(each.feeHundredths / 100),
    ]),
  ),
})

async function refund(operator: PaymentOperator, given: Given): Promise<Outcome> {
  const typed = given.flags['amount']
  const amount = typed === undefined ? ('all' as const) : readRoubles(typed)
  if (amount === undefined) throw mistyped('--amount is roubles like 100 or 99.90.')
  const wish = { amount, intoDebt: given.has('into-debt'), note: readNote(given, 'refund'), key: readKey(given) }
  const told = await operator.refund(readPayment(given.words[0]), wish)
  const back = Number(told['refunded_rub']).toFixed(2)
  const waits = told['status'] === 'paid' && Number(told['refunded_rub']) === 0
  const line = waits
    ? 'The provider has taken it on. It is taken off the balance once it says that it is done.'
    : `${textOf(told, 'payment_id')} is ${textOf(told, 'status')}; ${back} RUB of it have gone back.`
  return { json: told, lines: [line] }
}

const toNotices = (found: readonly Notice[]): Outcome => ({
  json: found.map((each) => ({
    notice: each.id,
    at: toIso(each.at),
    provider: each.provider,
    provider_id: each.providerId,
    reason: each.reason,
    meaning: reasonMeanings[each.reason],
    payment_id: each.payment,
    amount: each.amount === null ? null : toRoubles(each.amount),
    currency: each.currency,
    resolution: each.resolution,
  })),
  lines: table(
    ['NOTICE', 'AT', 'PROVIDER', 'ITS ID', 'AMOUNT', 'PAYMENT', 'WHY'],
    found.map((each) => [
      each.id,
      toIso(each.at),
      each.provider,
      each.providerId,
      each.amount === null ? '' : `${toRoubleText(each.amount)} ${each.currency ?? ''}`,
      each.payment ?? '',
      each.resolution === null ? reasonMeanings[each.reason] : `resolved: ${each.resolution}`,
    ]),
  ),
})

async function reconcile(operator: PaymentOperator, given: Given, nowMs: number): Promise<Outcome> {
  const at = (flag: string) => (given.has(flag) ? readDay(given, flag) : undefined)
  const days = daysOf({ fromAt: at('from'), toAt: at('to') }, nowMs)
  if (!days) throw mistyped(`--to is a later day than --from, by at most ${mostReportDays}.`)
  const [fromAt, toAt] = [days.from * dayMs, days.to * dayMs]
  const { compared, differences } = await operator.reconcile(given.flags['provider'], fromAt, toAt)
  const rows = differences.map((each) => [each.provider, each.payment ?? '', each.providerId ?? '', each.problem])
  return {
    json: {
      compared,
      differences: differences.map(({ provider, payment, providerId, problem }) => ({
        provider,
        payment,
        provider_id: providerId,
        problem,
      })),
    },
    lines: [
      ...(rows.length > 0 ? table(['PROVIDER', 'PAYMENT', 'ITS ID', 'DIFFERENCE'], rows) : []),
      `${compared} compared, ${differences.length} differ.`,
    ],
    exit: differences.length > 0 ? 1 : 0,
  }
}
