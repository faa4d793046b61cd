import type { LedgerReports } from '../domains/ledger/index.ts'
import type { PaymentReports } from '../domains/payments/index.ts'
import { daysOf, mostReportDays } from '../kernel/days.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, type Outcome, table } from './command.ts'
import { readDay } from './payments.ts'
import type { Opened } from './typed.ts'

type Deps = { ledgerReports: LedgerReports; paymentReports: PaymentReports; now: () => number }
type Cell = string | number
/** Money stands in its column as a number of roubles. */
type Report = { readonly heading: readonly string[]; readonly rows: readonly (readonly Cell[])[] }

const dayMs = 86_400_000

const options = [
  { flag: 'from', value: 'DATE', meaning: 'from this day on, UTC; 30 days ago unless said' },
  { flag: 'to', value: 'DATE', meaning: 'up to this day, which is not in it; tomorrow unless said' },
  { flag: 'csv', meaning: 'as CSV' },
]

/** What operators want to know by day. */
export function reportCommands(open: Opened<Deps>): readonly Command[] {
  const command = (
    name: string,
    summary: string,
    make: (deps: Deps, days: { from: number; to: number }) => Promise<Report>,
  ): Command => ({
    name: `report ${name}`,
    operation: `report${name.replace(/^./, (letter) => letter.toUpperCase())}`,
    summary,
    takes: [],
    options,
    run: (given) => open(given, async (deps) => toOutcome(await make(deps, readDays(given, deps.now())), given)),
  })
  return [
    command(
      'days',
      'Turnover, refunds, top-ups and what customers still hold, by day.',
      ({ ledgerReports }, { from, to }) => daysReport(ledgerReports, from, to),
    ),
    command('products', 'Turnover by day and product, less what was given back.', ({ ledgerReports }, { from, to }) =>
      productsReport(ledgerReports, from, to),
    ),
    command('methods', 'Top-ups, fees, refunds and bonuses, by day and method.', ({ paymentReports }, { from, to }) =>
      methodsReport(paymentReports, from, to),
    ),
  ]
}

function readDays(given: Given, nowMs: number): { from: number; to: number } {
  const at = (flag: string) => (given.has(flag) ? readDay(given, flag) : undefined)
  const days = daysOf({ fromAt: at('from'), toAt: at('to') }, nowMs)
  if (!days) throw mistyped(`--to is a later day than --from, ${mostReportDays} days at most.`)
  return days
}

const dateOf = (day: number): string => toIso(day * dayMs).slice(0, 10)
const roubles = (kopecks: bigint): string => {
  const [sign, whole] = kopecks < 0n ? ['-', -kopecks] : ['', kopecks]
  return `${sign}${whole / 100n}.${String(whole % 100n).padStart(2, '0')}`
}

async function daysReport(reports: LedgerReports, from: number, to: number): Promise<Report> {
  const days = await reports.days(from, to)
  return {
    heading: ['day', 'turnover_rub', 'refunded_rub', 'topped_up_rub', 'taken_back_rub', 'held_rub'],
    rows: days.map((each) => [
      dateOf(each.day),
      ...[each.charged, each.refunded, each.toppedUp, each.takenBack, each.held].map(roubles),
    ]),
  }
}

async function productsReport(reports: LedgerReports, from: number, to: number): Promise<Report> {
  const sums = await reports.products(from, to)
  return {
    heading: ['day', 'product', 'kind', 'count', 'amount_rub'],
    rows: sums.map((each) => [dateOf(each.day), each.product, each.kind, each.count, roubles(each.amount)]),
  }
}

async function methodsReport(reports: PaymentReports, from: number, to: number): Promise<Report> {
  const days = await reports.methods(from, to)
  return {
    heading: ['day', 'method', 'payments', 'topped_up_rub', 'fees_rub', 'taken_back_rub', 'bonuses_rub'],
    rows: days.map((each) => [
      dateOf(each.day),
      each.method,
      each.payments,
      ...[each.credited, each.fees, each.takenBack, each.bonuses].map(roubles),
    ]),
  }
}

/** Nothing in a report needs quoting: dates, numbers and names of our own. */
const toCsv = ({ heading, rows }: Report): string[] => [heading, ...rows].map((row) => row.join(','))

function toOutcome(report: Report, given: Given): Outcome {
  const { heading, rows } = report
  const json = rows.map((row) =>
    Object.fromEntries(
      heading.map((name, index) => [name, name.endsWith('_rub') ? Number(row[index]) : (row[index] ?? null)]),
    ),
  )
  if (given.has('csv')) return { json, lines: toCsv(report) }
  const titles = heading.map((name) => name.replace(/_rub$/, '').replaceAll('_', ' ').toUpperCase())
  return {
    json,
    lines: table(
      titles,
      rows.map((row) => row.map(String)),
    ),
  }
}
