import { type Address, clientPrefixOf, networkOf } from '../core/address.ts'
import type { Clock } from '../core/time.ts'
import { rateLimited } from './answers.ts'
import type { Operation, z } from './operation.ts'
import { createRateLimit, type RateLimitState } from './rate.ts'
import { createSharedAnswer } from './respond.ts'

/** An operation that needs no caller: its answer is the same for all, and may be cached for some seconds. */
export type PublicOperation = {
  readonly operation: Operation
  readonly cachedSeconds: number
  readonly read: () => Promise<unknown>
}

export const bindPublic = <Op extends Operation>(
  operation: Op,
  cachedSeconds: number,
  read: () => Promise<z.input<Op['answer']>>,
): PublicOperation => ({ operation, cachedSeconds, read })

/** Requests per minute of one client prefix to each operation, and five times as many of its network. */
const perMinute = 120

/**
 * A limit on strangers, by client prefix (an IPv4 address or an IPv6 /64) and by network. Its buckets are this
 * process's own: shared ones would cost the database a write for each stranger.
 */
export function createStrangerLimit(clock: Clock, limit = perMinute) {
  const ofPrefix = createRateLimit(limit, clock)
  const ofNetwork = createRateLimit(limit * 5, clock)
  return async (from: Address | undefined): Promise<RateLimitState | undefined> => {
    const prefix = from ? clientPrefixOf(from) : ''
    const own = await ofPrefix(prefix)
    if (!own || own.retryAfterSeconds) return own
    const ofAll = await ofNetwork(networkOf(prefix))
    return ofAll?.retryAfterSeconds ? ofAll : own
  }
}

const toBody = ({ answer }: Operation, data: unknown): string => JSON.stringify({ ok: true, data: answer.parse(data) })

type Visit = { readonly from: Address | undefined; rateLimit?: RateLimitState | undefined }

/** Serves a public operation. Its answer is written and packed once for all callers. */
export function createPublicServing({ operation, cachedSeconds, read }: PublicOperation, clock: Clock) {
  const limit = createStrangerLimit(clock)
  let last = { data: undefined as unknown, body: '' }
  const serve = createSharedAnswer(async () => {
    const data = await read()
    if (last.data !== data) last = { data, body: toBody(operation, data) }
    return { body: last.body, cachedSeconds }
  })
  return async (request: Request, visit: Visit): Promise<Response> => {
    visit.rateLimit = await limit(visit.from)
    if (visit.rateLimit?.retryAfterSeconds) throw rateLimited(visit.rateLimit)
    return serve(request)
  }
}
