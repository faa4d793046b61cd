import { lazy } from 'react'
import { useWho } from '../client/session.ts'
import { announcedIn } from '../shared/brand.ts'
import { Frame, type MenuItem, type Pages, Routes } from '../shared/frame.tsx'
import { lazyPage } from '../shared/lazy-page.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import { Figure, Notice } from '../shared/parts.tsx'
import { useRead } from './api.ts'
import { customerMessages } from './messages.ts'
import { Overview } from './overview.tsx'
import { usePools } from './premium/use-pools.ts'
import { UnfinishedPurchases } from './unfinished.tsx'
import { useHasVpn } from './use-vpn.ts'

function Balance() {
  const { t, format } = useMessages(customerMessages)
  const { data } = useRead('getBalance')
  return (
    <Figure
      label={t.balance}
      value={data ? format.exactMoney(data.balance_rub) : '…'}
      note={<a href="#/money">{t.topUp}</a>}
    />
  )
}

/** The balance as a link to the top-up page. */
function QuickBalance() {
  const { t, format } = useMessages(customerMessages)
  const { data } = useRead('getBalance')
  const shown = data ? format.money(data.balance_rub) : '…'
  return (
    <a className="quick" href="#/money" aria-label={`${t.topUp}: ${shown}`}>
      {shown} +
    </a>
  )
}

/** Why a session is read-only: an operator's view, or a new customer without a password. */
function ReadOnlyNotice() {
  const { t } = useMessages(customerMessages)
  const who = useWho()
  if (!who || who.scopes.includes('trade')) return null
  return (
    <div className="notice warn viewed">
      {who.viewed_by === null ? <a href="#/account">{t.passwordFirst}</a> : t.viewed}
    </div>
  )
}

/** Opened by Ctrl K. */
const Palette = lazy(() => import('./palette.tsx'))

/** Every page but the overview is loaded when it is opened, so that the first page is shown sooner. */
const ApiPage = lazyPage(async () => (await import('./api-page.tsx')).ApiPage)
const BuyDedicated = lazyPage(async () => (await import('./dedicated/buy.tsx')).BuyDedicated)
const CustomerAccount = lazyPage(async () => (await import('./account.tsx')).CustomerAccount)
const DedicatedList = lazyPage(async () => (await import('./dedicated/list.tsx')).DedicatedList)
const DedicatedProxy = lazyPage(async () => (await import('./dedicated/proxy.tsx')).DedicatedProxy)
const EventsPage = lazyPage(async () => (await import('./events.tsx')).EventsPage)
const MoneyPage = lazyPage(async () => (await import('./money/page.tsx')).MoneyPage)
const OrderPage = lazyPage(async () => (await import('./money/orders.tsx')).OrderPage)
const OrdersPage = lazyPage(async () => (await import('./money/orders.tsx')).OrdersPage)
const PaymentPage = lazyPage(async () => (await import('./money/pay.tsx')).PaymentPage)
const PremiumPage = lazyPage(async () => (await import('./premium/page.tsx')).PremiumPage)
const RequestsPage = lazyPage(async () => (await import('./requests.tsx')).RequestsPage)
const SubuserPage = lazyPage(async () => (await import('./premium/subusers.tsx')).SubuserPage)
const VpnPage = lazyPage(async () => (await import('./vpn.tsx')).VpnPage)

const announcedMessages = messages({ foreign: pair('(in Russian)', '(на английском)') })

/** What the seller announces to all customers. The shop writes it into the page. */
function Announced() {
  const { t, language } = useMessages(announcedMessages)
  const found = announcedIn(language)
  if (!found) return null
  return (
    <div className="viewed">
      <Notice tone="warn">
        {found.in === language ? (
          found.text
        ) : (
          <>
            <span lang={found.in}>{found.text}</span> <small>{t.foreign}</small>
          </>
        )}
      </Notice>
    </div>
  )
}

const pages: Pages = [
  [/^\/$/, () => <Overview />],
  [/^\/dedicated$/, () => <DedicatedList />],
  [/^\/dedicated\/buy$/, () => <BuyDedicated />],
  [/^\/dedicated\/(\d+)$/, (id) => <DedicatedProxy key={id} id={Number(id)} />],
  [/^\/premium(?:\/(\w+))?$/, (tab) => <PremiumPage tab={tab} />],
  [/^\/premium\/subusers\/(\w+)$/, (id) => <SubuserPage key={id} id={id} />],
  [/^\/vpn$/, () => <VpnPage />],
  [/^\/events$/, () => <EventsPage />],
  [/^\/orders$/, () => <OrdersPage />],
  [/^\/orders\/(\w+)$/, (id) => <OrderPage key={id} id={id} />],
  [/^\/money$/, () => <MoneyPage />],
  [/^\/payments\/(\w+)$/, (id) => <PaymentPage key={id} id={id} />],
  [/^\/api$/, () => <ApiPage />],
  [/^\/requests$/, () => <RequestsPage />],
  [/^\/account$/, () => <CustomerAccount />],
]

export default function Customer() {
  const { t } = useMessages(customerMessages)
  const hasPools = usePools().data?.length !== 0
  const hasVpn = useHasVpn()
  const vpn: MenuItem = { path: '/vpn', label: t.vpn, icon: 'shield' }
  const premium: MenuItem = { path: '/premium', label: t.premium, icon: 'globe' }
  const items: readonly MenuItem[] = [
    { path: '/', label: t.overview, icon: 'home' },
    { path: '/dedicated', label: t.dedicated, icon: 'server' },
    ...(hasPools ? [premium] : []),
    ...(hasVpn ? [vpn] : []),
    { path: '/orders', label: t.orders, icon: 'receipt' },
    { path: '/money', label: t.money, icon: 'wallet' },
    { path: '/events', label: t.events, icon: 'book' },
    { path: '/api', label: t.api, icon: 'code' },
    { path: '/account', label: t.account, icon: 'person' },
  ]
  return (
    <Frame items={items} palette={Palette} foot={<Balance />} quick={<QuickBalance />}>
      <Announced />
      <ReadOnlyNotice />
      <UnfinishedPurchases />
      <Routes pages={pages} />
    </Frame>
  )
}
