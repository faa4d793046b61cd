/** Why the database takes no writes. */
export type WriteProblem = 'disk_full' | 'moved' | 'unwritable'

const tryEveryMs = 1_000

/** More than a sale writes. */
export const writeTryBytes = 256 * 1024

/**
 * Whether the database takes writes. A write that fails sets the problem, and only a try that makes the database grow
 * clears it: on a full disk, rows that fit into existing pages are still written. Tries at most once a second.
 */
export class WriteCheck {
  #problem: WriteProblem | undefined
  #failures = 0
  #triedAt = Number.NEGATIVE_INFINITY
  #trying = Promise.resolve()

  constructor(private readonly tryToWrite: (hasFailed: boolean) => Promise<WriteProblem | undefined>) {}

  failed(problem: WriteProblem): void {
    this.#problem = problem
    this.#failures += 1
  }

  async check(): Promise<WriteProblem | undefined> {
    if (performance.now() - this.#triedAt >= tryEveryMs) {
      this.#triedAt = performance.now()
      this.#trying = this.#try()
    }
    await this.#trying
    return this.#problem
  }

  async #try(): Promise<void> {
    const failuresBefore = this.#failures
    const problem = await this.tryToWrite(this.#problem !== undefined)
    // A write that failed during the try says more than the try.
    if (this.#failures === failuresBefore) this.#problem = problem
  }
}
