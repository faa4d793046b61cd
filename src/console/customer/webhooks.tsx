import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Webhook, WebhookDelivery } from '../client/customer.ts'
import { Listing } from '../shared/copy.tsx'
import { useDeliveryProblems } from '../shared/delivery-problems.ts'
import { DialogButton } from '../shared/dialog.tsx'
import { Confirm, SubmitForm, useTyped } from '../shared/form.tsx'
import { messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Cell, Empty, PagedRows, Panel, Reading, RefusalNotice, RowButton, Rows, Status } from '../shared/parts.tsx'
import { eventMessages } from '../shared/trade.ts'
import { useChange, usePages, useRead } from './api.ts'

const webhookMessages = messages({
  title: pair('Webhooks', 'Вебхуки'),
  about: pair(
    'The shop sends events to the address of your program as they happen.',
    'Магазин отправляет события на адрес вашей программы, когда они происходят.',
  ),
  add: pair('New endpoint', 'Новый адрес'),
  address: pair('Address', 'Адрес'),
  types: pair('Types of events', 'Типы событий'),
  typesHint: pair('All; separate several with commas', 'Все; несколько через запятую'),
  none: pair('No endpoints yet', 'Адресов пока нет'),
  noneAbout: pair('Add the https address of your program.', 'Добавьте адрес https вашей программы.'),
  secret: pair('Secret of the endpoint', 'Секрет адреса'),
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
  allTypes: pair('all events', 'все события'),
  enable: pair('Enable', 'Включить'),
  disable: pair('Disable', 'Выключить'),
  test: pair('Send a test', 'Проверить'),
  rotate: pair('New secret', 'Новый секрет'),
  removeAbout: pair(
    'Nothing is sent to this address any more. Its deliveries stay listed for 30 days.',
    'На этот адрес больше ничего не отправляется. Его доставки видны ещё 30 дней.',
  ),
  deliveries: pair('Deliveries', 'Доставки'),
  noDeliveries: pair('Nothing was sent yet', 'Пока ничего не отправлено'),
  noDeliveriesAbout: pair('Deliveries of the last 30 days are listed here.', 'Здесь появятся доставки за 30 дней.'),
  event: pair('Event', 'Событие'),
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

/** Endpoints of webhooks and what was sent to them. */
export function Webhooks() {
  const { t } = useMessages(webhookMessages)
  const endpoints = useRead('listWebhooks')
  const [secret, setSecret] = useState<string>()
  const add = (
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
    <Panel title={t.title} className="stack" aside={add}>
      <Text c="dimmed">{t.about}</Text>
      {secret !== undefined && (
        <div className="notice good stack" role="status">
          <Text size="sm">{t.secretAbout}</Text>
          <Listing text={secret} label={t.secret} />
        </div>
      )}
      <Reading of={endpoints}>{({ webhooks }) => <EndpointRows rows={webhooks} onSecret={setSecret} />}</Reading>
      {(endpoints.data?.webhooks.length ?? 0) > 0 && <Deliveries />}
    </Panel>
  )
}

type SecretProps = { readonly onMade: (secret: string) => void }

function AddForm({ onMade }: SecretProps) {
  const { t } = useMessages(webhookMessages)
  const add = useChange('addWebhook', ({ secret }) => onMade(secret))
  const url = useTyped('https://')
  const types = useTyped()
  const events = types.value.split(/[\s,]+/).filter((each) => each !== '')
  return (
    <SubmitForm label={t.add} change={add} onSubmit={() => add.mutate({ body: { url: url.text, events } })}>
      <TextInput label={t.address} data-autofocus {...url.props} />
      <TextInput label={t.types} placeholder={t.typesHint} {...types.props} />
    </SubmitForm>
  )
}

type EndpointProps = { readonly rows: readonly Webhook[]; readonly onSecret: (secret: string) => void }

function EndpointRows({ rows, onSecret }: EndpointProps) {
  const { t } = useMessages(webhookMessages)
  const update = useChange('updateWebhook')
  const test = useChange('testWebhook')
  const rotate = useChange('rotateWebhook', ({ secret }) => onSecret(secret))
  return (
    <>
      <Rows
        label={t.title}
        rows={rows}
        keyOf={(row) => row.webhook_id}
        empty={<Empty icon="code" title={t.none} about={t.noneAbout} />}
        columns={(column) => [
          column.text(t.address, (row) => (
            <Cell note={row.events.length === 0 ? t.allTypes : row.events.join(', ')}>{row.url}</Cell>
          )),
          column(t.state, (row) => (
            <Cell note={row.problem === null ? '' : (t.problems[row.problem] ?? row.problem)}>
              <Status tone={row.state === 'enabled' ? 'good' : 'bad'}>{t[row.state]}</Status>
            </Cell>
          )),
          column.action(t.test, ({ url, webhook_id }) => (
            <RowButton label={t.test} of={url} onClick={() => test.mutate({ body: { webhook_id } })} />
          )),
          column.action(t.rotate, ({ url, webhook_id }) => (
            <RowButton label={t.rotate} of={url} onClick={() => rotate.mutate({ body: { webhook_id } })} />
          )),
          column.action(t.disable, ({ url, webhook_id, state }) => (
            <RowButton
              label={state === 'enabled' ? t.disable : t.enable}
              of={url}
              onClick={() => update.mutate({ body: { webhook_id, enabled: state === 'disabled' } })}
            />
          )),
          column.action(t.remove, (row) => <RemoveButton row={row} />),
        ]}
      />
      <RefusalNotice error={update.error ?? test.error ?? rotate.error} />
    </>
  )
}

function RemoveButton({ row }: { readonly row: Webhook }) {
  const { t } = useMessages(webhookMessages)
  const remove = useChange('removeWebhook')
  return (
    <DialogButton label={t.remove} look={{ size: 'xs' }}>
      {() => (
        <Confirm
          about={t.removeAbout}
          label={t.remove}
          color="red"
          change={remove}
          onConfirm={() => remove.mutate({ body: { webhook_id: row.webhook_id } })}
        />
      )}
    </DialogButton>
  )
}

function Deliveries() {
  const { t, format } = useMessages(webhookMessages)
  const { t: event } = useMessages(eventMessages)
  const again = useChange('redeliverWebhook')
  const sayFailure = useDeliveryProblems()
  const resultOf = (row: WebhookDelivery): string =>
    [t.attempts(String(row.attempts)), row.answer_status, sayFailure(row.problem)]
      .filter((each) => each !== null)
      .join(', ')
  return (
    <>
      <Text fw={600}>{t.deliveries}</Text>
      <PagedRows
        of={usePages('listDeliveries')}
        label={t.deliveries}
        keyOf={(row) => row.delivery_id}
        empty={<Empty icon="book" title={t.noDeliveries} about={t.noDeliveriesAbout} />}
        columns={(column) => [
          column(t.when, (row) => format.moment(row.tried_at ?? row.created_at)),
          column(t.event, (row) => <Cell note={row.event_id}>{event.types[row.type] ?? row.type}</Cell>),
          column(t.state, (row) => (
            <Cell note={resultOf(row)}>
              <Status tone={tones[row.status]}>{t.statuses[row.status] ?? row.status}</Status>
            </Cell>
          )),
          column.action(t.again, ({ delivery_id, type }) => (
            <RowButton label={t.again} of={type} onClick={() => again.mutate({ body: { delivery_id } })} />
          )),
        ]}
      />
      <RefusalNotice error={again.error} />
    </>
  )
}
