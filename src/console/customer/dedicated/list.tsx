import { Button, Checkbox, TextInput } from '@mantine/core'
import { memo, useCallback, useMemo, useState } from 'react'
import type { Proxy } from '../../client/customer.ts'
import { useFields, useKeptPosition, useNow, useRemembered, useWindowed } from '../../shared/browser.ts'
import { CopyIcon } from '../../shared/copy.tsx'
import { Select } from '../../shared/form.tsx'
import { Icon } from '../../shared/icons.tsx'
import { useMessages } from '../../shared/messages.tsx'
import { Country, Empty, Head, Hint, Page, Panel, Reading, Status } from '../../shared/parts.tsx'
import { SavedFilters } from '../../shared/saved-filters.tsx'
import { type CellValue, compareValues } from '../../shared/table.ts'
import { type LineForm, lineForms, toLine } from '../endpoint.ts'
import { BulkBar, ExportButton } from './bulk.tsx'
import { type Days, DaysChart, useDays } from './days.tsx'
import { endpointOf, nameOf } from './endpoint.ts'
import { dedicatedMessages } from './messages.ts'
import { maxShown, useProxies } from './use-proxies.ts'

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

/** A filter; an empty field matches every proxy. `by` is the column that sorts, with `-` from the largest. */
type Filter = Readonly<{ text: string; status: string; country: string; ipv: string; by: string }>

const noFilter: Filter = { text: '', status: '', country: '', ipv: '', by: '' }

const matches = (proxy: Proxy, { text, status, country, ipv }: Filter): boolean =>
  (status === '' || proxy.status === status) &&
  (country === '' || proxy.country_code === country) &&
  (ipv === '' || String(proxy.ipv) === ipv) &&
  [proxy.ip, proxy.exit_ip, proxy.username, proxy.comment, String(proxy.id)].some((each) =>
    each.toLowerCase().includes(text.trim().toLowerCase()),
  )

const bytesOf = ({ traffic }: Proxy): number => traffic.rx_bytes + traffic.tx_bytes

/** The value of each column that sorts. */
const sortValues: Readonly<Record<string, (proxy: Proxy) => CellValue>> = {
  address: nameOf,
  country: (each) => `${each.country_code} ${each.ipv}`,
  status: (each) => `${each.status} ${each.state}`,
  until: (each) => each.expires_at,
  traffic: bytesOf,
  comment: (each) => each.comment,
}

function sortProxies(all: readonly Proxy[], by: string): readonly Proxy[] {
  const valueOf = sortValues[by.replace(/^-/, '')]
  if (valueOf === undefined) return all
  const sign = by.startsWith('-') ? -1 : 1
  return all.toSorted((a, b) => sign * compareValues(valueOf(a), valueOf(b)))
}

/** The filter of the address bar, so that a reload, a bookmark and the way back show the same list. */
function useFilter() {
  const [fields, set] = useFields()
  const filter = useMemo((): Filter => {
    const read = (name: keyof Filter) => fields.get(name) ?? ''
    return { text: read('text'), status: read('status'), country: read('country'), ipv: read('ipv'), by: read('by') }
  }, [fields])
  return [filter, set] as const
}

/** The form of copied lines, which the browser remembers. */
function useLineForm(all: readonly Proxy[]) {
  const [wanted, setForm] = useRemembered('copy-form', lineForms)
  const forms = all.some((each) => each.https_host !== null) ? lineForms : lineForms.filter((each) => each !== 'https')
  return { forms, form: forms.find((each) => each === wanted) ?? lineForms[0], setForm }
}

/** The selected proxies, by id. */
function useChosen() {
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const toggle = useCallback(
    (id: number) =>
      setChosen((before) => new Set(before.has(id) ? [...before].filter((each) => each !== id) : [...before, id])),
    [],
  )
  return { chosen, setChosen, toggle }
}

function NothingFound({ onClear }: { readonly onClear: () => void }) {
  const { t } = useMessages(dedicatedMessages)
  return (
    <Empty icon="search" title={t.nothingFound} about={t.nothingFoundAbout}>
      <Button variant="light" onClick={onClear}>
        {t.clearFilters}
      </Button>
    </Empty>
  )
}

function Listed({ all }: { readonly all: readonly Proxy[] }) {
  const { t, format } = useMessages(dedicatedMessages)
  const [filter, setFilter] = useFilter()
  const { forms, form, setForm } = useLineForm(all)
  const { chosen, setChosen, toggle } = useChosen()
  useKeptPosition()
  const found = useMemo(
    () =>
      sortProxies(
        all.filter((each) => matches(each, filter)),
        filter.by,
      ),
    [all, filter],
  )
  const picked = found.filter((each) => chosen.has(each.id))
  const areAll = found.length > 0 && picked.length === found.length
  return (
    <>
      <Panel className="stack">
        <Filters all={all} filter={filter} onFilter={setFilter} />
        {all.length >= maxShown && <Hint>{t.newestOnly(format.number(maxShown))}</Hint>}
        <SavedFilters name="dedicated" now={filter} onChoose={setFilter} />
        {found.length === 0 ? (
          <NothingFound onClear={() => setFilter(noFilter)} />
        ) : (
          <>
            <div className="line ends">
              <Checkbox
                label={t.selectAll}
                checked={areAll}
                indeterminate={picked.length > 0 && !areAll}
                onChange={() => setChosen(new Set(areAll ? [] : found.map((each) => each.id)))}
              />
              <span className="line">
                <span className="quiet">{t.shown(found.length, format)}</span>
                <Select
                  label={t.copyAs}
                  size="xs"
                  w="13rem"
                  value={form}
                  options={forms.map((each) => [each, t.formats[each] ?? ''] as const)}
                  onChange={setForm}
                />
              </span>
            </div>
            <Table
              found={found}
              chosen={chosen}
              form={form}
              by={filter.by}
              onBy={(by) => setFilter({ by })}
              onToggle={toggle}
            />
          </>
        )}
      </Panel>
      {picked.length > 0 && <BulkBar picked={picked} onDone={() => setChosen(new Set())} />}
    </>
  )
}

type FiltersProps = Readonly<{
  all: readonly Proxy[]
  filter: Filter
  onFilter: (change: Readonly<Record<string, string>>) => void
}>

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
        onChange={(event) => onFilter({ text: event.currentTarget.value })}
      />
      <Select
        label={t.status}
        value={filter.status}
        options={[
          ['', t.current],
          ['active', t.active],
          ['expired', t.expired],
        ]}
        onChange={(status) => onFilter({ status })}
      />
      <Select
        label={t.country}
        value={filter.country}
        options={[['', t.anyCountry], ...countries.map((code) => [code, format.country(code)] as const)]}
        onChange={(country) => onFilter({ country })}
      />
      <Select
        label={t.kind}
        value={filter.ipv}
        options={[['', t.anyKind], ...kinds.map((ipv) => [String(ipv), t.kinds[ipv] ?? ''] as const)]}
        onChange={(ipv) => onFilter({ ipv })}
      />
    </search>
  )
}

type ProxyStatusProps = { readonly proxy: Proxy; readonly isLong?: boolean }

export function ProxyStatus({ proxy, isLong = false }: ProxyStatusProps) {
  const { t } = useMessages(dedicatedMessages)
  if (proxy.status === 'expired') return <Status tone="quiet">{t.expired}</Status>
  if (proxy.state === 'interrupted') return <Status tone="warn">{isLong ? t.interruptedAbout : t.interrupted}</Status>
  return <Status tone="good">{t.active}</Status>
}

type TableProps = Readonly<{
  found: readonly Proxy[]
  chosen: ReadonlySet<number>
  form: LineForm
  by: string
  onBy: (by: string) => void
  onToggle: (id: number) => void
}>

const idsPerRead = 50

/** The ids of the rendered rows, and of those beside them: a scroll by a row reads nothing. */
const idsAround = (found: readonly Proxy[], from: number, to: number): readonly number[] =>
  found
    .slice(Math.floor(from / idsPerRead) * idsPerRead, Math.ceil(to / idsPerRead) * idsPerRead)
    .map((each) => each.id)

/** Rows of one height, rendered as they are seen. */
function Table({ found, chosen, form, by, onBy, onToggle }: TableProps) {
  const { t } = useMessages(dedicatedMessages)
  const nowAt = useNow()
  const { body, from, to, beforePx, afterPx } = useWindowed(found.length)
  const days = useDays(useMemo(() => idsAround(found, from, to), [found, from, to]))
  const unseen = (name: string) => <span className="unseen">{name}</span>
  const head = (column: string, name: string) => {
    const now = by === column ? 'ascending' : by === `-${column}` ? 'descending' : 'none'
    const next = now === 'none' ? column : now === 'ascending' ? `-${column}` : ''
    return <Head key={column} name={name} now={now} onSort={() => onBy(next)} />
  }
  return (
    <div className="rows-frame">
      <table className="rows keep compact" aria-label={t.title} aria-rowcount={found.length + 1}>
        <thead>
          <tr>
            <Head name={unseen(t.selectAll)} />
            {head('address', t.address)}
            {head('country', t.country)}
            {head('status', t.status)}
            {head('until', t.until)}
            {head('traffic', t.traffic)}
            {head('comment', t.comment)}
            <Head name={unseen(t.copy)} />
          </tr>
        </thead>
        <tbody ref={body}>
          {beforePx > 0 && <tr aria-hidden="true" style={{ height: beforePx }} />}
          {found.slice(from, to).map((proxy, index) => (
            <Row
              key={proxy.id}
              proxy={proxy}
              position={from + index + 2}
              isChosen={chosen.has(proxy.id)}
              form={form}
              days={days.get(proxy.id)}
              nowAt={nowAt}
              onToggle={onToggle}
            />
          ))}
          {afterPx > 0 && <tr aria-hidden="true" style={{ height: afterPx }} />}
        </tbody>
      </table>
    </div>
  )
}

type RowProps = Readonly<{
  proxy: Proxy
  position: number
  isChosen: boolean
  form: LineForm
  days: Days | undefined
  nowAt: number
  onToggle: (id: number) => void
}>

/** The proxy as one line; only its address if the caller may not see passwords. */
const lineOf = (proxy: Proxy, form: LineForm): string | undefined =>
  proxy.password === null ? nameOf(proxy) : toLine(endpointOf(proxy, proxy.password), form)

const Row = memo(({ proxy, position, isChosen, form, days, nowAt, onToggle }: RowProps) => {
  const { t, format } = useMessages(dedicatedMessages)
  const name = nameOf(proxy)
  const line = lineOf(proxy, form)
  const isServing = proxy.status === 'active' && proxy.state === 'serving'
  return (
    <tr aria-rowindex={position} className={isServing ? '' : 'troubled'}>
      <td className="pick">
        <Checkbox size="md" aria-label={t.select(name)} checked={isChosen} onChange={() => onToggle(proxy.id)} />
      </td>
      <td className="name">
        <a className="mono" href={`#/dedicated/${proxy.id}`}>
          {name}
        </a>
        {/* Proxies behind one gateway differ only in the exit address. */}
        <small className="mono" title={proxy.exit_ip}>
          {proxy.exit_ip === proxy.ip ? t.protocols[proxy.port_type] : proxy.exit_ip}
        </small>
      </td>
      <td>
        <Country code={proxy.country_code}>{t.kinds[proxy.ipv]}</Country>
      </td>
      <td>
        <ProxyStatus proxy={proxy} />
      </td>
      <td>
        <span title={format.moment(proxy.expires_at)}>
          {format.day(proxy.expires_at)}
          <small>{proxy.auto_renew === null ? format.away(proxy.expires_at, nowAt) : t.autoRenew}</small>
        </span>
      </td>
      <td className="amount">
        {format.bytes(bytesOf(proxy))}
        {days && <DaysChart days={days} />}
      </td>
      <td className="comment" title={proxy.comment}>
        {proxy.comment}
      </td>
      <td className="copy">
        {line === undefined ? <span title={t.noHttps}>—</span> : <CopyIcon text={line} label={name} />}
      </td>
    </tr>
  )
})
