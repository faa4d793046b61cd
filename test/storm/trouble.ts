/** Something the storm did to the processes on purpose, from when it began until all answered again. */
export type Trouble = {
  readonly what: string
  readonly fromMs: number
  toMs: number
  /** Whom alone it touches; everybody, unless said. */
  readonly where?: string
}

/** How long after a process answers again its neighbours may take to find that out. */
const graceMs = 5_000

/** What was done to the processes and when, so that a failure can be put down to it or not. */
export class TroubleLog {
  readonly all: Trouble[] = []
  /** When a gateway was ended without a word: only then may bytes be lost. */
  readonly gatewayKills: number[] = []
  private readonly quiet: string[] = []

  async during<Result>(what: string, work: () => Promise<Result>, where?: string): Promise<Result> {
    const trouble: Trouble = {
      what,
      fromMs: performance.now(),
      toMs: Number.POSITIVE_INFINITY,
      ...(where !== undefined && { where }),
    }
    this.all.push(trouble)
    try {
      return await work()
    } finally {
      trouble.toMs = performance.now()
    }
  }

  /** Something that nobody may notice: it is counted, and excuses nothing. */
  async unnoticed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    this.quiet.push(what)
    return await work()
  }

  /** True if anything was amiss between those two moments, or a little before: anywhere, unless places are named. */
  wasAmiss(fromMs: number, toMs: number, where?: readonly string[]): boolean {
    return this.all.some(
      (each) =>
        (where === undefined || each.where === undefined || where.includes(each.where)) &&
        each.fromMs <= toMs &&
        each.toMs + graceMs >= fromMs,
    )
  }

  countOf(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const what of [...this.all.map((each) => each.what), ...this.quiet]) counts[what] = (counts[what] ?? 0) + 1
    return counts
  }
}
