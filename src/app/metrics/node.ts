import type { Metrics } from '../../core/metrics.ts'
import type { DataPath } from '../../dataplane/agent/data-path.ts'
import type { Engine } from '../../dataplane/gateway/engines/shared/engine.ts'
import type { Http2Clients } from '../../dataplane/gateway/engines/shared/http2-clients.ts'
import type { Front } from '../../dataplane/tls/front.ts'
import type { Agent } from '../node/agent.ts'

const byState = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }))

export function addNodeMetrics(
  metrics: Metrics,
  dataPath: DataPath,
  contact: ReturnType<Agent['attach']>['contact'],
  /** Open tunnels of replaced processes of this node. */
  countDraining: () => number | Promise<number> = () => 0,
): void {
  metrics.gauge('turnpike_shop_contact_age_seconds', 'Seconds since the last answer of the shop to this node.', () => {
    const awayMs = contact.awayMs()
    return awayMs === undefined ? undefined : awayMs / 1000
  })
  metrics.gauge(
    'turnpike_state_lag_seconds',
    'Seconds since this node last had the complete state of the shop.',
    () => {
      return contact.lagMs() / 1000
    },
  )
  metrics.gauge('turnpike_clock_skew_seconds', 'Seconds that the clock of the shop is ahead of this machine.', () => {
    return contact.skewMs() / 1000
  })
  metrics.gauge(
    'turnpike_tunnels',
    'Open tunnels of a gateway, with those of replaced processes, or connected devices of a VPN node.',
    async () => dataPath.health.tunnels + (await countDraining()),
  )
  metrics.total('turnpike_carried_bytes_total', 'Bytes relayed, both directions.', () => dataPath.health.totalBytes)
}

export function addGatewayMetrics(
  metrics: Metrics,
  engine: Engine,
  exits: () => { readonly up: number; readonly down: number },
  lookups: Readonly<Record<'answered' | 'failed', number>>,
): void {
  metrics.total('turnpike_gateway_relayed_bytes_total', 'Bytes relayed for other gateways, both directions.', () => {
    return engine.dataPath.health.hopBytes ?? 0
  })
  metrics.gauge('turnpike_gateway_connections', 'Client connections, by state.', () => {
    const { open: accepted, tunnels: relayed, dialling, settling } = engine.status
    return byState({ accepted, relayed, dialling, settling })
  })
  if (engine.reactors) {
    const byReactor = (read: (reactor: { tunnels: number; processorSeconds: number }) => number) => () =>
      (engine.reactors ?? []).map((reactor, index) => ({ labels: { reactor: String(index) }, value: read(reactor) }))
    metrics.gauge(
      'turnpike_gateway_reactor_tunnels',
      'Open tunnels, by reactor.',
      byReactor(({ tunnels }) => tunnels),
    )
    metrics.total(
      'turnpike_gateway_reactor_cpu_seconds_total',
      'Processor seconds, by reactor; from zero after a restart of the reactor.',
      byReactor(({ processorSeconds }) => processorSeconds),
    )
  }
  metrics.gauge('turnpike_gateway_listeners', 'Ports that are open for customers.', () => engine.status.listeners)
  metrics.total('turnpike_gateway_spared_total', 'Waiting connections closed to make room for new ones.', () => {
    return engine.status.spared
  })
  metrics.total('turnpike_gateway_turned_away_total', 'New connections refused because the gateway was full.', () => {
    return engine.status.turnedAway
  })
  metrics.total(
    'turnpike_gateway_starved_total',
    'Requests that failed for lack of file descriptors or memory.',
    () => {
      return engine.status.starved
    },
  )
  metrics.gauge('turnpike_gateway_exits', 'Exits that this gateway has checked, by state.', () => byState(exits()))
  metrics.total(
    'turnpike_gateway_lookups_total',
    'DNS lookups, by outcome; a name that does not exist is answered.',
    () => Object.entries(lookups).map(([outcome, value]) => ({ labels: { outcome }, value })),
  )
}

export function addHttp2Metrics(metrics: Metrics, clients: Pick<Http2Clients, 'open' | 'requests'>): void {
  metrics.gauge('turnpike_gateway_http2_connections', 'Open HTTP/2 connections of clients.', () => clients.open)
  metrics.total(
    'turnpike_gateway_http2_requests_total',
    'Requests over HTTP/2, tunnels included.',
    () => clients.requests,
  )
}

export function addFrontMetrics(metrics: Metrics, role: 'shop' | 'gateway', front: Front): void {
  const name = (figure: string): string => `turnpike_${role}_tls_${figure}`
  metrics.gauge(name('connections'), 'TLS connections, by state.', () =>
    byState({ handshake: front.shaking, open: front.open - front.shaking }),
  )
  metrics.total(name('failed_total'), 'TLS handshakes that failed or timed out.', () => front.failed)
  metrics.total(
    name('turned_away_total'),
    'New TLS connections refused because no slot was free.',
    () => front.turnedAway,
  )
  metrics.total(name('spared_total'), 'TLS connections closed to make room for new ones, by state.', () =>
    byState(front.spared),
  )
}
