import { Hono } from 'hono'
import { type Address, clientPrefixOf } from '../core/address.ts'
import type { CustomerId, TokenId } from '../core/ids.ts'
import { KeyedSemaphore } from '../core/keyed-semaphore.ts'
import { Refusal, refuseField } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { OpenTokenBuckets } from '../core/token-buckets.ts'
import type { Brands } from '../domains/brand/index.ts'
import { type Caller, type Customers, ScopeMissing } from '../domains/customers/index.ts'
import type { Scope } from '../domains/customers/rules.ts'
import { isIdempotencyKey } from '../domains/orders/rules.ts'
import {
  assertConnected,
  assertHeadFits,
  assertNotPipelined,
  chargedBy,
  internalError,
  named,
  plainHeaders,
  type RequestNote,
  rateLimited,
  sentTokenOf,
  sessionNeeded,
  setRateLimit,
  stopping,
  toRefusal,
  withoutBody,
  withSee,
} from './answers.ts'
import { type AuthThrottle, createAuthThrottle } from './auth-throttle.ts'
import type { Answered, Bound, Call } from './bind.ts'
import { readBody } from './body.ts'
import { BulkTurns, maxOrdinaryRows } from './bulk-turns.ts'
import { type ChangeBudget, createChangeBudget, rowsChangedBy } from './change-budget.ts'
import type { ConsoleRoute } from './console.ts'
import { withCors } from './cors.ts'
import { type ApiProfile, createDescription, customerApiProfile } from './describe.ts'
import { docsEntrances, docsPaths, readDocs, readTitle, russianDescriptionPath } from './docs.ts'
import { createDescriptionFiles, llmsPath, operationPagePath } from './docs-markdown.ts'
import { createRussianDescription } from './docs-russian.ts'
import { readSearchIndex, searchIndexPath } from './docs-search.ts'
import { type AnswerLanguage, languageOf, pageLanguageOf } from './language.ts'
import { isWhole, type Operation, scopeOf, takesKey } from './operation.ts'
import { createPublicServing, type PublicOperation } from './public-api.ts'
import { createRateLimit, type RateLimit, type RateLimitState } from './rate.ts'
import { compressRefusal, createSharedAnswer, toResponse } from './respond.ts'
import { findShown, secretIn } from './session.ts'
import { type FindSold, withTerms } from './sold.ts'
import type { TimerClock } from './timing.ts'
import { readFields, readQuery } from './validate.ts'
import { type ApiVersions, apiVersions, type RequestVersion, versionHeader } from './versions.ts'
import { findWarnings } from './warnings.ts'

/** A page or a file outside the API: no token is needed, and a limit of its own holds for each source address. */
export type PlainRoute = {
  readonly path: string
  /** Methods other than GET alone. */
  readonly takes?: 'GET and POST' | 'POST'
  readonly perMinute: number
  /** As of an operation. */
  readonly affectsNodes?: true
  readonly answer: (
    request: Request,
    params: Readonly<Record<string, string>>,
    from: Address | undefined,
  ) => Promise<Response>
}

const probes: readonly string[] = ['/healthz', '/readyz']

/** Only digits match a parameter that is a number: `GET /dedicated/{id}` leaves `/dedicated/buy` to its own methods. */
const toPattern = ({ path, params }: Pick<Operation, 'path' | 'params'>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => (isWhole(params.shape[name]) ? `:${name}{[1-9][0-9]*}` : `:${name}`))

/** The methods that each path knows, for the answer to the others. */
function methodsByPath(apis: readonly Mounted[], plain: readonly Pick<PlainRoute, 'path' | 'takes'>[]) {
  const methods = new Map<string, string[]>()
  for (const api of apis) {
    for (const operation of api.operations) {
      const path = api.base + toPattern(operation)
      methods.set(path, [...(methods.get(path) ?? []), ...(operation.method === 'GET' ? ['GET', 'HEAD'] : ['POST'])])
    }
    methods.set(`${api.base}/openapi.json`, ['GET', 'HEAD'])
  }
  for (const path of [...probes, ...docsPaths, russianDescriptionPath, ...docsEntrances])
    methods.set(path, ['GET', 'HEAD'])
  methods.set(searchIndexPath, ['GET', 'HEAD'])
  methods.set(llmsPath, ['GET', 'HEAD'])
  for (const { id } of apis.find((each) => each.base === base)?.operations ?? [])
    methods.set(operationPagePath(id), ['GET', 'HEAD'])
  for (const { path, takes } of plain) {
    const reads = takes === 'POST' ? [] : ['GET', 'HEAD']
    methods.set(path, [...reads, ...(takes === undefined ? [] : ['POST'])])
  }
  return methods
}

/** An authenticated caller: the value for operations, the name that is rate-limited, and the customer. */
type Admitted<By> = {
  readonly by: By
  readonly name: string
  readonly customer?: CustomerId | undefined
  /** The token of a customer, null in a session: the request is in the customer's log. */
  readonly token?: TokenId | null
  /** The version of the token; undefined without one. */
  readonly version?: string | undefined
  /** The transaction of the sale checks the token again. A session is only checked here. */
  readonly isCheckedBySale?: boolean
}

/** One of several APIs on the same port: its operations, its authentication and its description. */
export type Api<By> = {
  readonly base: string
  readonly bound: readonly Bound<By>[]
  readonly profile: ApiProfile
  /** Versions that requests can name; an API without them has one form. */
  readonly versions?: ApiVersions
  /** Authenticates the caller. A sale accepts an older cached result: its transaction checks revocation again. */
  readonly letIn: (
    request: Request,
    from: Address | undefined,
    operation: Operation,
    purpose?: 'sale',
  ) => Promise<Admitted<By>>
  /** The credential of a request: its token, or one session cookie. */
  readonly findShown: (request: Request, operation: Operation) => string | undefined
}

/** An API without the type of its callers. */
export type Mounted = {
  readonly base: string
  readonly operations: readonly Operation[]
  readonly profile: ApiProfile
  readonly answer: (
    operation: Operation,
    request: Request,
    params: Params,
    visit: Visit,
    limits: Limits,
  ) => Promise<Response>
}

type Params = Readonly<Record<string, string>>
type Limits = {
  readonly reads: RateLimit
  readonly charges: RateLimit
  readonly changes: ChangeBudget
  readonly authThrottle: AuthThrottle
  /** Ordinary requests that run, by customer or operator. */
  readonly semaphore: KeyedSemaphore
  readonly bulk: BulkTurns
}

/** Requests per minute of one token or session, and five times as many of all of a customer together. */
function createLimit(deps: HttpDeps, perMinute: number, purpose: string): RateLimit {
  const ofName = createRateLimit(perMinute, deps.clock, purpose, deps.buckets)
  const ofCustomer = createRateLimit(perMinute * 5, deps.clock, `${purpose} of a customer`, deps.buckets)
  return async (name, customer) => {
    const own = await ofName(name)
    if (customer === undefined || !own || own.retryAfterSeconds) return own
    const ofAll = await ofCustomer(customer)
    return ofAll?.retryAfterSeconds ? ofAll : own
  }
}

export function mount<By>(api: Api<By>): Mounted {
  const bound = new Map(api.bound.map((each) => [each.operation, each]))
  return {
    base: api.base,
    operations: api.bound.map((each) => each.operation),
    profile: api.profile,
    answer(operation, request, params, visit, limits) {
      const found = bound.get(operation)
      if (!found) throw new Error(`nothing is bound to ${operation.id}`)
      return answer(api, limits, found, request, params, visit)
    },
  }
}

/** An API with public operations before its own. */
function withPublic(api: Mounted, offered: readonly PublicOperation[], clock: Clock): Mounted {
  const open = new Map(offered.map((each) => [each.operation, createPublicServing(each, clock)]))
  return {
    ...api,
    operations: [...open.keys(), ...api.operations],
    async answer(operation, request, params, visit, limits) {
      const serve = open.get(operation)
      return serve ? serve(request, visit) : api.answer(operation, request, params, visit, limits)
    },
  }
}

export type CustomerSessions = (request: Request, scope: Scope) => Promise<Caller | undefined>

export type HttpDeps = {
  readonly customers: Pick<Customers, 'authenticate'>
  readonly bound: readonly Bound[]
  /** Operations of the customers' API that need no caller; none by default. */
  readonly open?: readonly PublicOperation[]
  /** Customers' browser sessions; none by default. */
  readonly sessions?: CustomerSessions
  readonly others?: readonly Mounted[]
  readonly plain?: readonly PlainRoute[]
  readonly console?: readonly ConsoleRoute[]
  /** The name on the pages of `/docs`; the program's own by default. */
  readonly brands?: Pick<Brands, 'current'>
  readonly version: string
  /** The versions of the customers' API; tests add one. */
  readonly versions?: ApiVersions
  /** The shop's public address, for the description. Known once the shop listens. */
  readonly publicUrl: () => string
  /** The goods on sale, for the description of the customers' API; left out by default. */
  readonly sold?: FindSold
  readonly readsPerMinute: number
  readonly chargesPerMinute: number
  /** Rows that one customer may change without a charge; no limit by default. */
  readonly changesPerHour?: number
  /** Whether the customer has ever had money. All have, by default. */
  readonly isFunded?: (customer: CustomerId) => Promise<boolean>
  /** Bulk requests of different customers that run at the same time; one by default. */
  readonly maxBulk?: number
  /** The real timers by default; tests pass their own. */
  readonly timing?: TimerClock
  /** Origins whose pages may call the customers' API; none by default. */
  readonly corsOrigins?: readonly string[]
  readonly clock: Clock
  readonly requestId: () => string
  /** Why nothing can be sold now; undefined if it can. */
  readonly findHindrance: () => Promise<string | undefined>
  /** Warnings of `/readyz` for the operator; none by default. */
  readonly warnings?: () => Promise<readonly string[]>
  /** Token buckets that all shops on one database share; each shop has its own by default. */
  readonly buckets?: OpenTokenBuckets
  readonly isStopping: () => boolean
  /** A request from this address was authenticated. */
  readonly onAdmitted?: (from: Address) => void
  /** An operation that affects nodes has been done. Called before its answer is sent. */
  readonly onNodesAffected?: () => void
  readonly note: (note: RequestNote) => void
}

const base = '/api/v1'

/** The state of a request, for its response headers and its log line. */
type Visit = {
  readonly id: string
  readonly from: Address | undefined
  /** Keeps the next request on this connection waiting, where the shop serves TLS itself. */
  readonly hold: (() => void) | undefined
  path: string
  customer?: CustomerId | undefined
  rateLimit?: RateLimitState | undefined
  isPurchase: boolean
  isSale: boolean
  /** The answer repeats an earlier one under the same key. */
  isReplay?: boolean
  order?: string | undefined
  key?: string | undefined
  logged?: RequestNote['logged']
  version?: RequestVersion
  isAdmitted: boolean
}

type App = Hono<{ Bindings: { visit: Visit } }>
type Run = (request: Request, params: Params, visit: Visit) => Promise<Response>
/** `exact` has the operations without path parameters, by method and path: they need no router. */
type Router = { readonly app: App; readonly exact: Map<string, { readonly run: Run; readonly isCharging: boolean }> }

/** Requests of one customer that wait for a permit; more are refused with 503. */
const maxWaiting = 1000

/** All APIs and pages as one function from request to answer. `hold` keeps the connection's next request waiting. */
export function createHttp(deps: HttpDeps) {
  const limits: Limits = {
    reads: createLimit(deps, deps.readsPerMinute, 'reads'),
    charges: createLimit(deps, deps.chargesPerMinute, 'charges'),
    changes: createChangeBudget(deps.changesPerHour ?? 0, deps.clock, deps.buckets, deps.isFunded),
    authThrottle: createAuthThrottle(deps.clock, deps.requestId()),
    // Fewer permits than the database's connections.
    semaphore: new KeyedSemaphore(8, maxWaiting),
    bulk: new BulkTurns(deps.maxBulk ?? 1, deps.timing),
  }
  const router: Router = { app: new Hono(), exact: new Map() }
  const { app } = router
  const apis = [withPublic(mount(customerApi(deps)), deps.open ?? [], deps.clock), ...(deps.others ?? [])]
  for (const api of apis) addApi(router, api, limits, deps)
  addProbes(app, deps)
  addPages(app, deps)
  for (const [path, methods] of methodsByPath(apis, [...(deps.plain ?? []), ...(deps.console ?? [])])) {
    app.all(path, () => {
      throw new Refusal('method_not_allowed', { methods }, { allow: methods })
    })
  }
  app.notFound(() => {
    throw new Refusal('path_not_found')
  })
  app.onError((error) => {
    throw error
  })
  return withCors(deps.corsOrigins ?? [], base, (sent, from, hold) => answerNoted(deps, router, sent, from, hold))
}

function addApi({ app, exact }: Router, api: Mounted, limits: Limits, deps: HttpDeps): void {
  for (const operation of api.operations) {
    const run: Run = async (request, params, visit) => {
      try {
        const response = await api.answer(operation, request, params, visit, limits)
        if (operation.affectsNodes) deps.onNodesAffected?.()
        return response
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        throw withSee(await withTerms(error, operation.path, deps.sold), operation.see)
      }
    }
    const path = api.base + toPattern(operation)
    if (path === api.base + operation.path) {
      exact.set(`${operation.method} ${path}`, { run, isCharging: operation.charges === true })
    }
    app.on(operation.method, path, ({ req, env }) => run(req.raw, req.param(), env.visit))
  }
  const { version, publicUrl } = deps
  const read = createDescription(api, api.base === base ? deps : { version, publicUrl })
  const description = createSharedAnswer(async () => ({ body: await read() }))
  app.get(`${api.base}/openapi.json`, ({ req }) => description(req.raw))
  if (api.base !== base) return
  const readRussian = createRussianDescription(read)
  const russian = createSharedAnswer(async () => ({ body: await readRussian() }))
  app.get(russianDescriptionPath, ({ req }) => russian(req.raw))
  const readFile = createDescriptionFiles(read, readTitle)
  for (const path of [llmsPath, ...api.operations.map(({ id }) => operationPagePath(id))]) {
    const file = createSharedAnswer(() => readFile(path))
    app.get(path, ({ req }) => file(req.raw))
  }
}

function addProbes(app: App, deps: HttpDeps): void {
  app.get('/healthz', () => Response.json({ ok: true, version: deps.version }, { headers: plainHeaders }))
  app.get('/readyz', async () => {
    const reason = deps.isStopping() ? 'The shop is stopping.' : await deps.findHindrance()
    if (reason !== undefined) return Response.json({ ok: false, reason }, { status: 503, headers: plainHeaders })
    const warnings = (await deps.warnings?.()) ?? []
    return Response.json({ ok: true, ...(warnings.length > 0 && { warnings }) }, { headers: plainHeaders })
  })
}

function addPages(app: App, deps: HttpDeps): void {
  for (const route of deps.plain ?? []) {
    const limit = createRateLimit(route.perMinute, deps.clock, route.path, deps.buckets)
    const methods = route.takes === undefined ? ['GET'] : route.takes === 'POST' ? ['POST'] : ['GET', 'POST']
    app.on(methods, route.path, async (context) => {
      const response = await answerPlain(route, limit, context.req, context.env.visit)
      if (route.affectsNodes) deps.onNodesAffected?.()
      return response
    })
  }
  for (const page of deps.console ?? []) app.get(page.path, ({ req, env }) => page.answer(req.raw, env.visit))
  const readBranded = async (path: string, language: AnswerLanguage) =>
    readDocs(path, language, (await deps.brands?.current().catch(() => undefined))?.name)
  for (const path of docsPaths) {
    const serve = {
      en: createSharedAnswer(() => readBranded(path, 'en')),
      ru: createSharedAnswer(() => readBranded(path, 'ru')),
    }
    app.get(path, ({ req }) => serve[pageLanguageOf(req.query('lang'), req.raw.headers)](req.raw))
  }
  const index = {
    en: createSharedAnswer(searchIndexReader('en')),
    ru: createSharedAnswer(searchIndexReader('ru')),
  }
  app.get(searchIndexPath, ({ req }) => index[pageLanguageOf(req.query('lang'), req.raw.headers)](req.raw))
  for (const path of docsEntrances) {
    app.get(path, () => new Response(null, { status: 302, headers: { ...plainHeaders, Location: '/docs' } }))
  }
}

/** The articles are part of the program, so the index is made once. */
function searchIndexReader(language: AnswerLanguage) {
  let made: Promise<string> | undefined
  return async () => ({ body: await (made ??= readSearchIndex(language)) })
}

async function answerNoted(
  deps: HttpDeps,
  { app, exact }: Router,
  sent: Request,
  from: Address | undefined,
  hold: Visit['hold'],
): Promise<Response> {
  const startedAt = performance.now()
  const request = named(sent)
  const url = URL.parse(request.url)
  const path = url?.pathname ?? ''
  const visit: Visit = { id: deps.requestId(), from, hold, path, isPurchase: false, isSale: false, isAdmitted: false }
  const known = exact.get(`${request.method === 'HEAD' ? 'GET' : request.method} ${path}`)
  let response: Response
  let fault: unknown
  let refused: Refusal | undefined
  try {
    // The address is made of the Host header, which may be anything.
    if (!url) throw refuseField('Host', 'host_and_port')
    assertHeadFits(request)
    if (deps.isStopping() && !probes.includes(visit.path)) throw stopping()
    const routedRequest = request.method === 'HEAD' ? new Request(request, { method: 'GET' }) : request
    response = await (known ? known.run(routedRequest, {}, visit) : app.fetch(routedRequest, { visit }))
  } catch (error) {
    fault = error instanceof Refusal ? error.cause : error
    refused = error instanceof Refusal ? error : internalError()
    const given = {
      isCharging: known?.isCharging ?? false,
      publicUrl: deps.publicUrl(),
      toVersion: refusalVersion(visit.version),
    }
    response = await compressRefusal(request.headers, toRefusal(refused, request.headers, given))
  }
  if (request.method === 'HEAD') response = await withoutBody(response)
  response.headers.set('X-Request-Id', visit.id)
  if (visit.version) response.headers.set(versionHeader, visit.version.version)
  if (visit.rateLimit) setRateLimit(response.headers, visit.rateLimit)
  if (visit.isAdmitted && from) deps.onAdmitted?.(from)
  deps.note({
    id: visit.id,
    method: request.method,
    path: visit.path,
    status: response.status,
    code: refused?.code,
    reason: refused?.reason,
    tookMs: performance.now() - startedAt,
    customer: visit.customer,
    isPurchase: visit.isPurchase,
    isSale: visit.isSale,
    order: visit.order,
    key: visit.key,
    logged: visit.logged,
    fault,
  })
  return response
}

const customerApi = (deps: HttpDeps): Api<Caller> => ({
  base,
  bound: deps.bound,
  profile: customerApiProfile,
  versions: deps.versions ?? apiVersions,
  findShown: (request) => findShown(request, 'customer', deps.publicUrl()),
  async letIn(request, from, operation, purpose) {
    const scope = scopeOf(operation)
    const inSession = request.headers.has('authorization') ? undefined : await deps.sessions?.(request, scope)
    const by = inSession ?? (await deps.customers.authenticate(sentTokenOf(request), from, scope, purpose))
    if (operation.access === 'session' && by.token !== null) throw sessionNeeded()
    // Tabs of a browser share the cookie: the console names the customer whose purchase it sends.
    const expected = operation.charges === true ? request.headers.get('x-turnpike-customer') : null
    if (expected !== null && expected !== by.customer) {
      throw new Refusal('other_customer_signed_in', {}, { charged: false })
    }
    const name = by.token?.id ?? by.session ?? by.customer
    const token = by.token?.id ?? null
    const isCheckedBySale = purpose === 'sale' && token !== null
    return { by, name, customer: by.customer, token, version: by.apiVersion, isCheckedBySale }
  },
})

/** Notes the version of a request; that of an unknown one is refused in the form of the latest. */
function setVersion(
  versions: ApiVersions | undefined,
  { id: operation }: Operation,
  request: Request,
  ofToken: string | undefined,
  visit: Visit,
): void {
  if (!versions) return
  visit.version = { versions, operation, version: versions.latest }
  visit.version.version = versions.choose(request.headers.get(versionHeader), ofToken)
}

/** The fields of a body or a query as the latest version has them. */
const upgraded = <Sent extends Readonly<Record<string, unknown>>>(of: RequestVersion | undefined, sent: Sent): Sent =>
  of ? of.versions.upgrade(of.operation, of.version, sent) : sent

/** An answer in the version of its request. A replay of an older answer names the version that it has. */
function inVersion(of: RequestVersion | undefined, called: Answered): Answered {
  if (!of || called.mediaType !== undefined) return called
  const version = called.replayed ? (called.version ?? of.versions.latest) : of.versions.latest
  const written = of.versions.toVersion(of.operation, { body: called.body, version }, of.version)
  of.version = written.version
  return { ...called, body: written.body }
}

const refusalVersion = (of: RequestVersion | undefined) =>
  of && of.version !== of.versions.latest
    ? (error: object) => of.versions.refusalTo(of.operation, { ...error }, of.version)
    : undefined

async function answer<By>(
  api: Pick<Api<By>, 'letIn' | 'findShown' | 'versions'>,
  limits: Limits,
  bound: Bound<By>,
  request: Request,
  params: Params,
  visit: Visit,
): Promise<Response> {
  const { operation } = bound
  const purpose = operation.charges === true ? 'sale' : undefined
  const check = () => api.letIn(request, visit.from, operation, purpose)
  const shown = api.findShown(request, operation)
  const letIn = () =>
    operation.access === 'public'
      ? check()
      : limits.authThrottle.letIn(shown, visit, check, ({ name, customer }) => customer ?? name)
  const admitted = await letIn().catch((error: unknown) => countLacking(limits, operation, visit, error))
  const { customer, token } = admitted
  visit.customer = customer
  if (token !== undefined) visit.logged = { operation: operation.id, token }
  setVersion(api.versions, operation, request, admitted.version, visit)
  visit.isAdmitted = operation.access !== 'public'
  visit.isPurchase = purpose === 'sale'
  let leave = visit.isAdmitted ? limits.bulk.enter() : () => {}
  let turn: Turn = { end: leave }
  let giveBack: Awaited<ReturnType<ChangeBudget>> | undefined
  try {
    visit.rateLimit = await (operation.charges ? limits.charges : limits.reads)(admitted.name, customer)
    if (visit.rateLimit?.retryAfterSeconds) throw rateLimited(visit.rateLimit)
    const hasWaited = bound.waitFirst !== undefined && request.url.includes('wait=')
    if (hasWaited) {
      leave()
      const query = readQuery(new URL(request.url).searchParams)
      const signal = request.signal
      await bound.waitFirst?.({ caller: admitted.by, query: readFields(operation.query, query, 'query'), signal })
      leave = limits.bulk.enter()
      turn = { end: leave }
    }
    visit.key = takesKey(operation) ? readKey(request.headers.get('idempotency-key') ?? undefined) : undefined
    const sent = upgraded(visit.version, operation.method === 'POST' ? await readBody(request) : {})
    if (customer !== undefined) giveBack = await limits.changes(customer, rowsChangedBy(operation, sent))
    const queue = customer ?? (operation.access === 'public' ? undefined : admitted.name)
    if (queue !== undefined) turn = await takeTurn(limits, queue, rowsOf(operation, request, sent), leave)
    const { key, id: requestId, version } = visit
    const call = { request, params, sent, key, requestId, version, nextSlice: turn.nextSlice }
    // Checked again, because the token may be revoked while the body arrives or the request waits. The second check of
    // a token's sale is in its transaction.
    const isLate = operation.method === 'POST' || turn.hasWaited || hasWaited
    const letInAgain = isLate && !admitted.isCheckedBySale ? letIn : async () => admitted
    const answered = await answerInTurn(api, limits, bound, call, visit, letInAgain)
    if (visit.isReplay) await giveBack?.().catch(() => {})
    return answered
  } catch (error) {
    // A refusal has rolled its change back. What a fault or a database that does not answer left is not known.
    if (error instanceof Refusal && chargedBy(error) === false) await giveBack?.().catch(() => {})
    throw error
  } finally {
    turn.end()
  }
}

/** Counts a request without the scope as a read, and logs it: the owner sees what a token tries, also a stolen one. */
async function countLacking(limits: Limits, { id }: Operation, visit: Visit, error: unknown): Promise<never> {
  if (!(error instanceof ScopeMissing)) throw error
  const { customer, token } = error.by
  visit.customer = customer
  visit.logged = { operation: id, token }
  visit.rateLimit = await limits.reads(token, customer)
  throw visit.rateLimit?.retryAfterSeconds ? rateLimited(visit.rateLimit) : error
}

async function answerInTurn<By>(
  api: Pick<Api<By>, 'letIn'>,
  limits: Limits,
  bound: Bound<By>,
  call: Omit<OperationCall<By>, 'caller'>,
  visit: Visit,
  letInAgain: () => Promise<Admitted<By>>,
): Promise<Response> {
  const { operation } = bound
  const { request } = call
  try {
    const { by: caller, name, customer } = await letInAgain()
    if (operation.method === 'POST') await assertNotPipelined(request, visit.hold)
    const called = inVersion(visit.version, await runOperation(bound, { ...call, caller }))
    visit.isReplay = called.replayed
    visit.isSale = visit.isPurchase && !called.replayed
    visit.order = called.order ?? undefined
    const issued = called.issued ?? secretIn(called.cookie ?? '')
    if (issued !== undefined) limits.authThrottle.expect(issued, called.owner ?? customer ?? name)
    return await toResponse(request, operation, called)
  } catch (error) {
    // A sale can be refused before its transaction: a revoked caller gets that refusal and no other, unless the
    // database does not answer.
    const isAnswer = error instanceof Refusal && error.kind !== 'unavailable'
    if (visit.isPurchase && isAnswer) await api.letIn(request, visit.from, operation)
    throw error
  }
}

type Turn = { readonly end: () => void; readonly hasWaited?: boolean; readonly nextSlice?: () => Promise<void> }

/** A permit for an ordinary request, or a bulk request's turn. `leave` ends its count as an ordinary request. */
async function takeTurn(limits: Limits, queue: string, rows: number, leave: () => void): Promise<Turn> {
  if (rows > maxOrdinaryRows) {
    leave()
    const { next, end } = await limits.bulk.start(queue)
    return { hasWaited: true, nextSlice: next, end: () => void end() }
  }
  const waits = limits.semaphore.acquire(queue)
  if (waits) await waits
  const end = () => {
    limits.semaphore.release(queue)
    leave()
  }
  return { hasWaited: waits !== undefined, end }
}

/** How many rows a request asks for. */
function rowsOf(operation: Operation, request: Request, sent: Readonly<Record<string, unknown>>): number {
  const query = request.url.includes('?') ? readQuery(new URL(request.url).searchParams) : {}
  const { ids, count, quantity, limit } = { ...query, ...sent }
  return Math.max(countIds(ids), ...[count, quantity, limit].map(toSize)) || operation.maxRows
}

const toSize = (sent: unknown): number => (typeof sent === 'number' || typeof sent === 'string' ? Number(sent) || 0 : 0)

/** `[1, 2]`, `1,2` or several such texts. */
const countIds = (ids: unknown): number =>
  Array.isArray(ids)
    ? ids.reduce<number>((sum, each) => sum + (typeof each === 'string' ? countIds(each) : 1), 0)
    : typeof ids === 'string'
      ? ids.split(',').length
      : 0

type OperationCall<By> = {
  readonly caller: By
  readonly key: string | undefined
  readonly requestId?: string
  readonly request: Request
  readonly params: Params
  readonly sent: Parameters<typeof findWarnings>[2]
  readonly nextSlice?: Call<Operation>['nextSlice'] | undefined
  /** `sent` is in the latest version already. */
  readonly version?: RequestVersion | undefined
}

/** Parses a request by its operation's schemas and runs the operation for an authenticated caller. */
export function runOperation<By>({ operation, run }: Bound<By>, of: OperationCall<By>): Promise<Answered> {
  const { request, params, sent } = of
  const query = request.url.includes('?') ? upgraded(of.version, readQuery(new URL(request.url).searchParams)) : {}
  const { fields, warnings } = findWarnings(operation, query, sent, request.headers)
  return run({
    caller: of.caller,
    key: of.key,
    requestId: of.requestId,
    params: readFields(operation.params, params),
    query: readFields(operation.query, query, 'query'),
    body: readFields(operation.body, fields),
    warnings,
    language: languageOf(request.headers),
    assertConnected: () => assertConnected(request),
    nextSlice: of.nextSlice ?? (async () => {}),
  })
}

async function answerPlain(
  route: PlainRoute,
  limit: RateLimit,
  request: { raw: Request; param(): Record<string, string> },
  visit: Visit,
): Promise<Response> {
  // A path may hold a secret, so the log gets its pattern.
  visit.path = route.path
  visit.rateLimit = await limit(visit.from ? clientPrefixOf(visit.from) : '')
  if (visit.rateLimit?.retryAfterSeconds) throw rateLimited(visit.rateLimit)
  const response = await route.answer(request.raw, request.param(), visit.from)
  for (const [name, value] of Object.entries(plainHeaders)) response.headers.set(name, value)
  return response
}

export function readKey(key: string | undefined): string | undefined {
  if (key === undefined || isIdempotencyKey(key)) return key
  throw refuseField('Idempotency-Key', 'visible', { from: 1, to: 255 })
}
