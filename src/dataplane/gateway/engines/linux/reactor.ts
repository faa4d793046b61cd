import { drainMicrotasks } from 'bun:jsc'
import type { After, Clock } from '../../../../core/time.ts'
import { type Descriptors, maxDescriptors } from '../../system/descriptors.ts'
import type { Kernel } from '../../system/kernel.ts'
import { EINTR, EPOLLET, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP } from '../../system/numbers.ts'

type Timer = { readonly at: number; act: (() => void) | undefined }

const fewCancelled = 256

/** Binary heap of timers for a thread that waits in the kernel; drops cancelled ones in bulk. */
export class Timers {
  private heap: Timer[] = []
  private cancelled = 0

  /** `now` must be monotonic. */
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

  dueInMs(max: number): number {
    while (this.heap[0] && !this.heap[0].act) {
      this.pop()
      this.cancelled -= 1
    }
    const [first] = this.heap
    return first ? Math.min(max, Math.max(0, Math.ceil(first.at - this.now()))) : max
  }

  /** Runs due timers; those that they start run later. */
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

export type Pollable = {
  onEvents(events: number): void
  /** It threw and must release its descriptor. */
  onFault(): void
}

/** More work for the next turn. */
export type TurnTaker = { takeTurn(): void; onFault?(): void }

/** A socket that takes all that is written so far. */
export const reading = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET
const bothWays = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET
const maxWaitMs = 1000

/** Edge-triggered epoll loop. A turn: events, timers, queued work, microtasks, closing. */
export class Reactor {
  /** Cached per turn: reading the clock costs more than a read. */
  nowMs: number
  wallMs = Date.now()
  /** Uses the clock itself: a timer started late in a long turn must not fire early. */
  readonly timers: Timers
  eventCount = 0
  private readonly poll: number
  private readonly pollables: (Pollable | undefined)[] = []
  /** Generation of each descriptor number, because numbers are reused at once. */
  private readonly lives = new Int32Array(maxDescriptors)
  private waiting: TurnTaker[] = []

  constructor(
    readonly kernel: Kernel,
    readonly descriptors: Descriptors,
    private readonly onFault: (fault: unknown) => void,
    private readonly clock: Clock = () => performance.now(),
  ) {
    this.nowMs = clock()
    this.timers = new Timers(clock)
    this.poll = kernel.openPoll()
    if (this.poll < 0) throw new Error(`epoll_create1 failed with ${-this.poll}`)
    descriptors.own(this.poll)
  }

  /** Edge-triggered in both directions, unless other events are wanted. */
  watch(descriptor: number, pollable: Pollable, wanted = bothWays): void {
    const life = ((this.lives[descriptor] ?? 0) + 1) | 0
    this.lives[descriptor] = life
    this.pollables[descriptor] = pollable
    const failed = this.kernel.watch(this.poll, descriptor, wanted, life)
    if (failed < 0) throw new Error(`epoll_ctl failed with ${-failed}`)
  }

  /** One that is watched for reading is watched in both directions. */
  watchWrites(descriptor: number): void {
    const failed = this.kernel.rewatch(this.poll, descriptor, bothWays, this.lives[descriptor] ?? 0)
    if (failed < 0) throw new Error(`epoll_ctl failed with ${-failed}`)
  }

  /** Enough for a descriptor that is about to be closed. */
  forget(descriptor: number): void {
    this.pollables[descriptor] = undefined
  }

  unwatch(descriptor: number): void {
    this.forget(descriptor)
    this.kernel.unwatch(this.poll, descriptor)
  }

  queue(taker: TurnTaker): void {
    this.waiting.push(taker)
  }

  /**
   * `hear` handles messages and returns whether there were any; earlier messages are handled before events. `wake` is
   * called when the thread no longer waits in the kernel.
   */
  turn(hear: () => boolean, wake: () => void = () => {}): void {
    this.nowMs = this.clock()
    const maxMs = this.waiting.length > 0 || hear() ? 0 : this.timers.dueInMs(maxWaitMs)
    const count = this.kernel.poll(this.poll, maxMs)
    wake()
    this.nowMs = this.clock()
    this.wallMs = Date.now()
    if (count < 0 && count !== -EINTR) throw new Error(`epoll_wait failed with ${-count}`)
    hear()
    this.eventCount += Math.max(0, count)
    for (let index = 0; index < count; index += 1) this.dispatch(index)
    this.guard(() => this.timers.run())
    this.runWaiting()
    drainMicrotasks()
    this.descriptors.flush()
  }

  private dispatch(index: number): void {
    const descriptor = this.kernel.descriptorOf(index)
    const pollable = this.pollables[descriptor]
    if (!pollable || this.lives[descriptor] !== this.kernel.lifeOf(index)) return
    try {
      pollable.onEvents(this.kernel.eventsOf(index))
    } catch (fault) {
      this.onFault(fault)
      this.guard(() => pollable.onFault())
    }
  }

  private runWaiting(): void {
    if (this.waiting.length === 0) return
    const takers = this.waiting
    this.waiting = []
    for (const taker of takers) {
      try {
        taker.takeTurn()
      } catch (fault) {
        this.onFault(fault)
        this.guard(() => taker.onFault?.())
      }
    }
  }

  /** Errors of one connection must not end the others. */
  private guard(act: () => void): void {
    try {
      act()
    } catch (fault) {
      this.onFault(fault)
    }
  }
}
