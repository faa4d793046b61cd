import type { After } from '../../../../core/time.ts'
import type { Carrier, Counts } from '../../../agent/carrier.ts'
import type { FromReactor } from './messages.ts'

/** What was counted reaches the main thread after at most this long; it is written down every 0.9 seconds there. */
const everyMs = 50
/** A MiB was carried since: sooner, and still not so often that counting is all that is done. */
const leastMs = 10

/** Tells the main thread what was counted: cumulative, of one moment, and no more often than it is worth. */
export function createReports(carrier: Required<Carrier>, post: (message: FromReactor) => void, now: () => number) {
  let sentAt = Number.NEGATIVE_INFINITY
  let isUrgent = false
  let isPlanned = false

  function send(): void {
    sentAt = now()
    const counts = carrier.takeChanged()
    const sources = carrier.takeSources()
    if (isEmpty(counts) && sources.length === 0) return
    const leased = counts.subusers.map(({ id, pool }) => ({
      id,
      pool,
      moving: carrier.noteAsked(id, pool),
      pace: carrier.paceOf(id, pool),
    }))
    post({ type: 'counts', counts, leased, sources, isUrgent })
    isUrgent = false
  }

  return {
    send,
    hurry: (): void => void (isUrgent = true),

    /** To be called after every turn: sends when it is time, and sees to it that there is a turn when it will be. */
    sendIfDue(after: After): void {
      const dueInMs = sentAt + (isUrgent ? leastMs : everyMs) - now()
      if (dueInMs <= 0) send()
      else if (!isPlanned) {
        isPlanned = true
        after(dueInMs, () => {
          isPlanned = false
        })
      }
    },
  }
}

const isEmpty = ({ proxies, subusers, hosts, exits = [] }: Counts): boolean =>
  proxies.length + subusers.length + hosts.length + exits.length === 0
