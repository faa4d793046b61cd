/** A fault that the storm caused, from its start until all processes answered again. */
export type Fault = {
  readonly what: string
  readonly fromMs: number
  toMs: number
  /** The only site that it affects; all by default. */
  readonly where?: string
}

/** How long other processes may take to notice that a process answers again. */
const graceMs = 5_000

/** The faults and their times, to decide whether a failure is explained by one. */
export class FaultLog {
  readonly all: Fault[] = []
  /** Times of SIGKILL to a gateway: only these may lose bytes. */
  readonly gatewayKills: number[] = []
  private readonly quiet: string[] = []

  async during<Result>(what: string, work: () => Promise<Result>, where?: string): Promise<Result> {
    const fault: Fault = {
      what,
      fromMs: performance.now(),
      toMs: Number.POSITIVE_INFINITY,
      ...(where !== undefined && { where }),
    }
    this.all.push(fault)
    try {
      return await work()
    } finally {
      fault.toMs = performance.now()
    }
  }

  /** A fault that must have no effect: it is counted, and excuses no failure. */
  async unnoticed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    this.quiet.push(what)
    return await work()
  }

  /** True if there was a fault between those two times, or shortly before: anywhere, or at the named sites. */
  hadFault(fromMs: number, toMs: number, where?: readonly string[]): boolean {
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
