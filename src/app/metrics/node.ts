import type { Metrics } from '../../core/metrics.ts'
import type { DataPath } from '../../dataplane/agent/data-path.ts'
import type { Engine } from '../../dataplane/gateway/relay/engine.ts'
import type { Front } from '../../dataplane/tls/front.ts'
import type { Agent } from '../node/agent.ts'

const byState = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }))

export function addNodeMetrics(
  metrics: Metrics,
  dataPath: DataPath,
  contact: ReturnType<Agent['attach']>['contact'],
): void {
  metrics.gauge('turnpike_shop_contact_age_seconds', 'How long ago the shop last answered this node.', () => {
    const awayMs = contact.awayMs()
    return awayMs === undefined ? undefined : awayMs / 1000
  })
  metrics.gauge('turnpike_state_lag_seconds', 'How long this node has not heard everything.', () => {
    return contact.lagMs() / 1000
  })
  metrics.gauge('turnpike_clock_skew_seconds', 'How far the clock of the shop is ahead of this one.', () => {
    return contact.skewMs() / 1000
  })
  metrics.gauge(
    'turnpike_tunnels',
    'Connections that are carried, or devices that are up.',
    () => dataPath.health.tunnels,
  )
  metrics.total(
    'turnpike_carried_bytes_total',
    'Bytes carried, both directions together.',
    () => dataPath.health.totalBytes,
  )
}

export function addGatewayMetrics(
  metrics: Metrics,
  engine: Engine,
  exits: () => { readonly up: number; readonly down: number },
): void {
  metrics.total('turnpike_gateway_relayed_bytes_total', 'Of the bytes carried, those for other gateways.', () => {
    return engine.dataPath.health.hopBytes ?? 0
  })
  metrics.gauge('turnpike_gateway_connections', 'Connections that were accepted, by what they are at.', () => {
    const { open: accepted, tunnels: carried, dialling, settling } = engine.status
    return byState({ accepted, carried, dialling, settling })
  })
  metrics.gauge('turnpike_gateway_listeners', 'Ports that are open for customers.', () => engine.status.listeners)
  metrics.total('turnpike_gateway_spared_total', 'Waiting connections that were closed to make room.', () => {
    return engine.status.spared
  })
  metrics.total('turnpike_gateway_turned_away_total', 'Newcomers for whom there was no room.', () => {
    return engine.status.turnedAway
  })
  metrics.total('turnpike_gateway_starved_total', 'Requests without a descriptor or memory left for them.', () => {
    return engine.status.starved
  })
  metrics.gauge('turnpike_gateway_exits', 'Exits that this gateway has tried, by how they are.', () => byState(exits()))
}

export function addFrontMetrics(metrics: Metrics, role: 'shop' | 'gateway', front: Front): void {
  const name = (figure: string): string => `turnpike_${role}_tls_${figure}`
  metrics.gauge(name('connections'), 'Connections over TLS, by what they are at.', () =>
    byState({ handshake: front.shaking, open: front.open - front.shaking }),
  )
  metrics.total(name('failed_total'), 'Handshakes that failed or took too long.', () => front.failed)
  metrics.total(name('turned_away_total'), 'Newcomers over TLS for whom there was no room.', () => front.turnedAway)
  metrics.total(name('spared_total'), 'Connections over TLS that were closed to make room, by what they were at.', () =>
    byState(front.spared),
  )
}
