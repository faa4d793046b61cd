import { Text } from '@mantine/core'
import { useState } from 'react'
import { Act, filled } from '../shared/act.tsx'
import { Copyable } from '../shared/copy.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { ProxyCheck } from '../shared/notes.tsx'
import { Facts, Notice, Page, Panel, Reading, Rows, Status } from '../shared/parts.tsx'
import { api, type OperatorAnswer, useChange, useMay, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { CustomerLink, Mono, useNote } from './parts.tsx'

const proxyMessages = messages({
  ...operatorTexts,
  noGateway: pair('None', 'Нет'),
  forDays: phrase('for {days}', 'на {days}'),
  interruptedSince: pair('Interrupted since', 'Не работает с'),
  addresses: pair('Address history', 'История адресов'),
  replaceAbout: pair(
    'Assigns another address of the same type. It does not count towards the customer’s own replacements.',
    'Назначает другой адрес того же типа. Не учитывается в заменах, доступных покупателю.',
  ),
  end: pair('Refund and end', 'Вернуть деньги и прекратить'),
  endAbout: pair('The proxy stops within 2 seconds.', 'Прокси остановится в течение 2 секунд.'),
  paid: pair('Paid', 'Оплачено'),
  used: pair('Used', 'Использовано'),
  refunded: pair('Refunded', 'Возвращено'),
  hasEnded: pair('The proxy has ended.', 'Прокси прекращён.'),
  checking: pair('Connection check', 'Проверка соединения'),
  checkAbout: pair(
    'The shop connects through the proxy with the customer’s credentials.',
    'Магазин подключится через прокси с данными покупателя.',
  ),
  giveBack: pair('Refund the unused time', 'Вернуть деньги за неиспользованное время'),
})

type Proxy = OperatorAnswer<'showProxy'>
type Ended = { readonly done: OperatorAnswer<'endProxy'>; readonly note: string }

export const ProxyPage = ({ id }: { readonly id: string }) => (
  <Reading of={useRead('showProxy', { params: { proxy: id } })} height={300}>
    {(proxy) => <Shown of={proxy} />}
  </Reading>
)

function Shown({ of }: { readonly of: Proxy }) {
  const { t, format } = useMessages(proxyMessages)
  const [ended, setEnded] = useState<Ended>()
  const may = useMay()
  const check = useChange('checkProxy')
  return (
    <Page title={t.proxy(String(of.proxy))} about={of.comment} actions={<Actions of={of} onEnded={setEnded} />}>
      {ended && (
        <Notice tone="good">
          <Text fw={600}>{t.hasEnded}</Text>
          <Amounts of={ended.done} address={of.address} refunded={t.refunded} />
          {ended.note !== '' && <Text size="sm">{ended.note}</Text>}
        </Notice>
      )}
      <Panel>
        <Facts
          of={[
            [t.status, <Status tone={of.status === 'active' ? 'good' : 'quiet'}>{t.states[of.status]}</Status>],
            of.interrupted_at !== null && [t.interruptedSince, format.moment(of.interrupted_at)],
            [t.address, <Copyable text={of.address} label={t.address} />],
            [t.kind, `${format.country(of.country)}, ${t.kinds[of.ipv] ?? of.ipv}`],
            [t.gateway, of.node === null ? t.noGateway : <a href={`#/network/${of.node}`}>{of.node}</a>],
            [t.customer, <CustomerLink id={of.customer_id} name={of.customer_name} />],
            [t.order, <a href={`#/orders/${of.order_id}`}>{t.story}</a>],
            [t.login, <Mono>{of.username}</Mono>],
            [t.from, format.moment(of.started_at)],
            [t.until, format.moment(of.ended_at ?? of.expires_at)],
            [t.renews, of.auto_renew === null ? t.no : t.forDays(t.days(of.auto_renew, format))],
            [t.received, format.bytes(of.rx_bytes)],
            [t.sent, format.bytes(of.tx_bytes)],
          ]}
        />
      </Panel>
      {of.status !== 'gone' && may('checkProxy') && (
        <Panel title={t.checking} className="stack">
          <Text c="dimmed">{t.checkAbout}</Text>
          <ProxyCheck of={check} onCheck={() => check.mutate({ params: { proxy: String(of.proxy) } })} />
        </Panel>
      )}
      <Panel title={t.addresses}>
        <Rows
          label={t.addresses}
          rows={of.addresses}
          keyOf={(row) => row.address + row.from}
          columns={(column) => [
            column(
              t.address,
              (row) => <Mono>{row.address}</Mono>,
              (row) => row.address,
            ),
            column.value(t.from, (row) => row.from, format.moment),
            column.value(t.until, (row) => row.until, format.moment, t.now),
          ]}
        />
      </Panel>
    </Page>
  )
}

type AmountsProps = Readonly<{ of: OperatorAnswer<'endProxy'>; address: string; refunded: string }>

/** The paid, used and refunded price of a proxy. */
function Amounts({ of: { amount_rub, balance_rub, services = [] }, address, refunded }: AmountsProps) {
  const { t, format } = useMessages(proxyMessages)
  const [service] = services
  return (
    <Facts
      of={[
        [t.address, <Mono>{address}</Mono>],
        service !== undefined && [t.paid, format.exactMoney(service.paid_rub)],
        service !== undefined && [t.used, format.exactMoney(service.used_rub)],
        [refunded, <strong>{format.exactMoney(amount_rub)}</strong>],
        [t.after, format.exactMoney(balance_rub)],
      ]}
    />
  )
}

function Actions({ of, onEnded }: { readonly of: Proxy; readonly onEnded: (ended: Ended) => void }) {
  const { t } = useMessages(proxyMessages)
  const may = useMay()
  const noteField = useNote('customer')
  const params = { proxy: String(of.proxy) }
  if (of.status === 'gone' || !may('endProxy')) return null
  return (
    <>
      <Act
        label={t.replace}
        about={t.replaceAbout}
        fields={[noteField]}
        run={({ note }, key) => api.call('replaceProxy', { params, key, body: filled({ note }) })}
      />
      <Act
        label={t.end}
        about={t.endAbout}
        look={{ color: 'red', variant: 'outline' }}
        fields={[{ name: 'refund', label: t.giveBack, kind: 'flag', initial: true }, noteField]}
        run={async ({ refund, note }, key) => {
          const done = await api.call('endProxy', {
            params,
            key,
            body: { refund: refund === true, ...filled({ note }) },
          })
          onEnded({ done, note: String(note) })
          return done
        }}
        preview={{
          load: ({ refund }) => api.call('endProxy', { params, body: { refund: refund === true, dry_run: true } }),
          show: (would) => <Amounts of={would} address={of.address} refunded={t.willRefund} />,
        }}
      />
    </>
  )
}
