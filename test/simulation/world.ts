import { AsyncResource } from 'node:async_hooks'
import type { Scheduler } from 'fast-check'
import { createChances } from './chances.ts'
import { installGlobals, realImmediate } from './globals.ts'
import { Process } from './process.ts'

type Event = {
  readonly process: Process | undefined
  readonly dueMs: number
  readonly label: string
  readonly act: () => void
  /** What happens instead if the process has crashed; by default nothing. */
  readonly drop: (() => void) | undefined
}

/** A promise that the simulation breaks. `trace` leads to it, in words. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise'
}

/** Limit against a simulation that never comes to rest. */
const maxEvents = 200_000
/** Everything ends within this time, if nothing fails. */
const usualLimitMs = 90_000
/** Turns of the event loop without a new event, after which the code of all processes waits. */
const quietTurns = 2

/**
 * The simulated world: one steady time, and events that are due at some time. Among the events that are due, the
 * scheduler of fast-check chooses. Everything else that is left to chance follows from `entropy` and from what it is
 * for, so that a part of a plan can be left out without changing the rest.
 */
export class World {
  nowMs = 0
  readonly startedAt = Date.UTC(2026, 0, 15, 12)
  readonly trace: string[] = []
  readonly chance
  /** Set by each commit; cleared by each check of the invariants. */
  isChanged = false
  /** Immediate callbacks of simulated code that have not run, and real work of the machine. */
  immediates = 0
  private readonly work = new Set<Promise<unknown>>()
  private events: Event[] = []
  private activity = 0
  private eventCount = 0
  private failure: Error | undefined
  /** Whether a process crashes at this await. */
  crashesAt: (process: Process) => boolean = () => false
  /** Work that is done once all code waits; returns whether there was any. */
  whenQuiet: () => Promise<boolean> = async () => false
  /** The network, as `fetch` of a simulated process. */
  fetch: (from: Process, url: URL, init: RequestInit) => Promise<Response> = () =>
    Promise.reject(new Error('no network'))

  constructor(
    entropy: number,
    private readonly scheduler: Pick<Scheduler, 'schedule' | 'waitOne' | 'count'>,
    private readonly check: () => Promise<void> = async () => {},
  ) {
    this.chance = createChances(entropy)
    installGlobals()
  }

  start(name: string): Process {
    return new Process(name, this)
  }

  note(text: string): void {
    this.trace.push(`${(this.nowMs / 1000).toFixed(3).padStart(8)} s  ${text}`)
  }

  /** A simulated program's uncaught error ends the simulation. */
  fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : new Error(String(error))
    this.activity += 1
  }

  /** Returns a function that cancels the event. */
  schedule(
    process: Process | undefined,
    delayMs: number,
    label: string,
    act: () => void,
    drop?: () => void,
  ): () => void {
    this.activity += 1
    // The continuation keeps the asynchronous context of its caller.
    const bound = AsyncResource.bind(act)
    const event = { process, dueMs: this.nowMs + Math.max(0, delayMs), label, act: bound, drop }
    this.events.push(event)
    return () => {
      this.events = this.events.filter((each) => each !== event)
    }
  }

  /** Real work of the machine, such as a flush of a file: the world waits for it. */
  async real<Result>(work: Promise<Result>): Promise<Result> {
    this.work.add(work)
    try {
      return await work
    } finally {
      this.work.delete(work)
      this.activity += 1
    }
  }

  /** Runs events until `isOver`. */
  async run(isOver: () => boolean, limitMs = usualLimitMs): Promise<void> {
    const untilMs = this.nowMs + limitMs
    for (;;) {
      await this.settle()
      if (this.failure !== undefined) throw this.failure
      if (this.isChanged) {
        this.isChanged = false
        await this.check()
      }
      if (isOver()) return
      if (this.nowMs > untilMs) throw new BrokenPromise('everything that was begun comes to an end')
      if ((this.eventCount += 1) > maxEvents) throw new Error('the simulation does not come to rest')
      await this.runNext()
    }
  }

  private async runNext(): Promise<void> {
    const first = this.events.reduce<Event | undefined>((a, b) => (a && a.dueMs <= b.dueMs ? a : b), undefined)
    if (!first) throw new Error('nothing is left to happen in the simulation')
    this.nowMs = Math.max(this.nowMs, first.dueMs)
    const due = this.events.filter((each) => each.dueMs <= this.nowMs)
    const event = due.length === 1 ? first : await this.choose(due)
    this.events.splice(this.events.indexOf(event), 1)
    event.act()
  }

  private async choose(due: readonly Event[]): Promise<Event> {
    const order: Event[] = []
    const schedule = async (event: Event) => {
      await this.scheduler.schedule(Promise.resolve(), event.label)
      order.push(event)
    }
    const scheduled = due.map(schedule)
    while (this.scheduler.count() > 0) await this.scheduler.waitOne()
    await Promise.all(scheduled)
    const [first] = order
    if (!first) throw new Error('the scheduler chose nothing')
    return first
  }

  /** Events of crashed processes do not happen. */
  dropOrphans(): void {
    const orphans = this.events.filter(({ process }) => process && !process.isAlive)
    if (orphans.length === 0) return
    this.events = this.events.filter((each) => !orphans.includes(each))
    for (const { drop } of orphans) drop?.()
  }

  /** Lets all code run until it waits for an event of this world. */
  private async settle(): Promise<void> {
    do {
      for (let quiet = 0; quiet < quietTurns; ) {
        const before = this.activity
        await new Promise<void>((resolve) => void realImmediate(resolve))
        if (this.work.size > 0) await Promise.race(this.work).catch(() => {})
        quiet = this.activity === before && this.immediates === 0 && this.work.size === 0 ? quiet + 1 : 0
      }
    } while (await this.whenQuiet())
  }
}
