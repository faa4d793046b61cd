import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import type { Proxy, VpnSubscription } from '../client/customer.ts'
import { useNow } from '../shared/browser.ts'
import { Chart } from '../shared/chart.tsx'
import { Dialog } from '../shared/dialog.tsx'
import { Icon } from '../shared/icons.tsx'
import { lazyPage } from '../shared/lazy-page.tsx'
import { type Format, messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Cell, Empty, Figures, Page, Panel, Reading, Rows } from '../shared/parts.tsx'
import { useRead } from './api.ts'
import { nameOf } from './dedicated/endpoint.ts'
import { useUsualPrice } from './dedicated/prolong-quote.ts'
import { useProxies } from './dedicated/use-proxies.ts'
import { FirstSteps } from './first-steps.tsx'
import { customerTexts } from './messages.ts'
import { useMonthMovements } from './money/movements.ts'
import { spentByDay, spentIn } from './money/spending.ts'
import { usePools } from './premium/use-pools.ts'
import { useHasVpn } from './use-vpn.ts'

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
  vpnTraffic: pair('VPN traffic used', 'Израсходовано трафика VPN'),
  ofLimit: phrase('of {limit}', 'из {limit}'),
  spending: pair('Spending', 'Расходы'),
  spent: phrase('{sum} in 30 days', '{sum} за 30 дней'),
  nothingSpent: pair('Nothing was spent in the last 30 days', 'За последние 30 дней расходов не было'),
  nothingSpentAbout: pair('Daily spending will be charted here.', 'Здесь появится график расходов по дням.'),
  soon: pair('Expires within a week', 'Истекает в течение недели'),
  soonNone: pair('Nothing expires within a week', 'В ближайшую неделю ничего не истекает'),
  soonNoneAbout: pair('Proxies to prolong will be listed here.', 'Здесь появятся прокси, которые пора продлить.'),
  soonCount: pair(
    (count: number, format: Format) => format.plural(count, 'proxy', 'proxies'),
    (count, format) => `${format.number(count)} прокси`,
  ),
  prolongAll: pair('Prolong all', 'Продлить все'),
  forPrice: phrase('{what} for {price}', '{what} за {price}'),
  ends: pair('Expires', 'Истекает'),
  dedicatedAbout: pair('A dedicated address in a country of your choice', 'Выделенный адрес в выбранной стране'),
  fromDays: pair(
    (count: number, format: Format) => `from ${format.plural(count, 'day', 'days')}`,
    (count, format) => `от ${format.plural(count, 'дня', 'дней')}`,
  ),
  premiumAbout: pair(
    'Pools of addresses with payment per gigabyte and address rotation.',
    'Пулы адресов с оплатой за гигабайты и сменой адреса.',
  ),
  vpnAbout: pair(
    'For your phone and computer: one link for an app, or a QR code.',
    'Для телефона и компьютера: одна ссылка для приложения или QR-код.',
  ),
  toProxies: pair('Show all proxies', 'Показать все прокси'),
  toDedicated: pair('Choose proxies', 'Выбрать прокси'),
  toPremium: pair('Choose traffic', 'Выбрать трафик'),
  toVpn: pair('Choose a term', 'Выбрать срок'),
})

const dayMs = 86_400_000

/** Loaded when the dialog is opened. */
const ProlongForm = lazyPage(async () => (await import('./dedicated/bulk.tsx')).ProlongForm)

export function Overview() {
  const { t, format } = useMessages(overviewMessages)
  const proxies = useProxies()
  const pools = usePools()
  const vpn = useRead('getVpn')
  const balance = useRead('getBalance').data
  const active = proxies.data?.filter((each) => each.status === 'active').length
  const trafficGb = pools.data?.reduce((sum, each) => sum + each.traffic_gb, 0)
  const hasPools = pools.data?.length !== 0
  const hasVpn = useHasVpn()
  const vpnUntil = vpn.data?.status === 'ACTIVE' ? vpn.data.expires_at : null
  const used = vpn.data && usedBy(vpn.data.items)
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
          ...(hasPools
            ? [[t.traffic, trafficGb === undefined ? undefined : format.gigabytes(trafficGb)] as const]
            : []),
          ...(hasVpn
            ? [[t.vpnUntil, vpnUntil === null ? <Text c="dimmed">{t.noVpn}</Text> : format.day(vpnUntil)] as const]
            : []),
          ...(used === undefined
            ? []
            : [[t.vpnTraffic, format.bytes(used.bytes), used.limit && t.ofLimit(format.bytes(used.limit))] as const]),
        ]}
      />
      <FirstSteps />
      {isNew ? <Start hasPools={hasPools} hasVpn={hasVpn} /> : <Spending />}
      {!isNew && <Reading of={proxies}>{(all) => <EndingSoon all={all} />}</Reading>}
    </Page>
  )
}

/** What all subscriptions have used, and their limit if each has one; undefined without a subscription. */
function usedBy(items: readonly VpnSubscription[]) {
  if (items.length === 0) return undefined
  const bytes = items.reduce((sum, { traffic }) => sum + traffic.rx_bytes + traffic.tx_bytes, 0)
  const limits = items.map(({ traffic }) => traffic.limit_bytes)
  const limit = limits.some((each) => each === null) ? null : limits.reduce<number>((sum, each) => sum + (each ?? 0), 0)
  return { bytes, limit }
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
            return (
              <Empty
                icon="chart"
                title={t.nothingSpent}
                about={t.nothingSpentAbout}
                to={['#/dedicated/buy', t.toDedicated]}
              />
            )
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
  const { t } = useMessages(overviewMessages)
  const nowAt = useNow()
  const ending = all
    .filter((each) => each.status === 'active' && each.auto_renew === null)
    .filter((each) => Date.parse(each.expires_at) < nowAt + 7 * dayMs)
    .toSorted((a, b) => a.expires_at.localeCompare(b.expires_at))
  return (
    <Panel title={t.soon} aside={<ProlongAll of={ending} />}>
      <EndingRows ending={ending} />
    </Panel>
  )
}

/** The dialog keeps its proxies and shows the outcome after they have left the list. */
function ProlongAll({ of }: { readonly of: readonly Proxy[] }) {
  const { t, format } = useMessages(overviewMessages)
  const [picked, setPicked] = useState<readonly Proxy[]>()
  const price = useUsualPrice(of)
  const close = () => setPicked(undefined)
  return (
    <>
      {of.length > 0 && (
        <span className="line">
          <span className="quiet">{t.soonCount(of.length, format)}</span>
          <Button variant="default" onClick={() => setPicked(of)}>
            {price === undefined ? t.prolongAll : t.forPrice(t.prolongAll, format.money(price))}
          </Button>
        </span>
      )}
      <Dialog opened={picked !== undefined} onClose={close} title={t.prolongAll}>
        {picked && <ProlongForm picked={picked} onDone={close} />}
      </Dialog>
    </>
  )
}

function EndingRows({ ending }: { readonly ending: readonly Proxy[] }) {
  const { t, format } = useMessages(overviewMessages)
  const nowAt = useNow()
  return (
    <Rows
      label={t.soon}
      rows={ending.slice(0, 10)}
      keyOf={(row) => row.id}
      empty={<Empty icon="check" title={t.soonNone} about={t.soonNoneAbout} to={['#/dedicated', t.toProxies]} />}
      columns={(column) => [
        column(t.address, (row) => (
          <Cell isMono note={row.exit_ip !== row.ip && row.exit_ip}>
            <span className="mono">{nameOf(row)}</span>
          </Cell>
        )),
        column(
          t.ends,
          (row) => format.away(row.expires_at, nowAt),
          (row) => row.expires_at,
        ),
        column.action(t.prolong, (row) => (
          <a href={`#/dedicated/${row.id}`} aria-label={`${t.prolong} ${nameOf(row)}`}>
            {t.prolong}
          </a>
        )),
      ]}
    />
  )
}

function Start({ hasPools, hasVpn }: { readonly hasPools: boolean; readonly hasVpn: boolean }) {
  const { t, format } = useMessages(overviewMessages)
  const periods = useRead('listCountries', { query: { ipv: 4 } }).data?.periods ?? []
  const term = periods.length > 0 ? `, ${t.fromDays(Math.min(...periods), format)}` : ''
  const offers = [
    ['server', t.dedicated, `${t.dedicatedAbout}${term}.`, t.toDedicated, '#/dedicated/buy'],
    ['globe', t.premium, t.premiumAbout, t.toPremium, '#/premium'],
    ['shield', t.vpn, t.vpnAbout, t.toVpn, '#/vpn'],
  ] as const
  return (
    <div className="cards offers">
      {offers
        .filter(([icon]) => (hasPools || icon !== 'globe') && (hasVpn || icon !== 'shield'))
        .map(([icon, title, about, label, href]) => (
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
