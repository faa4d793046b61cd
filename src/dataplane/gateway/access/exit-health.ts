import type { Clock } from '../../../core/time.ts'
import { mostInReport, type ReportBody } from '../../../node-protocol/report.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'

export type ExitWord = {
  readonly id: string
  readonly isUp: boolean
  readonly sinceAt: number
  readonly reason: string
}

type Standing = {
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
const mostTriesPerSecond = 50
/** Interval between checks of an exit that failed a client but passed its check. */
const suspectEveryMs = 2000
/** Consecutive failures after which an exit is down whatever a check says. */
const mostFailures = 3
/** First pause before a down exit is checked again; doubles with each failure. */
export const exitRetryMs = 1000
const mostPauseMs = 60_000
/** Own addresses cost nothing to check, and all gateways miss them. */
const ownPauseMs = 5_000
const mostAtOnce = 64

export type ExitHealth = ReturnType<typeof createExitHealth>

/**
 * Health of exits, from customers' connections and active checks: at once after a failure, regularly while up, with
 * backoff while down. An untested exit counts as up.
 */
export function createExitHealth(deps: { clock: Clock; onWord: (word: ExitWord) => void; retryMs?: number }) {
  const { clock, retryMs = exitRetryMs } = deps
  const standings = new Map<string, Standing>()
  let generation = 0
  let tries = 0

  const turnMs = (): number => (standings.size * 1000) / mostTriesPerSecond
  const restMs = (): number => Math.max(wellEveryMs, turnMs())
  const pauseMs = ({ exit, failures }: Standing): number => {
    const most = exit.kind === 'local' ? Math.max(ownPauseMs, turnMs()) : mostPauseMs
    return Math.min(most, retryMs * 2 ** Math.min(failures - 1, 10))
  }

  function set(standing: Standing, isUp: boolean, reason: string): void {
    if (standing.isUp === isUp) return
    standing.isUp = isUp
    standing.sinceAt = clock()
    generation += 1
    deps.onWord({ id: standing.exit.id, isUp, sinceAt: standing.sinceAt, reason })
  }

  function hasWorked(standing: Standing): void {
    standing.failures = 0
    standing.nextAt = clock() + restMs()
    set(standing, true, '')
  }

  function goDown(standing: Standing, reason: string): void {
    standing.nextAt = clock() + pauseMs(standing)
    set(standing, false, reason)
  }

  return {
    /** Replaces the list of exits; changed ones are checked again. */
    keep(exits: Iterable<NodeExit>): void {
      const named = new Set<string>()
      for (const exit of exits) {
        named.add(exit.id)
        const known = standings.get(exit.id)
        if (known?.exit === exit) continue
        const fresh = { exit, isUp: known?.isUp, sinceAt: known?.sinceAt ?? clock(), failures: 0 }
        standings.set(exit.id, { ...fresh, nextAt: clock(), isTrying: false })
      }
      for (const id of standings.keys()) if (!named.has(id)) standings.delete(id)
      generation += 1
    },

    isUp: (id: string): boolean => standings.get(id)?.isUp !== false,

    /** Changes whenever an exit goes up or down. */
    get generation(): number {
      return generation
    },

    worked(id: string): void {
      const standing = standings.get(id)
      if (standing) hasWorked(standing)
    },

    /** A failure that was not the destination's. */
    failed(id: string, reason: string): void {
      const standing = standings.get(id)
      if (!standing || standing.isUp === false) return
      standing.failures += 1
      if (standing.failures >= mostFailures) goDown(standing, reason)
      else standing.nextAt = clock()
    },

    /** A failure of unknown cause: check the exit. */
    doubted(id: string): void {
      const standing = standings.get(id)
      if (standing?.isUp) standing.nextAt = clock()
    },

    /** Exits to check now; report each with tried(). */
    takeDue(): NodeExit[] {
      const nowMs = clock()
      const due: NodeExit[] = []
      for (const standing of standings.values()) {
        if (tries >= mostAtOnce) break
        if (standing.isTrying || standing.nextAt > nowMs) continue
        standing.isTrying = true
        tries += 1
        due.push(standing.exit)
      }
      return due
    },

    tried(exit: NodeExit, problem: string | undefined): void {
      tries -= 1
      const standing = standings.get(exit.id)
      // It changed during the check and will be checked again.
      if (!standing || standing.exit !== exit) return
      standing.isTrying = false
      if (problem !== undefined) {
        standing.failures += 1
        goDown(standing, problem)
      } else if (standing.isUp === false || standing.failures === 0) hasWorked(standing)
      else {
        standing.nextAt = clock() + suspectEveryMs
        set(standing, true, '')
      }
    },
  }
}

type Told = NonNullable<ReportBody['exit_words']>

export type ExitWords = ReturnType<typeof createExitWords>

/** The shop trusts a result for 30 s. */
const againMs = 10_000

/** Exit states for reports: changes at once, everything every 10 s. */
export function createExitWords(now: () => number) {
  const words = new Map<string, { word: ExitWord; saidAt: number }>()
  return {
    /** Returns the previous state. */
    note(word: ExitWord): ExitWord | undefined {
      const known = words.get(word.id)
      words.set(word.id, { word, saidAt: Number.NEGATIVE_INFINITY })
      return known?.word
    },

    standing(): { readonly up: number; readonly down: number } {
      const up = [...words.values()].filter((each) => each.word.isUp).length
      return { up, down: words.size - up }
    },

    keep(ids: ReadonlySet<string>): void {
      for (const id of words.keys()) if (!ids.has(id)) words.delete(id)
    },

    /** States that are due, oldest first. A lost report is repaired by the next one. */
    take(): Told {
      const nowMs = now()
      const due = [...words.values()].filter((each) => nowMs - each.saidAt >= againMs)
      const first = due.toSorted((a, b) => a.saidAt - b.saidAt).slice(0, mostInReport)
      for (const each of first) each.saidAt = nowMs
      return first.map(({ word }) => ({
        id: word.id,
        up: word.isUp,
        since: Math.max(0, Math.round(word.sinceAt)),
        reason: word.reason.slice(0, 200),
      }))
    },
  }
}
