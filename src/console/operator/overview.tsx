import { Text } from '@mantine/core'
import { Chart } from '../shared/chart.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Cell, Country, Empty, Figures, Page, Panel, Reading, Rows } from '../shared/parts.tsx'
import { LatestActivity } from './activity-table.tsx'
import { type OperatorAnswer, useRead } from './api.ts'
import { operatorMessages } from './messages.ts'
import { NodesTable } from './nodes-table.tsx'
import { SetupPanel } from './setup.tsx'
import { UpcomingPanel } from './upcoming.tsx'

type Overview = OperatorAnswer<'getOverview'>

export function OverviewPage() {
  const { t } = useMessages(operatorMessages)
  return (
    <Page title={t.overview} about={t.overviewAbout}>
      <SetupPanel />
      <Reading of={useRead('getOverview', { query: { days: 30 } }, { everyMs: 15_000 })} height={400}>
        {(overview) => (
          <>
            <OfflineNotice of={overview} />
            <Business of={overview} />
            <Counts of={overview} />
            <Revenue of={overview} />
            <UpcomingPanel />
            <Panel title={t.activity} aside={<a href="#/activity">{t.allActivity}</a>}>
              <LatestActivity />
            </Panel>
            <Panel title={t.nodes}>
              <NodesTable />
            </Panel>
            <Panel title={t.stock}>
              <Stock rows={overview.stock} />
            </Panel>
          </>
        )}
      </Reading>
    </Page>
  )
}

/** In red at the head of the first page: nodes that served customers and do not report now. */
function OfflineNotice({ of: { nodes, active } }: { readonly of: Overview }) {
  const { t, format } = useMessages(operatorMessages)
  if (nodes.offline === 0) return null
  return (
    <div role="alert" className="notice">
      <Text fw={600}>{nodes.online === 0 ? t.allOffline : t.someOffline(format.number(nodes.offline))}</Text>
      <Text size="sm">
        {active.interrupted > 0 && `${t.interruptedProxies(format.number(active.interrupted))} `}
        <a href="#/network">{t.showNodes}</a>
      </Text>
    </div>
  )
}

/** How a figure differs from the same days before, such as "+12% (₽900 before)". */
function Compared({
  now,
  before,
  write,
}: {
  readonly now: number
  readonly before: number
  readonly write: (value: number) => string
}) {
  const { t, format } = useMessages(operatorMessages)
  if (now === before) return t.asBefore
  const change = before > 0 ? Math.round(((now - before) / before) * 100) : undefined
  const sign = now > before ? '+' : '−'
  const percent = change === undefined ? '' : `${sign}${format.percent(Math.abs(change))} `
  return (
    <>
      {percent}
      {t.before(write(before))}
    </>
  )
}

/** Revenue, orders, new customers and traffic beside the same days before. */
function Business({ of: { compared } }: { readonly of: Overview }) {
  const { t, format } = useMessages(operatorMessages)
  const { now, before } = compared
  const note = (name: 'revenue_rub' | 'orders' | 'customers', write: (value: number) => string) => (
    <Compared now={now[name]} before={before[name]} write={write} />
  )
  const traffic = [now.relayed_bytes, before.relayed_bytes] as const
  return (
    <Figures
      of={[
        [t.revenue, format.money(now.revenue_rub), note('revenue_rub', format.money)],
        [t.ordersIn30, format.number(now.orders), note('orders', format.number)],
        [t.newCustomers, format.number(now.customers), note('customers', format.number)],
        [
          t.relayedIn30,
          traffic[0] === null ? '–' : format.bytes(traffic[0]),
          traffic[0] === null || traffic[1] === null ? (
            t.noTrafficBefore
          ) : (
            <Compared now={traffic[0]} before={traffic[1]} write={format.bytes} />
          ),
        ],
      ]}
    />
  )
}

/** Net revenue of the days, exact to the kopeck: a sum of roubles is not. */
const netOf = (days: Overview['days']): number =>
  Math.round(days.reduce((sum, each) => sum + each.revenue_rub, 0) * 100) / 100

function Counts({ of }: { readonly of: Overview }) {
  const { t, format } = useMessages(operatorMessages)
  const { online, offline, closed } = of.nodes
  const interrupted = of.active.interrupted > 0 ? t.interrupted(format.number(of.active.interrupted)) : undefined
  return (
    <Figures
      of={[
        [t.activeProxies, format.number(of.active.proxies), interrupted],
        [t.activeVpn, format.number(of.active.vpn)],
        [t.customers, format.number(of.customers)],
        [t.nodes, format.number(online), t.nodesUp(format.number(online), format.number(online + offline + closed))],
      ]}
    />
  )
}

function Revenue({ of }: { readonly of: Overview }) {
  const { t, format } = useMessages(operatorMessages)
  const sum = netOf(of.days)
  return (
    <Panel title={t.revenueByDay} aside={<span className="quiet">{`${t.revenue}: ${format.money(sum)}`}</span>}>
      {of.days.every((each) => each.sold_rub === 0) ? (
        <Empty icon="chart" title={t.noRevenue} about={t.noRevenueAbout} />
      ) : (
        <Chart
          label={`${t.revenueByDay}. ${t.revenue}: ${format.money(sum)}`}
          times={of.days.map((each) => Date.parse(each.day))}
          series={[
            { label: t.sold, values: of.days.map((each) => each.sold_rub) },
            { label: t.refunds, values: of.days.map((each) => each.refunded_rub) },
          ]}
          write={format.money}
        />
      )}
    </Panel>
  )
}

type StockRow = Overview['stock'][number] & { readonly hasBlock: boolean }

/** Slots by country and kind. An IPv6 block has no slots before a sale; a shared address has three. */
export function Stock({ rows }: { readonly rows: Overview['stock'] }) {
  const { t, format } = useMessages(operatorMessages)
  const blocks = useRead('listBlocks').data?.items.filter((each) => each.retired_at === null) ?? []
  const inBlocks = new Set(blocks.map((each) => each.country))
  const listed = new Set(rows.map((each) => `${each.country}${each.ipv}`))
  const none = { ipv: 6, free: 0, leased: 0, resting: 0, retired: 0, hasBlock: true }
  const all: readonly StockRow[] = [
    ...rows.map((each) => ({ ...each, hasBlock: each.ipv === 6 && inBlocks.has(each.country) })),
    ...[...inBlocks].filter((country) => !listed.has(`${country}6`)).map((country) => ({ ...none, country })),
  ]
  const noteOf = (row: StockRow) => (row.hasBlock ? t.asBlock : row.ipv === 3 && t.threeSlots)
  return (
    <Rows
      label={t.stock}
      rows={all}
      keyOf={(row) => `${row.country}${row.ipv}`}
      columns={(column) => [
        column(
          t.country,
          (row) => <Country code={row.country} />,
          (row) => row.country,
        ),
        column.text(t.kind, (row) => <Cell note={noteOf(row)}>{t.kinds[row.ipv]}</Cell>),
        column.number(t.freeSlots, (row) => (row.hasBlock ? t.unlimited : format.number(row.free))),
        column.amount(t.leased, (row) => row.leased, format.number),
        column.amount(t.resting, (row) => row.resting, format.number),
        column.amount(t.retired, (row) => row.retired, format.number),
      ]}
    />
  )
}
