import manifest from '../../package.json' with { type: 'json' }
import { accountOperations } from '../api/customer/account.ts'
import { premiumOperations } from '../api/customer/premium.ts'
import { createHttp, type RequestNote } from '../api/http.ts'
import { migrate } from '../db/migrate.ts'
import { moneyChores, startChores } from '../jobs/chores.ts'
import { premiumChores } from '../jobs/premium.ts'
import { type Address, contains, readAddress } from '../kernel/address.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'
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

  let stopping = false
  const running = new Set<Request>()
  const http = createHttp({
    customers: services.customers,
    bound: [...accountOperations(services), ...premiumOperations(services)],
    version: manifest.version,
    readsPerMinute: config.readsPerMinute,
    chargesPerMinute: config.chargesPerMinute,
    clock: around.clock,
    sha256: around.sha256,
    requestId: () => around.random(12).toHex(),
    isReady: () =>
      db.first('SELECT 1 AS one').then(
        () => true,
        () => false,
      ),
    isStopping: () => stopping,
    note: (note) => noteRequest(log, note),
  })
  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    idleTimeout: 30,
    // Bodies are counted as they arrive and cut at 64 KiB with a proper refusal; this only bounds what is thrown away.
    maxRequestBodySize: 64 * 1024 * 1024,
    development: false,
    async fetch(request, self) {
      running.add(request)
      try {
        return await http(request, sourceOf(request, self.requestIP(request)?.address, config))
      } finally {
        running.delete(request)
      }
    },
  })
  const chores = startChores([...moneyChores(services, log), ...premiumChores(services, log)], log)
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`
  log.info('shop open', { url, engine: db.engine, version: manifest.version })
  return {
    url,
    banner: banner(url, token),
    token,
    services,
    async stop() {
      stopping = true
      const giveUpAt = performance.now() + drainMs
      while (running.size > 0 && performance.now() < giveUpAt) await Bun.sleep(10)
      await server.stop(true)
      await chores.stop()
      await db.close()
      log.info('shop closed')
    },
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
