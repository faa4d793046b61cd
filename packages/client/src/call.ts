import { type CallFacts, NoAnswerError, type Refusal, RefusalError } from './errors.ts'
import {
  type Failure,
  isWorthRepeating,
  pause,
  pauseMs,
  type RetryLimits,
  readRetryAfter,
  usualLimits,
} from './retry.ts'

/** A warning beside an answer: a field that the shop ignored, or why the purchase cannot be used yet. */
export type Warning = {
  readonly field: string
  readonly problem: string
  readonly reason: string
  readonly params: Record<string, unknown>
}

export type AnswerFacts = CallFacts & {
  /** Whether it is the first answer to this idempotency key, repeated. */
  readonly isReplayed: boolean
  readonly warnings: readonly Warning[]
}

export type CallOptions = {
  readonly signal?: AbortSignal | undefined
  /** Limit of each attempt; a call that waits for events has its `wait` in addition. */
  readonly timeoutMs?: number | undefined
}

export type KeyedCallOptions = CallOptions & {
  /** By default a random key for each call. Give one to repeat a call of another process. */
  readonly idempotencyKey?: string | undefined
}

export type ClientOptions = {
  /** The shop's address, with or without `/api/v1`. */
  readonly url: string
  readonly token: string
  readonly language?: 'en' | 'ru' | undefined
  readonly timeoutMs?: number | undefined
  readonly retry?: Partial<RetryLimits> | undefined
  /** In place of the global `fetch`, for instance behind a proxy. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Called after each successful call: request id, warnings, whether the answer is a replay. */
  readonly onAnswer?: ((facts: AnswerFacts) => void) | undefined
}

export type OperationRow = {
  readonly http: 'GET' | 'POST'
  readonly path: string
  readonly isKeyed?: boolean
  /** The list in each page, for an iterator over all pages. */
  readonly items?: string
}

export type Fields = Readonly<Record<string, unknown>>
export type Call = (name: string, row: OperationRow, input: Fields, options?: KeyedCallOptions) => Promise<unknown>

const usualTimeoutMs = 60_000
const visible = /^[\x21-\x7e]+$/

/** Calls operations. The token is held by this closure only: printing a client or an error cannot show it. */
export function createCall(options: ClientOptions): Call {
  const { token, language, onAnswer, timeoutMs = usualTimeoutMs } = options
  if (!visible.test(token)) throw new TypeError('the token is empty or has characters that no token has')
  const base = readBase(options.url)
  const limits: RetryLimits = { ...usualLimits, ...options.retry }
  const send = options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init))
  const headers: Record<string, string> = { authorization: `Bearer ${token}`, accept: 'application/json' }
  if (language) headers['accept-language'] = language

  return async (name, row, input, { signal, idempotencyKey, ...own } = {}) => {
    if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
      throw new TypeError('an idempotency key has 1 to 255 visible ASCII characters')
    }
    const key = row.isKeyed === true ? (idempotencyKey ?? randomKey()) : undefined
    const request = toRequest(base, row, input, headers, key)
    const limitMs = (own.timeoutMs ?? timeoutMs) + (typeof input['wait'] === 'number' ? input['wait'] * 1000 : 0)
    const startedAt = performance.now()
    for (let attempts = 1, tries = 1; ; attempts++) {
      const facts = { operation: name, attempts, idempotencyKey: key, requestId: undefined, status: undefined }
      const outcome = await attempt(
        () => send(request.url, { ...request.init, signal: within(limitMs, signal) }),
        new URL(base).origin,
        facts,
      )
      signal?.throwIfAborted()
      if ('data' in outcome) {
        onAnswer?.(outcome.facts)
        return outcome.data
      }
      // A request that still runs is waited for within the time limit; only other failures use up attempts.
      const isRunning = outcome.failure.reason === 'request_in_progress'
      const pausingMs = pauseMs(outcome.failure, tries, limits, Math.random())
      const isLate = performance.now() - startedAt + pausingMs > limits.totalMs
      const isOver = isLate || (!isRunning && tries++ >= limits.attempts)
      const isRepeatable = row.http === 'GET' || key !== undefined
      if (isOver || !isWorthRepeating(outcome.failure, isRepeatable)) throw outcome.error
      await pause(pausingMs, signal)
    }
  }
}

function readBase(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === ''
  // The address is not repeated here: it may hold a password.
  if (!url || !isPlain || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('url is the http or https address of the shop, without a login, a query or a fragment')
  }
  return `${url.href.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/api/v1`
}

const within = (limitMs: number, signal: AbortSignal | undefined): AbortSignal =>
  signal ? AbortSignal.any([signal, AbortSignal.timeout(limitMs)]) : AbortSignal.timeout(limitMs)

const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

function toRequest(base: string, row: OperationRow, input: Fields, headers: Fields, key: string | undefined) {
  const fields = Object.entries(input).filter(([, value]) => value !== undefined)
  const path = row.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const rest = fields.filter(([name]) => !row.path.includes(`{${name}}`))
  const init: RequestInit = { method: row.http, redirect: 'error', credentials: 'omit', cache: 'no-store' }
  if (row.http === 'GET') {
    const query = new URLSearchParams(rest.flatMap(([name, value]) => toPairs(name, value))).toString()
    return { url: `${base}${path}${query === '' ? '' : `?${query}`}`, init: { ...init, headers } as RequestInit }
  }
  const all = { ...headers, 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) }
  return { url: `${base}${path}`, init: { ...init, headers: all, body: JSON.stringify(Object.fromEntries(rest)) } }
}

/** `metadata: {client: 'x'}` is `metadata[client]=x`. */
const toPairs = (name: string, value: unknown): [string, string][] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).map(([key, each]): [string, string] => [`${name}[${key}]`, String(each)])
    : [[name, toText(value)]]

const toText = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value))

type Outcome =
  | { readonly data: unknown; readonly facts: AnswerFacts }
  | { readonly failure: Failure; readonly error: RefusalError | NoAnswerError }

/** Sends the request once and reads its whole answer. */
async function attempt(send: () => Promise<Response>, shop: string, before: CallFacts): Promise<Outcome> {
  let response: Response
  let text: string
  try {
    response = await send()
    text = await response.text()
  } catch (cause) {
    const isLate = cause instanceof Error && cause.name === 'TimeoutError'
    const problem = isLate ? `no answer in time from ${shop}` : `no connection to ${shop}`
    return { failure: {}, error: new NoAnswerError(problem, before, cause) }
  }
  const { status, headers } = response
  const facts = { ...before, status, requestId: headers.get('x-request-id') ?? undefined }
  const type = headers.get('content-type')
  const body = type?.startsWith('application/json') === true ? parseObject(text) : undefined
  const isFile = type !== null && /^text\/(?:plain|csv)/.test(type)
  if (response.ok && (body?.['ok'] === true || isFile)) {
    const warnings = (body?.['warnings'] ?? []) as readonly Warning[]
    const isReplayed = headers.get('idempotent-replayed') === 'true'
    return { data: body ? body['data'] : text, facts: { ...facts, warnings, isReplayed } }
  }
  const retryAfterMs = readRetryAfter(headers.get('retry-after'), Date.now())
  const refusal = body?.['error'] as Refusal | undefined
  if (typeof refusal?.reason === 'string') {
    const { reason, charged } = refusal
    return { failure: { status, reason, charged, retryAfterMs }, error: new RefusalError(refusal, facts) }
  }
  // A damaged answer counts as none: the request may have taken effect. The shop names the type of every answer.
  const isDamaged = response.ok || type === null || type.startsWith('application/json')
  const failure = { status: isDamaged ? undefined : status, retryAfterMs }
  return { failure, error: new NoAnswerError(`an answer that is not the shop's, with status ${status}`, facts) }
}

function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}
