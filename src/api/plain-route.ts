import { type Address, clientPrefixOf } from '../core/address.ts'
import { plainHeaders, rateLimited } from './answers.ts'
import type { RateLimit } from './rate.ts'
import type { Visit } from './visit.ts'

const referrerPolicy = 'Referrer-Policy'

/**
 * A page or a file outside the API: no token is needed. A limit of its own holds for each source address, or for what
 * is asked for.
 */
export type PlainRoute = {
  readonly path: string
  /** Methods other than GET alone. */
  readonly takes?: 'GET and POST' | 'POST'
  readonly perMinute: number
  /**
   * What a request counts for in place of its source address, which many clients may share: undefined is the address,
   * and null nothing, for what costs nothing.
   */
  readonly countedFor?: (params: Readonly<Record<string, string>>) => string | null | undefined
  /** As of an operation. */
  readonly affectsNodes?: true
  readonly answer: (
    request: Request,
    params: Readonly<Record<string, string>>,
    from: Address | undefined,
  ) => Promise<Response>
}

export async function answerPlain(
  route: PlainRoute,
  limit: RateLimit,
  request: { raw: Request; param(): Record<string, string> },
  visit: Visit,
): Promise<Response> {
  // A path may hold a secret, so the log gets its pattern.
  visit.path = route.path
  const params = request.param()
  const counted = route.countedFor?.(params)
  const limited = counted === undefined ? (visit.from ? clientPrefixOf(visit.from) : '') : counted
  visit.rateLimit = limited === null ? undefined : await limit(limited)
  if (visit.rateLimit?.retryAfterSeconds) throw rateLimited(visit.rateLimit)
  const response = await route.answer(request.raw, params, visit.from)
  // A page whose forms are checked by their origin has a policy of its own: `no-referrer` makes a browser send `null`.
  const policy = response.headers.get(referrerPolicy)
  for (const [name, value] of Object.entries(plainHeaders)) response.headers.set(name, value)
  if (policy !== null) response.headers.set(referrerPolicy, policy)
  return response
}
