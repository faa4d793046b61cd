import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Act, filled } from '../shared/act.tsx'
import { Form, useTyped } from '../shared/form.tsx'
import { messages, names, pair, useMessages } from '../shared/messages.tsx'
import { Facts, Page, PagedRows, Panel, Reading, ReadRows } from '../shared/parts.tsx'
import { api, useMay, usePages, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { Stock } from './overview.tsx'
import { CustomerLink, Mono, Nothing, useNote } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

const stockMessages = messages({
  ...operatorTexts,
  yes: pair('Yes', 'Да'),
  interruptedSince: pair('Since', 'Не работает с'),
  interruptions: pair('Interrupted proxies', 'Неработающие прокси'),
  reason: pair('Reason', 'Причина'),
  reasons: names({ outage: pair('Outage', 'Сбой'), quarantine: pair('Quarantine', 'Карантин') }),
})

export function StockPage() {
  const { t } = useMessages(stockMessages)
  const overview = useRead('getOverview', { query: { days: 30 } })
  return (
    <Page title={t.stock} actions={<AddStock />}>
      <Survey />
      <Panel title={t.ranges}>
        <Ranges />
      </Panel>
      <Interruptions />
      <Panel title={t.stock}>
        <Reading of={overview}>{({ stock }) => <Stock rows={stock} />}</Reading>
      </Panel>
    </Page>
  )
}

/** The counts of an outcome; of a list, its length. */
function Counts({ of }: { readonly of: object }) {
  const { t, format } = useMessages(stockMessages)
  const shown = Object.entries(of).flatMap(([name, value]: [string, unknown]) => {
    const label = t.counts[name]
    if (label === undefined || value === false) return []
    if (Array.isArray(value)) return [[label, format.number(value.length)] as const]
    return [[label, typeof value === 'number' ? format.number(value) : '✓'] as const]
  })
  return <Facts of={shown} />
}

function AddStock() {
  const { t } = useMessages(stockMessages)
  const kinds = ([4, 3, 6] as const).map((each) => [String(each), t.kinds[each] ?? ''] as const)
  return (
    <RoleAct
      operation="addStock"
      label={t.addStock}
      look={{ variant: 'filled' }}
      fields={[
        { name: 'prefix', label: t.prefix },
        { name: 'country', label: t.countryCode },
        { name: 'ipv', label: t.kind, kind: 'choice', options: kinds },
      ]}
      run={({ prefix, country, ipv }) =>
        api.call('addStock', {
          body: { prefix: String(prefix), country: String(country).toUpperCase(), ipv: Number(ipv) },
        })
      }
      show={(done) => <Counts of={done} />}
    />
  )
}

function Ranges() {
  const { t, format } = useMessages(stockMessages)
  const ranges = useRead('listRanges', {}, { everyMs: 15_000 })
  return (
    <ReadRows
      label={t.ranges}
      of={ranges}
      keyOf={(row) => row.range}
      empty={<Nothing icon="server" about={t.noStockYet} />}
      columns={(column) => [
        column(
          t.range,
          (row) => <Mono>{row.range}</Mono>,
          (row) => row.range,
        ),
        column.number(t.slots, (row) => (row.block ? t.unlimited : format.number(row.places))),
        column.number(t.served, (row) =>
          row.block ? (row.served_by.length > 0 ? t.yes : t.no) : format.number(row.served),
        ),
        column.text(t.servedBy, (row) => row.served_by.join(', ')),
        column.text(t.problems, (row) => row.problems.join('; ')),
      ]}
    />
  )
}

/** Sold proxies that do not work now; hidden if there are none. */
function Interruptions() {
  const { t, format } = useMessages(stockMessages)
  const pages = usePages('listInterrupted', { query: { limit: 50 } })
  if (pages.data?.length === 0) return null
  return (
    <Panel title={t.interruptions}>
      <PagedRows
        label={t.interruptions}
        of={pages}
        keyOf={(row) => row.proxy}
        columns={(column) => [
          column(t.product, (row) => <a href={`#/proxies/${row.proxy}`}>{t.proxy(String(row.proxy))}</a>),
          column(
            t.customer,
            (row) => <CustomerLink id={row.customer_id} name={row.customer_name} />,
            (row) => row.customer_name,
          ),
          column(
            t.address,
            (row) => <Mono>{row.address}</Mono>,
            (row) => row.address,
          ),
          column(
            t.gateway,
            (row) => row.node ?? '—',
            (row) => row.node,
          ),
          column.value(t.interruptedSince, (row) => row.since, format.moment),
          column.text(t.reason, (row) => t.reasons[row.reason ?? ''] ?? row.reason),
        ]}
      />
    </Panel>
  )
}

function Survey() {
  const { t } = useMessages(stockMessages)
  const typed = useTyped()
  const [prefix, setPrefix] = useState('')
  return (
    <Panel title={t.survey} className="stack">
      <Form className="line fields" onSubmit={() => setPrefix(typed.text)}>
        <TextInput label={t.prefix} description={t.surveyAbout} {...typed.props} />
        <Button type="submit" variant="default" disabled={typed.text === ''}>
          {t.ask}
        </Button>
      </Form>
      {prefix !== '' && <Surveyed key={prefix} prefix={prefix} />}
    </Panel>
  )
}

function Surveyed({ prefix }: { readonly prefix: string }) {
  const { t, format } = useMessages(stockMessages)
  const may = useMay()
  return (
    <>
      <Reading of={useRead('surveyRange', { query: { prefix } })}>
        {(survey) => (
          <Facts
            of={[
              [t.range, survey.prefix],
              [t.touched, format.number(survey.proxies.length)],
              [t.touchedCustomers, format.number(survey.customers)],
              [t.unusedPrice, format.exactMoney(survey.unused_rub)],
            ]}
          />
        )}
      </Reading>
      {may('retireRange') && (
        <div className="line">
          <CloseAct operation="quarantineRange" prefix={prefix} />
          <CloseAct operation="retireRange" prefix={prefix} />
          <MoveAct prefix={prefix} />
        </div>
      )}
    </>
  )
}

function CloseAct({ operation, prefix }: Readonly<{ operation: 'quarantineRange' | 'retireRange'; prefix: string }>) {
  const { t } = useMessages(stockMessages)
  const isRetiring = operation === 'retireRange'
  return (
    <Act
      label={isRetiring ? t.retire : t.quarantine}
      about={isRetiring ? t.retireAbout : t.quarantineAbout}
      fields={[
        { name: 'undo', label: t.undo, kind: 'flag' },
        { name: 'replace', label: t.replaceNow, kind: 'flag' },
        { name: 'refund', label: t.refundNow, kind: 'flag' },
        useNote('customer'),
      ]}
      run={({ undo, replace, refund, note }) =>
        api.call(operation, {
          body: {
            prefix,
            ...(undo === true && { undo }),
            ...(replace === true && { replace }),
            ...(refund === true && { refund }),
            ...filled({ note }),
          },
        })
      }
      show={(done) => <Counts of={done} />}
    />
  )
}

function MoveAct({ prefix }: { readonly prefix: string }) {
  const { t } = useMessages(stockMessages)
  return (
    <Act
      label={t.move}
      about={t.moveAbout}
      fields={[
        { name: 'nodes', label: t.nodes },
        { name: 'dry', label: t.dryRun, kind: 'flag', initial: true },
      ]}
      run={({ nodes: typed, dry }) => {
        const nodes = String(typed)
          .split(/[\s,]+/)
          .filter((each) => each !== '')
        return api.call('moveRange', { body: { prefix, nodes, dry_run: dry === true } })
      }}
      show={(done) => <Counts of={done} />}
    />
  )
}
