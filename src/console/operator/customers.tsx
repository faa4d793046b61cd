import { TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { Customer } from '../client/operator.ts'
import { Act } from '../shared/act.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Paged } from '../shared/paged.tsx'
import { Empty, Page, Panel, Status } from '../shared/parts.tsx'
import { go } from '../shared/route.ts'
import { Rows } from '../shared/rows.tsx'
import { api, useMay, usePages } from './api.ts'
import { operatorWords } from './words.ts'

const settledMs = 250

export function CustomersPage() {
  const words = useWords(operatorWords)
  const may = useMay()
  const [search, setSearch] = useState('')
  const [settled] = useDebouncedValue(search.trim(), settledMs)
  const pages = usePages('listCustomers', { query: settled === '' ? {} : { search: settled } })
  const add = async (values: Readonly<Record<string, unknown>>) => {
    const made = await api.call('createCustomer', { body: { name: String(values['name']) } })
    await go(`/customers/${made.customer_id}`)
  }
  return (
    <Page
      title={words.customers}
      actions={
        may('createCustomer') && (
          <Act
            label={words.addCustomer}
            look={{ variant: 'filled' }}
            fields={[{ name: 'name', label: words.name }]}
            run={add}
          />
        )
      }
    >
      <Panel className="stack">
        <TextInput
          type="search"
          label={words.search}
          placeholder={words.searchHint}
          maw="24rem"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <Paged of={pages}>
          {(items) =>
            items.length === 0 ? (
              <Empty icon="people" title={words.none} about={words.noneAbout} />
            ) : (
              <Table rows={items} />
            )
          }
        </Paged>
      </Panel>
    </Page>
  )
}

function Table({ rows }: { readonly rows: readonly Customer[] }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  return (
    <Rows
      label={words.customers}
      rows={rows}
      keyOf={(row) => row.customer_id}
      columns={[
        {
          name: 'name',
          label: words.name,
          isText: true,
          show: (row) => (
            <span>
              <a href={`#/customers/${row.customer_id}`}>{row.name}</a>
              {row.login !== null && <small>{row.login}</small>}
            </span>
          ),
        },
        {
          name: 'status',
          label: words.status,
          show: (row) => (
            <Status tone={row.blocked_at === null ? 'good' : 'bad'}>
              {row.blocked_at === null ? words.active : words.blocked}
            </Status>
          ),
        },
        { name: 'since', label: words.since, show: (row) => format.day(row.created_at) },
        { name: 'note', label: words.note, isText: true, show: (row) => row.note },
        {
          name: 'balance',
          label: words.balance,
          isFigure: true,
          show: (row) => format.exactMoney(row.balance_rub),
        },
      ]}
    />
  )
}
