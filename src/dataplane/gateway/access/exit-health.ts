import type { Clock } from '../../../core/time.ts'
import { mostInReport, type ReportBody } from '../../../node-protocol/report.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'

/** What a gateway says of an exit: whether it can be left through, since when, and why not. */
export type ExitWord = {
  readonly id: string
  readonly isUp: boolean
  readonly sinceAt: number
  readonly reason: string
}

type Standing = {
  exit: NodeExit
  /** Undefined until it was tried. */
  isUp: boolean | undefined
  sinceAt: number
  /** How often in a row it has failed. */
  failures: number
  nextAt: number
  isTrying: boolean
}

/** An exit that is well is tried this often, unless it was used meanwhile; many exits are tried less often each. */
const wellEveryMs = 10_000
const mostTriesPerSecond = 50
/** One that has failed somebody and answers a try is looked at again after this long. */
const suspectEveryMs = 2000
/** So many in a row, and it is down whatever a try says. */
const mostFailures = 3
/** The pause before an exit that is down is tried again; it doubles with each failure. */
export const exitRetryMs = 1000
/** A supplier is not asked more often than once a minute while it is down. */
const mostPauseMs = 60_000
/** What is down of our own is missed at every gateway, and costs nobody anything to try. */
const ownPauseMs = 5_000
const mostAtOnce = 64

export type ExitHealth = ReturnType<typeof createExitHealth>

/**
 * Which exits can be left through. What customers meet counts, and tries of our own: at once when an exit has failed
 * somebody, now and then while it is well, and after pauses that grow while it is down. An exit that was not tried yet
 * is believed.
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

  /** It is down from now on, and tried again after a pause. */
  function goDown(standing: Standing, reason: string): void {
    standing.nextAt = clock() + pauseMs(standing)
    set(standing, false, reason)
  }

  return {
    /** These are the exits now. One that has changed is tried anew. */
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

    /** Another number whenever an exit has come or gone. */
    get generation(): number {
      return generation
    },

    /** Somebody has left through it. */
    worked(id: string): void {
      const standing = standings.get(id)
      if (standing) hasWorked(standing)
    },

    /** It has failed somebody, and it was not the destination's fault. */
    failed(id: string, reason: string): void {
      const standing = standings.get(id)
      if (!standing || standing.isUp === false) return
      standing.failures += 1
      if (standing.failures >= mostFailures) goDown(standing, reason)
      else standing.nextAt = clock()
    },

    /** It has failed somebody, and nobody can tell whose fault it was: a try will show. */
    doubted(id: string): void {
      const standing = standings.get(id)
      if (standing?.isUp) standing.nextAt = clock()
    },

    /** Those to be tried now; each has to be answered for with tried(). */
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

    /** What came of a try: why it failed, or nothing. */
    tried(exit: NodeExit, problem: string | undefined): void {
      tries -= 1
      const standing = standings.get(exit.id)
      // It may have changed meanwhile, and is tried as it is now.
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

/** The shop believes a word for half a minute, so each is said again well before. */
const againMs = 10_000

/** What this node last found out about exits, to be said in reports: what is new at once, and all of it regularly. */
export function createExitWords(now: () => number) {
  const words = new Map<string, { word: ExitWord; saidAt: number }>()
  return {
    /** Tells what was known before. */
    note(word: ExitWord): ExitWord | undefined {
      const known = words.get(word.id)
      words.set(word.id, { word, saidAt: Number.NEGATIVE_INFINITY })
      return known?.word
    },

    /** How many are known to be up, and how many down. */
    standing(): { readonly up: number; readonly down: number } {
      const up = [...words.values()].filter((each) => each.word.isUp).length
      return { up, down: words.size - up }
    },

    /** Knows only these any more. */
    keep(ids: ReadonlySet<string>): void {
      for (const id of words.keys()) if (!ids.has(id)) words.delete(id)
    },

    /** Those whose turn it is, the longest unsaid first. A report that is lost is made up for by the next turn. */
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
