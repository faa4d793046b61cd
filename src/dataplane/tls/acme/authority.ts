import { type AccountKey, signRequest } from './jws.ts'

/** What an authority said no with (RFC 7807); its text is for the operator. */
export class AcmeProblem extends Error {
  override readonly name = 'AcmeProblem'

  constructor(
    message: string,
    /** The last part of its type, such as `rateLimited`; empty where it gave none. */
    readonly kind: string,
    /** How long it wants to be left alone. */
    readonly retryAfterMs: number | undefined,
  ) {
    super(message)
  }
}

export type Answer = {
  readonly body: unknown
  readonly text: string
  readonly location: string | undefined
  readonly retryAfterMs: number | undefined
}

const answerWithinMs = 30_000
const mostBytes = 256 * 1024
/** A nonce that is not taken is asked for anew (RFC 8555, 6.5), so often. */
const mostNonces = 10
const mostRetryMs = 7 * 86_400_000

/** An authority: its directory, and requests to it that are signed and never repeat a nonce. */
export function createAuthority(deps: {
  readonly directory: string
  /** Authorities that its own certificate may be from, as PEM, where it is not a public one. */
  readonly ca?: string | undefined
  readonly agent: string
}) {
  let places: Record<string, unknown> | undefined
  let nonce: string | undefined

  async function call(url: string, init: RequestInit = {}): Promise<{ response: Response; answer: Answer }> {
    if (!url.startsWith('https://'))
      throw new AcmeProblem('the authority named an address that is not https', '', undefined)
    const tls: object = deps.ca === undefined ? {} : { tls: { ca: deps.ca } }
    const headers = { 'User-Agent': deps.agent, ...(init.headers as Record<string, string> | undefined) }
    const signal = AbortSignal.timeout(answerWithinMs)
    const response = await fetch(url, { ...init, ...tls, headers, signal, redirect: 'error' })
    const text = await readAll(response)
    nonce = response.headers.get('replay-nonce') ?? nonce
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
    const location = response.headers.get('location') ?? undefined
    const retryAfterMs = readRetryAfter(response.headers.get('retry-after'))
    return { response, answer: { body: isJson ? parse(text) : undefined, text, location, retryAfterMs } }
  }

  async function placeOf(name: string): Promise<string> {
    if (!places) {
      const { response, answer } = await call(deps.directory)
      if (!response.ok) throw problemOf(response.status, answer)
      places = fieldsOf(answer.body)
    }
    const place = places[name]
    if (typeof place !== 'string') throw new AcmeProblem(`the directory has no ${name}`, '', undefined)
    return place
  }

  async function takeNonce(): Promise<string> {
    if (nonce === undefined) await call(await placeOf('newNonce'), { method: 'HEAD' })
    const taken = nonce
    nonce = undefined
    if (taken === undefined) throw new AcmeProblem('the authority gave no nonce', '', undefined)
    return taken
  }

  /** Sends one request, signed; '' only reads (RFC 8555, 6.3). */
  async function post(
    account: AccountKey,
    kid: string | undefined,
    url: string,
    payload: object | '',
  ): Promise<Answer> {
    for (let left = mostNonces; ; left -= 1) {
      const header = { url, nonce: await takeNonce(), ...(kid !== undefined && { kid }) }
      const { response, answer } = await call(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/jose+json' },
        body: signRequest(account, header, payload),
      })
      if (response.ok) return answer
      const problem = problemOf(response.status, answer)
      if (problem.kind !== 'badNonce' || left === 1) throw problem
    }
  }

  return { placeOf, post }
}

export type Authority = ReturnType<typeof createAuthority>

export const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What is wrong, in one line that can be logged. */
export function problemOf(status: number, { body, retryAfterMs }: Pick<Answer, 'body' | 'retryAfterMs'>): AcmeProblem {
  const { type, detail } = fieldsOf(body)
  const kind = textOf(type).split(':').at(-1) ?? ''
  const says = textOf(detail).replace(/\s+/g, ' ').slice(0, 500)
  return new AcmeProblem(`${kind || `status ${status}`}${says ? `: ${says}` : ''}`, kind, retryAfterMs)
}

async function readAll(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length
    if (bytes > mostBytes) throw new AcmeProblem('the authority says too much', '', undefined)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function readRetryAfter(text: string | null): number | undefined {
  if (text === null) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.min(mostRetryMs, Math.max(0, ms)) : undefined
}
