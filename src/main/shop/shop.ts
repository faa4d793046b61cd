import manifest from '../../../package.json' with { type: 'json' }
import type { Log } from '../../adapters/log.ts'
import { createProxyProbe } from '../../adapters/proxy-probe.ts'
import { drawing } from '../../adapters/qr-drawing.ts'
import type { RequestNote } from '../../api/answers.ts'
import { accountOperations } from '../../api/customer/account/routes.ts'
import { dedicatedOperations } from '../../api/customer/dedicated/routes.ts'
import { premiumOperations } from '../../api/customer/premium/routes.ts'
import { vpnLinkRoute } from '../../api/customer/vpn/link.ts'
import { vpnOperations } from '../../api/customer/vpn/routes.ts'
import { createHttp } from '../../api/http.ts'
import { createNodeHttp, nodeBase } from '../../api/node/http.ts'
import { createNodeState } from '../../api/node/state.ts'
import { migrate } from '../../db/migrate.ts'
import { moneyChores, startChores } from '../../jobs/chores.ts'
import { dedicatedChores } from '../../jobs/dedicated.ts'
import { premiumChores } from '../../jobs/premium.ts'
import { vpnChores } from '../../jobs/vpn.ts'
import { type Address, contains, readAddress } from '../../kernel/address.ts'
import { BadSetting, type Config } from '../settings/config.ts'
import { admitLocalNodes } from './local-nodes.ts'
import { banner, openSandbox } from './sandbox.ts'
import {
  arrangementsOf,
  createServices,
  openConfigured,
  readMigrations,
  realSurroundings,
  type Services,
  type Surroundings,
} from './services.ts'

/** How long requests that run may take to finish once the shop is told to stop. */
const drainMs = 9_000

export type Shop = {
  readonly url: string
  readonly banner: string
  readonly token: string | undefined
  readonly services: Services
  /** Refuses what is new, finishes what runs, closes the database. */
  stop(): Promise<void>
}

/** Opens the shop: database, schema, sandbox, HTTP, chores. */
export async function openShop(config: Config, log: Log, around: Surroundings = realSurroundings): Promise<Shop> {
  const db = openConfigured(config)
  const applied = await migrate(db, readMigrations())
  if (applied.length > 0) log.info('migrated', { applied })
  const services = createServices(db, around, arrangementsOf(config))
  const token = config.sandbox ? await openSandbox(services, config.sandboxToken) : undefined
  if (!config.sandbox && config.sandboxToken) await services.customers.admitSandboxToken(config.sandboxToken)
  const localChores = await admitLocalNodes(services, around, config.folder, config.localNodes)

  let stopping = false
  let url = ''
  const publicUrl = () => config.publicUrl ?? url
  const running = new Set<Request>()
  const probe = createProxyProbe(services.arranged.gateway.port)
  const state = createNodeState({ ...services, ...around })
  const doorway = {
    requestId: () => around.random(12).toHex(),
    isStopping: () => stopping,
    note: (note: RequestNote) => noteRequest(log, note),
  }
  const nodeHttp = createNodeHttp({ ...services, ...around, ...doorway, state })
  const http = createHttp({
    customers: services.customers,
    bound: [
      ...accountOperations(services),
      ...dedicatedOperations({ ...services, ...around, gateway: services.arranged.gateway, probe }),
      ...premiumOperations(services),
      ...vpnOperations({ ...services, drawing, publicUrl }),
    ],
    plain: [vpnLinkRoute({ ...services, drawing, linksPerMinute: config.linksPerMinute })],
    version: manifest.version,
    publicUrl,
    readsPerMinute: config.readsPerMinute,
    chargesPerMinute: config.chargesPerMinute,
    clock: around.clock,
    isReady: () =>
      db.first('SELECT 1 AS one').then(
        () => true,
        () => false,
      ),
    ...doorway,
  })
  /** What a customer has changed is on its way to the nodes before the answer is on its way to the customer. */
  async function answer(request: Request, from: Address | undefined): Promise<Response> {
    // Looked at closely only where it may be a node's.
    const asked = request.url.includes(nodeBase) ? URL.parse(request.url) : undefined
    if (asked?.pathname.startsWith(nodeBase)) return nodeHttp(request, asked, from)
    const response = await http(request, from)
    if (request.method === 'POST' && response.status === 200) state.poke()
    return response
  }
  const server = listen(config, async (request, peer) => {
    running.add(request)
    try {
      return await answer(request, sourceOf(request, peer, config))
    } finally {
      running.delete(request)
    }
  })
  const chores = startChores(
    [
      ...moneyChores(services, log),
      ...dedicatedChores(services),
      ...premiumChores(services, log),
      ...vpnChores(services, log),
      ...localChores,
    ],
    log,
  )
  url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`
  log.info('shop open', { url, engine: db.engine, version: manifest.version })
  return {
    url,
    banner: banner(url, token),
    token,
    services,
    async stop() {
      stopping = true
      state.stop()
      const giveUpAt = performance.now() + drainMs
      while (running.size > 0 && performance.now() < giveUpAt) await Bun.sleep(10)
      await server.stop(true)
      await chores.stop()
      await db.close()
      log.info('shop closed')
    },
  }
}

/** Opens the port for this process alone: two shops that share one would each answer half of the customers. */
function listen(config: Config, answer: (request: Request, peer: string | undefined) => Promise<Response>) {
  try {
    return Bun.serve({
      hostname: config.host,
      port: config.port,
      reusePort: false,
      idleTimeout: 30,
      // Bodies are counted as they arrive and cut at 64 KiB with a proper refusal; this only bounds what is thrown away.
      maxRequestBodySize: 64 * 1024 * 1024,
      development: false,
      fetch: (request, server) => answer(request, server.requestIP(request)?.address),
    })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'EADDRINUSE')
      throw new BadSetting(`Port ${config.port} on ${config.host} is in use by another program.`)
    if (code === 'EACCES') throw new BadSetting(`Port ${config.port} may not be opened by this user.`)
    if (code === 'EADDRNOTAVAIL') throw new BadSetting(`${config.host} is not an address of this machine.`)
    throw error
  }
}

/** Charges and faults are worth a line each; the rest only to who asks for it. */
function noteRequest(log: Log, note: RequestNote): void {
  const { fault, tookMs, charges, ...line } = note
  const fields = { ...line, took_ms: Math.round(tookMs * 10) / 10 }
  if (fault !== undefined) log.error('fault', { ...fields, fault })
  else if (charges && note.status === 200) log.info('sold', fields)
  else log.debug('request', fields)
}

/**
 * Where a request came from. A trusted reverse proxy says it in X-Forwarded-For: the last address there that is not
 * itself a trusted proxy counts, because everything before it was written by the client.
 */
function sourceOf(request: Request, peer: string | undefined, config: Config): Address | undefined {
  let source = peer === undefined ? undefined : readAddress(peer)
  if (config.trustedProxies.length === 0) return source
  const chain = (request.headers.get('x-forwarded-for') ?? '').split(',').map((part) => part.trim())
  while (source && config.trustedProxies.some((prefix) => source !== undefined && contains(prefix, source))) {
    const next = chain.pop()
    if (!next) break
    source = readAddress(next)
  }
  return source
}
