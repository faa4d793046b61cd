import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { CopyIcon } from '../../shared/copy.tsx'
import { useFormat } from '../../shared/format.ts'
import { Icon } from '../../shared/icons.tsx'
import { useWords } from '../../shared/language.tsx'
import { useNow } from '../../shared/now.ts'
import { Empty, Page, Panel, Reading, Status } from '../../shared/parts.tsx'
import { type Column, Rows } from '../../shared/rows.tsx'
import { BulkBar } from './bulk.tsx'
import { ExportButton } from './export.tsx'
import { everything, isSought, nameOf, type Sought, useProxies } from './proxies.ts'
import { dedicatedWords } from './words.ts'

export function DedicatedList() {
  const words = useWords(dedicatedWords)
  const proxies = useProxies()
  const buyMore = (
    <Button component="a" href="#/dedicated/buy" leftSection={<Icon name="plus" />}>
      {words.buyMore}
    </Button>
  )
  return (
    <Page
      title={words.title}
      about={words.about}
      actions={
        <>
          {proxies.data !== undefined && proxies.data.length > 0 && <ExportButton label={words.exportAll} />}
          {buyMore}
        </>
      }
    >
      <Reading of={proxies} height={320}>
        {(all) =>
          all.length === 0 ? (
            <Panel>
              <Empty icon="server" title={words.none} about={words.noneAbout}>
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

function Listed({ all }: { readonly all: readonly Proxy[] }) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const [sought, setSought] = useState(everything)
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const found = useMemo(() => all.filter((each) => isSought(each, sought)), [all, sought])
  const picked = found.filter((each) => chosen.has(each.id))
  const toggle = (id: number) =>
    setChosen((before) => (before.has(id) ? without(before, id) : new Set([...before, id])))
  const areAll = found.length > 0 && picked.length === found.length
  return (
    <>
      <Panel className="stack">
        <Filters all={all} sought={sought} onSeek={setSought} />
        {found.length === 0 ? (
          <Empty icon="search" title={words.nothingFound} about={words.nothingFoundAbout} />
        ) : (
          <>
            <div className="line ends">
              <Checkbox
                label={words.selectAll}
                checked={areAll}
                indeterminate={picked.length > 0 && !areAll}
                onChange={() => setChosen(new Set(areAll ? [] : found.map((each) => each.id)))}
              />
              <span className="quiet">{words.shown(found.length, format)}</span>
            </div>
            <Table found={found} chosen={chosen} onToggle={toggle} />
          </>
        )}
      </Panel>
      {picked.length > 0 && <BulkBar picked={picked} onDone={() => setChosen(new Set())} />}
    </>
  )
}

const without = (from: ReadonlySet<number>, id: number): ReadonlySet<number> =>
  new Set([...from].filter((each) => each !== id))

function Filters({
  all,
  sought,
  onSeek,
}: {
  readonly all: readonly Proxy[]
  readonly sought: Sought
  readonly onSeek: (sought: Sought) => void
}) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const countries = [...new Set(all.map((each) => each.country_code))].toSorted()
  const kinds = [...new Set(all.map((each) => each.ipv))].toSorted((a, b) => a - b)
  return (
    <search className="filters">
      <TextInput
        type="search"
        label={words.search}
        placeholder={words.searchHint}
        value={sought.text}
        onChange={(event) => onSeek({ ...sought, text: event.currentTarget.value })}
      />
      <NativeSelect
        label={words.status}
        value={sought.status}
        data={[
          { value: '', label: words.any },
          { value: 'active', label: words.active },
          { value: 'expired', label: words.expired },
        ]}
        onChange={(event) => onSeek({ ...sought, status: event.currentTarget.value as Sought['status'] })}
      />
      <NativeSelect
        label={words.country}
        value={sought.country}
        data={[
          { value: '', label: words.anyCountry },
          ...countries.map((value) => ({ value, label: format.country(value) })),
        ]}
        onChange={(event) => onSeek({ ...sought, country: event.currentTarget.value })}
      />
      <NativeSelect
        label={words.kind}
        value={String(sought.ipv)}
        data={[
          { value: '0', label: words.anyKind },
          ...kinds.map((value) => ({ value: String(value), label: words.kinds[value] ?? '' })),
        ]}
        onChange={(event) => onSeek({ ...sought, ipv: Number(event.currentTarget.value) })}
      />
    </search>
  )
}

export function ProxyStatus({ proxy }: { readonly proxy: Proxy }) {
  const words = useWords(dedicatedWords)
  if (proxy.status === 'expired') return <Status tone="quiet">{words.expired}</Status>
  if (proxy.state === 'interrupted') return <Status tone="warn">{words.interrupted}</Status>
  return <Status tone="good">{words.active}</Status>
}

function Table({
  found,
  chosen,
  onToggle,
}: {
  readonly found: readonly Proxy[]
  readonly chosen: ReadonlySet<number>
  readonly onToggle: (id: number) => void
}) {
  const words = useWords(dedicatedWords)
  const format = useFormat()
  const nowAt = useNow()
  const columns: readonly Column<Proxy>[] = [
    {
      name: 'choose',
      label: words.selectAll,
      isUnlabelled: true,
      show: (row) => (
        <Checkbox
          aria-label={words.select(nameOf(row))}
          checked={chosen.has(row.id)}
          onChange={() => onToggle(row.id)}
        />
      ),
    },
    {
      name: 'address',
      label: words.address,
      show: (row) => (
        <>
          <span className="line tight">
            <a className="mono" href={`#/dedicated/${row.id}`}>
              {nameOf(row)}
            </a>
            <CopyIcon text={nameOf(row)} label={nameOf(row)} />
          </span>
          {/* Many share one door, and only where they leave from tells them apart. */}
          {row.exit_ip !== row.ip && <small className="mono">{row.exit_ip}</small>}
        </>
      ),
    },
    {
      name: 'country',
      label: words.country,
      show: (row) => (
        <span>
          <span className="code">{row.country_code}</span> {words.kinds[row.ipv]}
        </span>
      ),
    },
    { name: 'protocol', label: words.protocol, show: (row) => words.protocols[row.port_type] },
    { name: 'status', label: words.status, show: (row) => <ProxyStatus proxy={row} /> },
    {
      name: 'until',
      label: words.until,
      show: (row) => (
        <span title={format.moment(row.expires_at)}>
          {format.day(row.expires_at)}
          <small>{row.auto_renew === null ? format.away(row.expires_at, nowAt) : words.autoRenew}</small>
        </span>
      ),
    },
    { name: 'comment', label: words.comment, isText: true, show: (row) => row.comment },
  ]
  return <Rows label={words.title} columns={columns} rows={found} keyOf={(row) => row.id} />
}
