import { Text } from '@mantine/core'
import { Chart } from '../shared/chart.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import { Cell, OnOff, Panel, Reading, Rows, Status } from '../shared/parts.tsx'
import { tradeMessages } from '../shared/trade.ts'
import { type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'

const serviceMessages = messages({
  ...operatorTexts,
  vpn: pair('VPN subscriptions', 'Подписки VPN'),
  noVpn: pair('No VPN subscriptions.', 'Подписок VPN нет.'),
  premium: pair('Premium traffic', 'Премиум-трафик'),
  noTraffic: pair('No premium traffic.', 'Премиум-трафика нет.'),
  subuser: pair('Sub-user', 'Субпользователь'),
  left: pair('Left', 'Осталось'),
  usedBytes: pair('Used', 'Использовано'),
  usage: pair('Traffic in 30 days', 'Трафик за 30 дней'),
})

type Services = OperatorAnswer<'getCustomerServices'>

/** A customer's VPN subscriptions, premium traffic and its use in the last 30 days. */
export function Services({ id }: { readonly id: string }) {
  const { t } = useMessages(serviceMessages)
  const services = useRead('getCustomerServices', { params: { customer_id: id } })
  return (
    <Reading of={services} height={240}>
      {({ vpn, traffic, usage }) => (
        <>
          <Panel title={t.vpn}>
            <Subscriptions rows={vpn} />
          </Panel>
          <Panel title={t.premium} className="stack">
            <Accounts rows={traffic} />
            {usage.length > 0 && <Usage rows={usage} />}
          </Panel>
        </>
      )}
    </Reading>
  )
}

function Subscriptions({ rows }: { readonly rows: Services['vpn'] }) {
  const { t, format } = useMessages(serviceMessages)
  return (
    <Rows
      label={t.vpn}
      rows={rows}
      keyOf={(row) => row.uuid}
      empty={<Text c="dimmed">{t.noVpn}</Text>}
      columns={(column) => [
        column(t.until, (row) => (
          <Cell note={row.auto_renew_months !== null && t.renews}>
            <a href={`#/vpn/${row.uuid}`}>{format.moment(row.expires_at)}</a>
          </Cell>
        )),
        column(t.status, (row) => (
          <Status tone={row.status === 'ACTIVE' ? 'good' : 'quiet'}>{t.states[row.status] ?? row.status}</Status>
        )),
        column.number(t.devices, (row) => `${format.number(row.devices)} / ${format.number(row.device_limit)}`),
        column.amount(t.received, (row) => row.rx_bytes, format.bytes),
        column.amount(t.sent, (row) => row.tx_bytes, format.bytes),
      ]}
    />
  )
}

function Accounts({ rows }: { readonly rows: Services['traffic'] }) {
  const { t, format } = useMessages(serviceMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Rows
      label={t.premium}
      rows={rows}
      keyOf={(row) => row.subuser_id + row.pool}
      empty={<Text c="dimmed">{t.noTraffic}</Text>}
      columns={(column) => [
        column(t.subuser, (row) => <Cell note={row.login}>{row.name}</Cell>),
        column(t.pool, (row) => trade.pools[row.pool] ?? row.pool),
        column(t.status, (row) => <OnOff isOn={!row.blocked} on={t.active} off={t.blocked} />),
        column.amount(t.left, (row) => row.left_bytes, format.bytes),
        column.amount(t.usedBytes, (row) => row.used_bytes, format.bytes),
      ]}
    />
  )
}

function Usage({ rows }: { readonly rows: Services['usage'] }) {
  const { t, format } = useMessages(serviceMessages)
  const sum = rows.reduce((all, each) => all + each.rx_bytes + each.tx_bytes, 0)
  return (
    <div>
      <Text fw={600}>
        {t.usage}: {format.bytes(sum)}
      </Text>
      <Chart
        label={`${t.usage}: ${format.bytes(sum)}`}
        times={rows.map((each) => Date.parse(each.day))}
        series={[
          { label: t.received, values: rows.map((each) => each.rx_bytes) },
          { label: t.sent, values: rows.map((each) => each.tx_bytes) },
        ]}
        write={format.bytes}
      />
    </div>
  )
}
