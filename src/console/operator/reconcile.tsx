import { Button, Progress, Text, TextInput } from '@mantine/core'
import type { Reconciliation } from '../client/operator.ts'
import { Form, useTyped } from '../shared/form.tsx'
import { useFormat } from '../shared/format.ts'
import { useLanguage, useWords } from '../shared/language.tsx'
import { Panel } from '../shared/parts.tsx'
import { RefusalNotice } from '../shared/refusal-notice.tsx'
import { Rows } from '../shared/rows.tsx'
import { useChange, useMay, useRead } from './api.ts'
import { sayDifference } from './differences.ts'
import { providersWords } from './providers-words.ts'

const whileRunningMs = 1_000
const dayMs = 86_400_000
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Holds payments against what their providers have of them. */
export function ReconcilePanel() {
  const words = useWords(providersWords)
  const may = useMay()
  const from = useTyped(dayOf(Date.now() - 30 * dayMs))
  const to = useTyped(dayOf(Date.now() + dayMs))
  const start = useChange('startReconcile')
  const state = useRead('getReconcile', {}, { everyMs: whileRunningMs }).data
  return (
    <Panel title={words.reconcile} className="stack">
      <Text c="dimmed">{words.reconcileAbout}</Text>
      {may('startReconcile') && (
        <Form className="line fields" onSubmit={() => start.mutate({ body: { from: from.text, to: to.text } })}>
          <TextInput type="date" label={words.from} {...from.props} />
          <TextInput type="date" label={words.to} {...to.props} />
          <Button type="submit" variant="default" loading={start.isPending || state?.state === 'running'}>
            {words.compare}
          </Button>
        </Form>
      )}
      <RefusalNotice error={start.error} />
      {state && state.state !== 'never' && <Outcome of={state} />}
    </Panel>
  )
}

function Outcome({ of }: { readonly of: Reconciliation }) {
  const words = useWords(providersWords)
  const { language } = useLanguage()
  const format = useFormat()
  if (of.state === 'running') return <Progress value={100} animated aria-label={words.comparing} />
  if (of.state === 'failed') {
    return (
      <div role="status" className="notice warn">
        {words.failed} {of.problem !== null && sayDifference(of.problem, language, format)}
      </div>
    )
  }
  const { length } = of.differences
  return (
    <>
      <div role="status" className={length === 0 ? 'notice good' : 'notice warn'}>
        {words.compared(format.number(of.compared))} {length === 0 ? words.agree : words.differ(format.number(length))}
      </div>
      {length > 0 && (
        <Rows
          label={words.reconcile}
          rows={of.differences}
          keyOf={(row) => `${row.payment_id} ${row.provider_id} ${row.problem}`}
          columns={[
            { name: 'provider', label: words.provider, show: (row) => words.names[row.provider] ?? row.provider },
            { name: 'payment', label: words.payment, show: (row) => <span className="mono">{row.payment_id}</span> },
            { name: 'theirs', label: words.theirs, show: (row) => <span className="mono">{row.provider_id}</span> },
            {
              name: 'problem',
              label: words.problem,
              isText: true,
              show: (row) => sayDifference(row.problem, language, format),
            },
          ]}
        />
      )}
    </>
  )
}
