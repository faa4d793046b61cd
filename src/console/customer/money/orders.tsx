import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { CallRefused } from '../../client/call.ts'
import type { Order } from '../../client/customer.ts'
import { Copyable } from '../../shared/copy.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { OrderRecords, OrderRows, orderWords } from '../../shared/orders.tsx'
import { Empty, Facts, Page, Panel, Reading } from '../../shared/parts.tsx'
import { orderName, tradeWords } from '../../shared/trade-words.ts'
import { sharedWords } from '../../shared/words.ts'
import { api } from '../api.ts'
import { useOrders } from './movements.ts'
import { moneyWords } from './words.ts'

export function OrdersPage() {
  const words = useWords(moneyWords)
  const shared = useWords(sharedWords)
  const pages = useOrders()
  return (
    <Page title={words.orders} about={words.ordersAbout}>
      <Panel>
        <Reading of={pages} height={280}>
          {({ pages: loaded }) => {
            const rows = loaded.flatMap((page) => page.orders)
            if (rows.length === 0) return <Empty icon="receipt" title={words.noOrders} about={words.noOrdersAbout} />
            return (
              <div className="stack">
                <OrderRows label={words.orders} rows={rows} />
                {pages.hasNextPage && (
                  <Button
                    variant="default"
                    loading={pages.isFetchingNextPage}
                    onClick={() => void pages.fetchNextPage()}
                  >
                    {shared.more}
                  </Button>
                )}
              </div>
            )
          }}
        </Reading>
      </Panel>
    </Page>
  )
}

/** A number that is not an order's is a common mistake and no failure: it has a page of its own. */
async function findOrder(id: string): Promise<Order | null> {
  try {
    return await api.call('getOrder', { params: { order_id: id } })
  } catch (error) {
    if (error instanceof CallRefused && error.code === 'not_found') return null
    throw error
  }
}

export function OrderPage({ id }: { readonly id: string }) {
  const words = useWords(moneyWords)
  const order = useQuery({ queryKey: ['getOrder', id], queryFn: () => findOrder(id) })
  return (
    <Reading of={order} height={300}>
      {(found) =>
        found === null ? (
          <Page title={words.noSuch}>
            <Empty icon="receipt" title={words.noSuch} about={words.noSuchAbout}>
              <a href="#/orders">{words.toList}</a>
            </Empty>
          </Page>
        ) : (
          <Shown order={found} />
        )
      }
    </Reading>
  )
}

function Shown({ order }: { readonly order: Order }) {
  const words = useWords(orderWords)
  const trade = useWords(tradeWords)
  const format = useFormat()
  return (
    <Page title={orderName(order, trade)} about={format.moment(order.created_at)}>
      <Panel>
        <Facts
          of={[
            [words.order, <Copyable key="id" text={order.order_id} label={words.order} />],
            [words.price, <strong key="price">{format.exactMoney(order.price_rub)}</strong>],
          ]}
        />
      </Panel>
      <OrderRecords order={order} />
    </Page>
  )
}
