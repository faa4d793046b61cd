import { Chart } from '../shared/chart.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Empty, Figure, Page, Panel, Reading } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { type Answer, useRead } from './api.ts'
import { NodesTable } from './network.tsx'
import { operatorWords } from './words.ts'

type Overview = Answer<'getOverview'>

/** It is looked at from afar, so it looks again by itself. */
const everyMs = 15_000

export function OverviewPage() {
  const words = useWords(operatorWords)
  const found = useRead('getOverview', { query: { days: 30 } }, { everyMs })
  return (
    <Page title={words.overview} about={words.overviewAbout}>
      <Reading of={found} height={400}>
        {(overview) => (
          <>
            <Figures of={overview} />
            <Revenue of={overview} />
            <Panel title={words.nodes}>
              <NodesTable />
            </Panel>
            <Panel title={words.stock}>
              <Stock rows={overview.stock} />
            </Panel>
          </>
        )}
      </Reading>
    </Page>
  )
}

function Figures({ of }: { readonly of: Overview }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const revenue = of.days.reduce((sum, each) => sum + each.revenue_rub, 0)
  const { online, offline, closed } = of.nodes
  const interrupted = of.active.interrupted > 0 ? words.interrupted(format.number(of.active.interrupted)) : undefined
  return (
    <div className="cards">
      <Panel>
        <Figure label={words.revenue} value={format.money(Math.round(revenue))} />
      </Panel>
      <Panel>
        <Figure
          label={words.activeProxies}
          value={format.number(of.active.proxies)}
          {...(interrupted !== undefined && { note: interrupted })}
        />
      </Panel>
      <Panel>
        <Figure label={words.activeVpn} value={format.number(of.active.vpn)} />
      </Panel>
      <Panel>
        <Figure label={words.customers} value={format.number(of.customers)} />
      </Panel>
      <Panel>
        <Figure
          label={words.nodes}
          value={format.number(online)}
          note={words.nodesUp(format.number(online), format.number(online + offline + closed))}
        />
      </Panel>
    </div>
  )
}

function Revenue({ of }: { readonly of: Overview }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const sum = of.days.reduce((all, each) => all + each.revenue_rub, 0)
  return (
    <Panel title={words.revenueByDay} aside={<span className="quiet">{format.money(sum)}</span>}>
      {of.days.every((each) => each.sold_rub === 0) ? (
        <Empty icon="chart" title={words.noRevenue} about={words.noRevenueAbout} />
      ) : (
        <Chart
          label={`${words.revenueByDay}. ${words.revenue}: ${format.money(sum)}`}
          times={of.days.map((each) => Date.parse(each.day))}
          series={[
            { label: words.sold, values: of.days.map((each) => each.sold_rub) },
            { label: words.refunded, values: of.days.map((each) => each.refunded_rub) },
          ]}
          write={format.money}
        />
      )}
    </Panel>
  )
}

export function Stock({ rows }: { readonly rows: Overview['stock'] }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  return (
    <Rows
      label={words.stock}
      rows={rows}
      keyOf={(row) => `${row.country}${row.ipv}`}
      columns={[
        {
          name: 'country',
          label: words.country,
          show: (row) => (
            <span>
              <span className="code">{row.country}</span> {format.country(row.country)}
            </span>
          ),
        },
        { name: 'kind', label: words.kind, show: (row) => words.kinds[row.ipv] },
        { name: 'free', label: words.free, isFigure: true, show: (row) => format.number(row.free) },
        { name: 'leased', label: words.leased, isFigure: true, show: (row) => format.number(row.leased) },
        { name: 'resting', label: words.resting, isFigure: true, show: (row) => format.number(row.resting) },
        { name: 'retired', label: words.retired, isFigure: true, show: (row) => format.number(row.retired) },
      ]}
    />
  )
}
