import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../core/time.ts'
import { type Backups, backupJobs, findTime } from '../../jobs/backups.ts'
import type { JobLog } from '../../jobs/jobs.ts'
import { toProcess } from '../program.ts'
import type { Config } from '../settings/config.ts'
import { filesOf } from './backup.ts'
import { isDenied } from './readable.ts'

/** Scheduled backups, if a folder is configured. */
export function scheduleBackups(config: Config, clock: Clock, log: JobLog) {
  const folder = config.backupFolder
  if (folder === undefined) return { jobs: [], list: () => [], stop: () => {} }
  const end = new AbortController()
  const backups = backupsIn(folder, config, end.signal)
  const everyMs = config.backupHours * 3_600_000
  const jobs = backupJobs({ backups, clock, everyMs, keep: config.backupKeep }, log)
  return { jobs, list: () => backups.list(), stop: () => end.abort() }
}

const listBackups = (folder: string): string[] =>
  readdirSync(folder).filter((name) => existsSync(filesOf(join(folder, name)).manifest))

/** The start times of the backups in a folder; `denied` is a path that this user may not read: one of them, or it. */
export function lookForBackups(folder: string): { readonly times: readonly number[]; readonly denied?: string } {
  if (isDenied(folder)) return { times: [], denied: folder }
  if (!existsSync(folder)) return { times: [] }
  const scheduled = readdirSync(folder).filter((name) => findTime(name) !== undefined)
  const denied = scheduled.map((name) => filesOf(join(folder, name)).manifest).find(isDenied)
  const times = listBackups(folder).flatMap((name) => findTime(name) ?? [])
  return { times, ...(denied !== undefined && { denied }) }
}

function backupsIn(folder: string, config: Config, end: AbortSignal): Backups {
  return {
    list() {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      return listBackups(folder)
    },
    async write(name) {
      removeDrafts(folder)
      await writeApart(config, join(folder, name), end)
    },
    remove: (name) => rmSync(join(folder, name), { recursive: true, force: true }),
  }
}

/** Deletes drafts of killed backups. Only the leader writes here. */
function removeDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const isDraft = /^turnpike-\d{8}T\d{6}Z\.partial-/.test(name)
    if (isDraft) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

/** In a process of its own: copying a large file would hold up every sale of this one. */
async function writeApart(config: Config, folder: string, end: AbortSignal): Promise<void> {
  const child = Bun.spawn(toProcess(['backup', folder]), {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    env: {
      PATH: process.env['PATH'] ?? '',
      TURNPIKE_DATA: config.folder,
      TURNPIKE_DATABASE_URL: config.databaseUrl ?? '',
      TURNPIKE_SECRET_KEY: config.secretKey ?? '',
      TURNPIKE_BACKUP_KEY: config.backupKey ? 'on' : 'off',
    },
    signal: end,
    killSignal: 'SIGKILL',
  })
  const output = await child.stderr.text()
  if ((await child.exited) === 0 || end.aborted) return
  throw new Error(`the backup was not written: ${output.trim().slice(0, 1000)}`)
}
