import { useState } from 'react'
import type { AnyPayment, PaymentNotice } from '../client/operator.ts'
import { Act, filled, Select } from '../shared/form.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Cell, Empty, Paged, Panel, ReadRows, Rows, Section, Status, type Tone } from '../shared/parts.tsx'
import { methodNames } from '../shared/trade.ts'
import { api, useMay, usePages, useRead } from './api.ts'
import { CodesTab } from './codes.tsx'
import { operatorTexts } from './messages.ts'
import { Nothing, RoleAct, useNote } from './parts.tsx'
import { ProvidersTab } from './providers.tsx'

const paymentsMessages = messages({
  ...operatorTexts,
  tabs: {
    '': pair('Payments', 'Платежи'),
    codes: pair('Codes and referrals', 'Коды и приглашения'),
    providers: pair('Providers', 'Провайдеры'),
  },
  abouts: {
    '': pair(
      'What customers have paid in or are about to, and what no payment explains.',
      'Что покупатели внесли или вот-вот внесут и что не объясняется ни одним платежом.',
    ),
    codes: pair(
      'Codes that add to top-ups, and shares for customers who bring others.',
      'Коды, которые добавляют к пополнениям, и доли тем, кто приводит покупателей.',
    ),
    providers: pair(
      'Through whom customers pay, and whether their books agree with ours.',
      'Через кого платят покупатели и сходятся ли их книги с нашими.',
    ),
  },
  reasons: {
    unknown: pair(
      'paid at the provider, and there is no such payment here, or its customer was erased',
      'оплачено у провайдера, а платежа здесь нет или его покупатель удалён',
    ),
    not_at_provider: pair(
      'the provider was asked, and has no such payment',
      'провайдера спросили, такого платежа у него нет',
    ),
    amount: pair('another amount was paid than was asked for', 'оплачена другая сумма'),
    currency: pair('it was paid in another currency', 'оплачено в другой валюте'),
    test: pair('paid in a test shop, where no money moves', 'оплачено в тестовом магазине, где деньги не ходят'),
    twice: pair('paid a second time for a payment that was credited', 'второй раз оплачен уже зачисленный платёж'),
    excess: pair('more was given back than was credited', 'возвращено больше, чем было зачислено'),
  },
  state: pair('State', 'Состояние'),
  states: {
    new: pair('Begun', 'Начат'),
    pending: pair('Waits for the money', 'Ждёт денег'),
    paid: pair('Paid', 'Оплачен'),
    expired: pair('Out of time', 'Время вышло'),
    cancelled: pair('Cancelled', 'Отменён'),
    refunded: pair('Gone back', 'Возвращён'),
  },
  returned: phrase('returned {sum}', 'возвращено {sum}'),
  markPaid: pair('Mark as paid', 'Отметить оплаченным'),
  markPaidAbout: pair(
    'The money is on your account or in your hand. It is credited at once, and once only.',
    'Деньги у вас на счёте или на руках. Зачисляются сразу и только один раз.',
  ),
  refund: pair('Give back', 'Вернуть'),
  refundAbout: pair(
    'Goes back to the payer, in full if the amount is empty, and is taken off the balance. ' +
      'A bonus or a share that came with it goes back too.',
    'Возвращается тому, кто платил, целиком, если не сказано сколько, и снимается с баланса. ' +
      'Бонус и доля, пришедшие с ним, тоже.',
  ),
  refundAmount: pair('Amount, ₽; empty: all of it', 'Сумма, ₽; если не сказано, вся'),
  intoDebt: pair('Even if it was spent: the customer owes it then', 'Даже если потрачено: тогда покупатель это должен'),
  allMatched: pair('Everything is explained', 'Всё объясняется'),
  allMatchedAbout: pair(
    'Notices of a provider that match no payment will be listed here.',
    'Здесь будет то, что говорит провайдер и не объясняет ни один платёж.',
  ),
  why: pair('What it is', 'Что это'),
  resolve: pair('Deal with it', 'Разобраться'),
  resolveAbout: pair(
    'Say what was done about it. A customer who is named is credited the amount.',
    'Скажите, что сделано. Названному покупателю зачисляется сумма.',
  ),
  creditTo: pair('Credit to, cus_…; empty: no credit', 'Зачислить, cus_…; никому, если не сказано'),
})

type State = AnyPayment['state']

const tones: Readonly<Record<State, Tone>> = {
  new: 'quiet',
  pending: 'warn',
  paid: 'good',
  expired: 'quiet',
  cancelled: 'quiet',
  refunded: 'bad',
}

const tabs = { '': PaymentsTab, codes: CodesTab, providers: ProvidersTab }

export function PaymentsPage({ tab }: { readonly tab: string }) {
  const { t } = useMessages(paymentsMessages)
  return <Section title={t.payments} about={t.abouts} base="/payments" names={t.tabs} tabs={tabs} tab={tab} />
}

function PaymentsTab() {
  const { t } = useMessages(paymentsMessages)
  const [state, setState] = useState<State | ''>('')
  const payments = usePages('listAllPayments', { query: state === '' ? {} : { state } })
  return (
    <>
      <Panel className="stack">
        <Select
          label={t.state}
          value={state}
          maw="16rem"
          options={[['', t.any], ...(Object.keys(tones) as State[]).map((each) => [each, t.states[each]] as const)]}
          onChange={setState}
        />
        <Paged of={payments}>{(items) => <Payments rows={items} />}</Paged>
      </Panel>
      <Unmatched />
    </>
  )
}

function Payments({ rows }: { readonly rows: readonly AnyPayment[] }) {
  const { t, format } = useMessages(paymentsMessages)
  const { t: methods } = useMessages(methodNames)
  return (
    <Rows
      label={t.payments}
      rows={rows}
      keyOf={(row) => row.payment_id}
      empty={<Nothing icon="wallet" />}
      columns={(column) => [
        column(t.payment, (row) => (
          <Cell note={row.payment_id} isMono>
            {format.moment(row.created_at)}
          </Cell>
        )),
        column(t.customer, (row) => <a href={`#/customers/${row.customer_id}`}>{`…${row.customer_id.slice(-8)}`}</a>),
        column(t.state, (row) => <Status tone={tones[row.state]}>{t.states[row.state]}</Status>),
        column.number(t.amount, (row) => (
          <span>
            {format.exactMoney(row.amount_rub)}
            <small>{methods[row.method] ?? row.method}</small>
            {row.refunded_rub > 0 && <small>{t.returned(format.exactMoney(row.refunded_rub))}</small>}
          </span>
        )),
        column.action(t.act, (row) => <Actions payment={row} />),
      ]}
    />
  )
}

function Actions({ payment }: { readonly payment: AnyPayment }) {
  const { t } = useMessages(paymentsMessages)
  const may = useMay()
  const noteField = useNote()
  const params = { payment_id: payment.payment_id }
  if (payment.state === 'paid' && may('refundPayment')) {
    return (
      <Act
        label={t.refund}
        about={t.refundAbout}
        look={{ size: 'xs' }}
        fields={[
          { name: 'amount', label: t.refundAmount, kind: 'number', isOptional: true },
          { name: 'intoDebt', label: t.intoDebt, kind: 'flag' },
          noteField,
        ]}
        run={({ amount, intoDebt, note }, key) =>
          api.call('refundPayment', {
            params,
            key,
            body: {
              ...(amount !== '' && { amount_rub: Number(amount) }),
              into_debt: intoDebt === true,
              ...filled({ note }),
            },
          })
        }
      />
    )
  }
  // The shop refuses to mark payments of other providers: they say themselves when one is paid.
  if (payment.provider !== 'invoice' || payment.state === 'refunded') return null
  return (
    <RoleAct
      operation="markPaid"
      label={t.markPaid}
      about={t.markPaidAbout}
      look={{ size: 'xs' }}
      fields={[noteField]}
      run={({ note }, key) => api.call('markPaid', { params, key, body: filled({ note }) })}
    />
  )
}

function Unmatched() {
  const { t, format } = useMessages(paymentsMessages)
  const amountOf = ({ amount, currency }: PaymentNotice): string =>
    amount === null ? '' : currency === 'RUB' ? format.exactMoney(amount) : `${format.number(amount)} ${currency ?? ''}`
  return (
    <Panel title={t.unmatched}>
      <ReadRows
        label={t.unmatched}
        of={useRead('listUnmatched')}
        keyOf={(row) => row.notice_id}
        empty={<Empty icon="check" title={t.allMatched} about={t.allMatchedAbout} />}
        columns={(column) => [
          column(t.when, (row) => format.moment(row.at)),
          column(t.provider, (row) => (
            <span>
              {row.provider} <small className="mono">{row.provider_id}</small>
            </span>
          )),
          column.text(t.why, (row) => t.reasons[row.reason]),
          column.number(t.amount, amountOf),
          column.action(t.act, (row) => <Resolve notice={row} />),
        ]}
      />
    </Panel>
  )
}

function Resolve({ notice: { notice_id } }: { readonly notice: PaymentNotice }) {
  const { t } = useMessages(paymentsMessages)
  return (
    <RoleAct
      operation="resolveUnmatched"
      label={t.resolve}
      about={t.resolveAbout}
      look={{ size: 'xs' }}
      fields={[{ name: 'credit_to', label: t.creditTo, isOptional: true }, useNote()]}
      run={(values) => api.call('resolveUnmatched', { params: { notice_id }, body: filled(values) })}
    />
  )
}
