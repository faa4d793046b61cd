import { TextInput } from '@mantine/core'
import { download, toCsv } from '../shared/browser.ts'
import { Chart } from '../shared/chart.tsx'
import { useTyped } from '../shared/form.tsx'
import { messages, pair, phrase, useLanguage, useMessages } from '../shared/messages.tsx'
import { CsvButton, Empty, Figures, Page, Panel, Reading, Rows, type RowsProps } from '../shared/parts.tsx'
import { methodNames, tradeMessages } from '../shared/trade.ts'
import { type OperatorAnswer, useRead } from './api.ts'

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
  count: pair('Transactions', 'Операций'),
  csv: phrase('CSV: {report}', 'CSV: {report}'),
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
  const methods = useRead('reportMethods', { query }, { isWanted })
  const products = useRead('reportProducts', { query }, { isWanted })
  return (
    <Page title={t.title} about={t.about}>
      <Panel className="line fields">
        <TextInput type="date" label={t.from} {...from.props} />
        <TextInput type="date" label={t.to} {...to.props} />
      </Panel>
      <Reading of={useRead('reportDays', { query }, { isWanted })} height={400}>
        {({ items }) => <ByDay rows={items} />}
      </Reading>
      <Reading of={methods}>{({ items }) => <ByMethod rows={items} />}</Reading>
      <Reading of={products}>{({ items }) => <ByProduct rows={items} />}</Reading>
    </Page>
  )
}

type ReportRow = Readonly<Record<string, string | number>>
type ReportProps<Row> = RowsProps<Row> & { readonly name: string; readonly isShown?: (row: Row) => boolean }

/** A table, newest first, with a CSV file of every row and column as the API has them. */
function Report<Row extends ReportRow>({ name, rows, isShown = () => true, ...table }: ReportProps<Row>) {
  const { t } = useMessages(reportsMessages)
  const save = () => {
    const head = Object.keys(rows[0] ?? {})
    download(`${name}.csv`, toCsv([head, ...rows.map((row) => head.map((each) => row[each] ?? null))]), 'text/csv')
  }
  const csv = <CsvButton label={t.csv(table.label)} disabled={rows.length === 0} onClick={save} />
  return (
    <Panel title={table.label} aside={csv} className="stack">
      <Rows
        {...table}
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

function ByDay({ rows }: { readonly rows: Days }) {
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
        rows={rows}
        isShown={hasMoved}
        keyOf={(row) => row.day}
        columns={(column) => [
          column(t.day, day),
          column.number(t.turnover, (row) => money(row.turnover_rub)),
          column.number(t.refunds, (row) => money(row.refunded_rub)),
          column.number(t.net, (row) => money(row.revenue_rub)),
          column.number(t.toppedUp, (row) => money(row.topped_up_rub)),
          column.number(t.takenBack, (row) => money(row.taken_back_rub)),
          column.number(t.held, (row) => money(row.held_rub)),
        ]}
      />
    </>
  )
}

function ByMethod({ rows }: { readonly rows: OperatorAnswer<'reportMethods'>['items'] }) {
  const { t, format } = useMessages(reportsMessages)
  const { t: methods } = useMessages(methodNames)
  const { day, money } = useCells()
  return (
    <Report
      label={t.byMethod}
      name="methods"
      rows={rows}
      keyOf={(row) => `${row.day} ${row.method}`}
      columns={(column) => [
        column(t.day, day),
        column(t.method, (row) => methods[row.method] ?? row.method),
        column.number(t.payments, (row) => format.number(row.payments)),
        column.number(t.toppedUp, (row) => money(row.topped_up_rub)),
        column.number(t.fees, (row) => money(row.fees_rub)),
        column.number(t.takenBack, (row) => money(row.taken_back_rub)),
        column.number(t.bonuses, (row) => money(row.bonuses_rub)),
      ]}
    />
  )
}

function ByProduct({ rows }: { readonly rows: OperatorAnswer<'reportProducts'>['items'] }) {
  const { t, format } = useMessages(reportsMessages)
  const { t: trade } = useMessages(tradeMessages)
  const { day, money } = useCells()
  return (
    <Report
      label={t.byProduct}
      name="products"
      rows={rows}
      keyOf={(row) => `${row.day} ${row.product} ${row.kind}`}
      columns={(column) => [
        column(t.day, day),
        column(t.product, (row) => trade.products[row.product] ?? row.product),
        column(t.kind, (row) => trade.kinds[row.kind] ?? row.kind),
        column.number(t.count, (row) => format.number(row.count)),
        column.number(t.amount, (row) => money(row.amount_rub)),
      ]}
    />
  )
}
