import { Button, Skeleton, Text, Title, UnstyledButton } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ComponentType, type ReactNode, useEffect, useRef, useState } from 'react'
import { CallLost, CallOffline, CallRefused } from '../client/call.ts'
import { flagSvg } from '../styles/flags.ts'
import { brand } from './brand.ts'
import { download, toPicture, useOverflow } from './browser.ts'
import { Drawing, type DrawingName } from './drawings.tsx'
import { Icon } from './icons.tsx'
import { commonMessages, useLanguage, useMessages } from './messages.tsx'
import { sayRefusal } from './refusal.ts'
import {
  type Columns,
  columnBuilder,
  type ShownColumn,
  type Sorting,
  sortRows,
  tableToCsv,
  toFileName,
  valueOf,
} from './table.ts'

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

type PanelProps = Readonly<{ title?: string; aside?: ReactNode; children: ReactNode; className?: string; id?: string }>

export const Panel = ({ title, aside, children, className = '', id }: PanelProps) => (
  <section className={`panel ${className}`} id={id}>
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
  readonly tabs: Readonly<Record<Tab, ComponentType>>
  readonly tab: string
}

/** One of the pages of a section: `names` and `tabs` by the last part of their paths, '' for the section itself. */
export function Section<Tab extends string>({ title, about, base, names, tabs, tab }: SectionProps<Tab>) {
  const isTab = (name: string): name is Tab => name in tabs
  if (!isTab(tab)) return <NoSuchPage />
  const Shown: ComponentType = tabs[tab]
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

type EmptyProps = Readonly<{
  icon: DrawingName
  title: string
  about: string
  /** The page of the one button that helps. */
  to?: readonly [href: string, label: string]
  children?: ReactNode
}>

/** In place of a list without items: what the page is for, with a drawing and at most one button. */
export const Empty = ({ icon, title, about, to, children }: EmptyProps) => (
  <div className="empty">
    <Drawing name={icon} />
    <Text fw={600}>{title}</Text>
    <Text c="dimmed" size="sm" maw="44ch">
      {about}
    </Text>
    {to !== undefined && (
      <Button component="a" href={to[0]} variant="light">
        {to[1]}
      </Button>
    )}
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
    /** Every item, for a file. */
    readonly loadAll: () => Promise<readonly Item[]>
  }
  readonly height?: number
  /** Whether the button is as wide as the list. */
  readonly isWide?: boolean
  /** `part` goes to the table: the list has more items than those read. */
  readonly children: (items: readonly Item[], part: Part<Item>) => ReactNode
}

type Part<Item> = { readonly loadAll?: () => Promise<readonly Item[]> }

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
          {children(items, of.hasNextPage ? { loadAll: of.loadAll } : {})}
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

export type RowsProps<Row> = {
  readonly label: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string | number
  /** A function, so that each column knows the type of the rows. A column with a value or plain text can be sorted. */
  readonly columns: (column: Columns<Row>) => readonly ShownColumn<Row>[]
  readonly empty?: ReactNode
  /** Whether the table has a button for a file of its rows; a page with a file of its own has none. */
  readonly hasCsv?: boolean
  /** Whether the reader may sort; rows with a sum at their end keep their order. */
  readonly isSortable?: boolean
  /** Reads the whole list for the file, if the rows are only a part of it. */
  readonly loadAll?: () => Promise<readonly Row[]>
  /** How the shop sorts a list that is read in pages: the name of a column, with `-` for the other direction. */
  readonly order?: { readonly by: string; readonly onOrder: (by: string) => void }
}

/** A table; on a phone each row is a card, with the column's name before each value. */
export function Rows<Row>(props: RowsProps<Row>) {
  const { label, rows, keyOf, columns: toColumns, empty, hasCsv = true, isSortable = true, loadAll, order } = props
  const { t } = useMessages(commonMessages)
  const [sorting, setSorting] = useState<Sorting>()
  const columns = toColumns(columnBuilder)
  if (rows.length === 0 && empty !== undefined) return empty
  // A part of a list is sorted by the shop only: its other rows are not here.
  const sorted = loadAll === undefined ? sortRows(rows, columns, sorting) : rows
  const heads = columns.map((each, index): HeadProps => {
    const { label: name, kind } = each
    const isNumber = kind === 'number'
    if (order && each.by !== undefined) {
      const { by } = each
      const now = order.by === by ? 'ascending' : order.by === `-${by}` ? 'descending' : 'none'
      return { name, isNumber, now, onSort: () => order.onOrder(now === 'ascending' ? `-${by}` : by) }
    }
    const [first] = rows
    const isFixed = !isSortable || loadAll !== undefined || rows.length < 2
    if (isFixed || first === undefined || valueOf(each, first) === undefined) {
      return { name, isNumber, isUnseen: kind === 'action' }
    }
    const isThis = sorting?.column === index
    const now = isThis ? (sorting.isDown ? 'descending' : 'ascending') : 'none'
    // A number is most often wanted from the largest, and the third press brings the first order back.
    const next = isThis && sorting.isDown !== isNumber ? undefined : { column: index, isDown: isThis !== isNumber }
    return { name, isNumber, now, onSort: () => setSorting(next) }
  })
  return (
    <div className="table">
      <RowsFrame label={label}>
        <table className="rows" aria-label={label}>
          <thead>
            <tr>
              {heads.map((each, index) => (
                <Head key={index} {...each} />
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((row) => (
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
      {loadAll !== undefined && order === undefined && isSortable && <Hint>{t.sortsWhole}</Hint>}
      {hasCsv && rows.length > 0 && (
        <TableFile label={label} load={async () => tableToCsv(columns, loadAll ? await loadAll() : sorted)} />
      )}
    </div>
  )
}

type HeadProps = {
  readonly name: ReactNode
  readonly isNumber?: boolean
  readonly isUnseen?: boolean
  readonly now?: 'ascending' | 'descending' | 'none'
  readonly onSort?: () => void
}

/** The head of a column, with a button if rows can be sorted by it. */
export const Head = ({ name, isNumber = false, isUnseen = false, now, onSort }: HeadProps) => (
  <th scope="col" className={isNumber ? 'number' : ''} aria-sort={now}>
    {onSort === undefined ? (
      <span className={isUnseen ? 'unseen' : ''}>{name}</span>
    ) : (
      <UnstyledButton className={`sort sort-${now}`} onClick={onSort}>
        {name}
      </UnstyledButton>
    )}
  </th>
)

/** A button that saves a table as a file. */
function TableFile({ label, load }: { readonly label: string; readonly load: () => Promise<string> }) {
  const { t } = useMessages(commonMessages)
  const save = useMutation({ mutationFn: async () => download(toFileName(label), await load(), 'text/csv') })
  return (
    <div className="table-file">
      <Button
        size="compact-xs"
        variant="subtle"
        color="gray"
        leftSection={<Icon name="download" size={13} />}
        loading={save.isPending}
        aria-label={`${t.csv}: ${label}`}
        onClick={() => save.mutate()}
      >
        {t.csv}
      </Button>
      <RefusalNotice error={save.error} />
    </div>
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

type PagedRowsProps<Row> = Omit<RowsProps<Row>, 'rows' | 'loadAll'> & Omit<PagedProps<Row>, 'children'>

export const PagedRows = <Row,>({ of, height = 240, isWide = false, ...table }: PagedRowsProps<Row>) => (
  <Paged of={of} height={height} isWide={isWide}>
    {(rows, part) => <Rows {...table} rows={rows} {...part} />}
  </Paged>
)

type CellProps = { readonly note: ReactNode; readonly isMono?: boolean; readonly children: ReactNode }

export const Cell = ({ note, isMono = false, children }: CellProps) => (
  <span>
    {children}
    {note && <small className={isMono ? 'mono' : ''}>{note}</small>}
  </span>
)

const flagPictures = new Map<string, string | undefined>()

function flagOf(code: string): string | undefined {
  if (!flagPictures.has(code)) {
    const svg = flagSvg(code)
    flagPictures.set(code, svg && toPicture(svg))
  }
  return flagPictures.get(code)
}

/** The flag of a country beside its name; its code in place of a flag that is not drawn. */
export function Flag({ code }: { readonly code: string }) {
  const picture = flagOf(code)
  if (picture === undefined) return <span className="code">{code}</span>
  return <img className="flag" src={picture} alt="" width="21" height="14" />
}

/** A country by its flag and its name, or flag, code and another text. */
export function Country({ code, children }: { readonly code: string; readonly children?: ReactNode }) {
  const { format } = useLanguage()
  return (
    <span className="country">
      <Flag code={code} />{' '}
      {children === undefined ? (
        format.country(code)
      ) : (
        <>
          {flagOf(code) !== undefined && code} {children}
        </>
      )}
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
