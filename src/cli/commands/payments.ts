import * as payments from '../../api/admin/payments/shapes.ts'
import * as reports from '../../api/admin/reports/shapes.ts'
import type { Operation } from '../../api/operation.ts'
import { type OperationCommand, over } from '../operation-command.ts'
import { csvLines, csvOption, doneBefore, readTextFile, rows, rub, toLines } from '../print.ts'

const waitMs = 200
const stateOf = (of: { readonly payment_id: string; readonly status: string }) => `${of.payment_id} is ${of.status}`

/** A report as a table, or with --csv as CSV. */
const report = (operation: typeof reports.reportDays | typeof reports.reportProducts | typeof reports.reportMethods) =>
  over(operation as Operation, `report ${operation.id.replace('report', '').toLowerCase()}`, {
    options: [csvOption],
    show(data, given) {
      const { items } = data as { readonly items: readonly object[] }
      const fields = Object.keys(operation.example.items[0] ?? {})
      return given.has('csv') ? csvLines(items, fields) : rows(items, fields)
    },
  })

export const paymentCommands: readonly OperationCommand[] = [
  over(payments.listAllPayments, 'payments list', {
    columns: 'payment_id created_at customer_id method amount_rub fee_rub state refunded_rub',
  }),
  over(payments.getPaymentSteps, 'payments show'),
  over(payments.listWaysToPay, 'payments methods', { columns: 'method provider min_rub max_rub fee_percent' }),
  over(payments.markPaid, 'payments mark-paid', {
    show: (data) => `${stateOf(data)}${data.replayed ? ' already; nothing was' : '; it is'} credited now.`,
  }),
  over(payments.refundPayment, 'payments refund', {
    show: (data) =>
      data.status === 'paid' && data.refunded_rub === 0
        ? 'The provider accepted the refund. The balance is debited when the provider has done it.'
        : `${doneBefore(false, data.dry_run)}${stateOf(data)}; ${rub(data.refunded_rub)} RUB of it are refunded.`,
  }),
  over(payments.listUnmatched, 'payments unmatched', {
    columns: 'notice_id at provider provider_id amount currency payment_id meaning resolution',
  }),
  over(payments.resolveUnmatched, 'payments resolve', {
    flags: { credit_to: 'credit' },
    show: ({ credited_rub: credited }) =>
      credited === null ? 'Resolved.' : `Resolved: ${rub(credited)} RUB credited.`,
  }),
  {
    ...over(payments.startReconcile, 'payments reconcile', {}),
    async run(given, call) {
      const fields = Object.fromEntries(
        ['from', 'to', 'provider'].flatMap((name) => (given.has(name) ? [[name, given.flags[name]]] : [])),
      )
      let data = await call(payments.startReconcile, fields)
      while (data.state === 'running') {
        await Bun.sleep(waitMs)
        data = await call(payments.getReconcile, {})
      }
      const lines = [
        ...(data.problem === null ? [] : [data.problem]),
        ...(data.differences.length > 0 ? rows(data.differences) : []),
        `${data.compared} compared, ${data.differences.length} differ.`,
      ]
      return { json: data, lines, exit: data.state === 'done' && data.differences.length === 0 ? 0 : 1 }
    },
  },
  over(payments.listProviders, 'payments provider list', {
    show: (data) =>
      data.items.flatMap((each) => [
        `${each.name}: ${each.state.replaceAll('_', ' ')}`,
        ...each.wants.map(({ name, meaning }) => `  ${name}: ${each.settings[name] ?? meaning}`),
        ...(each.methods.length > 0 ? rows(each.methods).map((line) => `  ${line}`) : []),
      ]),
  }),
  over(payments.setProvider, 'payments provider set', {
    filled: 'secret',
    options: [{ flag: 'secret-file', value: 'FILE', meaning: 'A file with its secret; - reads the standard input.' }],
    fill: async ({ flags: { 'secret-file': path } }) =>
      path === undefined ? {} : { secret: (await readTextFile(path)).trim() },
    show: (data) => `${data.name} is set up: ${data.methods.map((each) => each.method).join(', ')}.`,
  }),
  over(payments.enableProvider, 'payments provider enable', { show: (data) => `${data.name} is enabled.` }),
  over(payments.disableProvider, 'payments provider disable', { show: (data) => `${data.name} is disabled.` }),
  over(payments.addCode, 'code add', { args: 'name', show: (data) => `${data.name} adds to top-ups from now on.` }),
  over(payments.listCodes, 'code list', { columns: 'name amount_rub percent least_rub used uses until ended_at note' }),
  over(payments.endCode, 'code end', { show: (data) => `${data.name} has ended.` }),
  over(payments.setReferralTerms, 'referral set', {
    args: 'percent',
    show: (data) => `A referrer gets ${data.percent} % of the first ${data.top_ups} top-ups.`,
  }),
  over(payments.addReferral, 'referral add', {
    args: 'customer_id',
    flags: { referrer_id: 'by' },
    show: (data) => `${data.referrer_id} is the referrer of ${data.customer_id}.`,
  }),
  over(payments.listReferrals, 'referral list', {
    show: ({ terms, items }) => [
      `A referrer gets ${terms === null ? 'nothing' : `${terms.percent} % of the first ${terms.top_ups} top-ups`}.`,
      ...rows(items),
    ],
  }),
  report(reports.reportDays),
  report(reports.reportProducts),
  report(reports.reportMethods),
  over(reports.reportPayments, 'report payments', {
    options: [csvOption],
    show: (data, given) =>
      given.has('csv')
        ? csvLines(data.items, Object.keys(reports.reportPayments.example.items[0] ?? {}))
        : toLines(data),
  }),
]
