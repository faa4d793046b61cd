import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Proxy } from '../../client/customer.ts'
import { Chart } from '../../shared/chart.tsx'
import { useFormat } from '../../shared/format.ts'
import { Icon, type IconName } from '../../shared/icons.tsx'
import { useWords, type Words } from '../../shared/language.tsx'
import { useNow } from '../../shared/now.ts'
import { Empty, Figure, Page, Panel, Reading } from '../../shared/parts.tsx'
import { Rows } from '../../shared/rows.tsx'
import { useRead } from '../api.ts'
import { nameOf, useProxies } from '../dedicated/proxies.ts'
import { loadMovements } from '../money/movements.ts'
import { days, spentByDay, spentIn } from '../money/spending.ts'
import { usePools } from '../premium/pools.tsx'
import { customerWords } from '../words.ts'

const en = {
  about: 'What you have, what it costs, and what ends soon.',
  balance: 'Balance',
  proxies: 'Active proxies',
  traffic: 'Premium traffic',
  vpn: 'VPN until',
  noVpn: 'No subscription',
  spending: 'Spending',
  spent: (sum: string) => `${sum} in 30 days`,
  nothingSpent: 'Nothing was spent in the last 30 days',
  nothingSpentAbout: 'A bar for each day will stand here.',
  soon: 'Ends within a week',
  soonNone: 'Nothing ends within a week',
  soonNoneAbout: 'What has to be prolonged will stand here in time.',
  address: 'Address',
  ends: 'Ends',
  prolong: 'Prolong',
  dedicatedAbout: 'An address of your own in a country of your choice, from 3 days on.',
  premiumAbout: 'Millions of addresses, paid by the gigabyte, with a new one whenever you like.',
  vpnAbout: 'WireGuard for your phone and computer: scan a code and you are done.',
  toDedicated: 'Choose proxies',
  toPremium: 'Choose traffic',
  toVpn: 'Choose a term',
}
const ru: typeof en = {
  about: 'Что у вас есть, сколько это стоит и что скоро закончится.',
  balance: 'Баланс',
  proxies: 'Активных прокси',
  traffic: 'Премиум-трафик',
  vpn: 'VPN до',
  noVpn: 'Подписки нет',
  spending: 'Расходы',
  spent: (sum) => `${sum} за 30 дней`,
  nothingSpent: 'За последние 30 дней расходов не было',
  nothingSpentAbout: 'Здесь будет столбик за каждый день.',
  soon: 'Закончится за неделю',
  soonNone: 'За неделю ничего не закончится',
  soonNoneAbout: 'Здесь заранее появится то, что пора продлить.',
  address: 'Адрес',
  ends: 'Закончится',
  prolong: 'Продлить',
  dedicatedAbout: 'Собственный адрес в выбранной стране, от 3 дней.',
  premiumAbout: 'Миллионы адресов с оплатой за гигабайты, и новый, когда захотите.',
  vpnAbout: 'WireGuard для телефона и компьютера: отсканируйте код, и готово.',
  toDedicated: 'Выбрать прокси',
  toPremium: 'Выбрать трафик',
  toVpn: 'Выбрать срок',
}
const overviewWords: Words<typeof en> = { en, ru }

const dayMs = 86_400_000

export function Overview() {
  const words = useWords(overviewWords)
  const names = useWords(customerWords)
  const proxies = useProxies()
  const pools = usePools()
  const vpn = useRead('getVpn')
  const isNew =
    proxies.data?.length === 0 &&
    vpn.data?.items.length === 0 &&
    pools.data?.every((each) => each.purchased_gb === 0) === true
  return (
    <Page title={names.overview} about={words.about}>
      <Figures
        proxies={proxies.data}
        trafficGb={pools.data?.reduce((sum, each) => sum + each.traffic_gb, 0)}
        vpnUntil={vpn.data?.status === 'ACTIVE' ? vpn.data.expires_at : null}
      />
      {isNew ? <Start /> : <Spending />}
      {!isNew && (
        <Panel title={words.soon}>
          <Reading of={proxies}>{(all) => <Soon all={all} />}</Reading>
        </Panel>
      )}
    </Page>
  )
}

function Figures({
  proxies,
  trafficGb,
  vpnUntil,
}: {
  readonly proxies: readonly Proxy[] | undefined
  readonly trafficGb: number | undefined
  readonly vpnUntil: string | null
}) {
  const words = useWords(overviewWords)
  const format = useFormat()
  const balance = useRead('getBalance').data
  const active = proxies?.filter((each) => each.status === 'active').length
  return (
    <div className="cards four">
      <Panel>
        <Figure label={words.balance} value={balance ? format.exactMoney(balance.balance_rub) : '…'} />
      </Panel>
      <Panel>
        <Figure label={words.proxies} value={active === undefined ? '…' : format.number(active)} />
      </Panel>
      <Panel>
        <Figure label={words.traffic} value={trafficGb === undefined ? '…' : format.gigabytes(trafficGb)} />
      </Panel>
      <Panel>
        <Figure
          label={words.vpn}
          value={vpnUntil === null ? <Text c="dimmed">{words.noVpn}</Text> : format.day(vpnUntil)}
        />
      </Panel>
    </div>
  )
}

function Spending() {
  const words = useWords(overviewWords)
  const format = useFormat()
  const nowAt = useNow(3_600_000)
  const movements = useQuery({
    queryKey: ['listTransactions', 'month'],
    queryFn: () => loadMovements(Date.now() - days * dayMs),
  })
  const sum = movements.data === undefined ? 0 : spentIn(movements.data)
  return (
    <Panel title={words.spending} aside={<span className="quiet">{words.spent(format.money(sum))}</span>}>
      <Reading of={movements} height={220}>
        {(found) => {
          const { times, values } = spentByDay(found, nowAt)
          if (values.every((each) => each === 0)) {
            return <Empty icon="chart" title={words.nothingSpent} about={words.nothingSpentAbout} />
          }
          return (
            <Chart
              label={`${words.spending}. ${words.spent(format.money(sum))}`}
              times={times}
              series={[{ label: words.spending, values }]}
              write={format.money}
            />
          )
        }}
      </Reading>
    </Panel>
  )
}

function Soon({ all }: { readonly all: readonly Proxy[] }) {
  const words = useWords(overviewWords)
  const format = useFormat()
  const nowAt = useNow()
  const ending = all
    .filter((each) => each.auto_renew === null && Date.parse(each.expires_at) < nowAt + 7 * dayMs)
    .toSorted((a, b) => a.expires_at.localeCompare(b.expires_at))
  if (ending.length === 0) return <Empty icon="check" title={words.soonNone} about={words.soonNoneAbout} />
  return (
    <Rows
      label={words.soon}
      rows={ending.slice(0, 10)}
      keyOf={(row) => row.id}
      columns={[
        { name: 'address', label: words.address, show: (row) => <span className="mono">{nameOf(row)}</span> },
        { name: 'ends', label: words.ends, show: (row) => format.away(row.expires_at, nowAt) },
        {
          name: 'open',
          label: words.prolong,
          isUnlabelled: true,
          show: (row) => (
            <a href={`#/dedicated/${row.id}`} aria-label={`${words.prolong} ${nameOf(row)}`}>
              {words.prolong}
            </a>
          ),
        },
      ]}
    />
  )
}

/** For whoever has nothing yet. */
function Start() {
  const words = useWords(overviewWords)
  const names = useWords(customerWords)
  const offers: readonly (readonly [IconName, string, string, string, string])[] = [
    ['server', names.dedicated, words.dedicatedAbout, words.toDedicated, '#/dedicated/buy'],
    ['globe', names.premium, words.premiumAbout, words.toPremium, '#/premium'],
    ['shield', names.vpn, words.vpnAbout, words.toVpn, '#/vpn'],
  ]
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
