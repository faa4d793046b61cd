import type { TokenId } from '../core/ids.ts'
import type { ProblemArguments } from '../core/messages/problems.ts'
import type { Reason } from '../core/messages/sentences.ts'
import { isProblems, Refusal, refuseField, toSentDetails } from '../core/refusal.ts'
import { languageOf, problemsOf, sentencesOf } from './language.ts'
import { statusOfKind } from './operation.ts'
import type { RateLimitState } from './rate.ts'

export type RequestNote = {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly code: string | undefined
  readonly tookMs: number
  readonly customer: string | undefined
  readonly node?: string | undefined
  /** The reason of a refusal. */
  readonly reason?: string | undefined
  /** Whether an authenticated customer sent it to an operation that charges. */
  readonly isPurchase?: boolean
  /** Whether the request sold something: it charged and was not a replay. */
  readonly isSale: boolean
  /** The order that a sale made. */
  readonly order?: string | undefined
  /** The `Idempotency-Key` of a purchase. */
  readonly key?: string | undefined
  /** Of a request of an authenticated customer to the customers' API, for the customer's log. */
  readonly logged?: { readonly operation: string; readonly token: TokenId | null } | undefined
  /** The error behind a 500, or behind a refusal that concerns the operator, such as a full disk. */
  readonly fault: unknown
}

/** A value that was found or parsed, or a refusal in its place. */
export function orRefuse<Value>(value: Value | undefined, ...refusal: ConstructorParameters<typeof Refusal>): Value {
  if (value === undefined) throw new Refusal(...refusal)
  return value
}

export function orRefuseField<Value>(value: Value | undefined, field: string, ...problem: ProblemArguments): Value {
  if (value === undefined) throw refuseField(field, ...problem)
  return value
}

export const plainHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
}
export const apiHeaders = {
  ...plainHeaders,
  'Content-Type': 'application/json; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

export function bearerOf(request: Request): string | undefined {
  return /^Bearer ([\x21-\x7e]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
}

/** The bearer token of a request; empty for an `Authorization` header of another form, undefined without one. */
export const sentTokenOf = (request: Request): string | undefined =>
  bearerOf(request) ?? (request.headers.has('authorization') ? '' : undefined)

/** The text in the place of a token, valid or not. */
export const findToken = (request: Request): string | undefined =>
  bearerOf(request) ?? request.headers.get('authorization') ?? undefined

/** Gives an HTTP/1.0 request without a host this shop's. HTTP/1.1 must name one (RFC 9112, 3.2). */
export const named = (request: Request): Request =>
  request.url.startsWith('/') ? new Request(`http://localhost${request.url}`, request) : request

/** Limit on the URL and on all header lines, each. Bun accepts more (`app/shop/shop.ts`): its refusals have no body. */
export const maxHeadKib = 16

/** Refuses a URL or headers of more than 16 KiB. */
export function assertHeadFits({ url, headers }: Request): void {
  const max = maxHeadKib * 1024
  if (url.length > max) throw new Refusal('url_too_long', { max_kib: maxHeadKib }, { charged: false })
  let size = 0
  for (const [name, value] of headers) size += name.length + value.length + 4
  if (size > max) throw new Refusal('headers_too_large', { max_kib: maxHeadKib }, { charged: false })
}

/** How long the cause of an outage lasts at least; 1 s for a busy shop. */
const outageSeconds: Partial<Record<Reason, number>> = {
  // A restart.
  shop_stopping: 3,
  database_unavailable: 5,
  // A gateway checks its addresses and exits every 10 s. A VPN node reports every 20 s.
  no_gateway_up: 10,
  addresses_not_served: 10,
  no_exit_usable: 10,
  no_vpn_node_up: 20,
  notification_not_confirmed: 60,
  // Until the operator acts.
  database_moved: 300,
  no_prices: 300,
  shop_url_missing: 300,
  no_vpn_address_free: 300,
  notice_limit: 300,
}

/**
 * `error.charged` of an operation that charges. A refusal rolls its sale back. After a fault, or if the database stops
 * answering during the commit, the sale may have been committed. A database that admits no connection has begun none:
 * a purchase reads nothing after its commit. A refusal to show the answer of an earlier purchase says that it was
 * charged.
 */
export function chargedBy({
  code,
  reason,
  params = {},
  details,
}: Pick<Refusal, 'code' | 'reason'> & { readonly params?: object; readonly details?: unknown }): boolean | null {
  if (typeof details === 'object' && details && 'charged' in details && details.charged === true) return true
  const isNotBegun = 'problem' in params && ['closed', 'missing', 'stalled'].includes(String(params.problem))
  return code === 'internal_error' || (reason === 'database_unavailable' && !isNotBegun) ? null : false
}

/** The row of a reason on this shop's page of reasons; relative while the shop does not know its address. */
export const docUrlOf = (reason: Reason, publicUrl: string): string =>
  `${publicUrl.replace(/\/$/, '')}/docs/reasons#${reason}`

/** `publicUrl` is the shop's address for `doc_url`; a refusal for a node has no such link. */
export function toRefusal(
  refusal: Refusal,
  requestHeaders: Headers,
  {
    isCharging = false,
    publicUrl,
    toVersion = (error) => error,
  }: {
    readonly isCharging?: boolean
    readonly publicUrl?: string
    readonly toVersion?: ((error: object) => object) | undefined
  } = {},
): Response {
  const { code, reason, params } = refusal
  const language = languageOf(requestHeaders)
  const message = refusal.say(sentencesOf[language])
  const details = toSentDetails(refusal.details, problemsOf[language])
  const charged = isCharging ? { charged: chargedBy(refusal) } : {}
  const pointer = publicUrl === undefined ? {} : { doc_url: docUrlOf(reason, publicUrl) }
  const error = { code, message, reason, params, ...charged, details, ...pointer }
  const response = new Response(JSON.stringify({ ok: false, error: toVersion(error) }), {
    status: refusal.code === 'internal_error' ? 500 : statusOfKind[refusal.kind],
    headers: { ...apiHeaders, 'Content-Language': language, Vary: 'Accept-Language' },
  })
  if (refusal.kind === 'unauthenticated') response.headers.set('WWW-Authenticate', 'Bearer')
  if (refusal.retryAfterSeconds) response.headers.set('Retry-After', String(refusal.retryAfterSeconds))
  // A fault of ours has no known end, so only an outage names a time.
  if (refusal.kind === 'unavailable' && refusal.code !== 'internal_error') {
    response.headers.set('Retry-After', String(refusal.retryAfterSeconds ?? outageSeconds[reason] ?? 1))
  }
  if (refusal.kind === 'wrong_method' && details && 'allow' in details) {
    response.headers.set('Allow', (details['allow'] as string[]).join(', '))
  }
  return response
}

/** An answer as HEAD has it: every header of GET's, its length included, and no body (RFC 9110, 9.3.2). */
export async function withoutBody(response: Response): Promise<Response> {
  const { byteLength } = await response.arrayBuffer()
  const headers = new Headers(response.headers)
  headers.set('Content-Length', String(byteLength))
  return new Response(null, { status: response.status, headers })
}

/** The same refusal, with where to read more for each field that there is such a place for. */
export function withSee(refusal: Refusal, see: Readonly<Record<string, string>>): Refusal {
  const point = <Details extends { readonly field?: unknown }>(details: Details): Details => {
    const reference = typeof details.field === 'string' ? see[details.field.split('.')[0] ?? ''] : undefined
    return reference === undefined ? details : { ...details, see: reference }
  }
  const { details } = refusal
  if (details === null) return refusal
  return refusal.with(isProblems(details) ? details.map(point) : point(details))
}

export function setRateLimit(headers: Headers, state: RateLimitState): void {
  headers.set('RateLimit-Limit', String(state.limit))
  headers.set('RateLimit-Remaining', String(state.remaining))
  headers.set('RateLimit-Reset', String(state.resetSeconds))
  if (state.retryAfterSeconds) headers.set('Retry-After', String(state.retryAfterSeconds))
}

export const rateLimited = ({ retryAfterSeconds = 1 }: Pick<RateLimitState, 'retryAfterSeconds'>): Refusal =>
  new Refusal('rate_limited', {}, { charged: false }, retryAfterSeconds)

export const sessionNeeded = (): Refusal => new Refusal('session_needed', {}, { charged: false })

/** Refuses a request whose connection has closed. The client does not see the refusal; the log does. */
export function assertConnected(request: Request): void {
  if (!request.signal.aborted) return
  throw new Refusal('connection_closed', {}, { charged: false })
}

/** Refuses a pipelined request: Bun closes its connection one event-loop turn later. `hold` keeps the next one back. */
export async function assertNotPipelined(request: Request, hold: (() => void) | undefined): Promise<void> {
  hold?.()
  const { promise, resolve } = Promise.withResolvers<void>()
  setImmediate(resolve)
  await promise
  assertConnected(request)
}

export const stopping = (): Refusal => new Refusal('shop_stopping', {}, { charged: false })

/** Says nothing of what went wrong: that is in the log, under the request's id. */
export const internalError = (): Refusal => new Refusal('internal_error')
