/** After a commit that took long, all commits are doubted for this time: whatever ended its wait may end others. */
const doubtMs = 2_000
/** How long a server without synchronous standbys is not asked again. */
const plainMs = 10_000

/**
 * Decides which commits need a proof that a standby has them. A wait that was cancelled looks like one that ended. But
 * a cancelled commit has waited, or others were waiting at its time.
 */
export class CommitTrust {
  /** When the commits that are not answered were sent, the oldest first. */
  readonly #waiting = new Set<{ readonly at: number }>()
  #doubtUntil = 0
  #plainUntil = 0

  constructor(
    private readonly trustedMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Notes that a commit is sent. The result is called with its answer, and says whether the answer can be trusted. */
  sent(): () => boolean {
    const commit = { at: this.now() }
    this.#waiting.add(commit)
    return () => {
      const now = this.now()
      const [oldest = commit] = this.#waiting
      this.#waiting.delete(commit)
      if (now - Math.min(oldest.at, commit.at) > this.trustedMs) this.#doubtUntil = now + doubtMs
      return now >= this.#doubtUntil || now < this.#plainUntil
    }
  }

  /** The server waits for no standby. */
  isPlain(): void {
    this.#plainUntil = this.now() + plainMs
  }
}
