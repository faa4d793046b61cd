import { Button, Skeleton, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { CallLost, CallOffline, CallRefused } from '../client/call.ts'
import { brand } from './brand.ts'
import { useOverflow } from './browser.ts'
import { Icon, type IconName } from './icons.tsx'
import { commonMessages, useLanguage, useMessages } from './messages.tsx'
import { sayRefusal } from './refusal.ts'

type PageProps = Readonly<{ title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode }>

/** A page with its heading, which takes the focus so that a screen reader reads it. */
export function Page({ title, about, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${brand.name}`
    heading.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [title])
  return (
    <>
      <header className="page-head">
        <div>
          <Title order={1} ref={heading} tabIndex={-1}>
            {title}
          </Title>
          {about !== undefined && <Text c="dimmed">{about}</Text>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      <div className="page-body">{children}</div>
    </>
  )
}

export const MissingPage = ({ icon, title, about, children }: EmptyProps) => (
  <Page title={title}>
    <Empty icon={icon} title={title} about={about}>
      {children}
    </Empty>
  </Page>
)

export function NoSuchPage() {
  const { t } = useMessages(commonMessages)
  return (
    <MissingPage icon="search" title={t.notFound} about={t.notFoundAbout}>
      <a href="#/">{t.toStart}</a>
    </MissingPage>
  )
}

type PanelProps = Readonly<{ title?: string; aside?: ReactNode; children: ReactNode; className?: string }>

export const Panel = ({ title, aside, children, className = '' }: PanelProps) => (
  <section className={`panel ${className}`}>
    {title !== undefined && (
      <div className="panel-head">
        <Title order={2}>{title}</Title>
        {aside}
      </div>
    )}
    {children}
  </section>
)

type OutcomeProps = Readonly<{ title: string; children: ReactNode }>

/**
 * The outcome of a purchase, in place of its form: a second press cannot buy again. Its heading takes the focus and is
 * scrolled into view, because on a phone the form was longer than the window.
 */
export function Outcome({ title, children }: OutcomeProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    heading.current?.focus({ preventScroll: true })
    heading.current?.scrollIntoView({ block: 'center' })
  }, [])
  return (
    <div className="stack">
      <Title order={2} ref={heading} tabIndex={-1}>
        {title}
      </Title>
      {children}
    </div>
  )
}

type SectionProps<Tab extends string> = {
  readonly title: string
  readonly about: string | Readonly<Record<Tab, string>>
  readonly base: string
  readonly names: Readonly<Record<Tab, string>>
  readonly tabs: Readonly<Record<Tab, () => ReactNode>>
  readonly tab: string
}

/** One of the pages of a section: `names` and `tabs` by the last part of their paths, '' for the section itself. */
export function Section<Tab extends string>({ title, about, base, names, tabs, tab }: SectionProps<Tab>) {
  const isTab = (name: string): name is Tab => name in tabs
  if (!isTab(tab)) return <NoSuchPage />
  const Shown: () => ReactNode = tabs[tab]
  return (
    <Page title={title} about={typeof about === 'string' ? about : about[tab]}>
      <nav className="tabs" aria-label={title}>
        {Object.entries<string>(names).map(([each, name]) => (
          <a
            key={each}
            href={each === '' ? `#${base}` : `#${base}/${each}`}
            aria-current={each === tab ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <Shown />
    </Page>
  )
}

export const Figure = ({ label, value, note }: Readonly<{ label: string; value: ReactNode; note?: ReactNode }>) => (
  <div className="figure">
    <span className="figure-label">{label}</span>
    <span className="figure-value">{value}</span>
    {note !== undefined && <span className="figure-note">{note}</span>}
  </div>
)

type FiguresProps = { readonly of: readonly (readonly [label: string, value: ReactNode, note?: ReactNode])[] }

/** Figures side by side; one without a value is still being read. */
export const Figures = ({ of }: FiguresProps) => (
  <div className="cards">
    {of.map(([label, value = '…', note]) => (
      <Panel key={label}>
        <Figure label={label} value={value} note={note} />
      </Panel>
    ))}
  </div>
)

export type Tone = 'good' | 'warn' | 'bad' | 'quiet'

/** A state. The colour repeats what the word says. */
export const Status = ({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) => (
  <span className={`status status-${tone}`}>{children}</span>
)

export const OnOff = ({ isOn, on, off }: { readonly isOn: boolean; readonly on: string; readonly off: string }) => (
  <Status tone={isOn ? 'good' : 'bad'}>{isOn ? on : off}</Status>
)

type EmptyProps = Readonly<{ icon: IconName; title: string; about: string; children?: ReactNode }>

export const Empty = ({ icon, title, about, children }: EmptyProps) => (
  <div className="empty">
    <Icon name={icon} size={36} />
    <Text fw={600}>{title}</Text>
    <Text c="dimmed" size="sm" maw="44ch">
      {about}
    </Text>
    {children}
  </div>
)

type Shown = Readonly<{ title: string; text?: string; money?: string | undefined; request?: string | null }>

/** Whether money moved, for operations that charge. The shop's own text may have said so. */
function tellMoney({ charged }: CallRefused, text: string, t: (typeof commonMessages)['en']): string | undefined {
  if (charged === undefined || /nothing was charged|деньги не списаны/i.test(text)) return undefined
  return { yes: t.charged, no: t.notCharged, unknown: t.lostAbout }[charged]
}

function useShown(error: unknown): Shown {
  const { t, language, format } = useMessages(commonMessages)
  if (error instanceof CallLost) return { title: t.lost, text: t.lostAbout }
  if (error instanceof CallOffline) return { title: t.noConnection, text: error.isCharging ? t.notBought : t.notSent }
  if (!(error instanceof CallRefused)) return { title: t.failed, text: t.failedAbout }
  const text = sayRefusal(error, language, format)
  return {
    ...(error.status >= 500 ? { title: t.fault, text } : { title: text }),
    money: tellMoney(error, text, t),
    ...(error.code === 'internal_error' && { request: error.requestId }),
  }
}

/** The outcome of an action, read out by screen readers. */
export const Notice = ({ tone, children }: { readonly tone: 'good' | 'warn'; readonly children: ReactNode }) => (
  <div role="status" className={`notice ${tone}`}>
    {children}
  </div>
)

export const Hint = ({ children }: { readonly children: ReactNode }) => (
  <Text size="sm" c="dimmed">
    {children}
  </Text>
)

/** Shows a failed call, and whether money moved; nothing without an error. */
export function RefusalNotice({ error, onAgain }: { readonly error: unknown; readonly onAgain?: () => void }) {
  const { t } = useMessages(commonMessages)
  const { title, text, money, request } = useShown(error)
  if (error === null || error === undefined) return null
  return (
    <div role="alert" className="notice">
      <Text fw={600}>{title}</Text>
      {(text ?? money) !== undefined && (
        <Text size="sm">
          {text} {money !== undefined && <strong>{money}</strong>}
        </Text>
      )}
      {request !== undefined && request !== null && (
        <Hint>
          {t.request} <code>{request}</code>
        </Hint>
      )}
      {/* A changed price is accepted at the button that shows it. */}
      {onAgain && !(error instanceof CallRefused && error.changedPrice !== undefined) && (
        <Button variant="default" size="xs" mt="xs" onClick={onAgain}>
          {t.again}
        </Button>
      )}
    </div>
  )
}

type Read<Of> = { readonly data: Of | undefined; readonly error: Error | null; readonly refetch: () => unknown }

type ReadingProps<Of> = Readonly<{ of: Read<Of>; height?: number; children: (found: Of) => ReactNode }>

/** The answer of a query; a placeholder of this height while it loads, its error with a button to retry. */
export function Reading<Of>({ of, height = 120, children }: ReadingProps<Of>) {
  const { t } = useMessages(commonMessages)
  if (of.data !== undefined) return children(of.data)
  if (of.error !== null) return <RefusalNotice error={of.error} onAgain={() => void of.refetch()} />
  return <Skeleton height={height} radius="md" role="status" aria-label={t.loading} />
}

type PagedProps<Item> = {
  readonly of: Read<readonly Item[]> & {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    readonly fetchNextPage: () => unknown
  }
  readonly height?: number
  /** Whether the button is as wide as the list. */
  readonly isWide?: boolean
  readonly children: (items: readonly Item[]) => ReactNode
}

/** A list as far as it was read, and a button for the next page. */
export function Paged<Item>({ of, height = 240, isWide = false, children }: PagedProps<Item>) {
  const { t } = useMessages(commonMessages)
  const more = (
    <Button variant="default" loading={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
      {t.more}
    </Button>
  )
  return (
    <Reading of={of} height={height}>
      {(items) => (
        <div className="stack">
          {children(items)}
          {of.hasNextPage && (isWide ? more : <div>{more}</div>)}
        </div>
      )}
    </Reading>
  )
}

type Fact = readonly [name: string, value: ReactNode]

export const Facts = ({ of }: { readonly of: readonly (Fact | false)[] }) => (
  <dl className="facts">
    {of.map(
      (fact) =>
        fact && (
          <div key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </div>
        ),
    )}
  </dl>
)

type Column<Row> = {
  readonly label: string
  readonly show: (row: Row) => ReactNode
  /** `text` may wrap, `number` is aligned to the right, `action` has a label for screen readers only. */
  readonly kind: '' | 'text' | 'number' | 'action'
}

type ColumnOf<Row> = (label: string, show: (row: Row) => ReactNode) => Column<Row>
type Columns<Row> = ColumnOf<Row> & Readonly<Record<'text' | 'number' | 'action', ColumnOf<Row>>>

const columnOf =
  (kind: Column<never>['kind']) =>
  <Row,>(label: string, show: (row: Row) => ReactNode): Column<Row> => ({ label, show, kind })

const builder = Object.assign(columnOf(''), {
  text: columnOf('text'),
  number: columnOf('number'),
  action: columnOf('action'),
})

export type RowsProps<Row> = {
  readonly label: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string | number
  /** A function, so that each column knows the type of the rows. */
  readonly columns: (column: Columns<Row>) => readonly Column<Row>[]
  readonly empty?: ReactNode
}

/** A table; on a phone each row is a card, with the column's name before each value. */
export function Rows<Row>({ label, rows, keyOf, columns: toColumns, empty }: RowsProps<Row>) {
  const columns = toColumns(builder)
  if (rows.length === 0 && empty !== undefined) return empty
  return (
    <RowsFrame label={label}>
      <table className="rows" aria-label={label}>
        <thead>
          <tr>
            {columns.map((each, index) => (
              <th key={index} scope="col" className={each.kind === 'number' ? 'number' : ''}>
                {each.kind === 'action' ? <span className="unseen">{each.label}</span> : each.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ label: name, show, kind }, index) => (
                <td key={index} className={kind === 'action' ? '' : kind} data-label={kind === 'action' ? '' : name}>
                  {show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </RowsFrame>
  )
}

/** The part of a page that scrolls sideways if a table is too wide; the keyboard can then scroll it. */
function RowsFrame({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const [frame, isWide] = useOverflow()
  return (
    <div ref={frame} className="rows-frame" {...(isWide && { tabIndex: 0, role: 'group', 'aria-label': label })}>
      {children}
    </div>
  )
}

type ReadRowsProps<Row> = Omit<RowsProps<Row>, 'rows'> & Readonly<{ of: Read<{ readonly items: readonly Row[] }> }>

export const ReadRows = <Row,>({ of, ...table }: ReadRowsProps<Row>) => (
  <Reading of={of}>{({ items }) => <Rows {...table} rows={items} />}</Reading>
)

type PagedRowsProps<Row> = Omit<RowsProps<Row>, 'rows'> & Omit<PagedProps<Row>, 'children'>

export const PagedRows = <Row,>({ of, height = 240, isWide = false, ...table }: PagedRowsProps<Row>) => (
  <Paged of={of} height={height} isWide={isWide}>
    {(rows) => <Rows {...table} rows={rows} />}
  </Paged>
)

type CellProps = { readonly note: ReactNode; readonly isMono?: boolean; readonly children: ReactNode }

export const Cell = ({ note, isMono = false, children }: CellProps) => (
  <span>
    {children}
    {note && <small className={isMono ? 'mono' : ''}>{note}</small>}
  </span>
)

/** A country by its code and its name, or the code and another text. */
export function Country({ code, children }: { readonly code: string; readonly children?: ReactNode }) {
  const { format } = useLanguage()
  return (
    <span>
      <span className="code">{code}</span> {children ?? format.country(code)}
    </span>
  )
}

type CsvButtonProps = { readonly label: string; readonly disabled?: boolean; readonly onClick: () => void }

export const CsvButton = ({ label, ...props }: CsvButtonProps) => (
  <Button variant="default" size="xs" leftSection={<Icon name="download" size={15} />} {...props}>
    {label}
  </Button>
)

type RowButtonProps = Readonly<{ label: string; of?: string; isQuiet?: boolean; onClick: () => void }>

/** A button in a row; `of` names the row for screen readers. */
export const RowButton = ({ label, of, isQuiet = false, onClick }: RowButtonProps) => (
  <Button
    size="compact-sm"
    variant={isQuiet ? 'subtle' : 'default'}
    {...(isQuiet && { color: 'gray' })}
    {...(of !== undefined && { 'aria-label': `${label} ${of}` })}
    onClick={onClick}
  >
    {label}
  </Button>
)
