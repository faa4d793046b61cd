import { useQuery } from '@tanstack/react-query'
import { CallRefused } from '../../client/call.ts'
import type { Order, OrderDetails, Transaction } from '../../client/customer.ts'
import { Copyable } from '../../shared/copy.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { DeliveredPanel, OrderRecords, OrderRows } from '../../shared/orders.tsx'
import { Empty, Facts, MissingPage, Page, Paged, Panel, Reading } from '../../shared/parts.tsx'
import { orderName, tradeMessages } from '../../shared/trade.ts'
import { api, usePages } from '../api.ts'
import { MetadataPanel } from '../metadata.tsx'
import { moneyMessages } from './messages.ts'
import { loadMovements } from './movements.ts'

export function OrdersPage() {
  const { t } = useMessages(moneyMessages)
  const empty = <Empty icon="receipt" title={t.noOrders} about={t.noOrdersAbout} to={['#/', t.choose]} />
  return (
    <Page title={t.orders} about={t.ordersAbout}>
      <Panel>
        <Paged of={usePages('listOrders', { query: { limit: 100 } })} height={280} isWide>
          {(rows, part) => <OrderRows label={t.orders} rows={rows} empty={empty} {...part} />}
        </Paged>
      </Panel>
    </Page>
  )
}

/** The order of a number; null, which has a page of its own, if there is none. */
async function findOrder(id: string): Promise<OrderDetails | null> {
  try {
    return await api.call('getOrder', { params: { order_id: id } })
  } catch (error) {
    if (error instanceof CallRefused && error.code === 'not_found') return null
    throw error
  }
}

export function OrderPage({ id }: { readonly id: string }) {
  const { t } = useMessages(moneyMessages)
  const order = useQuery({ queryKey: ['getOrder', id], queryFn: () => findOrder(id) })
  return (
    <Reading of={order} height={300}>
      {(found) =>
        found === null ? (
          <MissingPage icon="receipt" title={t.noSuch} about={t.noSuchAbout}>
            <a href="#/orders">{t.toList}</a>
          </MissingPage>
        ) : (
          <Shown order={found} />
        )
      }
    </Reading>
  )
}

const isRefundOf = (each: Transaction, { order_id }: Order): boolean =>
  each.kind === 'refund' && each.order_id === order_id

/** The refunds of an order, newest first. */
const useRefunds = (order: Order): readonly Transaction[] =>
  useQuery({
    queryKey: ['listTransactions', 'refunds', order.order_id],
    queryFn: () => loadMovements(Date.parse(order.created_at)),
  }).data?.filter((each) => isRefundOf(each, order)) ?? []

/** A proxy that has ended has no page. */
function pageOf(name: string, value: unknown, row: Readonly<Record<string, unknown>>): string | undefined {
  if (name === 'address') return row['status'] === 'gone' ? undefined : `#/dedicated/${String(row['proxy'])}`
  if (name === 'subuser') return `#/premium/subusers/${String(value)}`
  return name === 'uuid' ? '#/vpn' : undefined
}

function Shown({ order }: { readonly order: OrderDetails }) {
  const { t, format } = useMessages(moneyMessages)
  const { t: trade } = useMessages(tradeMessages)
  const refunds = useRefunds(order)
  return (
    <Page title={orderName(order, trade)} about={format.moment(order.created_at)}>
      <Panel>
        <Facts
          of={[
            [t.order, <Copyable text={order.order_id} label={t.order} />],
            [t.price, <strong>{format.exactMoney(order.price_rub)}</strong>],
            ...refunds.map(
              (each) =>
                [`${t.refunded} ${format.moment(each.created_at)}`, format.exactMoney(each.amount_rub)] as const,
            ),
          ]}
        />
      </Panel>
      <DeliveredPanel of={order} pageOf={pageOf} />
      <OrderRecords order={order} />
      <MetadataPanel kind="order" id={order.order_id} of={order.metadata} />
    </Page>
  )
}
