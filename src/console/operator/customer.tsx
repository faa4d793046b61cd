import { Button, Text } from '@mantine/core'
import type { Customer } from '../client/operator.ts'
import { expectSession } from '../client/session.ts'
import { Copyable } from '../shared/copy.tsx'
import { filled } from '../shared/form.tsx'
import { useMessages } from '../shared/messages.tsx'
import { OrderRows } from '../shared/orders.tsx'
import { Facts, OnOff, Page, Paged, Panel, Reading } from '../shared/parts.tsx'
import { api, usePages, useRead } from './api.ts'
import { operatorMessages } from './messages.ts'
import { Events, Movements } from './money.tsx'
import { Nothing, OnceShown, RoleAct, useNote } from './parts.tsx'

export function CustomerPage({ id }: { readonly id: string }) {
  const found = useRead('getCustomer', { params: { customer_id: id } })
  return <Reading of={found}>{(customer) => <Shown customer={customer} />}</Reading>
}

function Shown({ customer }: { readonly customer: Customer }) {
  const { t, format } = useMessages(operatorMessages)
  const params = { customer_id: customer.customer_id }
  const orders = usePages('listCustomerOrders', { params })
  const movements = usePages('listMovements', { params })
  const events = usePages('listCustomerEvents', { params })
  return (
    <Page title={customer.name} about={customer.note ?? ''} actions={<Actions customer={customer} />}>
      <Panel>
        <Facts
          of={[
            [t.customer, <Copyable text={customer.customer_id} label={t.customer} />],
            [t.balance, <strong>{format.exactMoney(customer.balance_rub)}</strong>],
            [t.login, customer.login ?? '—'],
            [t.since, format.moment(customer.created_at)],
            [t.status, <OnOff isOn={customer.blocked_at === null} on={t.active} off={t.blocked} />],
          ]}
        />
      </Panel>
      <Panel title={t.orders}>
        <Paged of={orders}>
          {(items) => <OrderRows label={t.orders} rows={items} empty={<Nothing icon="receipt" />} />}
        </Paged>
      </Panel>
      <Panel title={t.movements}>
        <Paged of={movements}>{(items) => <Movements rows={items} />}</Paged>
      </Panel>
      <Panel title={t.events}>
        <Paged of={events}>{(items) => <Events rows={items} />}</Paged>
      </Panel>
    </Page>
  )
}

function Actions({ customer }: { readonly customer: Customer }) {
  const { t } = useMessages(operatorMessages)
  const note = useNote()
  const params = { customer_id: customer.customer_id }
  const isBlocked = customer.blocked_at !== null
  return (
    <>
      <RoleAct
        operation="viewCustomer"
        label={t.view}
        about={t.viewAbout}
        run={async () => {
          const view = await api.call('viewCustomer', { params })
          expectSession('customer')
          return view
        }}
        show={() => (
          <Button component="a" href="/" target="_blank" rel="noopener">
            {t.viewOpen}
          </Button>
        )}
      />
      <RoleAct
        operation="linkCustomer"
        label={t.link}
        about={t.linkAbout}
        run={() => api.call('linkCustomer', { params })}
        show={({ link, sent_to }) =>
          link === null ? <Text>{t.linkSent(sent_to ?? '')}</Text> : <OnceShown text={link} />
        }
      />
      <RoleAct
        operation="removeCustomerFactor"
        label={t.removeFactor}
        about={t.removeFactorAbout}
        run={() => api.call('removeCustomerFactor', { params })}
      />
      <RoleAct
        operation="noteCustomer"
        label={t.note}
        fields={[{ ...note, initial: customer.note ?? '' }]}
        run={(values) => api.call('noteCustomer', { params, body: { note: String(values['note']) || null } })}
      />
      <RoleAct
        operation="blockCustomer"
        label={isBlocked ? t.unblock : t.block}
        about={t.blockAbout}
        {...(!isBlocked && { look: { color: 'red', variant: 'outline' } })}
        run={() => api.call('blockCustomer', { params, body: { undo: isBlocked } })}
      />
      <MoneyAct operation="debitCustomer" customer={customer} />
      <MoneyAct operation="creditCustomer" customer={customer} />
    </>
  )
}

type MoneyActProps = { readonly operation: 'creditCustomer' | 'debitCustomer'; readonly customer: Customer }

function MoneyAct({ operation, customer: { customer_id } }: MoneyActProps) {
  const { t } = useMessages(operatorMessages)
  const isCredit = operation === 'creditCustomer'
  return (
    <RoleAct
      operation={operation}
      label={isCredit ? t.credit : t.debit}
      about={isCredit ? t.creditAbout : t.debitAbout}
      {...(isCredit && { look: { variant: 'filled' } })}
      fields={[
        { name: 'amount', label: t.amount, kind: 'number' },
        useNote(),
        { name: 'reference', label: t.reference, isOptional: true },
      ]}
      run={({ amount, note, reference }, key) =>
        api.call(operation, {
          params: { customer_id },
          key,
          body: { amount_rub: Number(amount), ...filled({ note, reference }) },
        })
      }
    />
  )
}
