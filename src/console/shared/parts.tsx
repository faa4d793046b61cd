import { Skeleton, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { Icon, type IconName } from './icons.tsx'
import { useWords } from './language.tsx'
import { RefusalNotice } from './refusal-notice.tsx'
import { sharedWords } from './words.ts'

type PageProps = {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page: what it is, what can be done, and the rest. Its heading is read out when somebody comes here. */
export function Page({ title, about, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Turnpike`
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

type PanelProps = {
  readonly title?: string
  readonly aside?: ReactNode
  readonly children: ReactNode
  readonly className?: string
}

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

type FigureProps = { readonly label: string; readonly value: ReactNode; readonly note?: ReactNode }

/** One number that matters, with what it is. */
export const Figure = ({ label, value, note }: FigureProps) => (
  <div className="figure">
    <span className="figure-label">{label}</span>
    <span className="figure-value">{value}</span>
    {note !== undefined && <span className="figure-note">{note}</span>}
  </div>
)

export type Tone = 'good' | 'warn' | 'bad' | 'quiet'

/** A state: the colour is a hint, the word says it. */
export const Status = ({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) => (
  <span className={`status status-${tone}`}>{children}</span>
)

type EmptyProps = {
  readonly icon: IconName
  readonly title: string
  readonly about: string
  readonly children?: ReactNode
}

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

/** As much of a query as is looked at here. */
type Read<Of> = { readonly data: Of | undefined; readonly error: Error | null; readonly refetch: () => unknown }

/** What was asked for, once it is there; until then room is kept for it. */
export function Reading<Of>({
  of,
  height = 120,
  children,
}: {
  readonly of: Read<Of>
  readonly height?: number
  readonly children: (found: Of) => ReactNode
}) {
  const words = useWords(sharedWords)
  if (of.data !== undefined) return children(of.data)
  if (of.error !== null) return <RefusalNotice error={of.error} onAgain={() => void of.refetch()} />
  return <Skeleton height={height} radius="md" role="status" aria-label={words.loading} />
}

/** Names and values, one under the other. */
export const Facts = ({ of }: { readonly of: readonly (readonly [name: string, value: ReactNode])[] }) => (
  <dl className="facts">
    {of.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
