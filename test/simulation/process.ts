import { AsyncLocalStorage } from 'node:async_hooks'
import type { World } from './world.ts'

const running = new AsyncLocalStorage<Process>()

/** The simulated process whose code runs now; undefined in the test's own code. */
export const currentProcess = (): Process | undefined => running.getStore()

/** Ends a transaction of a process that has crashed, so that the real database rolls it back. */
export class Crashed extends Error {
  override readonly name = 'Crashed'
}

/** Code of a crashed process waits for this, and never continues. */
export const never = <Result>(): Promise<Result> => new Promise<Result>(() => {})

/**
 * One run of a program: what it starts belongs to it, also over its awaits. After `crash` it has no effect any more:
 * its timers do not fire, its messages are not sent, and its open transactions are rolled back.
 */
export class Process {
  isAlive = true
  /** How far its clock is ahead of the world's. */
  clockAheadMs = 0
  private readonly ends: (() => void)[] = []

  constructor(
    readonly name: string,
    readonly world: World,
  ) {}

  run<Result>(work: () => Result): Result {
    return running.run(this, work)
  }

  /** Its wall clock. */
  readonly clock = (): number => this.world.startedAt + Math.floor(this.world.nowMs) + this.clockAheadMs

  onCrash(end: () => void): void {
    this.ends.push(end)
  }

  crash(why: string): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.world.note(`${this.name} is killed ${why}`)
    for (const end of this.ends.splice(0)) end()
    this.world.dropOrphans()
  }

  /**
   * An await: other processes run before it ends, and this one may crash instead. `delayMs` is at least how long it
   * takes. In a transaction a crash throws, elsewhere the caller never continues.
   */
  async step(label: string, delayMs = 0, isInTransaction = false): Promise<void> {
    if (this.isAlive) {
      await new Promise<void>((resolve) => {
        this.world.schedule(this, delayMs, label, resolve, resolve)
      })
    }
    if (this.isAlive && this.world.crashesAt(this)) this.crash(`before "${label}"`)
    if (this.isAlive) return
    if (isInTransaction) throw new Crashed()
    await never()
  }
}
