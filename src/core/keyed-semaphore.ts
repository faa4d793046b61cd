import { Refusal } from './refusal.ts'

/** Per-key concurrency limit, first in first out, with a bounded queue per key. */
export class KeyedSemaphore {
  private readonly keys = new Map<string, { held: number; readonly waiting: (() => void)[] }>()
  private released: string[] = []

  constructor(
    private readonly limit: number,
    private readonly maxWaiting: number,
  ) {}

  /** Takes a permit now, or returns a promise that resolves when the caller has one. Throws if the queue is full. */
  acquire(key: string): Promise<void> | undefined {
    const of = this.keys.get(key)
    if (!of) this.keys.set(key, { held: 1, waiting: [] })
    else if (of.held >= this.limit) {
      if (of.waiting.length >= this.maxWaiting) throw new Refusal('database_busy', {}, { charged: false }, 1)
      return new Promise((resolve) => of.waiting.push(resolve))
    } else of.held += 1
    return undefined
  }

  /** Hands the permit on in the next turn of the event loop, after sockets were read: a SQLite request never yields. */
  release(key: string): void {
    if (this.released.push(key) === 1) setImmediate(() => this.handOn())
  }

  private handOn(): void {
    for (const key of this.released.splice(0)) {
      const of = this.keys.get(key)
      const next = of?.waiting.shift()
      if (next) next()
      else if (of) {
        of.held -= 1
        if (of.held === 0) this.keys.delete(key)
      }
    }
  }
}
