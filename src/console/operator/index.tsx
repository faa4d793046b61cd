import type { ReactNode } from 'react'
import { leave, useWho } from '../client/session.ts'
import { AccountPage } from '../shared/account/page.tsx'
import { Frame, type Way } from '../shared/frame.tsx'
import { useWords } from '../shared/language.tsx'
import { NoSuchPage } from '../shared/no-such-page.tsx'
import { Figure } from '../shared/parts.tsx'
import { useRoute } from '../shared/route.ts'
import { AbusePage } from './abuse.tsx'
import { useMay } from './api.ts'
import { AuditPage } from './audit.tsx'
import { CustomerPage } from './customer.tsx'
import { CustomersPage } from './customers.tsx'
import { NetworkPage } from './network.tsx'
import { OperatorsPage } from './operators.tsx'
import { OrderStory } from './order.tsx'
import { OverviewPage } from './overview.tsx'
import { PaymentsPage } from './payments.tsx'
import { paymentsWords } from './payments-words.ts'
import { PricesPage } from './prices.tsx'
import { ProxyPage } from './proxy.tsx'
import { ReportsPage } from './reports.tsx'
import { reportsWords } from './reports-words.ts'
import { StockPage } from './stock.tsx'
import { VerifyPage } from './verify.tsx'
import { VpnPage } from './vpn.tsx'
import { operatorWords } from './words.ts'

const pages: readonly (readonly [pattern: RegExp, show: (id: string) => ReactNode])[] = [
  [/^\/$/, () => <OverviewPage />],
  [/^\/customers$/, () => <CustomersPage />],
  [/^\/customers\/(\w+)$/, (id) => <CustomerPage key={id} id={id} />],
  [/^\/orders\/(\w+)$/, (id) => <OrderStory key={id} id={id} />],
  [/^\/payments(?:\/(\w+))?$/, (tab) => <PaymentsPage tab={tab} />],
  [/^\/reports$/, () => <ReportsPage />],
  [/^\/proxies\/(\d+)$/, (id) => <ProxyPage key={id} id={id} />],
  [/^\/vpn\/([\w-]+)$/, (uuid) => <VpnPage key={uuid} uuid={uuid} />],
  [/^\/abuse$/, () => <AbusePage />],
  [/^\/stock$/, () => <StockPage />],
  [/^\/prices$/, () => <PricesPage />],
  [/^\/network$/, () => <NetworkPage />],
  [/^\/verify$/, () => <VerifyPage />],
  [/^\/audit$/, () => <AuditPage />],
  [/^\/operators$/, () => <OperatorsPage />],
  [/^\/account$/, () => <AccountPage />],
]

function findPage(path: string): ReactNode {
  for (const [pattern, show] of pages) {
    const found = pattern.exec(path)
    if (found) return show(found[1] ?? '')
  }
  return <NoSuchPage />
}

function Name() {
  const words = useWords(operatorWords)
  const who = useWho()
  if (who === undefined) return null
  return <Figure label={words.roles[who.role ?? ''] ?? words.operator} value={who.name} />
}

export default function Operator() {
  const words = useWords(operatorWords)
  const payments = useWords(paymentsWords)
  const reports = useWords(reportsWords)
  const { path } = useRoute()
  const may = useMay()
  const ways: readonly Way[] = [
    { path: '/', label: words.overview, icon: 'home' },
    { path: '/customers', label: words.customers, icon: 'people' },
    { path: '/payments', label: payments.title, icon: 'receipt' },
    { path: '/reports', label: reports.title, icon: 'chart' },
    ...(may('findHolders') ? [{ path: '/abuse', label: words.abuse, icon: 'search' } as const] : []),
    { path: '/stock', label: words.stock, icon: 'server' },
    { path: '/prices', label: words.prices, icon: 'tag' },
    { path: '/network', label: words.network, icon: 'nodes' },
    { path: '/verify', label: words.verify, icon: 'shield' },
    ...(may('listAuditLog') ? [{ path: '/audit', label: words.audit, icon: 'book' } as const] : []),
    ...(may('listOperators') ? [{ path: '/operators', label: words.operators, icon: 'list' } as const] : []),
    { path: '/account', label: words.account, icon: 'person' },
  ]
  return (
    <Frame ways={ways} foot={<Name />} onLeave={() => void leave()}>
      {findPage(path)}
    </Frame>
  )
}
