import { Text } from '@mantine/core'
import { isRecord } from '../client/call.ts'
import type { Order } from '../client/customer.ts'
import { commonMessages, type Format, messages, pair, useMessages } from './messages.tsx'
import { Facts, Panel, Rows, type RowsProps } from './parts.tsx'
import { orderName, type Trade, tradeMessages } from './trade.ts'

/** A record whose fields depend on the product. */
type Fields = Readonly<Record<string, unknown>>

const orderMessages = messages({
  request: pair('Order parameters', 'Параметры заказа'),
  calculation: pair('Price calculation', 'Расчёт цены'),
  delivered: pair('Services of this order', 'Услуги по заказу'),
  nothingDelivered: pair('No services of this order remain.', 'Услуг по этому заказу не осталось.'),
})

export const OrderLink = ({ id }: { readonly id: string }) => <a href={`#/orders/${id}`}>{`…${id.slice(-8)}`}</a>

type OrderRowsProps = Pick<RowsProps<Order>, 'label' | 'rows' | 'empty' | 'loadAll'>

export function OrderRows({ label, rows, empty, ...part }: OrderRowsProps) {
  const { t, format } = useMessages(orderMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Rows
      label={label}
      rows={rows}
      keyOf={(row) => row.order_id}
      empty={empty}
      {...part}
      columns={(column) => [
        column(
          t.order,
          (row) => <OrderLink id={row.order_id} />,
          (row) => row.order_id,
        ),
        column(t.product, (row) => orderName(row, trade)),
        column.value(t.when, (row) => row.created_at, format.moment),
        column.amount(t.price, (row) => row.price_rub, format.exactMoney),
      ]}
    />
  )
}

export function OrderRecords({ order }: { readonly order: Pick<Order, 'request' | 'calculation'> }) {
  const { t } = useMessages(orderMessages)
  return (
    <div className="halves">
      <Panel title={t.request}>
        <RecordFacts of={order.request} />
      </Panel>
      <Panel title={t.calculation}>
        <RecordFacts of={withoutRepeats(order)} />
      </Panel>
    </div>
  )
}

/** Fields of the request that the calculation has under another name. */
const repeated: Readonly<Record<string, string>> = { pool: 'pool_type' }

/** The calculation without what the request says too. */
const withoutRepeats = ({ request, calculation }: Pick<Order, 'request' | 'calculation'>): Fields =>
  Object.fromEntries(Object.entries(calculation).filter(([name, value]) => request[repeated[name] ?? name] !== value))

function namesOf(name: string, trade: Trade): Trade['fields'] {
  if (name === 'pool' || name === 'pool_type') return trade.pools
  if (name === 'ipv') return trade.ipvs
  return name === 'status' ? trade.states : {}
}

/** Writes a value by its field's name: an amount, a time, bytes, a country. */
function write(name: string, value: unknown, format: Format, trade: Trade): string {
  if (value === null || value === undefined) return '—'
  if (Array.isArray(value)) return value.map((each) => writeOne(each, format, trade)).join('; ')
  if (typeof value !== 'string' && typeof value !== 'number') return JSON.stringify(value)
  const named = namesOf(name, trade)[value]
  if (named !== undefined) return named
  if (name.endsWith('_at')) return format.moment(new Date(value).toISOString())
  if (typeof value === 'string') return name.startsWith('country') ? format.country(value) : value
  if (name.endsWith('_rub')) return format.exactMoney(value)
  if (name === 'period') return commonMessages[format.language].days(value, format)
  if (name.endsWith('_percent')) return format.percent(value)
  if (name === 'gb' || name.endsWith('_gb')) return format.gigabytes(value)
  return name === 'bytes' || name.endsWith('_bytes') ? format.bytes(value) : String(value)
}

/** Each field of a record with its name and value, in one line. */
export const factsOf = (of: Fields, format: Format, trade: Trade): string =>
  Object.entries(of)
    .map(([name, value]) => `${trade.fields[name] ?? name}: ${write(name, value, format, trade)}`)
    .join(', ')

/** A member of a list: a number, a number with its new end, or a line of an order. */
function writeOne(of: unknown, format: Format, trade: Trade): string {
  if (Array.isArray(of))
    return of.map((each, index) => write(index === 1 ? 'expires_at' : 'id', each, format, trade)).join(' → ')
  if (!isRecord(of)) return String(of)
  return Object.entries(of)
    .map(([name, value]) => write(name, value, format, trade))
    .join(', ')
}

/** All fields of a record in the order of their texts; one without a text is first, by its own name. */
function RecordFacts({ of }: { readonly of: Fields }) {
  const { t: trade, format } = useMessages(tradeMessages)
  const order = Object.keys(trade.fields)
  const fields = Object.entries(of).toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other))
  return <Facts of={fields.map(([name, value]) => [trade.fields[name] ?? name, write(name, value, format, trade)])} />
}

/** How many services an order's page lists; the page counts the others. */
const maxListed = 50

type DeliveredPanelProps = {
  readonly of: { readonly delivered: readonly Fields[]; readonly delivered_count: number }
  /** The page of a service, by the field that is the link and its value. */
  readonly pageOf: (name: string, value: unknown, row: Fields) => string | undefined
}

/** What an order has bought or prolonged; a value with a page of its own is a link to it. */
export function DeliveredPanel({ of: { delivered, delivered_count: count }, pageOf }: DeliveredPanelProps) {
  const { t, format } = useMessages(orderMessages)
  const { t: trade } = useMessages(tradeMessages)
  const rows = delivered.slice(0, maxListed)
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  return (
    <Panel title={t.delivered} className="stack">
      <Rows
        label={t.delivered}
        rows={rows}
        keyOf={(row) => JSON.stringify(row)}
        empty={<Text c="dimmed">{t.nothingDelivered}</Text>}
        columns={(column) =>
          names.map((name) =>
            column(trade.fields[name] ?? name, (row) => {
              const page = pageOf(name, row[name], row)
              const text = write(name, row[name], format, trade)
              return page === undefined ? text : <a href={page}>{text}</a>
            }),
          )
        }
      />
      {count > rows.length && <Text c="dimmed">{t.andMore(format.number(count - rows.length))}</Text>}
    </Panel>
  )
}
