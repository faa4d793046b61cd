import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createLog } from '../../src/adapters/log.ts'
import { type Gateway, openGateway } from '../../src/app/node/gateway.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { realRuntime } from '../../src/app/shop/services.ts'
import type { PeerId } from '../../src/core/ids.ts'
import type { Caller } from './caller.ts'
import type { Engine } from './database.ts'
import { gatewayEngine, gatewayReactors } from './engine.ts'
import { memoryFolder } from './memory.ts'
import { type Service, startService } from './service.ts'
import { untilTrue } from './turnpike.ts'

/** A shop with a gateway that has joined it: real sockets, real time, and purchases can be used. */
export type ShopWithGateway = Service & {
  readonly port: number
  readonly gateway: Gateway
  /** Log lines of the gateway. */
  readonly gatewayLog: string[]
  /** Stops the gateway in order, before the shop. */
  stopGateway(): Promise<void>
  buyProxies(order?: Partial<Record<string, unknown>>): Promise<BoughtProxy[]>
  /** Traffic for a sub-user, the default one unless named, and its login and password. */
  buyTraffic(gb?: number, pool?: string): Promise<{ login: string; password: string }>
  /** Stops the gateway alone; `stop` stops the rest. */
  stopGateway(): Promise<void>
}

export type BoughtProxy = {
  readonly id: number
  readonly ip: string
  readonly port: number
  readonly exit_ip: string
  readonly username: string
  readonly password: string
  readonly expires_at: string
}

export async function openShopWithGateway(
  engine: Engine,
  env: { readonly shop?: Record<string, string>; readonly gateway?: Record<string, string> } = {},
): Promise<ShopWithGateway> {
  const port = freePort()
  const shopEnv = { TURNPIKE_GATEWAY_PORT: String(port), ...env.shop }
  const service = await startService(engine, shopEnv, realRuntime, false)
  const started = await startGateway(service, port, env.gateway)
  const stopGateway = once(() => started.stopGateway())
  return {
    ...service,
    port,
    ...started,
    async buyProxies(order = {}) {
      const body = { country_code: 'DE', period: 7, count: 1, ipv: 4, ...order }
      const answer = await service.post('/dedicated/buy', body)
      if (answer.status !== 200) throw new Error(`buying was answered with ${answer.status}`)
      return answer.data.proxies
    },
    async buyTraffic(gb = 1, pool = 'residential') {
      const answer = await service.post('/premium/traffic/buy', { pool_type: pool, gb })
      if (answer.status !== 200) throw new Error(`buying was answered with ${answer.status}`)
      return (await service.get('/premium/password')).data
    },
    stopGateway,
    async stop() {
      await stopGateway()
      await service.stop()
    },
  }
}

/** Buys a proxy as soon as one is sold: a gateway that has just started has not tried its addresses yet. */
export async function buyWhenSold(
  { post }: Pick<Caller, 'post'>,
  portType: 'http' | 'socks' = 'http',
  options: Parameters<Caller['post']>[2] = {},
): Promise<BoughtProxy> {
  let proxy: BoughtProxy | undefined
  await untilTrue(async () => {
    const sold = await post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 }, options)
    proxy = sold.status === 200 ? sold.data.proxies[0] : undefined
    return proxy !== undefined
  })
  if (!proxy) throw new Error('nothing was sold')
  if (portType === 'socks') await post('/dedicated/protocol', { ids: [proxy.id], port_type: portType }, options)
  return proxy
}

/** The keys of a VPN device, as its owner gets them. */
export type BoughtDevice = { readonly id: string; readonly uuid: string; readonly password: string }

/** Buys a VPN subscription for the shop's customer; a sandbox sells it without a VPN node that serves. */
export async function buyVpn(shop: Pick<Service, 'post' | 'services'>): Promise<BoughtDevice> {
  const answer = await shop.post('/vpn/buy', { period: 1 })
  if (answer.status !== 200) throw new Error(`buying was answered with ${answer.status}`)
  return keysOfDevice(shop, answer.data.device)
}

/** The keys of a device, read from the shop's database. */
export async function keysOfDevice({ services }: Pick<Service, 'services'>, id: string): Promise<BoughtDevice> {
  const keys = await services.vpn.accessKeys(id as PeerId)
  if (!keys) throw new Error('the device has no keys')
  return { id, ...keys }
}

/** Runs the work once for all callers. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}

/** A gateway in this process that joins a shop as a new node. */
async function startGateway(service: Service, port: number, env: Record<string, string> = {}) {
  const { db, fleet } = service.services
  const name = `gateway-${port}`
  await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'test' }))
  const { text: key } = await fleet.issueKey(name)
  const folder = mkdtempSync(join(memoryFolder, 'turnpike-gateway-'))
  const gatewayLog: string[] = []
  const end = new AbortController()
  const settings = {
    TURNPIKE_DATA: folder,
    TURNPIKE_SHOP_URL: service.url,
    TURNPIKE_NODE_KEY: key,
    TURNPIKE_METRICS_LISTEN: '',
    TURNPIKE_GATEWAY_PORT: String(port),
    TURNPIKE_GATEWAY_ENGINE: gatewayEngine,
    TURNPIKE_GATEWAY_REACTORS: String(gatewayReactors),
    ...env,
  }
  const log = createLog('debug', 'gateway', (line) => gatewayLog.push(line))
  const gateway = await openGateway(readConfig(settings), log, end.signal)
  if (!gateway) throw new Error('the gateway was told to stop before it had begun')
  let stopping: Promise<void> | undefined
  async function stop(): Promise<void> {
    end.abort()
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    gateway,
    gatewayLog,
    stopGateway() {
      stopping ??= stop()
      return stopping
    },
  }
}

/** Sets the expiry of a proxy, as if it had been bought long ago. Returns the expiry. */
export async function endIn({ services }: Service, proxy: BoughtProxy, ms: number): Promise<number> {
  const nowMs = Date.now()
  await services.db.transact((tx) =>
    tx.run('UPDATE proxies SET expires_at = $1, started_at = 1, changed_at = $2 WHERE id = $3', [
      nowMs + ms,
      nowMs,
      proxy.id,
    ]),
  )
  return nowMs + ms
}

/** Whether no other test of this run has chosen this name before. The test command makes the folder and deletes it. */
function reserve(name: string): boolean {
  const folder = process.env['TURNPIKE_TEST_CHOSEN']
  if (folder === undefined) return true
  try {
    closeSync(openSync(join(folder, name), 'wx'))
    return true
  } catch {
    return false
  }
}

/** A port that was free a moment ago, and that no other test of this run gets. */
export function freePort(): number {
  for (;;) {
    // Below the ephemeral range, from which the kernel could take the port before it is used.
    const port = 11_000 + Math.floor(Math.random() * 9_000)
    if (!reserve(`port-${port}`)) continue
    try {
      Bun.listen({ hostname: '::', port, socket: { data() {} } }).stop(true)
      return port
    } catch {}
  }
}

const portsInRange = 40

/** A range of ports for whitelisted addresses, which no other test of this run gets. */
export function somePorts(): string {
  for (;;) {
    const first = 20_000 + portsInRange * Math.floor(Math.random() * 300)
    if (reserve(`ports-${first}`)) return `${first}-${first + portsInRange - 1}`
  }
}

/** An origin on loopback that records its requests and answers with the source address. */
export function startOrigin(hostname = '127.0.0.1', options: { readonly tls?: { cert: string; key: string } } = {}) {
  const seen: { from: string; headers: Record<string, string>; url: string }[] = []
  const server = Bun.serve({
    hostname,
    port: 0,
    development: false,
    ...options,
    async fetch(request, self) {
      const from = self.requestIP(request)?.address ?? ''
      seen.push({ from, headers: Object.fromEntries(request.headers), url: request.url })
      const sent = await request.text()
      const size = Number(new URL(request.url).searchParams.get('bytes') ?? '0')
      return size > 0 ? new Response(new Uint8Array(size).fill(97)) : Response.json({ from, sent: sent.length })
    },
  })
  const host = hostname.includes(':') ? `[${hostname}]` : hostname
  const scheme = options.tls ? 'https' : 'http'
  return { seen, url: `${scheme}://${host}:${server.port}`, port: server.port ?? 0, stop: () => server.stop(true) }
}
