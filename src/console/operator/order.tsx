import { Text } from '@mantine/core'
import { Act } from '../shared/act.tsx'
import { Copyable } from '../shared/copy.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { OrderRecords, orderWords } from '../shared/orders.tsx'
import { Facts, Page, Panel, Reading } from '../shared/parts.tsx'
import { RecordRows } from '../shared/records.tsx'
import { orderName, tradeWords } from '../shared/trade-words.ts'
import { type Answer, api, useMay, useRead } from './api.ts'
import { Events, Movements } from './money.tsx'
import { operatorWords } from './words.ts'

export function OrderStory({ id }: { readonly id: string }) {
  const found = useRead('getOrderStory', { params: { order_id: id } })
  return <Reading of={found}>{(story) => <Shown of={story} />}</Reading>
}

/** Where a thing that was delivered is looked at. */
function pageOf(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  return name === 'proxy' ? `#/proxies/${value}` : name === 'uuid' ? `#/vpn/${value}` : undefined
}

/** What was asked, what it cost and why, what moved, what came of it. */
function Shown({ of: { order, transactions, delivered, events } }: { readonly of: Answer<'getOrderStory'> }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const may = useMay()
  const named = useWords(orderWords)
  const trade = useWords(tradeWords)
  return (
    <Page
      title={orderName(order, trade)}
      about={format.moment(order.created_at)}
      actions={may('refundOrder') && <Refund id={order.order_id} />}
    >
      <Panel>
        <Facts
          of={[
            [named.order, <Copyable key="id" text={order.order_id} label={named.order} />],
            [
              words.customer,
              <a key="customer" href={`#/customers/${order.customer_id}`}>
                {order.customer_id}
              </a>,
            ],
            [named.price, <strong key="price">{format.exactMoney(order.price_rub)}</strong>],
          ]}
        />
      </Panel>
      <OrderRecords order={order} />
      <Panel title={words.movements}>
        <Movements rows={transactions} />
      </Panel>
      <Panel title={words.delivered} className="stack">
        {delivered.length === 0 ? (
          <Text c="dimmed">{words.nothingDelivered}</Text>
        ) : (
          <RecordRows label={words.delivered} rows={delivered} pageOf={pageOf} />
        )}
      </Panel>
      <Panel title={words.events}>
        <Events rows={events} />
      </Panel>
    </Page>
  )
}

function Refund({ id }: { readonly id: string }) {
  const words = useWords(operatorWords)
  return (
    <Act
      label={words.refund}
      about={words.refundAbout}
      fields={[
        { name: 'amount', label: words.amount, kind: 'number', isOptional: true },
        {
          name: 'end',
          label: words.refundEnd,
          kind: 'choice',
          options: [
            ['', words.refundKeep],
            ['unused', words.refundUnused],
            ['whole', words.refundWhole],
          ],
          isOptional: true,
        },
        { name: 'again', label: words.again, kind: 'flag' },
        { name: 'note', label: words.note, isOptional: true },
      ]}
      run={({ amount, end, again, note }, key) =>
        api.call('refundOrder', {
          params: { order_id: id },
          key,
          body: {
            ...(amount !== '' && { amount_rub: Number(amount) }),
            ...(end !== '' && { end: end as 'unused' | 'whole' }),
            ...(again === true && { again }),
            ...(note !== '' && { note: String(note) }),
          },
        })
      }
    />
  )
}
