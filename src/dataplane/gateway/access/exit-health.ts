import type { Clock } from '../../../core/time.ts'
import { maxInReport, type ReportBody } from '../../../node-protocol/report.ts'
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
  /** Consecutive failures. */
  failures: number
  nextAt: number
  isTrying: boolean
}

/** Interval between checks of a healthy, unused exit; longer with many exits. */
const wellEveryMs = 10_000
const maxTriesPerSecond = 50
/** Interval between checks of an exit that failed a client but passed its check. */
const suspectEveryMs = 2000
/** Consecutive failures after which an exit is down whatever a check says. */
const maxFailures = 3
/** First pause before a down exit is checked again; doubles with each failure. */
export const exitRetryMs = 1000
const maxPauseMs = 60_000
/** Own addresses cost nothing to check, and all gateways miss them. */
const ownPauseMs = 5_000
const maxAtOnce = 64

export type ExitHealth = ReturnType<typeof createExitHealth>

/**
 * Health of exits, from customers' connections and active checks: at once after a failure, regularly while up, with
 * backoff while down. An untested exit counts as up.
 */
export function createExitHealth(deps: { clock: Clock; onChange: (word: ExitReport) => void; retryMs?: number }) {
  const { clock, retryMs = exitRetryMs } = deps
  const statuses = new Map<string, ExitStatus>()
  let generation = 0
  let tries = 0

  const turnMs = (): number => (statuses.size * 1000) / maxTriesPerSecond
  const restMs = (): number => Math.max(wellEveryMs, turnMs())
  const pauseMs = ({ exit, failures }: ExitStatus): number => {
    const max = exit.kind === 'local' ? Math.max(ownPauseMs, turnMs()) : maxPauseMs
    return Math.min(max, retryMs * 2 ** Math.min(failures - 1, 10))
  }

  function set(status: ExitStatus, isUp: boolean, reason: string): void {
    if (status.isUp === isUp) return
    status.isUp = isUp
    status.sinceAt = clock()
    generation += 1
    deps.onChange({ id: status.exit.id, isUp, sinceAt: status.sinceAt, reason })
  }

  function hasWorked(status: ExitStatus): void {
    status.failures = 0
    status.nextAt = clock() + restMs()
    set(status, true, '')
  }

  function goDown(status: ExitStatus, reason: string): void {
    status.nextAt = clock() + pauseMs(status)
    set(status, false, reason)
  }

  return {
    /** Replaces the list of exits; changed ones are checked again. */
    keep(exits: Iterable<NodeExit>): void {
      const named = new Set<string>()
      for (const exit of exits) {
        named.add(exit.id)
        const known = statuses.get(exit.id)
        if (known?.exit === exit) continue
        const fresh = { exit, isUp: known?.isUp, sinceAt: known?.sinceAt ?? clock(), failures: 0 }
        statuses.set(exit.id, { ...fresh, nextAt: clock(), isTrying: false })
      }
      for (const id of statuses.keys()) if (!named.has(id)) statuses.delete(id)
      generation += 1
    },

    isUp: (id: string): boolean => statuses.get(id)?.isUp !== false,

    /** Changes whenever an exit goes up or down. */
    get generation(): number {
      return generation
    },

    worked(id: string): void {
      const status = statuses.get(id)
      if (status) hasWorked(status)
    },

    /** A failure that was not the destination's. */
    failed(id: string, reason: string): void {
      const status = statuses.get(id)
      if (!status || status.isUp === false) return
      status.failures += 1
      if (status.failures >= maxFailures) goDown(status, reason)
      else status.nextAt = clock()
    },

    /** A failure of unknown cause: check the exit. */
    doubted(id: string): void {
      const status = statuses.get(id)
      if (status?.isUp) status.nextAt = clock()
    },

    /** Exits to check now; report each with tried(). */
    takeDue(): NodeExit[] {
      const nowMs = clock()
      const due: NodeExit[] = []
      for (const status of statuses.values()) {
        if (tries >= maxAtOnce) break
        if (status.isTrying || status.nextAt > nowMs) continue
        status.isTrying = true
        tries += 1
        due.push(status.exit)
      }
      return due
    },

    tried(exit: NodeExit, problem: string | undefined): void {
      tries -= 1
      const status = statuses.get(exit.id)
      // It changed during the check and will be checked again.
      if (!status || status.exit !== exit) return
      status.isTrying = false
      if (problem !== undefined) {
        status.failures += 1
        goDown(status, problem)
      } else if (status.isUp === false || status.failures === 0) hasWorked(status)
      else {
        status.nextAt = clock() + suspectEveryMs
        set(status, true, '')
      }
    },
  }
}

type Told = NonNullable<ReportBody['exit_reports']>

export type ExitReports = ReturnType<typeof createExitReports>

/** The shop trusts a result for 30 s. */
const againMs = 10_000

/** Exit states for reports: changes at once, everything every 10 s. */
export function createExitReports(now: () => number) {
  const words = new Map<string, { word: ExitReport; reportedAt: number }>()
  return {
    /** Returns the previous state. */
    note(word: ExitReport): ExitReport | undefined {
      const known = words.get(word.id)
      words.set(word.id, { word, reportedAt: Number.NEGATIVE_INFINITY })
      return known?.word
    },

    countStates(): { readonly up: number; readonly down: number } {
      const up = [...words.values()].filter((each) => each.word.isUp).length
      return { up, down: words.size - up }
    },

    keep(ids: ReadonlySet<string>): void {
      for (const id of words.keys()) if (!ids.has(id)) words.delete(id)
    },

    /** States that are due, oldest first. A lost report is repaired by the next one. */
    take(): Told {
      const nowMs = now()
      const due = [...words.values()].filter((each) => nowMs - each.reportedAt >= againMs)
      const first = due.toSorted((a, b) => a.reportedAt - b.reportedAt).slice(0, maxInReport)
      for (const each of first) each.reportedAt = nowMs
      return first.map(({ word }) => ({
        id: word.id,
        up: word.isUp,
        since: Math.max(0, Math.round(word.sinceAt)),
        reason: word.reason.slice(0, 200),
      }))
    },
  }
}
