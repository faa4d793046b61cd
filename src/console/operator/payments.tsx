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
    codes: pair('Promo codes and referrals', 'Промокоды и приглашения'),
    providers: pair('Providers', 'Провайдеры'),
  },
  abouts: {
    '': pair(
      'Payments of customers, and provider notices that match no payment.',
      'Платежи покупателей и уведомления провайдеров, для которых платёж не найден.',
    ),
    codes: pair(
      'Bonuses for top-ups, and rewards for customers who refer others.',
      'Бонусы к пополнениям и награды за приглашённых покупателей.',
    ),
    providers: pair(
      'Payment providers, and reconciliation with their records.',
      'Платёжные провайдеры и сверка с их данными.',
    ),
  },
  reasons: {
    unknown: pair(
      'paid at the provider; the shop has no such payment, or its customer was erased',
      'оплачено у провайдера, но в магазине такого платежа нет или покупатель удалён',
    ),
    not_at_provider: pair('the provider has no such payment', 'у провайдера такого платежа нет'),
    amount: pair('the paid amount differs from the requested one', 'оплаченная сумма отличается от запрошенной'),
    currency: pair('paid in another currency', 'оплачено в другой валюте'),
    test: pair('paid in a test shop, without real money', 'оплачено в тестовом магазине, без реальных денег'),
    twice: pair('an already credited payment was paid again', 'уже зачисленный платёж оплачен повторно'),
    excess: pair('more was refunded than was credited', 'возвращено больше, чем было зачислено'),
  },
  state: pair('State', 'Состояние'),
  states: {
    new: pair('Created', 'Создан'),
    pending: pair('Awaiting payment', 'Ожидает оплаты'),
    paid: pair('Paid', 'Оплачен'),
    expired: pair('Expired', 'Истёк'),
    cancelled: pair('Cancelled', 'Отменён'),
    refunded: pair('Refunded', 'Возвращён'),
  },
  returned: phrase('refunded {sum}', 'возвращено {sum}'),
  markPaid: pair('Mark as paid', 'Отметить оплаченным'),
  markPaidAbout: pair(
    'Use this when you have received the money. It is credited at once, and only once.',
    'Отметьте, когда деньги получены. Они зачисляются сразу и только один раз.',
  ),
  refund: pair('Refund', 'Вернуть'),
  refundAbout: pair(
    'Refunds the payer and debits the balance. Empty amount: the full payment. ' +
      'The bonus and the referral reward of the payment are taken back too.',
    'Возвращает деньги плательщику и списывает их с баланса. Пустая сумма: весь платёж. ' +
      'Бонус и награда за приглашение по этому платежу тоже списываются.',
  ),
  refundAmount: pair('Amount, ₽; empty: full payment', 'Сумма, ₽; пустое поле: весь платёж'),
  intoDebt: pair(
    'Even if spent: the balance becomes negative',
    'Даже если деньги потрачены: баланс станет отрицательным',
  ),
  allMatched: pair('No unmatched notices', 'Неразобранных уведомлений нет'),
  allMatchedAbout: pair(
    'Provider notices that match no payment will be listed here.',
    'Здесь появятся уведомления провайдеров, для которых платёж не найден.',
  ),
  why: pair('Cause', 'Причина'),
  resolve: pair('Resolve', 'Разобрать'),
  resolveAbout: pair(
    'Describe the action taken. If you enter a customer, the amount is credited to that customer.',
    'Опишите, что сделано. Если указать покупателя, сумма зачислится ему.',
  ),
  creditTo: pair('Credit to, cus_…; empty: no credit', 'Зачислить, cus_…; пустое поле: не зачислять'),
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
