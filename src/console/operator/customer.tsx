import { Button, Text } from '@mantine/core'
import type { Customer } from '../client/operator.ts'
import { expectSession } from '../client/session.ts'
import { Act } from '../shared/act.tsx'
import { Copyable, Listing } from '../shared/copy.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Paged } from '../shared/paged.tsx'
import { Facts, Page, Panel, Reading, Status } from '../shared/parts.tsx'
import { api, useMay, usePages, useRead } from './api.ts'
import { Events, Movements, Orders } from './money.tsx'
import { operatorWords } from './words.ts'

export function CustomerPage({ id }: { readonly id: string }) {
  const found = useRead('getCustomer', { params: { customer_id: id } })
  return <Reading of={found}>{(customer) => <Shown customer={customer} />}</Reading>
}

function Shown({ customer }: { readonly customer: Customer }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const params = { customer_id: customer.customer_id }
  const orders = usePages('listCustomerOrders', { params })
  const movements = usePages('listMovements', { params })
  const events = usePages('listCustomerEvents', { params })
  return (
    <Page title={customer.name} about={customer.note ?? ''} actions={<Actions customer={customer} />}>
      <Panel>
        <Facts
          of={[
            [words.customer, <Copyable key="id" text={customer.customer_id} label={words.customer} />],
            [words.balance, <strong key="balance">{format.exactMoney(customer.balance_rub)}</strong>],
            [words.login, customer.login ?? '—'],
            [words.since, format.moment(customer.created_at)],
            [
              words.status,
              <Status key="status" tone={customer.blocked_at === null ? 'good' : 'bad'}>
                {customer.blocked_at === null ? words.active : words.blocked}
              </Status>,
            ],
          ]}
        />
      </Panel>
      <Panel title={words.orders}>
        <Paged of={orders}>{(items) => <Orders rows={items} />}</Paged>
      </Panel>
      <Panel title={words.movements}>
        <Paged of={movements}>{(items) => <Movements rows={items} />}</Paged>
      </Panel>
      <Panel title={words.events}>
        <Paged of={events}>{(items) => <Events rows={items} />}</Paged>
      </Panel>
    </Page>
  )
}

function Actions({ customer }: { readonly customer: Customer }) {
  const words = useWords(operatorWords)
  const may = useMay()
  const params = { customer_id: customer.customer_id }
  const isBlocked = customer.blocked_at !== null
  return (
    <>
      {may('viewCustomer') && (
        <Act
          label={words.view}
          about={words.viewAbout}
          run={async () => {
            const view = await api.call('viewCustomer', { params })
            expectSession('customer')
            return view
          }}
          show={() => (
            <Button component="a" href="/" target="_blank" rel="noopener">
              {words.viewOpen}
            </Button>
          )}
        />
      )}
      {may('linkCustomer') && (
        <Act
          label={words.link}
          about={words.linkAbout}
          run={() => api.call('linkCustomer', { params })}
          show={({ link, sent_to }) =>
            link === null ? <Text>{words.linkSent(sent_to ?? '')}</Text> : <OnceShown text={link} />
          }
        />
      )}
      {may('removeCustomerFactor') && (
        <Act
          label={words.removeFactor}
          about={words.removeFactorAbout}
          run={() => api.call('removeCustomerFactor', { params })}
        />
      )}
      {may('noteCustomer') && (
        <Act
          label={words.note}
          fields={[{ name: 'note', label: words.note, initial: customer.note ?? '', isOptional: true }]}
          run={({ note }) => api.call('noteCustomer', { params, body: { note: note === '' ? null : String(note) } })}
        />
      )}
      {may('blockCustomer') && (
        <Act
          label={isBlocked ? words.unblock : words.block}
          about={words.blockAbout}
          {...(!isBlocked && { look: { color: 'red', variant: 'outline' } })}
          run={() => api.call('blockCustomer', { params, body: { undo: isBlocked } })}
        />
      )}
      {may('debitCustomer') && <MoneyAct operation="debitCustomer" customer={customer} />}
      {may('creditCustomer') && <MoneyAct operation="creditCustomer" customer={customer} />}
    </>
  )
}

function MoneyAct({
  operation,
  customer,
}: {
  readonly operation: 'creditCustomer' | 'debitCustomer'
  readonly customer: Customer
}) {
  const words = useWords(operatorWords)
  const isCredit = operation === 'creditCustomer'
  return (
    <Act
      label={isCredit ? words.credit : words.debit}
      about={isCredit ? words.creditAbout : words.debitAbout}
      {...(isCredit && { look: { variant: 'filled' } })}
      fields={[
        { name: 'amount', label: words.amount, kind: 'number' },
        { name: 'note', label: words.note, isOptional: true },
        { name: 'reference', label: words.reference, isOptional: true },
      ]}
      run={({ amount, note, reference }, key) =>
        api.call(operation, {
          params: { customer_id: customer.customer_id },
          key,
          body: {
            amount_rub: Number(amount),
            ...(note !== '' && { note: String(note) }),
            ...(reference !== '' && { reference: String(reference) }),
          },
        })
      }
    />
  )
}

/** A secret that is shown this once. */
export function OnceShown({ text, about }: { readonly text: string; readonly about?: string }) {
  const words = useWords(operatorWords)
  return (
    <>
      <Text>{about ?? words.linkMade}</Text>
      <Listing text={text} label={words.link} />
    </>
  )
}
