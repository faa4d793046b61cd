import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Paged } from '../shared/paged.tsx'
import { Empty, Page, Panel } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { usePages } from './api.ts'
import { operatorWords } from './words.ts'

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
                  { name: 'action', label: words.action, show: (row) => <span className="mono">{row.action}</span> },
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
