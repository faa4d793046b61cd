import { messages, pair, useMessages } from '../shared/messages.tsx'
import { Empty, Page, Paged, Panel, Rows } from '../shared/parts.tsx'
import { usePages } from './api.ts'

const requestMessages = messages({
  title: pair('Requests', 'Запросы'),
  about: pair(
    'What your programs and the console asked for in the last 7 days, newest first.',
    'О чём просили ваши программы и кабинет за последние 7 дней, новые сверху.',
  ),
  when: pair('Time', 'Время'),
  operation: pair('Operation', 'Операция'),
  status: pair('Answer', 'Ответ'),
  token: pair('Token', 'Токен'),
  console: pair('console', 'кабинет'),
  request: pair('Request', 'Запрос'),
  none: pair('No requests yet', 'Запросов пока нет'),
  noneAbout: pair('Requests appear here within a few seconds.', 'Запросы появятся здесь через несколько секунд.'),
  toApi: pair('Tokens and webhooks', 'Токены и вебхуки'),
})

/** The log of the customer's own requests. A reason leads to its row of /docs/reasons. */
export function RequestsPage() {
  const { t, format, language } = useMessages(requestMessages)
  const empty = <Empty icon="book" title={t.none} about={t.noneAbout} to={['#/api', t.toApi]} />
  return (
    <Page title={t.title} about={t.about} actions={<a href="#/api">{t.toApi}</a>}>
      <Panel>
        <Paged of={usePages('listRequests', { query: { limit: 100 } })} height={280} isWide>
          {(rows, part) => (
            <Rows
              {...part}
              label={t.title}
              rows={rows}
              keyOf={(row) => row.id}
              empty={empty}
              columns={(column) => [
                column.value(t.when, (row) => row.created_at, format.moment),
                column.text(t.operation, (row) => row.operation),
                column(t.status, (row) =>
                  row.reason === null ? (
                    String(row.status)
                  ) : (
                    <a href={`/docs/reasons?lang=${language}#${row.reason}`}>{`${row.status} ${row.reason}`}</a>
                  ),
                ),
                column.text(
                  t.token,
                  (row) => row.token_name ?? t.console,
                  (row) => row.token_name,
                ),
                column.text(
                  'Idempotency-Key',
                  (row) => row.idempotency_key ?? '—',
                  (row) => row.idempotency_key,
                ),
                column.text(t.request, (row) => row.id),
              ]}
            />
          )}
        </Paged>
      </Panel>
    </Page>
  )
}
