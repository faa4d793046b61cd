import type { Clock } from '../../core/time.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { type FindBody, type Found, findBodySchema } from '../../node-protocol/state.ts'
import { createLimitedLog, type NodeLog } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'
import type { Snapshot } from './snapshot.ts'

/** `unanswered`: the node did not reach the shop; the gateway tells the client to retry. */
type LookupResult =
  | { readonly outcome: 'found'; readonly found: Found }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'unanswered'; readonly why: 'limited' | 'unreachable' }

const missTtlMs = 2_000
/** A lookup that fails within this time is sent once more. */
const retryWithinMs = 500
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
export class CredentialLookup {
  private readonly limitedLog
  private readonly misses = new Map<string, number>()
  private readonly inFlight = new Map<string, Promise<LookupResult>>()
  private readonly sources
  private readonly all

  constructor(
    private readonly deps: { readonly link: Pick<ShopLink, 'find'>; readonly now: Clock; readonly log: NodeLog },
  ) {
    this.limitedLog = createLimitedLog(deps.log, deps.now)
    this.sources = createTokenBuckets(eachSource, deps.now, maxSources)
    this.all = createTokenBuckets(overall, deps.now)
  }

  async find(question: FindBody, source: string): Promise<LookupResult> {
    const key = 'username' in question ? `u${question.username}` : `s${question.port} ${question.source}`
    // A question that the schema rejects has no answer at the shop.
    const missedAt = this.misses.get(key) ?? Number.NEGATIVE_INFINITY
    const isMissed = this.deps.now() - missedAt < missTtlMs
    if (isMissed || !findBodySchema.safeParse(question).success) return { outcome: 'none' }
    const running = this.inFlight.get(key)
    if (running) return running
    if (!this.mayAsk(source)) return { outcome: 'unanswered', why: 'limited' }
    const answer = this.askShop(question, key)
    this.inFlight.set(key, answer)
    return answer
  }

  /** Takes from the overall bucket last: a limited source does not drain it. */
  private mayAsk(source: string): boolean {
    if (this.inFlight.size >= maxInFlight || this.all.level('') < 1) return false
    return this.sources.take(source) && this.all.take('')
  }

  /** Retries once: behind a load balancer the next request reaches another shop. */
  private async findTwice(question: FindBody): Promise<Found> {
    const requestedAt = this.deps.now()
    try {
      return await this.deps.link.find(question)
    } catch (error) {
      const isUnreachable = error instanceof LinkError && error.trouble === 'unreachable'
      if (!isUnreachable || this.deps.now() - requestedAt > retryWithinMs) throw error
      return this.deps.link.find(question)
    }
  }

  private async askShop(question: FindBody, key: string): Promise<LookupResult> {
    try {
      const found = await this.findTwice(question)
      if (found.proxy !== null || found.subuser !== null) return { outcome: 'found', found }
      if ('source' in question) {
        this.misses.delete(key)
        // Evicts the oldest entry of a full map.
        for (const oldest of this.misses.keys().take(this.misses.size < maxMisses ? 0 : 1)) this.misses.delete(oldest)
        this.misses.set(key, this.deps.now())
      }
      return { outcome: 'none' }
    } catch (error) {
      if (!(error instanceof LinkError)) throw error
      this.limitedLog(error.trouble === 'fault' ? 'error' : 'warn', 'credential not asked for', { fault: error })
      return { outcome: 'unanswered', why: 'unreachable' }
    } finally {
      this.inFlight.delete(key)
    }
  }
}

/** Lookups of one credential while pages about it keep arriving. */
const maxLookups = 3

/**
 * Looks a credential up at the shop. Whether a page that arrives meanwhile is older or newer than the answer is not
 * known, so the page is kept and the lookup repeated, unless both say the same: the page about a purchase often arrives
 * while its first use is looked up.
 */
export const askShop =
  (snapshot: Snapshot, credentials: Pick<CredentialLookup, 'find'>) =>
  async (question: FindBody, source: string): Promise<'answered' | 'unanswered'> => {
    for (let lookups = 1; ; lookups += 1) {
      const end = snapshot.follow(question)
      const answer = await credentials.find(question, source).catch((fault: unknown) => {
        end()
        throw fault
      })
      // No await between the two lines: a page that arrived in between would be newer and count as older.
      const isOvertaken = end()
      if (answer.outcome === 'found' && !isOvertaken) snapshot.learn(answer.found)
      if (!isOvertaken) return answer.outcome === 'unanswered' ? 'unanswered' : 'answered'
      if (answer.outcome === 'found' && Bun.deepEquals(answer.found, snapshot.knownOf(question))) return 'answered'
      if (lookups === maxLookups || answer.outcome === 'unanswered') return 'answered'
    }
  }
