import { readdirSync, readFileSync, statfsSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import manifest from '../../../package.json' with { type: 'json' }
import type { Log } from '../../core/log.ts'
import { Metrics } from '../../core/metrics.ts'
import type { Config } from '../settings/config.ts'

const lookEveryMs = 250

/** Metrics of every role: process, disk, version. */
export function createProcessMetrics(config: Pick<Config, 'folder'>, role: ProcessRole): Metrics & { stop(): void } {
  const metrics = new Metrics()
  metrics.gauge('turnpike_build_info', 'Version of Turnpike.', () => [
    { labels: { version: manifest.version, role }, value: 1 },
  ])
  metrics.total('process_cpu_seconds_total', 'Processor time in seconds.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.gauge('process_resident_memory_bytes', 'Memory in bytes.', () => process.memoryUsage.rss())
  metrics.gauge(
    'process_start_time_seconds',
    'Start time of the process, in seconds since 1970.',
    () => startedAt / 1000,
  )
  metrics.gauge('process_open_fds', 'Open files and connections.', () => readdirSync('/proc/self/fd').length)
  metrics.gauge('process_max_fds', 'Limit of open files and connections.', () => fileLimit('soft'))
  metrics.gauge(
    'turnpike_disk_free_bytes',
    'Free space on the disk of the data folder.',
    () => diskOf(config.folder)?.free,
  )
  metrics.gauge('turnpike_disk_size_bytes', 'Size of the disk of the data folder.', () => diskOf(config.folder)?.size)
  const lag = watchLag()
  metrics.gauge('turnpike_event_loop_lag_seconds', 'Longest event loop delay since the last scrape.', () => lag.take())
  return Object.assign(metrics, { stop: lag.stop })
}

const startedAt = Date.now() - process.uptime() * 1000

/** Limit of open files, where the system reports it as a number. A process may raise its soft one to the hard one. */
export function fileLimit(which: 'soft' | 'hard'): number | undefined {
  const pattern = which === 'soft' ? /^Max open files\s+(\d+)/m : /^Max open files\s+\d+\s+(\d+)/m
  try {
    const limit = pattern.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

export function diskOf(folder: string): { readonly free: number; readonly size: number } | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder)
    return { free: bavail * bsize, size: blocks * bsize }
  } catch {
    return undefined
  }
}

function watchLag() {
  let dueAt = performance.now() + lookEveryMs
  let worstMs = 0
  const timer = setInterval(() => {
    const nowMs = performance.now()
    worstMs = Math.max(worstMs, nowMs - dueAt)
    dueAt = nowMs + lookEveryMs
  }, lookEveryMs)
  timer.unref()
  return {
    take(): number {
      const lateMs = Math.max(worstMs, performance.now() - dueAt, 0)
      worstMs = 0
      return lateMs / 1000
    },
    stop: () => clearInterval(timer),
  }
}

/** How far above the shop's port each role's is. */
const portOffsets = { shop: 0, gateway: 1, 'vpn-node': 2 } as const
type ProcessRole = keyof typeof portOffsets

/** Where a role serves its metrics; undefined if they are turned off. */
export const metricsAddressOf = ({ metricsListen: at }: Pick<Config, 'metricsListen'>, role: ProcessRole) =>
  at && { host: at.host, port: at.port + portOffsets[role] }

/** Serves a role's metrics on their own address. A port that is in use is logged, and the role runs without metrics. */
export function serveMetrics(
  config: Pick<Config, 'metricsListen'>,
  role: ProcessRole,
  metrics: Metrics,
  log: Log,
): { stop(): Promise<void> } {
  const at = metricsAddressOf(config, role)
  if (!at) return { stop: async () => {} }
  const { port } = at
  try {
    const server = Bun.serve({
      hostname: at.host,
      port,
      reusePort: false,
      development: false,
      fetch: (request) => answer(request, metrics),
    })
    return { stop: () => server.stop(true) }
  } catch (error) {
    const explanation = 'The process runs without metrics. Set TURNPIKE_METRICS_LISTEN to a free port ("ss -ltnp").'
    log.warn('metrics not served', { port, fault: error, explanation })
    return { stop: async () => {} }
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
