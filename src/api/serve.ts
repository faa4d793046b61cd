import { type Address, contains, type Prefix, readAddress } from '../core/address.ts'
import type { Log } from '../core/log.ts'
import { classify } from '../core/reserved.ts'
import type { EndedPurchase } from '../domains/payments/index.ts'
import type { RequestNote } from './answers.ts'
import { nodeBase } from './node/http.ts'

/** Bodies are counted as they arrive and cut at 64 KiB with a proper refusal; this only bounds what is thrown away. */
const maxBodyBytes = 64 * 1024 * 1024
/** Longer than a node waits for a change. */
const idleSeconds = 30
/** Longer than a customer's request waits for an event. */
const idleWaitingSeconds = 90

/** The client behind a connection of the TLS entrance. While held, what it sends next waits in the entrance. */
type Client = { readonly source: string; hold(): void; release(): void }

/** `isLocal`: the request came over the shop's own socket, which only the shop's user can open. */
type ToNodes = (request: Request, url: URL, from: Address | undefined, isLocal?: boolean) => Promise<Response>

export type Server = {
  readonly port: number
  readonly pending: () => number
  /** Lets requests that run finish, for so long at the most, then closes every connection. */
  stop(drainMs: number): Promise<void>
}

type ServeDeps = {
  readonly hostname: string
  readonly port: number
  /** With a TLS front before this server: the client behind a connection from this port. Others get 403. */
  readonly behind?: (port: number) => Client | undefined
  readonly trustedProxies: readonly Prefix[]
  /** `hold` keeps the client's next request waiting until this one is answered; absent where that cannot be done. */
  readonly toCustomers: (request: Request, from: Address | undefined, hold?: () => void) => Promise<Response>
  readonly toNodes: ToNodes
  /** A peer in a private network sends X-Forwarded-For and is not trusted; called once. */
  readonly onUntrusted?: (proxy: Address) => void
}

/** Opens the port exclusively: two shops on one port would each answer half of the requests. */
export function serve(deps: ServeDeps): Server {
  async function answer(request: Request, from: Address | undefined, client?: Client): Promise<Response> {
    // Looked at closely only where it may be a node's.
    const url = request.url.includes(nodeBase) ? URL.parse(request.url) : undefined
    if (url?.pathname.startsWith(nodeBase)) return deps.toNodes(request, url, from)
    return deps.toCustomers(request, from, client && (() => client.hold()))
  }

  let wasReported = false
  function tellOfProxy(request: Request, peer: Address | undefined): void {
    if (wasReported || !request.headers.has('x-forwarded-for') || !peer) return
    // An operator's reverse proxy runs at such an address.
    const isNear = ['loopback', 'private'].includes(classify(peer))
    if (!isNear || isTrusted(peer, deps.trustedProxies)) return
    wasReported = true
    deps.onUntrusted?.(peer)
  }

  const server = Bun.serve({
    hostname: deps.hostname,
    port: deps.port,
    reusePort: false,
    idleTimeout: idleSeconds,
    maxRequestBodySize: maxBodyBytes,
    development: false,
    fetch(request, self) {
      const peer = self.requestIP(request)
      const client = deps.behind?.(peer?.port ?? 0)
      if (deps.behind && !client) return new Response(null, { status: 403, headers: { Connection: 'close' } })
      const from = client ? client.source : peer?.address
      const address = from === undefined ? undefined : readAddress(from)
      tellOfProxy(request, address)
      if (request.url.includes('wait=')) self.timeout(request, idleWaitingSeconds)
      const answered = answer(request, sourceOf(request, address, deps.trustedProxies), client)
      if (!client) return answered
      // Bun writes the answer before the next turn of the event loop.
      return answered.then(withStrictTransport).finally(() => void setImmediate(() => client.release()))
    },
  })
  return { port: server.port ?? deps.port, ...stopping(server) }
}

/** Tells browsers to use this host over TLS alone for a year (RFC 6797). */
function withStrictTransport(response: Response): Response {
  response.headers.set('Strict-Transport-Security', 'max-age=31536000')
  return response
}

/** Applies to sockets too, which Bun's types do not declare. */
const timeouts: object = { idleTimeout: idleSeconds }

/**
 * The socket for nodes of this machine. A request with X-Forwarded-For comes from a visitor of the site that a gateway
 * shows, and is a customer's.
 */
export function serveSocket(
  path: string,
  { toNodes, toCustomers }: Pick<ServeDeps, 'toNodes' | 'toCustomers'>,
): Server {
  const server = Bun.serve({
    ...timeouts,
    unix: path,
    maxRequestBodySize: maxBodyBytes,
    development: false,
    fetch(request, self) {
      if (request.url.includes('wait=')) self.timeout(request, idleWaitingSeconds)
      const visitor = request.headers.get('x-forwarded-for')
      if (visitor === null) return toNodes(request, new URL(request.url), undefined, true)
      return toCustomers(request, readAddress(visitor)).then(withStrictTransport)
    },
  })
  return { port: 0, ...stopping(server) }
}

const stopping = (server: Bun.Server<unknown>): Pick<Server, 'pending' | 'stop'> => ({
  pending: () => server.pendingRequests,
  async stop(drainMs) {
    const giveUpAt = performance.now() + drainMs
    // Counted until the answer is written, not only made.
    while (server.pendingRequests > 0 && performance.now() < giveUpAt) await Bun.sleep(10)
    await server.stop(true)
  },
})

const isTrusted = (address: Address, trusted: readonly Prefix[]): boolean =>
  trusted.some((prefix) => contains(prefix, address))

/** The client: the last X-Forwarded-For address that is no trusted proxy. A client can write the earlier ones. */
function sourceOf(request: Request, peer: Address | undefined, trusted: readonly Prefix[]): Address | undefined {
  let source = peer
  if (trusted.length === 0) return source
  const chain = (request.headers.get('x-forwarded-for') ?? '').split(',').map((part) => part.trim())
  while (source && isTrusted(source, trusted)) {
    const next = chain.pop()
    if (!next) break
    source = readAddress(next)
  }
  return source
}

/** Logs a purchase that the shop made for a payment, as one that a customer's request made. */
export const purchaseNotes =
  (log: Log) =>
  (ended: EndedPurchase): void => {
    const { state, ...fields } = ended
    log.info(state === 'bought' ? 'sold' : state, fields)
  }

/**
 * Logs sales, refused purchases and faults at once, other requests at debug level, refusals for a busy database every
 * ten seconds. A purchase beyond the rate limit is at debug level: nothing else bounds how many a customer sends.
 */
export const requestNotes = (log: Log, now = () => performance.now()) => {
  let loggedAt = Number.NEGATIVE_INFINITY
  let unsaid = 0

  function noteTurnedAway(fields: Record<string, unknown>): void {
    unsaid += 1
    if (now() - loggedAt < 10_000) return
    loggedAt = now()
    log.warn('turned away', { ...fields, times: unsaid })
    unsaid = 0
  }

  return (note: RequestNote): void => {
    const { fault, tookMs, isPurchase, isSale, key, ...line } = note
    const fields = { ...line, idempotency_key: key, took_ms: Math.round(tookMs * 10) / 10 }
    if (fault !== undefined) log.error(note.status === 500 ? 'fault' : 'unavailable', { ...fields, fault })
    else if (isPurchase && note.status >= 400 && note.reason !== 'rate_limited') log.info('refused', fields)
    else if (note.status === 503) noteTurnedAway(fields)
    else if (isSale) log.info('sold', fields)
    else log.debug('request', fields)
  }
}
