import type { CustomerId } from '../core/ids.ts'
import type { Events } from '../domains/events/index.ts'
import type { WebhookLease, Webhooks } from '../domains/webhooks/index.ts'
import type { JobLog } from './jobs.ts'

/** How often a shop looks for endpoints with something to deliver: events of other shops, and attempts that are due. */
const lookEveryMs = 500
/** An event of this shop is committed about this long after it was written. */
const commitMs = 10
/** How long the owners of endpoints are remembered. A new endpoint's first events wait for a look on the clock. */
const ownersForMs = 5000
/** A look reads every endpoint: a shop with many pauses between two looks for this many times the time of one. */
const restPerLook = 10
/** Endpoints that one shop delivers to at a time. Slow and failing ones take at most half of the places. */
const maxAtOnce = 128
const maxSlowAtOnce = 64

/**
 * Delivers to endpoints, in every shop process: whichever shop takes the lease of an endpoint first delivers. An event
 * of this shop starts a look at once, if its customer has an endpoint: most purchases have no reader.
 */
export function startDeliveries(
  { webhooks, events }: { webhooks: Pick<Webhooks, 'claim' | 'deliver' | 'owners'>; events: Pick<Events, 'onNoted'> },
  log: Pick<JobLog, 'error'>,
) {
  const stopping = new AbortController()
  const running = new Map<Promise<void>, WebhookLease>()
  let owners: { readonly known: ReadonlySet<CustomerId>; readonly readAt: number } | undefined

  async function run(claim: WebhookLease): Promise<void> {
    try {
      // It may have ended because of its bound: then the endpoint has more.
      if ((await webhooks.deliver(claim, stopping.signal)) > 0) looks.poke(0)
    } catch (fault) {
      log.error('delivery failed', { webhook: claim.webhook, fault })
    }
  }

  async function look(): Promise<void> {
    const slow = [...running.values()].filter((each) => each.isSlow)
    const slowHeld = new Map<CustomerId, number>()
    for (const { customer } of slow) slowHeld.set(customer, (slowHeld.get(customer) ?? 0) + 1)
    const free = { all: maxAtOnce - running.size, slow: maxSlowAtOnce - slow.length, slowHeld }
    if (free.all === 0) return
    try {
      if (!owners || performance.now() - owners.readAt >= ownersForMs) {
        owners = { known: await webhooks.owners(), readAt: performance.now() }
      }
      for (const claim of await webhooks.claim(free)) {
        const work = run(claim).finally(() => running.delete(work))
        running.set(work, claim)
      }
    } catch (fault) {
      log.error('job failed', { job: 'deliver webhooks', fault })
    }
  }

  const looks = createLooks(look)
  events.onNoted((customers) => {
    const isRead = !owners || customers.some((customer) => owners?.known.has(customer))
    if (isRead) looks.poke(commitMs)
  })
  const timer = setInterval(() => looks.poke(0), lookEveryMs)
  return {
    /** Ends after the attempts that run, which have 3 s. */
    async stop(): Promise<void> {
      stopping.abort()
      clearInterval(timer)
      await looks.stop()
      await Promise.all(running.keys())
    },
  }
}

/** Runs a look after a poke, one at a time, with a rest after each that grows with its time. */
function createLooks(look: () => Promise<void>) {
  let current: Promise<void> | undefined
  let isAsked = false
  let isStopped = false
  let restUntil = 0
  let poked: ReturnType<typeof setTimeout> | undefined

  async function lookAndRest(): Promise<void> {
    const startedAt = performance.now()
    await look()
    const endedAt = performance.now()
    restUntil = endedAt + restPerLook * (endedAt - startedAt)
    current = undefined
    if (isAsked) poke(0)
    isAsked = false
  }

  /** Starts a look in so many milliseconds, or after the one that runs. */
  function poke(ms: number): void {
    if (current) isAsked = true
    if (current || poked !== undefined || isStopped) return
    const start = () => {
      poked = undefined
      current = lookAndRest()
    }
    poked = setTimeout(start, Math.max(ms, restUntil - performance.now()))
  }

  return {
    poke,
    async stop(): Promise<void> {
      isStopped = true
      clearTimeout(poked)
      await current
    },
  }
}
