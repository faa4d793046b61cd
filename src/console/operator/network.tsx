import type { Node } from '../client/operator.ts'
import { Act } from '../shared/act.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { useNow } from '../shared/now.ts'
import { Empty, Page, Panel, Reading, Status } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { tradeWords } from '../shared/trade-words.ts'
import { api, useMay, useRead } from './api.ts'
import { OnceShown } from './customer.tsx'
import { AddExit, Exits } from './exits.tsx'
import { operatorWords } from './words.ts'

const everyMs = 5_000

export function NetworkPage() {
  const words = useWords(operatorWords)
  const may = useMay()
  return (
    <Page title={words.network} actions={may('addNode') && <AddNode />}>
      <Panel title={words.nodes}>
        <NodesTable hasActions />
      </Panel>
      <Panel title={words.pools}>
        <Pools />
      </Panel>
      <Panel title={words.exits} aside={may('addExit') && <AddExit />}>
        <Exits />
      </Panel>
    </Page>
  )
}

function NodeStatus({ node }: { readonly node: Node }) {
  const words = useWords(operatorWords)
  if (node.state === 'closed') return <Status tone="quiet">{words.closed}</Status>
  if (node.state === 'offline') return <Status tone="bad">{words.offline}</Status>
  return (
    <Status tone={node.drained_at === null ? 'good' : 'warn'}>
      {node.drained_at === null ? words.online : words.draining}
    </Status>
  )
}

/** Who carries traffic, and how it goes there. */
export function NodesTable({ hasActions = false }: { readonly hasActions?: boolean }) {
  const words = useWords(operatorWords)
  const format = useFormat()
  const nowAt = useNow(everyMs)
  const may = useMay()
  const nodes = useRead('listNodes', {}, { everyMs })
  const actions = {
    name: 'actions',
    label: words.open,
    isUnlabelled: true,
    show: (row: Node) => <NodeActions node={row} />,
  }
  return (
    <Reading of={nodes}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty icon="nodes" title={words.none} about={words.noneAbout} />
        ) : (
          <Rows
            label={words.nodes}
            rows={items}
            keyOf={(row) => row.node_id}
            columns={[
              {
                name: 'name',
                label: words.name,
                show: (row) => (
                  <span>
                    {row.name}
                    <small>{[words.nodeKinds[row.kind], row.location].filter((each) => each !== '').join(' · ')}</small>
                  </span>
                ),
              },
              { name: 'status', label: words.status, show: (row) => <NodeStatus node={row} /> },
              {
                name: 'lag',
                label: words.lag,
                isFigure: true,
                show: (row) => (row.lag_ms === null ? '—' : words.ms(format.number(row.lag_ms))),
              },
              {
                name: 'tunnels',
                label: words.tunnels,
                isFigure: true,
                show: (row) => (row.tunnels === null ? '—' : format.number(row.tunnels)),
              },
              {
                name: 'carried',
                label: words.carried,
                isFigure: true,
                show: (row) => (row.carried_bytes === null ? '—' : format.bytes(row.carried_bytes)),
              },
              {
                name: 'seen',
                label: words.seen,
                show: (row) =>
                  row.last_seen_at === null
                    ? words.never
                    : format.away(row.last_seen_at, Math.max(nowAt, Date.parse(row.last_seen_at))),
              },
              ...(hasActions && may('closeNode') ? [actions] : []),
            ]}
          />
        )
      }
    </Reading>
  )
}

function NodeActions({ node }: { readonly node: Node }) {
  const words = useWords(operatorWords)
  const params = { name: node.name }
  const isClosed = node.state === 'closed'
  const isDrained = node.drained_at !== null
  const look = { size: 'compact-sm' } as const
  return (
    <span className="line row-actions">
      <Act
        label={isDrained ? words.undo : words.drain}
        about={words.drainAbout}
        look={look}
        run={() => api.call('drainNode', { params, body: { undo: isDrained } })}
      />
      <Act
        label={isClosed ? words.open : words.close}
        about={words.closeAbout}
        look={look}
        run={() => api.call(isClosed ? 'openNode' : 'closeNode', { params })}
      />
    </span>
  )
}

function AddNode() {
  const words = useWords(operatorWords)
  return (
    <Act
      label={words.addNode}
      look={{ variant: 'filled' }}
      fields={[
        { name: 'name', label: words.name },
        {
          name: 'kind',
          label: words.kind,
          kind: 'choice',
          options: [
            ['gateway', words.nodeKinds.gateway],
            ['vpn', words.nodeKinds.vpn],
          ],
        },
        { name: 'location', label: words.place, isOptional: true },
      ]}
      run={({ name, kind, location }) =>
        api.call('addNode', {
          body: {
            name: String(name),
            kind: kind as 'gateway' | 'vpn',
            ...(location !== '' && { location: String(location) }),
          },
        })
      }
      show={({ command }) => <OnceShown text={command} about={words.nodeKey} />}
    />
  )
}

function Pools() {
  const words = useWords(operatorWords)
  const trade = useWords(tradeWords)
  const format = useFormat()
  const pools = useRead('listPools')
  return (
    <Reading of={pools}>
      {({ items }) => (
        <Rows
          label={words.pools}
          rows={items}
          keyOf={(row) => row.pool}
          columns={[
            { name: 'pool', label: words.pool, show: (row) => trade.pools[row.pool] ?? row.pool },
            {
              name: 'price',
              label: words.fromPrice,
              isFigure: true,
              show: (row) => format.money(row.from_rub_per_gb),
            },
            { name: 'exits', label: words.exits, isFigure: true, show: (row) => format.number(row.exits) },
            { name: 'serving', label: words.serving, isFigure: true, show: (row) => format.number(row.serving) },
          ]}
        />
      )}
    </Reading>
  )
}
