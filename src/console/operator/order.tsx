import { type ActProps, filled, type Values } from '../shared/act.tsx'
import { Copyable } from '../shared/copy.tsx'
import { type Format, useMessages } from '../shared/messages.tsx'
import { DeliveredPanel, OrderRecords } from '../shared/orders.tsx'
import { Facts, Page, Panel, Reading } from '../shared/parts.tsx'
import { orderName, tradeMessages } from '../shared/trade.ts'
import { api, type OperatorAnswer, useRead } from './api.ts'
import { operatorMessages } from './messages.ts'
import { Events, Movements } from './money.tsx'
import { CustomerLink, Mono, useNote } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

export function OrderStory({ id }: { readonly id: string }) {
  const found = useRead('getOrderStory', { params: { order_id: id } })
  return <Reading of={found}>{(story) => <Shown of={story} />}</Reading>
}

/** The page of a proxy or a VPN subscription that was delivered. */
function pageOf(name: string, value: unknown, row: Readonly<Record<string, unknown>>): string | undefined {
  if (name === 'address') return `#/proxies/${String(row['proxy'])}`
  return name === 'uuid' ? `#/vpn/${String(value)}` : undefined
}

function Shown({ of }: { readonly of: OperatorAnswer<'getOrderStory'> }) {
  const { order, customer_name, transactions, events } = of
  const before = transactions.reduce((sum, each) => sum + (each.kind === 'refund' ? each.amount_rub : 0), 0)
  const { t, format } = useMessages(operatorMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Page
      title={orderName(order, trade)}
      about={format.moment(order.created_at)}
      actions={order.price_rub > 0 && <Refund id={order.order_id} price={order.price_rub} before={before} />}
    >
      <Panel>
        <Facts
          of={[
            [t.order, <Copyable text={order.order_id} label={t.order} />],
            [t.customer, <CustomerLink id={order.customer_id} name={customer_name} />],
            [t.price, <strong>{format.exactMoney(order.price_rub)}</strong>],
            order.request_id !== null && [
              t.requestId,
              <Copyable key="request" text={order.request_id} label={t.requestId} />,
            ],
            order.idempotency_key !== null && [
              'Idempotency-Key',
              <Copyable key="idempotency" text={order.idempotency_key} label="Idempotency-Key" />,
            ],
          ]}
        />
      </Panel>
      <OrderRecords order={order} />
      <Panel title={t.movements}>
        <Movements rows={transactions} />
      </Panel>
      <DeliveredPanel of={of} pageOf={pageOf} />
      <Panel title={t.events}>
        <Events rows={events} />
      </Panel>
    </Page>
  )
}

type RefundProps = {
  readonly id: string
  readonly price: number
  readonly before: number
  readonly look?: ActProps<unknown>['look']
}

/** The preview is the shop's own refund, rolled back. Ending the services is the default. */
export function Refund({ id, price, before, look }: RefundProps) {
  const { t, format } = useMessages(operatorMessages)
  const endings = Object.entries({ unused: t.refundUnused, whole: t.refundWhole, '': t.refundKeep })
  const params = { order_id: id }
  const bodyOf = ({ amount, end, note }: Values) => ({
    ...(end === '' ? { amount_rub: Number(amount), again: before > 0 } : { end: end as 'unused' | 'whole' }),
    ...filled({ note }),
  })
  return (
    <RoleAct
      operation="refundOrder"
      label={t.refund}
      about={t.refundAbout}
      {...(look && { look })}
      fields={[
        { name: 'end', label: t.refundEnd, kind: 'choice', options: endings, isOptional: true },
        { name: 'amount', label: t.amount, kind: 'number', isShown: ({ end }) => end === '' },
        useNote('customer'),
      ]}
      run={(values, key) => api.call('refundOrder', { params, key, body: bodyOf(values) })}
      preview={{
        load: (values) => api.call('refundOrder', { params, body: { ...bodyOf(values), dry_run: true } }),
        show: (would) => (
          <Facts
            of={[
              [t.price, format.exactMoney(price)],
              before > 0 && [t.refundedBefore, format.exactMoney(before)],
              'transaction' in would ? [t.willRun, t.allServices] : [t.willEnd, <Ended of={would} />],
              (would.prolongation_rub ?? 0) > 0 && [t.ofPurchase, format.exactMoney(would.purchase_rub ?? 0)],
              (would.prolongation_rub ?? 0) > 0 && [t.ofProlongation, format.exactMoney(would.prolongation_rub ?? 0)],
              [t.willRefund, <strong>{format.exactMoney(would.amount_rub)}</strong>],
              [t.after, format.exactMoney(would.balance_rub)],
            ]}
          />
        ),
      }}
    />
  )
}

type Service = NonNullable<OperatorAnswer<'refundOrder'>['services']>[number]

/** A proxy’s part of the refund, such as “₽80.00 + prolongation ₽20.00”. The parts add up to the refund. */
const sayRefund = (of: Service, t: { readonly ofProlongation: string }, format: Format): string =>
  [
    format.exactMoney(of.refunded_purchase_rub),
    ...(of.refunded_prolongation_rub > 0 ? [t.ofProlongation, format.exactMoney(of.refunded_prolongation_rub)] : []),
  ].join(' ')

const partsOf = (services: readonly Service[]): number =>
  services.reduce((sum, each) => sum + each.refunded_purchase_rub + each.refunded_prolongation_rub, 0)

/** The services that a refund ends. */
function Ended({ of }: { readonly of: OperatorAnswer<'refundOrder'> }) {
  const { t, format } = useMessages(operatorMessages)
  const services = of.services ?? []
  if (of.proxies && services.length === 0) return of.proxies.map((each) => t.proxy(String(each))).join(', ')
  if (of.proxies) {
    const more = of.proxies.length - services.length
    return (
      <span className="ended">
        {services.map((each) => (
          <span key={each.proxy}>
            <Mono>{each.address}</Mono> {sayRefund(each, t, format)}
          </span>
        ))}
        {more > 0 && (
          <span>
            {t.andMore(format.number(more))}: {format.exactMoney(of.amount_rub - partsOf(services))}
          </span>
        )}
      </span>
    )
  }
  if (of.returned_gb !== undefined) return format.gigabytes(of.returned_gb)
  if (of.subscription === undefined) return of.uuid === undefined ? t.nothingEnds : 'VPN'
  const { until, devices, orders } = of.subscription
  return (
    <span className="ended">
      <span>{t.wholeSubscription(format.day(until), format.number(devices))}</span>
      {orders.length > 0 && (
        <span>
          {t.alsoRefunded}{' '}
          {orders.map((each) => (
            <Mono key={each}>{each}</Mono>
          ))}
        </span>
      )}
    </span>
  )
}
