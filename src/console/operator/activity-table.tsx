import type { ReactNode } from 'react'
import type { Activity } from '../client/operator.ts'
import { type Format, messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import { factsOf } from '../shared/orders.tsx'
import { Cell, ReadRows, type RowsProps, Status, type Tone } from '../shared/parts.tsx'
import { eventMessages, orderName, tellEvent, tradeMessages } from '../shared/trade.ts'
import { ActionName } from './action-name.tsx'
import { useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { CustomerLink, Nothing } from './parts.tsx'

export const activityMessages = messages({
  ...operatorTexts,
  about: pair(
    'What happens in the shop, as it happens. Payments, refunds and alerts are kept for 30 days.',
    'Что происходит в магазине, сразу. Платежи, возвраты и предупреждения хранятся 30 дней.',
  ),
  all: pair('Everything', 'Всё'),
  kinds: {
    order: pair('Purchase', 'Покупка'),
    payment: pair('Payment', 'Платёж'),
    refund: pair('Refund', 'Возврат'),
    registration: pair('New customer', 'Новый покупатель'),
    node: pair('Node', 'Узел'),
    alert: pair('Alert', 'Предупреждение'),
  },
  joined: phrase('{name} joined', '{name} подключён'),
  undone: pair('undone', 'отменено'),
  alerts: names({
    'stock.low': pair('Stock is low', 'Кончаются адреса'),
    'node.lost': pair('Node lost', 'Узел потерян'),
    'range.lost': pair('Range lost', 'Потерян диапазон'),
    'payment.unmatched': pair('Unmatched payment', 'Неопознанный платёж'),
    'verify.finding': pair('Finding of the verification', 'Сверка нашла проблему'),
    'certificate.ending': pair('Certificate ends', 'Кончается сертификат'),
  }),
  isOver: pair('over', 'прошло'),
})

type Kind = Activity['kind']
export const kinds: readonly Kind[] = ['order', 'payment', 'refund', 'registration', 'node', 'alert']
const tones: Readonly<Record<Kind, Tone>> = {
  order: 'good',
  payment: 'good',
  refund: 'warn',
  registration: 'quiet',
  node: 'quiet',
  alert: 'bad',
}

/** The latest of everything, on the overview. */
export function LatestActivity() {
  const table = useActivityTable(false)
  const latest = useRead('listActivity', { query: { limit: 8 } }, { everyMs: 15_000 })
  return <ReadRows {...table} of={latest} />
}

type Table = Omit<RowsProps<Activity>, 'rows'>

export function useActivityTable(isFiltered: boolean): Table {
  const { t, format } = useMessages(activityMessages)
  return {
    label: t.activity,
    keyOf: (row) => row.id,
    empty: <Nothing icon="book" isFiltered={isFiltered} />,
    columns: (column) => [
      column(t.when, (row) => format.moment(row.at)),
      column(t.kind, (row) => <Status tone={tones[row.kind]}>{t.kinds[row.kind]}</Status>),
      column.text(t.what, (row) => <What of={row} />),
      column.text(t.customer, (row) =>
        row.customer_id === null ? null : <CustomerLink id={row.customer_id} name={row.customer_name ?? ''} />,
      ),
      column.number(t.amount, (row) => amountOf(row, format)),
    ],
  }
}

function amountOf({ price_rub, data }: Activity, format: Format): string {
  const sum = price_rub ?? data['amount_rub']
  return typeof sum === 'number' ? format.exactMoney(sum) : ''
}

const alertFacts = (data: Activity['data']) =>
  Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'state' && name !== 'since'))

function What({ of }: { readonly of: Activity }): ReactNode {
  const { t, format } = useMessages(activityMessages)
  const { t: trade } = useMessages(tradeMessages)
  const { t: event } = useMessages(eventMessages)
  const text = (name: string): string => {
    const value = of.data[name]
    return typeof value === 'string' ? value : ''
  }
  const order = (name: string) => (of.order_id === null ? name : <a href={`#/orders/${of.order_id}`}>{name}</a>)
  const node = of.node ?? ''
  switch (of.kind) {
    case 'order':
      return order(orderName({ product: text('product'), action: text('action') }, trade))
    case 'registration':
      return t.kinds.registration
    case 'payment':
      return <a href={`#/payments/${text('payment_id')}`}>{event.types[of.type] ?? of.type}</a>
    case 'refund':
      return (
        <Cell note={of.order_id === null && tellEvent(of.data, event, format)}>
          {order(event.types[of.type] ?? of.type)}
        </Cell>
      )
    case 'alert':
      return (
        <Cell note={factsOf(alertFacts(of.data), format, trade)}>
          <a href="#/alerts">{t.alerts[of.type] ?? of.type}</a>
          {text('state') === 'ended' && ` — ${t.isOver}`}
        </Cell>
      )
    default: {
      const link = <a href={`#/network/${node}`}>{node}</a>
      if (of.type === 'node.joined') return <a href={`#/network/${node}`}>{t.joined(node)}</a>
      return (
        <Cell note={of.data['undo'] === true && t.undone}>
          <ActionName of={of.type} /> {link}
        </Cell>
      )
    }
  }
}
