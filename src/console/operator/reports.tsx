import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { download, toCsv } from '../shared/browser.ts'
import { Chart } from '../shared/chart.tsx'
import { useTyped } from '../shared/form.tsx'
import { messages, pair, phrase, useLanguage, useMessages } from '../shared/messages.tsx'
import {
  CsvButton,
  Empty,
  Figures,
  Hint,
  Page,
  Panel,
  Reading,
  RefusalNotice,
  Rows,
  type RowsProps,
} from '../shared/parts.tsx'
import { methodNames, tradeMessages } from '../shared/trade.ts'
import { loadPages, type OperatorAnswer, useRead } from './api.ts'

const reportsMessages = messages({
  title: pair('Reports', 'Отчёты'),
  about: pair(
    'By day in UTC. Net revenue is gross sales minus refunds, here and on the overview.',
    'По дням UTC. Чистая выручка — продажи минус возвраты, здесь и на странице обзора.',
  ),
  to: pair('To', 'По'),
  turnover: pair('Gross sales', 'Продажи'),
  refunds: pair('Refunds', 'Возвраты'),
  net: pair('Net revenue', 'Чистая выручка'),
  toppedUp: pair('Topped up', 'Пополнено'),
  takenBack: pair('Debited from balances', 'Удержано с балансов'),
  held: pair('Customers’ balances', 'На балансах'),
  heldByDay: pair('Customers’ balances by day', 'Балансы покупателей по дням'),
  flow: pair('Net revenue and top-ups', 'Чистая выручка и пополнения'),
  byDay: pair('By day', 'По дням'),
  byMethod: pair('Top-ups by method', 'Пополнения по способам'),
  byProduct: pair('Sales and refunds by product', 'Продажи и возвраты по товарам'),
  payments: pair('Payments', 'Платежей'),
  fees: pair('Fees', 'Комиссии'),
  bonuses: pair('Bonuses', 'Бонусы'),
  byOperator: pair('Credited by an operator', 'Зачислено оператором'),
  count: pair('Transactions', 'Операций'),
  thisMonth: pair('This month', 'Этот месяц'),
  last30: pair('Last 30 days', 'Последние 30 дней'),
  totals: pair('Totals by product', 'Итоги по товарам'),
  total: pair('Total', 'Итого'),
  csv: phrase('CSV: {report}', 'CSV: {report}'),
  byPayment: pair('Payments for bookkeeping', 'Платежи для бухгалтерии'),
  byPaymentAbout: pair(
    'Every credit and debit of all customers on these days, with its payment, method and fee. The sum is “Topped up” ' +
      'minus “Debited from balances”.',
    'Каждое пополнение и удержание всех покупателей за эти дни: платёж, способ, комиссия. Сумма — «Пополнено» минус ' +
      '«Удержано с балансов».',
  ),
  paymentsFile: phrase('{form}: payments', '{form}: платежи'),
  saved: phrase('Rows: {count}', 'Строк: {count}'),
  cut: pair('The file has no more rows. Choose fewer days.', 'Больше строк в файле нет. Выберите меньше дней.'),
  nothing: pair('No transactions on these days', 'В эти дни операций не было'),
  nothingAbout: pair('Choose other days.', 'Выберите другие дни.'),
})

type Days = OperatorAnswer<'reportDays'>['items']

const dayMs = 86_400_000
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text)
const sumOf = <Row,>(rows: readonly Row[], of: (row: Row) => number): number =>
  Math.round(rows.reduce((sum, row) => sum + of(row), 0) * 100) / 100

export function ReportsPage() {
  const { t } = useMessages(reportsMessages)
  const from = useTyped(dayOf(Date.now() - 29 * dayMs))
  const to = useTyped(dayOf(Date.now()))
  const isWanted = isDay(from.text) && isDay(to.text)
  // The API excludes the day `to`; the page includes it.
  const query = isWanted ? { from: from.text, to: dayOf(Date.parse(to.text) + dayMs) } : {}
  const days = useRead('reportDays', { query }, { isWanted })
  const methods = useRead('reportMethods', { query }, { isWanted })
  const products = useRead('reportProducts', { query }, { isWanted })
  const choose = (first: string) => {
    from.set(first)
    to.set(dayOf(Date.now()))
  }
  const period = `${from.text}_${to.text}`
  return (
    <Page title={t.title} about={t.about}>
      <Panel className="line fields">
        <Button variant="default" onClick={() => choose(`${dayOf(Date.now()).slice(0, 7)}-01`)}>
          {t.thisMonth}
        </Button>
        <Button variant="default" onClick={() => choose(dayOf(Date.now() - 29 * dayMs))}>
          {t.last30}
        </Button>
        <TextInput type="date" label={t.from} {...from.props} />
        <TextInput type="date" label={t.to} {...to.props} />
      </Panel>
      <Reading of={days} height={400}>
        {({ items }) => <ByDay rows={items} period={period} />}
      </Reading>
      <Payments query={query} period={period} isWanted={isWanted} />
      <Reading of={methods}>
        {({ items }) => (
          <ByMethod rows={items} period={period} credited={sumOf(days.data?.items ?? [], (row) => row.topped_up_rub)} />
        )}
      </Reading>
      <Reading of={products}>{({ items }) => <ByProduct rows={items} period={period} />}</Reading>
    </Page>
  )
}

const pageSize = 500
const maxPages = 400

type PaymentsProps = { readonly query: object; readonly period: string; readonly isWanted: boolean }

/** Files for bookkeepers: every credit and debit of all customers in these days, with its payment. */
function Payments({ query, period, isWanted }: PaymentsProps) {
  const { t, format } = useMessages(reportsMessages)
  const [work, setWork] = useState<{ readonly running: boolean; readonly rows?: number; readonly error?: unknown }>({
    running: false,
  })
  const save = async (form: 'csv' | 'json') => {
    setWork({ running: true })
    try {
      const rows = await loadPages('reportPayments', { query: { ...query, limit: pageSize } }, maxPages)
      const name = `payments-${period}.${form}`
      const columns = Object.keys(rows[0] ?? {}) as (keyof (typeof rows)[number])[]
      if (form === 'json') download(name, JSON.stringify(rows, null, 1), 'application/json')
      else download(name, toCsv([columns, ...rows.map((row) => columns.map((each) => row[each]))]), 'text/csv')
      setWork({ running: false, rows: rows.length })
    } catch (error) {
      setWork({ running: false, error })
    }
  }
  return (
    <Panel title={t.byPayment} className="stack">
      <Hint>{t.byPaymentAbout}</Hint>
      <div className="line">
        {(['csv', 'json'] as const).map((form) => (
          <CsvButton
            key={form}
            label={t.paymentsFile(form.toUpperCase())}
            disabled={!isWanted || work.running}
            onClick={() => void save(form)}
          />
        ))}
        {work.rows !== undefined && <span role="status">{t.saved(format.number(work.rows))}</span>}
        {work.rows === pageSize * maxPages && <Hint>{t.cut}</Hint>}
      </div>
      <RefusalNotice error={work.error} />
    </Panel>
  )
}

type ReportRow = Readonly<Record<string, string | number>>
type ReportProps<Row> = RowsProps<Row> & {
  readonly name: string
  readonly period: string
  readonly isShown?: (row: Row) => boolean
}

/** The columns of CSV files are named like those of the page, in English. */
const csvNames: Readonly<Record<string, string>> = {
  turnover_rub: 'gross_sales',
  refunded_rub: 'refunds',
  revenue_rub: 'net_revenue',
  topped_up_rub: 'topped_up',
  taken_back_rub: 'debited',
  held_rub: 'customer_balances',
  fees_rub: 'fees',
  bonuses_rub: 'bonuses',
  amount_rub: 'amount',
  count: 'transactions',
}

/** A table, newest first, with a CSV file of every row and column of the API. */
function Report<Row extends ReportRow>({ name, period, rows, isShown = () => true, ...table }: ReportProps<Row>) {
  const { t } = useMessages(reportsMessages)
  const save = () => {
    const head = Object.keys(rows[0] ?? {})
    const titles = head.map((each) => csvNames[each] ?? each)
    download(
      `${name}-${period}.csv`,
      toCsv([titles, ...rows.map((row) => head.map((each) => row[each] ?? null))]),
      'text/csv',
    )
  }
  const csv = <CsvButton label={t.csv(table.label)} disabled={rows.length === 0} onClick={save} />
  return (
    <Panel title={table.label} aside={csv} className="stack">
      <Rows
        {...table}
        hasCsv={false}
        rows={rows.filter(isShown).toReversed()}
        empty={<Empty icon="chart" title={t.nothing} about={t.nothingAbout} />}
      />
    </Panel>
  )
}

const utcDay = (day: string): number => Date.parse(`${day}T12:00:00Z`)

function useCells() {
  const { format } = useLanguage()
  return {
    day: (row: { readonly day: string }) => format.day(new Date(utcDay(row.day)).toISOString()),
    money: (sum: number) => (sum === 0 ? '–' : format.exactMoney(sum)),
  }
}

/** Whether money moved: the balances of customers change on such days only. */
const hasMoved = (row: Days[number]): boolean =>
  [row.turnover_rub, row.refunded_rub, row.topped_up_rub, row.taken_back_rub].some((sum) => sum !== 0)

function ByDay({ rows, period }: { readonly rows: Days; readonly period: string }) {
  const { t, format } = useMessages(reportsMessages)
  const { day, money } = useCells()
  const times = rows.map((row) => utcDay(row.day))
  const net = sumOf(rows, (row) => row.revenue_rub)
  const toppedUp = sumOf(rows, (row) => row.topped_up_rub)
  const held = rows.at(-1)?.held_rub ?? 0
  return (
    <>
      <Figures
        of={[
          [t.turnover, format.money(sumOf(rows, (row) => row.turnover_rub))],
          [t.refunds, format.money(sumOf(rows, (row) => row.refunded_rub))],
          [t.net, format.money(net)],
          [t.toppedUp, format.money(toppedUp)],
          [t.takenBack, format.money(sumOf(rows, (row) => row.taken_back_rub))],
          [t.held, format.money(held)],
        ]}
      />
      <Panel title={t.flow}>
        <Chart
          label={`${t.net}: ${format.money(net)}. ${t.toppedUp}: ${format.money(toppedUp)}`}
          times={times}
          series={[
            { label: t.net, values: rows.map((row) => row.revenue_rub) },
            { label: t.toppedUp, values: rows.map((row) => row.topped_up_rub) },
          ]}
          write={format.money}
        />
      </Panel>
      <Panel title={t.heldByDay}>
        <Chart
          label={`${t.heldByDay}. ${t.held}: ${format.money(held)}`}
          times={times}
          series={[{ label: t.held, values: rows.map((row) => row.held_rub) }]}
          write={format.money}
        />
      </Panel>
      <Report
        label={t.byDay}
        name="days"
        period={period}
        rows={rows}
        isShown={hasMoved}
        keyOf={(row) => row.day}
        columns={(column) => [
          column(t.day, day),
          column.amount(t.turnover, (row) => row.turnover_rub, money),
          column.amount(t.refunds, (row) => row.refunded_rub, money),
          column.amount(t.net, (row) => row.revenue_rub, money),
          column.amount(t.toppedUp, (row) => row.topped_up_rub, money),
          column.amount(t.takenBack, (row) => row.taken_back_rub, money),
          column.amount(t.held, (row) => row.held_rub, money),
        ]}
      />
    </>
  )
}

type ByMethodProps = {
  readonly rows: OperatorAnswer<'reportMethods'>['items']
  readonly period: string
  /** All credits of these days. The part that has no method is bonuses. */
  readonly credited: number
}

function ByMethod({ rows, period, credited }: ByMethodProps) {
  const { t, format } = useMessages(reportsMessages)
  const { t: methods } = useMessages(methodNames)
  const { day, money } = useCells()
  const nameOf = (method: string): string => (method === 'operator' ? t.byOperator : (methods[method] ?? method))
  const others = Math.round((credited - sumOf(rows, (row) => row.topped_up_rub)) * 100) / 100
  const totals = [
    ...Map.groupBy(rows, (row) => nameOf(row.method))
      .entries()
      .map(([name, of]) => ({ name, sum: sumOf(of, (row) => row.topped_up_rub) })),
    ...(others > 0 ? [{ name: t.bonuses, sum: others }] : []),
    { name: t.total, sum: credited },
  ]
  return (
    <>
      <Panel title={t.toppedUp}>
        <Rows
          label={t.toppedUp}
          rows={totals}
          keyOf={(row) => row.name}
          columns={(column) => [
            column(t.method, (row) => row.name),
            column.amount(t.toppedUp, (row) => row.sum, money),
          ]}
        />
      </Panel>
      <Report
        label={t.byMethod}
        name="methods"
        period={period}
        rows={rows}
        keyOf={(row) => `${row.day} ${row.method}`}
        columns={(column) => [
          column(t.day, day),
          column(t.method, (row) => nameOf(row.method)),
          column.amount(t.payments, (row) => row.payments, format.number),
          column.amount(t.toppedUp, (row) => row.topped_up_rub, money),
          column.amount(t.fees, (row) => row.fees_rub, money),
          column.amount(t.takenBack, (row) => row.taken_back_rub, money),
          column.amount(t.bonuses, (row) => row.bonuses_rub, money),
        ]}
      />
    </>
  )
}

type ByProductProps = { readonly rows: OperatorAnswer<'reportProducts'>['items']; readonly period: string }

function ByProduct({ rows, period }: ByProductProps) {
  const { t, format } = useMessages(reportsMessages)
  const { t: trade } = useMessages(tradeMessages)
  const { day, money } = useCells()
  const totalOf = (name: string, of: typeof rows) => ({
    name,
    gross: sumOf(of, (row) => (row.kind === 'refund' ? 0 : row.amount_rub)),
    refunds: -sumOf(of, (row) => (row.kind === 'refund' ? row.amount_rub : 0)),
  })
  const totals = [
    ...Map.groupBy(rows, (row) => row.product)
      .entries()
      .map(([product, of]) => totalOf(trade.products[product] ?? product, of)),
    totalOf(t.total, rows),
  ]
  return (
    <>
      {rows.length > 0 && (
        <Panel title={t.totals}>
          <Rows
            label={t.totals}
            rows={totals}
            keyOf={(row) => row.name}
            columns={(column) => [
              column(t.product, (row) => row.name),
              column.amount(t.turnover, (row) => row.gross, money),
              column.amount(t.refunds, (row) => row.refunds, money),
              column.number(t.net, (row) => money(sumOf([row.gross, -row.refunds], Number))),
            ]}
          />
        </Panel>
      )}
      <Report
        label={t.byProduct}
        name="products"
        period={period}
        rows={rows}
        keyOf={(row) => `${row.day} ${row.product} ${row.kind}`}
        columns={(column) => [
          column(t.day, day),
          column(t.product, (row) => trade.products[row.product] ?? row.product),
          column(t.kind, (row) => trade.kinds[row.kind] ?? row.kind),
          column.amount(t.count, (row) => row.count, format.number),
          column.amount(t.amount, (row) => row.amount_rub, money),
        ]}
      />
    </>
  )
}
