import type { World } from './world.ts'

const maxKept = 20

/** The service of honest customers, in numbers. */
export type Service = {
  readonly attempts: number
  readonly failedInFaults: number
  readonly failedOutside: number
  readonly failures: readonly string[]
  /** Not answered in time because the machine was overloaded. */
  readonly late: number
}

/** The service of honest customers: a failure without a fault of the processes is caused by attackers or by a bug. */
export class Quality {
  tried = 0
  failedInFaults = 0
  /** Not answered in time, or failed while the machine was overloaded. */
  late = 0
  failedOutside = 0
  readonly failures: string[] = []

  constructor(private readonly world: Pick<World, 'faults' | 'machine'>) {}

  get service(): Service {
    const { tried: attempts, failedInFaults, failedOutside, failures, late } = this
    return { attempts, failedInFaults, failedOutside, failures, late }
  }

  /** Records one attempt. `why` is empty on success. `where` names the sites whose faults may be the cause. */
  note(what: string, fromMs: number, why: string, isLate = false, where?: readonly string[]): void {
    this.tried += 1
    if (why === '') return
    if (this.world.faults.hadFault(fromMs, performance.now(), where)) {
      this.failedInFaults += 1
      return
    }
    if (isLate || this.world.machine.wasLate(fromMs)) {
      this.late += 1
      return
    }
    this.failedOutside += 1
    if (this.failures.length < maxKept) this.failures.push(`${what}: ${why}`)
  }
}

/** Actors pass this gate before each step. While it is closed they wait, so that the books can be compared. */
export class Gate {
  private open = Promise.withResolvers<void>()
  private isClosed = false
  private isOver = false
  private within = 0

  constructor() {
    this.open.resolve()
  }

  /** False when the storm is over. */
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

  /** Resolves once no actor is busy; false at the time limit. */
  async close(withinMs: number): Promise<boolean> {
    if (!this.isClosed) this.open = Promise.withResolvers<void>()
    this.isClosed = true
    const giveUpAt = performance.now() + withinMs
    while (this.within > 0 && performance.now() < giveUpAt) await Bun.sleep(20)
    return this.within === 0
  }

  reopen(): void {
    this.isClosed = false
    this.open.resolve()
  }

  end(): void {
    this.isOver = true
    this.reopen()
  }
}
