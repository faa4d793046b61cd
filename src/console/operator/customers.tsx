import { TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { type Values } from '../shared/act.tsx'
import { go } from '../shared/browser.ts'
import { useTyped } from '../shared/form.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Cell, OnOff, Page, PagedRows, Panel } from '../shared/parts.tsx'
import { api, usePages } from './api.ts'
import { operatorMessages } from './messages.ts'
import { Nothing } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

export function CustomersPage() {
  const { t, format } = useMessages(operatorMessages)
  const typed = useTyped()
  const [search] = useDebouncedValue(typed.text, 250)
  const add = async (values: Values) => {
    const made = await api.call('createCustomer', { body: { name: String(values['name']) } })
    await go(`/customers/${made.customer_id}`)
  }
  const adding = (
    <RoleAct
      operation="createCustomer"
      label={t.addCustomer}
      look={{ variant: 'filled' }}
      fields={[{ name: 'name', label: t.name }]}
      run={add}
    />
  )
  return (
    <Page title={t.customers} actions={adding}>
      <Panel className="stack">
        <TextInput type="search" label={t.search} placeholder={t.searchHint} maw="24rem" {...typed.props} />
        <PagedRows
          label={t.customers}
          of={usePages('listCustomers', { query: search === '' ? {} : { search } })}
          keyOf={(row) => row.customer_id}
          empty={
            <Nothing icon="people" isFiltered={search !== ''} about={t.noCustomersYet}>
              {adding}
            </Nothing>
          }
          columns={(column) => [
            column.text(t.name, (row) => (
              <Cell note={row.login !== row.name && row.login}>
                <a href={`#/customers/${row.customer_id}`}>{row.name}</a>
              </Cell>
            )),
            column(
              t.status,
              (row) => <OnOff isOn={row.blocked_at === null} on={t.active} off={t.blocked} />,
              (row) => row.blocked_at === null,
            ),
            column.value(t.since, (row) => row.created_at, format.day),
            column.text(t.note, (row) => row.note),
            column.amount(t.balance, (row) => row.balance_rub, format.exactMoney),
          ]}
        />
      </Panel>
    </Page>
  )
}
