import { loadFieldNames } from '../shared/field-name.ts'

/** An operation: the fields of its path, its query and its body, if it has any, and its answer. */
export type Shape = Readonly<{ params?: object; query?: object; body?: object; answer: unknown }>

/** Optional fields may be passed as undefined, as they come out of a form. */
type Loose<Of> = Of extends readonly (infer Item)[]
  ? readonly Loose<Item>[]
  : Of extends object
    ? { readonly [Name in keyof Of]: {} extends Pick<Of, Name> ? Loose<Of[Name]> | undefined : Loose<Of[Name]> }
    : Of

/** The body of an operation; an operation without fields takes an empty one. */
export type Body<Of extends Shape> = Of extends { readonly body: infer Fields } ? Loose<Fields> : {}

type Given<Of extends Shape> = {
  readonly params?: Of['params']
  readonly query?: Of extends { readonly query: infer Fields } ? Loose<Fields> : {}
  readonly body?: Body<Of>
  /** The idempotency key, for operations that charge. */
  readonly key?: string
}

/** Method and path of each operation, 'keyed' if it takes an idempotency key, and the lowest role that may call it. */
type Table = Readonly<Record<string, readonly [method: string, path: string, ...rest: readonly string[]]>>

export class CallRefused extends Error {
  override readonly name = 'CallRefused'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: unknown,
    readonly requestId: string | null,
    readonly isCharging: boolean,
    /** The refusal's stable key and its values. */
    readonly reason: string = '',
    readonly params: Readonly<Record<string, unknown>> = {},
    /** When a repeat may be accepted, by Retry-After. */
    readonly retryAfterMs?: number,
  ) {
    super(message)
  }

  /** The price at which the shop would sell now, if it refused because this is above the price on the page. */
  get changedPrice(): number | undefined {
    const price = this.reason === 'price_changed' ? this.params['price_rub'] : undefined
    return typeof price === 'number' ? price : undefined
  }

  /** Whether money moved, for operations that charge: a refusal means no, and after a fault only a retry can tell. */
  get charged(): 'yes' | 'no' | 'unknown' | undefined {
    if (isRecord(this.details) && this.details['charged'] === true) return 'yes'
    if (!this.isCharging) return undefined
    return this.code === 'internal_error' ? 'unknown' : 'no'
  }
}

/** No answer came: the request may or may not have had an effect. */
export class CallLost extends Error {
  override readonly name = 'CallLost'
}

/** The browser has no connection: the request was not sent. */
export class CallOffline extends Error {
  override readonly name = 'CallOffline'
  constructor(readonly isCharging: boolean) {
    super('the browser has no connection')
  }
}

/** The caller's credentials, and a callback for when the shop no longer accepts them. */
export type ApiCaller = { readonly headers: () => Readonly<Record<string, string>>; readonly onEnded: () => void }

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const isOffline = (): boolean => 'onLine' in navigator && !navigator.onLine

async function send(request: Request): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    throw new CallLost(String(error))
  }
}

async function readJson(response: Response): Promise<Readonly<Record<string, unknown>>> {
  try {
    const body: unknown = await response.json()
    return isRecord(body) ? body : {}
  } catch (error) {
    throw new CallLost(String(error))
  }
}

async function readRefusal(response: Response, isCharging: boolean): Promise<CallRefused> {
  const { error } = await readJson(response)
  const told = isRecord(error) ? error : {}
  const { code = 'internal_error', message = response.statusText, details = null, reason = '', params } = told
  if (Array.isArray(details)) await loadFieldNames()
  return new CallRefused(
    response.status,
    String(code),
    String(message),
    details,
    response.headers.get('X-Request-Id'),
    isCharging,
    String(reason),
    isRecord(params) ? params : {},
    readRetryAfter(response),
  )
}

function readRetryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN)
  return Number.isNaN(seconds) ? undefined : seconds * 1000
}

function toQuery(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}

/** An API as typed calls; `base` is the start of its paths. */
export function createClient<Operations extends Record<keyof Operations, Shape>>(
  base: string,
  table: Table,
  caller: ApiCaller,
) {
  function toRequest<Name extends keyof Operations & string>(name: Name, given: Given<Operations[Name]>): Request {
    const [method, path] = table[name] ?? ['GET', '']
    const params = (given.params ?? {}) as Readonly<Record<string, string>>
    const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(params[field] ?? ''))
    const headers = {
      ...caller.headers(),
      ...(method === 'POST' && { 'Content-Type': 'application/json' }),
      ...(given.key !== undefined && { 'Idempotency-Key': given.key }),
    }
    return new Request(base + filled + toQuery(given.query ?? {}), {
      method,
      headers,
      signal: AbortSignal.timeout(30_000),
      ...(method === 'POST' && { body: JSON.stringify(given.body ?? {}) }),
    })
  }

  const isCharging = (name: keyof Operations & string): boolean => table[name]?.[2] === 'keyed'

  async function refuse(name: keyof Operations & string, response: Response): Promise<never> {
    const refusal = await readRefusal(response, isCharging(name))
    if (response.status === 401) caller.onEnded()
    throw refusal
  }

  return {
    roleOf: (name: keyof Operations & string): string | undefined => table[name]?.at(-1),

    async call<Name extends keyof Operations & string>(
      name: Name,
      given: Given<Operations[Name]> = {},
    ): Promise<Operations[Name]['answer']> {
      const request = toRequest(name, given)
      if (request.method === 'POST' && isOffline()) throw new CallOffline(isCharging(name))
      const response = await send(request)
      return response.ok ? (await readJson(response))['data'] : refuse(name, response)
    },

    async read<Name extends keyof Operations & string>(
      name: Name,
      given: Given<Operations[Name]> = {},
    ): Promise<string> {
      const response = await send(toRequest(name, given))
      return response.ok ? response.text() : refuse(name, response)
    },
  }
}
