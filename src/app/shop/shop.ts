import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import http from 'node:http'
import manifest from '../../../package.json' with { type: 'json' }
import { maxHeadKib } from '../../api/answers.ts'
import { purchaseNotes, type Server, serve, serveSocket } from '../../api/serve.ts'
import { machineCommand } from '../../cli/command.ts'
import type { Log } from '../../core/log.ts'
import { StallMonitor, type Stalls } from '../../core/stall-monitor.ts'
import { createLeaders } from '../../db/leader.ts'
import { migrate } from '../../db/migrate.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import shippedCatalogue from '../../domains/pricing/catalogue.yaml' with { type: 'text' }
import { startJobs } from '../../jobs/jobs.ts'
import { admitLocalNodes } from '../../jobs/local-nodes.ts'
import { makeSandboxLinks, openSandbox } from '../../jobs/sandbox/open.ts'
import { startDeliveries } from '../../jobs/webhooks.ts'
import { scheduleBackups } from '../backup/schedule.ts'
import { banner } from '../banner.ts'
import { addFrontMetrics } from '../metrics/node.ts'
import { createProcessMetrics, serveMetrics } from '../metrics/process.ts'
import { addBackupMetrics, addShopGauges, createShopMetrics, type ShopRecorder } from '../metrics/shop.ts'
import { configOf, logOf, startCollecting, tellOpened, tellServing, untilStopped } from '../process.ts'
import { type Config, joinFolder, listenUrl, shopSocket } from '../settings/config.ts'
import { assertNamed, listening } from '../settings/listening.ts'
import { BadSetting } from '../settings/reading.ts'
import { openShopEntrance, openTls, type Tls } from '../tls.ts'
import { createApi } from './api.ts'
import { isListening, joinKeysIn, taken, unshownTokenIn } from './data-folder.ts'
import { assertNotLost, assertOpen, openConfigured, openVault, readMigrations } from './database.ts'
import { createForwarding } from './forwarding.ts'
import { followHistory } from './history.ts'
import { shopJobs } from './jobs.ts'
import { createServices, type Runtime, realRuntime, type Services, shopConfigOf } from './services.ts'

/**
 * Bun refuses larger heads with 431 and without a body, before any code of the shop runs. It has this setting for the
 * whole process, and no option of `Bun.serve`. Up to here the shop refuses by itself, with a reason.
 */
const maxHeadBytes = 4 * maxHeadKib * 1024

/** How long running requests may take to finish once the shop is stopped. */
const drainMs = 9_000
const builtConsole = new URL('../../../dist/console/', import.meta.url)

export type Shop = Awaited<ReturnType<typeof openShop>>

/** Loads the mail adapter only if it is configured. */
async function openMail({ smtpUrl: url, mailFrom: from }: Config, log: Log) {
  if (url === undefined) return undefined
  const { createMail } = await import('../../adapters/mail.ts')
  return createMail({ url, from }, log)
}

export async function openShop(config: Config, log: Log, given: Runtime = realRuntime) {
  const stallMonitor = startStallMonitor()
  const runtime = { stalls: stallMonitor.stalls, ...given }
  await assertNamed(config.host, 'TURNPIKE_HOST (--host)')
  const tls = openTls(config, 'shop', log)
  assertNotLost(config)
  const db = openConfigured(config, config.databaseConnections)
  const applied = await migrate(db, readMigrations())
  if (applied.length > 0) log.info('migrated', { applied })
  await assertOpen(db)
  const { vault, confirm } = await openVault(config, db)
  const mail = await openMail(config, log)
  let site = ''
  const joining = { isOpen: config.registration !== 'off', mail, siteUrl: () => site }
  const onPurchase = purchaseNotes(log)
  const services = createServices(db, runtime, { ...shopConfigOf(config, vault), joining, onPurchase })
  const historyJobs = await followHistory(config, services, log)
  await services.stock.ranges.unfinished.adoptOld()
  await db.transact((tx) => services.fleet.ensurePasswordKey(tx))
  const token = config.sandbox ? await openAsSandbox(services, config) : undefined
  if (!config.sandbox && config.sandboxToken) await services.customers.admitSandboxToken(config.sandboxToken)
  // Without --sandbox an empty database becomes a production shop permanently.
  if (!config.sandbox) await db.transact((tx) => services.customers.decideMode(tx, 'production'))
  const isSandbox = (await services.customers.mode()) === 'sandbox'
  // A database stays what it was first opened as: sandbox money and tokens never become real.
  if (isSandbox && !config.sandbox) {
    log.warn('still a sandbox', {
      setting: 'TURNPIKE_SANDBOX',
      explanation:
        'This database was opened as a sandbox and stays one. For a production shop name an empty database or folder.',
    })
  }
  // A sandbox has no money, and is there to be tried.
  if (!isSandbox) assertConfirming(config)
  await confirm()
  await warnOfUnreachable(services, log)
  const keys = joinKeysIn(config.folder)
  const localJobs = await admitLocalNodes({ ...services, ...runtime, keys }, localKinds(config, isSandbox))
  const metrics = createProcessMetrics(config, 'shop')
  const recorder = createShopMetrics(metrics, runtime.clock)
  tls?.addMetrics(metrics)
  const api = openApi(config, services, runtime, { log, recorder, tls, hasFront: config.front ?? isSandbox })
  addShopGauges(metrics, services, api.pending, db.reads)
  if (api.entrance) addFrontMetrics(metrics, 'shop', api.entrance)
  site = config.publicUrl ?? api.url
  const local = await openLocalSocket(config, api, log)
  const backups = scheduleBackups(config, runtime.clock, log)
  addBackupMetrics(metrics, config, backups.list)
  const all = [
    ...shopJobs(services, runtime, log, () => tls?.current()?.endsAt),
    ...localJobs,
    ...historyJobs,
    ...backups.jobs,
  ]
  const deliveries = startDeliveries(services, log)
  const leaders = createLeaders(config.databaseUrl)
  const jobs = startJobs(all, log, (job) => leaders.leads(job), recorder.job, runtime.clock)
  const figures = serveMetrics(config, 'shop', metrics, log)
  const links = await makeSandboxLinks(services)
  const isConsoleBuilt = await Bun.file(new URL('page.html', builtConsole)).exists()
  const needsOperator = !isSandbox && (await services.operators.list()).length === 0
  log.info('shop open', { url: api.url, engine: db.engine, version: manifest.version })
  return {
    url: api.url,
    banner: () =>
      banner(site, token, {
        listensAt: api.url,
        links,
        hasEarlierToken: isSandbox,
        isAwaited: tls !== undefined && tls.current() === undefined,
        isConsoleBuilt,
        needsOperator,
        hasVpnNode: config.gatewayVpn || localKinds(config, isSandbox).includes('vpn'),
      }),
    /** Settles when the shop serves, or when its certificate is late. */
    settled: async () => tls?.settled(),
    token,
    services,
    pending: api.pending,
    /** Reads its certificate again; undefined where it has none. */
    onHangUp: tls?.look,
    /** Reports not ready, then refuses new requests, finishes running ones, and closes the database. */
    async stop(): Promise<void> {
      await api.drain()
      await Promise.all([api.stop(), local?.stop(drainMs)])
      await tls?.stop()
      await figures.stop()
      metrics.stop()
      backups.stop()
      await Promise.all([jobs.stop(), deliveries.stop()])
      await leaders.stop()
      await mail?.close()
      // A full disk or a replaced file must not keep the shop from its end.
      await services.customers.noteUses().catch((fault: unknown) => log.warn('uses of tokens not noted', { fault }))
      await services.requests.write().catch((fault: unknown) => log.warn('requests not noted', { fault }))
      await db.close()
      stallMonitor.stop()
      log.info('shop closed')
    },
  }
}

/** Length of a socket path that every system allows. */
const maxPathBytes = 103

/** Opens the socket for nodes of this machine, if there are any. A running shop of this folder keeps it. */
async function openLocalSocket(
  config: Config,
  handlers: Parameters<typeof serveSocket>[1],
  log: Log,
): Promise<Server | undefined> {
  const folder = joinFolder(config.folder)
  if (config.localNodes.length === 0 && !existsSync(folder)) return undefined
  const path = shopSocket(config.folder)
  if (Buffer.byteLength(path) > maxPathBytes) {
    throw new BadSetting(`TURNPIKE_DATA (--data) is too long for a socket in it: ${path} has more than 103 bytes.`)
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  if (await isListening(path)) {
    if (config.localNodes.length > 0) throw taken(config)
    const explanation = 'Another shop of this data folder serves the nodes of this machine. This one does not.'
    log.warn('socket taken', { path, explanation })
    return undefined
  }
  rmSync(path, { force: true })
  return serveSocket(path, handlers)
}

/** Kinds of nodes on this machine that join by themselves. */
const localKinds = ({ localNodes }: Config, isSandbox: boolean): readonly NodeKind[] => [
  ...new Set(localNodes.flatMap((each) => (each !== 'sandbox-vpn' ? [each] : isSandbox ? ['vpn' as const] : []))),
]

/** Measures stalls of this process, which are left out of a node's silence. */
function startStallMonitor(): { readonly stalls: Stalls; stop(): void } {
  const stalls = new StallMonitor(() => performance.now())
  const timer = setInterval(() => stalls.tick(), stalls.everyMs)
  timer.unref()
  return { stalls, stop: () => clearInterval(timer) }
}

/** TURNPIKE_REGISTRATION=on requires TURNPIKE_SMTP_URL to verify e-mail addresses. */
function assertConfirming(config: Config): void {
  if (config.registration !== 'on' || config.smtpUrl !== undefined) return
  throw new BadSetting(
    'TURNPIKE_REGISTRATION is on, and without TURNPIKE_SMTP_URL the shop cannot confirm e-mail addresses. ' +
      'Set TURNPIKE_SMTP_URL, or TURNPIKE_REGISTRATION=unconfirmed to take any address.',
  )
}

/** Warns at every start about hosts that customers cannot reach. */
async function warnOfUnreachable({ reach }: Services, log: Log): Promise<void> {
  for (const { setting, host } of await reach.warnings()) {
    log.warn('not reachable', {
      setting,
      host,
      explanation: `Customers cannot reach a loopback address, so what needs it is not sold. Set ${setting}.`,
    })
  }
}

const openAsSandbox = (services: Services, config: Config): Promise<string | undefined> =>
  openSandbox(services, Bun.YAML.parse(String(shippedCatalogue)), config.sandboxToken, unshownTokenIn(config.folder))

type OpeningDeps = {
  readonly log: Log
  readonly recorder: ShopRecorder
  readonly tls: Tls | undefined
  readonly hasFront: boolean
}

function openApi(
  config: Config,
  services: Services,
  runtime: Runtime & { readonly stalls: Stalls },
  { log, recorder, tls, hasFront }: OpeningDeps,
) {
  let url = ''
  const forwarding = createForwarding(log)
  const api = createApi(config, services, runtime, {
    log,
    recorder,
    hasFront,
    publicUrl: () => config.publicUrl ?? url,
    onAdmitted: (from) => entrance?.welcome(from),
    warnings: forwarding.warnings,
    certificateEndsAt: () => tls?.current()?.endsAt,
  })
  const { toNodes, toCustomers } = api
  Object.assign(http, { maxHeaderSize: maxHeadBytes })
  const { host: hostname, port, trustedProxies } = config
  const entrance = tls && openShopEntrance(tls, { hostname, port, inner: () => server.port, log })
  const at = entrance ? { hostname: '127.0.0.1', port: 0, behind: entrance.clientOf } : { hostname, port }
  const server: Server = listening(hostname, port, 'shop (TURNPIKE_PORT)', () =>
    serve({ ...at, trustedProxies, ...forwarding, toCustomers, toNodes }),
  )
  url = listenUrl(config, entrance?.port ?? server.port)
  return {
    url,
    entrance,
    toNodes,
    toCustomers,
    pending: server.pending,
    /** Reports not ready first, so that a load balancer can send requests elsewhere. */
    async drain(): Promise<void> {
      api.drain()
      await Bun.sleep(config.drainSeconds * 1000)
    },
    async stop(): Promise<void> {
      api.stop()
      entrance?.close()
      await server.stop(drainMs)
      entrance?.end()
    },
  }
}

export const shopCommand = machineCommand({
  name: 'shop',
  summary: 'Runs the shop: the API, its description and its docs.',
  async run(given) {
    const config = configOf(given)
    const opened: { shop?: Shop } = {}
    const stopped = untilStopped(() => opened.shop?.onHangUp)
    const shop = await openShop(config, logOf(config, 'shop'))
    opened.shop = shop
    startCollecting()
    tellServing()
    await Promise.race([shop.settled(), stopped])
    const text = shop.banner()
    const isSandbox = (await shop.services.customers.mode()) === 'sandbox'
    if (!tellOpened({ banner: text, isSandbox })) {
      process.stdout.write(text)
      unshownTokenIn(config.folder).forget()
    }
    await stopped
    await shop.stop()
    return { json: null, lines: [], exit: 0 }
  },
})
