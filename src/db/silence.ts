const lookEveryMs = 250

/** setInterval() that returns its cancel function. Tests tick by hand. */
type Every = (ms: number, act: () => void) => () => void

const realEvery: Every = (ms, act) => {
  const timer = setInterval(act, ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** A caller that waits for a server repeatedly. */
export type Listener = {
  /** A query was sent. */
  sent(): void
  /** A query was answered or given up. */
  heard(): void
}

/** Detects a silent server by counting ticks, not time: a process that was stopped itself does not blame the server. */
export class Silence {
  readonly #waiting = new Set<{ sinceLook: number; readonly maxLooks: number; readonly end: () => void }>()
  readonly #stop: () => void
  #look = 0

  constructor(every: Every = realEvery) {
    this.#stop = every(lookEveryMs, () => this.#lookRound())
  }

  /** `end` is called once per silence. */
  listen(maxMs: number, end: () => void): Listener {
    const wait = { sinceLook: 0, maxLooks: Math.ceil(maxMs / lookEveryMs), end }
    let unanswered = 0
    return {
      sent: () => {
        unanswered += 1
        if (unanswered > 1) return
        wait.sinceLook = this.#look
        this.#waiting.add(wait)
      },
      heard: () => {
        unanswered -= 1
        wait.sinceLook = this.#look
        if (unanswered === 0) this.#waiting.delete(wait)
      },
    }
  }

  /** Measures milliseconds in ticks. */
  stopwatch(): () => number {
    const since = this.#look
    return () => (this.#look - since) * lookEveryMs
  }

  /** Whether the work ends within the time. A failure of the work is thrown. */
  async isWithin(work: Promise<unknown>, maxMs: number): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const listener = this.listen(maxMs, () => resolve(false))
    listener.sent()
    try {
      return await Promise.race([work.then(() => true), late])
    } finally {
      listener.heard()
    }
  }

  stop(): void {
    this.#stop()
  }

  #lookRound(): void {
    this.#look += 1
    for (const wait of this.#waiting) {
      if (this.#look - wait.sinceLook <= wait.maxLooks) continue
      this.#waiting.delete(wait)
      wait.end()
    }
  }
}
