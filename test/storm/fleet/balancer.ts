import { shopCertificate } from './certificate.ts'
import { netAddresses } from './net.ts'

/** One request of a node. */
type NodeRequest = { readonly atMs: number; readonly what: string; tookMs: number; status: number }

/** The maximum requests per second of a node, over ten seconds, by kind; and its calls from its addresses. */
export type Rates = {
  readonly node: string
  readonly total: number
  readonly each: Readonly<Record<string, number>>
  readonly calls: number
  /** The requests of its worst ten seconds, with their outcomes. */
  readonly worst: string
}

const windowMs = 10_000
/** The timeout of a connection to a shop. */
const connectMs = 1_000
/** Longer than a node's long poll. */
const idleSeconds = 60
const maxWaits = 100_000
const nodePath = /^\/node\/v1\/(\w+)/

/**
 * A load balancer before two shops: each request goes to the next shop, and to the other one if that refuses the
 * connection. It uses TLS for nodes and plain HTTP for customers, and counts the requests of each node.
 */
export function openBalancer(deps: {
  readonly shops: readonly string[]
  readonly nodeOf: (address: string) => string | undefined
}) {
  const requests = new Map<string, NodeRequest[]>()
  /** `node shop`: the connection between these two is cut. */
  const cut = new Set<string>()
  /** How long customers and operators waited for their answers. */
  const waits: number[] = []
  let turn = 0

  async function pass(request: Request, from: string, body: ArrayBuffer, shop: number): Promise<Response> {
    const node = deps.nodeOf(from) ?? ''
    if (cut.has(`${node} ${shop}`)) {
      await Bun.sleep(connectMs)
      return new Response('the shop does not answer', { status: 504 })
    }
    const url = new URL(request.url)
    const headers = new Headers(request.headers)
    headers.set('x-forwarded-for', from)
    const answer = await fetch(`${deps.shops[shop]}${url.pathname}${url.search}`, {
      method: request.method,
      headers,
      redirect: 'manual',
      // The body passes as the shop encoded it.
      decompress: false,
      ...(body.byteLength > 0 && { body }),
      signal: request.signal,
    })
    return new Response(await answer.arrayBuffer(), { status: answer.status, headers: answer.headers })
  }

  async function balance(request: Request, from: string): Promise<Response> {
    const what = nodePath.exec(new URL(request.url).pathname)?.[1]
    const node = deps.nodeOf(from)
    if (what !== undefined && node !== undefined) {
      const list = requests.get(node) ?? []
      requests.set(node, list)
      const one: NodeRequest = { atMs: performance.now(), what, tookMs: 0, status: 0 }
      list.push(one)
      const answer = await forward(request, from)
      one.tookMs = performance.now() - one.atMs
      one.status = answer.status
      return answer
    }
    const startedMs = performance.now()
    const answer = await forward(request, from)
    waits.push(performance.now() - startedMs)
    if (waits.length > maxWaits) waits.shift()
    return answer
  }

  async function forward(request: Request, from: string): Promise<Response> {
    const body = await request.arrayBuffer()
    turn += 1
    for (let tried = 0; ; tried += 1) {
      try {
        return await pass(request, from, body, (turn + tried) % deps.shops.length)
      } catch (error) {
        // A refused connection can be retried at another shop; the outcome of an accepted request is unknown.
        const isUntaken = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
        if (!isUntaken || tried + 1 >= deps.shops.length) return new Response('no shop answers', { status: 502 })
      }
    }
  }

  const serve = (port: number, hostname: string, tls?: { cert: string; key: string }) =>
    Bun.serve({
      hostname,
      port,
      idleTimeout: idleSeconds,
      ...(tls && { tls }),
      fetch: (request, server) => balance(request, server.requestIP(request)?.address ?? ''),
    })
  const secure = serve(0, netAddresses.shop, shopCertificate)
  const plain = serve(0, '127.0.0.1')
  return {
    nodesUrl: `https://${netAddresses.shop}:${secure.port}`,
    customersUrl: `http://127.0.0.1:${plain.port}`,
    cut,
    /** The milliseconds of each answer since the last call. */
    takeWaits: (): number[] => waits.splice(0),
    rates: (): Rates[] => [...requests].map(([node, all]) => ({ node, ...worstOf(all) })),
    async stop(): Promise<void> {
      await Promise.all([secure.stop(true), plain.stop(true)])
    },
  }
}

export type Balancer = ReturnType<typeof openBalancer>

/** Requests of the node itself: neither address proofs nor lookups of a customer's login. */
const isItsOwn = ({ what }: NodeRequest): boolean => what !== 'seen' && what !== 'find'

function worstOf(all: readonly NodeRequest[]): Omit<Rates, 'node'> {
  const kinds = [...Map.groupBy(all, ({ what }) => what)]
  const worst = busiest(all.filter(isItsOwn))
  return {
    total: rate(worst),
    calls: all.filter(({ what }) => what === 'seen').length,
    each: Object.fromEntries(kinds.map(([what, requests]) => [what, rate(busiest(requests))])),
    worst: worst.map(({ what, status, tookMs }) => `${what} ${status} ${Math.round(tookMs)}`).join(', '),
  }
}

/** The ten seconds with the most requests. */
function busiest(all: readonly NodeRequest[]): readonly NodeRequest[] {
  let [best, from, first] = [0, 0, 0]
  for (const [last, { atMs }] of all.entries()) {
    while ((all[first]?.atMs ?? atMs) < atMs - windowMs) first += 1
    if (last - first + 1 > best) [best, from] = [last - first + 1, first]
  }
  return all.slice(from, from + best)
}

const rate = (requests: readonly NodeRequest[]): number => (requests.length * 1000) / windowMs
