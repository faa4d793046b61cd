import type { CustomerId } from '../../../core/ids.ts'
import type { Events } from '../../../domains/events/index.ts'
import { realTiming, type TimerClock } from '../../timing.ts'

/** How often the shop asks the database for events of other shops, while a request waits. */
const lookEveryMs = 250
/** An event of this shop is committed about this long after it was written. */
const commitMs = 5
/** At most a fifth of the time is spent on looking. */
const restFor = 4
export const maxWaitsOfCustomer = 8
const maxWaits = 2000

/** What a customer's waiting requests have seen: the last event, and how often access was revoked. */
type Seen = { readonly last: number; readonly epoch: number }
type Waiter = { readonly customer: CustomerId; readonly seen: Seen; readonly end: () => void }

type WatchDeps = {
  readonly events: Pick<Events, 'lastNumbers' | 'onNoted'>
  /** The real timers by default; tests pass their own. */
  readonly timing?: TimerClock
}

/**
 * Ends waits of customers when an event is committed by any shop, or when the customer is blocked or a token revoked.
 * One query in 250 ms serves all waits together. Over a limit the oldest wait ends: its request answers as if it had
 * waited long enough.
 */
export class EventWatch {
  readonly #timing: TimerClock
  readonly #waiters = new Set<Waiter>()
  #cancelLook: (() => void) | undefined
  #lookAt = Number.POSITIVE_INFINITY
  #isLooking = false
  #spentMs = 0
  #isStopped = false

  constructor(private readonly deps: WatchDeps) {
    this.#timing = deps.timing ?? realTiming
    deps.events.onNoted(() => {
      if (this.#waiters.size > 0) this.#lookIn(commitMs)
    })
  }

  /** Read this before the list, so that `wait` misses no event after it. */
  async seen(customer: CustomerId): Promise<Seen> {
    return (await this.#read([customer])).get(customer) ?? { last: 0, epoch: 0 }
  }

  /** Resolves when the customer has a later event or less access, after `ms`, or when the signal aborts. */
  async wait(customer: CustomerId, seen: Seen, ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0 || this.#isStopped || signal.aborted) return
    this.#makeRoom(customer)
    await new Promise<void>((resolve) => {
      const end = () => {
        cancelLimit()
        signal.removeEventListener('abort', end)
        this.#waiters.delete(waiter)
        resolve()
      }
      const waiter: Waiter = { customer, seen, end }
      const cancelLimit = this.#timing.after(ms, end)
      signal.addEventListener('abort', end)
      this.#waiters.add(waiter)
      this.#lookIn(lookEveryMs)
    })
  }

  /** Ends all waits, and later ones at once. */
  stop(): void {
    this.#isStopped = true
    this.#cancelLook?.()
    for (const { end } of this.#waiters) end()
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** How many requests wait. */
  get size(): number {
    return this.#waiters.size
  }

  #makeRoom(customer: CustomerId): void {
    const own = [...this.#waiters].filter((each) => each.customer === customer)
    if (own.length >= maxWaitsOfCustomer) own[0]?.end()
    else if (this.#waiters.size >= maxWaits) [...this.#waiters][0]?.end()
  }

  async #read(customers: readonly CustomerId[]): Promise<Map<CustomerId, Seen>> {
    const rows = await this.deps.events.lastNumbers(customers)
    return new Map(
      rows.map((row) => [row.customer_id, { last: Number(row.last ?? 0n), epoch: Number(row.revocation_epoch) }]),
    )
  }

  /** Plans the next look, unless an earlier one is planned. */
  #lookIn(ms: number): void {
    const at = this.#timing.now() + Math.max(ms, restFor * this.#spentMs)
    if (this.#isLooking || this.#isStopped || at >= this.#lookAt) return
    this.#cancelLook?.()
    this.#lookAt = at
    this.#cancelLook = this.#timing.after(at - this.#timing.now(), () => void this.#look())
  }

  async #look(): Promise<void> {
    this.#lookAt = Number.POSITIVE_INFINITY
    this.#isLooking = true
    const startedAt = this.#timing.now()
    try {
      const now = await this.#read([...new Set([...this.#waiters].map((each) => each.customer))])
      for (const { customer, seen, end } of this.#waiters) {
        const latest = now.get(customer)
        if (latest === undefined || latest.last > seen.last || latest.epoch !== seen.epoch) end()
      }
    } catch {
      // The waiting requests read for themselves, meet the same error and report it.
      for (const { end } of this.#waiters) end()
    } finally {
      this.#isLooking = false
      this.#spentMs = this.#timing.now() - startedAt
      if (this.#waiters.size > 0) this.#lookIn(lookEveryMs)
    }
  }
}
