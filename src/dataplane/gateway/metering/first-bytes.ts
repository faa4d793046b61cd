import type { After } from '../../../core/time.ts'
import type { Allowance } from './allowance.ts'

/** How long a connection waits to hear how many bytes it may carry. */
const leaseWaitMs = 3000

type NoBytes = 'traffic_exhausted' | 'shop_unreachable'

/**
 * Undefined once there is something to carry with. That there is nothing is believed only of an answer to a question
 * that was asked after he came, so that what was bought a moment ago works.
 */
export function waitForBytes(allowance: Allowance, after: After): Promise<NoBytes | undefined> | undefined {
  if (allowance.hasSome) return undefined
  const believed = allowance.answers + (allowance.isAsking ? 2 : 1)
  return new Promise((resolve) => {
    let cancelAsking: (() => void) | undefined
    const done = (refusal: NoBytes | undefined): void => {
      cancelWaiting()
      cancelAsking?.()
      forget()
      resolve(refusal)
    }
    const look = (): void => {
      if (allowance.hasSome) done(undefined)
      else if (allowance.isUsedUp && allowance.answers >= believed) done('traffic_exhausted')
      else if (!allowance.isAsking) {
        cancelAsking?.()
        cancelAsking = after(allowance.askAfreshInMs, () => allowance.askAfresh())
      }
    }
    const cancelWaiting = after(leaseWaitMs, () => done(allowance.isUsedUp ? 'traffic_exhausted' : 'shop_unreachable'))
    const forget = allowance.onChange(look)
    look()
  })
}
