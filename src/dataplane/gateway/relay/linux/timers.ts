import type { After } from '../../../../core/time.ts'

type Timer = { readonly at: number; act: (() => void) | undefined }

/** So many that are cancelled are not worth a tidy-up. */
const fewCancelled = 256

/**
 * Timers for a thread that waits in the kernel: whoever waits asks how long it may, and runs what is due afterwards. A
 * binary heap. Most are cancelled long before they are due: once those are more than the others, they are thrown out.
 */
export class Timers {
  private heap: Timer[] = []
  private cancelled = 0

  /** `now` rises steadily. */
  constructor(private readonly now: () => number) {}

  readonly after: After = (ms, act) => {
    const timer: Timer = { at: this.now() + Math.max(0, ms), act }
    this.push(timer)
    return () => {
      if (!timer.act) return
      timer.act = undefined
      this.cancelled += 1
      if (this.cancelled > fewCancelled && this.cancelled * 2 > this.heap.length) this.tidyUp()
    }
  }

  private tidyUp(): void {
    const left = this.heap.filter(({ act }) => act)
    this.heap = []
    this.cancelled = 0
    for (const timer of left) this.push(timer)
  }

  /** How long until the first is due, and no longer than `most`. */
  dueInMs(most: number): number {
    while (this.heap[0] && !this.heap[0].act) {
      this.pop()
      this.cancelled -= 1
    }
    const [first] = this.heap
    return first ? Math.min(most, Math.max(0, Math.ceil(first.at - this.now()))) : most
  }

  /** Runs what is due now. What they start runs another time. */
  run(): void {
    const nowMs = this.now()
    if (this.heap.length === 0 || (this.heap[0]?.at ?? 0) > nowMs) return
    const due: Timer[] = []
    for (let [first] = this.heap; first && first.at <= nowMs; [first] = this.heap) {
      this.pop()
      if (first.act) due.push(first)
      else this.cancelled -= 1
    }
    for (const timer of due) {
      const { act } = timer
      timer.act = undefined
      act?.()
    }
  }

  get size(): number {
    return this.heap.length
  }

  private push(timer: Timer): void {
    const { heap } = this
    let at = heap.push(timer) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent]
      if (!above || above.at <= timer.at) break
      heap[at] = above
      at = parent
    }
    heap[at] = timer
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop()
    if (!last || heap.length === 0) return
    let at = 0
    for (;;) {
      const left = heap[2 * at + 1]
      const right = heap[2 * at + 2]
      const isRight = right !== undefined && left !== undefined && right.at < left.at
      const least = isRight ? right : left
      if (!least || least.at >= last.at) break
      heap[at] = least
      at = 2 * at + (isRight ? 2 : 1)
    }
    heap[at] = last
  }
}
