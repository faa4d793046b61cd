import type { Clock } from '../../core/time.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { type FindBody, type Found, findBodySchema } from '../../node-protocol/state.ts'
import { createLimitedLog, type NodeLog } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

/** `unasked`: the lookup was not made; the client is asked to retry instead of being refused. */
type AskAnswer =
  | { readonly outcome: 'found'; readonly found: Found }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'unasked'; readonly why: 'limited' | 'unreachable' }

const missLastsMs = 2_000
/** A failed lookup is repeated only within this time. */
const soonMs = 500
const maxMisses = 10_000
const maxInFlight = 256
const maxSources = 10_000
const overall = { perSecond: 1000, burst: 2000 }
/** A reseller may buy and test a hundred proxies a second. */
const eachSource = { perSecond: 100, burst: 200 }

/**
 * Looks up unknown or doubtful credentials at the shop, with rate limits per source and overall. Equal questions share
 * one request. An unknown address is cached for 2 s; an unknown name is not, because timing would tell guessers which
 * names exist.
 */
export function createAsk(deps: { readonly link: Pick<ShopLink, 'find'>; readonly now: Clock; readonly log: NodeLog }) {
  const { now } = deps
  const limitedLog = createLimitedLog(deps.log, now)
  const misses = new Map<string, number>()
  const inFlight = new Map<string, Promise<AskAnswer>>()
  const sources = createTokenBuckets(eachSource, now, maxSources)
  const all = createTokenBuckets(overall, now)

  /** Checks both buckets before taking from either: a limited source does not drain the overall bucket. */
  function mayAsk(source: string): boolean {
    if (inFlight.size >= maxInFlight || sources.level(source) < 1 || all.level('') < 1) return false
    return sources.take(source) && all.take('')
  }

  /** Retries once: behind a load balancer the next request reaches another shop. */
  async function findTwice(question: FindBody): Promise<Found> {
    const askedAt = now()
    try {
      return await deps.link.find(question)
    } catch (error) {
      const isAway = error instanceof LinkError && error.trouble === 'unreachable'
      if (!isAway || now() - askedAt > soonMs) throw error
      return deps.link.find(question)
    }
  }

  async function askShop(question: FindBody, key: string): Promise<AskAnswer> {
    try {
      const found = await findTwice(question)
      if (found.proxy !== null || found.subuser !== null) return { outcome: 'found', found }
      if ('source' in question) remember(key)
      return { outcome: 'none' }
    } catch (error) {
      if (!(error instanceof LinkError)) throw error
      limitedLog(error.trouble === 'fault' ? 'error' : 'warn', 'credential not asked for', { fault: error })
      return { outcome: 'unasked', why: 'unreachable' }
    } finally {
      inFlight.delete(key)
    }
  }

  function remember(key: string): void {
    misses.delete(key)
    makeRoom(misses, maxMisses)
    misses.set(key, now())
  }

  function isMissed(key: string): boolean {
    const missedAt = misses.get(key)
    return missedAt !== undefined && now() - missedAt < missLastsMs
  }

  return {
    async find(question: FindBody, source: string): Promise<AskAnswer> {
      const key = 'username' in question ? `u${question.username}` : `s${question.port} ${question.source}`
      // A question that the schema rejects has no answer at the shop.
      if (isMissed(key) || !findBodySchema.safeParse(question).success) return { outcome: 'none' }
      const asked = inFlight.get(key)
      if (asked) return asked
      if (!mayAsk(source)) return { outcome: 'unasked', why: 'limited' }
      const answer = askShop(question, key)
      inFlight.set(key, answer)
      return answer
    },
  }
}

/** Evicts the oldest entry; a Map keeps insertion order. */
function makeRoom<V>(map: Map<string, V>, max: number): void {
  if (map.size < max) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
