import { Text } from '@mantine/core'
import { Copyable } from '../shared/copy.tsx'
import { filled } from '../shared/form.tsx'
import { useMessages } from '../shared/messages.tsx'
import { OrderRecords, RecordRows } from '../shared/orders.tsx'
import { Facts, Page, Panel, Reading } from '../shared/parts.tsx'
import { orderName, tradeMessages } from '../shared/trade.ts'
import { api, type OperatorAnswer, useRead } from './api.ts'
import { operatorMessages } from './messages.ts'
import { Events, Movements } from './money.tsx'
import { CustomerLink, RoleAct, useNote } from './parts.tsx'

export function OrderStory({ id }: { readonly id: string }) {
  const found = useRead('getOrderStory', { params: { order_id: id } })
  return <Reading of={found}>{(story) => <Shown of={story} />}</Reading>
}

/** The page of a proxy or a VPN subscription that was delivered. */
function pageOf(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  return name === 'proxy' ? `#/proxies/${value}` : name === 'uuid' ? `#/vpn/${value}` : undefined
}

function Shown({ of: { order, transactions, delivered, events } }: { readonly of: OperatorAnswer<'getOrderStory'> }) {
  const { t, format } = useMessages(operatorMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Page
      title={orderName(order, trade)}
      about={format.moment(order.created_at)}
      actions={<Refund id={order.order_id} />}
    >
      <Panel>
        <Facts
          of={[
            [t.order, <Copyable text={order.order_id} label={t.order} />],
            [t.customer, <CustomerLink id={order.customer_id} />],
            [t.price, <strong>{format.exactMoney(order.price_rub)}</strong>],
          ]}
        />
      </Panel>
      <OrderRecords order={order} />
      <Panel title={t.movements}>
        <Movements rows={transactions} />
      </Panel>
      <Panel title={t.delivered} className="stack">
        {delivered.length === 0 ? (
          <Text c="dimmed">{t.nothingDelivered}</Text>
        ) : (
          <RecordRows label={t.delivered} rows={delivered} pageOf={pageOf} />
        )}
      </Panel>
      <Panel title={t.events}>
        <Events rows={events} />
      </Panel>
    </Page>
  )
}

function Refund({ id }: { readonly id: string }) {
  const { t } = useMessages(operatorMessages)
  const endings = Object.entries({ '': t.refundKeep, unused: t.refundUnused, whole: t.refundWhole })
  return (
    <RoleAct
      operation="refundOrder"
      label={t.refund}
      about={t.refundAbout}
      fields={[
        { name: 'amount', label: t.amount, kind: 'number', isOptional: true },
        { name: 'end', label: t.refundEnd, kind: 'choice', options: endings, isOptional: true },
        { name: 'again', label: t.again, kind: 'flag' },
        useNote(),
      ]}
      run={({ amount, end, again, note }, key) =>
        api.call('refundOrder', {
          params: { order_id: id },
          key,
          body: {
            ...(amount !== '' && { amount_rub: Number(amount) }),
            ...(end !== '' && { end: end as 'unused' | 'whole' }),
            ...(again === true && { again }),
            ...filled({ note }),
          },
        })
      }
    />
  )
}
