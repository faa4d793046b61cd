import { join } from 'node:path'
import { findFreePort } from './free-port.ts'
import { commandOf, familyOf, fromSources, startShop } from './shop-process.ts'
import type { Stage } from './stage.ts'
import type { Route, Tunnels } from './tunnels.ts'

const token = 'bench-token-of-the-sandbox'
const worksWithinMs = 30_000
const pollMs = 50
const trySeconds = 0.2
const days = 7
/** Less than the sandbox's customer can pay for, beside the other purchases of a bench. */
const maxGigabytes = 1_000

/** `turnpike up` on an empty folder, as a newcomer starts it, with purchases from it. */
export type GatewayShop = {
  readonly pid: number
  readonly port: number
  /** 0 without a certificate. */
  readonly tlsPort: number
  readonly folder: string
  /** The gateway processes. */
  readonly gatewayPids: () => number[]
  readonly buyProxy: () => Promise<SoldProxy>
  readonly buySocksRoute: () => Promise<Route>
  /** A device of a VPN subscription, from the entries of its secret link. */
  readonly buyDevice: () => Promise<{ readonly uuid: string; readonly password: string; readonly path: string }>
  /** A metered login with so many gigabytes. */
  readonly buyMeteredRoute: (gigabytes: number) => Promise<Route>
  /** The total of billed bytes. */
  readonly billedBytes: () => Promise<number>
}

type SoldProxy = {
  readonly id: number
  readonly ip: string
  readonly port: number
  readonly username: string
  readonly password: string
}

export const routeOf = (proxy: SoldProxy, way: 'connect' | 'socks'): Route => ({
  way,
  endpoint: `${proxy.ip}:${proxy.port}`,
  user: proxy.username,
  password: proxy.password,
})

/** Files of a certificate for this machine. With them the gateway has a TLS port. */
export type CertificateFiles = { readonly cert: string; readonly key: string }

const envOf = async ({ cert, key }: CertificateFiles): Promise<Record<string, string>> => ({
  TURNPIKE_TLS_CERT: cert,
  TURNPIKE_TLS_KEY: key,
  TURNPIKE_GATEWAY_TLS_PORT: String(await findFreePort()),
})

export async function startGatewayShop(
  stage: Stage,
  certificate?: CertificateFiles,
  program = fromSources,
  more: Readonly<Record<string, string>> = {},
): Promise<GatewayShop> {
  const tls = certificate && (await envOf(certificate))
  const folder = join(stage.makeFolder(), 'data')
  const env = {
    ...tls,
    TURNPIKE_DATA: folder,
    TURNPIKE_SANDBOX_TOKEN: token,
    TURNPIKE_PORT: String(await findFreePort()),
    TURNPIKE_GATEWAY_PORT: String(await findFreePort()),
    // One customer makes the whole load, and keeps tunnels idle as long as a bench measures them.
    TURNPIKE_GATEWAY_CONNECTIONS: '1000000',
    TURNPIKE_GATEWAY_TUNNELS: '1000000',
    TURNPIKE_GATEWAY_NEW: '1000000',
    TURNPIKE_GATEWAY_PACKETS: '1000000',
    TURNPIKE_GATEWAY_IDLE: '86400',
    TURNPIKE_GATEWAY_ENGINE: process.env['TURNPIKE_GATEWAY_ENGINE'] ?? 'auto',
    ...more,
  }
  const shop = await startShop(['up'], env, program)
  stage.atEnd(() => shop.stop())

  const post = (path: string, body: unknown): Promise<unknown> =>
    ask(path, { method: 'POST', body: JSON.stringify(body) })

  async function ask(path: string, options: { method?: string; body?: string }): Promise<unknown> {
    const answer = await fetch(`${tls ? 'https' : 'http'}://127.0.0.1:${shop.port}/api/v1${path}`, {
      tls: { rejectUnauthorized: false },
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...options,
    })
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
    return ((await answer.json()) as { data: unknown }).data
  }

  async function buyProxy(): Promise<SoldProxy> {
    const order = { country_code: 'DE', period: days, count: 1, ipv: 4 }
    const { proxies } = (await post('/dedicated/buy', order)) as { proxies: readonly SoldProxy[] }
    const [proxy] = proxies
    if (!proxy) throw new Error('a purchase of one proxy came without one')
    return proxy
  }

  return {
    pid: shop.pid,
    port: shop.port,
    tlsPort: Number(tls?.TURNPIKE_GATEWAY_TLS_PORT ?? 0),
    folder,
    buyProxy,

    gatewayPids() {
      const pids = familyOf(shop.pid).filter((pid) => / gateway( |$)/.test(commandOf(pid)))
      if (pids.length === 0) throw new Error('there is no gateway among the processes that `turnpike up` started')
      return pids
    },

    async billedBytes() {
      const usage = (await ask('/premium/usage?by=pool', {})) as {
        items: { received_bytes: number; sent_bytes: number }[]
      }
      return usage.items.reduce((sum, each) => sum + each.received_bytes + each.sent_bytes, 0)
    },

    async buySocksRoute() {
      const proxy = await buyProxy()
      await post('/dedicated/protocol', { ids: [proxy.id], port_type: 'socks' })
      return routeOf(proxy, 'socks')
    },

    async buyDevice() {
      const { subscription_url: link } = (await post('/vpn/buy', { period: 1 })) as { subscription_url: string }
      for (const endMs = performance.now() + worksWithinMs; ; await Bun.sleep(pollMs)) {
        const answer = await fetch(`${link}?format=base64`, { tls: { rejectUnauthorized: false } })
        const entries = Buffer.from(await answer.text(), 'base64')
          .toString()
          .split('\n')
        const find = (scheme: string, network: string) =>
          entries.find((entry) => entry.startsWith(`${scheme}://`) && entry.includes(`type=${network}`))
        const [ws, trojan] = [find('vless', 'ws'), find('trojan', 'tcp')].map((entry) => entry && new URL(entry))
        const path = ws && ws.searchParams.get('path')?.split('?', 1)[0]
        if (ws && trojan && path) return { uuid: ws.username, password: decodeURIComponent(trojan.username), path }
        if (performance.now() > endMs) throw new Error(`the link has no entries: ${answer.status}`)
      }
    },

    async buyMeteredRoute(gigabytes) {
      await post('/premium/traffic/buy', { pool_type: 'datacenter', gb: Math.min(gigabytes, maxGigabytes) })
      const query = { pool_type: 'datacenter', countries: ['DE'], type: 'rotating', quantity: 1, format_id: 1 }
      const { proxies } = (await post('/premium/proxies/generate', query)) as { proxies: readonly string[] }
      const [host, port, user, password] = proxies[0]?.split(':') ?? []
      if (password === undefined) throw new Error('a list of one login came without one')
      return { way: 'connect', endpoint: `${host}:${port}`, user: user ?? '', password }
    },
  }
}

/** The gateway opens shortly after the shop, and receives sold proxies shortly after that. */
export async function untilItWorks(tunnels: Tunnels, routes: readonly Route[]): Promise<void> {
  const endMs = performance.now() + worksWithinMs
  for (const route of routes) {
    for (;;) {
      const tried = await tunnels.run({ route, tunnels: 1, bytes: 1024, seconds: trySeconds })
      if (tried.errors === 0 && tried.tunnels > 0) break
      if (performance.now() > endMs) throw new Error(`the gateway does not carry ${route.way}: ${tried.firstError}`)
      await Bun.sleep(pollMs)
    }
  }
}
