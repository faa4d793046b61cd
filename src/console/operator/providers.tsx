import { Button, Progress, Text, TextInput } from '@mantine/core'
import type { PaymentProvider, Reconciliation } from '../client/operator.ts'
import { Act, type ActField, type Values } from '../shared/act.tsx'
import { Form, useTyped } from '../shared/form.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Cell, Facts, Notice, Panel, Reading, RefusalNotice, Rows, Status, type Tone } from '../shared/parts.tsx'
import { methodNames } from '../shared/trade.ts'
import { api, useChange, useMay, useRead } from './api.ts'
import { Mono } from './parts.tsx'
import { providersMessages } from './providers-messages.ts'

export const ProvidersTab = () => (
  <>
    <Reading of={useRead('listProviders', {}, { everyMs: 5_000 })} height={400}>
      {({ items }) => items.map((each) => <Provider key={each.name} of={each} />)}
    </Reading>
    <ReconcilePanel />
  </>
)

const tones: Readonly<Record<PaymentProvider['state'], Tone>> = {
  enabled: 'good',
  disabled: 'warn',
  not_set_up: 'quiet',
}

function Provider({ of }: { readonly of: PaymentProvider }) {
  const { t } = useMessages(providersMessages)
  return (
    <Panel
      title={t.names[of.name] ?? of.name}
      aside={<Status tone={tones[of.state]}>{t.states[of.state]}</Status>}
      className="stack"
    >
      {of.state !== 'not_set_up' && <Shown of={of} />}
      <Actions of={of} />
    </Panel>
  )
}

function Shown({ of }: { readonly of: PaymentProvider }) {
  const { t, format } = useMessages(providersMessages)
  const { t: methods } = useMessages(methodNames)
  const unmatched = useRead('listUnmatched').data?.items.filter((each) => each.provider === of.name).length ?? 0
  const waiting = unmatched === 0 ? t.none : <a href="#/payments">{t.waiting(format.number(unmatched))}</a>
  return (
    <>
      <Facts
        of={[
          ...Object.entries(of.settings).map(([name, value]) => [name, <Mono>{value}</Mono>] as const),
          of.wants_secret && [t.secret, t.sealed],
          of.health !== null && [t.health, <Health of={of.health} />],
          of.health !== null && [t.unmatched, waiting],
        ]}
      />
      <Rows
        label={`${t.methods}: ${t.names[of.name] ?? of.name}`}
        rows={of.methods}
        keyOf={(row) => row.method}
        columns={(column) => [
          column(t.method, (row) => methods[row.method] ?? row.method),
          column.amount(t.min, (row) => row.min_rub, format.money),
          column.amount(t.max, (row) => row.max_rub, format.money),
          column.amount(t.fee, (row) => row.fee_percent, format.percent),
        ]}
      />
    </>
  )
}

function Health({ of }: { readonly of: NonNullable<PaymentProvider['health']> }) {
  const { t, format } = useMessages(providersMessages)
  const { answered_at: answered, failed_at: failed, failure } = of
  if (answered === null && failed === null) return <Status tone="quiet">{t.unasked}</Status>
  const isFailing = failed !== null && (answered === null || answered < failed)
  return (
    <Cell note={format.moment((isFailing ? failed : answered) ?? '')}>
      <Status tone={isFailing ? 'bad' : 'good'}>{isFailing ? t.failures[failure ?? 'unavailable'] : t.answers}</Status>
    </Cell>
  )
}

function useFields(of: PaymentProvider): readonly ActField[] {
  const { t } = useMessages(providersMessages)
  const { t: methods } = useMessages(methodNames)
  const isNew = of.state === 'not_set_up'
  return [
    ...of.wants.map((each) => ({
      name: `setting ${each.name}`,
      label: t.settingNames[each.name] ?? each.name,
      about: t.settings[each.name] ?? each.meaning,
      initial: of.settings[each.name] ?? '',
      isOptional: !each.required,
    })),
    ...(of.wants_secret
      ? [{ name: 'secret', label: isNew ? t.secret : t.secretAgain, kind: 'secret', isOptional: !isNew } as const]
      : []),
    ...of.methods.flatMap(({ method, min_rub, max_rub, fee_percent }): ActField[] => {
      const label = (what: string) => `${methods[method] ?? method}: ${what}`
      return [
        { name: `min ${method}`, label: label(t.min), kind: 'number', initial: min_rub },
        { name: `max ${method}`, label: label(t.max), kind: 'number', initial: max_rub },
        { name: `fee ${method}`, label: label(t.fee), kind: 'number', initial: fee_percent },
      ]
    }),
  ]
}

/** The values of the fields whose names begin with `kind`, under the rest of their names, without empty ones. */
const under = (values: Values, kind: string): readonly (readonly [string, string])[] =>
  Object.entries(values).flatMap(([name, value]) =>
    name.startsWith(`${kind} `) && value !== '' ? [[name.slice(kind.length + 1), String(value)] as const] : [],
  )
const numbers = (values: Values, kind: string) =>
  Object.fromEntries(under(values, kind).map(([name, value]) => [name, Number(value)]))

const set = (of: PaymentProvider, values: Values) =>
  api.call('setProvider', {
    params: { name: of.name },
    body: {
      settings: Object.fromEntries(under(values, 'setting')),
      ...(values['secret'] ? { secret: String(values['secret']) } : {}),
      min_rub: numbers(values, 'min'),
      max_rub: numbers(values, 'max'),
      fee_percent: numbers(values, 'fee'),
    },
  })

function Actions({ of }: { readonly of: PaymentProvider }) {
  const { t } = useMessages(providersMessages)
  const may = useMay()
  const fields = useFields(of)
  const params = { name: of.name }
  const look = { size: 'xs' }
  if (!may('setProvider')) return null
  return (
    <div className="line">
      {fields.length > 0 && (
        <Act
          label={of.state === 'not_set_up' ? t.setUp : t.change}
          title={t.names[of.name] ?? of.name}
          about={<Text component="span">{t.setAbout}</Text>}
          look={look}
          fields={fields}
          run={(values) => set(of, values)}
        />
      )}
      {of.state === 'enabled' && (
        <Act label={t.disable} about={t.disableAbout} look={look} run={() => api.call('disableProvider', { params })} />
      )}
      {of.state === 'disabled' && (
        <Act label={t.enable} look={look} run={() => api.call('enableProvider', { params })} />
      )}
    </div>
  )
}

const dayMs = 86_400_000
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

function ReconcilePanel() {
  const { t } = useMessages(providersMessages)
  const may = useMay()
  const from = useTyped(dayOf(Date.now() - 30 * dayMs))
  const to = useTyped(dayOf(Date.now() + dayMs))
  const start = useChange('startReconcile')
  const state = useRead('getReconcile', {}, { everyMs: 1_000 }).data
  return (
    <Panel title={t.reconcile} className="stack">
      <Text c="dimmed">{t.reconcileAbout}</Text>
      {may('startReconcile') && (
        <Form className="line fields" onSubmit={() => start.mutate({ body: { from: from.text, to: to.text } })}>
          <TextInput type="date" label={t.from} {...from.props} />
          <TextInput type="date" label={t.to} {...to.props} />
          <Button type="submit" variant="default" loading={start.isPending || state?.state === 'running'}>
            {t.compare}
          </Button>
        </Form>
      )}
      <RefusalNotice error={start.error} />
      {state && state.state !== 'never' && <Outcome of={state} />}
    </Panel>
  )
}

function Outcome({ of }: { readonly of: Reconciliation }) {
  const { t, format } = useMessages(providersMessages)
  if (of.state === 'running') return <Progress value={100} animated aria-label={t.comparing} />
  if (of.state === 'failed') {
    return (
      <Notice tone="warn">
        {t.failed} {of.problem}
      </Notice>
    )
  }
  const { length } = of.differences
  return (
    <>
      <Notice tone={length === 0 ? 'good' : 'warn'}>
        {t.compared(format.number(of.compared))} {length === 0 ? t.agree : t.differ(format.number(length))}
      </Notice>
      {length > 0 && (
        <Rows
          label={t.reconcile}
          rows={of.differences}
          keyOf={(row) => `${row.payment_id} ${row.provider_id} ${row.problem}`}
          columns={(column) => [
            column(t.provider, (row) => t.names[row.provider] ?? row.provider),
            column(
              t.payment,
              (row) => <Mono>{row.payment_id}</Mono>,
              (row) => row.payment_id,
            ),
            column(
              t.theirs,
              (row) => <Mono>{row.provider_id}</Mono>,
              (row) => row.provider_id,
            ),
            column.text(t.problem, (row) => row.problem),
          ]}
        />
      )}
    </>
  )
}
