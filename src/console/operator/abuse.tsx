import { Button, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Form, useTyped } from '../shared/form.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Empty, Page, Panel, RefusalNotice, Rows } from '../shared/parts.tsx'
import { api, type OperatorAnswer } from './api.ts'
import { operatorMessages } from './messages.ts'
import { CustomerLink, Mono } from './parts.tsx'

/** To the minute or to the second, as it was typed: the shop searches all of the minute or second. */
const toIso = (local: string): string => `${new Date(local).toISOString().slice(0, local.length > 16 ? 19 : 16)}Z`

/** Finds who had an address at a time. It runs only on submit, because each search is written into the audit log. */
export function AbusePage() {
  const { t } = useMessages(operatorMessages)
  const address = useTyped()
  const from = useTyped()
  const to = useTyped()
  const reason = useTyped()
  const search = useMutation({
    mutationFn: () =>
      api.call('findHolders', {
        params: { address: address.text },
        query: { from: toIso(from.value), reason: reason.text, ...(to.value !== '' && { to: toIso(to.value) }) },
      }),
  })
  const isReady = address.text !== '' && from.value !== '' && reason.text !== ''
  return (
    <Page title={t.abuse} about={t.abuseAbout}>
      <Panel className="stack">
        <Form className="line fields" onSubmit={search.mutate}>
          <TextInput label={t.address} {...address.props} />
          <TextInput type="datetime-local" step={1} label={t.searchFrom} {...from.props} />
          <TextInput type="datetime-local" step={1} label={t.searchTo} {...to.props} />
          <TextInput label={t.searchReason} description={t.reasonAbout} maxLength={200} {...reason.props} />
          <Button type="submit" loading={search.isPending} disabled={!isReady}>
            {t.ask}
          </Button>
        </Form>
        <RefusalNotice error={search.error} />
        {search.data && <Holders of={search.data} />}
      </Panel>
    </Page>
  )
}

/** Who had the address alone; of a premium exit, also whose traffic used its pool in that hour. */
function Holders({ of }: { readonly of: OperatorAnswer<'findHolders'> }) {
  const { t, format } = useMessages(operatorMessages)
  const held = [
    ...of.items.map((each) => ({ ...each, key: `${each.proxy}${each.from}`, name: each.username })),
    ...of.devices.map((each) => ({ ...each, key: each.device_id, name: each.device_id, proxy: null, order_id: null })),
  ]
  if (held.length === 0 && !of.is_exit) return <Empty icon="search" title={t.notHeld} about={t.notHeldAbout} />
  return (
    <>
      {held.length > 0 && (
        <Rows
          label={t.abuse}
          rows={held}
          keyOf={(row) => row.key}
          columns={(column) => [
            column(
              t.customer,
              (row) => <CustomerLink id={row.customer_id} name={row.customer_name} />,
              (row) => row.customer_name,
            ),
            column(
              t.product,
              (row) => row.proxy !== null && <a href={`#/proxies/${row.proxy}`}>{t.proxy(String(row.proxy))}</a>,
            ),
            column(
              t.login,
              (row) => <Mono>{row.name}</Mono>,
              (row) => row.name,
            ),
            column(t.order, (row) => row.order_id !== null && <a href={`#/orders/${row.order_id}`}>{t.story}</a>),
            column.value(t.from, (row) => row.from, format.moment),
            column.value(t.until, (row) => row.until, format.moment, t.now),
          ]}
        />
      )}
      {of.is_exit && <Text>{t.isExit}</Text>}
      {of.candidates.length > 0 && (
        <Rows
          label={t.isExit}
          rows={of.candidates}
          keyOf={(row) => `${row.subuser_id}${row.pool}${row.hour}`}
          columns={(column) => [
            column(
              t.customer,
              (row) => <CustomerLink id={row.customer_id} name={row.customer_name} />,
              (row) => row.customer_name,
            ),
            column(
              t.login,
              (row) => <Mono>{row.login}</Mono>,
              (row) => row.login,
            ),
            column.value(t.from, (row) => row.hour, format.moment),
          ]}
        />
      )}
    </>
  )
}
