import { Button, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { Customer } from '../client/operator.ts'
import { expectSession } from '../client/session.ts'
import { filled, type Values } from '../shared/act.tsx'
import { Copyable } from '../shared/copy.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import {
  Cell,
  Country,
  Facts,
  OnOff,
  Page,
  Paged,
  PagedRows,
  Panel,
  Reading,
  ReadRows,
  RefusalNotice,
  Status,
} from '../shared/parts.tsx'
import { api, useMay, usePages, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { Events, Movements, OrderRows } from './money.tsx'
import { Mono, OnceShown, useNote } from './parts.tsx'
import { CustomerPayments } from './payments.tsx'
import { RoleAct } from './role-act.tsx'
import { Services } from './services.tsx'

const customerMessages = messages({
  ...operatorTexts,
  proxies: pair('Proxies', 'Прокси'),
  noProxies: pair('No proxies.', 'Прокси нет.'),
  tokens: pair('API tokens', 'Токены API'),
  noTokens: pair('No tokens.', 'Токенов нет.'),
  begins: pair('Begins with', 'Начинается с'),
  scopes: pair('Rights', 'Права'),
  revoked: pair('Revoked', 'Отозван'),
  expired: pair('Expired', 'Истёк'),
  revoke: pair('Revoke', 'Отозвать'),
  revokeAbout: pair(
    'The token stops working within a second. This cannot be undone.',
    'Токен перестанет работать в течение секунды. Отменить это нельзя.',
  ),
})

export function CustomerPage({ id }: { readonly id: string }) {
  const found = useRead('getCustomer', { params: { customer_id: id } })
  return <Reading of={found}>{(customer) => <Shown customer={customer} />}</Reading>
}

function Shown({ customer }: { readonly customer: Customer }) {
  const { t, format } = useMessages(customerMessages)
  const params = { customer_id: customer.customer_id }
  const orders = usePages('listCustomerOrders', { params, query: { limit: 20 } })
  const movements = usePages('listMovements', { params, query: { limit: 20 } })
  const events = usePages('listCustomerEvents', { params, query: { limit: 20 } })
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
      <Panel title={t.proxies}>
        <Proxies id={customer.customer_id} />
      </Panel>
      <Services id={customer.customer_id} />
      <Panel title={t.payments}>
        <CustomerPayments customer={customer.customer_id} />
      </Panel>
      <Panel title={t.orders}>
        <Paged of={orders}>{(items, part) => <OrderRows rows={items} {...part} />}</Paged>
      </Panel>
      <Panel title={t.movements}>
        <Paged of={movements}>{(items, part) => <Movements rows={items} {...part} />}</Paged>
      </Panel>
      <Panel title={t.tokens}>
        <Tokens id={customer.customer_id} />
      </Panel>
      <Panel title={t.events}>
        <Paged of={events}>{(items, part) => <Events rows={items} {...part} />}</Paged>
      </Panel>
    </Page>
  )
}

function Proxies({ id }: { readonly id: string }) {
  const { t, format } = useMessages(customerMessages)
  return (
    <PagedRows
      label={t.proxies}
      of={usePages('listCustomerProxies', { params: { customer_id: id }, query: { limit: 20 } })}
      keyOf={(row) => row.proxy}
      empty={<Text c="dimmed">{t.noProxies}</Text>}
      columns={(column) => [
        column(t.address, (row) => (
          <Cell note={row.comment}>
            <a className="mono" href={`#/proxies/${row.proxy}`}>
              {row.address}
            </a>
          </Cell>
        )),
        column(t.kind, (row) => <Country code={row.country}>{t.kinds[row.ipv]}</Country>),
        column(
          t.login,
          (row) => <Mono>{row.username}</Mono>,
          (row) => row.username,
        ),
        column(t.status, (row) => (
          <Status tone={row.status === 'active' ? 'good' : 'quiet'}>{t.states[row.status]}</Status>
        )),
        column(t.until, (row) => (
          <Cell note={row.auto_renew !== null && t.renews}>{format.moment(row.expires_at)}</Cell>
        )),
        column.amount(t.traffic, (row) => row.rx_bytes + row.tx_bytes, format.bytes),
      ]}
    />
  )
}

type Token = { readonly revoked_at: string | null; readonly expires_at: string | null }

function Tokens({ id }: { readonly id: string }) {
  const { t, format } = useMessages(customerMessages)
  const stateOf = ({ revoked_at, expires_at }: Token) =>
    revoked_at !== null
      ? t.revoked
      : expires_at !== null && Date.parse(expires_at) <= Date.now()
        ? t.expired
        : undefined
  return (
    <ReadRows
      label={t.tokens}
      of={useRead('listCustomerTokens', { params: { customer_id: id } })}
      keyOf={(row) => row.token_id}
      empty={<Text c="dimmed">{t.noTokens}</Text>}
      columns={(column) => [
        column(t.name, (row) => <Cell note={<Mono>{`${row.begins}…`}</Mono>}>{row.name}</Cell>),
        column.text(t.scopes, (row) => row.scopes.join(', ')),
        column(t.status, (row) => <OnOff isOn={stateOf(row) === undefined} on={t.active} off={stateOf(row) ?? ''} />),
        column(t.used, (row) => (
          <Cell note={row.used_from}>{row.used_at === null ? t.never : format.moment(row.used_at)}</Cell>
        )),
        column.action(t.revoke, (row) =>
          stateOf(row) === undefined ? (
            <RoleAct
              operation="revokeCustomerToken"
              label={t.revoke}
              about={t.revokeAbout}
              look={{ size: 'compact-sm', color: 'red', variant: 'outline' }}
              run={() => api.call('revokeCustomerToken', { params: { token_id: row.token_id } })}
            />
          ) : null,
        ),
      ]}
    />
  )
}

/** Opens the customer's pages read-only in a new tab. The tab opens with the press, else the browser would block it. */
function ViewButton({ id }: { readonly id: string }) {
  const { t } = useMessages(customerMessages)
  const may = useMay()
  const view = useMutation({
    mutationFn: async (tab: Window | null) => {
      try {
        await api.call('viewCustomer', { params: { customer_id: id } })
      } catch (error) {
        tab?.close()
        throw error
      }
      expectSession('customer')
      const shown = tab ?? window
      shown.location.href = '/'
    },
  })
  if (!may('viewCustomer')) return null
  return (
    <>
      <Button
        variant="default"
        title={t.viewAbout}
        loading={view.isPending}
        onClick={() => view.mutate(window.open('', '_blank'))}
      >
        {t.view}
      </Button>
      <RefusalNotice error={view.error} />
    </>
  )
}

function Actions({ customer }: { readonly customer: Customer }) {
  const { t } = useMessages(customerMessages)
  const note = useNote('operators')
  const params = { customer_id: customer.customer_id }
  const isBlocked = customer.blocked_at !== null
  return (
    <>
      <ViewButton id={customer.customer_id} />
      <RoleAct
        operation="linkCustomer"
        label={t.link}
        about={t.linkAbout}
        run={() => api.call('linkCustomer', { params })}
        show={({ link, sent_to }) =>
          link === null ? <Text>{t.linkSent(sent_to ?? '')}</Text> : <OnceShown text={link} />
        }
      />
      {customer.has_second_factor === true && (
        <RoleAct
          operation="removeCustomerFactor"
          label={t.removeFactor}
          about={t.removeFactorAbout}
          run={() => api.call('removeCustomerFactor', { params })}
        />
      )}
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

function MoneyAct({ operation, customer: { customer_id, balance_rub: before } }: MoneyActProps) {
  const { t, format } = useMessages(customerMessages)
  const isCredit = operation === 'creditCustomer'
  const bodyOf = ({ amount, note, reference }: Values) => ({
    amount_rub: Number(amount),
    ...filled({ note, reference }),
  })
  return (
    <RoleAct
      operation={operation}
      label={isCredit ? t.credit : t.debit}
      about={isCredit ? t.creditAbout : t.debitAbout}
      {...(isCredit && { look: { variant: 'filled' } })}
      fields={[
        { name: 'amount', label: t.amount, kind: 'number' },
        useNote('customer'),
        { name: 'reference', label: t.reference, isOptional: true },
      ]}
      run={(values, key) => api.call(operation, { params: { customer_id }, key, body: bodyOf(values) })}
      preview={{
        load: (values) => api.call(operation, { params: { customer_id }, body: { ...bodyOf(values), dry_run: true } }),
        show: ({ balance_rub }) => (
          <Facts
            of={[
              [t.balanceNow, format.exactMoney(before)],
              [t.after, <strong>{format.exactMoney(balance_rub)}</strong>],
            ]}
          />
        ),
      }}
    />
  )
}
