import type { Clock } from '../core/time.ts'
import type { Chore, Notes } from './chores.ts'

/** Where the shop keeps backups of itself. */
export type Backups = {
  /** Names of all that is there. */
  list(): readonly string[]
  /** Writes one under this name; it is there when it is whole. */
  write(name: string): Promise<void>
  remove(name: string): void
}

const lookEveryMs = 60_000
/** What went wrong once is not tried again and again. */
const againMs = 10 * 60_000

const pattern = /^turnpike-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/

/** Names sort as they follow one another. */
export const nameAt = (at: number): string =>
  `turnpike-${new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`

/** When a backup of this name was begun; undefined for what is none of ours. */
export function findTime(name: string): number | undefined {
  const [, ...parts] = pattern.exec(name) ?? []
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map(Number)
  return parts.length === 0 ? undefined : Date.UTC(year, month - 1, day, hour, minute, second)
}

/** Those that are more than are to be kept, oldest first. */
export function surplusOf(names: readonly string[], keep: number): string[] {
  const ours = names.filter((name) => findTime(name) !== undefined).toSorted()
  return ours.slice(0, Math.max(0, ours.length - keep))
}

/** One that lies in the future was written before a clock was set back: it puts nothing off. */
export function isDue(names: readonly string[], nowMs: number, everyMs: number): boolean {
  const times = names.flatMap((name) => findTime(name) ?? []).filter((at) => at <= nowMs)
  return nowMs - Math.max(Number.NEGATIVE_INFINITY, ...times) >= everyMs
}

/**
 * Backs the shop up at its pace, by what is there and not by when this process began, and deletes what is too old once
 * a new one is whole.
 */
export function backupChores(
  deps: {
    readonly backups: Backups
    readonly clock: Clock
    readonly everyMs: number
    readonly keep: number
  },
  notes: Notes,
): readonly Chore[] {
  const { backups, clock } = deps
  let notBeforeAt = Number.NEGATIVE_INFINITY

  async function work(): Promise<void> {
    const nowMs = clock()
    if (nowMs < notBeforeAt || !isDue(backups.list(), nowMs, deps.everyMs)) return
    notBeforeAt = nowMs + againMs
    const name = nameAt(nowMs)
    await backups.write(name)
    notBeforeAt = Number.NEGATIVE_INFINITY
    notes.info('backed up', { name, took_ms: clock() - nowMs })
    for (const old of surplusOf(backups.list(), deps.keep)) {
      backups.remove(old)
      notes.info('backup deleted', { name: old })
    }
  }
  return [{ name: 'back up', everyMs: lookEveryMs, work }]
}
