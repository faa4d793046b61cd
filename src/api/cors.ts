import type { Address } from '../core/address.ts'
import { plainHeaders } from './answers.ts'

/** From a request, and where it came from, to its answer. `hold` keeps the next request on its connection waiting. */
export type Answering = (request: Request, from: Address | undefined, hold?: () => void) => Promise<Response>

/** Request headers that a page of another origin may send. The console's own header is not one of them. */
const allowedHeaders =
  'Authorization, Content-Type, Content-Encoding, Idempotency-Key, If-None-Match, Accept-Language, Turnpike-Version'

/** Answer headers that a page of another origin may read, beyond those that CORS lets it read anyway. */
const exposedHeaders =
  'X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, Idempotent-Replayed, ETag, ' +
  'Allow, Content-Disposition, Turnpike-Version'

/**
 * Cross-origin access (CORS) to the paths below `base` for pages of the listed origins, compared exactly. Credentials
 * are never allowed: a page sends a token, and the cookie of a session does not count. Other origins and other paths
 * are answered as if there were no CORS.
 */
export function withCors(origins: readonly string[], base: string, answer: Answering): Answering {
  if (origins.length === 0) return answer
  const allowed = new Set(origins)

  return async (request, from, hold) => {
    if (!URL.parse(request.url)?.pathname.startsWith(`${base}/`)) return answer(request, from, hold)
    const origin = request.headers.get('origin') ?? ''
    const isAllowed = allowed.has(origin)
    const isPreflight = request.method === 'OPTIONS' && request.headers.has('access-control-request-method')
    const response = isAllowed && isPreflight ? toPreflight() : await answer(request, from, hold)
    // A shared cache must not hand the answer for one origin to another, nor the one without an origin.
    response.headers.append('Vary', 'Origin')
    if (isAllowed) {
      response.headers.set('Access-Control-Allow-Origin', origin)
      response.headers.set('Access-Control-Expose-Headers', exposedHeaders)
    }
    return response
  }
}

const toPreflight = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      ...plainHeaders,
      'Access-Control-Allow-Methods': 'GET, HEAD, POST',
      'Access-Control-Allow-Headers': allowedHeaders,
      'Access-Control-Max-Age': '600',
    },
  })
