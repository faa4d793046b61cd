import type { Log } from '../core/log.ts'
import type { Clock } from '../core/time.ts'
import type { Ledger } from '../domains/ledger/index.ts'

export type JobLog = Pick<Log, 'info' | 'error'>

/** The shop's database, for a transaction over several domains. */
export type Transacting = { transact<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> }
type Tx = Parameters<Ledger['lock']>[0]

/** A periodic task. */
export type Job = {
  readonly name: string
  readonly everyMs: number
  readonly work: () => Promise<unknown>
  /** Every shop process runs it: it concerns this process's memory or machine. */
  readonly isOwn?: true
}

/** `elsewhere`: another shop process leads the job and runs it. */
export type JobRun = { readonly name: string; readonly outcome: 'done' | 'failed' | 'elsewhere' }

const repeatedAfterMs = 60_000

/** Logs the first failure of a job, then one line a minute with the number of failures since, until it succeeds. */
class FailureLog {
  private readonly lines = new Map<string, { loggedAt: number; count: number }>()

  constructor(
    private readonly log: JobLog,
    private readonly clock: Clock,
  ) {}

  note(job: string, fault: unknown): void {
    const nowMs = this.clock()
    const before = this.lines.get(job)
    const count = (before?.count ?? 0) + 1
    // A clock that was set back logs too.
    const isDue = !before || Math.abs(nowMs - before.loggedAt) >= repeatedAfterMs
    this.lines.set(job, isDue ? { loggedAt: nowMs, count: 0 } : { loggedAt: before.loggedAt, count })
    if (isDue) this.log.error('job failed', { job, ...(count > 1 && { failures: count }), fault })
  }

  end(job: string): void {
    this.lines.delete(job)
  }
}

/**
 * Runs each job at its interval, never twice at once. Of several shops on one database only the leader of a job runs
 * it. The lead may move during a run, so every job tolerates parallel and missed runs: it depends on what the database
 * holds, not on when it last ran.
 */
export function startJobs(
  jobs: readonly Job[],
  log: JobLog,
  leads: (job: string) => Promise<boolean>,
  onRun: (run: JobRun) => void = () => {},
  clock: Clock = Date.now,
) {
  const failing = new FailureLog(log, clock)
  const running = new Map<string, Promise<void>>()
  async function runOnce(job: Job): Promise<void> {
    const isHere = job.isOwn || (await leads(job.name))
    if (isHere) await job.work()
    failing.end(job.name)
    onRun({ name: job.name, outcome: isHere ? 'done' : 'elsewhere' })
  }
  const timers = jobs.map((job) =>
    setInterval(() => {
      if (running.has(job.name)) return
      const run = runOnce(job)
        .catch((fault: unknown) => {
          onRun({ name: job.name, outcome: 'failed' })
          failing.note(job.name, fault)
        })
        .finally(() => running.delete(job.name))
      running.set(job.name, run)
    }, job.everyMs),
  )
  return {
    async stop(): Promise<void> {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running.values())
    },
  }
}

/** A job that repeats a batch of at most `limit` items, with a pause between batches, until one is not full. */
export const batchJob = (
  name: string,
  everyMs: number,
  limit: number,
  runBatch: (limit: number) => Promise<number>,
  pauseMs = 50,
): Job => ({
  name,
  everyMs,
  async work() {
    while ((await runBatch(limit)) >= limit) await Bun.sleep(pauseMs)
  },
})
