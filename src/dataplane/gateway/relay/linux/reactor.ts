import { drainMicrotasks } from 'bun:jsc'
import type { After, Clock } from '../../../../core/time.ts'
import { type Descriptors, mostDescriptors } from './descriptors.ts'
import type { Kernel } from './kernel.ts'
import { EINTR, EPOLLET, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP } from './numbers.ts'

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

/** Whoever is told what happens to a descriptor. */
export type Pollable = {
  onEvents(events: number): void
  /** It threw: it is to let go of its descriptor. */
  onFault(): void
}

/** Somebody who has more to do than one turn allows. */
export type TurnTaker = { takeTurn(): void; onFault?(): void }

const bothWays = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET
const mostWaitMs = 1000

/**
 * A loop over epoll on a thread of its own. One turn: events, timers, whoever waits for another turn, promises, and
 * then what was let go of is closed. A descriptor is watched once, for both directions, and told of changes alone
 * (edge-triggered).
 */
export class Reactor {
  /** The moment of this turn, steady and as the machine's clock has it: asking for each would cost more than a read. */
  nowMs: number
  wallMs = Date.now()
  /** By the clock itself: what is started late in a long turn would be early, and a no must not be. */
  readonly timers: Timers
  /** How many events there have been. */
  seen = 0
  private readonly poll: number
  private readonly pollables: (Pollable | undefined)[] = []
  /** Which life of a number an event belongs to: numbers are used again at once. */
  private readonly lives = new Int32Array(mostDescriptors)
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

  /** A socket, both ways. Tells at once what is there already. */
  watch(descriptor: number, pollable: Pollable): void {
    this.register(descriptor, pollable, bothWays)
  }

  /** For as long as there is something to take, it is told again in every turn. */
  watchLevel(descriptor: number, pollable: Pollable): void {
    this.register(descriptor, pollable, EPOLLIN)
  }

  private register(descriptor: number, pollable: Pollable, wanted: number): void {
    const life = ((this.lives[descriptor] ?? 0) + 1) | 0
    this.lives[descriptor] = life
    this.pollables[descriptor] = pollable
    const failed = this.kernel.watch(this.poll, descriptor, wanted, life)
    if (failed < 0) throw new Error(`epoll_ctl failed with ${-failed}`)
  }

  /** Nobody is told of it any more. A descriptor that is about to be closed needs no more than this. */
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
   * `hear` does what others have asked for, and tells whether there was anything. What was asked before an event comes
   * before it.
   */
  turn(hear: () => boolean): void {
    this.nowMs = this.clock()
    const mostMs = this.waiting.length > 0 || hear() ? 0 : this.timers.dueInMs(mostWaitMs)
    const count = this.kernel.poll(this.poll, mostMs)
    this.look()
    if (count < 0 && count !== -EINTR) throw new Error(`epoll_wait failed with ${-count}`)
    hear()
    this.seen += Math.max(0, count)
    for (let index = 0; index < count; index += 1) this.dispatch(index)
    this.guard(() => this.timers.run())
    this.takeTurns()
    drainMicrotasks()
    this.descriptors.flush()
  }

  private look(): void {
    this.nowMs = this.clock()
    this.wallMs = Date.now()
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

  private takeTurns(): void {
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

  /** A bug in what one connection does must not end the others. */
  private guard(act: () => void): void {
    try {
      act()
    } catch (fault) {
      this.onFault(fault)
    }
  }
}
