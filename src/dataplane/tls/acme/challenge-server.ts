import type { Challenges } from './client.ts'

const path = '/.well-known/acme-challenge/'
/** So long may a request line and its headers be under way. */
const idleSeconds = 10

export type ChallengeServer = Challenges & { readonly port: number; stop(): Promise<void> }

/**
 * Answers an authority over plain HTTP (RFC 8555, 8.3), and sends everybody else to the shop over TLS. It never sends
 * anybody to a place that the request names: the address is the operator's own.
 */
export function serveChallenges(deps: {
  readonly hostname: string
  readonly port: number
  /** Where others are sent to; where there is no shop, they are told that there is nothing. */
  readonly to: string | undefined
}): ChallengeServer {
  const texts = new Map<string, string>()

  function answer(request: Request): Response {
    const url = URL.parse(request.url)
    const asked = url?.pathname ?? '/'
    if (asked.startsWith(path)) {
      const text = texts.get(asked.slice(path.length))
      return text === undefined ? plain('Not found.\n', 404) : plain(text, 200)
    }
    if (deps.to === undefined) return plain('There is nothing here.\n', 404)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      // A token that was sent in the clear is known to others: it is not sent on as if nothing had happened.
      return plain(`Only over TLS: ${deps.to}\n`, 403)
    }
    const headers = { Location: `${deps.to}${asked.replace(/^\/+/, '/')}${url?.search ?? ''}`, Connection: 'close' }
    return new Response(null, { status: 308, headers })
  }

  const server = Bun.serve({
    hostname: deps.hostname,
    port: deps.port,
    reusePort: false,
    development: false,
    idleTimeout: idleSeconds,
    maxRequestBodySize: 65_536,
    fetch: answer,
  })
  return {
    port: server.port ?? deps.port,
    put: (token, text) => void texts.set(token, text),
    remove: (token) => void texts.delete(token),
    stop: () => server.stop(true),
  }
}

const plain = (text: string, status: number): Response =>
  new Response(text, { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' } })
