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

/** A model cannot read more. Parsing, masking and writing it twice holds a shop's thread for about 40 ms. */
const maxAnswerBytes = 1024 * 1024

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
    const called = await toCalled(await send(`/api/v1${path}${query && `?${query}`}`, init), operation, key)
    const isOpen =
      'problem' in called && (called.problem.charged === null || called.problem.reason === 'no_shop_answer')
    return isOpen && isCharging ? { ...called, problem: openPurchase(called.problem, key) } : called
  } catch (error) {
    const problem = unreachable(error)
    return { status: 503, problem: isCharging ? openPurchase(problem, key) : problem }
  }
}

const unreachable = (error: unknown): ToolProblem => ({
  code: 'unavailable',
  reason: 'shop_unreachable',
  message: `The shop did not answer: ${error instanceof Error ? error.message : String(error)}.`,
})

/** A problem of a purchase that may have been made under `key`. */
const openPurchase = (problem: ToolProblem, key: string | undefined): ToolProblem =>
  key === undefined
    ? { ...problem, charged: null }
    : {
        ...problem,
        message:
          `${problem.message} It is not known whether it charged: listOrders with idempotency_key ${key} shows it. ` +
          'Repeat with the same arguments and those of `repeat_with`: it charges once.',
        charged: null,
        idempotency_key: key,
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

/** The text of an answer; undefined if it has more bytes than a tool answers with. The rest is not read. */
async function readText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > maxAnswerBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function tooLarge({ method, charges }: Operation, key: string | undefined): ToolProblem {
  const size = `The answer has more than ${maxAnswerBytes / 1024} KiB, more than a tool answers with.`
  const problem = { code: 'mcp', reason: 'answer_too_large' }
  if (method === 'GET') {
    return {
      ...problem,
      message: `${size} Ask for fewer items (limit, ids), or use the API without MCP.`,
      charged: false,
    }
  }
  const look = key === undefined ? '' : ` Find its order with listOrders and idempotency_key ${key}.`
  const done = `The call was made, and only its answer is not shown.${look} Read the rest with a smaller limit.`
  return { ...problem, message: `${size} ${done}`, ...(charges && { charged: charges === true }) }
}

async function toCalled(response: Response, operation: Operation, key: string | undefined): Promise<Called> {
  const text = await readText(response)
  if (text === undefined) {
    const problem = response.ok ? tooLarge(operation, key) : notOurs(response.status)
    return { status: response.status, problem }
  }
  const isJson = /^application\/json\b/.test(response.headers.get('content-type') ?? '')
  if (response.ok && !isJson) return { data: { text }, isReplay: false }
  const answer = readAnswer(isJson ? text : '')
  if (answer && 'data' in answer) {
    const { data, warnings } = answer
    return { data, ...(warnings !== undefined && { warnings }), isReplay: response.headers.has('idempotent-replayed') }
  }
  const wait = response.headers.get('retry-after')
  const problem = answer?.error ?? notOurs(response.status)
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

const notOurs = (status: number): ToolProblem => ({
  code: 'unavailable',
  reason: 'no_shop_answer',
  message:
    `The answer has status ${status} and does not come from a Turnpike shop, but from a proxy before it or from ` +
    "another server. If it continues, check the shop's address.",
})
