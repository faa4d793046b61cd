/** How often it is looked who has heard nothing. */
const lookEveryMs = 250

/** Somebody who waits for a server, again and again. */
export type Listener = {
  /** Something was asked: from now on an answer is waited for, if none was yet. */
  asked(): void
  /** Something was answered, or will not be any more. */
  heard(): void
}

/**
 * Tells whoever waits for a server that it has been silent for too long. What counts are looks and not the clock: a
 * process that was itself stopped, or too busy to read what has come, does not take that for the server's silence.
 */
export class Silence {
  readonly #waiting = new Set<{ sinceLook: number; readonly mostLooks: number; readonly end: () => void }>()
  readonly #timer: ReturnType<typeof setInterval>
  #look = 0

  constructor() {
    this.#timer = setInterval(() => this.#lookRound(), lookEveryMs)
    this.#timer.unref()
  }

  /** `end` is called once in each silence, and then not before something was heard and asked again. */
  listen(mostMs: number, end: () => void): Listener {
    const wait = { sinceLook: 0, mostLooks: Math.ceil(mostMs / lookEveryMs), end }
    let unanswered = 0
    return {
      asked: () => {
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

  stop(): void {
    clearInterval(this.#timer)
  }

  #lookRound(): void {
    this.#look += 1
    for (const wait of this.#waiting) {
      if (this.#look - wait.sinceLook <= wait.mostLooks) continue
      this.#waiting.delete(wait)
      wait.end()
    }
  }
}
