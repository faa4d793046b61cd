import { mostInReport, type ReportBody } from '../../node-protocol/report.ts'

type ExitWord = { readonly id: string; readonly isUp: boolean; readonly sinceAt: number; readonly reason: string }
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
