import type { Clock } from '../core/time.ts'
import type { Job, JobLog } from './jobs.ts'

/** The shop's backup folder. `write` makes the name visible only once the backup is complete. */
export type Backups = {
  list(): readonly string[]
  write(name: string): Promise<void>
  remove(name: string): void
}

/** Pause after a failed backup. */
const retryMs = 10 * 60_000

const pattern = /^turnpike-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/

/** The name of a backup; later names sort later. */
export const nameAt = (at: number): string =>
  `turnpike-${new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`

/** The start time in a backup's name; undefined for any other file. */
export function findTime(name: string): number | undefined {
  const [, ...parts] = pattern.exec(name) ?? []
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map(Number)
  return parts.length === 0 ? undefined : Date.UTC(year, month - 1, day, hour, minute, second)
}

/** The backups beyond the newest `keep`, oldest first. */
export function surplusOf(names: readonly string[], keep: number): string[] {
  const ours = names.filter((name) => findTime(name) !== undefined).toSorted()
  return ours.slice(0, Math.max(0, ours.length - keep))
}

/** Whether `everyMs` has passed since the newest backup. A backup dated in the future is ignored. */
export function isDue(names: readonly string[], nowMs: number, everyMs: number): boolean {
  const times = names.flatMap((name) => findTime(name) ?? []).filter((at) => at <= nowMs)
  return nowMs - Math.max(Number.NEGATIVE_INFINITY, ...times) >= everyMs
}

/** Writes a backup when the newest in the folder is old enough, then deletes those beyond `keep`. */
export function backupJobs(
  deps: { readonly backups: Backups; readonly clock: Clock; readonly everyMs: number; readonly keep: number },
  log: JobLog,
): readonly Job[] {
  const { backups, clock } = deps
  let notBeforeAt = Number.NEGATIVE_INFINITY

  async function work(): Promise<void> {
    const nowMs = clock()
    if (nowMs < notBeforeAt || !isDue(backups.list(), nowMs, deps.everyMs)) return
    notBeforeAt = nowMs + retryMs
    const name = nameAt(nowMs)
    await backups.write(name)
    notBeforeAt = Number.NEGATIVE_INFINITY
    log.info('backed up', { name, took_ms: clock() - nowMs })
    for (const old of surplusOf(backups.list(), deps.keep)) {
      backups.remove(old)
      log.info('backup deleted', { name: old })
    }
  }
  return [{ name: 'back up', everyMs: 60_000, work }]
}
