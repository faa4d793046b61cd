import { type CustomerId, type PaymentId, readId } from '../../../core/ids.ts'
import { toText } from '../../../core/messages/catalogue.ts'
import { zero } from '../../../core/money.ts'
import { Refusal, refuseField } from '../../../core/refusal.ts'
import { readIso, toIso } from '../../../core/time.ts'
import type { Providers } from '../../../domains/payments/index.ts'
import { type Payment, readCode } from '../../../domains/payments/rules.ts'
import { orRefuse, orRefuseField } from '../../answers.ts'
import { toTerms } from '../../customer/payments/shapes.ts'
import { isoOrNull } from '../../fields.ts'
import { type AnswerLanguage, findingSentencesOf, sentencesOf } from '../../language.ts'
import { pageOf, positionOf, soughtFor } from '../../pages.ts'
import { type AdminDeps, type BindAdmin, nameOf, namesOf } from '../bind.ts'
import { dryRunOf, toHundredths, toKopecks } from '../fields.ts'
import * as shapes from './shapes.ts'

const dayMs = 86_400_000

const readPayment = (text: string): PaymentId => orRefuse(readId('payment', text), 'payment_not_found')

const readNamedCustomer = (field: string, text: string): CustomerId =>
  orRefuseField(readId('customer', text), field, 'id', { prefix: 'cus' })

export function adminPaymentOperations(bind: BindAdmin, deps: AdminDeps) {
  const { payments, paymentOperator } = deps
  return [
    bind(shapes.listAllPayments, async ({ query }) => {
      const found = await paymentOperator.list({
        customer: query.customer_id === undefined ? '' : readNamedCustomer('customer_id', query.customer_id),
        state: query.state ?? '',
        before: positionOf(query.cursor, (text) => readId('payment', text)),
        limit: soughtFor(query.limit),
      })
      const nameIn = await namesOf(
        deps,
        found.map((each) => each.customer),
      )
      const toItem = (each: Payment) => shapes.toAnyPayment(each, nameIn(each.customer))
      return pageOf(found, query.limit, 'id', toItem)
    }),
    bind(shapes.getPaymentSteps, async ({ params }) => {
      const { payment, changes } = await paymentOperator.show(readPayment(params.payment_id))
      const name = await nameOf(deps, payment.customer)
      return { payment: shapes.toAnyPayment(payment, name), steps: changes.map(shapes.toStep) }
    }),
    bind(shapes.listWaysToPay, async () => ({
      items: (await payments.methods()).map(({ provider, name, ...terms }) => ({ provider, name, ...toTerms(terms) })),
    })),
    bind(shapes.markPaid, async ({ params, body, key }) => ({
      ...(await paymentOperator.markPaid(readPayment(params.payment_id), body.note, key)),
    })),
    bind(shapes.refundPayment, async ({ params, body, key }) => {
      const amount = body.amount_rub === undefined ? 'all' : toKopecks(body.amount_rub)
      const input = { amount, intoDebt: body.into_debt, note: body.note, key, isDryRun: body.dry_run } as const
      const refund = () => paymentOperator.refund(readPayment(params.payment_id), input)
      return { ...(await deps.dryRunIf(body.dry_run, refund)), ...dryRunOf(body) }
    }),
    ...noticeOperations(bind, deps),
    ...adminProviderOperations(bind, deps.providers),
  ]
}

function noticeOperations(bind: BindAdmin, deps: AdminDeps) {
  const reconciliation = createReconciliation(deps)
  return [
    bind(shapes.listUnmatched, async ({ query }) => ({
      items: (await deps.paymentOperator.unmatched(query.all === 'true', query.limit)).map(shapes.toNotice),
    })),
    bind(shapes.resolveUnmatched, async ({ params, body }) => {
      const id = orRefuse(readId('notice', params.notice_id), 'notice_not_found')
      const customer = body.credit_to === undefined ? undefined : readNamedCustomer('credit_to', body.credit_to)
      const note = body.note ?? (customer === undefined ? 'resolved' : 'top-up')
      const credited = (await deps.paymentOperator.resolve(id, { customer, note }))['credited_rub']
      return { notice_id: id, resolved: true, credited_rub: typeof credited === 'number' ? credited : null }
    }),
    bind(shapes.startReconcile, async ({ body, language }) => {
      const [from, to] = [body.from, body.to].map((text) => (text === undefined ? undefined : readIso(text)))
      const tomorrow = Math.floor(deps.clock() / dayMs + 1) * dayMs
      const [fromAt, toAt] = [from ?? tomorrow - 31 * dayMs, to ?? tomorrow]
      if (toAt <= fromAt) throw refuseField('to', 'later_than', { other: 'from' })
      await reconciliation.start({ provider: body.provider, fromAt, toAt })
      return reconciliation.show(language)
    }),
    bind(shapes.getReconcile, async ({ language }) => reconciliation.show(language)),
  ]
}

type Days = { readonly provider: string | undefined; readonly fromAt: number; readonly toAt: number }

/** Reconciliation in the background, because a provider's list may take minutes; one run at a time. */
function createReconciliation(deps: AdminDeps) {
  let run: shapes.Comparison = shapes.noComparison
  let differences: Awaited<ReturnType<AdminDeps['paymentOperator']['reconcile']>>['differences'] = []
  let failure: Refusal | undefined

  async function work({ provider, fromAt, toAt }: Days): Promise<void> {
    try {
      const found = await deps.paymentOperator.reconcile(provider, fromAt, toAt)
      differences = found.differences
      failure = found.failure
      const state = failure ? 'failed' : 'done'
      run = { ...run, state, compared: found.compared, ended_at: toIso(deps.clock()) }
      if (failure) deps.onReconcileFault(failure)
    } catch (fault) {
      failure = fault instanceof Refusal ? fault : new Refusal('reconciliation_failed')
      run = { ...run, state: 'failed', ended_at: toIso(deps.clock()) }
      deps.onReconcileFault(fault)
    }
  }

  return {
    show: (language: AnswerLanguage): shapes.Comparison => ({
      ...run,
      differences: differences.map((each) => ({
        provider: each.provider,
        payment_id: each.payment,
        provider_id: each.providerId,
        problem: toText(findingSentencesOf[language].differences, each),
        reason: each.reason,
        params: { ...each.params },
      })),
      ...(failure && {
        problem: failure.say(sentencesOf[language]),
        reason: failure.reason,
        params: { ...failure.params },
      }),
    }),

    async start(days: Days): Promise<void> {
      if (days.provider !== undefined) await deps.providers.load(days.provider)
      if (run.state === 'running') throw new Refusal('reconciliation_running')
      differences = []
      failure = undefined
      run = { ...shapes.noComparison, state: 'running', started_at: toIso(deps.clock()) }
      void work(days)
    },
  }
}

const toProvider = (
  { kind, set }: Awaited<ReturnType<Providers['list']>>[number],
  health: ReturnType<Providers['healthOf']>,
): shapes.ProviderSight => ({
  name: kind.name,
  state: set === undefined ? 'not_set_up' : set.isEnabled ? 'enabled' : 'disabled',
  settings: { ...set?.terms.settings },
  wants: kind.settings.map((each) => ({ name: each.name, meaning: each.meaning, required: each.isRequired })),
  wants_secret: kind.needsSecret,
  methods: (set?.terms.methods ?? []).map(toTerms),
  health: set?.connection
    ? { answered_at: isoOrNull(health.answeredAt), failed_at: isoOrNull(health.failedAt), failure: health.failure }
    : null,
})

function adminProviderOperations(bind: BindAdmin, providers: Providers) {
  const texts = (of: Readonly<Record<string, string | number>>): ReadonlyMap<string, string> =>
    new Map(Object.entries(of).map(([name, value]) => [name, String(value)]))
  const show = async (name: string) => {
    const found = (await providers.list()).find((each) => each.kind.name === name)
    if (!found) throw new Error('the provider is missing after it was changed')
    return toProvider(found, providers.healthOf(name))
  }
  const switching = (operation: typeof shapes.enableProvider, isEnabled: boolean) =>
    bind(operation, async ({ params }) => {
      await providers.enable(params.name, isEnabled)
      return show(params.name)
    })
  return [
    bind(shapes.listProviders, async () => ({
      items: (await providers.list()).map((each) => toProvider(each, providers.healthOf(each.kind.name))),
    })),
    bind(shapes.setProvider, async ({ params, body }) => {
      await providers.set(params.name, {
        settings: texts(body.settings),
        methods: body.methods,
        min: texts(body.min_rub),
        max: texts(body.max_rub),
        fee: texts(body.fee_percent),
        secret: body.secret,
      })
      return show(params.name)
    }),
    switching(shapes.enableProvider, true),
    switching(shapes.disableProvider, false),
  ]
}

const loadCode = (text: string): string => orRefuse(readCode(text), 'code_not_found')

export function adminCodeOperations(bind: BindAdmin, deps: AdminDeps) {
  const { codes } = deps
  return [
    bind(shapes.listCodes, async ({ query }) => ({ items: (await codes.list(query.limit)).map(shapes.toCode) })),
    bind(shapes.addCode, async ({ body }) => {
      const { amount_rub: amount, percent, least_rub: least, uses, until, note } = body
      const value = amount ?? percent
      if (value === undefined || (amount !== undefined && percent !== undefined)) {
        throw refuseField('percent', 'either', { other: 'amount_rub' })
      }
      const code = loadCode(body.name)
      await codes.add({
        code,
        kind: amount === undefined ? 'percent' : 'amount',
        value: BigInt(toHundredths(value)),
        least: least === undefined ? zero : toKopecks(least),
        uses: uses ?? null,
        untilAt: until === undefined ? null : (readIso(until) ?? null),
        note,
      })
      return { name: code }
    }),
    bind(shapes.endCode, async ({ params }) => {
      const code = loadCode(params.name)
      await codes.end(code)
      return { name: code, ended: true }
    }),
    ...referralOperations(bind, deps),
  ]
}

function referralOperations(bind: BindAdmin, deps: AdminDeps) {
  const { referrals } = deps
  return [
    bind(shapes.listReferrals, async ({ query }) => {
      const terms = await referrals.terms()
      const found = await referrals.list(query.limit)
      const nameIn = await namesOf(
        deps,
        found.flatMap((each) => [each.customer, each.referrer]),
      )
      return {
        terms: terms ? { percent: terms.hundredths / 100, top_ups: terms.topUps } : null,
        items: found.map(({ customer, referrer, at }) => ({
          customer_id: customer,
          customer_name: nameIn(customer),
          referrer_id: referrer,
          referrer_name: nameIn(referrer),
          at: toIso(at),
        })),
      }
    }),
    bind(shapes.setReferralTerms, async ({ body }) => {
      await referrals.set({ hundredths: toHundredths(body.percent), topUps: body.top_ups })
      return { percent: body.percent, top_ups: body.top_ups }
    }),
    bind(shapes.addReferral, async ({ body }) => {
      const customer = readNamedCustomer('customer_id', body.customer_id)
      const referrer = readNamedCustomer('referrer_id', body.referrer_id)
      await referrals.add(customer, referrer)
      return { customer_id: customer, referrer_id: referrer }
    }),
  ]
}
