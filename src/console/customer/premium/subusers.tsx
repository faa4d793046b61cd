import { Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Subuser } from '../../client/customer.ts'
import { Act, type ActField, filled, type Values } from '../../shared/act.tsx'
import { go } from '../../shared/browser.ts'
import { Listing } from '../../shared/copy.tsx'
import { Select } from '../../shared/form.tsx'
import { type Format, useMessages } from '../../shared/messages.tsx'
import { Cell, NoSuchPage, OnOff, Page, Panel, Reading, Rows, Status } from '../../shared/parts.tsx'
import { api, useRead } from '../api.ts'
import { MetadataPanel } from '../metadata.tsx'
import { Credentials, Whitelist } from './access.tsx'
import { premiumMessages } from './messages.ts'
import { usePools } from './use-pools.ts'

const bytesPerGigabyte = 1_000_000_000

export const useSubusers = () => useRead('listSubusers', { query: { limit: 500 } })

/** A sub-user's name; the default sub-user has a translated one until it is renamed. */
const nameOf = ({ name, login, is_default }: Subuser, t: { readonly main: string }): string =>
  is_default && name === 'default' ? t.main : name === '' ? login : name

/** Chooses a sub-user, if there are at least two; `everybody` is the option for all of them. */
export function useSubuserChoice(everybody?: string): readonly [id: string | undefined, field: ReactNode] {
  const { t } = useMessages(premiumMessages)
  const all = useSubusers().data?.subusers ?? []
  const [chosen, setChosen] = useState('')
  if (all.length < 2) return [undefined, null]
  const options = all.map(
    (each) => [each.is_default && everybody === undefined ? '' : each.subuser_id, nameOf(each, t)] as const,
  )
  const field = (
    <Select
      label={t.subuser}
      value={chosen}
      options={everybody === undefined ? options : [['', everybody], ...options]}
      onChange={setChosen}
    />
  )
  return [chosen === '' ? undefined : chosen, field]
}

const limits = ['day_limit_bytes', 'month_limit_bytes', 'total_limit_bytes'] as const

/** The fields of a sub-user. Limits are typed in gigabytes; an empty field is no limit. */
function useLimitFields(): (of?: Subuser) => readonly ActField[] {
  const { t } = useMessages(premiumMessages)
  return (of) => [
    { name: 'name', label: t.name, initial: of?.name ?? '', isOptional: true },
    ...limits.map(
      (name): ActField => ({
        name,
        label: t.limits[name],
        kind: 'number',
        initial: of?.[name] === null || of === undefined ? '' : of[name] / bytesPerGigabyte,
        isOptional: true,
      }),
    ),
    { name: 'tunnel_limit', label: t.tunnels, kind: 'number', initial: of?.tunnel_limit ?? '', isOptional: true },
    { name: 'keep_hosts', label: t.keepHosts, kind: 'flag', initial: of?.keep_hosts ?? false },
  ]
}

const toLimits = (values: Values) => ({
  name: String(values['name']),
  keep_hosts: values['keep_hosts'] === true,
  tunnel_limit: values['tunnel_limit'] === '' ? null : Number(values['tunnel_limit']),
  ...Object.fromEntries(
    limits.map((name) => [name, values[name] === '' ? null : Math.round(Number(values[name]) * bytesPerGigabyte)]),
  ),
})

export function SubusersTab() {
  const { t } = useMessages(premiumMessages)
  const subusers = useSubusers()
  return (
    <Panel title={t.subusers} className="stack" aside={<AddSubuser />}>
      <span className="quiet">{t.subusersAbout}</span>
      <Reading of={subusers} height={200}>
        {({ subusers: all }) => <Table rows={all} />}
      </Reading>
    </Panel>
  )
}

function AddSubuser() {
  const { t } = useMessages(premiumMessages)
  const fields = useLimitFields()
  return (
    <Act
      label={t.addSubuser}
      look={{ variant: 'filled' }}
      fields={[...fields(), { name: 'login', label: t.ownLogin, isOptional: true }]}
      run={(values) =>
        api.call('createSubuser', { body: { ...toLimits(values), ...filled({ login: values['login'] }) } })
      }
      show={({ subuser, password }) => <Listing text={`${subuser.login}:${password}`} label={t.credentials} />}
    />
  )
}

function tellLimits(of: Subuser, t: (typeof premiumMessages)['en'], format: Format): string {
  const texts = limits.flatMap((name) => {
    const bytes = of[name]
    return bytes === null ? [] : [t.within[name](format.bytes(bytes))]
  })
  if (of.tunnel_limit !== null) texts.push(t.withinTunnels(format.number(of.tunnel_limit)))
  return texts.length === 0 ? t.noLimits : texts.join(', ')
}

function Table({ rows }: { readonly rows: readonly Subuser[] }) {
  const { t, format } = useMessages(premiumMessages)
  return (
    <Rows
      label={t.subusers}
      rows={rows}
      keyOf={(row) => row.subuser_id}
      columns={(column) => [
        column.text(t.subuser, (row) => (
          <Cell note={row.login} isMono>
            <a href={`#/premium/subusers/${row.subuser_id}`}>{nameOf(row, t)}</a>
          </Cell>
        )),
        column(
          t.status,
          (row) => <OnOff isOn={row.status === 'active'} on={t.active} off={t.blocked} />,
          (row) => row.status === 'active',
        ),
        column.text(t.limitsTitle, (row) => tellLimits(row, t, format)),
        column.value(t.since, (row) => row.created_at, format.day),
      ]}
    />
  )
}

export function SubuserPage({ id }: { readonly id: string }) {
  const subusers = useSubusers()
  return (
    <Reading of={subusers} height={400}>
      {({ subusers: all }) => {
        const found = all.find((each) => each.subuser_id === id)
        return found ? <Shown of={found} others={all.filter((each) => each !== found)} /> : <NoSuchPage />
      }}
    </Reading>
  )
}

type ShownProps = { readonly of: Subuser; readonly others: readonly Subuser[] }

function Shown({ of, others }: ShownProps) {
  const { t } = useMessages(premiumMessages)
  return (
    <Page
      title={nameOf(of, t)}
      about={
        <a href="#/premium/subusers" className="quiet">
          {t.subusers}
        </a>
      }
      actions={<Actions of={of} others={others} />}
    >
      {of.status === 'blocked' && (
        <div className="notice warn">
          <Status tone="bad">{t.blocked}</Status> {t.blockedAbout}
        </div>
      )}
      <div className="halves">
        <Credentials subuser={of.subuser_id} />
        <Whitelist subuser={of.subuser_id} />
      </div>
      <Panel title={t.traffic} className="stack" aside={others.length > 0 && <MoveAct of={of} others={others} />}>
        <Traffic of={of} />
      </Panel>
      <MetadataPanel kind="subuser" id={of.subuser_id} of={of.metadata} />
    </Page>
  )
}

function Actions({ of, others }: ShownProps) {
  const { t } = useMessages(premiumMessages)
  const fields = useLimitFields()
  const subuser_id = of.subuser_id
  const isBlocked = of.status === 'blocked'
  return (
    <>
      <Act
        label={t.changeLimits}
        about={t.limitsAbout}
        fields={fields(of)}
        run={(values) => api.call('updateSubuser', { body: { subuser_id, ...toLimits(values) } })}
      />
      <Act
        label={isBlocked ? t.unblock : t.block}
        about={t.blockAbout}
        run={() => api.call('updateSubuser', { body: { subuser_id, blocked: !isBlocked } })}
      />
      {!of.is_default && (
        <Act
          label={t.deleteSubuser}
          about={t.deleteAbout}
          look={{ color: 'red', variant: 'outline' }}
          fields={[
            {
              name: 'to',
              label: t.heir,
              kind: 'choice',
              options: others.map((each) => [each.is_default ? '' : each.subuser_id, nameOf(each, t)] as const),
              isOptional: true,
            },
          ]}
          run={async ({ to }, key) => {
            const heir = to === '' ? {} : { to_subuser_id: String(to) }
            await api.call('deleteSubuser', { key, body: { subuser_id, ...heir } })
            await go('/premium/subusers')
          }}
        />
      )}
    </>
  )
}

function MoveAct({ of, others }: ShownProps) {
  const { t } = useMessages(premiumMessages)
  const pools = usePools().data ?? []
  const idOf = (each: Subuser) => each.subuser_id
  return (
    <Act
      label={t.moveTraffic}
      about={t.moveAbout}
      fields={[
        {
          name: 'way',
          label: t.moveWay,
          kind: 'choice',
          options: others.flatMap((each) => [
            [`from ${idOf(each)}`, t.moveFrom(nameOf(each, t))] as const,
            [`to ${idOf(each)}`, t.moveTo(nameOf(each, t))] as const,
          ]),
        },
        {
          name: 'pool',
          label: t.pool,
          kind: 'choice',
          options: pools.map(({ pool_type }) => [pool_type, t.pools[pool_type] ?? pool_type] as const),
        },
        { name: 'gb', label: t.amount, kind: 'number' },
      ]}
      run={({ way, pool, gb }, key) => {
        const [direction, other] = String(way).split(' ')
        const [from, to] = direction === 'from' ? [other, idOf(of)] : [idOf(of), other]
        return api.call('moveTraffic', {
          key,
          body: { pool_type: String(pool), gb: Number(gb), from_subuser_id: from, to_subuser_id: to },
        })
      }}
    />
  )
}

function Traffic({ of }: { readonly of: Subuser }) {
  const { t, format } = useMessages(premiumMessages)
  const pools = usePools(of.subuser_id)
  return (
    <Reading of={pools}>
      {(all) => {
        const bought = all.filter((each) => each.purchased_gb > 0)
        if (bought.length === 0) return <Text c="dimmed">{t.noTrafficYet}</Text>
        return (
          <Rows
            label={t.traffic}
            rows={bought}
            keyOf={(row) => row.pool_type}
            columns={(column) => [
              column(t.pool, (row) => t.pools[row.pool_type] ?? row.pool_type),
              column.amount(t.left, (row) => row.traffic_gb, format.gigabytes),
              column.amount(t.used, (row) => row.used_gb, format.gigabytes),
            ]}
          />
        )
      }}
    </Reading>
  )
}
