import type { Metrics } from '../../core/metrics.ts'
import type { Front } from '../../dataplane/tls/front.ts'

/** Figures of the port over TLS: the shop's, or the gateway's for proxies. */
export function addFrontMetrics(metrics: Metrics, role: 'shop' | 'gateway', front: Front): void {
  const name = (figure: string): string => `turnpike_${role}_tls_${figure}`
  metrics.gauge(name('connections'), 'Connections over TLS, by what they are at.', () => [
    { labels: { state: 'handshake' }, value: front.shaking },
    { labels: { state: 'open' }, value: front.open - front.shaking },
  ])
  metrics.total(name('failed_total'), 'Handshakes that failed or took too long.', () => front.failed)
  metrics.total(name('turned_away_total'), 'Newcomers over TLS for whom there was no room.', () => front.turnedAway)
  metrics.total(name('spared_total'), 'Connections over TLS that were closed to make room, by what they were at.', () =>
    (['handshake', 'open'] as const).map((state) => ({ labels: { state }, value: front.spared[state] })),
  )
}
