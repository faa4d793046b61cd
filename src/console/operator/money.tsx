import type { AnyEvent, AnyOrder, Movement } from '../client/operator.ts'
import { eventWords, tellEvent } from '../shared/event-words.ts'
import { useFormat } from '../shared/format.ts'
import { useLanguage, useWords } from '../shared/language.tsx'
import { sayNote } from '../shared/notes.ts'
import { OrderLink, OrderRows } from '../shared/orders.tsx'
import { Empty } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { tradeWords } from '../shared/trade-words.ts'
import { operatorWords } from './words.ts'

/** Movements of a customer's money, with the balance after each. */
export function Movements({ rows }: { readonly rows: readonly Movement[] }) {
  const words = useWords(operatorWords)
  const { language } = useLanguage()
  const format = useFormat()
  const trade = useWords(tradeWords)
  if (rows.length === 0) return <Empty icon="wallet" title={words.none} about={words.noneAbout} />
  return (
    <Rows
      label={words.movements}
      rows={rows}
      keyOf={(row) => row.transaction}
      columns={[
        { name: 'when', label: words.when, show: (row) => format.moment(row.at) },
        {
          name: 'what',
          label: words.what,
          isText: true,
          show: (row) => (
            <span>
              {trade.kinds[row.kind] ?? row.kind}
              <small>{[sayNote(row.note, language, format), row.reference].filter((each) => each).join(' · ')}</small>
            </span>
          ),
        },
        {
          name: 'order',
          label: words.order,
          show: (row) => row.order_id !== null && <OrderLink id={row.order_id} />,
        },
        { name: 'amount', label: words.amount, isFigure: true, show: (row) => format.exactMoney(row.amount_rub) },
        { name: 'after', label: words.after, isFigure: true, show: (row) => format.exactMoney(row.balance_rub) },
      ]}
    />
  )
}

export function Orders({ rows }: { readonly rows: readonly AnyOrder[] }) {
  const words = useWords(operatorWords)
  if (rows.length === 0) return <Empty icon="receipt" title={words.none} about={words.noneAbout} />
  return <OrderRows label={words.orders} rows={rows} />
}

export function Events({ rows }: { readonly rows: readonly AnyEvent[] }) {
  const words = useWords(operatorWords)
  const told = useWords(eventWords)
  const format = useFormat()
  if (rows.length === 0) return <Empty icon="book" title={words.none} about={words.noneAbout} />
  return (
    <Rows
      label={words.events}
      rows={rows}
      keyOf={(row) => row.id}
      columns={[
        { name: 'when', label: words.when, show: (row) => format.moment(row.timestamp) },
        { name: 'what', label: words.what, show: (row) => told.types[row.type] ?? row.type },
        { name: 'details', label: words.told, isText: true, show: (row) => tellEvent(row.data, told, format) },
      ]}
    />
  )
}
