import { Text } from '@mantine/core'
import type { Exit } from '../client/operator.ts'
import { Act } from '../shared/act.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Paged } from '../shared/paged.tsx'
import { Empty, Facts, Status, type Tone } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { tradeWords } from '../shared/trade-words.ts'
import { type Answer, api, useMay, usePages, useRead } from './api.ts'
import { thingsWords } from './things-words.ts'
import { operatorWords } from './words.ts'

const bytesInGigabyte = 1_000_000_000

const tones: Readonly<Record<string, Tone>> = { serving: 'good', down: 'bad', untried: 'warn' }

/** Where premium traffic leaves, and how each exit is. */
export function Exits() {
  const words = useWords(operatorWords)
  const trade = useWords(tradeWords)
  const format = useFormat()
  const exits = usePages('listExits', { query: { limit: 20 } })
  return (
    <Paged of={exits}>
      {(items) =>
        items.length === 0 ? (
          <Empty icon="globe" title={words.none} about={words.noneAbout} />
        ) : (
          <Rows
            label={words.exits}
            rows={items}
            keyOf={(row) => row.exit_id}
            columns={[
              {
                name: 'host',
                label: words.host,
                show: (row) => <span className="mono">{row.port === null ? row.host : `${row.host}:${row.port}`}</span>,
              },
              { name: 'pool', label: words.pool, show: (row) => trade.pools[row.pool] ?? row.pool },
              {
                name: 'country',
                label: words.country,
                show: (row) => (row.country === '' ? '—' : format.country(row.country)),
              },
              {
                name: 'status',
                label: words.status,
                show: (row) => <Status tone={tones[row.status] ?? 'quiet'}>{words.exitStates[row.status]}</Status>,
              },
              {
                name: 'said',
                label: words.problems,
                isText: true,
                show: (row) => row.said.flatMap((each) => (each.up ? [] : [each.reason])).join('; '),
              },
              {
                name: 'actions',
                label: words.drain,
                isUnlabelled: true,
                show: (row) => <ExitActions of={row} />,
              },
            ]}
          />
        )
      }
    </Paged>
  )
}

function ExitActions({ of }: { readonly of: Exit }) {
  const words = useWords(operatorWords)
  const things = useWords(thingsWords)
  const may = useMay()
  const params = { exit_id: of.exit_id }
  const look = { size: 'compact-sm' } as const
  const isDrained = of.drained_at !== null
  return (
    <span className="line row-actions">
      {of.kind !== 'local' && (
        <Act
          label={things.compare}
          about={things.compareAbout}
          look={look}
          fields={[
            { name: 'from', label: things.firstDay, kind: 'date' },
            { name: 'to', label: things.lastDay, kind: 'date' },
            { name: 'supplied', label: things.supplied, kind: 'number' },
          ]}
          run={({ from, to, supplied }) =>
            api.call('compareExit', {
              params,
              body: {
                from: String(from),
                to: String(to),
                supplied_bytes: Math.round(Number(supplied) * bytesInGigabyte),
              },
            })
          }
          show={(done) => <Compared of={done} />}
        />
      )}
      {may('drainExit') && (
        <Act
          label={isDrained ? words.undo : words.drain}
          look={look}
          run={() => api.call('drainExit', { params, body: { undo: isDrained } })}
        />
      )}
    </span>
  )
}

/** The two books, one beside the other. */
function Compared({ of }: { readonly of: Answer<'compareExit'> }) {
  const things = useWords(thingsWords)
  const format = useFormat()
  const percent = of.difference_percent === null ? '' : ` (${format.number(of.difference_percent)} %)`
  const carried = of.days.filter((each) => each.carried_bytes > 0)
  return (
    <>
      <Facts
        of={[
          [things.here, format.bytes(of.carried_bytes)],
          [things.there, format.bytes(of.supplied_bytes)],
          [
            things.difference,
            `${of.difference_bytes < 0 ? '−' : ''}${format.bytes(Math.abs(of.difference_bytes))}${percent}`,
          ],
        ]}
      />
      {carried.length > 0 && (
        <Rows
          label={things.here}
          rows={carried}
          keyOf={(row) => row.day}
          columns={[
            { name: 'day', label: things.day, show: (row) => format.day(row.day) },
            { name: 'here', label: things.here, isFigure: true, show: (row) => format.bytes(row.carried_bytes) },
          ]}
        />
      )}
    </>
  )
}

export function AddExit() {
  const words = useWords(operatorWords)
  const trade = useWords(tradeWords)
  const things = useWords(thingsWords)
  const pools = useRead('listPools').data?.items ?? []
  const gateways = useRead('listNodes').data?.items.filter((each) => each.kind === 'gateway') ?? []
  return (
    <Act
      label={things.addExit}
      about={things.addExitAbout}
      look={{ size: 'xs' }}
      fields={[
        {
          name: 'pool',
          label: words.pool,
          kind: 'choice',
          options: pools.map(({ pool }) => [pool, trade.pools[pool] ?? pool] as const),
        },
        { name: 'local', label: things.local, isOptional: true },
        { name: 'upstream', label: things.upstream, isOptional: true },
        { name: 'username', label: things.user, isOptional: true },
        { name: 'password', label: things.password, kind: 'secret', isOptional: true },
        { name: 'countries', label: things.templateCountries, isOptional: true },
        { name: 'country', label: things.country, isOptional: true },
        { name: 'city', label: things.city, isOptional: true },
        { name: 'asn', label: things.asn, kind: 'number', isOptional: true },
        {
          name: 'node',
          label: things.ofGateway,
          kind: 'choice',
          options: [['', '—'], ...gateways.map(({ name }) => [name, name] as const)],
          isOptional: true,
        },
      ]}
      run={({ pool, asn, ...typed }) => {
        const said = Object.entries(typed).flatMap(([name, value]) =>
          value === '' ? [] : [[name, String(value)] as const],
        )
        return api.call('addExit', {
          body: {
            pool: String(pool),
            ...(Object.fromEntries(said) as Readonly<Record<string, string>>),
            ...(asn !== '' && { asn: Number(asn) }),
          },
        })
      }}
      show={({ host }) => (
        <Text>
          {words.done}: {host}
        </Text>
      )}
    />
  )
}
