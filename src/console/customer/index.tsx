import type { ReactNode } from 'react'
import { leave, useWho } from '../client/session.ts'
import { useFormat } from '../shared/format.ts'
import { Frame, type Way } from '../shared/frame.tsx'
import { useWords } from '../shared/language.tsx'
import { NoSuchPage } from '../shared/no-such-page.tsx'
import { Figure } from '../shared/parts.tsx'
import { useRoute } from '../shared/route.ts'
import { CustomerAccount } from './account.tsx'
import { useRead } from './api.ts'
import { ApiPage } from './api-page/page.tsx'
import { BuyDedicated } from './dedicated/buy.tsx'
import { DedicatedList } from './dedicated/list.tsx'
import { DedicatedProxy } from './dedicated/proxy.tsx'
import { EventsPage } from './events/page.tsx'
import { OrderPage, OrdersPage } from './money/orders.tsx'
import { MoneyPage } from './money/page.tsx'
import { isTaking } from './money/payments.ts'
import { Overview } from './overview/page.tsx'
import { PremiumPage } from './premium/page.tsx'
import { SubuserPage } from './premium/subuser.tsx'
import { VpnPage } from './vpn/page.tsx'
import { customerWords } from './words.ts'

function Balance() {
  const words = useWords(customerWords)
  const format = useFormat()
  const { data } = useRead('getBalance')
  return (
    <Figure
      label={words.balance}
      value={data ? format.exactMoney(data.balance_rub) : '…'}
      {...(isTaking && { note: <a href="#/money">{words.topUp}</a> })}
    />
  )
}

/** Says why a session only reads: an operator's view, or a new customer's session before the first password. */
function ReadOnlyNotice() {
  const words = useWords(customerWords)
  const who = useWho()
  if (!who || who.scopes.includes('trade')) return null
  return (
    <div className="notice warn viewed">
      {who.viewed_by === null ? <a href="#/account">{words.passwordFirst}</a> : words.viewed}
    </div>
  )
}

/** The page of a path; each `:id` is a part of it. */
const pages: readonly (readonly [pattern: RegExp, show: (id: string) => ReactNode])[] = [
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
  [/^\/api$/, () => <ApiPage />],
  [/^\/account$/, () => <CustomerAccount />],
]

function findPage(path: string): ReactNode {
  for (const [pattern, show] of pages) {
    const found = pattern.exec(path)
    if (found) return show(found[1] ?? '')
  }
  return <NoSuchPage />
}

export default function Customer() {
  const words = useWords(customerWords)
  const { path } = useRoute()
  const ways: readonly Way[] = [
    { path: '/', label: words.overview, icon: 'home' },
    { path: '/dedicated', label: words.dedicated, icon: 'server' },
    { path: '/premium', label: words.premium, icon: 'globe' },
    { path: '/vpn', label: words.vpn, icon: 'shield' },
    { path: '/orders', label: words.orders, icon: 'receipt' },
    { path: '/money', label: words.money, icon: 'wallet' },
    { path: '/events', label: words.events, icon: 'book' },
    { path: '/api', label: words.api, icon: 'code' },
    { path: '/account', label: words.account, icon: 'person' },
  ]
  return (
    <Frame ways={ways} foot={<Balance />} onLeave={() => void leave()}>
      <ReadOnlyNotice />
      {findPage(path)}
    </Frame>
  )
}
