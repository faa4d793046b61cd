import { Button, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Empty, Page, Panel } from '../shared/parts.tsx'
import { RefusalNotice } from '../shared/refusal-notice.tsx'
import { Rows } from '../shared/rows.tsx'
import { type Answer, api } from './api.ts'
import { operatorWords } from './words.ts'

/** As exactly as it was typed: to the minute, or to the second. The shop takes a moment for all that it covers. */
const toIso = (local: string): string => `${new Date(local).toISOString().slice(0, local.length > 16 ? 19 : 16)}Z`

/** Who had an address at a time. It is asked on purpose, never by itself: each question is written down. */
export function AbusePage() {
  const words = useWords(operatorWords)
  const [address, setAddress] = useState('')
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [reason, setReason] = useState('')
  const asked = useMutation({
    mutationFn: () =>
      api.call('findHolders', {
        params: { address: address.trim() },
        query: { from: toIso(from), reason: reason.trim(), ...(to !== '' && { to: toIso(to) }) },
      }),
  })
  return (
    <Page title={words.abuse} about={words.abuseAbout}>
      <Panel className="stack">
        <form
          className="line fields"
          onSubmit={(event) => {
            event.preventDefault()
            asked.mutate()
          }}
        >
          <TextInput
            label={words.address}
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
          />
          <TextInput
            type="datetime-local"
            step={1}
            label={words.askedFrom}
            value={from}
            onChange={(event) => setFrom(event.currentTarget.value)}
          />
          <TextInput
            type="datetime-local"
            step={1}
            label={words.askedTo}
            value={to}
            onChange={(event) => setTo(event.currentTarget.value)}
          />
          <TextInput
            label={words.askedWhy}
            description={words.askedWhyAbout}
            maxLength={200}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          <Button
            type="submit"
            loading={asked.isPending}
            disabled={address.trim() === '' || from === '' || reason.trim() === ''}
          >
            {words.ask}
          </Button>
        </form>
        <RefusalNotice error={asked.error} />
        {asked.data && <Holders of={asked.data} />}
      </Panel>
    </Page>
  )
}

function Holders({ of }: { readonly of: Answer<'findHolders'> }) {
  const words = useWords(operatorWords)
  const held = [
    ...of.items.map((each) => ({ ...each, key: `${each.proxy}${each.from}`, name: each.username })),
    ...of.devices.map((each) => ({ ...each, key: each.device_id, name: each.device_id, order_id: null })),
  ]
  if (held.length === 0 && !of.is_exit) {
    return <Empty icon="search" title={words.nobody} about={words.nobodyAbout} />
  }
  return (
    <>
      {held.length > 0 && <Exactly held={held} />}
      {of.is_exit && <Text>{words.isExit}</Text>}
      {of.candidates.length > 0 && <Possibly candidates={of.candidates} />}
    </>
  )
}

type HeldBy = {
  readonly key: string
  readonly customer_id: string
  readonly name: string
  readonly order_id: string | null
  readonly from: string
  readonly until: string | null
}

/** Who had it to himself, from when and until when. */
function Exactly({ held }: { readonly held: readonly HeldBy[] }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  return (
    <Rows
      label={words.abuse}
      rows={held}
      keyOf={(row) => row.key}
      columns={[
        {
          name: 'customer',
          label: words.customer,
          show: (row) => <a href={`#/customers/${row.customer_id}`}>{row.customer_id}</a>,
        },
        { name: 'username', label: words.username, show: (row) => <span className="mono">{row.name}</span> },
        {
          name: 'order',
          label: words.order,
          show: (row) => (row.order_id === null ? '' : <a href={`#/orders/${row.order_id}`}>{words.story}</a>),
        },
        { name: 'from', label: words.from, show: (row) => format.moment(row.from) },
        {
          name: 'until',
          label: words.until,
          show: (row) => (row.until === null ? words.now : format.moment(row.until)),
        },
      ]}
    />
  )
}

/** Who carried something in the pool of an exit in that hour: one of them, or none. */
function Possibly({ candidates }: { readonly candidates: Answer<'findHolders'>['candidates'] }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  return (
    <Rows
      label={words.isExit}
      rows={candidates}
      keyOf={(row) => `${row.subuser_id}${row.pool}${row.hour}`}
      columns={[
        {
          name: 'customer',
          label: words.customer,
          show: (row) => <a href={`#/customers/${row.customer_id}`}>{row.customer_id}</a>,
        },
        { name: 'username', label: words.username, show: (row) => <span className="mono">{row.login}</span> },
        { name: 'from', label: words.from, show: (row) => format.moment(row.hour) },
      ]}
    />
  )
}
