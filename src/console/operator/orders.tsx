import { TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { ListedOrder } from '../client/operator.ts'
import { download, toCsv, useFields } from '../shared/browser.ts'
import { Select, useTyped } from '../shared/form.tsx'
import { messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Cell, CsvButton, Hint, Page, PagedRows, Panel, RefusalNotice, Status, type Tone } from '../shared/parts.tsx'
import { orderName, tradeMessages } from '../shared/trade.ts'
import { loadPages, usePages, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { Refund } from './order.tsx'
import { CustomerLink, Nothing } from './parts.tsx'

const ordersMessages = messages({
  ...operatorTexts,
  about: pair('Orders of all customers. Days are in UTC.', 'Заказы всех покупателей. Дни — по UTC.'),
  to: pair('To', 'По'),
  min: pair('Price from, ₽', 'Цена от, ₽'),
  max: pair('Price to, ₽', 'Цена до, ₽'),
  sort: pair('Sort', 'Сортировка'),
  sorts: {
    newest: pair('Newest first', 'Сначала новые'),
    oldest: pair('Oldest first', 'Сначала старые'),
    dearest: pair('Highest price first', 'Сначала дорогие'),
    cheapest: pair('Lowest price first', 'Сначала дешёвые'),
  },
  state: pair('State', 'Состояние'),
  orderStates: names({
    paid: pair('Paid', 'Оплачен'),
    partly_refunded: pair('Partly refunded', 'Возвращена часть'),
    refunded: pair('Refunded', 'Возвращён'),
    free: pair('Free', 'Бесплатный'),
  }),
  findCustomer: pair('Customer: name, e-mail or ID', 'Покупатель: имя, почта или ID'),
  chosen: pair('Which customer', 'Какой покупатель'),
  noSuchCustomer: pair('No customer matches.', 'Такого покупателя нет.'),
  csv: pair('CSV: orders', 'CSV: заказы'),
  cut: phrase(
    'The file has the first {count} orders. Choose fewer days for the others.',
    'В файле первые {count} заказов. Чтобы получить остальные, выберите меньше дней.',
  ),
  back: phrase('refunded {sum}', 'возвращено {sum}'),
})

type State = ListedOrder['state']

const tones: Readonly<Record<State, Tone>> = { paid: 'good', partly_refunded: 'warn', refunded: 'bad', free: 'quiet' }
const states = Object.keys(tones) as State[]
const sorts = ['newest', 'oldest', 'dearest', 'cheapest'] as const
const products = ['dedicated', 'premium', 'vpn'] as const

const dayMs = 86_400_000
const dayAfter = (day: string): string => new Date(Date.parse(day) + dayMs).toISOString().slice(0, 10)
const isDay = (text = ''): text is string => /^\d{4}-\d\d-\d\d$/.test(text)

/** A price as the API reads it; one that is not above 0 is no filter. */
const priceOf = (typed = ''): string | undefined => (Number(typed) > 0 ? Number(typed).toFixed(2) : undefined)

const oneOf = <Of extends string>(options: readonly Of[], text: string | null): Of | '' =>
  options.find((each) => each === text) ?? ''

/** The filters are in the page's address, so that the way back and a bookmark show the same list. */
function useFilters() {
  const [fields, set] = useFields()
  const product = oneOf(products, fields.get('product'))
  const state = oneOf(states, fields.get('state'))
  const sort = oneOf(sorts, fields.get('sort')) || 'newest'
  const [customer, from, to, min, max] = ['customer', 'from', 'to', 'min', 'max'].map((name) => fields.get(name) ?? '')
  const [minPrice, maxPrice] = [priceOf(min), priceOf(max)]
  const query = {
    sort,
    ...(product !== '' && { product }),
    ...(state !== '' && { state }),
    ...(customer && { customer_id: customer }),
    ...(isDay(from) && { from }),
    ...(isDay(to) && { to: dayAfter(to) }),
    ...(minPrice !== undefined && { min_rub: minPrice }),
    ...(maxPrice !== undefined && { max_rub: maxPrice }),
  }
  return { product, state, sort, customer, from, to, min, max, set, query, isFiltered: Object.keys(query).length > 1 }
}

type Filters = ReturnType<typeof useFilters>

export function OrdersPage() {
  const { t, format } = useMessages(ordersMessages)
  const { t: trade } = useMessages(tradeMessages)
  const filters = useFilters()
  return (
    <Page title={t.orders} about={t.about}>
      <Panel className="stack">
        <FilterFields of={filters} />
        <Csv of={filters} />
        <PagedRows
          label={t.orders}
          hasCsv={false}
          of={usePages('listAllOrders', { query: { ...filters.query, limit: 50 } })}
          keyOf={(row) => row.order_id}
          empty={<Nothing icon="receipt" isFiltered={filters.isFiltered} />}
          columns={(column) => [
            column(t.when, (row) => format.moment(row.created_at)),
            column.text(t.product, (row) => <a href={`#/orders/${row.order_id}`}>{orderName(row, trade)}</a>),
            column.text(t.customer, (row) => <CustomerLink id={row.customer_id} name={row.customer_name} />),
            column(t.state, (row) => <Status tone={tones[row.state]}>{t.orderStates[row.state]}</Status>),
            column.number(t.price, (row) => (
              <Cell note={row.refunded_rub > 0 && t.back(format.exactMoney(row.refunded_rub))}>
                {format.exactMoney(row.price_rub)}
              </Cell>
            )),
            column.action(
              t.act,
              (row) =>
                row.state !== 'free' &&
                row.state !== 'refunded' && (
                  <Refund id={row.order_id} price={row.price_rub} before={row.refunded_rub} look={{ size: 'xs' }} />
                ),
            ),
          ]}
        />
      </Panel>
    </Page>
  )
}

function FilterFields({ of }: { readonly of: Filters }) {
  const { t } = useMessages(ordersMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <div className="line fields">
      <Select
        label={t.product}
        value={of.product}
        options={[['', t.any], ...products.map((each) => [each, trade.products[each] ?? each] as const)]}
        onChange={(product) => of.set({ product })}
      />
      <Select
        label={t.state}
        value={of.state}
        options={[['', t.any], ...states.map((each) => [each, t.orderStates[each] ?? each] as const)]}
        onChange={(state) => of.set({ state })}
      />
      <CustomerField of={of} />
      {(['from', 'to'] as const).map((name) => (
        <TextInput
          key={name}
          type="date"
          label={t[name]}
          value={of[name] ?? ''}
          onChange={(event) => of.set({ [name]: event.currentTarget.value })}
        />
      ))}
      {(['min', 'max'] as const).map((name) => (
        <TextInput
          key={name}
          label={t[name]}
          w="8.5rem"
          inputMode="decimal"
          value={of[name] ?? ''}
          onChange={(event) => of.set({ [name]: event.currentTarget.value.trim() })}
        />
      ))}
      <Select
        label={t.sort}
        value={of.sort}
        options={sorts.map((each) => [each, t.sorts[each]] as const)}
        onChange={(sort) => of.set({ sort })}
      />
    </div>
  )
}

/** Finds customers by what is typed; with several the operator chooses one. */
function CustomerField({ of: { customer = '', set } }: { readonly of: Filters }) {
  const { t } = useMessages(ordersMessages)
  const typed = useTyped(customer)
  const [search] = useDebouncedValue(typed.text, 250)
  const found = useRead('listCustomers', { query: { search, limit: 20 } }, { isWanted: search !== '' })
  const items = search === '' ? [] : (found.data?.items ?? [])
  const change = (text: string) => {
    typed.set(text)
    if (customer !== '') set({ customer: '' })
  }
  const isNone = search !== '' && found.isSuccess && !found.isFetching && items.length === 0
  return (
    <>
      <TextInput
        type="search"
        label={t.findCustomer}
        w="17rem"
        value={typed.value}
        error={isNone && t.noSuchCustomer}
        onChange={(event) => change(event.currentTarget.value)}
      />
      {items.length > 0 && (
        <Select
          label={t.chosen}
          value={customer}
          options={[['', t.any], ...items.map((each) => [each.customer_id, each.name || each.customer_id] as const)]}
          onChange={(next) => set({ customer: next })}
        />
      )}
    </>
  )
}

const pageSize = 500
const maxPages = 200
const csvColumns = [
  'order_id',
  'created_at',
  'customer_id',
  'customer_name',
  'product',
  'action',
  'price_rub',
  'refunded_rub',
  'state',
] as const

/** A file of all orders that match the filters, not only of those that the page shows. */
function Csv({ of: { query } }: { readonly of: Filters }) {
  const { t, format } = useMessages(ordersMessages)
  const [work, setWork] = useState<{ readonly isRunning: boolean; readonly count: number; readonly error?: unknown }>({
    isRunning: false,
    count: 0,
  })
  const save = async () => {
    setWork({ isRunning: true, count: 0 })
    try {
      const rows = await loadPages('listAllOrders', { query: { ...query, limit: pageSize } }, maxPages)
      download('orders.csv', toCsv([csvColumns, ...rows.map((row) => csvColumns.map((name) => row[name]))]), 'text/csv')
      setWork({ isRunning: false, count: rows.length })
    } catch (error) {
      setWork({ isRunning: false, count: 0, error })
    }
  }
  return (
    <div className="line">
      <CsvButton label={t.csv} disabled={work.isRunning} onClick={() => void save()} />
      {work.count >= pageSize * maxPages && <Hint>{t.cut(format.number(work.count))}</Hint>}
      <RefusalNotice error={work.error} />
    </div>
  )
}
