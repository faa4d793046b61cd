import { Text } from '@mantine/core'
import type { Subuser } from '../../client/customer.ts'
import { Act } from '../../shared/act.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { NoSuchPage } from '../../shared/no-such-page.tsx'
import { Page, Panel, Reading, Status } from '../../shared/parts.tsx'
import { go } from '../../shared/route.ts'
import { Rows } from '../../shared/rows.tsx'
import { api } from '../api.ts'
import { Credentials, Whitelist } from './access.tsx'
import { usePools } from './pools.tsx'
import { nameOf, toLimits, useLimitFields, useSubusers } from './subusers.tsx'
import { premiumWords } from './words.ts'

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
  const words = useWords(premiumWords)
  return (
    <Page
      title={nameOf(of, words)}
      about={
        <a href="#/premium/subusers" className="quiet">
          {words.subusers}
        </a>
      }
      actions={<Actions of={of} others={others} />}
    >
      {of.status === 'blocked' && (
        <div className="notice warn">
          <Status tone="bad">{words.blocked}</Status> {words.blockedAbout}
        </div>
      )}
      <div className="halves">
        <Credentials subuser={of.subuser_id} />
        <Whitelist subuser={of.subuser_id} />
      </div>
      <Panel title={words.traffic} className="stack" aside={others.length > 0 && <MoveAct of={of} others={others} />}>
        <Traffic of={of} />
      </Panel>
    </Page>
  )
}

function Actions({ of, others }: ShownProps) {
  const words = useWords(premiumWords)
  const fields = useLimitFields()
  const subuser_id = of.subuser_id
  const isBlocked = of.status === 'blocked'
  return (
    <>
      <Act
        label={words.changeLimits}
        about={words.limitsAbout}
        fields={fields(of)}
        run={(values) => api.call('updateSubuser', { body: { subuser_id, ...toLimits(values) } })}
      />
      <Act
        label={isBlocked ? words.unblock : words.block}
        about={words.blockAbout}
        run={() => api.call('updateSubuser', { body: { subuser_id, blocked: !isBlocked } })}
      />
      {!of.is_default && (
        <Act
          label={words.deleteSubuser}
          about={words.deleteAbout}
          look={{ color: 'red', variant: 'outline' }}
          fields={[
            {
              name: 'to',
              label: words.heir,
              kind: 'choice',
              options: others.map((each) => [each.is_default ? '' : each.subuser_id, nameOf(each, words)] as const),
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

/** Traffic is bought for oneself and handed on; a sub-user may hand it on too. */
function MoveAct({ of, others }: ShownProps) {
  const words = useWords(premiumWords)
  const pools = usePools().data ?? []
  const idOf = (each: Subuser) => each.subuser_id
  return (
    <Act
      label={words.moveTraffic}
      about={words.moveAbout}
      fields={[
        {
          name: 'way',
          label: words.moveWay,
          kind: 'choice',
          options: others.flatMap((each) => [
            [`from ${idOf(each)}`, words.moveFrom(nameOf(each, words))] as const,
            [`to ${idOf(each)}`, words.moveTo(nameOf(each, words))] as const,
          ]),
        },
        {
          name: 'pool',
          label: words.pool,
          kind: 'choice',
          options: pools.map(({ pool_type }) => [pool_type, words.pools[pool_type] ?? pool_type] as const),
        },
        { name: 'gb', label: words.amount, kind: 'number' },
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
  const words = useWords(premiumWords)
  const format = useFormat()
  const pools = usePools(of.subuser_id)
  return (
    <Reading of={pools}>
      {(all) => {
        const bought = all.filter((each) => each.purchased_gb > 0)
        if (bought.length === 0) return <Text c="dimmed">{words.noTrafficYet}</Text>
        return (
          <Rows
            label={words.traffic}
            rows={bought}
            keyOf={(row) => row.pool_type}
            columns={[
              { name: 'pool', label: words.pool, show: (row) => words.pools[row.pool_type] ?? row.pool_type },
              { name: 'left', label: words.left, isFigure: true, show: (row) => format.gigabytes(row.traffic_gb) },
              { name: 'used', label: words.used, isFigure: true, show: (row) => format.gigabytes(row.used_gb) },
            ]}
          />
        )
      }}
    </Reading>
  )
}
