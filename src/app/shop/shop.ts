import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import http from 'node:http'
import manifest from '../../../package.json' with { type: 'json' }
import { drawFrontPicture } from '../../adapters/front-picture.ts'
import { drawing } from '../../adapters/qr-drawing.ts'
import { maxHeadKib, type RequestNote } from '../../api/answers.ts'
import { authApi, createCustomerSessions } from '../../api/auth/routes.ts'
import { brandImages } from '../../api/brand-images.ts'
import { type ConsoleRoute, openConsole } from '../../api/console.ts'
import type { Answering } from '../../api/cors.ts'
import { accountOperations, orderOperations } from '../../api/customer/account/routes.ts'
import { createPublicCatalogue } from '../../api/customer/catalogue/public-catalogue.ts'
import { catalogueSeconds, getCatalogue } from '../../api/customer/catalogue/shapes.ts'
import { shownChangelog } from '../../api/customer/changelog/answer.ts'
import { changelogSeconds, getChangelog } from '../../api/customer/changelog/shapes.ts'
import { dedicatedOperations } from '../../api/customer/dedicated/routes.ts'
import { eventOperations } from '../../api/customer/events/routes.ts'
import { EventWatch } from '../../api/customer/events/watch.ts'
import { metadataOperations } from '../../api/customer/metadata/routes.ts'
import { unsubscribeRoute } from '../../api/customer/notices/page.ts'
import { noticeOperations } from '../../api/customer/notices/routes.ts'
import { payPageRoute } from '../../api/customer/payments/page.ts'
import { notifyRoute, paymentOperations } from '../../api/customer/payments/routes.ts'
import { premiumOperations } from '../../api/customer/premium/routes.ts'
import { referralOperations } from '../../api/customer/referral.ts'
import { tokenOperations } from '../../api/customer/tokens/routes.ts'
import { vpnLinkRoute } from '../../api/customer/vpn/link.ts'
import { vpnOperations } from '../../api/customer/vpn/routes.ts'
import { webhookOperations } from '../../api/customer/webhooks/routes.ts'
import { buyRoutes } from '../../api/front/buy.ts'
import { frontRoutes } from '../../api/front/routes.ts'
import { createHttp } from '../../api/http.ts'
import { mount } from '../../api/mounted.ts'
import { createNodeHttp } from '../../api/node/http.ts'
import { createNodeState } from '../../api/node/state.ts'
import { bindPublic } from '../../api/public-api.ts'
import { purchaseNotes, requestNotes, type Server, serve, serveSocket } from '../../api/serve.ts'
import { soldIn } from '../../api/sold.ts'
import { machineCommand } from '../../cli/command.ts'
import type { Address } from '../../core/address.ts'
import { readId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { refuseHere } from '../../core/refusal.ts'
import { StallMonitor, type Stalls } from '../../core/stall-monitor.ts'
import { createLeaders } from '../../db/leader.ts'
import { migrate } from '../../db/migrate.ts'
import { isReachable, soonEnough } from '../../db/open.ts'
import { deleteFullBuckets } from '../../db/token-buckets.ts'
import { urgently } from '../../db/transaction.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import shippedCatalogue from '../../domains/pricing/catalogue.yaml' with { type: 'text' }
import type { Session } from '../../domains/signin/rules.ts'
import { alertJobs } from '../../jobs/alerts.ts'
import { startJobs } from '../../jobs/jobs.ts'
import { admitLocalNodes } from '../../jobs/local-nodes.ts'
import { noticeJobs } from '../../jobs/notices.ts'
import { makeSandboxLinks, openSandbox } from '../../jobs/sandbox/open.ts'
import {
  dedicatedJobs,
  fleetJobs,
  moneyJobs,
  outageJobs,
  paymentJobs,
  premiumJobs,
  retentionJobs,
  trafficJobs,
  vpnJobs,
} from '../../jobs/shop.ts'
import { startDeliveries } from '../../jobs/webhooks.ts'
import { mcpRoute } from '../../mcp/http.ts'
import { scheduleBackups } from '../backup/schedule.ts'
import { banner } from '../banner.ts'
import { addFrontMetrics } from '../metrics/node.ts'
import { createProcessMetrics, serveMetrics } from '../metrics/process.ts'
import { addBackupMetrics, addShopGauges, createShopMetrics, type ShopRecorder } from '../metrics/shop.ts'
import { configOf, logOf, tellOpened, tellServing, untilStopped } from '../process.ts'
import { type Config, joinFolder, listenUrl, shopSocket } from '../settings/config.ts'
import { assertNamed, listening } from '../settings/listening.ts'
import { BadSetting } from '../settings/reading.ts'
import { graceOf } from '../settings/vpn.ts'
import { openShopEntrance, openTls, type Tls } from '../tls.ts'
import { createAdmin, proxyCheckOf } from './admin.ts'
import { isListening, joinKeysIn, taken, unshownTokenIn } from './data-folder.ts'
import { assertNotLost, assertOpen, openConfigured, openVault, readMigrations } from './database.ts'
import { createForwarding } from './forwarding.ts'
import { followHistory } from './history.ts'
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
  addShopGauges(metrics, services, api.pending)
  if (api.entrance) addFrontMetrics(metrics, 'shop', api.entrance)
  site = config.publicUrl ?? api.url
  const local = await openLocalSocket(config, api, log)
  const backups = scheduleBackups(config, runtime.clock, log)
  addBackupMetrics(metrics, config, backups.list)
  const all = [
    ...moneyJobs(services, log),
    ...dedicatedJobs(services, log),
    ...premiumJobs(services, log),
    ...trafficJobs({ ...services, ...runtime }, log),
    ...vpnJobs(services, log),
    ...fleetJobs({ ...services, ...runtime }, log),
    ...outageJobs(services, log),
    ...retentionJobs({ ...services, deleteBuckets: (limit) => deleteFullBuckets(db, runtime.clock(), limit) }, log),
    ...paymentJobs(services, log),
    ...alertJobs({ ...services, ...runtime, certificateEndsAt: () => tls?.current()?.endsAt }),
    ...noticeJobs(services),
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

/** Notes a customer's own request for `GET /requests`. */
function noteRequest({ requests }: Services, { clock }: Runtime, note: RequestNote): void {
  const { id, customer, logged, status, reason, key } = note
  const own = readId('customer', customer ?? '')
  if (own === undefined || logged === undefined) return
  const isRead = ['GET', 'HEAD'].includes(note.method) && status < 400
  requests.note({ ...logged, customer: own, at: clock(), id, status, reason: reason ?? null, key: key ?? null, isRead })
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

/** Writes operators' changes to their own account to the audit log. */
const actingAs =
  ({ acting, operators }: Services) =>
  async <Result>(session: Session, operation: string, work: () => Promise<Result>): Promise<Result> => {
    const operator = session.owner.kind === 'operator' ? await operators.findPresent(session.owner.id) : undefined
    if (!operator) throw refuseHere('This operator was removed.', 'invalid_token')
    const actor = { operator: operator.id, name: operator.name, role: operator.role, source: session.source }
    return acting.act({ actor, operation, request: '{}' }, work)
  }

/** Why sales cannot be written, as /readyz shows it. */
const writeProblems = {
  disk_full: 'The disk of the database is full.',
  moved: 'The database is no longer in the data folder.',
  unwritable: 'The database cannot be written to now.',
  silent: 'The database does not answer.',
}

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
  let isStopping = false
  let isDraining = false
  let url = ''
  const written = requestNotes(log)
  const forwarding = createForwarding(log)
  const common = {
    requestId: () => runtime.random(12).toHex(),
    isStopping: () => isStopping,
    onAdmitted: (from: Address): void => entrance?.welcome(from),
    note(note: RequestNote): void {
      recorder.request(note)
      written(note)
      noteRequest(services, runtime, note)
      const isChange = note.method !== 'GET' && note.method !== 'HEAD' && note.status < 400 && note.node === undefined
      if (isChange) services.timeline.noteChange()
    },
  }
  const { gateway, publicHosts } = services.config
  const ownHosts = [gateway.host, ...(publicHosts ? [publicHosts.shop] : [])]
  const drawSvg = (text: string): string => drawing.svg(text)
  const publicUrl = () => config.publicUrl ?? url
  const state = createNodeState({ ...services, ...runtime, grace: () => graceOf(config, publicUrl()) })
  const eventWatch = new EventWatch(services)
  const readCatalogue = createPublicCatalogue({ ...services, ...runtime })
  const toNodes = createNodeHttp({ ...services, ...runtime, ...common, ownHosts, log, state, urgently })
  const { offers } = services.registration
  const sellsToVisitors = offers.mail && offers.registration
  const withFront = (routes: readonly ConsoleRoute[]) => {
    if (!hasFront) return routes
    const icon = () => Bun.file(new URL('../../console/icon.svg', import.meta.url)).text()
    return frontRoutes(
      { ...services, ...runtime, readCatalogue, publicUrl, drawPicture: drawFrontPicture, icon, sellsToVisitors },
      routes,
    )
  }
  const toCustomers: Answering = createHttp({
    ...runtime,
    ...common,
    onNodesAffected: () => state.announce(),
    customers: services.customers,
    buckets: services.buckets,
    sessions: createCustomerSessions({ ...services, publicUrl }),
    others: [
      mount(authApi({ ...services, ...runtime, publicUrl, drawSvg, actAs: actingAs(services) })),
      mount(createAdmin(services, runtime, publicUrl, log)),
    ],
    open: [
      bindPublic(getCatalogue, catalogueSeconds, async () => (await readCatalogue()).shown),
      bindPublic(getChangelog, changelogSeconds, async () => shownChangelog),
    ],
    bound: [
      ...accountOperations(services),
      ...paymentOperations({ ...services, publicUrl }),
      ...referralOperations({ ...services, publicUrl }),
      ...dedicatedOperations({ ...services, ...runtime, gateway, checkProxy: proxyCheckOf(services) }),
      ...premiumOperations(services),
      ...vpnOperations({ ...services, drawing, publicUrl }),
      ...orderOperations(services),
      ...metadataOperations(services),
      ...eventOperations({ ...services, eventWatch }),
      ...noticeOperations(services),
      ...webhookOperations(services),
      ...tokenOperations(services),
    ],
    console: withFront([...openConsole(builtConsole, runtime.random, services.brands), brandImages(services.brands)]),
    brands: services.brands,
    plain: [
      vpnLinkRoute({
        ...services,
        ...runtime,
        drawing,
        publicUrl,
        linksPerMinute: config.linksPerMinute,
      }),
      unsubscribeRoute(services),
      payPageRoute(services),
      ...(hasFront && sellsToVisitors ? buyRoutes({ ...services, ...runtime, readCatalogue, publicUrl }) : []),
      notifyRoute(services),
      mcpRoute({
        ...runtime,
        publicUrl,
        version: manifest.version,
        findName: async () => (await services.brands.current()).name,
        answer: (request, from) => toCustomers(request, from),
      }),
    ],
    version: manifest.version,
    publicUrl,
    sold: async () => {
      const catalogue = await services.pricing.find()
      return catalogue && soldIn(catalogue)
    },
    readsPerMinute: config.readsPerMinute,
    chargesPerMinute: config.chargesPerMinute,
    changesPerHour: config.changesPerHour,
    isFunded: services.ledger.isFunded,
    // SQLite works on this thread, with one writer. PostgreSQL keeps some connections for ordinary requests.
    maxBulk: services.db.engine === 'sqlite' ? 1 : 8,
    corsOrigins: config.corsOrigins,
    async findHindrance() {
      if (isDraining) return 'The shop is stopping.'
      if (!(await isReachable(services.db))) return writeProblems.silent
      const problem = await soonEnough(services.db.findWriteProblem()).catch(() => 'silent' as const)
      return problem && writeProblems[problem]
    },
    warnings: async () => [
      ...(await services.reach.warnings()).map(({ setting, host }) => `${setting} is ${host}`),
      ...forwarding.warnings(),
    ],
  })
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
      isDraining = true
      await Bun.sleep(config.drainSeconds * 1000)
    },
    async stop(): Promise<void> {
      isStopping = true
      state.stop()
      eventWatch.stop()
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
