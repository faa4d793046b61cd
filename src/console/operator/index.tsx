import { lazy } from 'react'
import { useWho } from '../client/session.ts'
import { Frame, type MenuItem, type Pages, Routes } from '../shared/frame.tsx'
import { lazyPage } from '../shared/lazy-page.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Figure } from '../shared/parts.tsx'
import { useMay } from './api.ts'
import { operatorMessages } from './messages.ts'
import { OverviewPage } from './overview.tsx'
import { useSearchKey } from './search-key.ts'
import { NextStep, useIsSandbox, useNextStep } from './setup.tsx'

/** Opened by Ctrl K. */
const Palette = lazy(() => import('./palette.tsx'))

/** Every page but the overview is loaded when it is opened, so that the first page is shown sooner. */
const AbusePage = lazyPage(async () => (await import('./abuse.tsx')).AbusePage)
const AccountPage = lazyPage(async () => (await import('../shared/account/page.tsx')).AccountPage)
const ActivityPage = lazyPage(async () => (await import('./activity.tsx')).ActivityPage)
const AlertsPage = lazyPage(async () => (await import('./alerts.tsx')).AlertsPage)
const AuditPage = lazyPage(async () => (await import('./audit.tsx')).AuditPage)
const BrandPage = lazyPage(async () => (await import('./brand.tsx')).BrandPage)
const CustomerPage = lazyPage(async () => (await import('./customer.tsx')).CustomerPage)
const CustomersPage = lazyPage(async () => (await import('./customers.tsx')).CustomersPage)
const MailingsPage = lazyPage(async () => (await import('./mailings.tsx')).MailingsPage)
const NetworkPage = lazyPage(async () => (await import('./network.tsx')).NetworkPage)
const NodePage = lazyPage(async () => (await import('./node.tsx')).NodePage)
const OperatorsPage = lazyPage(async () => (await import('./operators.tsx')).OperatorsPage)
const OrderStory = lazyPage(async () => (await import('./order.tsx')).OrderStory)
const OrdersPage = lazyPage(async () => (await import('./orders.tsx')).OrdersPage)
const PaymentPage = lazyPage(async () => (await import('./payments.tsx')).PaymentPage)
const PaymentsPage = lazyPage(async () => (await import('./payments.tsx')).PaymentsPage)
const PricesPage = lazyPage(async () => (await import('./prices.tsx')).PricesPage)
const ProxyPage = lazyPage(async () => (await import('./proxy.tsx')).ProxyPage)
const ReportsPage = lazyPage(async () => (await import('./reports.tsx')).ReportsPage)
const SearchPage = lazyPage(async () => (await import('./search.tsx')).SearchPage)
const SetupPage = lazyPage(async () => (await import('./setup-page.tsx')).SetupPage)
const StockPage = lazyPage(async () => (await import('./stock.tsx')).StockPage)
const VerifyPage = lazyPage(async () => (await import('./verify.tsx')).VerifyPage)
const VpnPage = lazyPage(async () => (await import('./vpn.tsx')).VpnPage)

const pages: Pages = [
  [/^\/$/, () => <OverviewPage />],
  [/^\/activity$/, () => <ActivityPage />],
  [/^\/customers$/, () => <CustomersPage />],
  [/^\/customers\/(\w+)$/, (id) => <CustomerPage key={id} id={id} />],
  [/^\/orders$/, () => <OrdersPage />],
  [/^\/orders\/(\w+)$/, (id) => <OrderStory key={id} id={id} />],
  [/^\/search$/, () => <SearchPage />],
  [/^\/payments\/(pay_\w+)$/, (id) => <PaymentPage key={id} id={id} />],
  [/^\/payments(?:\/(\w+))?$/, (tab) => <PaymentsPage tab={tab} />],
  [/^\/reports$/, () => <ReportsPage />],
  [/^\/proxies\/(\d+)$/, (id) => <ProxyPage key={id} id={id} />],
  [/^\/vpn\/([\w-]+)$/, (uuid) => <VpnPage key={uuid} uuid={uuid} />],
  [/^\/abuse$/, () => <AbusePage />],
  [/^\/stock$/, () => <StockPage />],
  [/^\/prices$/, () => <PricesPage />],
  [/^\/network$/, () => <NetworkPage />],
  [/^\/network\/([\w.-]+)$/, (name) => <NodePage key={name} name={name} />],
  [/^\/setup$/, () => <SetupPage />],
  [/^\/brand$/, () => <BrandPage />],
  [/^\/alerts$/, () => <AlertsPage />],
  [/^\/mailings$/, () => <MailingsPage />],
  [/^\/verify$/, () => <VerifyPage />],
  [/^\/audit$/, () => <AuditPage />],
  [/^\/operators$/, () => <OperatorsPage />],
  [/^\/account$/, () => <AccountPage />],
]

function Name() {
  const { t } = useMessages(operatorMessages)
  const who = useWho()
  if (who === undefined) return null
  return <Figure label={t.roles[who.role ?? ''] ?? t.operator} value={who.name} />
}

export default function Operator() {
  const { t } = useMessages(operatorMessages)
  const may = useMay()
  useSearchKey()
  const nextStep = useNextStep()
  const isSandbox = useIsSandbox()
  const items: readonly MenuItem[] = [
    { path: '/', label: t.overview, icon: 'home' },
    ...(nextStep === undefined && !isSandbox
      ? []
      : [{ path: '/setup', label: isSandbox ? t.firstSale : t.setup, icon: 'check' } as const]),
    { path: '/activity', label: t.activity, icon: 'clock' },
    { path: '/search', label: t.search, icon: 'search' },
    { path: '/customers', label: t.customers, icon: 'people' },
    { path: '/orders', label: t.orders, icon: 'list' },
    { path: '/payments', label: t.payments, icon: 'receipt' },
    { path: '/reports', label: t.reports, icon: 'chart' },
    ...(may('findHolders') ? [{ path: '/abuse', label: t.abuse, icon: 'globe' } as const] : []),
    { path: '/stock', label: t.stock, icon: 'server' },
    { path: '/prices', label: t.prices, icon: 'tag' },
    { path: '/network', label: t.network, icon: 'nodes' },
    { path: '/alerts', label: t.alerts, icon: 'bell' },
    { path: '/mailings', label: t.mailings, icon: 'mail' },
    { path: '/brand', label: t.brand, icon: 'tag' },
    { path: '/verify', label: t.verify, icon: 'shield' },
    ...(may('listAuditLog') ? [{ path: '/audit', label: t.audit, icon: 'book' } as const] : []),
    ...(may('listOperators') ? [{ path: '/operators', label: t.operators, icon: 'list' } as const] : []),
    { path: '/account', label: t.account, icon: 'person' },
  ]
  return (
    <Frame items={items} palette={Palette} foot={<Name />}>
      <NextStep />
      <Routes pages={pages} />
    </Frame>
  )
}
