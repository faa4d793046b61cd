import { Button, TextInput } from '@mantine/core'
import { Chart } from '../shared/chart.tsx'
import { download, toCsv } from '../shared/download.ts'
import { useTyped } from '../shared/form.tsx'
import { useFormat } from '../shared/format.ts'
import { Icon } from '../shared/icons.tsx'
import { useWords } from '../shared/language.tsx'
import { methodNames } from '../shared/method-names.ts'
import { Empty, Figure, Page, Panel, Reading } from '../shared/parts.tsx'
import { type Column, Rows } from '../shared/rows.tsx'
import { tradeWords } from '../shared/trade-words.ts'
import { type Answer, useRead } from './api.ts'
import { reportsWords } from './reports-words.ts'

type Days = Answer<'reportDays'>['items']
type Methods = Answer<'reportMethods'>['items']
type Products = Answer<'reportProducts'>['items']

const dayMs = 86_400_000
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text)
const sumOf = <Row,>(rows: readonly Row[], of: (row: Row) => number): number =>
  Math.round(rows.reduce((sum, row) => sum + of(row), 0) * 100) / 100

export function ReportsPage() {
  const words = useWords(reportsWords)
  const from = useTyped(dayOf(Date.now() - 29 * dayMs))
  const to = useTyped(dayOf(Date.now()))
  const isAsked = isDay(from.text) && isDay(to.text)
  // The shop's days end before the one that is named, and people mean that one too.
  const query = isAsked ? { from: from.text, to: dayOf(Date.parse(to.text) + dayMs) } : {}
  const days = useRead('reportDays', { query }, { isWanted: isAsked })
  const methods = useRead('reportMethods', { query }, { isWanted: isAsked })
  const products = useRead('reportProducts', { query }, { isWanted: isAsked })
  return (
    <Page title={words.title} about={words.about}>
      <Panel className="line fields">
        <TextInput type="date" label={words.from} {...from.props} />
        <TextInput type="date" label={words.to} {...to.props} />
      </Panel>
      <Reading of={days} height={400}>
        {({ items }) => <ByDay rows={items} />}
      </Reading>
      <Reading of={methods}>{({ items }) => <ByMethod rows={items} />}</Reading>
      <Reading of={products}>{({ items }) => <ByProduct rows={items} />}</Reading>
    </Page>
  )
}

type ReportProps<Row> = {
  readonly title: string
  readonly name: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  /** Which rows are shown; all of them unless said. */
  readonly isShown?: (row: Row) => boolean
}

/** A table, newest first, that can be taken away: the file has every row and column as the API has them. */
function Report<Row extends Readonly<Record<string, string | number>>>(props: ReportProps<Row>) {
  const words = useWords(reportsWords)
  const { title, name, rows, columns, keyOf, isShown = () => true } = props
  const [first] = rows
  const shown = rows.filter(isShown).toReversed()
  const save = () => {
    const head = Object.keys(first ?? {})
    download(`${name}.csv`, toCsv([head, ...rows.map((row) => head.map((each) => row[each] ?? null))]), 'text/csv')
  }
  const csv = (
    <Button
      variant="default"
      size="xs"
      disabled={first === undefined}
      leftSection={<Icon name="download" size={15} />}
      onClick={save}
    >
      {words.csv(title)}
    </Button>
  )
  return (
    <Panel title={title} aside={csv} className="stack">
      {shown.length === 0 ? (
        <Empty icon="chart" title={words.nothing} about={words.nothingAbout} />
      ) : (
        <Rows label={title} rows={shown} columns={columns} keyOf={keyOf} />
      )}
    </Panel>
  )
}

const utcDay = (day: string): number => Date.parse(`${day}T12:00:00Z`)

/** Columns of a report: its day, and amounts of money. */
function useColumns<Row extends { readonly day: string }>() {
  const words = useWords(reportsWords)
  const format = useFormat()
  const day: Column<Row> = {
    name: 'day',
    label: words.day,
    show: (row) => format.day(new Date(utcDay(row.day)).toISOString()),
  }
  const money = (name: string, label: string, of: (row: Row) => number): Column<Row> => ({
    name,
    label,
    isFigure: true,
    show: (row) => (of(row) === 0 ? '–' : format.exactMoney(of(row))),
  })
  return { format, day, money }
}

/** What customers hold changes on such days alone, so the others say nothing new. */
const hasMoved = (row: Days[number]): boolean =>
  [row.turnover_rub, row.refunded_rub, row.topped_up_rub, row.taken_back_rub].some((sum) => sum !== 0)

function ByDay({ rows }: { readonly rows: Days }) {
  const words = useWords(reportsWords)
  const { format, day, money } = useColumns<Days[number]>()
  const figures = [
    [words.turnover, sumOf(rows, (row) => row.turnover_rub)],
    [words.refunded, sumOf(rows, (row) => row.refunded_rub)],
    [words.toppedUp, sumOf(rows, (row) => row.topped_up_rub)],
    [words.takenBack, sumOf(rows, (row) => row.taken_back_rub)],
    [words.held, rows.at(-1)?.held_rub ?? 0],
  ] as const
  const times = rows.map((row) => utcDay(row.day))
  return (
    <>
      <div className="cards">
        {figures.map(([label, value]) => (
          <Panel key={label}>
            <Figure label={label} value={format.money(Math.round(value))} />
          </Panel>
        ))}
      </div>
      <Panel title={words.flow}>
        <Chart
          label={`${words.turnover}: ${format.money(figures[0][1])}. ${words.toppedUp}: ${format.money(figures[2][1])}`}
          times={times}
          series={[
            { label: words.turnover, values: rows.map((row) => row.turnover_rub) },
            { label: words.toppedUp, values: rows.map((row) => row.topped_up_rub) },
          ]}
          write={format.money}
        />
      </Panel>
      <Panel title={words.heldByDay}>
        <Chart
          label={`${words.heldByDay}. ${words.held}: ${format.money(figures[4][1])}`}
          times={times}
          series={[{ label: words.held, values: rows.map((row) => row.held_rub) }]}
          write={format.money}
        />
      </Panel>
      <Report
        title={words.byDay}
        name="days"
        rows={rows}
        isShown={hasMoved}
        keyOf={(row) => row.day}
        columns={[
          day,
          money('turnover', words.turnover, (row) => row.turnover_rub),
          money('refunded', words.refunded, (row) => row.refunded_rub),
          money('toppedUp', words.toppedUp, (row) => row.topped_up_rub),
          money('takenBack', words.takenBack, (row) => row.taken_back_rub),
          money('held', words.held, (row) => row.held_rub),
        ]}
      />
    </>
  )
}

function ByMethod({ rows }: { readonly rows: Methods }) {
  const words = useWords(reportsWords)
  const names = useWords(methodNames)
  const { format, day, money } = useColumns<Methods[number]>()
  return (
    <Report
      title={words.byMethod}
      name="methods"
      rows={rows}
      keyOf={(row) => `${row.day} ${row.method}`}
      columns={[
        day,
        { name: 'method', label: words.method, show: (row) => names[row.method] ?? row.method },
        { name: 'payments', label: words.payments, isFigure: true, show: (row) => format.number(row.payments) },
        money('toppedUp', words.toppedUp, (row) => row.topped_up_rub),
        money('fees', words.fees, (row) => row.fees_rub),
        money('takenBack', words.takenBack, (row) => row.taken_back_rub),
        money('bonuses', words.bonuses, (row) => row.bonuses_rub),
      ]}
    />
  )
}

function ByProduct({ rows }: { readonly rows: Products }) {
  const words = useWords(reportsWords)
  const trade = useWords(tradeWords)
  const { format, day, money } = useColumns<Products[number]>()
  return (
    <Report
      title={words.byProduct}
      name="products"
      rows={rows}
      keyOf={(row) => `${row.day} ${row.product} ${row.kind}`}
      columns={[
        day,
        { name: 'product', label: words.product, show: (row) => trade.products[row.product] ?? row.product },
        { name: 'kind', label: words.kind, show: (row) => trade.kinds[row.kind] ?? row.kind },
        { name: 'count', label: words.count, isFigure: true, show: (row) => format.number(row.count) },
        money('amount', words.amount, (row) => row.amount_rub),
      ]}
    />
  )
}
