import { useFormat } from './format.ts'
import { useWords, type Words } from './language.tsx'
import { Panel } from './parts.tsx'
import { RecordFacts } from './records.tsx'
import { Rows } from './rows.tsx'
import { orderName, tradeWords } from './trade-words.ts'

/** An order as its customer and the operator see it. */
type Order = {
  readonly order_id: string
  readonly product: string
  readonly action: string
  readonly price_rub: number
  readonly created_at: string
  readonly request: Readonly<{ [name: string]: unknown }>
  readonly calculation: Readonly<{ [name: string]: unknown }>
}

const en = {
  order: 'Order',
  product: 'Product',
  when: 'When',
  price: 'Price',
  request: 'What was asked for',
  calculation: 'How the price came about',
}

const ru: typeof en = {
  order: 'Заказ',
  product: 'Товар',
  when: 'Когда',
  price: 'Цена',
  request: 'Что было заказано',
  calculation: 'Как получилась цена',
}

export const orderWords: Words<typeof en> = { en, ru }

const shortId = (id: string): string => `…${id.slice(-8)}`

/** The way to an order, from whatever speaks of it. */
export const OrderLink = ({ id }: { readonly id: string }) => <a href={`#/orders/${id}`}>{shortId(id)}</a>

export function OrderRows({ label, rows }: { readonly label: string; readonly rows: readonly Order[] }) {
  const words = useWords(orderWords)
  const trade = useWords(tradeWords)
  const format = useFormat()
  return (
    <Rows
      label={label}
      rows={rows}
      keyOf={(row) => row.order_id}
      columns={[
        { name: 'order', label: words.order, show: (row) => <OrderLink id={row.order_id} /> },
        { name: 'product', label: words.product, show: (row) => orderName(row, trade) },
        { name: 'when', label: words.when, show: (row) => format.moment(row.created_at) },
        { name: 'price', label: words.price, isFigure: true, show: (row) => format.exactMoney(row.price_rub) },
      ]}
    />
  )
}

/** What was asked for, and how its price came about. */
export function OrderRecords({ order }: { readonly order: Order }) {
  const words = useWords(orderWords)
  return (
    <div className="halves">
      <Panel title={words.request}>
        <RecordFacts of={order.request} />
      </Panel>
      <Panel title={words.calculation}>
        <RecordFacts of={order.calculation} />
      </Panel>
    </div>
  )
}
