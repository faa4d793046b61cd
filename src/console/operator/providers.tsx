import { Text } from '@mantine/core'
import type { PaymentProvider } from '../client/operator.ts'
import { Act, type Field, type Values } from '../shared/act.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { methodNames } from '../shared/method-names.ts'
import { Facts, Panel, Reading, Status, type Tone } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { api, useMay, useRead } from './api.ts'
import { providersWords } from './providers-words.ts'
import { ReconcilePanel } from './reconcile.tsx'

/** A provider’s health changes by itself, and after a comparison that began a while ago. */
const healthEveryMs = 5_000

export function ProvidersTab() {
  const found = useRead('listProviders', {}, { everyMs: healthEveryMs })
  return (
    <>
      <Reading of={found} height={400}>
        {({ items }) => items.map((each) => <Provider key={each.name} of={each} />)}
      </Reading>
      <ReconcilePanel />
    </>
  )
}

const tones: Readonly<Record<PaymentProvider['state'], Tone>> = {
  enabled: 'good',
  disabled: 'warn',
  not_set_up: 'quiet',
}

function Provider({ of }: { readonly of: PaymentProvider }) {
  const words = useWords(providersWords)
  return (
    <Panel
      title={words.names[of.name] ?? of.name}
      aside={<Status tone={tones[of.state]}>{words.states[of.state]}</Status>}
      className="stack"
    >
      {of.state !== 'not_set_up' && <Shown of={of} />}
      <Actions of={of} />
    </Panel>
  )
}

function Shown({ of }: { readonly of: PaymentProvider }) {
  const words = useWords(providersWords)
  const names = useWords(methodNames)
  const format = useFormat()
  const unmatched = useRead('listUnmatched').data?.items.filter((each) => each.provider === of.name).length ?? 0
  return (
    <>
      <Facts
        of={[
          ...Object.entries(of.settings).map(([name, value]) => [name, <span className="mono">{value}</span>] as const),
          ...(of.wants_secret ? [[words.secret, words.sealed] as const] : []),
          ...(of.health ? [[words.health, <Health key="health" of={of.health} />] as const] : []),
          ...(of.health
            ? [
                [
                  words.unmatched,
                  unmatched === 0 ? words.none : <a href="#/payments">{words.waiting(format.number(unmatched))}</a>,
                ] as const,
              ]
            : []),
        ]}
      />
      <Rows
        label={`${words.methods}: ${words.names[of.name] ?? of.name}`}
        rows={of.methods}
        keyOf={(row) => row.method}
        columns={[
          { name: 'method', label: words.method, show: (row) => names[row.method] ?? row.method },
          { name: 'min', label: words.min, isFigure: true, show: (row) => format.money(row.min_rub) },
          { name: 'max', label: words.max, isFigure: true, show: (row) => format.money(row.max_rub) },
          { name: 'fee', label: words.fee, isFigure: true, show: (row) => `${format.number(row.fee_percent)} %` },
        ]}
      />
    </>
  )
}

/** How it has answered since the shop was started. */
function Health({ of }: { readonly of: NonNullable<PaymentProvider['health']> }) {
  const words = useWords(providersWords)
  const format = useFormat()
  const { answered_at: answered, failed_at: failed, failure } = of
  if (answered === null && failed === null) return <Status tone="quiet">{words.unasked}</Status>
  const isFailing = failed !== null && (answered === null || answered < failed)
  return (
    <span>
      {isFailing ? (
        <Status tone="bad">{words.failures[failure ?? 'unavailable']}</Status>
      ) : (
        <Status tone="good">{words.answers}</Status>
      )}
      <small>{format.moment((isFailing ? failed : answered) ?? '')}</small>
    </span>
  )
}

/** What may be said of a provider: what it wants to know, its secret, and the bounds of each method. */
function fieldsOf(of: PaymentProvider, words: (typeof providersWords)['en'], names: Readonly<Record<string, string>>) {
  const wanted = of.wants.map(
    (each): Field => ({
      name: `setting ${each.name}`,
      label: `${each.name}: ${words.settings[each.name] ?? each.meaning}`,
      initial: of.settings[each.name] ?? '',
      isOptional: !each.required,
    }),
  )
  const secret: Field = {
    name: 'secret',
    label: of.state === 'not_set_up' ? words.secret : words.secretAgain,
    kind: 'secret',
    isOptional: of.state !== 'not_set_up',
  }
  const bounds = of.methods.flatMap((each): Field[] => {
    const label = (what: string) => `${names[each.method] ?? each.method}: ${what}`
    return [
      { name: `min ${each.method}`, label: label(words.min), kind: 'number', initial: each.min_rub },
      { name: `max ${each.method}`, label: label(words.max), kind: 'number', initial: each.max_rub },
      { name: `fee ${each.method}`, label: label(words.fee), kind: 'number', initial: each.fee_percent },
    ]
  })
  return [...wanted, ...(of.wants_secret ? [secret] : []), ...bounds]
}

/** The values of fields whose names begin alike, under the rest of their names; what is empty is not said. */
const under = (values: Values, kind: string): readonly (readonly [string, string])[] =>
  Object.entries(values).flatMap(([name, value]) =>
    name.startsWith(`${kind} `) && value !== '' ? [[name.slice(kind.length + 1), String(value)] as const] : [],
  )
const numbers = (pairs: ReturnType<typeof under>) =>
  Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)]))

const set = (of: PaymentProvider, values: Values) =>
  api.call('setProvider', {
    params: { name: of.name },
    body: {
      settings: Object.fromEntries(under(values, 'setting')),
      ...(values['secret'] ? { secret: String(values['secret']) } : {}),
      min_rub: numbers(under(values, 'min')),
      max_rub: numbers(under(values, 'max')),
      fee_percent: numbers(under(values, 'fee')),
    },
  })

function Actions({ of }: { readonly of: PaymentProvider }) {
  const words = useWords(providersWords)
  const names = useWords(methodNames)
  const may = useMay()
  const params = { name: of.name }
  if (!may('setProvider')) return null
  const fields = fieldsOf(of, words, names)
  return (
    <div className="line">
      {fields.length > 0 && (
        <Act
          label={of.state === 'not_set_up' ? words.setUp : words.change}
          about={<Text component="span">{words.setAbout}</Text>}
          look={{ size: 'xs' }}
          fields={fields}
          run={(values) => set(of, values)}
        />
      )}
      {of.state === 'enabled' && (
        <Act
          label={words.disable}
          about={words.disableAbout}
          look={{ size: 'xs' }}
          run={() => api.call('disableProvider', { params })}
        />
      )}
      {of.state === 'disabled' && (
        <Act label={words.enable} look={{ size: 'xs' }} run={() => api.call('enableProvider', { params })} />
      )}
    </div>
  )
}
