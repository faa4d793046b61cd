import { NativeSelect } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Subuser } from '../../client/customer.ts'
import { Act, type Field, type Values } from '../../shared/act.tsx'
import { Listing } from '../../shared/copy.tsx'
import { type Format, useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { Panel, Reading, Status } from '../../shared/parts.tsx'
import { Rows } from '../../shared/rows.tsx'
import { api, useRead } from '../api.ts'
import { premiumWords } from './words.ts'

const bytesInGigabyte = 1_000_000_000
const mostShown = 500

/** Everybody who has traffic of his own. */
export const useSubusers = () => useRead('listSubusers', { query: { limit: mostShown } })

/** What a sub-user is called; the one that everybody has is called so by the shop. */
export const nameOf = ({ name, login, is_default }: Subuser, words: { readonly main: string }): string =>
  is_default && name === 'default' ? words.main : name === '' ? login : name

/** Whose traffic it is about, where there is more than one to choose from; `everybody` is the word for all of them. */
export function useSubuserChoice(everybody?: string): readonly [id: string | undefined, field: ReactNode] {
  const words = useWords(premiumWords)
  const all = useSubusers().data?.subusers ?? []
  const [chosen, setChosen] = useState('')
  if (all.length < 2) return [undefined, null]
  const field = (
    <NativeSelect
      label={words.subuser}
      value={chosen}
      data={[
        ...(everybody === undefined ? [] : [{ value: '', label: everybody }]),
        ...all.map((each) => ({
          value: each.is_default && everybody === undefined ? '' : each.subuser_id,
          label: nameOf(each, words),
        })),
      ]}
      onChange={(event) => setChosen(event.currentTarget.value)}
    />
  )
  return [chosen === '' ? undefined : chosen, field]
}

const limits = ['day_limit_bytes', 'month_limit_bytes', 'total_limit_bytes'] as const

/** What a sub-user is made with, or changed to. Limits are typed in gigabytes; nothing typed is no limit. */
export function useLimitFields(): (of?: Subuser) => readonly Field[] {
  const words = useWords(premiumWords)
  return (of) => [
    { name: 'name', label: words.subuserName, initial: of?.name ?? '', isOptional: true },
    ...limits.map(
      (name): Field => ({
        name,
        label: words.limits[name],
        kind: 'number',
        initial: of?.[name] === null || of === undefined ? '' : of[name] / bytesInGigabyte,
        isOptional: true,
      }),
    ),
    { name: 'tunnel_limit', label: words.tunnels, kind: 'number', initial: of?.tunnel_limit ?? '', isOptional: true },
    { name: 'keep_hosts', label: words.keepHosts, kind: 'flag', initial: of?.keep_hosts ?? true },
  ]
}

export const toLimits = (values: Values) => ({
  name: String(values['name']),
  keep_hosts: values['keep_hosts'] === true,
  tunnel_limit: values['tunnel_limit'] === '' ? null : Number(values['tunnel_limit']),
  ...Object.fromEntries(
    limits.map((name) => [name, values[name] === '' ? null : Math.round(Number(values[name]) * bytesInGigabyte)]),
  ),
})

export function SubusersTab() {
  const words = useWords(premiumWords)
  const subusers = useSubusers()
  return (
    <Panel title={words.subusers} className="stack" aside={<AddSubuser />}>
      <span className="quiet">{words.subusersAbout}</span>
      <Reading of={subusers} height={200}>
        {({ subusers: all }) => <Table rows={all} />}
      </Reading>
    </Panel>
  )
}

function AddSubuser() {
  const words = useWords(premiumWords)
  const fields = useLimitFields()
  return (
    <Act
      label={words.addSubuser}
      look={{ variant: 'filled' }}
      fields={[...fields(), { name: 'login', label: words.ownLogin, isOptional: true }]}
      run={(values) =>
        api.call('createSubuser', {
          body: { ...toLimits(values), ...(values['login'] !== '' && { login: String(values['login']) }) },
        })
      }
      show={({ subuser, password }) => <Listing text={`${subuser.login}:${password}`} label={words.credentials} />}
    />
  )
}

/** The limits of a sub-user in few words. */
function tellLimits(of: Subuser, words: (typeof premiumWords)['en'], format: Format): string {
  const told = limits.flatMap((name) => {
    const bytes = of[name]
    return bytes === null ? [] : [words.within[name](format.bytes(bytes))]
  })
  if (of.tunnel_limit !== null) told.push(words.withinTunnels(format.number(of.tunnel_limit)))
  return told.length === 0 ? words.noLimits : told.join(', ')
}

function Table({ rows }: { readonly rows: readonly Subuser[] }) {
  const words = useWords(premiumWords)
  const format = useFormat()
  return (
    <Rows
      label={words.subusers}
      rows={rows}
      keyOf={(row) => row.subuser_id}
      columns={[
        {
          name: 'name',
          label: words.subuser,
          isText: true,
          show: (row) => (
            <span>
              <a href={`#/premium/subusers/${row.subuser_id}`}>{nameOf(row, words)}</a>
              <small className="mono">{row.login}</small>
            </span>
          ),
        },
        {
          name: 'status',
          label: words.status,
          show: (row) => (
            <Status tone={row.status === 'active' ? 'good' : 'bad'}>
              {row.status === 'active' ? words.active : words.blocked}
            </Status>
          ),
        },
        { name: 'limits', label: words.limitsTitle, isText: true, show: (row) => tellLimits(row, words, format) },
        { name: 'since', label: words.since, show: (row) => format.day(row.created_at) },
      ]}
    />
  )
}
