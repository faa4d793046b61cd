import manifest from '../../../package.json' with { type: 'json' }
import { drawFrontPicture } from '../../adapters/front-picture.ts'
import { drawing } from '../../adapters/qr-drawing.ts'
import { createActivityFeed } from '../../api/admin/activity/feed.ts'
import { watchingFeed } from '../../api/admin/activity/routes.ts'
import { type RequestNote } from '../../api/answers.ts'
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
import { requestNotes } from '../../api/serve.ts'
import { soldIn } from '../../api/sold.ts'
import type { Address } from '../../core/address.ts'
import { readId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { refuseHere } from '../../core/refusal.ts'
import { type Stalls } from '../../core/stall-monitor.ts'
import { isReachable, soonEnough } from '../../db/open.ts'
import { onStandby } from '../../db/read-standby.ts'
import { urgently } from '../../db/transaction.ts'
import type { Session } from '../../domains/signin/rules.ts'
import { mcpRoute } from '../../mcp/http.ts'
import { type ShopRecorder } from '../metrics/shop.ts'
import { type Config } from '../settings/config.ts'
import { graceOf } from '../settings/vpn.ts'
import { createAdmin, proxyCheckOf } from './admin.ts'
import { type Runtime, type Services } from './services.ts'

const builtConsole = new URL('../../../dist/console/', import.meta.url)

/** Notes a customer's own request for `GET /requests`. */
function noteRequest({ requests }: Services, { clock }: Runtime, note: RequestNote): void {
  const { id, customer, logged, status, reason, key } = note
  const own = readId('customer', customer ?? '')
  if (own === undefined || logged === undefined) return
  const isRead = ['GET', 'HEAD'].includes(note.method) && status < 400
  requests.note({ ...logged, customer: own, at: clock(), id, status, reason: reason ?? null, key: key ?? null, isRead })
}

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

type ApiDeps = {
  readonly log: Log
  readonly recorder: Pick<ShopRecorder, 'request'>
  readonly hasFront: boolean
  /** Known once the shop listens. */
  readonly publicUrl: () => string
  /** A request from this address was authenticated. */
  readonly onAdmitted: (from: Address) => void
  /** Why requests come from other addresses than they seem to, for `/readyz`. */
  readonly warnings: () => readonly string[]
  /** When the certificate that the shop serves ends; undefined without one. */
  readonly certificateEndsAt?: () => number | undefined
}

/** All APIs and pages of a shop as two functions from request to answer. They open no port. */
export function createApi(
  config: Config,
  services: Services,
  runtime: Runtime & { readonly stalls: Stalls },
  { log, recorder, hasFront, publicUrl, onAdmitted, warnings, ...own }: ApiDeps,
) {
  let isStopping = false
  let isDraining = false
  const written = requestNotes(log)
  const common = {
    requestId: () => runtime.random(12).toHex(),
    isStopping: () => isStopping,
    onAdmitted,
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
  const state = createNodeState({ ...services, ...runtime, grace: () => graceOf(config, publicUrl()) })
  const feed = createActivityFeed(services)
  const eventWatch = new EventWatch({ events: watchingFeed(services.events, feed) })
  const serving = { ...own, following: { feed, watch: eventWatch } }
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
    onStandby,
    sessions: createCustomerSessions({ ...services, publicUrl }),
    others: [
      mount(authApi({ ...services, ...runtime, publicUrl, drawSvg, actAs: actingAs(services) })),
      mount(createAdmin(services, runtime, publicUrl, log, serving)),
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
      ...warnings(),
    ],
  })
  return {
    toNodes,
    toCustomers,
    /** Reports not ready, and still answers. */
    drain(): void {
      isDraining = true
    },
    /** Refuses new requests, and ends those that wait for a change. */
    stop(): void {
      isStopping = true
      state.stop()
      eventWatch.stop()
    },
  }
}
