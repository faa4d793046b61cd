/** How often it is looked who has heard nothing. */
const lookEveryMs = 250

/** Acts again and again, and returns what ends it. A test acts by hand. */
type Every = (ms: number, act: () => void) => () => void

const realEvery: Every = (ms, act) => {
  const timer = setInterval(act, ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** A caller that waits for a server repeatedly. */
export type Listener = {
  /** Something was asked: from now on an answer is waited for, if none was yet. */
  asked(): void
  /** Something was answered, or will not be any more. */
  heard(): void
}

/** Detects a silent server by counting ticks, not time: a process that was stopped itself does not blame the server. */
export class Silence {
  readonly #waiting = new Set<{ sinceLook: number; readonly mostLooks: number; readonly end: () => void }>()
  readonly #stop: () => void
  #look = 0

  constructor(every: Every = realEvery) {
    this.#stop = every(lookEveryMs, () => this.#lookRound())
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
    this.#stop()
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
