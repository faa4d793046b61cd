import type { World } from './world.ts'

const mostKept = 20

/** How honest customers were served, in numbers. */
export type Service = {
  readonly attempts: number
  readonly failedInTrouble: number
  readonly failedOutside: number
  readonly failures: readonly string[]
  /** Not answered in time: the machine had none for them. */
  readonly late: number
}

/**
 * How honest customers were served: what failed while nothing was done to the processes is the attackers' doing, or
 * ours.
 */
export class Quality {
  tried = 0
  failedInTrouble = 0
  /** Not answered in time, or failed while the machine had no time for anybody. */
  late = 0
  failedOutside = 0
  readonly failures: string[] = []

  constructor(private readonly world: Pick<World, 'troubles' | 'machine'>) {}

  get service(): Service {
    const { tried: attempts, failedInTrouble, failedOutside, failures, late } = this
    return { attempts, failedInTrouble, failedOutside, failures, late }
  }

  /** One attempt, of whatever kind. `why` is empty when it went well. `where` names whose troubles may be the cause. */
  note(what: string, fromMs: number, why: string, isLate = false, where?: readonly string[]): void {
    this.tried += 1
    if (why === '') return
    if (this.world.troubles.wasAmiss(fromMs, performance.now(), where)) {
      this.failedInTrouble += 1
      return
    }
    if (isLate || this.world.machine.wasLate(fromMs)) {
      this.late += 1
      return
    }
    this.failedOutside += 1
    if (this.failures.length < mostKept) this.failures.push(`${what}: ${why}`)
  }
}

/**
 * Actors pass it before each step. Closed, it holds them back until it is opened, so that what they did can be looked
 * at.
 */
export class Gate {
  private open = Promise.withResolvers<void>()
  private isShut = false
  private isOver = false
  private within = 0

  constructor() {
    this.open.resolve()
  }

  /** False when there is nothing more to do. */
  async pass(): Promise<boolean> {
    await this.open.promise
    return !this.isOver
  }

  /** Counts as busy until it is done. */
  async step(work: () => Promise<void>): Promise<void> {
    this.within += 1
    try {
      await work()
    } finally {
      this.within -= 1
    }
  }

  /** Resolves once nobody is at anything. */
  async shut(withinMs: number): Promise<boolean> {
    if (!this.isShut) this.open = Promise.withResolvers<void>()
    this.isShut = true
    const giveUpAt = performance.now() + withinMs
    while (this.within > 0 && performance.now() < giveUpAt) await Bun.sleep(20)
    return this.within === 0
  }

  reopen(): void {
    this.isShut = false
    this.open.resolve()
  }

  end(): void {
    this.isOver = true
    this.reopen()
  }
}
