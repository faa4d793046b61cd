import type { Log } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Config } from '../settings/config.ts'

/** How far above the shop's port each role's is. */
const places = { shop: 0, gateway: 1, 'vpn-node': 2 } as const
export type Role = keyof typeof places

export type MetricsServer = { readonly port: number | undefined; stop(): Promise<void> }

/**
 * Serves a role's figures on an address of their own: they are the operator's, not the customers'. A port that is taken
 * is said and left: nobody goes without a shop because somebody cannot count it.
 */
export function serveMetrics(
  config: Pick<Config, 'metricsListen'>,
  role: Role,
  metrics: Metrics,
  log: Log,
): MetricsServer {
  const at = config.metricsListen
  if (!at) return { port: undefined, stop: async () => {} }
  const port = at.port + places[role]
  try {
    const server = Bun.serve({
      hostname: at.host,
      port,
      reusePort: false,
      development: false,
      fetch: (request) => answer(request, metrics),
    })
    return { port: server.port, stop: () => server.stop(true) }
  } catch (error) {
    log.warn('metrics not served', { port, fault: error, explanation: 'set TURNPIKE_METRICS_LISTEN to a free port' })
    return { port: undefined, stop: async () => {} }
  }
}

async function answer(request: Request, metrics: Metrics): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname !== '/metrics') return new Response('There is only /metrics here.\n', { status: 404 })
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return new Response('GET only.\n', { status: 405, headers: { Allow: 'GET, HEAD' } })
  }
  return new Response(request.method === 'HEAD' ? null : await metrics.write(), {
    headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8', 'Cache-Control': 'no-store' },
  })
}
