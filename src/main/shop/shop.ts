import manifest from '../../../package.json' with { type: 'json' }
import { probeProxy } from '../../adapters/proxy-probe.ts'
import { drawing } from '../../adapters/qr-drawing.ts'
import { accountOperations, orderOperations } from '../../api/customer/account/routes.ts'
import { dedicatedOperations } from '../../api/customer/dedicated/routes.ts'
import { eventOperations } from '../../api/customer/events/routes.ts'
import { notifyRoute } from '../../api/customer/payments/notify.ts'
import { payPageRoute } from '../../api/customer/payments/page.ts'
import { paymentOperations } from '../../api/customer/payments/routes.ts'
import { premiumOperations } from '../../api/customer/premium/routes.ts'
import { vpnLinkRoute } from '../../api/customer/vpn/link.ts'
import { vpnOperations } from '../../api/customer/vpn/routes.ts'
import { createHttp } from '../../api/http.ts'
import { createNodeHttp } from '../../api/node/http.ts'
import { createNodeState } from '../../api/node/state.ts'
import { requestNotes, serve } from '../../api/serve.ts'
import { banner } from '../../cli/banner.ts'
import { migrate } from '../../db/migrate.ts'
import { isReachable } from '../../db/open.ts'
import shippedCatalogue from '../../domains/pricing/catalogue.yaml'
import { moneyChores, startChores } from '../../jobs/chores.ts'
import { dedicatedChores } from '../../jobs/dedicated.ts'
import { eventChores } from '../../jobs/events.ts'
import { fleetChores } from '../../jobs/fleet.ts'
import { admitLocalNodes } from '../../jobs/local-nodes.ts'
import { outageChores } from '../../jobs/outages.ts'
import { paymentChores } from '../../jobs/payments.ts'
import { premiumChores } from '../../jobs/premium.ts'
import { openSandbox } from '../../jobs/sandbox/open.ts'
import { trafficChores } from '../../jobs/traffic.ts'
import { vpnChores } from '../../jobs/vpn.ts'
import type { Log } from '../../kernel/log.ts'
import { type Config, listenUrl } from '../settings/config.ts'
import { listening } from '../settings/listening.ts'
import { openConfigured, readMigrations } from './database.ts'
import { joinKeysIn } from './join-keys.ts'
import { openLocalSocket } from './local-socket.ts'
import { arrangementsOf, createServices, realSurroundings, type Services, type Surroundings } from './services.ts'
import { unshownTokenIn } from './unshown-token.ts'
import { openVault } from './vault.ts'

/** How long requests that run may take to finish once the shop is told to stop. */
const drainMs = 9_000

export type Shop = {
  readonly url: string
  readonly banner: string
  readonly token: string | undefined
  readonly services: Services
  /** How many requests run or wait now. */
  readonly pending: () => number
  /** Refuses what is new, finishes what runs, closes the database. */
  stop(): Promise<void>
}

/** Opens the shop: database, schema, sandbox, HTTP, chores. */
export async function openShop(config: Config, log: Log, around: Surroundings = realSurroundings): Promise<Shop> {
  const db = openConfigured(config)
  const applied = await migrate(db, readMigrations())
  if (applied.length > 0) log.info('migrated', { applied })
  const { vault, confirm } = await openVault(config, db)
  const services = createServices(db, around, arrangementsOf(config, vault))
  const adopted = await services.stock.ranges.adopt()
  if (adopted > 0) log.info('stock put into ranges', { addresses: adopted })
  const token = config.sandbox ? await openAsSandbox(services, config) : undefined
  if (!config.sandbox && config.sandboxToken) await services.customers.admitSandboxToken(config.sandboxToken)
  // An empty database that is not to be a sandbox is a production shop from now on.
  if (!config.sandbox) await db.transact((tx) => services.customers.decideMode(tx, 'production'))
  await confirm()
  await warnOfPlaces(services, log)
  const keys = joinKeysIn(config.folder)
  const localChores = await admitLocalNodes({ ...services, ...around, keys }, config.localNodes)
  const api = openApi(config, services, around, log)
  const local = await openLocalSocket(config, api.toNodes, log)
  const all = [
    ...moneyChores(services, log),
    ...dedicatedChores(services),
    ...premiumChores(services, log),
    ...trafficChores({ ...services, ...around }, log),
    ...vpnChores(services, log),
    ...fleetChores({ ...services, ...around }, log),
    ...outageChores(services, log),
    ...eventChores(services),
    ...paymentChores(services, log),
    ...localChores,
  ]
  const chores = startChores(all, log)
  log.info('shop open', { url: api.url, engine: db.engine, version: manifest.version })
  return {
    url: api.url,
    banner: banner(api.url, token),
    token,
    services,
    pending: api.pending,
    async stop() {
      await Promise.all([api.stop(), local?.stop(drainMs)])
      await chores.stop()
      await db.close()
      log.info('shop closed')
    },
  }
}

/** Said at every start: whoever looks for the reason why nobody can use what he bought finds it. */
async function warnOfPlaces({ reach }: Services, log: Log): Promise<void> {
  for (const { setting, host } of await reach.warnings()) {
    log.warn('not reachable', {
      setting,
      host,
      explanation: 'customers are sent to this machine’s own address; what only they could reach there is not sold',
    })
  }
}

const openAsSandbox = (services: Services, config: Config): Promise<string | undefined> =>
  openSandbox(services, shippedCatalogue, config.sandboxToken, unshownTokenIn(config.folder))

/** What customers and nodes call, on its port. */
function openApi(config: Config, services: Services, around: Surroundings, log: Log) {
  let isStopping = false
  let url = ''
  const common = {
    requestId: () => around.random(12).toHex(),
    isStopping: () => isStopping,
    note: requestNotes(log),
  }
  const { gateway } = services.arranged
  const publicUrl = () => config.publicUrl ?? url
  const state = createNodeState({ ...services, ...around })
  const toNodes = createNodeHttp({ ...services, ...around, ...common, state })
  const toCustomers = createHttp({
    ...around,
    ...common,
    customers: services.customers,
    bound: [
      ...accountOperations(services),
      ...paymentOperations({ ...services, publicUrl }),
      ...dedicatedOperations({ ...services, ...around, gateway, probe: probeProxy }),
      ...premiumOperations(services),
      ...vpnOperations({ ...services, drawing, publicUrl }),
      ...orderOperations(services),
      ...eventOperations(services),
    ],
    plain: [
      vpnLinkRoute({ ...services, drawing, linksPerMinute: config.linksPerMinute }),
      payPageRoute(services),
      notifyRoute(services),
    ],
    version: manifest.version,
    publicUrl,
    readsPerMinute: config.readsPerMinute,
    chargesPerMinute: config.chargesPerMinute,
    isReady: () => isReachable(services.db),
    warnings: async () => (await services.reach.warnings()).map(({ setting, host }) => `${setting} is ${host}`),
  })
  const { host: hostname, port, trustedProxies } = config
  const server = listening(hostname, port, 'shop', () =>
    serve({ hostname, port, trustedProxies, toCustomers, toNodes, onChange: () => state.poke() }),
  )
  url = listenUrl(config, server.port)
  return {
    url,
    toNodes,
    pending: server.pending,
    async stop(): Promise<void> {
      isStopping = true
      state.stop()
      await server.stop(drainMs)
    },
  }
}
