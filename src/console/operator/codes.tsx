import { Text } from '@mantine/core'
import type { Code } from '../client/operator.ts'
import { Act, type Values } from '../shared/act.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Empty, Panel, Reading, Status } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { type Answer, api, useMay, useRead } from './api.ts'
import { codesWords } from './codes-words.ts'
import { operatorWords } from './words.ts'

export const CodesTab = () => (
  <>
    <Codes />
    <Referrals />
  </>
)

/** What was left empty is not said. */
const said = (values: Values, field: string, name: string) =>
  values[field] === '' ? {} : { [name]: Number(values[field]) }

const add = (values: Values) =>
  api.call('addCode', {
    body: {
      name: String(values['name']).trim(),
      ...said(values, 'value', values['kind'] === 'percent' ? 'percent' : 'amount_rub'),
      ...said(values, 'least', 'least_rub'),
      ...said(values, 'uses', 'uses'),
      ...(values['until'] !== '' && { until: String(values['until']) }),
      ...(values['note'] !== '' && { note: String(values['note']) }),
    },
  })

function Codes() {
  const words = useWords(codesWords)
  const operator = useWords(operatorWords)
  const may = useMay()
  const found = useRead('listCodes')
  const adding = may('addCode') && (
    <Act
      label={words.add}
      about={words.addAbout}
      look={{ size: 'xs' }}
      fields={[
        { name: 'name', label: words.code },
        { name: 'kind', label: words.kind, kind: 'choice', options: [...words.kinds] },
        { name: 'value', label: words.value, kind: 'number' },
        { name: 'least', label: words.least, kind: 'number', isOptional: true },
        { name: 'uses', label: words.uses, kind: 'number', isOptional: true },
        { name: 'until', label: words.until, kind: 'date', isOptional: true },
        { name: 'note', label: operator.note, isOptional: true },
      ]}
      run={add}
    />
  )
  return (
    <Panel title={words.codes} aside={adding}>
      <Reading of={found}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="tag" title={words.noCodes} about={words.noCodesAbout} />
          ) : (
            <CodeTable rows={items} />
          )
        }
      </Reading>
    </Panel>
  )
}

/** Whether it still adds something, and why not. */
function stateOf({ ended_at, until, uses, used }: Code, nowAt: number): 'open' | 'ended' | 'over' | 'usedUp' {
  if (ended_at !== null) return 'ended'
  if (until !== null && Date.parse(until) <= nowAt) return 'over'
  return uses !== null && used >= uses ? 'usedUp' : 'open'
}

function CodeTable({ rows }: { readonly rows: readonly Code[] }) {
  const words = useWords(codesWords)
  const operator = useWords(operatorWords)
  const format = useFormat()
  const may = useMay()
  const adds = (row: Code) =>
    row.percent === null ? format.money(row.amount_rub ?? 0) : `${format.number(row.percent)} %`
  return (
    <Rows
      label={words.codes}
      rows={rows}
      keyOf={(row) => row.name}
      columns={[
        { name: 'code', label: words.code, show: (row) => <span className="mono">{row.name}</span> },
        {
          name: 'state',
          label: operator.status,
          show: (row) => {
            const state = stateOf(row, Date.now())
            return <Status tone={state === 'open' ? 'good' : 'quiet'}>{words.states[state]}</Status>
          },
        },
        { name: 'adds', label: words.adds, isFigure: true, show: adds },
        {
          name: 'least',
          label: words.leastShort,
          isFigure: true,
          show: (row) => (row.least_rub === 0 ? '' : format.money(row.least_rub)),
        },
        {
          name: 'used',
          label: words.used,
          isFigure: true,
          show: (row) => (row.uses === null ? format.number(row.used) : words.of(row.used, row.uses, format)),
        },
        { name: 'until', label: words.until, show: (row) => (row.until === null ? '' : format.moment(row.until)) },
        { name: 'note', label: operator.note, isText: true, show: (row) => row.note },
        {
          name: 'act',
          label: words.act,
          isUnlabelled: true,
          show: (row) =>
            row.ended_at === null &&
            may('endCode') && (
              <Act
                label={words.end}
                about={words.endAbout}
                look={{ size: 'xs' }}
                run={() => api.call('endCode', { params: { name: row.name } })}
              />
            ),
        },
      ]}
    />
  )
}

function Referrals() {
  const words = useWords(codesWords)
  const may = useMay()
  const found = useRead('listReferrals')
  const acts = (
    <div className="line">
      {may('addReferral') && (
        <Act
          label={words.bring}
          about={words.bringAbout}
          look={{ size: 'xs' }}
          fields={[
            { name: 'customer', label: words.id(words.brought) },
            { name: 'referrer', label: words.id(words.referrer) },
          ]}
          run={({ customer, referrer }) =>
            api.call('addReferral', { body: { customer_id: String(customer), referrer_id: String(referrer) } })
          }
        />
      )}
      {may('setReferralTerms') && (
        <Act
          label={words.terms}
          about={words.termsAbout}
          look={{ size: 'xs' }}
          fields={[
            { name: 'percent', label: words.percent, kind: 'number', initial: found.data?.terms?.percent ?? 5 },
            { name: 'topUps', label: words.topUps, kind: 'number', initial: found.data?.terms?.top_ups ?? 1 },
          ]}
          run={({ percent, topUps }) =>
            api.call('setReferralTerms', { body: { percent: Number(percent), top_ups: Number(topUps) } })
          }
        />
      )}
    </div>
  )
  return (
    <Panel title={words.referrals} aside={acts} className="stack">
      <Reading of={found}>{(shown) => <Brought of={shown} />}</Reading>
    </Panel>
  )
}

function Brought({ of: { terms, items } }: { readonly of: Answer<'listReferrals'> }) {
  const words = useWords(codesWords)
  const operator = useWords(operatorWords)
  const format = useFormat()
  const link = (id: string) => <a href={`#/customers/${id}`}>{id}</a>
  return (
    <>
      <Text>
        {terms && terms.percent > 0
          ? words.worth(format.number(terms.percent), format.number(terms.top_ups))
          : words.worthNothing}
      </Text>
      {items.length > 0 && (
        <Rows
          label={words.referrals}
          rows={items}
          keyOf={(row) => row.customer_id}
          columns={[
            { name: 'when', label: operator.when, show: (row) => format.moment(row.at) },
            { name: 'brought', label: words.brought, show: (row) => link(row.customer_id) },
            { name: 'referrer', label: words.referrer, show: (row) => link(row.referrer_id) },
          ]}
        />
      )}
    </>
  )
}
