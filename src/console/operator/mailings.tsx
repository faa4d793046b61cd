import { Button, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Mailing, NoticeTemplate } from '../client/operator.ts'
import { DialogButton } from '../shared/dialog.tsx'
import { Confirm, Select, SubmitForm, useTyped } from '../shared/form.tsx'
import { messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Cell, Empty, Facts, Page, PagedRows, Panel, Reading, RefusalNotice, Rows, Status } from '../shared/parts.tsx'
import { AnnouncementPanel } from './announcement.tsx'
import { api, useChange, useMay, usePages, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'

const mailingMessages = messages({
  ...operatorTexts,
  about: pair(
    'Messages and announcements to customers, and the texts of letters that customers choose.',
    'Сообщения и объявления покупателям и тексты писем, которые выбирают покупатели.',
  ),
  sent: pair('Sent', 'Отправлено'),
  none: pair('Nothing was sent yet', 'Пока ничего не отправлено'),
  noneAbout: pair(
    'A message is an e-mail; an announcement of prices is an event for programs, too.',
    'Сообщение приходит по почте; объявление о ценах получают и программы, как событие.',
  ),
  message: pair('New message', 'Новое сообщение'),
  price: pair('Announce prices', 'Объявить цены'),
  kinds: names({ message: pair('Message', 'Сообщение'), price: pair('Prices', 'Цены') }),
  product: pair('Customers with running', 'Покупатели с действующими услугами'),
  products: names({
    '': pair('All customers', 'Все покупатели'),
    dedicated: pair('Dedicated proxies', 'Выделенные прокси'),
    premium: pair('Premium traffic', 'Премиум-трафик'),
    vpn: 'VPN',
  }),
  days: pair('Service ends within days (optional)', 'Услуга закончится за дней (необязательно)'),
  node: pair('Name of the node (optional)', 'Имя узла (необязательно)'),
  at: pair('Prices change at (UTC)', 'Цены изменятся в (UTC)'),
  subjectEn: pair('Subject in English', 'Тема по-английски'),
  textEn: pair('Text in English', 'Текст по-английски'),
  subjectRu: pair('Subject in Russian', 'Тема по-русски'),
  textRu: pair('Text in Russian', 'Текст по-русски'),
  count: pair('Count customers', 'Посчитать покупателей'),
  counted: phrase(
    'Customers: {all}. Without an e-mail address: {none}. Unsubscribed from messages: {off}.',
    'Покупателей: {all}. Без адреса почты: {none}. Отказались от сообщений: {off}.',
  ),
  first: phrase('The first are: {names}', 'Первые: {names}'),
  send: pair('Send', 'Отправить'),
  states: names({
    walking: pair('Being sent', 'Отправляется'),
    done: pair('Given to all', 'Отдано всем'),
    stopped: pair('Stopped', 'Остановлено'),
  }),
  customers: phrase('customers: {count}', 'покупателей: {count}'),
  report: pair('Report', 'Отчёт'),
  waiting: pair('Waiting', 'Ждут'),
  taken: pair('Taken by the mail server', 'Приняты почтовым сервером'),
  failed: pair('Failed', 'Не удалось отправить'),
  unsubscribed: pair('Unsubscribed', 'Отказались'),
  noAddress: pair('Without an address', 'Без адреса'),
  stop: pair('Stop', 'Остановить'),
  stopAbout: pair('Customers who did not get it yet do not get it.', 'Кто ещё не получил, не получит.'),
  templates: pair('Texts of letters', 'Тексты писем'),
  letters: names({
    expiry: pair('Ends of services', 'Окончание услуг'),
    balance: pair('Low balance', 'Низкий баланс'),
    traffic: pair('Traffic runs low', 'Трафик заканчивается'),
    receipt: pair('Orders and payments', 'Заказы и платежи'),
    price: pair('Announced prices', 'Объявленные цены'),
    message: pair('Messages', 'Сообщения'),
  }),
  letter: pair('Letter', 'Письмо'),
  languages: { en: pair('in English', 'на английском'), ru: pair('in Russian', 'на русском') },
  shipped: pair('as shipped', 'исходный'),
  changed: phrase('changed {moment}', 'изменён {moment}'),
  edit: pair('Edit', 'Изменить'),
  subject: pair('Subject', 'Тема'),
  text: pair('Text', 'Текст'),
  placeholders: phrase('Placeholders: {names}', 'Подстановки: {names}'),
  preview: pair('Preview', 'Показать'),
  save: pair('Save', 'Сохранить'),
  reset: pair('Reset to the shipped text', 'Вернуть исходный текст'),
})

export function MailingsPage() {
  const { t } = useMessages(mailingMessages)
  const may = useMay()
  const actions = may('sendMailing') && (
    <span className="line wraps">
      {(['message', 'price'] as const).map((kind) => (
        <DialogButton key={kind} label={t[kind]} look={{ size: 'xs' }}>
          {(close) => <NewMailing kind={kind} onDone={close} />}
        </DialogButton>
      ))}
    </span>
  )
  return (
    <Page title={t.mailings} about={t.about}>
      <AnnouncementPanel />
      <Panel title={t.sent} aside={actions}>
        <Mailings adding={actions} />
      </Panel>
      <Panel title={t.templates}>
        <Templates />
      </Panel>
    </Page>
  )
}

function Mailings({ adding }: { readonly adding: ReactNode }) {
  const { t, format } = useMessages(mailingMessages)
  const titleOf = (of: Mailing): string => of.subject_ru ?? of.subject_en ?? of.text_ru ?? of.text_en ?? ''
  return (
    <PagedRows
      of={usePages('listMailings')}
      label={t.sent}
      keyOf={(row) => row.mailing_id}
      empty={
        <Empty icon="mail" title={t.none} about={t.noneAbout}>
          {adding}
        </Empty>
      }
      columns={(column) => [
        column.value(t.when, (row) => row.created_at, format.moment),
        column.text(t.kinds['message'] ?? '', (row) => <Cell note={t.kinds[row.kind]}>{titleOf(row)}</Cell>),
        column(t.status, (row) => (
          <Cell note={t.customers(format.number(row.customers))}>
            <Status tone={row.state === 'done' ? 'good' : 'warn'}>{t.states[row.state]}</Status>
          </Cell>
        )),
        column.action(t.report, (row) => (
          <DialogButton label={t.report} look={{ size: 'compact-sm' }}>
            {() => <Report id={row.mailing_id} />}
          </DialogButton>
        )),
      ]}
    />
  )
}

function Report({ id }: { readonly id: string }) {
  const { t, format } = useMessages(mailingMessages)
  const may = useMay()
  const params = { mailing_id: id }
  const stop = useChange('stopMailing')
  return (
    <Reading of={useRead('getMailing', { params }, { everyMs: 5000 })}>
      {(of) => (
        <div className="stack">
          <Facts
            of={[
              [t.status, t.states[of.state] ?? of.state],
              of.kind === 'message' && [t.waiting, format.number(of.waiting)],
              of.kind === 'message' && [t.taken, format.number(of.sent)],
              of.kind === 'message' && [t.failed, format.number(of.failed)],
              of.kind === 'message' && [t.unsubscribed, format.number(of.unsubscribed)],
              of.kind === 'message' && [t.noAddress, format.number(of.no_address)],
            ]}
          />
          {may('stopMailing') && of.state !== 'stopped' && (of.state === 'walking' || of.waiting > 0) && (
            <Confirm
              about={t.stopAbout}
              label={t.stop}
              color="red"
              change={stop}
              onConfirm={() => stop.mutate({ params })}
            />
          )}
        </div>
      )}
    </Reading>
  )
}

type Product = 'dedicated' | 'premium' | 'vpn'
const products: readonly ('' | Product)[] = ['', 'dedicated', 'premium', 'vpn']

/** A form that first counts the customers of an audience; a change of the audience asks for a new count. */
function NewMailing({ kind, onDone }: { readonly kind: 'message' | 'price'; readonly onDone: () => void }) {
  const { t, format } = useMessages(mailingMessages)
  const [product, setProduct] = useState<'' | Product>('')
  const [days, node, at] = [useTyped(), useTyped(), useTyped()]
  const [subjectEn, textEn, subjectRu, textRu] = [useTyped(), useTyped(), useTyped(), useTyped()]
  const audience = {
    ...(product !== '' && { product }),
    ...(days.text !== '' && { ends_within_days: Number(days.text) }),
    ...(node.text !== '' && { node: node.text }),
  }
  const count = useMutation({ mutationFn: () => api.call('countMailing', { body: audience }) })
  const countedFor = JSON.stringify(audience)
  const [counted, setCounted] = useState('')
  const send = useChange('sendMailing', onDone)
  const announce = useChange('announcePrices', onDone)
  const texts = { text_en: textEn.value, text_ru: textRu.value }
  const isCounted = count.data !== undefined && counted === countedFor
  function submit(): void {
    if (!isCounted) {
      setCounted(countedFor)
      return count.mutate()
    }
    if (kind === 'price') return announce.mutate({ body: { ...audience, ...texts, effective_at: `${at.text}:00Z` } })
    const subjects = {
      ...(subjectEn.text !== '' && { subject_en: subjectEn.text }),
      ...(subjectRu.text !== '' && { subject_ru: subjectRu.text }),
    }
    send.mutate({ body: { ...audience, ...texts, ...subjects } })
  }
  const change = isCounted ? (kind === 'price' ? announce : send) : count
  return (
    <SubmitForm label={isCounted ? t.send : t.count} change={change} onSubmit={submit}>
      {kind === 'price' && <TextInput type="datetime-local" label={t.at} {...at.props} />}
      <Select
        label={t.product}
        value={product}
        options={products.map((each) => [each, t.products[each] ?? each])}
        onChange={setProduct}
      />
      <TextInput label={t.days} inputMode="numeric" {...days.props} />
      <TextInput label={t.node} {...node.props} />
      {kind === 'message' && <TextInput label={t.subjectRu} {...subjectRu.props} />}
      <Long label={t.textRu} of={textRu} />
      {kind === 'message' && <TextInput label={t.subjectEn} {...subjectEn.props} />}
      <Long label={t.textEn} of={textEn} />
      {isCounted && (
        <Text role="status">
          {t.counted(
            format.number(count.data.customers),
            format.number(count.data.no_address),
            format.number(count.data.unsubscribed),
          )}{' '}
          {count.data.sample.length > 0 && t.first(count.data.sample.map((each) => each.name).join(', '))}
        </Text>
      )}
    </SubmitForm>
  )
}

type LongProps = { readonly label: string; readonly of: ReturnType<typeof useTyped> }

const Long = ({ label, of }: LongProps) => (
  <Textarea
    label={label}
    autosize
    minRows={3}
    maxRows={16}
    value={of.value}
    onChange={(event) => of.set(event.currentTarget.value)}
  />
)

function Templates() {
  const { t, format } = useMessages(mailingMessages)
  const may = useMay()
  const label = may('setNoticeTemplate') ? t.edit : t.preview
  return (
    <Reading of={useRead('listNoticeTemplates')}>
      {({ items }) => (
        <Rows
          label={t.templates}
          rows={items}
          keyOf={(row) => `${row.kind} ${row.language}`}
          columns={(column) => [
            column(t.letter, (row) => (
              <Cell note={row.changed_at === null ? t.shipped : t.changed(format.moment(row.changed_at))}>
                {`${t.letters[row.kind] ?? row.kind} ${t.languages[row.language]}`}
              </Cell>
            )),
            column(
              t.subject,
              (row) => <span lang={row.language}>{row.subject}</span>,
              (row) => row.subject,
            ),
            column.action(label, (row) => (
              <DialogButton label={label} look={{ size: 'compact-sm' }}>
                {(close) => <TemplateForm key={row.changed_at} of={row} onDone={close} />}
              </DialogButton>
            )),
          ]}
        />
      )}
    </Reading>
  )
}

function TemplateForm({ of, onDone }: { readonly of: NoticeTemplate; readonly onDone: () => void }) {
  const { t } = useMessages(mailingMessages)
  const may = useMay()
  const params = { kind: of.kind, language: of.language }
  const [subject, text] = [useTyped(of.subject), useTyped(of.text)]
  const body = { subject: subject.text, text: text.value }
  const save = useChange('setNoticeTemplate', onDone)
  const reset = useChange('resetNoticeTemplate', onDone)
  const preview = useMutation({ mutationFn: () => api.call('previewNoticeTemplate', { params, body }) })
  const mayChange = may('setNoticeTemplate')
  return (
    <div className="stack">
      <Text c="dimmed">{t.placeholders(of.placeholders.map((name) => `{${name}}`).join(' '))}</Text>
      <TextInput label={t.subject} readOnly={!mayChange} {...subject.props} />
      <Long label={t.text} of={text} />
      <RefusalNotice error={save.error ?? reset.error ?? preview.error} />
      <span className="line wraps">
        {mayChange && (
          <Button loading={save.isPending} onClick={() => save.mutate({ params, body })}>
            {t.save}
          </Button>
        )}
        <Button variant="default" loading={preview.isPending} onClick={() => preview.mutate()}>
          {t.preview}
        </Button>
        {mayChange && of.changed_at !== null && (
          <Button variant="default" loading={reset.isPending} onClick={() => reset.mutate({ params })}>
            {t.reset}
          </Button>
        )}
      </span>
      {preview.data && (
        <div className="notice stack" role="status">
          <Text fw={600}>{preview.data.subject}</Text>
          <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{preview.data.text}</Text>
        </div>
      )}
    </div>
  )
}
