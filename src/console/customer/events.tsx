import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Event } from '../client/customer.ts'
import { Select } from '../shared/form.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import { OrderLink } from '../shared/orders.tsx'
import { Empty, Page, Panel, Reading, Rows } from '../shared/parts.tsx'
import { eventMessages, tellEvent } from '../shared/trade.ts'
import { loadPages } from './api.ts'

const eventPageMessages = messages({
  title: pair('Events', 'События'),
  about: pair('Account activity in the last 30 days, newest first.', 'События за последние 30 дней, новые сверху.'),
  what: pair('Event', 'Событие'),
  all: pair('All', 'Все'),
  details: pair('Details', 'Подробности'),
  none: pair('No events yet', 'Событий пока нет'),
  noneAbout: pair(
    'Replaced addresses, outages, refunds, payments and changes of your sign-in data will be listed here.',
    'Здесь появятся замены адресов, сбои, возвраты, платежи и изменения данных для входа.',
  ),
})

export function EventsPage() {
  const { t, format } = useMessages(eventPageMessages)
  const { t: event } = useMessages(eventMessages)
  const [chosen, setChosen] = useState('')
  const type = chosen === '' ? undefined : (chosen as Event['type'])
  const events = useQuery({
    queryKey: ['events', chosen],
    // The API lists them in the order in which they happened.
    queryFn: async () => (await loadPages('listEvents', { query: { limit: 500, type } }, 20)).toReversed(),
  })
  return (
    <Page title={t.title} about={t.about}>
      <Panel className="stack">
        <Select
          label={t.what}
          maw="20rem"
          value={chosen}
          options={[['', t.all], ...Object.entries(event.types)]}
          onChange={setChosen}
        />
        <Reading of={events} height={240}>
          {(all) => (
            <Rows
              label={t.title}
              rows={all}
              keyOf={(row) => row.id}
              empty={<Empty icon="book" title={t.none} about={t.noneAbout} to={['#/', t.choose]} />}
              columns={(column) => [
                column.value(t.when, (row) => row.timestamp, format.moment),
                column(t.what, (row) => event.types[row.type] ?? row.type),
                column.text(t.details, (row) => tellEvent(row.data, event, format)),
                column(t.order, (row) => row.order_id !== null && <OrderLink id={row.order_id} />),
              ]}
            />
          )}
        </Reading>
      </Panel>
    </Page>
  )
}
