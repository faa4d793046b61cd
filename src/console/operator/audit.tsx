import { useLanguage, useMessages } from '../shared/messages.tsx'
import { Cell, Page, PagedRows, Panel } from '../shared/parts.tsx'
import { actions } from './actions-ru.ts'
import { usePages } from './api.ts'
import { operatorMessages } from './messages.ts'
import { Mono, Nothing } from './parts.tsx'

/** An action of the log; in Russian with the name that programs know it by. */
function Action({ name }: { readonly name: string }) {
  const { language } = useLanguage()
  const text = language === 'ru' ? actions[name] : undefined
  if (text === undefined) return <Mono>{name}</Mono>
  return (
    <Cell note={name} isMono>
      {text}
    </Cell>
  )
}

export function AuditPage() {
  const { t, format } = useMessages(operatorMessages)
  return (
    <Page title={t.audit} about={t.auditAbout}>
      <Panel>
        <PagedRows
          label={t.audit}
          of={usePages('listAuditLog')}
          keyOf={(row) => row.seq}
          empty={<Nothing icon="book" />}
          columns={(column) => [
            column(t.when, (row) => format.moment(row.at)),
            column(t.operator, (row) => <Cell note={t.roles[row.role] ?? row.role}>{row.name}</Cell>),
            column(t.action, (row) => <Action name={row.action} />),
            column.text(t.details, (row) => <Mono>{JSON.stringify(row.request)}</Mono>),
            column(t.source, (row) => <Mono>{row.source}</Mono>),
          ]}
        />
      </Panel>
    </Page>
  )
}
