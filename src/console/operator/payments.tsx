import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import type { AnyPayment, PaymentNotice } from '../client/operator.ts'
import { Act } from '../shared/act.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { methodNames } from '../shared/method-names.ts'
import { NoSuchPage } from '../shared/no-such-page.tsx'
import { Paged } from '../shared/paged.tsx'
import { Empty, Page, Panel, Reading, Status, type Tone } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { api, useMay, usePages, useRead } from './api.ts'
import { CodesTab } from './codes.tsx'
import { paymentsWords } from './payments-words.ts'
import { ProvidersTab } from './providers.tsx'
import { operatorWords } from './words.ts'

type State = AnyPayment['state']

const states: readonly State[] = ['new', 'pending', 'paid', 'expired', 'cancelled', 'refunded']
const tones: Readonly<Record<State, Tone>> = {
  new: 'quiet',
  pending: 'warn',
  paid: 'good',
  expired: 'quiet',
  cancelled: 'quiet',
  refunded: 'bad',
}

const tabs = { '': PaymentsTab, codes: CodesTab, providers: ProvidersTab }
type Tab = keyof typeof tabs

const isTab = (name: string): name is Tab => name in tabs

export function PaymentsPage({ tab }: { readonly tab: string }) {
  const words = useWords(paymentsWords)
  if (!isTab(tab)) return <NoSuchPage />
  const Shown = tabs[tab]
  return (
    <Page title={words.title} about={words.abouts[tab]}>
      <nav className="tabs" aria-label={words.title}>
        {(Object.keys(tabs) as Tab[]).map((each) => (
          <a
            key={each}
            href={each === '' ? '#/payments' : `#/payments/${each}`}
            aria-current={each === tab ? 'page' : undefined}
          >
            {words.tabs[each]}
          </a>
        ))}
      </nav>
      <Shown />
    </Page>
  )
}

function PaymentsTab() {
  const words = useWords(paymentsWords)
  const [state, setState] = useState('')
  const payments = usePages('listAllPayments', { query: { ...(state !== '' && { state: state as State }) } })
  return (
    <>
      <Panel className="stack">
        <NativeSelect
          label={words.state}
          value={state}
          maw="16rem"
          data={[
            { value: '', label: words.any },
            ...states.map((value) => ({ value, label: words.states[value] ?? value })),
          ]}
          onChange={(event) => setState(event.currentTarget.value)}
        />
        <Paged of={payments}>{(items) => <Payments rows={items} />}</Paged>
      </Panel>
      <Unmatched />
    </>
  )
}

function Payments({ rows }: { readonly rows: readonly AnyPayment[] }) {
  const words = useWords(paymentsWords)
  const operator = useWords(operatorWords)
  const methods = useWords(methodNames)
  const format = useFormat()
  if (rows.length === 0) return <Empty icon="wallet" title={operator.none} about={operator.noneAbout} />
  return (
    <Rows
      label={words.title}
      rows={rows}
      keyOf={(row) => row.payment_id}
      columns={[
        {
          name: 'payment',
          label: words.payment,
          show: (row) => (
            <span>
              {format.moment(row.created_at)}
              <small className="mono">{row.payment_id}</small>
            </span>
          ),
        },
        {
          name: 'customer',
          label: operator.customer,
          show: (row) => <a href={`#/customers/${row.customer_id}`}>{`…${row.customer_id.slice(-8)}`}</a>,
        },
        {
          name: 'state',
          label: words.state,
          show: (row) => <Status tone={tones[row.state]}>{words.states[row.state] ?? row.state}</Status>,
        },
        {
          name: 'amount',
          label: operator.amount,
          isFigure: true,
          show: (row) => (
            <span>
              {format.exactMoney(row.amount_rub)}
              <small>{methods[row.method] ?? row.method}</small>
              {row.refunded_rub > 0 && <small>{words.returned(format.exactMoney(row.refunded_rub))}</small>}
            </span>
          ),
        },
        { name: 'act', label: words.act, isUnlabelled: true, show: (row) => <Actions payment={row} /> },
      ]}
    />
  )
}

function Actions({ payment }: { readonly payment: AnyPayment }) {
  const words = useWords(paymentsWords)
  const operator = useWords(operatorWords)
  const may = useMay()
  const params = { payment_id: payment.payment_id }
  const note = { name: 'note', label: operator.note, isOptional: true }
  const said = (text: unknown) => ({ ...(text !== '' && { note: String(text) }) })
  if (payment.state === 'paid' && may('refundPayment')) {
    return (
      <Act
        label={words.refund}
        about={words.refundAbout}
        look={{ size: 'xs' }}
        fields={[
          { name: 'amount', label: words.refundAmount, kind: 'number', isOptional: true },
          { name: 'intoDebt', label: words.intoDebt, kind: 'flag' },
          note,
        ]}
        run={(values, key) =>
          api.call('refundPayment', {
            params,
            key,
            body: {
              ...(values['amount'] !== '' && { amount_rub: Number(values['amount']) }),
              into_debt: values['intoDebt'] === true,
              ...said(values['note']),
            },
          })
        }
      />
    )
  }
  // Whom else it is asked of, he says it: the shop refuses to have that marked by hand.
  if (payment.provider !== 'invoice' || payment.state === 'refunded' || !may('markPaid')) return null
  return (
    <Act
      label={words.markPaid}
      about={words.markPaidAbout}
      look={{ size: 'xs' }}
      fields={[note]}
      run={(values, key) => api.call('markPaid', { params, key, body: said(values['note']) })}
    />
  )
}

function Unmatched() {
  const words = useWords(paymentsWords)
  const operator = useWords(operatorWords)
  const format = useFormat()
  const may = useMay()
  const found = useRead('listUnmatched')
  const amountOf = ({ amount, currency }: PaymentNotice): string =>
    amount === null ? '' : currency === 'RUB' ? format.exactMoney(amount) : `${format.number(amount)} ${currency ?? ''}`
  return (
    <Panel title={words.unmatched}>
      <Reading of={found}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="check" title={words.allMatched} about={words.allMatchedAbout} />
          ) : (
            <Rows
              label={words.unmatched}
              rows={items}
              keyOf={(row) => row.notice_id}
              columns={[
                { name: 'when', label: operator.when, show: (row) => format.moment(row.at) },
                {
                  name: 'provider',
                  label: words.provider,
                  show: (row) => (
                    <span>
                      {row.provider} <small className="mono">{row.provider_id}</small>
                    </span>
                  ),
                },
                { name: 'why', label: words.why, isText: true, show: (row) => words.reasons[row.reason] },
                { name: 'amount', label: operator.amount, isFigure: true, show: amountOf },
                {
                  name: 'act',
                  label: words.act,
                  isUnlabelled: true,
                  show: (row) => may('resolveUnmatched') && <Resolve notice={row} />,
                },
              ]}
            />
          )
        }
      </Reading>
    </Panel>
  )
}

function Resolve({ notice }: { readonly notice: PaymentNotice }) {
  const words = useWords(paymentsWords)
  const operator = useWords(operatorWords)
  return (
    <Act
      label={words.resolve}
      about={words.resolveAbout}
      look={{ size: 'xs' }}
      fields={[
        { name: 'creditTo', label: words.creditTo, isOptional: true },
        { name: 'note', label: operator.note, isOptional: true },
      ]}
      run={({ creditTo, note }) =>
        api.call('resolveUnmatched', {
          params: { notice_id: notice.notice_id },
          body: {
            ...(creditTo !== '' && { credit_to: String(creditTo) }),
            ...(note !== '' && { note: String(note) }),
          },
        })
      }
    />
  )
}
