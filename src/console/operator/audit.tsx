import { Fragment, type ReactNode, useState } from 'react'
import { isRecord } from '../client/call.ts'
import type { AuditEntry } from '../client/operator.ts'
import { Select } from '../shared/form.tsx'
import { messages, pair, phrase, useLanguage, useMessages } from '../shared/messages.tsx'
import { Cell, Page, PagedRows, Panel } from '../shared/parts.tsx'
import { tradeMessages } from '../shared/trade.ts'
import { actionNames, actions } from './actions-ru.ts'
import { usePages, useRead } from './api.ts'
import { auditSentences } from './audit-sentences.ts'
import { operatorTexts } from './messages.ts'
import { CustomerLink, Mono, Nothing } from './parts.tsx'
import { ChangeLines } from './prices.tsx'

const auditMessages = messages({
  ...operatorTexts,
  anyOperator: pair('All operators', 'Все операторы'),
  anyAction: pair('All actions', 'Все действия'),
  deed: pair('What happened', 'Что произошло'),
  noReason: pair('no note', 'без заметки'),
  quoted: phrase('“{text}”', '«{text}»'),
  anOrder: pair('an order', 'заказ'),
  aPayment: pair('a payment', 'платёж'),
  versionNumber: phrase('version {number}', 'версия {number}'),
  aSubscription: pair('a VPN subscription', 'подписка VPN'),
})

type Fields = AuditEntry['request']

const isFilled = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The name of an action for people: from the Russian names, or from the English ones. */
function useActionName(): (name: string) => string {
  const { language } = useLanguage()
  return (name) => (language === 'ru' ? actions[name] : actionNames[name]) ?? name
}

/** The name of the sentence of an entry: an action that was undone, or that also ended services, has its own. */
function sentenceName({ action, request }: AuditEntry): string {
  if (request['undo'] === true) return `${action} undo`
  return action === 'refundOrder' && isFilled(request['end']) ? 'refundOrder end' : action
}

/** One field of a request as people read it: an object is a link, an amount is money. */
function Field({ name, of }: { readonly name: string; readonly of: AuditEntry }): ReactNode {
  const { t, format } = useMessages(auditMessages)
  const { t: trade } = useMessages(tradeMessages)
  const value: unknown = of.request[name]
  const text = Array.isArray(value) ? value.map(textOf).join(', ') : textOf(value ?? '—')
  switch (name) {
    case 'customer_id':
      return <CustomerLink id={text} name={of.customer_name ?? ''} />
    case 'order_id':
      return <a href={`#/orders/${text}`}>{t.anOrder}</a>
    case 'payment_id':
      return <a href={`#/payments/${text}`}>{t.aPayment}</a>
    case 'proxy':
      return <a href={`#/proxies/${text}`}>{t.proxy(text)}</a>
    case 'uuid':
      return <a href={`#/vpn/${text}`}>{t.aSubscription}</a>
    case 'outcome':
      return <Outcome of={of} />
    case 'amount_rub':
      return typeof value === 'number' ? format.exactMoney(value) : '—'
    case 'percent':
      return typeof value === 'number' ? format.percent(value) : '—'
    case 'note':
      return isFilled(value) ? t.quoted(text) : t.noReason
    case 'role':
      return t.roles[text] ?? text
    case 'pool':
      return trade.pools[text] ?? text
    default:
      return <strong>{text}</strong>
  }
}

/** The amount of a refund, or the version and the changes of a price list. Entries of older versions have none. */
function Outcome({ of: { action, request } }: { readonly of: AuditEntry }) {
  const { t, format } = useMessages(auditMessages)
  const outcome = isRecord(request['outcome']) ? request['outcome'] : {}
  const amount = outcome['amount_rub'] ?? request['amount_rub']
  if (action !== 'applyCatalogue') return typeof amount === 'number' ? format.exactMoney(amount) : '—'
  const { version, changes, change_count: count } = outcome
  if (!Array.isArray(changes)) return null
  return (
    <>
      {`, ${t.versionNumber(textOf(version))}`}
      <ChangeLines of={changes.map(textOf)} count={typeof count === 'number' ? count : changes.length} />
    </>
  )
}

/** An entry as a sentence, or its name and its fields if it has none. */
function Deed({ of }: { readonly of: AuditEntry }) {
  const { t: sentences } = useMessages(auditSentences)
  const nameOf = useActionName()
  const sentence = sentences[sentenceName(of)]
  if (sentence === undefined) return <Cell note={listed(of.request)}>{nameOf(of.action)}</Cell>
  const parts = sentence.split(/\{(\w+)\}/)
  return (
    <span>
      {parts.map((part, index) => (
        <Fragment key={index}>{index % 2 === 0 ? part : <Field name={part} of={of} />}</Fragment>
      ))}
    </span>
  )
}

const listed = (request: Fields): string =>
  Object.entries(request)
    .filter(([, value]) => isFilled(value))
    .map(([name, value]) => `${name}: ${textOf(value)}`)
    .join(', ')

export function AuditPage() {
  const { t, format } = useMessages(auditMessages)
  const nameOf = useActionName()
  const [operator, setOperator] = useState('')
  const [action, setAction] = useState('')
  const operators = useRead('listOperators').data?.items ?? []
  const known = Object.keys(actions).map((each) => [each, nameOf(each)] as const)
  const query = {
    ...(operator !== '' && { operator_id: operator }),
    ...(action !== '' && { action }),
  }
  return (
    <Page title={t.audit} about={t.auditAbout}>
      <Panel className="stack">
        <div className="line fields">
          <Select
            label={t.operator}
            value={operator}
            options={[['', t.anyOperator], ...operators.map((each) => [each.operator_id, each.name] as const)]}
            onChange={setOperator}
          />
          <Select
            label={t.action}
            value={action}
            options={[['', t.anyAction], ...known.toSorted(([, a], [, b]) => a.localeCompare(b))]}
            onChange={setAction}
          />
        </div>
        <PagedRows
          label={t.audit}
          of={usePages('listAuditLog', { query })}
          keyOf={(row) => row.seq}
          empty={<Nothing icon="book" isFiltered={operator !== '' || action !== ''} />}
          columns={(column) => [
            column.value(t.when, (row) => row.at, format.moment),
            column.text(t.deed, (row) => <Deed of={row} />),
            column(t.operator, (row) => <Cell note={t.roles[row.role] ?? row.role}>{row.name}</Cell>),
            column(
              t.source,
              (row) => <Mono>{row.source}</Mono>,
              (row) => row.source,
            ),
          ]}
        />
      </Panel>
    </Page>
  )
}
