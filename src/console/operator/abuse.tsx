import { Button, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Form, useTyped } from '../shared/form.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Empty, Page, Panel } from '../shared/parts.tsx'
import { RefusalNotice } from '../shared/refusal-notice.tsx'
import { Rows } from '../shared/rows.tsx'
import { type Answer, api } from './api.ts'
import { thingsWords } from './things-words.ts'
import { operatorWords } from './words.ts'

const toIso = (local: string): string => new Date(local).toISOString()

/** Who had an address at a time. It is asked on purpose, never by itself: each question is written down. */
export function AbusePage() {
  const words = useWords(operatorWords)
  const address = useTyped()
  const from = useTyped()
  const to = useTyped()
  const asked = useMutation({
    mutationFn: () =>
      api.call('findHolders', {
        params: { address: address.text },
        query: { from: toIso(from.value), ...(to.value !== '' && { to: toIso(to.value) }) },
      }),
  })
  return (
    <Page title={words.abuse} about={words.abuseAbout}>
      <Panel className="stack">
        <Form className="line fields" onSubmit={asked.mutate}>
          <TextInput label={words.address} {...address.props} />
          <TextInput type="datetime-local" label={words.askedFrom} {...from.props} />
          <TextInput type="datetime-local" label={words.askedTo} {...to.props} />
          <Button type="submit" loading={asked.isPending} disabled={address.text === '' || from.value === ''}>
            {words.ask}
          </Button>
        </Form>
        <RefusalNotice error={asked.error} />
        {asked.data && <Holders of={asked.data} />}
      </Panel>
    </Page>
  )
}

function Holders({ of }: { readonly of: Answer<'findHolders'> }) {
  const words = useWords(operatorWords)
  const things = useWords(thingsWords)
  const format = useFormat()
  if (of.is_exit) return <Text>{words.isExit}</Text>
  if (of.items.length === 0) return <Empty icon="search" title={words.nobody} about={words.nobodyAbout} />
  return (
    <Rows
      label={words.abuse}
      rows={of.items}
      keyOf={(row) => `${row.proxy}${row.from}`}
      columns={[
        {
          name: 'customer',
          label: words.customer,
          show: (row) => <a href={`#/customers/${row.customer_id}`}>{row.customer_id}</a>,
        },
        {
          name: 'proxy',
          label: words.product,
          show: (row) => <a href={`#/proxies/${row.proxy}`}>{things.proxy(String(row.proxy))}</a>,
        },
        { name: 'username', label: words.username, show: (row) => <span className="mono">{row.username}</span> },
        { name: 'order', label: words.order, show: (row) => <a href={`#/orders/${row.order_id}`}>{words.story}</a> },
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
