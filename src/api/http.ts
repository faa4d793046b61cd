import { Hono } from 'hono'
import type { Address } from '../core/address.ts'
import { Refusal, refuseField } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { Brands } from '../domains/brand/index.ts'
import type { Caller, Customers } from '../domains/customers/index.ts'
import type { Scope } from '../domains/customers/rules.ts'
import { refusalVersion } from './answer-operation.ts'
import {
  assertHeadFits,
  internalError,
  named,
  plainHeaders,
  type RequestNote,
  sentTokenOf,
  sessionNeeded,
  setRateLimit,
  stopping,
  toRefusal,
  withoutBody,
  withSee,
} from './answers.ts'
import type { Api, Params } from './api.ts'
import type { Bound } from './bind.ts'
import type { ConsoleRoute } from './console.ts'
import { withCors } from './cors.ts'
import { createDescription, customerApiProfile } from './describe.ts'
import { docsEntrances, docsPaths, readDocs, readTitle, russianDescriptionPath } from './docs.ts'
import { createDescriptionFiles, llmsPath, operationPagePath } from './docs-markdown.ts'
import { createRussianDescription } from './docs-russian.ts'
import { readSearchIndex, searchIndexPath } from './docs-search.ts'
import { type AnswerLanguage, pageLanguageOf } from './language.ts'
import { createLimits, type LimitDeps, type Limits } from './limits.ts'
import { type Mounted, mount } from './mounted.ts'
import { isWhole, type Operation, scopeOf } from './operation.ts'
import { answerPlain, type PlainRoute } from './plain-route.ts'
import { createPublicServing, type PublicOperation } from './public-api.ts'
import { createRateLimit } from './rate.ts'
import { compressRefusal, createSharedAnswer } from './respond.ts'
import { findShown } from './session.ts'
import { type FindSold, withTerms } from './sold.ts'
import { type ApiVersions, apiVersions, versionHeader } from './versions.ts'
import type { Visit } from './visit.ts'

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

export type HttpDeps = LimitDeps & {
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
  /** Origins whose pages may call the customers' API; none by default. */
  readonly corsOrigins?: readonly string[]
  /** Why nothing can be sold now; undefined if it can. */
  readonly findHindrance: () => Promise<string | undefined>
  /** Warnings of `/readyz` for the operator; none by default. */
  readonly warnings?: () => Promise<readonly string[]>
  readonly isStopping: () => boolean
  /** A request from this address was authenticated. */
  readonly onAdmitted?: (from: Address) => void
  /** An operation that affects nodes has been done. Called before its answer is sent. */
  readonly onNodesAffected?: () => void
  readonly note: (note: RequestNote) => void
}

const base = '/api/v1'

type App = Hono<{ Bindings: { visit: Visit } }>
type Run = (request: Request, params: Params, visit: Visit) => Promise<Response>
/** `exact` has the operations without path parameters, by method and path: they need no router. */
type Router = { readonly app: App; readonly exact: Map<string, { readonly run: Run; readonly isCharging: boolean }> }

/** All APIs and pages as one function from request to answer. `hold` keeps the connection's next request waiting. */
export function createHttp(deps: HttpDeps) {
  const limits = createLimits(deps)
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
  const files = {
    en: createDescriptionFiles(read, readTitle, 'en'),
    ru: createDescriptionFiles(readRussian, readTitle, 'ru'),
  }
  for (const path of api.operations.map(({ id }) => operationPagePath(id))) {
    serveInLanguages(app, path, (language) => files[language](path))
  }
  const index = createSharedAnswer(() => files.en(llmsPath))
  app.get(llmsPath, ({ req }) => index(req.raw))
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
  for (const path of docsPaths) serveInLanguages(app, path, (language) => readBranded(path, language))
  const index = { en: searchIndexReader('en'), ru: searchIndexReader('ru') }
  serveInLanguages(app, searchIndexPath, (language) => index[language]())
  for (const path of docsEntrances) {
    app.get(path, () => new Response(null, { status: 302, headers: { ...plainHeaders, Location: '/docs' } }))
  }
}

/** A page in the language of `?lang=`, otherwise of `Accept-Language`. */
function serveInLanguages(
  app: App,
  path: string,
  read: (language: AnswerLanguage) => ReturnType<Parameters<typeof createSharedAnswer>[0]>,
): void {
  const serve = { en: createSharedAnswer(() => read('en')), ru: createSharedAnswer(() => read('ru')) }
  app.get(path, ({ req }) => serve[pageLanguageOf(req.query('lang'), req.raw.headers)](req.raw))
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
