import { TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import { go } from '../shared/browser.ts'
import { Form, useTyped } from '../shared/form.tsx'
import { messages, names, pair, useMessages } from '../shared/messages.tsx'
import { Cell, Empty, Page, Panel, Reading, Rows } from '../shared/parts.tsx'
import { methodNames, orderName, tradeMessages } from '../shared/trade.ts'
import { type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { CustomerLink, Mono, paymentStates } from './parts.tsx'
import { searchInputId } from './search-key.ts'

export const searchMessages = messages({
  ...operatorTexts,
  searchAbout: pair(
    'Press / on any page. Enter opens the first match.',
    'Нажмите / на любой странице. Enter открывает первый результат.',
  ),
  whatToFind: pair('Search for', 'Что искать'),
  canFind: pair(
    'Customer (name, e-mail, login or ID), proxy (address, login or number), order, payment or device',
    'Покупатель (имя, почта, логин или ID), прокси (адрес, логин или номер), заказ, платёж или устройство',
  ),
  found: pair('Matches', 'Найдено'),
  noMatch: pair('Nothing found', 'Ничего не найдено'),
  noMatchAbout: pair(
    'Names, logins, e-mail addresses and IDs are found by their beginning, addresses only as a whole.',
    'Имена, логины, почта и ID находятся по началу, адреса — только целиком.',
  ),
  foundKinds: names({
    customer: pair('Customer', 'Покупатель'),
    proxy: pair('Proxy', 'Прокси'),
    subuser: pair('Sub-user', 'Субпользователь'),
    vpn: 'VPN',
    device: pair('Device', 'Устройство'),
    order: pair('Order', 'Заказ'),
    payment: pair('Payment', 'Платёж'),
  }),
})

export type Match = OperatorAnswer<'search'>['items'][number]

export const pathOf: Readonly<Record<Match['kind'], (match: Match) => string>> = {
  customer: ({ id }) => `/customers/${id}`,
  proxy: ({ id }) => `/proxies/${id}`,
  subuser: ({ customer_id }) => `/customers/${customer_id}`,
  vpn: ({ id }) => `/vpn/${id}`,
  device: ({ detail }) => `/vpn/${detail}`,
  order: ({ id }) => `/orders/${id}`,
  payment: ({ id }) => `/payments/${id}`,
}

/** The text behind `?q=` of the page's own address, so that the way back shows the same matches. */
const sought = (): string => new URLSearchParams(location.hash.split('?')[1] ?? '').get('q') ?? ''

export function SearchPage() {
  const { t } = useMessages(searchMessages)
  const input = useRef<HTMLInputElement>(null)
  const typed = useTyped(sought())
  const [q] = useDebouncedValue(typed.text, 200)
  const found = useRead('search', { query: { q } }, { isWanted: q !== '' })
  // After the heading's own effect: here the reader types at once.
  useEffect(() => input.current?.focus(), [])
  useEffect(() => {
    history.replaceState(null, '', q === '' ? '#/search' : `#/search?${new URLSearchParams({ q })}`)
  }, [q])
  const first = q === typed.text && !found.isFetching ? found.data?.items[0] : undefined
  return (
    <Page title={t.search} about={t.searchAbout}>
      <Panel className="stack">
        <Form onSubmit={() => first && void go(pathOf[first.kind](first))}>
          <TextInput
            id={searchInputId}
            ref={input}
            type="search"
            label={t.whatToFind}
            description={t.canFind}
            maxLength={200}
            autoComplete="off"
            {...typed.props}
          />
        </Form>
        {q !== '' && <Reading of={found}>{({ items }) => <Matches of={items} />}</Reading>}
      </Panel>
    </Page>
  )
}

function Matches({ of }: { readonly of: readonly Match[] }) {
  const { t, format } = useMessages(searchMessages)
  return (
    <Rows
      label={t.found}
      rows={of}
      keyOf={(row) => `${row.kind}${row.id}`}
      empty={<Empty icon="search" title={t.noMatch} about={t.noMatchAbout} />}
      columns={(column) => [
        column(t.kind, (row) => t.foundKinds[row.kind]),
        column.text(t.what, (row) => <Found of={row} />),
        column(t.customer, (row) =>
          row.kind === 'customer' ? null : <CustomerLink id={row.customer_id} name={row.customer_name} />,
        ),
        column(
          t.when,
          (row) => row.at !== null && format.moment(row.at),
          (row) => row.at,
        ),
        column.number(
          t.amount,
          (row) => row.amount_rub !== null && format.exactMoney(row.amount_rub),
          (row) => row.amount_rub,
        ),
      ]}
    />
  )
}

function Found({ of }: { readonly of: Match }) {
  const { t } = useMessages(searchMessages)
  const { t: trade } = useMessages(tradeMessages)
  const { t: methods } = useMessages(methodNames)
  const { t: states } = useMessages(paymentStates)
  const link = (text: string) => <a href={`#${pathOf[of.kind](of)}`}>{text}</a>
  const detail = of.detail ?? ''
  switch (of.kind) {
    case 'order':
      return link(orderName({ product: of.title, action: detail }, trade))
    case 'payment':
      return <Cell note={states[of.title] ?? of.title}>{link(methods[detail] ?? detail)}</Cell>
    case 'vpn':
      return <Cell note={t.states[of.title] ?? of.title}>{link(of.id)}</Cell>
    case 'device':
      return link(of.title)
    default:
      return <Cell note={detail !== '' && <Mono>{detail}</Mono>}>{link(of.title)}</Cell>
  }
}
