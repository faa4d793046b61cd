import { type Reading, type Setting, setting } from './reading.ts'

export type MetricsConfig = { readonly metricsListen: { readonly host: string; readonly port: number } | undefined }

export const metricsSettings = {
  metricsListen: setting(
    'TURNPIKE_METRICS_LISTEN',
    'ADDRESS:PORT',
    '127.0.0.1:9464',
    "where the shop's figures are at /metrics; a gateway's are on the next port, a VPN node's on the one after it; " +
      'empty is nowhere',
  ),
} satisfies Record<keyof MetricsConfig, Setting>

/** The other roles use the next two ports. */
const lastPort = 65_533

export function readMetricsConfig(reading: Reading<keyof MetricsConfig>): MetricsConfig {
  const text = reading.text('metricsListen')
  if (text === '') return { metricsListen: undefined }
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,255})):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3] ?? 0)
  if (!match || port < 1 || port > lastPort) {
    throw reading.bad('metricsListen', `must be an address and a port up to ${lastPort}, like 127.0.0.1:9464`)
  }
  return { metricsListen: { host: match[1] ?? match[2] ?? '', port } }
}
