import { Act } from '../shared/act.tsx'
import { Copyable } from '../shared/copy.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Facts, Page, Panel, Reading, Status } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { type Answer, api, useMay, useRead } from './api.ts'
import { thingsWords } from './things-words.ts'
import { operatorWords } from './words.ts'

type Proxy = Answer<'showProxy'>

export function ProxyPage({ id }: { readonly id: string }) {
  const found = useRead('showProxy', { params: { proxy: id } })
  return (
    <Reading of={found} height={300}>
      {(proxy) => <Shown of={proxy} />}
    </Reading>
  )
}

function Shown({ of }: { readonly of: Proxy }) {
  const words = useWords(operatorWords)
  const things = useWords(thingsWords)
  const format = useFormat()
  const renews = of.auto_renew === null ? things.no : things.forDays(format.number(of.auto_renew))
  return (
    <Page title={things.proxy(String(of.proxy))} about={of.comment} actions={<Actions of={of} />}>
      <Panel>
        <Facts
          of={[
            [
              words.status,
              <Status key="status" tone={of.status === 'active' ? 'good' : 'quiet'}>
                {things.states[of.status]}
              </Status>,
            ],
            ...(of.interrupted_at === null
              ? []
              : [[things.interruptedSince, format.moment(of.interrupted_at)] as const]),
            [words.address, <Copyable key="address" text={of.address} label={words.address} />],
            [words.kind, `${format.country(of.country)}, ${words.kinds[of.ipv] ?? of.ipv}`],
            [things.gateway, of.node ?? things.nobody],
            [
              words.customer,
              <a key="customer" href={`#/customers/${of.customer_id}`}>
                {of.customer_id}
              </a>,
            ],
            [
              words.order,
              <a key="order" href={`#/orders/${of.order_id}`}>
                {of.order_id}
              </a>,
            ],
            [
              words.login,
              <span key="login" className="mono">
                {of.username}
              </span>,
            ],
            [words.from, format.moment(of.started_at)],
            [words.until, format.moment(of.ended_at ?? of.expires_at)],
            [things.renews, renews],
            [things.received, format.bytes(of.rx_bytes)],
            [things.sent, format.bytes(of.tx_bytes)],
          ]}
        />
      </Panel>
      <Panel title={things.addresses}>
        <Rows
          label={things.addresses}
          rows={of.addresses}
          keyOf={(row) => row.address + row.from}
          columns={[
            { name: 'address', label: words.address, show: (row) => <span className="mono">{row.address}</span> },
            { name: 'from', label: words.from, show: (row) => format.moment(row.from) },
            {
              name: 'until',
              label: words.until,
              show: (row) => (row.until === null ? words.now : format.moment(row.until)),
            },
          ]}
        />
      </Panel>
    </Page>
  )
}

function Actions({ of }: { readonly of: Proxy }) {
  const words = useWords(operatorWords)
  const things = useWords(thingsWords)
  const may = useMay()
  const params = { proxy: String(of.proxy) }
  if (of.status === 'gone' || !may('endProxy')) return null
  return (
    <>
      <Act
        label={things.replace}
        about={things.replaceAbout}
        fields={[{ name: 'note', label: words.note, isOptional: true }]}
        run={({ note }, key) =>
          api.call('replaceProxy', { params, key, body: { ...(note !== '' && { note: String(note) }) } })
        }
      />
      <Act
        label={things.end}
        about={things.endAbout}
        look={{ color: 'red', variant: 'outline' }}
        fields={[
          { name: 'refund', label: things.giveBack, kind: 'flag', initial: true },
          { name: 'note', label: words.note, isOptional: true },
        ]}
        run={({ refund, note }, key) =>
          api.call('endProxy', {
            params,
            key,
            body: { refund: refund === true, ...(note !== '' && { note: String(note) }) },
          })
        }
      />
    </>
  )
}
