import type { Events } from '../domains/events/index.ts'
import type { WebhookLease, Webhooks } from '../domains/webhooks/index.ts'
import type { JobLog } from './jobs.ts'

/** How often a shop looks for endpoints with something to deliver: events of other shops, and attempts that are due. */
const lookEveryMs = 500
/** An event of this shop is committed about this long after it was written. */
const commitMs = 10
/** Endpoints that one shop delivers to at a time. */
const maxAtOnce = 16

/**
 * Delivers to endpoints, in every shop process: whichever shop takes the lease of an endpoint first delivers. An event
 * of this shop starts a look at once.
 */
export function startDeliveries(
  { webhooks, events }: { webhooks: Pick<Webhooks, 'claim' | 'deliver'>; events: Pick<Events, 'onNoted'> },
  log: Pick<JobLog, 'error'>,
) {
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  let isLooking = false
  let isAsked = false
  let poked: ReturnType<typeof setTimeout> | undefined

  async function run(claim: WebhookLease): Promise<void> {
    try {
      // It ended because of its bound: the endpoint has more.
      if ((await webhooks.deliver(claim, stopping.signal)) > 0) isAsked = true
    } catch (fault) {
      log.error('delivery failed', { webhook: claim.webhook, fault })
    }
  }

  async function look(): Promise<void> {
    if (isLooking || stopping.signal.aborted) return
    isLooking = true
    try {
      const free = maxAtOnce - running.size
      for (const claim of free > 0 ? await webhooks.claim(free) : []) {
        const work = run(claim).finally(() => {
          running.delete(work)
          if (isAsked) poke(0)
          isAsked = false
        })
        running.add(work)
      }
    } catch (fault) {
      log.error('job failed', { job: 'deliver webhooks', fault })
    } finally {
      isLooking = false
    }
  }

  function poke(ms: number): void {
    if (poked !== undefined || stopping.signal.aborted) return
    poked = setTimeout(() => {
      poked = undefined
      void look()
    }, ms)
  }

  events.onNoted(() => poke(commitMs))
  const timer = setInterval(() => void look(), lookEveryMs)
  return {
    /** Ends after the attempts that run, which have 3 s. */
    async stop(): Promise<void> {
      stopping.abort()
      clearInterval(timer)
      clearTimeout(poked)
      await Promise.all(running)
    },
  }
}
