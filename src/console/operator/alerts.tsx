import { Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { AlertDelivery, AlertEndpoint } from '../client/operator.ts'
import { Listing } from '../shared/copy.tsx'
import { useDeliveryProblems } from '../shared/delivery-problems.ts'
import { DialogButton } from '../shared/dialog.tsx'
import { Confirm, SubmitForm, useTyped } from '../shared/form.tsx'
import { messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import { factsOf } from '../shared/orders.tsx'
import {
  Cell,
  Empty,
  Page,
  PagedRows,
  Panel,
  Reading,
  RefusalNotice,
  RowButton,
  Rows,
  Status,
} from '../shared/parts.tsx'
import { tradeMessages } from '../shared/trade.ts'
import { useChange, useMay, usePages, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'

const alertMessages = messages({
  ...operatorTexts,
  about: pair(
    'What needs an operator now, and the addresses that get a message about it.',
    'Что сейчас требует оператора, и адреса, на которые приходят сообщения об этом.',
  ),
  raised: pair('Alerts', 'Предупреждения'),
  quiet: pair('No alerts', 'Предупреждений нет'),
  quietAbout: pair(
    'Stock, nodes, payments and the certificate are in order.',
    'Адреса, узлы, платежи и сертификат в порядке.',
  ),
  types: names({
    'stock.low': pair('Stock is low', 'Кончаются адреса'),
    'node.lost': pair('Node lost', 'Узел потерян'),
    'range.lost': pair('Range lost', 'Потерян диапазон'),
    'payment.unmatched': pair('Unmatched payment', 'Неопознанный платёж'),
    'verify.finding': pair('Finding of the verification', 'Сверка нашла проблему'),
    'certificate.ending': pair('Certificate ends', 'Кончается сертификат'),
    'webhook.disabled': pair('Endpoint disabled', 'Адрес выключен'),
    'webhook.test': pair('Test', 'Проверка'),
  }),
  endpoints: pair('Addresses for alerts', 'Адреса для предупреждений'),
  add: pair('New address', 'Новый адрес'),
  address: pair('Address', 'Адрес'),
  addressHint: pair('https://… or mailto:duty@example.com', 'https://… или mailto:duty@example.com'),
  chosen: pair('Types of alerts', 'Виды предупреждений'),
  chosenHint: pair('All; separate several with commas', 'Все; несколько через запятую'),
  allTypes: pair('all alerts', 'все предупреждения'),
  none: pair('No addresses yet', 'Адресов пока нет'),
  secret: pair('Secret of the address', 'Секрет адреса'),
  secretAbout: pair(
    'The secret verifies signatures. It is shown only once: copy it now.',
    'Секретом проверяются подписи. Он показывается один раз: скопируйте его сейчас.',
  ),
  state: pair('State', 'Состояние'),
  enabled: pair('Enabled', 'Включён'),
  disabled: pair('Disabled', 'Выключен'),
  problems: names({
    gone: pair('it answered 410', 'он ответил 410'),
    failures: pair('every attempt of 3 days failed', '3 дня не удалась ни одна попытка'),
  }),
  enable: pair('Enable', 'Включить'),
  disable: pair('Disable', 'Выключить'),
  test: pair('Send a test', 'Проверить'),
  removeAbout: pair('Nothing is sent to this address any more.', 'На этот адрес больше ничего не отправляется.'),
  deliveries: pair('Sent', 'Отправлено'),
  nothingSent: pair('Nothing was sent yet', 'Пока ничего не отправлено'),
  nothingSentAbout: pair('Messages of the last 30 days are listed here.', 'Здесь появятся сообщения за 30 дней.'),
  statuses: names({
    delivered: pair('Delivered', 'Доставлено'),
    retrying: pair('Will be tried again', 'Будет повторено'),
    failed: pair('Failed', 'Не удалось'),
    waiting: pair('Waiting', 'Ждёт'),
  }),
  attempts: phrase('attempts: {count}', 'попыток: {count}'),
  again: pair('Send again', 'Отправить ещё раз'),
})

const tones = { delivered: 'good', retrying: 'warn', failed: 'bad', waiting: 'quiet' } as const

/** What needs an operator now, and where messages about it go. */
export function AlertsPage() {
  const { t, format } = useMessages(alertMessages)
  const { t: trade } = useMessages(tradeMessages)
  const alerts = useRead('listAlerts', {}, { everyMs: 30_000 })
  return (
    <Page title={t.alerts} about={t.about}>
      <Panel title={t.raised}>
        <Reading of={alerts}>
          {({ items }) => (
            <Rows
              label={t.raised}
              rows={items}
              keyOf={(row) => `${row.type} ${row.subject}`}
              empty={<Empty icon="check" title={t.quiet} about={t.quietAbout} />}
              columns={(column) => [
                column.value(t.when, (row) => row.raised_at, format.moment),
                column.text(t.raised, (row) => (
                  <Cell note={factsOf(row.data, format, trade)}>{t.types[row.type] ?? row.type}</Cell>
                )),
              ]}
            />
          )}
        </Reading>
      </Panel>
      <Endpoints />
      <Deliveries />
    </Page>
  )
}

function Endpoints() {
  const { t } = useMessages(alertMessages)
  const may = useMay()
  const endpoints = useRead('listAlertEndpoints')
  const [secret, setSecret] = useState<string>()
  const add = may('addAlertEndpoint') && (
    <DialogButton label={t.add} look={{ size: 'xs' }}>
      {(close) => (
        <AddForm
          onMade={(made) => {
            setSecret(made)
            close()
          }}
        />
      )}
    </DialogButton>
  )
  return (
    <Panel title={t.endpoints} className="stack" aside={add}>
      {secret !== undefined && (
        <div className="notice good stack" role="status">
          <Text size="sm">{t.secretAbout}</Text>
          <Listing text={secret} label={t.secret} />
        </div>
      )}
      <Reading of={endpoints}>{({ webhooks }) => <EndpointRows rows={webhooks} adding={add} />}</Reading>
    </Panel>
  )
}

function AddForm({ onMade }: { readonly onMade: (secret: string) => void }) {
  const { t } = useMessages(alertMessages)
  const add = useChange('addAlertEndpoint', ({ secret }) => onMade(secret))
  const url = useTyped()
  const types = useTyped()
  const events = types.value.split(/[\s,]+/).filter((each) => each !== '')
  return (
    <SubmitForm label={t.add} change={add} onSubmit={() => add.mutate({ body: { url: url.text, events } })}>
      <TextInput label={t.address} placeholder={t.addressHint} data-autofocus {...url.props} />
      <TextInput label={t.chosen} placeholder={t.chosenHint} {...types.props} />
    </SubmitForm>
  )
}

function EndpointRows({ rows, adding }: { readonly rows: readonly AlertEndpoint[]; readonly adding: ReactNode }) {
  const { t } = useMessages(alertMessages)
  const may = useMay()
  const update = useChange('updateAlertEndpoint')
  const test = useChange('testAlertEndpoint')
  return (
    <>
      <Rows
        label={t.endpoints}
        rows={rows}
        keyOf={(row) => row.webhook_id}
        empty={
          <Empty icon="code" title={t.none} about={t.about}>
            {adding}
          </Empty>
        }
        columns={(column) => [
          column.text(t.address, (row) => (
            <Cell note={row.events.length === 0 ? t.allTypes : row.events.join(', ')}>{row.url}</Cell>
          )),
          column(t.state, (row) => (
            <Cell note={row.problem === null ? '' : (t.problems[row.problem] ?? row.problem)}>
              <Status tone={row.state === 'enabled' ? 'good' : 'bad'}>{t[row.state]}</Status>
            </Cell>
          )),
          ...(may('updateAlertEndpoint')
            ? [
                column.action(t.test, ({ url, webhook_id }: AlertEndpoint) => (
                  <RowButton label={t.test} of={url} onClick={() => test.mutate({ params: { webhook_id } })} />
                )),
                column.action(t.disable, ({ url, webhook_id, state }: AlertEndpoint) => (
                  <RowButton
                    label={state === 'enabled' ? t.disable : t.enable}
                    of={url}
                    onClick={() => update.mutate({ params: { webhook_id }, body: { enabled: state === 'disabled' } })}
                  />
                )),
                column.action(t.remove, (row: AlertEndpoint) => <RemoveButton row={row} />),
              ]
            : []),
        ]}
      />
      <RefusalNotice error={update.error ?? test.error} />
    </>
  )
}

function RemoveButton({ row }: { readonly row: AlertEndpoint }) {
  const { t } = useMessages(alertMessages)
  const remove = useChange('removeAlertEndpoint')
  return (
    <DialogButton label={t.remove} look={{ size: 'xs' }}>
      {() => (
        <Confirm
          about={t.removeAbout}
          label={t.remove}
          color="red"
          change={remove}
          onConfirm={() => remove.mutate({ params: { webhook_id: row.webhook_id } })}
        />
      )}
    </DialogButton>
  )
}

function Deliveries() {
  const { t, format } = useMessages(alertMessages)
  const may = useMay()
  const again = useChange('redeliverAlert')
  const sayFailure = useDeliveryProblems()
  const resultOf = (row: AlertDelivery): string =>
    [t.attempts(String(row.attempts)), row.answer_status, sayFailure(row.problem)]
      .filter((each) => each !== null)
      .join(', ')
  return (
    <Panel title={t.deliveries}>
      <PagedRows
        of={usePages('listAlertDeliveries')}
        label={t.deliveries}
        keyOf={(row) => row.delivery_id}
        empty={<Empty icon="book" title={t.nothingSent} about={t.nothingSentAbout} />}
        columns={(column) => [
          column(t.when, (row) => format.moment(row.tried_at ?? row.created_at)),
          column.text(t.raised, (row) => t.types[row.type] ?? row.type),
          column(t.state, (row) => (
            <Cell note={resultOf(row)}>
              <Status tone={tones[row.status]}>{t.statuses[row.status] ?? row.status}</Status>
            </Cell>
          )),
          ...(may('redeliverAlert')
            ? [
                column.action(t.again, ({ delivery_id, type }: AlertDelivery) => (
                  <RowButton label={t.again} of={type} onClick={() => again.mutate({ params: { delivery_id } })} />
                )),
              ]
            : []),
        ]}
      />
      <RefusalNotice error={again.error} />
    </Panel>
  )
}
