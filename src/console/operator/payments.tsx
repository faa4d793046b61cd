import { useState } from 'react'
import type { AnyPayment, PaymentNotice } from '../client/operator.ts'
import { Act, filled, type Values } from '../shared/act.tsx'
import { Copyable } from '../shared/copy.tsx'
import { Select } from '../shared/form.tsx'
import { messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import {
  Cell,
  Empty,
  Facts,
  Page,
  Paged,
  Panel,
  Reading,
  ReadRows,
  Rows,
  type RowsProps,
  Section,
  Status,
  type Tone,
} from '../shared/parts.tsx'
import { methodNames } from '../shared/trade.ts'
import { api, type OperatorAnswer, useMay, usePages, useRead } from './api.ts'
import { CodesTab } from './codes.tsx'
import { operatorTexts } from './messages.ts'
import { CustomerLink, Nothing, paymentStates, useNote } from './parts.tsx'
import { ProvidersTab } from './providers.tsx'
import { RoleAct } from './role-act.tsx'

const paymentsMessages = messages({
  ...operatorTexts,
  tabs: {
    '': pair('Payments', 'Платежи'),
    codes: pair('Promo codes and referrals', 'Промокоды и приглашения'),
    providers: pair('Providers', 'Платёжные системы'),
  },
  abouts: {
    '': pair(
      'Payments of customers, and provider notices that match no payment.',
      'Платежи покупателей и уведомления платёжных систем, для которых платёж не найден.',
    ),
    codes: pair(
      'Bonuses for top-ups, and rewards for customers who refer others.',
      'Бонусы к пополнениям и награды за приглашённых покупателей.',
    ),
    providers: pair(
      'Payment providers, and reconciliation with their records.',
      'Платёжные системы и сверка с их данными.',
    ),
  },
  reasons: {
    unknown: pair(
      'paid at the provider; the shop has no such payment, or its customer was erased',
      'оплачено в платёжной системе, но в магазине такого платежа нет или покупатель удалён',
    ),
    not_at_provider: pair('the provider has no such payment', 'в платёжной системе такого платежа нет'),
    amount: pair('the paid amount differs from the requested one', 'оплаченная сумма отличается от запрошенной'),
    currency: pair('paid in another currency', 'оплачено в другой валюте'),
    test: pair('paid in a test shop, without real money', 'оплачено в тестовом магазине, без реальных денег'),
    twice: pair('an already credited payment was paid again', 'уже зачисленный платёж оплачен повторно'),
    excess: pair('more was refunded than was credited', 'возвращено больше, чем было зачислено'),
  },
  state: pair('State', 'Состояние'),
  fee: pair('Fee', 'Комиссия'),
  idThere: pair('ID at the provider', 'ID в платёжной системе'),
  steps: pair('Steps', 'Ход платежа'),
  stepKinds: names({
    opened: pair('Created', 'Создан'),
    sent: pair('Sent to the provider', 'Отправлен в платёжную систему'),
    credited: pair('Credited', 'Зачислен'),
    bonus: pair('Bonus', 'Бонус'),
    bonus_back: pair('Bonus taken back', 'Бонус списан'),
    share: pair('Referral reward', 'Награда за приглашение'),
    share_back: pair('Referral reward taken back', 'Награда за приглашение списана'),
    refund_requested: pair('Refund requested', 'Запрошен возврат'),
    debited: pair('Refunded', 'Возвращён'),
    expired: pair('Expired', 'Истёк'),
    cancelled: pair('Cancelled', 'Отменён'),
  }),
  returned: phrase('refunded {sum}', 'возвращено {sum}'),
  markPaid: pair('Mark as paid', 'Отметить оплаченным'),
  markPaidAbout: pair(
    'Use this when you have received the money. It is credited at once, and only once.',
    'Отметьте, когда деньги получены. Они зачисляются сразу и только один раз.',
  ),
  refund: pair('Refund', 'Вернуть'),
  refundAbout: pair(
    'Refunds the payer and debits the balance. The bonus and the referral reward of the payment are taken back too.',
    'Возвращает деньги плательщику и списывает их с баланса. Бонус и награда за приглашение по этому платежу тоже ' +
      'списываются.',
  ),
  refundedThen: pair('Refunded in total', 'Возвращено всего'),
  intoDebt: pair(
    'Even if spent: the balance becomes negative',
    'Даже если деньги потрачены: баланс станет отрицательным',
  ),
  allMatched: pair('No unmatched notices', 'Неразобранных уведомлений нет'),
  allMatchedAbout: pair(
    'Provider notices that match no payment will be listed here.',
    'Здесь появятся уведомления платёжных систем, для которых платёж не найден.',
  ),
  why: pair('Cause', 'Причина'),
  resolve: pair('Resolve', 'Разобрать'),
  resolveAbout: pair(
    'Describe the action taken. If you enter a customer, the amount is credited to that customer.',
    'Опишите, что сделано. Если указать покупателя, сумма зачислится ему.',
  ),
  creditTo: pair('Credit to the customer, cus_… (optional)', 'Зачислить покупателю, cus_… (необязательно)'),
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
  const { t: states } = useMessages(paymentStates)
  const [state, setState] = useState<State | ''>('')
  const payments = usePages('listAllPayments', { query: state === '' ? {} : { state } })
  return (
    <>
      <Panel className="stack">
        <Select
          label={t.state}
          value={state}
          maw="16rem"
          options={[
            ['', t.any],
            ...(Object.keys(tones) as State[]).map((each) => [each, states[each] ?? each] as const),
          ]}
          onChange={setState}
        />
        <Paged of={payments}>{(items, part) => <Payments rows={items} {...part} />}</Paged>
      </Panel>
      <Unmatched />
    </>
  )
}

function PaymentState({ of }: { readonly of: State }) {
  const { t } = useMessages(paymentStates)
  return <Status tone={tones[of]}>{t[of]}</Status>
}

export const PaymentPage = ({ id }: { readonly id: string }) => (
  <Reading of={useRead('getPaymentSteps', { params: { payment_id: id } })} height={300}>
    {(found) => <ShownPayment of={found} />}
  </Reading>
)

function ShownPayment({ of: { payment, steps } }: { readonly of: OperatorAnswer<'getPaymentSteps'> }) {
  const { t, format } = useMessages(paymentsMessages)
  const { t: methods } = useMessages(methodNames)
  return (
    <Page title={t.payment} about={format.moment(payment.created_at)} actions={<Actions payment={payment} />}>
      <Panel>
        <Facts
          of={[
            [t.payment, <Copyable text={payment.payment_id} label={t.payment} />],
            [t.customer, <CustomerLink id={payment.customer_id} name={payment.customer_name} />],
            [t.state, <PaymentState of={payment.state} />],
            [t.amount, <strong>{format.exactMoney(payment.amount_rub)}</strong>],
            [t.fee, format.exactMoney(payment.fee_rub)],
            [t.refunded, format.exactMoney(payment.refunded_rub)],
            [t.method, methods[payment.method] ?? payment.method],
            [t.provider, payment.provider],
            payment.provider_id !== null && [t.idThere, <Copyable text={payment.provider_id} label={t.idThere} />],
          ]}
        />
      </Panel>
      <Panel title={t.steps}>
        <Rows
          label={t.steps}
          rows={steps}
          keyOf={(row) => row.step}
          columns={(column) => [
            column.value(t.when, (row) => row.at, format.moment),
            column.text(t.what, (row) => <Cell note={row.note}>{t.stepKinds[row.kind] ?? row.kind}</Cell>),
            column(
              t.state,
              (row) => <PaymentState of={row.state} />,
              (row) => row.state,
            ),
            column.number(
              t.amount,
              (row) => (row.amount_rub === 0 ? '–' : format.exactMoney(row.amount_rub)),
              (row) => row.amount_rub,
            ),
          ]}
        />
      </Panel>
    </Page>
  )
}

/** A customer's payments, without the column of the customer. */
export function CustomerPayments({ customer }: { readonly customer: string }) {
  const payments = usePages('listAllPayments', { query: { customer_id: customer, limit: 20 } })
  return <Paged of={payments}>{(items, part) => <Payments rows={items} isOfOne {...part} />}</Paged>
}

type PaymentsProps = Pick<RowsProps<AnyPayment>, 'rows' | 'loadAll'> & { readonly isOfOne?: boolean }

function Payments({ rows, isOfOne = false, ...part }: PaymentsProps) {
  const { t, format } = useMessages(paymentsMessages)
  const { t: methods } = useMessages(methodNames)
  return (
    <Rows
      label={t.payments}
      rows={rows}
      {...part}
      keyOf={(row) => row.payment_id}
      empty={<Nothing icon="wallet" />}
      columns={(column) => [
        column(
          t.payment,
          (row) => <a href={`#/payments/${row.payment_id}`}>{format.moment(row.created_at)}</a>,
          (row) => row.created_at,
        ),
        ...(isOfOne
          ? []
          : [column(t.customer, (row) => <CustomerLink id={row.customer_id} name={row.customer_name} />)]),
        column(
          t.state,
          (row) => <PaymentState of={row.state} />,
          (row) => row.state,
        ),
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
  const { t, format } = useMessages(paymentsMessages)
  const may = useMay()
  const noteField = useNote('operators')
  const params = { payment_id: payment.payment_id }
  const left = Math.round((payment.amount_rub - payment.refunded_rub) * 100) / 100
  const bodyOf = ({ amount, intoDebt, note }: Values) => ({
    amount_rub: Number(amount),
    into_debt: intoDebt === true,
    ...filled({ note }),
  })
  if (payment.state === 'paid' && may('refundPayment')) {
    return (
      <Act
        label={t.refund}
        about={t.refundAbout}
        look={{ size: 'xs' }}
        fields={[
          { name: 'amount', label: t.amount, kind: 'number', initial: left },
          { name: 'intoDebt', label: t.intoDebt, kind: 'flag' },
          noteField,
        ]}
        run={(values, key) => api.call('refundPayment', { params, key, body: bodyOf(values) })}
        preview={{
          load: (values) => api.call('refundPayment', { params, body: { ...bodyOf(values), dry_run: true } }),
          show: ({ amount_rub, refunded_rub }) => (
            <Facts
              of={[
                [t.payment, format.exactMoney(amount_rub)],
                [t.willRefund, <strong>{format.exactMoney(refunded_rub - payment.refunded_rub)}</strong>],
                [t.refundedThen, format.exactMoney(refunded_rub)],
              ]}
            />
          ),
        }}
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
          column.value(t.when, (row) => row.at, format.moment),
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
      fields={[{ name: 'credit_to', label: t.creditTo, isOptional: true }, useNote('customer')]}
      run={(values) => api.call('resolveUnmatched', { params: { notice_id }, body: filled(values) })}
    />
  )
}
