import { type Operation, z } from '../api/operation.ts'
import { apiVersions, versionHeader } from '../api/versions.ts'

export type ToolArguments = Readonly<Record<string, unknown>>

/** Sends a request to the shop's API. A rejection says that no answer came. */
export type Send = (path: string, init: RequestInit) => Promise<Response>

/** What a tool answers with in place of data, in the form of the API's refusals. */
export type ToolProblem = {
  readonly code: string
  readonly reason: string
  readonly message: string
  /** Null if it is not known whether money was charged. */
  readonly charged?: boolean | null | undefined
  readonly doc_url?: string | undefined
  readonly [name: string]: unknown
}

export type Called =
  | { readonly data: unknown; readonly warnings?: unknown; readonly isReplay: boolean }
  | { readonly problem: ToolProblem; readonly status: number }

/** A path parameter that is no plain id could name another path. */
const isPlainId = (value: unknown): boolean =>
  (typeof value === 'string' || typeof value === 'number') && /^[\w-]{1,100}$/.test(String(value))

const notIds = (names: readonly string[]): Called => ({
  status: 400,
  problem: {
    code: 'invalid_request',
    reason: 'invalid_request',
    message: `Send ${names.join(' and ')}: an id, as the shop shows it.`,
    charged: false,
  },
})

/** Tools have the fields of the latest version of the API, whatever the version of the token. */
export const ofLatest = { [versionHeader]: apiVersions.latest }

/** One call of an operation, with the arguments of its tool. Unknown ones are sent too: the shop warns of them. */
export async function callShop(send: Send, operation: Operation, given: ToolArguments, key?: string): Promise<Called> {
  const inPath = Object.keys(operation.params.shape)
  const wrong = inPath.filter((name) => !isPlainId(given[name]))
  if (wrong.length > 0) return notIds(wrong)
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(given[name]))
  const fields = Object.entries(given).filter(([name, value]) => !inPath.includes(name) && value !== undefined)
  const headers = { ...ofLatest, ...(key !== undefined && { 'Idempotency-Key': key }) }
  const isRead = operation.method === 'GET'
  const query = isRead ? toQuery(fields) : ''
  const init: RequestInit = isRead
    ? { method: 'GET', headers: ofLatest }
    : {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(Object.fromEntries(fields)),
      }
  const isCharging = operation.charges === true
  try {
    return await toCalled(await send(`/api/v1${path}${query && `?${query}`}`, init), isCharging)
  } catch (error) {
    return { status: 503, problem: unreachable(error, isCharging ? key : undefined) }
  }
}

/** No answer came. `key` is that of a purchase, which may have been made. */
function unreachable(error: unknown, key: string | undefined): ToolProblem {
  const why = error instanceof Error ? error.message : String(error)
  const problem = { code: 'unavailable', reason: 'shop_unreachable', message: `The shop did not answer: ${why}.` }
  if (key === undefined) return problem
  const look = `It is not known whether it charged: listOrders with idempotency_key ${key} shows it.`
  return { ...problem, message: `${problem.message} ${look}`, charged: null, idempotency_key: key }
}

/** A list is joined by commas; the fields of an object are `name[field]`. */
function toQuery(fields: readonly (readonly [string, unknown])[]): string {
  const query = new URLSearchParams()
  for (const [name, value] of fields) {
    if (value === null) continue
    if (Array.isArray(value)) query.append(name, value.map(String).join(','))
    else if (typeof value !== 'object') query.append(name, `${value as string | number | boolean}`)
    else for (const [field, each] of Object.entries(value)) query.append(`${name}[${field}]`, String(each))
  }
  return query.toString()
}

async function toCalled(response: Response, isCharging: boolean): Promise<Called> {
  const text = await response.text()
  const isJson = /^application\/json\b/.test(response.headers.get('content-type') ?? '')
  if (response.ok && !isJson) return { data: { text }, isReplay: false }
  const answer = readAnswer(isJson ? text : '')
  if (answer && 'data' in answer) {
    const { data, warnings } = answer
    return { data, ...(warnings !== undefined && { warnings }), isReplay: response.headers.has('idempotent-replayed') }
  }
  const wait = response.headers.get('retry-after')
  const problem = answer?.error ?? notOurs(response.status, isCharging)
  return { status: response.status, problem: { ...problem, ...(wait && { retry_after_seconds: Number(wait) }) } }
}

const refusal = z.looseObject({
  code: z.string(),
  reason: z.string(),
  message: z.string(),
  charged: z.boolean().nullish(),
  doc_url: z.string().optional(),
})
const envelope = z.union([
  z.object({ ok: z.literal(true), data: z.unknown(), warnings: z.unknown().optional() }),
  z.object({ ok: z.literal(false), error: refusal }),
])

function readAnswer(text: string): z.output<typeof envelope> | undefined {
  try {
    return envelope.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

const notOurs = (status: number, isCharging: boolean): ToolProblem => ({
  code: 'unavailable',
  reason: 'no_shop_answer',
  message: `The answer has status ${status} and does not come from a Turnpike shop. Check the shop's address.`,
  ...(isCharging && { charged: null }),
})
