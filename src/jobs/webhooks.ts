import type { Events } from '../domains/events/index.ts'
import type { WebhookLease, Webhooks } from '../domains/webhooks/index.ts'
import type { JobLog } from './jobs.ts'

/** How often a shop looks for endpoints with something to deliver: events of other shops, and attempts that are due. */
const lookEveryMs = 500
/** An event of this shop is committed about this long after it was written. */
const commitMs = 10
/** A look reads every endpoint: a shop with many pauses between two looks for this many times the time of one. */
const restPerLook = 10
/** Endpoints that one shop delivers to at a time. Slow and failing ones take at most half of the places. */
const maxAtOnce = 128
const maxSlowAtOnce = 64

/**
 * Delivers to endpoints, in every shop process: whichever shop takes the lease of an endpoint first delivers. An event
 * of this shop starts a look at once.
 */
export function startDeliveries(
  { webhooks, events }: { webhooks: Pick<Webhooks, 'claim' | 'deliver'>; events: Pick<Events, 'onNoted'> },
  log: Pick<JobLog, 'error'>,
) {
  const stopping = new AbortController()
  const running = new Map<Promise<void>, WebhookLease>()
  let isLooking = false
  let isAsked = false
  let restUntil = 0
  let poked: ReturnType<typeof setTimeout> | undefined

  async function run(claim: WebhookLease): Promise<void> {
    try {
      // It may have ended because of its bound: then the endpoint has more.
      if ((await webhooks.deliver(claim, stopping.signal)) > 0) poke(0)
    } catch (fault) {
      log.error('delivery failed', { webhook: claim.webhook, fault })
    }
  }

  async function claimFree(): Promise<readonly WebhookLease[]> {
    const slow = [...running.values()].filter((each) => each.isSlow).length
    const free = { all: maxAtOnce - running.size, slow: maxSlowAtOnce - slow }
    if (free.all === 0) return []
    const startedAt = performance.now()
    const claims = await webhooks.claim(free)
    const endedAt = performance.now()
    restUntil = endedAt + restPerLook * (endedAt - startedAt)
    return claims
  }

  async function look(): Promise<void> {
    if (stopping.signal.aborted) return
    if (isLooking) {
      isAsked = true
      return
    }
    isLooking = true
    try {
      for (const claim of await claimFree()) {
        const work = run(claim).finally(() => running.delete(work))
        running.set(work, claim)
      }
    } catch (fault) {
      log.error('job failed', { job: 'deliver webhooks', fault })
    } finally {
      isLooking = false
      if (isAsked) poke(0)
      isAsked = false
    }
  }

  function poke(ms: number): void {
    if (poked !== undefined || stopping.signal.aborted) return
    poked = setTimeout(
      () => {
        poked = undefined
        void look()
      },
      Math.max(ms, restUntil - performance.now()),
    )
  }

  events.onNoted(() => poke(commitMs))
  const timer = setInterval(() => poke(0), lookEveryMs)
  return {
    /** Ends after the attempts that run, which have 3 s. */
    async stop(): Promise<void> {
      stopping.abort()
      clearInterval(timer)
      clearTimeout(poked)
      await Promise.all(running.keys())
    },
  }
}
