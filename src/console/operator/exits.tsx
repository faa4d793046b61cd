import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Exit } from '../client/operator.ts'
import { Act, filled } from '../shared/act.tsx'
import { useTyped } from '../shared/form.tsx'
import { messages, pair, useMessages } from '../shared/messages.tsx'
import { Facts, PagedRows, Rows, Status, type Tone } from '../shared/parts.tsx'
import { tradeMessages } from '../shared/trade.ts'
import { api, type OperatorAnswer, usePages, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { Mono, Nothing } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

const exitMessages = messages({
  ...operatorTexts,
  addExit: pair('Add an exit', 'Добавить выход'),
  addExitAbout: pair(
    'Enter either a local address of a gateway or a supplier’s proxy.',
    'Укажите либо адрес шлюза, либо прокси поставщика.',
  ),
  local: pair('Address of a gateway', 'Адрес шлюза'),
  upstream: pair('Supplier’s proxy, such as socks5://host:port', 'Прокси поставщика, например socks5://host:port'),
  user: pair('Supplier login or its template', 'Логин у поставщика или его шаблон'),
  passwordThere: pair('Supplier password', 'Пароль у поставщика'),
  ofGateway: pair('Only by this gateway', 'Только через этот шлюз'),
  templateCountries: pair(
    'Countries of a template: any, or codes separated by commas',
    'Страны шаблона: any или коды через запятую',
  ),
  assign: pair('Assign', 'Закрепить'),
  assignAbout: pair('The gateway that uses the exit.', 'Шлюз, через который работает выход.'),
  anyGateway: pair('Every gateway', 'Любой шлюз'),
  removeExitAbout: pair(
    'Removes the drained exit for good. Its traffic stays in the books.',
    'Удаляет выведенный выход навсегда. Его трафик останется в учёте.',
  ),
  asn: pair('Number of the network (ASN)', 'Номер сети (ASN)'),
  compare: pair('Compare', 'Сравнить'),
  compareAbout: pair(
    'Compares the supplier’s traffic count with the shop’s, by days in UTC.',
    'Сравнивает трафик по данным поставщика и магазина по дням UTC.',
  ),
  firstDay: pair('First day', 'Первый день'),
  lastDay: pair('Last day', 'Последний день'),
  supplied: pair('Gigabytes by the supplier', 'Гигабайт по данным поставщика'),
  here: pair('Shop', 'Магазин'),
  there: pair('Supplier', 'Поставщик'),
  difference: pair('Supplier minus shop', 'Поставщик минус магазин'),
})

const tones: Readonly<Record<string, Tone>> = { serving: 'good', down: 'bad', untried: 'warn' }

/** A longer list has a field to search in it. */
const longList = 10
const firstShown = 20

const order = (of: Exit): string => `${of.pool} ${of.country} ${of.host} ${of.port ?? ''}`

export function Exits() {
  const { t, format } = useMessages(exitMessages)
  const { t: trade } = useMessages(tradeMessages)
  const exits = usePages('listExits', { query: { limit: 100 } })
  const typed = useTyped()
  const wanted = typed.text.toLowerCase()
  const textOf = (row: Exit): string =>
    [row.host, trade.pools[row.pool] ?? row.pool, row.country, format.country(row.country || 'ZZ')].join(' ')
  const shown = exits.data
    ?.filter((row) => textOf(row).toLowerCase().includes(wanted))
    .toSorted((a, b) => order(a).localeCompare(order(b), undefined, { numeric: true }))
  const isLong = (exits.data?.length ?? 0) > longList
  // A hundred cards on a phone are 30 windows long: the button for more shows the rest.
  const [isWhole, setWhole] = useState(false)
  const isCut = !isWhole && wanted === '' && (shown?.length ?? 0) > firstShown
  const part = isCut
    ? { data: shown?.slice(0, firstShown), hasNextPage: true, fetchNextPage: () => setWhole(true) }
    : { data: shown }
  return (
    <>
      {isLong && <TextInput type="search" label={t.search} maw="24rem" mb="sm" {...typed.props} />}
      <PagedRows
        label={t.exits}
        of={{ ...exits, ...part }}
        keyOf={(row) => row.exit_id}
        empty={
          <Nothing icon="globe" isFiltered={wanted !== ''} about={t.noExitsYet}>
            <AddExit />
          </Nothing>
        }
        columns={(column) => [
          column(t.host, (row) => <Mono>{row.port === null ? row.host : `${row.host}:${row.port}`}</Mono>),
          column(t.pool, (row) => trade.pools[row.pool] ?? row.pool),
          column(t.country, (row) => (row.country === '' ? '—' : format.country(row.country))),
          column(t.status, (row) => <Status tone={tones[row.status] ?? 'quiet'}>{t.exitStates[row.status]}</Status>),
          column.text(t.problems, (row) => row.said.flatMap((each) => (each.up ? [] : [each.reason])).join('; ')),
          column.action(t.drain, (row) => <ExitActions of={row} />),
        ]}
      />
    </>
  )
}

function ExitActions({ of }: { readonly of: Exit }) {
  const { t } = useMessages(exitMessages)
  const params = { exit_id: of.exit_id }
  const look = { size: 'compact-sm' } as const
  const isDrained = of.drained_at !== null
  const gateways: readonly (readonly [string, string])[] = [['', t.anyGateway], ...useGateways()]
  return (
    <span className="line row-actions wraps">
      {of.kind !== 'local' && (
        <Act
          label={t.compare}
          about={t.compareAbout}
          look={look}
          fields={[
            { name: 'from', label: t.firstDay, kind: 'date' },
            { name: 'to', label: t.lastDay, kind: 'date' },
            { name: 'supplied', label: t.supplied, kind: 'number' },
          ]}
          run={({ from, to, supplied }) => {
            const supplied_bytes = Math.round(Number(supplied) * 1e9)
            return api.call('compareExit', { params, body: { from: String(from), to: String(to), supplied_bytes } })
          }}
          show={(done) => <Compared of={done} />}
        />
      )}
      <RoleAct
        operation="drainExit"
        label={isDrained ? t.undrain : t.drain}
        look={look}
        run={() => api.call('drainExit', { params, body: { undo: isDrained } })}
      />
      <RoleAct
        operation="assignExit"
        label={t.assign}
        about={t.assignAbout}
        look={look}
        fields={[{ name: 'node', label: t.gateway, kind: 'choice', options: gateways, isOptional: true }]}
        run={({ node }) =>
          api.call('assignExit', { params, body: node === '' ? { any: true } : { node: String(node) } })
        }
      />
      {isDrained && (
        <RoleAct
          operation="removeExit"
          label={t.remove}
          about={t.removeExitAbout}
          look={{ ...look, color: 'red', variant: 'outline' }}
          run={() => api.call('removeExit', { params })}
        />
      )}
    </span>
  )
}

/** The shop's count beside the supplier's. */
function Compared({ of }: { readonly of: OperatorAnswer<'compareExit'> }) {
  const { t, format } = useMessages(exitMessages)
  const percent = of.difference_percent === null ? '' : ` (${format.percent(of.difference_percent)})`
  const difference = `${of.difference_bytes < 0 ? '−' : ''}${format.bytes(Math.abs(of.difference_bytes))}${percent}`
  const activeDays = of.days.filter((each) => each.carried_bytes > 0)
  return (
    <>
      <Facts
        of={[
          [t.here, format.bytes(of.carried_bytes)],
          [t.there, format.bytes(of.supplied_bytes)],
          [t.difference, difference],
        ]}
      />
      {activeDays.length > 0 && (
        <Rows
          label={t.here}
          rows={activeDays}
          keyOf={(row) => row.day}
          columns={(column) => [
            column.value(t.day, (row) => row.day, format.day),
            column.amount(t.here, (row) => row.carried_bytes, format.bytes),
          ]}
        />
      )}
    </>
  )
}

/** The gateways as options of a choice. */
const useGateways = () =>
  (useRead('listNodes').data?.items ?? []).flatMap(({ kind, name }) =>
    kind === 'gateway' ? [[name, name] as const] : [],
  )

export function AddExit() {
  const { t } = useMessages(exitMessages)
  const { t: trade } = useMessages(tradeMessages)
  const pools = useRead('listPools').data?.items ?? []
  const poolOptions = pools.map(({ pool }) => [pool, trade.pools[pool] ?? pool] as const)
  const gatewayOptions = useGateways()
  return (
    <RoleAct
      operation="addExit"
      label={t.addExit}
      about={t.addExitAbout}
      look={{ size: 'xs' }}
      fields={[
        { name: 'pool', label: t.pool, kind: 'choice', options: poolOptions },
        { name: 'local', label: t.local, isOptional: true },
        { name: 'upstream', label: t.upstream, isOptional: true },
        { name: 'username', label: t.user, isOptional: true },
        { name: 'password', label: t.passwordThere, kind: 'secret', isOptional: true },
        { name: 'countries', label: t.templateCountries, isOptional: true },
        { name: 'country', label: t.countryCode, isOptional: true },
        { name: 'city', label: t.city, isOptional: true },
        { name: 'asn', label: t.asn, kind: 'number', isOptional: true },
        { name: 'node', label: t.ofGateway, kind: 'choice', options: [['', '—'], ...gatewayOptions], isOptional: true },
      ]}
      run={({ pool, asn, ...typed }) =>
        api.call('addExit', {
          body: { pool: String(pool), ...filled(typed), ...(asn !== '' && { asn: Number(asn) }) },
        })
      }
      show={({ host }) => (
        <Text>
          {t.done}: {host}
        </Text>
      )}
    />
  )
}
