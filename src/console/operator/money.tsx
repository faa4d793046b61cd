import type { AnyEvent, Movement } from '../client/operator.ts'
import { useMessages } from '../shared/messages.tsx'
import { sayNote } from '../shared/notes.ts'
import { OrderLink } from '../shared/orders.tsx'
import { Cell, Rows } from '../shared/parts.tsx'
import { eventMessages, tellEvent, tradeMessages } from '../shared/trade.ts'
import { operatorMessages } from './messages.ts'
import { Nothing } from './parts.tsx'

export function Movements({ rows }: { readonly rows: readonly Movement[] }) {
  const { t, format, language } = useMessages(operatorMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Rows
      label={t.movements}
      rows={rows}
      keyOf={(row) => row.transaction}
      empty={<Nothing icon="wallet" />}
      columns={(column) => [
        column(t.when, (row) => format.moment(row.at)),
        column.text(t.what, (row) => (
          <Cell note={[sayNote(row.note, language), row.reference].filter((each) => each).join(' · ')}>
            {trade.kinds[row.kind] ?? row.kind}
          </Cell>
        )),
        column(t.order, (row) => row.order_id !== null && <OrderLink id={row.order_id} />),
        column.number(t.amount, (row) => format.exactMoney(row.amount_rub)),
        column.number(t.after, (row) => format.exactMoney(row.balance_rub)),
      ]}
    />
  )
}

export function Events({ rows }: { readonly rows: readonly AnyEvent[] }) {
  const { t, format } = useMessages(operatorMessages)
  const { t: event } = useMessages(eventMessages)
  return (
    <Rows
      label={t.events}
      rows={rows}
      keyOf={(row) => row.id}
      empty={<Nothing icon="book" />}
      columns={(column) => [
        column(t.when, (row) => format.moment(row.timestamp)),
        column(t.what, (row) => event.types[row.type] ?? row.type),
        column.text(t.eventFields, (row) => tellEvent(row.data, event, format)),
      ]}
    />
  )
}
