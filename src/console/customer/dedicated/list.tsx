import { Button, Checkbox, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { useNow } from '../../shared/browser.ts'
import { CopyIcon } from '../../shared/copy.tsx'
import { Select } from '../../shared/form.tsx'
import { Icon } from '../../shared/icons.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { Country, Empty, Page, Panel, Reading, Rows, Status } from '../../shared/parts.tsx'
import { loadPages } from '../api.ts'
import { BulkBar, ExportButton } from './bulk.tsx'
import { dedicatedMessages } from './messages.ts'

/** The customer's newest 5,000 proxies; an export has all of them. */
export const useProxies = () =>
  useQuery({
    queryKey: ['listDedicated', 'all'],
    queryFn: () => loadPages('listDedicated', { query: { limit: 500 } }, 10),
  })

/** A proxy's name: the address to connect to. */
export const nameOf = ({ ip, port }: Proxy): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)

export function DedicatedList() {
  const { t } = useMessages(dedicatedMessages)
  const proxies = useProxies()
  const buyMore = (
    <Button component="a" href="#/dedicated/buy" leftSection={<Icon name="plus" />}>
      {t.buyMore}
    </Button>
  )
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <>
          {proxies.data !== undefined && proxies.data.length > 0 && <ExportButton label={t.exportAll} />}
          {buyMore}
        </>
      }
    >
      <Reading of={proxies} height={320}>
        {(all) =>
          all.length === 0 ? (
            <Panel>
              <Empty icon="server" title={t.none} about={t.noneAbout}>
                {buyMore}
              </Empty>
            </Panel>
          ) : (
            <Listed all={all} />
          )
        }
      </Reading>
    </Page>
  )
}

/** A filter; an empty field matches every proxy. */
type Filter = Readonly<{ text: string; status: '' | Proxy['status']; country: string; ipv: number }>

const matches = (proxy: Proxy, { text, status, country, ipv }: Filter): boolean =>
  (status === '' || proxy.status === status) &&
  (country === '' || proxy.country_code === country) &&
  (ipv === 0 || proxy.ipv === ipv) &&
  [proxy.ip, proxy.exit_ip, proxy.username, proxy.comment, String(proxy.id)].some((each) =>
    each.toLowerCase().includes(text.trim().toLowerCase()),
  )

function Listed({ all }: { readonly all: readonly Proxy[] }) {
  const { t, format } = useMessages(dedicatedMessages)
  const [filter, setFilter] = useState<Filter>({ text: '', status: '', country: '', ipv: 0 })
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const found = useMemo(() => all.filter((each) => matches(each, filter)), [all, filter])
  const picked = found.filter((each) => chosen.has(each.id))
  const toggle = (id: number) =>
    setChosen((before) => new Set(before.has(id) ? [...before].filter((each) => each !== id) : [...before, id]))
  const areAll = found.length > 0 && picked.length === found.length
  return (
    <>
      <Panel className="stack">
        <Filters all={all} filter={filter} onFilter={setFilter} />
        {found.length === 0 ? (
          <Empty icon="search" title={t.nothingFound} about={t.nothingFoundAbout} />
        ) : (
          <>
            <div className="line ends">
              <Checkbox
                label={t.selectAll}
                checked={areAll}
                indeterminate={picked.length > 0 && !areAll}
                onChange={() => setChosen(new Set(areAll ? [] : found.map((each) => each.id)))}
              />
              <span className="quiet">{t.shown(found.length, format)}</span>
            </div>
            <Table found={found} chosen={chosen} onToggle={toggle} />
          </>
        )}
      </Panel>
      {picked.length > 0 && <BulkBar picked={picked} onDone={() => setChosen(new Set())} />}
    </>
  )
}

type FiltersProps = Readonly<{ all: readonly Proxy[]; filter: Filter; onFilter: (filter: Filter) => void }>

function Filters({ all, filter, onFilter }: FiltersProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const countries = [...new Set(all.map((each) => each.country_code))].toSorted()
  const kinds = [...new Set(all.map((each) => each.ipv))].toSorted((a, b) => a - b)
  return (
    <search className="filters">
      <TextInput
        type="search"
        label={t.search}
        placeholder={t.searchHint}
        value={filter.text}
        onChange={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
      />
      <Select
        label={t.status}
        value={filter.status}
        options={[
          ['', t.any],
          ['active', t.active],
          ['expired', t.expired],
        ]}
        onChange={(status) => onFilter({ ...filter, status })}
      />
      <Select
        label={t.country}
        value={filter.country}
        options={[['', t.anyCountry], ...countries.map((code) => [code, format.country(code)] as const)]}
        onChange={(country) => onFilter({ ...filter, country })}
      />
      <Select
        label={t.kind}
        value={String(filter.ipv)}
        options={[['0', t.anyKind], ...kinds.map((ipv) => [String(ipv), t.kinds[ipv] ?? ''] as const)]}
        onChange={(ipv) => onFilter({ ...filter, ipv: Number(ipv) })}
      />
    </search>
  )
}

export function ProxyStatus({ proxy }: { readonly proxy: Proxy }) {
  const { t } = useMessages(dedicatedMessages)
  if (proxy.status === 'expired') return <Status tone="quiet">{t.expired}</Status>
  if (proxy.state === 'interrupted') return <Status tone="warn">{t.interrupted}</Status>
  return <Status tone="good">{t.active}</Status>
}

type TableProps = Readonly<{ found: readonly Proxy[]; chosen: ReadonlySet<number>; onToggle: (id: number) => void }>

function Table({ found, chosen, onToggle }: TableProps) {
  const { t, format } = useMessages(dedicatedMessages)
  const nowAt = useNow()
  return (
    <Rows
      label={t.title}
      rows={found}
      keyOf={(row) => row.id}
      columns={(column) => [
        column.action(t.selectAll, (row) => (
          <Checkbox aria-label={t.select(nameOf(row))} checked={chosen.has(row.id)} onChange={() => onToggle(row.id)} />
        )),
        column(t.address, (row) => (
          <>
            <span className="line tight">
              <a className="mono" href={`#/dedicated/${row.id}`}>
                {nameOf(row)}
              </a>
              <CopyIcon text={nameOf(row)} label={nameOf(row)} />
            </span>
            {/* Proxies behind one gateway differ only in the exit address. */}
            {row.exit_ip !== row.ip && <small className="mono">{row.exit_ip}</small>}
          </>
        )),
        column(t.country, (row) => <Country code={row.country_code}>{t.kinds[row.ipv]}</Country>),
        column(t.protocol, (row) => t.protocols[row.port_type]),
        column(t.status, (row) => <ProxyStatus proxy={row} />),
        column(t.until, (row) => (
          <span title={format.moment(row.expires_at)}>
            {format.day(row.expires_at)}
            <small>{row.auto_renew === null ? format.away(row.expires_at, nowAt) : t.autoRenew}</small>
          </span>
        )),
        column.text(t.comment, (row) => row.comment),
      ]}
    />
  )
}
