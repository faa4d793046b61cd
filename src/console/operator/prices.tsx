import { Button, FileButton, Text, Textarea, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { CallRefused, isRecord } from '../client/call.ts'
import { download } from '../shared/browser.ts'
import { Choices } from '../shared/form.tsx'
import { type Format, messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import {
  Cell,
  Facts,
  Notice,
  Page,
  Panel,
  Reading,
  ReadRows,
  RefusalNotice,
  RowButton,
  Rows,
} from '../shared/parts.tsx'
import { problemsOf } from '../shared/refusal.ts'
import { type Trade, tradeMessages } from '../shared/trade.ts'
import { api, type OperatorAnswer, useChange, useMay, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { countDifferences } from './price-edit.ts'
import { readChanges, unitOf } from './price-paths.ts'
import { PriceTable } from './price-table.tsx'

const priceMessages = messages({
  ...operatorTexts,
  noPrices: pair(
    'There is no price list yet. Change this example and apply it.',
    'Прайс-листа пока нет. Измените этот пример и примените его.',
  ),
  faulty: pair(
    'The price list was not applied. Correct these values:',
    'Прайс-лист не применён. Исправьте эти значения:',
  ),
  editAs: pair('Edit as', 'Править как'),
  asTable: pair('Table', 'Таблица'),
  exportJson: pair('Download JSON', 'Скачать JSON'),
  exportYaml: pair('Download YAML', 'Скачать YAML'),
  openFile: pair('Open a file (YAML or JSON)', 'Открыть файл (YAML или JSON)'),
  readYaml: pair('Read as YAML', 'Прочитать как YAML'),
  before: pair('Now', 'Сейчас'),
  afterwards: pair('New', 'Новая'),
  effects: pair('Affected customers', 'Кого затронет'),
  effectsAbout: pair(
    'Customers with these services. Sold services keep their price until they expire; renewals use the new price.',
    'Покупатели с этими услугами. Проданные услуги сохраняют цену до конца срока, продления пойдут по новой.',
  ),
  noEffects: pair(
    'No customer has these services now: the change affects new purchases only.',
    'Сейчас этих услуг ни у кого нет: изменение касается только новых покупок.',
  ),
  services: pair('Services', 'Услуг'),
  renewals: pair('Auto-renewals', 'Автопродлений'),
  lostRenewals: phrase('{count} not sold any more', 'больше не продаётся: {count}'),
  renewedBefore: pair('Next renewals now', 'Продления сейчас'),
  renewedAfter: pair('Next renewals at the new price', 'Продления по новой цене'),
  inForce: phrase('Version {number} is in force.', 'Версия {number} действует.'),
  loadedVersion: phrase('Version {number} loaded into the editor.', 'Версия {number} загружена в редактор.'),
  differences: pair(
    (count: number, format: Format) => format.plural(count, 'change', 'changes'),
    (count, format) => format.plural(count, 'изменение', 'изменения', 'изменений'),
  ),
  isCurrent: pair('in force', 'действует'),
  appliedBy: pair('Applied by', 'Кто применил'),
  firstVersion: pair('the first price list', 'первый прайс-лист'),
  moreChanges: phrase('and {count} more', 'и ещё {count}'),
  units: {
    day: phrase('{price} a day', '{price} за день'),
    gigabyte: phrase('{price} per GB', '{price} за ГБ'),
  },
  priceValues: names({
    pro_rata: pair('the unused part is refunded', 'возвращается неиспользованная часть'),
    none: pair('no refund', 'без возврата'),
    true: pair('yes', 'да'),
    false: pair('no', 'нет'),
  }),
  pricePaths: names({
    per_day: pair('per day', 'за день'),
    per_period: pair('per term, days', 'за срок, дней'),
    prolong_periods: pair('terms of prolongation, days', 'сроки продления, дней'),
    periods: pair('terms, days', 'сроки, дней'),
    volume: pair('quantity discount', 'скидка за количество'),
    term: pair('term discount', 'скидка за срок'),
    from: pair('from', 'от'),
    percent: pair('discount', 'скидка'),
    tiers: pair('tier', 'ступень'),
    from_gb: pair('from GB', 'от, ГБ'),
    per_gb: pair('per GB', 'за ГБ'),
    expires_days: pair('days until expiry', 'дней до окончания'),
    months: pair('months', 'месяцев'),
    device_limit: pair('devices', 'устройств'),
    slots: pair('more devices', 'ещё устройств'),
    traffic_gb: pair('gigabytes', 'гигабайт'),
    speed_mbit: pair('speed, Mbit/s', 'скорость, Мбит/с'),
    refund: pair('refund', 'возврат'),
    outage: pair('outages', 'простои'),
  }),
})

type Catalogue = Readonly<Record<string, unknown>>

/** JSON with each list of numbers on one line. */
const written = (catalogue: object): string =>
  JSON.stringify(catalogue, null, 2).replace(
    /\[\s+([\d.,\s]+?)\s+\]/g,
    (_, list: string) => `[${list.replace(/\s+/g, ' ')}]`,
  )

function read(text: string): Catalogue | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The form to begin with in a shop without a price list. The operator changes the prices before applying them. */
const firstPrices = {
  dedicated: {
    prolong_periods: [7, 30, 90],
    kinds: { 4: { periods: [7, 30, 90], countries: { DE: { per_day: 6 } }, volume: [], term: [] } },
  },
  premium: { pools: {} },
  vpn: { months: { 1: 299, 12: 2690 }, device_limit: 5, refund: 'pro_rata' },
}

const isMissing = (error: unknown): boolean => error instanceof CallRefused && error.code === 'not_found'

export function PricesPage() {
  const { t } = useMessages(priceMessages)
  const current = useRead('getCatalogue')
  const [notice, setNotice] = useState('')
  const onApplied = (version: number | null) => setNotice(version === null ? '' : t.inForce(String(version)))
  const telling = { notice, onNotice: setNotice, onApplied }
  return (
    <Page title={t.prices} about={t.pricesAbout}>
      {isMissing(current.error) ? (
        <Editor of={{ version: 0, applied_at: '', catalogue: firstPrices }} {...telling} />
      ) : (
        <Reading of={current} height={400}>
          {(catalogue) => <Editor key={catalogue.version} of={catalogue} {...telling} />}
        </Reading>
      )}
    </Page>
  )
}

type EditorProps = {
  readonly of: OperatorAnswer<'getCatalogue'>
  /** The outcome of the last action. A new version replaces the editor, so the page keeps it. */
  readonly notice: string
  readonly onNotice: (text: string) => void
  readonly onApplied: (version: number | null) => void
}

/** The price list as tables or as JSON. The effects of an edit are shown before it can be applied. */
function Editor({ of, notice, onNotice, onApplied }: EditorProps) {
  const { t, format } = useMessages(priceMessages)
  const may = useMay()
  const [text, setText] = useState(() => written(of.catalogue))
  const [loaded, setLoaded] = useState(0)
  const catalogue = read(text)
  const compared = useMutation({
    mutationFn: (body: { readonly catalogue: Catalogue }) => api.call('compareCatalogue', { body }),
  })
  const edit = (next: string) => {
    setText(next)
    compared.reset()
    onNotice('')
  }
  const load = (older: object, version?: number) => {
    edit(written(older))
    setLoaded(loaded + 1)
    if (version !== undefined) onNotice(t.loadedVersion(String(version)))
  }
  const count = catalogue ? countDifferences(of.version === 0 ? {} : of.catalogue, catalogue) : 0
  return (
    <>
      <Panel className="stack">
        {of.version === 0 ? (
          <Text>{t.noPrices}</Text>
        ) : (
          <Facts
            of={[
              [t.version, String(of.version)],
              [t.appliedAt, format.moment(of.applied_at)],
            ]}
          />
        )}
        <Form key={loaded} text={text} onEdit={edit} onLoad={load} />
        <PriceRefusal error={compared.error} />
        {compared.data && <Changes of={compared.data} />}
        {may('compareCatalogue') && (
          <div className="line sticky-bar">
            <span>{count === 0 ? t.noChanges : t.differences(count, format)}</span>
            <Button
              variant="default"
              disabled={catalogue === undefined}
              loading={compared.isPending}
              onClick={() => catalogue && compared.mutate({ catalogue })}
            >
              {t.compare}
            </Button>
            {compared.data && compared.data.changes.length > 0 && catalogue && (
              <Apply catalogue={catalogue} onApplied={onApplied} />
            )}
            {notice !== '' && <Notice tone="good">{notice}</Notice>}
          </div>
        )}
      </Panel>
      <Versions onLoad={load} />
    </>
  )
}

type FormProps = {
  readonly text: string
  readonly onEdit: (text: string) => void
  readonly onLoad: (catalogue: object) => void
}

/** The text of a price list, edited as tables or as JSON. A text that is no JSON has no tables. */
function Form({ text, onEdit, onLoad }: FormProps) {
  const { t } = useMessages(priceMessages)
  const isReadOnly = !useMay()('applyCatalogue')
  const [view, setView] = useState<'table' | 'json'>('table')
  const catalogue = read(text)
  return (
    <>
      <Files text={text} isReadOnly={isReadOnly} onLoad={onLoad} />
      <div>
        <Choices
          legend={t.editAs}
          value={view}
          isNarrow
          options={[
            { value: 'table', label: t.asTable },
            { value: 'json', label: 'JSON' },
          ]}
          onChange={setView}
        />
      </div>
      {view === 'table' && catalogue ? (
        <PriceTable of={catalogue} isReadOnly={isReadOnly} onChange={(next) => onEdit(written(next))} />
      ) : (
        <Textarea
          label={t.editor}
          className="editor"
          value={text}
          rows={22}
          spellCheck={false}
          readOnly={isReadOnly}
          error={catalogue === undefined ? t.notJson : undefined}
          onChange={(event) => onEdit(event.currentTarget.value)}
        />
      )}
    </>
  )
}

type FilesProps = {
  readonly text: string
  readonly isReadOnly: boolean
  readonly onLoad: (catalogue: object) => void
}

/** Import and export. The shop converts YAML, so that the browser loads no parser. */
function Files({ text, isReadOnly, onLoad }: FilesProps) {
  const { t } = useMessages(priceMessages)
  const convert = useMutation({
    mutationFn: (source: string) => api.call('convertCatalogue', { body: { text: source } }),
  })
  const open = (source: string) => convert.mutate(source, { onSuccess: ({ catalogue }) => onLoad(catalogue) })
  const saveYaml = () =>
    convert.mutate(text, { onSuccess: ({ yaml }) => download('prices.yaml', yaml, 'application/yaml') })
  return (
    <div className="stack">
      <div className="line">
        {!isReadOnly && (
          <FileButton accept=".yaml,.yml,.json" onChange={(file) => void file?.text().then(open)}>
            {(props) => (
              <Button {...props} variant="default" size="xs" loading={convert.isPending}>
                {t.openFile}
              </Button>
            )}
          </FileButton>
        )}
        {!isReadOnly && read(text) === undefined && (
          <Button size="xs" loading={convert.isPending} onClick={() => open(text)}>
            {t.readYaml}
          </Button>
        )}
        <Button variant="default" size="xs" onClick={() => download('prices.json', text, 'application/json')}>
          {t.exportJson}
        </Button>
        <Button variant="default" size="xs" loading={convert.isPending} onClick={saveYaml}>
          {t.exportYaml}
        </Button>
      </div>
      <RefusalNotice error={convert.error} />
    </div>
  )
}

/** A refused price list: all its faults, each with the name of its place in the tables. */
function PriceRefusal({ error }: { readonly error: unknown }) {
  const { t, format } = useMessages(priceMessages)
  const { t: trade } = useMessages(tradeMessages)
  const problems = error instanceof CallRefused ? problemsOf(error) : []
  if (problems.length === 0) return <RefusalNotice error={error} />
  return (
    <div role="alert" className="notice">
      <Text fw={600}>{t.faulty}</Text>
      <ul>
        {problems.map(({ field, problem }) => (
          <li key={field}>
            {sayPath(field, t.pricePaths, trade, format)}: {problem}
          </li>
        ))}
      </ul>
    </div>
  )
}

type ApplyProps = { readonly catalogue: Catalogue; readonly onApplied: EditorProps['onApplied'] }

function Apply({ catalogue, onApplied }: ApplyProps) {
  const { t } = useMessages(priceMessages)
  const may = useMay()
  // The new version replaces the editor, so the page shows the outcome.
  const apply = useChange('applyCatalogue', ({ version }) => onApplied(version))
  if (!may('applyCatalogue')) return null
  const run = () => apply.mutate({ body: { catalogue } })
  return (
    <>
      <Button loading={apply.isPending} onClick={run}>
        {t.apply}
      </Button>
      <PriceRefusal error={apply.error} />
    </>
  )
}

function Changes({ of: { changes, effects } }: { readonly of: OperatorAnswer<'compareCatalogue'> }) {
  const { t } = useMessages(priceMessages)
  const place = useRef<HTMLDivElement>(null)
  // Newer browsers return a promise, which is no clean-up function.
  useEffect(() => {
    place.current?.scrollIntoView()
  }, [])
  if (changes.length === 0) return null
  return (
    <div className="stack changes" ref={place}>
      <Title order={2}>{t.changes}</Title>
      <Differences changes={changes} />
      <Title order={2}>{t.effects}</Title>
      <Text c="dimmed">{t.effectsAbout}</Text>
      <Effects of={effects} />
    </div>
  )
}

function Differences({ changes }: { readonly changes: readonly string[] }) {
  const { t, format } = useMessages(priceMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <Rows
      hasCsv={false}
      label={t.changes}
      rows={readChanges(changes)}
      keyOf={(row) => row.path}
      columns={(column) => [
        column.text(t.what, (row) => (
          <Cell note={row.path} isMono>
            {sayPath(row.path, t.pricePaths, trade, format)}
          </Cell>
        )),
        column.number(t.before, (row) => <del>{sayValue(row.path, row.before, t, format)}</del>),
        column.number(t.afterwards, (row) => <ins>{sayValue(row.path, row.after, t, format)}</ins>),
      ]}
    />
  )
}

/** A value of a price list as people read it: with its unit, or in words. */
function sayValue(path: string, text: string | null, t: (typeof priceMessages)['en'], format: Format): string {
  if (text === null) return '—'
  const unit = unitOf(path)
  const number = Number(text)
  if (unit === undefined || Number.isNaN(number)) return t.priceValues[text.replaceAll('"', '')] ?? text
  if (unit === 'percent') return format.percent(number)
  return unit === 'term' ? format.money(number) : t.units[unit](format.money(number))
}

type ChangeLinesProps = { readonly of: readonly string[]; readonly count: number }

/** The first changes of a price list, one on each line, and how many more there are. */
export function ChangeLines({ of, count }: ChangeLinesProps) {
  const { t, format } = useMessages(priceMessages)
  const { t: trade } = useMessages(tradeMessages)
  return (
    <>
      {readChanges(of).map(({ path, before, after }) => (
        <small key={path}>
          {sayPath(path, t.pricePaths, trade, format)}: {sayValue(path, before, t, format)} →{' '}
          {sayValue(path, after, t, format)}
        </small>
      ))}
      {count > of.length && <small>{t.moreChanges(format.number(count - of.length))}</small>}
    </>
  )
}

/** Arrays of a price list; their items are numbered from one. */
const arrays = ['tiers', 'volume', 'term']

function sayPath(path: string, paths: Readonly<Record<string, string>>, trade: Trade, format: Format): string {
  const [product = '', ...parts] = path.split('.')
  const texts = parts.flatMap((part, index) => {
    const parent = parts[index - 1] ?? ''
    if (parent === 'kinds') return [trade.ipvs[part] ?? part]
    if (parent === 'countries') return [format.country(part)]
    if (parent === 'pools') return [trade.pools[part] ?? part]
    if (arrays.includes(parent) && /^\d+$/.test(part)) return [String(Number(part) + 1)]
    const text = paths[part] ?? (/^\d+$/.test(part) ? part : undefined)
    return text === undefined ? [] : [text]
  })
  return [trade.products[product] ?? product, ...texts].join(' · ')
}

type Effect = OperatorAnswer<'compareCatalogue'>['effects'][number]

function Effects({ of }: { readonly of: readonly Effect[] }) {
  const { t, format } = useMessages(priceMessages)
  const { t: trade } = useMessages(tradeMessages)
  if (of.length === 0) return <Text c="dimmed">{t.noEffects}</Text>
  const nameOf = ({ product, country, ipv, pool }: Effect) =>
    [
      trade.products[product] ?? product,
      ...(country === null ? [] : [format.country(country)]),
      ...(ipv === null ? [] : [t.kinds[ipv] ?? ipv]),
      ...(pool === null ? [] : [trade.pools[pool] ?? pool]),
    ].join(' · ')
  const renewed = (row: Effect, sum: number) => (row.renewals === 0 ? '—' : format.exactMoney(sum))
  return (
    <Rows
      label={t.effects}
      rows={of}
      keyOf={nameOf}
      columns={(column) => [
        column.text(t.what, nameOf),
        column.number(t.customers, (row) => format.number(row.customers)),
        column.number(t.services, (row) => format.number(row.services)),
        column.number(t.renewals, (row) => (
          <Cell note={row.lost > 0 && t.lostRenewals(format.number(row.lost))}>{format.number(row.renewals)}</Cell>
        )),
        column.number(t.renewedBefore, (row) => renewed(row, row.before_rub)),
        column.number(t.renewedAfter, (row) => renewed(row, row.after_rub)),
      ]}
    />
  )
}

function Versions({ onLoad }: { readonly onLoad: (catalogue: object, version: number) => void }) {
  const { t, format } = useMessages(priceMessages)
  const load = useMutation({
    mutationFn: (version: number) => api.call('getCatalogue', { query: { version } }),
    onSuccess: ({ catalogue, version }) => onLoad(catalogue, version),
  })
  const found = useRead('listCatalogues')
  const newest = found.data?.items[0]?.version
  return (
    <Panel title={t.older}>
      <ReadRows
        label={t.older}
        of={found}
        keyOf={(row) => row.version}
        columns={(column) => [
          column(t.version, (row) => <Cell note={row.version === newest && t.isCurrent}>{row.version}</Cell>),
          column.text(t.what, (row) =>
            row.version === 1 ? (
              t.firstVersion
            ) : (
              <span>
                <ChangeLines of={row.changes} count={row.change_count} />
              </span>
            ),
          ),
          column(t.appliedBy, (row) => row.applied_by ?? '—'),
          column(t.appliedAt, (row) => format.moment(row.applied_at)),
          column.action(t.load, (row) => <RowButton label={t.load} onClick={() => load.mutate(row.version)} />),
        ]}
      />
      <RefusalNotice error={load.error} />
    </Panel>
  )
}
