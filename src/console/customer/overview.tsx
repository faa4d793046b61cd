import { Button, Text } from '@mantine/core'
import type { Proxy } from '../client/customer.ts'
import { useNow } from '../shared/browser.ts'
import { Chart } from '../shared/chart.tsx'
import { Icon } from '../shared/icons.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Empty, Figures, Page, Panel, Reading, Rows } from '../shared/parts.tsx'
import { useRead } from './api.ts'
import { nameOf, useProxies } from './dedicated/list.tsx'
import { customerTexts } from './messages.ts'
import { useMonthMovements } from './money/page.tsx'
import { spentByDay, spentIn } from './money/spending.ts'
import { usePools } from './premium/pools.tsx'

const overviewMessages = messages({
  ...customerTexts,
  about: pair(
    'Your services, spending, and proxies that expire soon.',
    'Ваши услуги, расходы и прокси, срок которых скоро истечёт.',
  ),
  proxies: pair('Active proxies', 'Активных прокси'),
  traffic: pair('Premium traffic', 'Премиум-трафик'),
  vpnUntil: pair('VPN until', 'VPN до'),
  noVpn: pair('No subscription', 'Подписки нет'),
  spending: pair('Spending', 'Расходы'),
  spent: phrase('{sum} in 30 days', '{sum} за 30 дней'),
  nothingSpent: pair('Nothing was spent in the last 30 days', 'За последние 30 дней расходов не было'),
  nothingSpentAbout: pair('Daily spending will be charted here.', 'Здесь появится график расходов по дням.'),
  soon: pair('Expires within a week', 'Истекает в течение недели'),
  soonNone: pair('Nothing expires within a week', 'В ближайшую неделю ничего не истекает'),
  soonNoneAbout: pair(
    'Proxies that expire within a week will be listed here.',
    'Здесь появятся прокси, которые пора продлить.',
  ),
  ends: pair('Expires', 'Истекает'),
  dedicatedAbout: pair(
    'A dedicated address in a country of your choice, from 3 days.',
    'Выделенный адрес в выбранной стране, от 3 дней.',
  ),
  premiumAbout: pair(
    'Pools of addresses with payment per gigabyte and address rotation.',
    'Пулы адресов с оплатой за гигабайты и сменой адреса.',
  ),
  vpnAbout: pair(
    'WireGuard for your phone and computer. Set up by scanning a QR code.',
    'WireGuard для телефона и компьютера. Настройка по QR-коду.',
  ),
  toDedicated: pair('Choose proxies', 'Выбрать прокси'),
  toPremium: pair('Choose traffic', 'Выбрать трафик'),
  toVpn: pair('Choose a term', 'Выбрать срок'),
})

const dayMs = 86_400_000

export function Overview() {
  const { t, format } = useMessages(overviewMessages)
  const proxies = useProxies()
  const pools = usePools()
  const vpn = useRead('getVpn')
  const balance = useRead('getBalance').data
  const active = proxies.data?.filter((each) => each.status === 'active').length
  const trafficGb = pools.data?.reduce((sum, each) => sum + each.traffic_gb, 0)
  const vpnUntil = vpn.data?.status === 'ACTIVE' ? vpn.data.expires_at : null
  const isNew =
    proxies.data?.length === 0 &&
    vpn.data?.items.length === 0 &&
    pools.data?.every((each) => each.purchased_gb === 0) === true
  return (
    <Page title={t.overview} about={t.about}>
      <Figures
        of={[
          [t.balance, balance && format.exactMoney(balance.balance_rub)],
          [t.proxies, active === undefined ? undefined : format.number(active)],
          [t.traffic, trafficGb === undefined ? undefined : format.gigabytes(trafficGb)],
          [t.vpnUntil, vpnUntil === null ? <Text c="dimmed">{t.noVpn}</Text> : format.day(vpnUntil)],
        ]}
      />
      {isNew ? <Start /> : <Spending />}
      {!isNew && (
        <Panel title={t.soon}>
          <Reading of={proxies}>{(all) => <EndingSoon all={all} />}</Reading>
        </Panel>
      )}
    </Page>
  )
}

function Spending() {
  const { t, format } = useMessages(overviewMessages)
  const nowAt = useNow(3_600_000)
  const movements = useMonthMovements()
  const sum = movements.data === undefined ? 0 : spentIn(movements.data)
  return (
    <Panel title={t.spending} aside={<span className="quiet">{t.spent(format.money(sum))}</span>}>
      <Reading of={movements} height={220}>
        {(found) => {
          const { times, values } = spentByDay(found, nowAt)
          if (values.every((each) => each === 0)) {
            return <Empty icon="chart" title={t.nothingSpent} about={t.nothingSpentAbout} />
          }
          return (
            <Chart
              label={`${t.spending}. ${t.spent(format.money(sum))}`}
              times={times}
              series={[{ label: t.spending, values }]}
              write={format.money}
            />
          )
        }}
      </Reading>
    </Panel>
  )
}

function EndingSoon({ all }: { readonly all: readonly Proxy[] }) {
  const { t, format } = useMessages(overviewMessages)
  const nowAt = useNow()
  const ending = all
    .filter((each) => each.auto_renew === null && Date.parse(each.expires_at) < nowAt + 7 * dayMs)
    .toSorted((a, b) => a.expires_at.localeCompare(b.expires_at))
  return (
    <Rows
      label={t.soon}
      rows={ending.slice(0, 10)}
      keyOf={(row) => row.id}
      empty={<Empty icon="check" title={t.soonNone} about={t.soonNoneAbout} />}
      columns={(column) => [
        column(t.address, (row) => <span className="mono">{nameOf(row)}</span>),
        column(t.ends, (row) => format.away(row.expires_at, nowAt)),
        column.action(t.prolong, (row) => (
          <a href={`#/dedicated/${row.id}`} aria-label={`${t.prolong} ${nameOf(row)}`}>
            {t.prolong}
          </a>
        )),
      ]}
    />
  )
}

function Start() {
  const { t } = useMessages(overviewMessages)
  const offers = [
    ['server', t.dedicated, t.dedicatedAbout, t.toDedicated, '#/dedicated/buy'],
    ['globe', t.premium, t.premiumAbout, t.toPremium, '#/premium'],
    ['shield', t.vpn, t.vpnAbout, t.toVpn, '#/vpn'],
  ] as const
  return (
    <div className="cards offers">
      {offers.map(([icon, title, about, label, href]) => (
        <Panel key={href} className="offer">
          <Icon name={icon} size={28} />
          <Text fw={650} component="h2">
            {title}
          </Text>
          <Text c="dimmed">{about}</Text>
          <Button component="a" href={href} variant="light">
            {label}
          </Button>
        </Panel>
      ))}
    </div>
  )
}
