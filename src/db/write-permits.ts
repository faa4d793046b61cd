import type { Silence } from './silence.ts'
import { isUrgent, unavailable } from './transaction.ts'

/** A pool of fewer connections keeps none for reads. */
const minSize = 6
/** One connection of this many is kept for reads. */
const sharedBy = 4

/** How many connections of a pool may be in transactions that write. */
export const writersOf = (size: number): number => (size < minSize ? size : size - Math.floor(size / sharedBy))

/**
 * Limits the transactions that write, so that commits which wait for a standby leave connections for reads. Urgent
 * callers first, then first in first out. While commits wait and no permit is free, a caller is refused at once: a
 * permit is not to be expected soon.
 */
export class WritePermits {
  #free: number
  readonly #waiting = new Set<() => void>()
  readonly #urgent = new Set<() => void>()

  constructor(
    count: number,
    private readonly waitMs: number,
    private readonly silence: Silence,
    private readonly isStalled: () => boolean,
  ) {
    this.#free = count
  }

  /** Takes a permit; returns how long the caller has waited, in milliseconds. */
  take(): number | Promise<number> {
    if (this.#free === 0) return this.isStalled() ? Promise.reject(unavailable('stalled', undefined)) : this.#wait()
    this.#free -= 1
    return 0
  }

  giveBack(): void {
    for (const queue of [this.#urgent, this.#waiting]) for (const admit of queue) return admit()
    this.#free += 1
  }

  #wait(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const queue = isUrgent() ? this.#urgent : this.#waiting
    const waited = this.silence.stopwatch()
    const listener = this.silence.listen(this.waitMs, () => {
      queue.delete(admit)
      reject(unavailable('closed', new Error('no connection was free in time')))
    })
    const admit = (): void => {
      queue.delete(admit)
      listener.heard()
      resolve(waited())
    }
    listener.sent()
    queue.add(admit)
    return promise
  }
}
