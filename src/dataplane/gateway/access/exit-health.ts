import type { Clock } from '../../../core/time.ts'
import { maxInReport } from '../../../node-protocol/limits.ts'
import type { ReportBody } from '../../../node-protocol/report.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'

export type ExitReport = {
  readonly id: string
  readonly isUp: boolean
  readonly sinceAt: number
  readonly reason: string
}

type ExitStatus = {
  exit: NodeExit
  /** Undefined until tested. */
  isUp: boolean | undefined
  sinceAt: number
  failures: number
  nextAt: number
  isTrying: boolean
}

/** Interval between checks of a healthy, unused exit; longer with many exits. */
const wellEveryMs = 10_000
const maxTriesPerSecond = 50
/** Interval between checks of an exit that failed a client but passed its check. */
const suspectEveryMs = 2000
/** Consecutive failures after which an exit is down, also if a check succeeds. */
const maxFailures = 3
/** First pause before a down exit is checked again; doubles with each failure. */
export const exitRetryMs = 1000
const maxPauseMs = 60_000
/** Own addresses cost nothing to check, and all gateways miss them. */
const ownPauseMs = 5_000
const maxAtOnce = 64

/**
 * Health of exits, from customers' connections and active checks: at once after a failure, regularly while up, with
 * backoff while down. An untested exit counts as up.
 */
export class ExitHealth {
  private readonly clock
  private readonly retryMs
  private readonly statuses = new Map<string, ExitStatus>()
  /** Checks exits regularly. Others of the same gateway only check an exit that failed a client. */
  private isLead: boolean
  /** Changes whenever an exit goes up or down. */
  generation = 0
  private tries = 0

  constructor(
    private readonly deps: {
      clock: Clock
      onChange: (report: ExitReport) => void
      retryMs?: number
      /** False until lead() if several share the checks. */
      isLead?: boolean
    },
  ) {
    this.clock = deps.clock
    this.isLead = deps.isLead ?? true
    this.retryMs = deps.retryMs ?? exitRetryMs
  }

  /** Replaces the exits; changed ones are checked again. */
  keep(exits: ReadonlyMap<string, NodeExit>): void {
    for (const [id, exit] of exits) {
      const known = this.statuses.get(id)
      if (known?.exit === exit) continue
      const fresh = { exit, isUp: known?.isUp, sinceAt: known?.sinceAt ?? this.clock(), failures: 0 }
      this.statuses.set(id, { ...fresh, nextAt: this.leadAt(this.clock()), isTrying: false })
    }
    for (const id of this.statuses.keys()) if (!exits.has(id)) this.statuses.delete(id)
    this.generation += 1
  }

  /** Takes over the regular checks. */
  lead(): void {
    this.isLead = true
    for (const status of this.statuses.values()) status.nextAt = this.clock()
  }

  /** Takes over a state that another reactor of the gateway has found. */
  adopt({ id, isUp, sinceAt }: ExitReport): void {
    const status = this.statuses.get(id)
    if (!status || status.isUp === isUp) return
    status.isUp = isUp
    status.sinceAt = sinceAt
    status.failures = isUp ? 0 : 1
    status.nextAt = this.leadAt(this.clock() + (isUp ? wellEveryMs : this.retryMs))
    this.generation += 1
  }

  isUp(id: string): boolean {
    return this.statuses.get(id)?.isUp !== false
  }

  worked(id: string): void {
    const status = this.statuses.get(id)
    if (status) this.hasWorked(status)
  }

  /** A failure that was not the destination's. */
  failed(id: string, reason: string): void {
    const status = this.statuses.get(id)
    if (!status || status.isUp === false) return
    status.failures += 1
    if (status.failures >= maxFailures) this.goDown(status, reason)
    else status.nextAt = this.clock()
  }

  /** A failure of unknown cause: check the exit. */
  doubted(id: string): void {
    const status = this.statuses.get(id)
    if (status?.isUp) status.nextAt = this.clock()
  }

  /** Exits to check now; report each with tried(). */
  takeDue(): NodeExit[] {
    const nowMs = this.clock()
    const due: NodeExit[] = []
    for (const status of this.statuses.values()) {
      if (this.tries >= maxAtOnce) break
      if (status.isTrying || status.nextAt > nowMs) continue
      status.isTrying = true
      this.tries += 1
      due.push(status.exit)
    }
    return due
  }

  tried(exit: NodeExit, problem: string | undefined): void {
    this.tries -= 1
    const status = this.statuses.get(exit.id)
    // It changed during the check and will be checked again.
    if (!status || status.exit !== exit) return
    status.isTrying = false
    if (problem !== undefined) {
      status.failures += 1
      this.goDown(status, problem)
    } else if (status.isUp === false || status.failures === 0) this.hasWorked(status)
    else {
      status.nextAt = this.clock() + suspectEveryMs
      this.set(status, true, '')
    }
  }

  /** Time to check every exit once at the highest rate. */
  private turnMs(): number {
    return (this.statuses.size * 1000) / maxTriesPerSecond
  }

  /** When a regular check is due. */
  private leadAt(at: number): number {
    return this.isLead ? at : Number.POSITIVE_INFINITY
  }

  private set(status: ExitStatus, isUp: boolean, reason: string): void {
    if (status.isUp === isUp) return
    status.isUp = isUp
    status.sinceAt = this.clock()
    this.generation += 1
    this.deps.onChange({ id: status.exit.id, isUp, sinceAt: status.sinceAt, reason })
  }

  private hasWorked(status: ExitStatus): void {
    status.failures = 0
    status.nextAt = this.leadAt(this.clock() + Math.max(wellEveryMs, this.turnMs()))
    this.set(status, true, '')
  }

  private goDown(status: ExitStatus, reason: string): void {
    const maxMs = status.exit.kind === 'local' ? Math.max(ownPauseMs, this.turnMs()) : maxPauseMs
    status.nextAt = this.leadAt(this.clock() + Math.min(maxMs, this.retryMs * 2 ** Math.min(status.failures - 1, 10)))
    this.set(status, false, reason)
  }
}

/** Every state is sent again this often, because the shop trusts a result for 30 s. */
const repeatMs = 10_000

/** Exit states for reports: changes at once, everything every 10 s. */
export class ExitReports {
  private readonly reports = new Map<string, { report: ExitReport; sentAt: number }>()

  constructor(private readonly now: () => number) {}

  /** Returns the previous state. */
  note(report: ExitReport): ExitReport | undefined {
    const known = this.reports.get(report.id)
    this.reports.set(report.id, { report, sentAt: Number.NEGATIVE_INFINITY })
    return known?.report
  }

  countStates(): { readonly up: number; readonly down: number } {
    const up = [...this.reports.values()].filter((each) => each.report.isUp).length
    return { up, down: this.reports.size - up }
  }

  keep(exits: Pick<ReadonlyMap<string, unknown>, 'has'>): void {
    for (const id of this.reports.keys()) if (!exits.has(id)) this.reports.delete(id)
  }

  /** States that are due, oldest first. A lost report is repaired by the next one. */
  take(): NonNullable<ReportBody['exit_reports']> {
    const nowMs = this.now()
    const due = [...this.reports.values()].filter((each) => nowMs - each.sentAt >= repeatMs)
    const first = due.toSorted((a, b) => a.sentAt - b.sentAt).slice(0, maxInReport)
    for (const each of first) each.sentAt = nowMs
    return first.map(({ report }) => ({
      id: report.id,
      up: report.isUp,
      since: Math.max(0, Math.round(report.sinceAt)),
      reason: report.reason.slice(0, 200),
    }))
  }
}
