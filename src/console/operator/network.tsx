import type { Node } from '../client/operator.ts'
import { filled } from '../shared/act.tsx'
import { useMessages } from '../shared/messages.tsx'
import { Page, Panel, ReadRows } from '../shared/parts.tsx'
import { protocolNames, tradeMessages } from '../shared/trade.ts'
import { api, useRead } from './api.ts'
import { AddExit, Exits } from './exits.tsx'
import { LiveMap } from './map.tsx'
import { operatorMessages } from './messages.ts'
import { NodesTable } from './nodes-table.tsx'
import { OnceShown } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

export function NetworkPage() {
  const { t } = useMessages(operatorMessages)
  return (
    <Page title={t.network} actions={<AddNode />}>
      <Panel title={t.nodes}>
        <NodesTable actionsOf={(node) => <NodeActions node={node} isInRow />} />
      </Panel>
      <LiveMap />
      <Panel title={t.vpnUsage}>
        <VpnUsage />
      </Panel>
      <Panel title={t.pools}>
        <Pools />
      </Panel>
      <Panel title={t.exits} aside={<AddExit />}>
        <Exits />
      </Panel>
    </Page>
  )
}

export function NodeActions({ node, isInRow = false }: { readonly node: Node; readonly isInRow?: boolean }) {
  const { t } = useMessages(operatorMessages)
  const params = { name: node.name }
  const isClosed = node.state === 'closed'
  const isDrained = node.drained_at !== null
  const look = isInRow ? ({ size: 'compact-sm' } as const) : {}
  return (
    <span className="line row-actions">
      <RoleAct
        operation="drainNode"
        label={isDrained ? t.undrain : t.drain}
        about={isDrained ? t.undrainAbout : t.drainAbout}
        look={look}
        run={() => api.call('drainNode', { params, body: { undo: isDrained } })}
      />
      <RoleAct
        operation="closeNode"
        label={isClosed ? t.open : t.close}
        about={t.closeAbout}
        look={look}
        run={() => api.call(isClosed ? 'openNode' : 'closeNode', { params })}
      />
    </span>
  )
}

function AddNode() {
  const { t } = useMessages(operatorMessages)
  return (
    <RoleAct
      operation="addNode"
      label={t.addNode}
      look={{ variant: 'filled' }}
      fields={[
        { name: 'name', label: t.name },
        { name: 'kind', label: t.kind, kind: 'choice', options: Object.entries(t.nodeKinds) },
        { name: 'location', label: t.location, isOptional: true },
      ]}
      run={({ name, kind, location }) =>
        api.call('addNode', {
          body: { name: String(name), kind: kind as 'gateway' | 'vpn', ...filled({ location }) },
        })
      }
      show={({ command }) => <OnceShown text={command} about={t.nodeKey} />}
    />
  )
}

/** Bytes of VPN devices by node and protocol. */
function VpnUsage() {
  const { t, format } = useMessages(operatorMessages)
  return (
    <ReadRows
      label={t.vpnUsage}
      of={useRead('getVpnUsage')}
      keyOf={(row) => `${row.node} ${row.protocol}`}
      columns={(column) => [
        column(t.node, (row) => row.node),
        column(t.protocol, (row) => protocolNames[row.protocol] ?? row.protocol),
        column.number(t.devices, (row) => format.number(row.devices)),
        column.number(t.received, (row) => format.bytes(row.rx_bytes)),
        column.number(t.sent, (row) => format.bytes(row.tx_bytes)),
      ]}
    />
  )
}

function Pools() {
  const { t, format } = useMessages(operatorMessages)
  const { t: trade } = useMessages(tradeMessages)
  const pools = useRead('listPools')
  return (
    <ReadRows
      label={t.pools}
      of={pools}
      keyOf={(row) => row.pool}
      columns={(column) => [
        column(t.pool, (row) => trade.pools[row.pool] ?? row.pool),
        column.amount(t.fromPrice, (row) => row.from_rub_per_gb, format.money),
        column.amount(t.exits, (row) => row.exits, format.number),
        column.amount(t.serving, (row) => row.serving, format.number),
      ]}
    />
  )
}
