import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Act, type Field, type Values } from '../shared/act.tsx'
import { Form, useTyped } from '../shared/form.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Paged } from '../shared/paged.tsx'
import { Empty, Facts, Page, Panel, Reading } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { api, useMay, usePages, useRead } from './api.ts'
import { Stock } from './overview.tsx'
import { thingsWords } from './things-words.ts'
import { operatorWords } from './words.ts'

export function StockPage() {
  const words = useWords(operatorWords)
  const may = useMay()
  const overview = useRead('getOverview', { query: { days: 30 } })
  return (
    <Page title={words.stock} actions={may('addStock') && <AddStock />}>
      <Survey />
      <Panel title={words.ranges}>
        <Ranges />
      </Panel>
      <Interruptions />
      <Panel title={words.stock}>
        <Reading of={overview}>{({ stock }) => <Stock rows={stock} />}</Reading>
      </Panel>
    </Page>
  )
}

/** Counts of what was done, or would be; of lists, how long they are. */
function Told({ of }: { readonly of: object }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const shown = Object.entries(of).flatMap(([name, value]: [string, unknown]) => {
    const label = words.counts[name]
    if (label === undefined || value === false) return []
    if (Array.isArray(value)) return [[label, format.number(value.length)] as const]
    return [[label, typeof value === 'number' ? format.number(value) : '✓'] as const]
  })
  return <Facts of={shown} />
}

function AddStock() {
  const words = useWords(operatorWords)
  return (
    <Act
      label={words.addStock}
      look={{ variant: 'filled' }}
      fields={[
        { name: 'prefix', label: words.prefix },
        { name: 'country', label: words.countryCode },
        {
          name: 'ipv',
          label: words.kind,
          kind: 'choice',
          options: ['4', '3', '6'].map((each) => [each, words.kinds[Number(each)] ?? each] as const),
        },
      ]}
      run={({ prefix, country, ipv }) =>
        api.call('addStock', {
          body: { prefix: String(prefix), country: String(country).toUpperCase(), ipv: Number(ipv) as 3 | 4 | 6 },
        })
      }
      show={(done) => <Told of={done} />}
    />
  )
}

function Ranges() {
  const words = useWords(operatorWords)
  const format = useFormat()
  const ranges = useRead('listRanges', {}, { everyMs: 15_000 })
  return (
    <Reading of={ranges}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty icon="server" title={words.none} about={words.noneAbout} />
        ) : (
          <Rows
            label={words.ranges}
            rows={items}
            keyOf={(row) => row.range}
            columns={[
              { name: 'range', label: words.range, show: (row) => <span className="mono">{row.range}</span> },
              { name: 'places', label: words.places, isFigure: true, show: (row) => format.number(row.places) },
              { name: 'served', label: words.served, isFigure: true, show: (row) => format.number(row.served) },
              { name: 'by', label: words.servedBy, isText: true, show: (row) => row.served_by.join(', ') },
              { name: 'problems', label: words.problems, isText: true, show: (row) => row.problems.join('; ') },
            ]}
          />
        )
      }
    </Reading>
  )
}

/** Sold, and of no use at the moment: shown only where there are some. */
function Interruptions() {
  const words = useWords(operatorWords)
  const things = useWords(thingsWords)
  const format = useFormat()
  const pages = usePages('listInterrupted', { query: { limit: 50 } })
  if (pages.data?.pages[0]?.items.length === 0) return null
  return (
    <Panel title={things.interruptions}>
      <Paged of={pages}>
        {(items) => (
          <Rows
            label={things.interruptions}
            rows={items}
            keyOf={(row) => row.proxy}
            columns={[
              {
                name: 'proxy',
                label: words.product,
                show: (row) => <a href={`#/proxies/${row.proxy}`}>{things.proxy(String(row.proxy))}</a>,
              },
              { name: 'address', label: words.address, show: (row) => <span className="mono">{row.address}</span> },
              { name: 'node', label: things.gateway, show: (row) => row.node ?? '—' },
              { name: 'since', label: words.since, show: (row) => format.moment(row.since) },
              {
                name: 'reason',
                label: things.reason,
                isText: true,
                show: (row) => things.reasons[row.reason ?? ''] ?? row.reason,
              },
            ]}
          />
        )}
      </Paged>
    </Panel>
  )
}

/** What is in a range and whom closing it would touch, before anything is closed. */
function Survey() {
  const words = useWords(operatorWords)
  const typed = useTyped()
  const [prefix, setPrefix] = useState('')
  return (
    <Panel title={words.survey} className="stack">
      <Form className="line fields" onSubmit={() => setPrefix(typed.text)}>
        <TextInput label={words.prefix} description={words.surveyAbout} {...typed.props} />
        <Button type="submit" variant="default" disabled={typed.text === ''}>
          {words.ask}
        </Button>
      </Form>
      {prefix !== '' && <Surveyed key={prefix} prefix={prefix} />}
    </Panel>
  )
}

function Surveyed({ prefix }: { readonly prefix: string }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const may = useMay()
  const found = useRead('surveyRange', { query: { prefix } })
  return (
    <>
      <Reading of={found}>
        {(survey) => (
          <Facts
            of={[
              [words.range, survey.prefix],
              [words.touched, format.number(survey.proxies.length)],
              [words.touchedCustomers, format.number(survey.customers)],
              [words.unused, format.exactMoney(survey.unused_rub)],
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

function CloseAct({
  operation,
  prefix,
}: {
  readonly operation: 'quarantineRange' | 'retireRange'
  readonly prefix: string
}) {
  const words = useWords(operatorWords)
  const isRetiring = operation === 'retireRange'
  const fields: readonly Field[] = [
    { name: 'undo', label: words.undo, kind: 'flag' },
    { name: 'replace', label: words.replaceNow, kind: 'flag' },
    { name: 'refund', label: words.refundNow, kind: 'flag' },
    { name: 'note', label: words.note, isOptional: true },
  ]
  const run = ({ undo, replace, refund, note }: Values) =>
    api.call(operation, {
      body: {
        prefix,
        ...(undo === true && { undo }),
        ...(replace === true && { replace }),
        ...(refund === true && { refund }),
        ...(note !== '' && { note: String(note) }),
      },
    })
  return (
    <Act
      label={isRetiring ? words.retire : words.quarantine}
      about={isRetiring ? words.retireAbout : words.quarantineAbout}
      fields={fields}
      run={run}
      show={(done) => <Told of={done} />}
    />
  )
}

function MoveAct({ prefix }: { readonly prefix: string }) {
  const words = useWords(operatorWords)
  return (
    <Act
      label={words.move}
      about={words.moveAbout}
      fields={[
        { name: 'nodes', label: words.nodes },
        { name: 'dry', label: words.dryRun, kind: 'flag', initial: true },
      ]}
      run={({ nodes, dry }) =>
        api.call('moveRange', {
          body: {
            prefix,
            nodes: String(nodes)
              .split(/[\s,]+/)
              .filter((each) => each !== ''),
            dry_run: dry === true,
          },
        })
      }
      show={(done) => <Told of={done} />}
    />
  )
}
