import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Code } from '../client/operator.ts'
import { filled, type Values } from '../shared/act.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Empty, Panel, Reading, Rows, Status } from '../shared/parts.tsx'
import { api, type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { CustomerLink, Mono, useNote } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

const codesMessages = messages({
  ...operatorTexts,
  codes: pair('Promo codes', 'Промокоды'),
  add: pair('Create a promo code', 'Создать промокод'),
  addAbout: pair(
    'Adds a bonus to a paid top-up, once per customer.',
    'Добавляет бонус к оплаченному пополнению, один раз каждому покупателю.',
  ),
  kind: pair('Bonus type', 'Тип бонуса'),
  kinds: {
    percent: pair('percentage of the top-up', 'процент от пополнения'),
    amount: pair('amount in roubles', 'сумма в рублях'),
  },
  value: pair('Bonus size', 'Размер бонуса'),
  adds: pair('Bonus', 'Бонус'),
  least: pair('Minimum top-up, ₽ (optional)', 'Минимальное пополнение, ₽ (необязательно)'),
  leastShort: pair('From', 'От'),
  uses: pair('Total uses (unlimited if empty)', 'Всего использований (пустое поле — без ограничений)'),
  used: pair('Used', 'Использован'),
  of: phrase('{used} of {uses}', '{used} из {uses}'),
  end: pair('End', 'Прекратить'),
  endAbout: pair(
    'New payments get no bonus. Bonuses of payments already started are still credited.',
    'Новые платежи не получат бонус. Бонусы уже начатых платежей будут начислены.',
  ),
  states: {
    open: pair('Active', 'Действует'),
    ended: pair('Ended', 'Прекращён'),
    over: pair('Expired', 'Срок истёк'),
    usedUp: pair('Used up', 'Исчерпан'),
  },
  noCodes: pair('No promo codes yet', 'Промокодов пока нет'),
  noCodesAbout: pair(
    'A promo code adds an amount or a percentage to a top-up.',
    'Промокод добавляет к пополнению сумму или процент.',
  ),
  referrals: pair('Referrals', 'Приглашения'),
  worth: phrase(
    'A customer who refers another one gets {percent} of the first top-ups. Rewarded top-ups: {count}.',
    'Пригласивший получает {percent} от первых пополнений приглашённого. Пополнений с наградой: {count}.',
  ),
  worthNothing: pair(
    'The referral programme is off: customers get no reward and have no referral link.',
    'Реферальная программа выключена: награды и ссылок для приглашения нет.',
  ),
  terms: pair('Referral terms', 'Условия программы'),
  termsAbout: pair(
    'Customers have a referral link while the percentage is above 0.',
    'Ссылка для приглашения есть у покупателей, пока процент больше 0.',
  ),
  percent: pair(
    'Percentage of each rewarded top-up (0 switches the programme off)',
    'Процент от каждого пополнения с наградой; 0 — программа выключена',
  ),
  topUps: pair('Number of rewarded top-ups', 'Число пополнений с наградой'),
  bring: pair('Add a referral', 'Добавить приглашение'),
  bringAbout: pair(
    'This cannot be changed later. The referrer must be the older customer.',
    'Изменить это потом нельзя. Пригласивший должен быть покупателем дольше.',
  ),
  brought: pair('Referred customer', 'Приглашённый'),
  referrer: pair('Referrer', 'Пригласивший'),
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
        useNote('operators'),
      ]}
      run={add}
    />
  )
  return (
    <Panel title={t.codes} aside={adding}>
      <Reading of={useRead('listCodes')}>{({ items }) => <CodeTable rows={items} adding={adding} />}</Reading>
    </Panel>
  )
}

/** Whether a code still adds to top-ups, or why not. */
function stateOf({ ended_at, until, uses, used }: Code, nowAt: number): 'open' | 'ended' | 'over' | 'usedUp' {
  if (ended_at !== null) return 'ended'
  if (until !== null && Date.parse(until) <= nowAt) return 'over'
  return uses !== null && used >= uses ? 'usedUp' : 'open'
}

function CodeTable({ rows, adding }: { readonly rows: readonly Code[]; readonly adding: ReactNode }) {
  const { t, format } = useMessages(codesMessages)
  return (
    <Rows
      label={t.codes}
      rows={rows}
      keyOf={(row) => row.name}
      empty={
        <Empty icon="tag" title={t.noCodes} about={t.noCodesAbout}>
          {adding}
        </Empty>
      }
      columns={(column) => [
        column(
          t.code,
          (row) => <Mono>{row.name}</Mono>,
          (row) => row.name,
        ),
        column(t.status, (row) => {
          const state = stateOf(row, Date.now())
          return <Status tone={state === 'open' ? 'good' : 'quiet'}>{t.states[state]}</Status>
        }),
        column.number(t.adds, (row) =>
          row.percent === null ? format.money(row.amount_rub ?? 0) : format.percent(row.percent),
        ),
        column.number(
          t.leastShort,
          (row) => (row.least_rub === 0 ? '' : format.money(row.least_rub)),
          (row) => row.least_rub,
        ),
        column.number(t.used, (row) =>
          row.uses === null ? format.number(row.used) : t.of(format.number(row.used), format.number(row.uses)),
        ),
        column.value(t.until, (row) => row.until, format.moment, ''),
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
          ? t.worth(format.percent(terms.percent), format.number(terms.top_ups))
          : t.worthNothing}
      </Text>
      {items.length > 0 && (
        <Rows
          label={t.referrals}
          rows={items}
          keyOf={(row) => row.customer_id}
          columns={(column) => [
            column.value(t.when, (row) => row.at, format.moment),
            column(
              t.brought,
              (row) => <CustomerLink id={row.customer_id} name={row.customer_name} />,
              (row) => row.customer_name,
            ),
            column(
              t.referrer,
              (row) => <CustomerLink id={row.referrer_id} name={row.referrer_name} />,
              (row) => row.referrer_name,
            ),
          ]}
        />
      )}
    </>
  )
}
