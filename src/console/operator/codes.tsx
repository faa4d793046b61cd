import { Text } from '@mantine/core'
import type { Code } from '../client/operator.ts'
import { filled, type Values } from '../shared/form.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Empty, Panel, Reading, Rows, Status } from '../shared/parts.tsx'
import { api, type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { CustomerLink, Mono, RoleAct, useNote } from './parts.tsx'

const codesMessages = messages({
  ...operatorTexts,
  codes: pair('Codes', 'Коды'),
  add: pair('Make a code', 'Создать код'),
  addAbout: pair(
    'It adds to a top-up, once for each customer, when that is paid.',
    'Он добавляет к пополнению, каждому покупателю один раз, когда оно оплачено.',
  ),
  kind: pair('It adds', 'Добавляет'),
  kinds: {
    percent: pair('a part of the top-up, in percent', 'часть пополнения, в процентах'),
    amount: pair('an amount, in roubles', 'сумму, в рублях'),
  },
  value: pair('How much', 'Сколько'),
  adds: pair('Adds', 'Добавляет'),
  least: pair('Smallest top-up, ₽; empty: any', 'Наименьшее пополнение, ₽; любое, если не сказано'),
  leastShort: pair('From', 'От'),
  uses: pair('Uses in all; empty: without limit', 'Сколько раз всего; без предела, если не сказано'),
  used: pair('Used', 'Использован'),
  of: phrase('{used} of {uses}', '{used} из {uses}'),
  end: pair('End', 'Прекратить'),
  endAbout: pair(
    'New payments get no bonus; bonuses already promised are credited.',
    'Новых обещаний не будет; обещанное раньше начисляется.',
  ),
  states: {
    open: pair('Adds', 'Действует'),
    ended: pair('Ended', 'Прекращён'),
    over: pair('Over', 'Срок вышел'),
    usedUp: pair('Used up', 'Исчерпан'),
  },
  noCodes: pair('No codes yet', 'Кодов пока нет'),
  noCodesAbout: pair('A code adds an amount or a part to a top-up.', 'Код добавляет к пополнению сумму или часть.'),
  referrals: pair('Who brought whom', 'Кто кого привёл'),
  worth: phrase(
    'A customer who brings another one gets {percent} % of the first top-ups, {count} of them at most.',
    'Кто привёл покупателя, получает {percent} % от его первых пополнений, не больше {count}.',
  ),
  worthNothing: pair(
    'Nothing is given for bringing customers, and customers have no link for it.',
    'За приведённых покупателей ничего не начисляется, и ссылок для этого ни у кого нет.',
  ),
  terms: pair('What it is worth', 'Сколько начислять'),
  termsAbout: pair(
    'Customers have a link of their own while this is more than nothing.',
    'Пока это больше нуля, у покупателей есть своя ссылка.',
  ),
  percent: pair('Part of each of these top-ups, %; 0 is off', 'Часть каждого такого пополнения, %; 0 выключает'),
  topUps: pair('Of how many top-ups', 'От скольких пополнений'),
  bring: pair('Say who brought whom', 'Сказать, кто кого привёл'),
  bringAbout: pair(
    'It cannot be changed later. The referrer must be the older customer.',
    'Один раз и навсегда. Кто приводит, стал покупателем раньше.',
  ),
  brought: pair('Who was brought', 'Кого привели'),
  referrer: pair('By whom', 'Кто привёл'),
})

export const CodesTab = () => (
  <>
    <Codes />
    <Referrals />
  </>
)

/** A number under the API's name, if the field was filled in. */
const number = (value: Values[string] | undefined, name: string) => (value === '' ? {} : { [name]: Number(value) })

const add = ({ name, kind, value, least, uses, until, note }: Values) =>
  api.call('addCode', {
    body: {
      name: String(name).trim(),
      ...number(value, kind === 'percent' ? 'percent' : 'amount_rub'),
      ...number(least, 'least_rub'),
      ...number(uses, 'uses'),
      ...filled({ until, note }),
    },
  })

function Codes() {
  const { t } = useMessages(codesMessages)
  const adding = (
    <RoleAct
      operation="addCode"
      label={t.add}
      about={t.addAbout}
      look={{ size: 'xs' }}
      fields={[
        { name: 'name', label: t.code },
        { name: 'kind', label: t.kind, kind: 'choice', options: Object.entries(t.kinds) },
        { name: 'value', label: t.value, kind: 'number' },
        { name: 'least', label: t.least, kind: 'number', isOptional: true },
        { name: 'uses', label: t.uses, kind: 'number', isOptional: true },
        { name: 'until', label: t.until, kind: 'date', isOptional: true },
        useNote(),
      ]}
      run={add}
    />
  )
  return (
    <Panel title={t.codes} aside={adding}>
      <Reading of={useRead('listCodes')}>{({ items }) => <CodeTable rows={items} />}</Reading>
    </Panel>
  )
}

/** Whether a code still adds to top-ups, or why not. */
function stateOf({ ended_at, until, uses, used }: Code, nowAt: number): 'open' | 'ended' | 'over' | 'usedUp' {
  if (ended_at !== null) return 'ended'
  if (until !== null && Date.parse(until) <= nowAt) return 'over'
  return uses !== null && used >= uses ? 'usedUp' : 'open'
}

function CodeTable({ rows }: { readonly rows: readonly Code[] }) {
  const { t, format } = useMessages(codesMessages)
  return (
    <Rows
      label={t.codes}
      rows={rows}
      keyOf={(row) => row.name}
      empty={<Empty icon="tag" title={t.noCodes} about={t.noCodesAbout} />}
      columns={(column) => [
        column(t.code, (row) => <Mono>{row.name}</Mono>),
        column(t.status, (row) => {
          const state = stateOf(row, Date.now())
          return <Status tone={state === 'open' ? 'good' : 'quiet'}>{t.states[state]}</Status>
        }),
        column.number(t.adds, (row) =>
          row.percent === null ? format.money(row.amount_rub ?? 0) : `${format.number(row.percent)} %`,
        ),
        column.number(t.leastShort, (row) => (row.least_rub === 0 ? '' : format.money(row.least_rub))),
        column.number(t.used, (row) =>
          row.uses === null ? format.number(row.used) : t.of(format.number(row.used), format.number(row.uses)),
        ),
        column(t.until, (row) => (row.until === null ? '' : format.moment(row.until))),
        column.text(t.note, (row) => row.note),
        column.action(
          t.act,
          (row) =>
            row.ended_at === null && (
              <RoleAct
                operation="endCode"
                label={t.end}
                about={t.endAbout}
                look={{ size: 'xs' }}
                run={() => api.call('endCode', { params: { name: row.name } })}
              />
            ),
        ),
      ]}
    />
  )
}

function Referrals() {
  const { t } = useMessages(codesMessages)
  const found = useRead('listReferrals')
  const terms = found.data?.terms
  const acts = (
    <div className="line">
      <RoleAct
        operation="addReferral"
        label={t.bring}
        about={t.bringAbout}
        look={{ size: 'xs' }}
        fields={[
          { name: 'customer', label: `${t.brought}, cus_…` },
          { name: 'referrer', label: `${t.referrer}, cus_…` },
        ]}
        run={({ customer, referrer }) =>
          api.call('addReferral', { body: { customer_id: String(customer), referrer_id: String(referrer) } })
        }
      />
      <RoleAct
        operation="setReferralTerms"
        label={t.terms}
        about={t.termsAbout}
        look={{ size: 'xs' }}
        fields={[
          { name: 'percent', label: t.percent, kind: 'number', initial: terms?.percent ?? 5 },
          { name: 'topUps', label: t.topUps, kind: 'number', initial: terms?.top_ups ?? 1 },
        ]}
        run={({ percent, topUps }) =>
          api.call('setReferralTerms', { body: { percent: Number(percent), top_ups: Number(topUps) } })
        }
      />
    </div>
  )
  return (
    <Panel title={t.referrals} aside={acts} className="stack">
      <Reading of={found}>{(shown) => <Brought of={shown} />}</Reading>
    </Panel>
  )
}

function Brought({ of: { terms, items } }: { readonly of: OperatorAnswer<'listReferrals'> }) {
  const { t, format } = useMessages(codesMessages)
  return (
    <>
      <Text>
        {terms && terms.percent > 0
          ? t.worth(format.number(terms.percent), format.number(terms.top_ups))
          : t.worthNothing}
      </Text>
      {items.length > 0 && (
        <Rows
          label={t.referrals}
          rows={items}
          keyOf={(row) => row.customer_id}
          columns={(column) => [
            column(t.when, (row) => format.moment(row.at)),
            column(t.brought, (row) => <CustomerLink id={row.customer_id} />),
            column(t.referrer, (row) => <CustomerLink id={row.referrer_id} />),
          ]}
        />
      )}
    </>
  )
}
