import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Event } from '../../client/customer.ts'
import { eventWords, tellEvent } from '../../shared/event-words.ts'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { OrderLink } from '../../shared/orders.tsx'
import { Empty, Page, Panel, Reading } from '../../shared/parts.tsx'
import { Rows } from '../../shared/rows.tsx'
import { api } from '../api.ts'
import { eventPageWords } from './words.ts'

const aPage = 500
const mostPages = 20

/** All that is kept, the newest first: the shop tells them in the order in which they happened. */
async function loadEvents(type: Event['type'] | undefined): Promise<readonly Event[]> {
  const found: Event[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < mostPages; pages += 1) {
    const page = await api.call('listEvents', { query: { limit: aPage, cursor, type } })
    found.push(...page.events)
    if (page.next_cursor === null) break
    cursor = page.next_cursor
  }
  return found.toReversed()
}

export function EventsPage() {
  const words = useWords(eventPageWords)
  const { types } = useWords(eventWords)
  const [chosen, setChosen] = useState('')
  const type = chosen === '' ? undefined : (chosen as Event['type'])
  const events = useQuery({ queryKey: ['events', chosen], queryFn: () => loadEvents(type) })
  return (
    <Page title={words.title} about={words.about}>
      <Panel className="stack">
        <NativeSelect
          label={words.type}
          maw="20rem"
          value={chosen}
          data={[{ value: '', label: words.all }, ...Object.entries(types).map(([value, label]) => ({ value, label }))]}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
        <Reading of={events} height={240}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon="book" title={words.none} about={words.noneAbout} />
            ) : (
              <EventRows rows={all} />
            )
          }
        </Reading>
      </Panel>
    </Page>
  )
}

function EventRows({ rows }: { readonly rows: readonly Event[] }) {
  const words = useWords(eventPageWords)
  const told = useWords(eventWords)
  const format = useFormat()
  return (
    <Rows
      label={words.title}
      rows={rows}
      keyOf={(row) => row.id}
      columns={[
        { name: 'when', label: words.when, show: (row) => format.moment(row.timestamp) },
        { name: 'type', label: words.type, show: (row) => told.types[row.type] ?? row.type },
        { name: 'details', label: words.details, isText: true, show: (row) => tellEvent(row.data, told, format) },
        {
          name: 'order',
          label: words.order,
          show: (row) => row.order_id !== null && <OrderLink id={row.order_id} />,
        },
      ]}
    />
  )
}
