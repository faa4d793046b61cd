import type { Refusal } from './shapes.ts'

/** An operation: the fields of its path, its query and its body, if it has any, and its answer. */
export type Shape = {
  readonly params?: object
  readonly query?: object
  readonly body?: object
  readonly answer: unknown
}

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

/** A no that the shop has given, in its own words. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: unknown,
    readonly requestId: string | null,
    /** Whether it was of a kind that charges. */
    readonly isCharging: boolean,
  ) {
    super(message)
  }

  /**
   * Whether money moved, where that is a question: the shop says so, or what charges and delivers at once was refused
   * as a whole. A fault leaves it open until the same is asked for again.
   */
  get charged(): 'yes' | 'no' | 'unknown' | undefined {
    const said = typeof this.details === 'object' && this.details !== null ? this.details : {}
    if ('charged' in said && said.charged === true) return 'yes'
    if (!this.isCharging) return undefined
    return this.code === 'internal_error' ? 'unknown' : 'no'
  }
}

/** No answer came: nobody here knows whether the request had an effect. */
export class CallLost extends Error {
  override readonly name = 'CallLost'
}

const withinMs = 30_000

/** How a call shows who is calling, and whom to tell that the shop knows the caller no more. */
export type Standing = { readonly headers: () => Readonly<Record<string, string>>; readonly onEnded: () => void }

type Answered = { readonly ok?: boolean; readonly data?: unknown; readonly error?: Failure }
type Failure = Partial<Refusal['error']>

async function send(request: Request): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    throw new CallLost(String(error))
  }
}

async function readJson(response: Response): Promise<Answered> {
  try {
    return (await response.json()) as Answered
  } catch (error) {
    throw new CallLost(String(error))
  }
}

const toQuery = (query: object): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}

/** An API as typed calls. `base` is where its paths begin. */
export function createClient<Operations extends Record<keyof Operations, Shape>>(
  base: string,
  table: Table,
  standing: Standing,
) {
  function toRequest<Name extends keyof Operations & string>(name: Name, given: Given<Operations[Name]>): Request {
    const [method, path] = table[name] ?? ['GET', '']
    const params = (given.params ?? {}) as Readonly<Record<string, string>>
    const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(params[field] ?? ''))
    const headers = {
      ...standing.headers(),
      ...(method === 'POST' && { 'Content-Type': 'application/json' }),
      ...(given.key !== undefined && { 'Idempotency-Key': given.key }),
    }
    return new Request(base + filled + toQuery(given.query ?? {}), {
      method,
      headers,
      signal: AbortSignal.timeout(withinMs),
      ...(method === 'POST' && { body: JSON.stringify(given.body ?? {}) }),
    })
  }

  const isCharging = (name: keyof Operations & string): boolean => table[name]?.[2] === 'keyed'

  async function refuse(name: keyof Operations & string, response: Response): Promise<never> {
    const { error = {} } = await readJson(response)
    if (response.status === 401) standing.onEnded()
    const { code = 'internal_error', message = response.statusText, details = null } = error
    const requestId = response.headers.get('X-Request-Id')
    throw new CallRefused(response.status, code, message, details, requestId, isCharging(name))
  }

  return {
    /** Whether the shop's description names it. */
    has: (name: string): boolean => name in table,

    /** The least role that may call it. */
    roleOf: (name: keyof Operations & string): string | undefined => table[name]?.at(-1),

    async call<Name extends keyof Operations & string>(
      name: Name,
      given: Given<Operations[Name]> = {},
    ): Promise<Operations[Name]['answer']> {
      const response = await send(toRequest(name, given))
      return response.ok ? (await readJson(response)).data : refuse(name, response)
    },

    /** An answer that is a file. */
    async read<Name extends keyof Operations & string>(
      name: Name,
      given: Given<Operations[Name]> = {},
    ): Promise<string> {
      const response = await send(toRequest(name, given))
      return response.ok ? response.text() : refuse(name, response)
    },
  }
}
