import type { Clock } from '../../core/time.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { type FindBody, type Found, findBodySchema } from '../../node-protocol/state.ts'
import { createLimitedLog, type Log } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

/** `unasked`: nobody could tell. Whoever wants to come in is told to try again, not that the credential is wrong. */
type AskAnswer =
  | { readonly outcome: 'found'; readonly found: Found }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'unasked'; readonly why: 'limited' | 'unreachable' }

const missLastsMs = 2_000
/** Whoever has waited longer than this is told to try again. */
const soonMs = 500
const mostMisses = 10_000
const mostInFlight = 256
const mostSources = 10_000
const overall = { perSecond: 1000, burst: 2000 }
/** A reseller who buys and tries a hundred proxies a second is no guesser. */
const eachSource = { perSecond: 100, burst: 200 }

/**
 * Asks the shop about a credential that the node does not know, or wants to look at afresh. Guessing at logins must
 * cost the shop little: the same question at the same time is one request, and there are limits for each source and for
 * all together. That an address is nobody's is remembered for a moment. That a name is nobody's is not: a name that is
 * somebody's is asked about every time, and whoever guesses could tell the two apart.
 */
export function createAsk(deps: { readonly link: Pick<ShopLink, 'find'>; readonly now: Clock; readonly log: Log }) {
  const { now } = deps
  const limitedLog = createLimitedLog(deps.log, now)
  const misses = new Map<string, number>()
  const inFlight = new Map<string, Promise<AskAnswer>>()
  const sources = createTokenBuckets(eachSource, now, mostSources)
  const all = createTokenBuckets(overall, now)

  /** Looks before it takes, so that a source that asks too much uses up nothing of what is there for all. */
  function mayAsk(source: string): boolean {
    if (inFlight.size >= mostInFlight || sources.level(source) < 1 || all.level('') < 1) return false
    return sources.take(source) && all.take('')
  }

  /** Behind a balancer the next request goes to another shop: of two, one may have died a moment ago. */
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
    makeRoom(misses, mostMisses)
    misses.set(key, now())
  }

  function isMissed(key: string): boolean {
    const missedAt = misses.get(key)
    return missedAt !== undefined && now() - missedAt < missLastsMs
  }

  return {
    /** `source` is whoever asks, as the caller tells them apart: an address, or its network. */
    async find(question: FindBody, source: string): Promise<AskAnswer> {
      const key = 'username' in question ? `u${question.username}` : `s${question.port} ${question.source}`
      // What the shop would not even look up is nobody's.
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

/** Maps keep the order of insertion: the first is the oldest. */
function makeRoom<V>(map: Map<string, V>, most: number): void {
  if (map.size < most) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
