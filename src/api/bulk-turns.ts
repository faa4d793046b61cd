import { KeyedSemaphore } from '../core/keyed-semaphore.ts'
import { realTiming, type TimerClock } from './timing.ts'

/** A request for more rows than this is bulk work: it would hold the thread, or the database's writer, for longer. */
export const maxOrdinaryRows = 16
/** Bulk requests of one customer, or of all, that wait; more are refused with 503. */
const maxWaiting = 1000
/** How long a slice waits for ordinary requests in progress: in a busy shop there are always some. */
const maxWaitMs = 25
const maxRestMs = 2_000
const all = 'all'

/** A bulk request that runs. */
export type BulkWork = {
  /** Waits between two slices of the work. Must not be called in a transaction. */
  readonly next: () => Promise<void>
  readonly end: () => Promise<void>
}

/**
 * Runs bulk requests between ordinary ones: one at a time of each customer, `places` of all. Each is work in slices. A
 * slice begins in a turn of the event loop in which no ordinary request is in progress. If ordinary requests came while
 * it ran, its successor waits for as long as it took: bulk work gets at most half of the thread while others need it.
 */
export class BulkTurns {
  #ordinary = 0
  #begun = 0
  #isPlanned = false
  readonly #waiting = new Set<() => void>()
  readonly #ofCustomer = new KeyedSemaphore(1, maxWaiting)
  readonly #places: KeyedSemaphore

  constructor(
    places: number,
    private readonly timing: TimerClock = realTiming,
  ) {
    this.#places = new KeyedSemaphore(places, maxWaiting)
  }

  /** An ordinary request begins; the returned function ends it. */
  enter(): () => void {
    this.#begun += 1
    this.#ordinary += 1
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      this.#ordinary -= 1
      this.#plan()
    }
  }

  /** Resolves when the first slice of a customer's bulk request can run. Throws if too many wait. */
  async start(customer: string): Promise<BulkWork> {
    await this.#ofCustomer.acquire(customer)
    try {
      await this.#places.acquire(all)
    } catch (error) {
      this.#ofCustomer.release(customer)
      throw error
    }
    let since = await this.#turn()
    return {
      next: async () => {
        await this.#rest(since)
        since = await this.#turn()
      },
      end: async () => {
        await this.#rest(since)
        this.#places.release(all)
        this.#ofCustomer.release(customer)
      },
    }
  }

  /** Waits for a turn of the event loop without ordinary requests, and returns when it began. */
  async #turn(): Promise<{ readonly at: number; readonly begun: number }> {
    await new Promise<void>((resolve) => {
      const run = () => {
        cancel()
        this.#waiting.delete(run)
        resolve()
      }
      const cancel = this.timing.after(maxWaitMs, run)
      this.#waiting.add(run)
      this.#plan()
    })
    return { at: this.timing.now(), begun: this.#begun - this.#ordinary }
  }

  /** Runs the first waiting slice in the next turn, after sockets were read, unless an ordinary request came. */
  #plan(): void {
    if (this.#isPlanned || this.#ordinary > 0 || this.#waiting.size === 0) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      if (this.#ordinary === 0) for (const run of [...this.#waiting].slice(0, 1)) run()
      this.#plan()
    })
  }

  async #rest(since: { readonly at: number; readonly begun: number }): Promise<void> {
    if (this.#begun === since.begun) return
    const tookMs = this.timing.now() - since.at
    await new Promise<void>((resolve) => void this.timing.after(Math.min(tookMs, maxRestMs), resolve))
  }
}
