import type { ReactNode } from 'react'
import type { Node } from '../client/operator.ts'
import { useNow } from '../shared/browser.ts'
import { useMessages } from '../shared/messages.tsx'
import { Cell, ReadRows, Status } from '../shared/parts.tsx'
import { useMay, useRead } from './api.ts'
import { operatorMessages } from './messages.ts'
import { Nothing } from './parts.tsx'

const everyMs = 5_000
const minuteMs = 60_000

export function NodeStatus({ node }: { readonly node: Node }) {
  const { t } = useMessages(operatorMessages)
  if (node.state === 'closed') return <Status tone="quiet">{t.closed}</Status>
  if (node.state === 'offline' && node.last_seen_at === null) return <Status tone="quiet">{t.neverStarted}</Status>
  if (node.state === 'offline') return <Status tone="bad">{t.offline}</Status>
  return node.drained_at === null ? <Status tone="good">{t.online}</Status> : <Status tone="warn">{t.draining}</Status>
}

type NodesTableProps = {
  /** Shown in each row to an operator who may close nodes. */
  readonly actionsOf?: (node: Node) => ReactNode
}

export function NodesTable({ actionsOf }: NodesTableProps) {
  const { t, format } = useMessages(operatorMessages)
  const nowAt = useNow(everyMs)
  const may = useMay()
  const nodes = useRead('listNodes', {}, { everyMs })
  const orDash = (value: number | null, write: (value: number) => string) => (value === null ? '—' : write(value))
  return (
    <ReadRows
      label={t.nodes}
      of={nodes}
      keyOf={(row) => row.node_id}
      empty={<Nothing icon="nodes" about={t.noNodesYet} />}
      columns={(column) => [
        column(t.name, (row) => (
          <Cell note={[t.nodeKinds[row.kind], row.location].filter((each) => each !== '').join(' · ')}>
            <a href={`#/network/${row.name}`}>{row.name}</a>
          </Cell>
        )),
        column(t.status, (row) => <NodeStatus node={row} />),
        column.number(t.lag, (row) =>
          orDash(row.state === 'online' ? row.lag_ms : null, (ms) => t.ms(format.number(ms))),
        ),
        column.number(t.tunnels, (row) => orDash(row.state === 'online' ? row.tunnels : null, format.number)),
        column.number(t.relayed, (row) => orDash(row.carried_bytes, format.bytes)),
        column(t.seen, (row) =>
          row.last_seen_at === null
            ? t.never
            : format.away(
                row.last_seen_at,
                Math.max(nowAt, Date.parse(row.last_seen_at) + (row.state === 'online' ? 0 : minuteMs)),
              ),
        ),
        ...(actionsOf && may('closeNode') ? [column.action(t.open, actionsOf)] : []),
      ]}
    />
  )
}
