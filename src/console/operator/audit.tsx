import { useFormat } from '../shared/format.ts'
import { useLanguage, useWords } from '../shared/language.tsx'
import { Paged } from '../shared/paged.tsx'
import { Empty, Page, Panel } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { actions } from './actions-ru.ts'
import { usePages } from './api.ts'
import { operatorWords } from './words.ts'

/** What was done; in Russian with the name that programs know it by. */
function Action({ name }: { readonly name: string }) {
  const { language } = useLanguage()
  const said = language === 'ru' ? actions[name] : undefined
  if (said === undefined) return <span className="mono">{name}</span>
  return (
    <span>
      {said}
      <small className="mono">{name}</small>
    </span>
  )
}

export function AuditPage() {
  const words = useWords(operatorWords)
  const format = useFormat()
  const log = usePages('listAuditLog')
  return (
    <Page title={words.audit} about={words.auditAbout}>
      <Panel>
        <Paged of={log}>
          {(items) =>
            items.length === 0 ? (
              <Empty icon="book" title={words.none} about={words.noneAbout} />
            ) : (
              <Rows
                label={words.audit}
                rows={items}
                keyOf={(row) => row.seq}
                columns={[
                  { name: 'when', label: words.when, show: (row) => format.moment(row.at) },
                  {
                    name: 'operator',
                    label: words.operator,
                    show: (row) => (
                      <span>
                        {row.name}
                        <small>{words.roles[row.role] ?? row.role}</small>
                      </span>
                    ),
                  },
                  { name: 'action', label: words.action, show: (row) => <Action name={row.action} /> },
                  {
                    name: 'details',
                    label: words.details,
                    isText: true,
                    show: (row) => <span className="mono">{JSON.stringify(row.request)}</span>,
                  },
                  { name: 'source', label: words.source, show: (row) => <span className="mono">{row.source}</span> },
                ]}
              />
            )
          }
        </Paged>
      </Panel>
    </Page>
  )
}
