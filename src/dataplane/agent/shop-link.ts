import { z } from 'zod'
import { readAddress } from '../../core/address.ts'
import { type JoinBody, joinedSchema, vpnSetupSchema } from '../../node-protocol/join.ts'
import { type PlacesBody, placesAnswerSchema } from '../../node-protocol/places.ts'
import { type ReportBody, reportAnswerSchema } from '../../node-protocol/report.ts'
import { type FindBody, foundSchema, statePageSchema } from '../../node-protocol/state.ts'
import { type TriedBody, triedAnswerSchema } from '../../node-protocol/tried.ts'
import { createCallShop } from './egress-check.ts'
import { parseJson, readBody } from './runtime.ts'

/**
 * `refused`: the shop does not know this node. `unreachable`: no answer, or a temporary failure; retry. `fault`: an
 * invalid answer or a rejected request.
 */
type LinkTrouble = 'refused' | 'unreachable' | 'fault'

/** The message never contains sent or received data, which may hold a secret. */
export class LinkError extends Error {
  override readonly name = 'LinkError'

  constructor(
    readonly trouble: LinkTrouble,
    message: string,
    readonly status?: number,
  ) {
    super(message)
  }

  /** Whether the request's content may be the cause; a busy or stopping shop is not. */
  get blamesRequest(): boolean {
    return this.status === 500 || (this.trouble === 'fault' && this.status !== undefined && this.status >= 400)
  }
}

/** Per request, including reading the answer; for `state` on top of its wait. */
const shippedLimitsMs = { join: 10_000, state: 5_000, find: 2_000, report: 5_000, vpn: 5_000 }
const maxAnswerBytes = 64 * 1024 * 1024

/** A setting that the operator must fix; retrying does not help. */
export class LinkSettingError extends Error {
  override readonly name = 'LinkSettingError'
}

type ShopCall<T> = {
  readonly path: string
  readonly query?: Record<string, string>
  /** Sent by POST; without it the method is GET. */
  readonly body?: unknown
  readonly answer: z.ZodType<T>
  readonly limitMs: number
  readonly end: AbortSignal | undefined
}

export type ShopLink = ReturnType<typeof createShopLink>

/** `onRefused` is called once each time the shop stops accepting this node. */
export function createShopLink(deps: {
  readonly url: string
  readonly secret: string
  /** The shop's public URL if `url` is a Unix socket. */
  readonly publicUrl?: string | undefined
  /** The state has VPN devices. */
  readonly isForVpn?: boolean | undefined
  readonly onRefused?: () => void
  readonly limitsMs?: Partial<typeof shippedLimitsMs>
}) {
  const limitsMs = { ...shippedLimitsMs, ...deps.limitsMs }
  const base = readEndpoint(deps.url)
  const called = base.unix === undefined ? base.url : findCalled(deps.publicUrl)
  let isRefused = false

  async function ask<T>(call: ShopCall<T>): Promise<T> {
    try {
      const answer = await request(base, call, { authorization: `Bearer ${deps.secret}` })
      isRefused = false
      return answer
    } catch (error) {
      if (!(error instanceof LinkError) || error.trouble === 'unreachable') throw error
      const wasRefused = isRefused
      isRefused = error.trouble === 'refused'
      if (isRefused && !wasRefused) deps.onRefused?.()
      throw error
    }
  }

  return {
    join: (body: JoinBody, end?: AbortSignal) =>
      request(base, { path: 'join', body, answer: joinedSchema, limitMs: limitsMs.join, end }, {}),
    /** A page of the desired state, the first without a cursor. The shop waits up to `waitSeconds` for a change. */
    state(cursor: string | undefined, waitSeconds: number, end?: AbortSignal, mark?: string) {
      const query = {
        ...(cursor !== undefined && { cursor }),
        wait: String(waitSeconds),
        ...(mark !== undefined && { mark }),
        ...(deps.isForVpn === true && { vpn: '1' }),
      }
      return ask({ path: 'state', query, answer: statePageSchema, limitMs: limitsMs.state + waitSeconds * 1000, end })
    },
    find: (body: FindBody, end?: AbortSignal) =>
      ask({ path: 'find', body, answer: foundSchema, limitMs: limitsMs.find, end }),
    report: (body: ReportBody, end?: AbortSignal) =>
      ask({ path: 'report', body, answer: reportAnswerSchema, limitMs: limitsMs.report, end }),
    places: (body: PlacesBody, end?: AbortSignal) =>
      ask({ path: 'places', body, answer: placesAnswerSchema, limitMs: limitsMs.find, end }),
    tried: (body: TriedBody, end?: AbortSignal) =>
      ask({ path: 'tried', body, answer: triedAnswerSchema, limitMs: limitsMs.report, end }),
    vpn: (end?: AbortSignal) => ask({ path: 'vpn', answer: vpnSetupSchema, limitMs: limitsMs.vpn, end }),
    /** Calls the shop from a given local address. Undefined if the shop is reached through a Unix socket only. */
    callFrom: called && createCallShop({ base: called, secret: deps.secret }),
  }
}

/** Egress calls need a remote HTTPS address: a local call proves nothing, and the secret must be encrypted. */
function findCalled(publicUrl: string | undefined): URL | undefined {
  const url = URL.parse(publicUrl ?? '')
  return url?.protocol === 'https:' && !isThisMachine(url.hostname) ? new URL('/node/v1/', url) : undefined
}

type Endpoint = { readonly url: URL; readonly unix?: string }

function readEndpoint(text: string): Endpoint {
  if (!text.startsWith('unix:/')) return { url: readShopUrl(text) }
  return { url: new URL('http://localhost/node/v1/'), unix: text.slice('unix:'.length) }
}

/** The node's secret travels encrypted or stays on this machine. */
function readShopUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new LinkSettingError("the shop's address is not an http or https URL")
  }
  if (url.username !== '' || url.password !== '') {
    throw new LinkSettingError("the shop's address holds credentials; a node has a secret of its own")
  }
  if (url.protocol === 'http:' && !isThisMachine(url.hostname)) {
    throw new LinkSettingError(
      `http to ${url.hostname} would send the node's secret in the clear: use https, or an address of this machine`,
    )
  }
  return new URL('/node/v1/', url)
}

function isThisMachine(hostname: string): boolean {
  const address = readAddress(hostname.replace(/^\[|\]$/g, ''))
  if (!address) return hostname === 'localhost'
  if (address.version === 4) return address.bytes[0] === 127
  return address.bytes.every((byte, index) => byte === (index === 15 ? 1 : 0))
}

async function request<T>(endpoint: Endpoint, call: ShopCall<T>, headers: Record<string, string>): Promise<T> {
  const url = new URL(call.path, endpoint.url)
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value)
  // The shop logs the same id.
  const id = crypto.getRandomValues(new Uint8Array(12)).toHex()
  const isPost = call.body !== undefined
  const method = isPost ? 'POST' : 'GET'
  const what = `${method} ${url.pathname} (request ${id})`
  const cut = new AbortController()
  const giveUp = () => cut.abort()
  const timer = setTimeout(giveUp, call.limitMs)
  call.end?.addEventListener('abort', giveUp)
  if (call.end?.aborted === true) giveUp()
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, 'x-request-id': id, ...(isPost && { 'content-type': 'application/json' }) },
      ...(isPost && { body: JSON.stringify(call.body) }),
      // A redirect would send the secret elsewhere.
      redirect: 'manual',
      ...(endpoint.unix !== undefined && { unix: endpoint.unix }),
      signal: cut.signal,
    })
    const text = await readBody(response, maxAnswerBytes)
    if (text === undefined) throw new LinkError('fault', `${what}: the answer is too long`, response.status)
    return readAnswer(what, response.status, text, call.answer)
  } catch (error) {
    if (error instanceof LinkError) throw error
    throw new LinkError('unreachable', `${what}: ${call.end?.aborted === true ? 'given up' : reasonOf(error, cut)}`)
  } finally {
    clearTimeout(timer)
    call.end?.removeEventListener('abort', giveUp)
  }
}

/** The error code, never the text, which may contain sent data. */
function reasonOf(error: unknown, cut: AbortController): string {
  if (cut.signal.aborted) return 'no answer in time'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (!/^\w{1,40}$/.test(code)) return 'the connection failed'
  if (/EXPIRED|NOT_YET_VALID/.test(code)) {
    return `the certificate of the shop is not valid now (${code}), or this machine's clock is off`
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO|ISSUER|ALTNAME/.test(code)) {
    return (
      `the certificate of the shop is not trusted (${code}): it needs one for its name from an authority that ` +
      'this machine knows; NODE_EXTRA_CA_CERTS names a file with another authority'
    )
  }
  return code
}

function readAnswer<T>(what: string, status: number, text: string, answer: z.ZodType<T>): T {
  const body = parseJson(text)
  if (status >= 200 && status < 300) {
    const read = z.object({ ok: z.literal(true), data: answer }).safeParse(body)
    if (read.success) return read.data.data
    // Field paths only: the values may be secrets.
    const fields = read.error.issues.slice(0, 3).map((issue) => issue.path.join('.'))
    throw new LinkError('fault', `${what}: the answer is not as agreed (${fields.join(', ')})`, status)
  }
  const { data: refusal } = refusalSchema.safeParse(body)
  const code = refusal ? ` ${refusal.error.code}` : ''
  throw new LinkError(troubleOf(status), `${what}: answered ${status}${code}`, status)
}

const refusalSchema = z.object({ error: z.object({ code: z.string().regex(/^[a-z_]{1,60}$/) }) })

function troubleOf(status: number): LinkTrouble {
  if (status === 401) return 'refused'
  return status >= 500 || status === 408 || status === 429 ? 'unreachable' : 'fault'
}
