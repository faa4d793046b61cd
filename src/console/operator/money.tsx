import type { AnyEvent, AnyOrder, Movement } from '../client/operator.ts'
import { useMessages } from '../shared/messages.tsx'
import { sayNote } from '../shared/notes.tsx'
import { Cell, Rows, type RowsProps } from '../shared/parts.tsx'
import { eventMessages, orderName, tellEvent, tradeMessages } from '../shared/trade.ts'
import { operatorMessages } from './messages.ts'
import { Nothing } from './parts.tsx'

/** Rows, and how to read those that are not on the page. */
type Listed<Row> = Pick<RowsProps<Row>, 'rows' | 'loadAll'>

export function Movements({ rows, ...part }: Listed<Movement>) {
  const { t, format, language } = useMessages(operatorMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Rows
      label={t.movements}
      rows={rows}
      {...part}
      keyOf={(row) => row.transaction}
      empty={<Nothing icon="wallet" />}
      columns={(column) => [
        column.value(t.when, (row) => row.at, format.moment),
        column.text(t.what, (row) => (
          <Cell note={[sayNote(row.note, language), row.reference].filter((each) => each).join(' · ')}>
            {row.order_id === null ? (
              (trade.kinds[row.kind] ?? row.kind)
            ) : (
              <a href={`#/orders/${row.order_id}`}>{trade.kinds[row.kind] ?? row.kind}</a>
            )}
          </Cell>
        )),
        column.amount(t.amount, (row) => row.amount_rub, format.exactMoney),
        column.amount(t.after, (row) => row.balance_rub, format.exactMoney),
      ]}
    />
  )
}

/** Orders by product; each is a link. */
export function OrderRows({ rows, ...part }: Listed<AnyOrder>) {
  const { t, format } = useMessages(operatorMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Rows
      label={t.orders}
      rows={rows}
      {...part}
      keyOf={(row) => row.order_id}
      empty={<Nothing icon="receipt" />}
      columns={(column) => [
        column.value(t.when, (row) => row.created_at, format.moment),
        column.text(
          t.product,
          (row) => <a href={`#/orders/${row.order_id}`}>{orderName(row, trade)}</a>,
          (row) => orderName(row, trade),
        ),
        column.amount(t.price, (row) => row.price_rub, format.exactMoney),
      ]}
    />
  )
}

export function Events({ rows, ...part }: Listed<AnyEvent>) {
  const { t, format } = useMessages(operatorMessages)
  const { t: event } = useMessages(eventMessages)
  return (
    <Rows
      label={t.events}
      rows={rows}
      {...part}
      keyOf={(row) => row.id}
      empty={<Nothing icon="book" />}
      columns={(column) => [
        column.value(t.when, (row) => row.timestamp, format.moment),
        column(t.what, (row) => event.types[row.type] ?? row.type),
        column.text(t.eventFields, (row) => tellEvent(row.data, event, format)),
      ]}
    />
  )
}
