import type { Challenges } from './client.ts'

const path = '/.well-known/acme-challenge/'
const idleSeconds = 10

export type ChallengeServer = Challenges & { readonly port: number; stop(): Promise<void> }

/** Answers http-01 challenges (RFC 8555, 8.3) and redirects everything else to the operator's own HTTPS address. */
export function serveChallenges(deps: {
  readonly hostname: string
  readonly port: number
  /** Undefined: answer 404. */
  readonly to: string | undefined
}): ChallengeServer {
  const texts = new Map<string, string>()

  function answer(request: Request): Response {
    const url = URL.parse(request.url)
    const pathname = url?.pathname ?? '/'
    if (pathname.startsWith(path)) {
      const text = texts.get(pathname.slice(path.length))
      return text === undefined ? plain('Not found.\n', 404) : plain(text, 200)
    }
    if (deps.to === undefined) return plain('There is nothing here.\n', 404)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      // A token sent in the clear is compromised: do not redirect it.
      return plain(`Only over TLS: ${deps.to}\n`, 403)
    }
    const headers = { Location: `${deps.to}${pathname.replace(/^\/+/, '/')}${url?.search ?? ''}`, Connection: 'close' }
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
