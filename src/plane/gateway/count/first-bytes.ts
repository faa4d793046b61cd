import type { Allowance } from './allowance.ts'

/** How long a connection waits to hear how many bytes it may carry. */
const leaseWaitMs = 3000

type NoBytes = 'traffic_exhausted' | 'shop_unreachable'

/**
 * Undefined once there is something to carry with. That there is nothing is believed only of an answer to a question
 * that was asked after he came, so that what was bought a moment ago works.
 */
export function waitForBytes(allowance: Allowance): Promise<NoBytes | undefined> | undefined {
  if (allowance.hasSome) return undefined
  const believed = allowance.answers + (allowance.isAsking ? 2 : 1)
  return new Promise((resolve) => {
    let asking: ReturnType<typeof setTimeout> | undefined
    const done = (refusal: NoBytes | undefined): void => {
      clearTimeout(timer)
      clearTimeout(asking)
      forget()
      resolve(refusal)
    }
    const look = (): void => {
      if (allowance.hasSome) done(undefined)
      else if (allowance.isUsedUp && allowance.answers >= believed) done('traffic_exhausted')
      else if (!allowance.isAsking) {
        clearTimeout(asking)
        asking = setTimeout(() => allowance.askAfresh(), allowance.askAfreshInMs)
      }
    }
    const timer = setTimeout(() => done(allowance.isUsedUp ? 'traffic_exhausted' : 'shop_unreachable'), leaseWaitMs)
    const forget = allowance.onChange(look)
    look()
  })
}
