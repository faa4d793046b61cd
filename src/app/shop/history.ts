import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import { toIso } from '../../core/time.ts'
import { hasCounters, raiseCounters } from '../../db/counter.ts'
import { pinFile } from '../../db/sqlite-file.ts'
import type { Rewind } from '../../db/timeline.ts'
import type { Job } from '../../jobs/jobs.ts'
import { type Config, databaseAddress } from '../settings/config.ts'
import type { Services } from './services.ts'

const fileName = 'newest-mark'
/** Exists while the running shop finds that the database's file was moved or replaced. `doctor` looks for it. */
export const movedNote = 'database-moved'
/** The database is compared this often with what this process knows of it. */
const lookMs = 500
const forgetMs = 60_000
const markMs = 1000
/** A larger difference of clocks is logged, every ten minutes as long as it lasts. */
export const maxMarkAheadMs = 60_000
const warnEveryLooks = 1200
/** Lost goods are listed for this long. */
const lostKeptMs = 90 * 86_400_000

/**
 * Compares the database with the mark that the last shop of this data folder left there, and then twice a second with
 * the newest mark that this process knows.
 */
export async function followHistory(
  config: Pick<Config, 'folder' | 'databaseUrl'>,
  { db, timeline, fleet, operators }: Pick<Services, 'db' | 'timeline' | 'fleet' | 'operators'>,
  log: Log,
): Promise<readonly Job[]> {
  const { folder } = config
  const path = join(folder, fileName)
  // A shop on PostgreSQL with its key in the environment has nothing else in the folder.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  timeline.onChange((rewind) => log.warn(...toEntry(rewind)))
  // An empty database is another one: it has no past that could be missing.
  const isUsed = await hasCounters(db)
  let kept = findMark(path)
  await timeline.look(isUsed ? kept : undefined)
  await raiseCounters(db)
  // Before a node has the mark: a shop that is killed and finds an older database after its start knows that.
  timeline.onMark((token) => {
    kept = token
    keepText(path, token, log)
  })
  const warnOfClock = createClockWarning(timeline.markAheadMs, log)
  let newestEntry: number | undefined
  return [
    ...(config.databaseUrl === undefined ? [followFile(config, log)] : []),
    {
      name: 'follow history',
      everyMs: lookMs,
      isOwn: true,
      async work() {
        const { newest } = await timeline.look(kept)
        warnOfClock()
        if (newest === undefined || timeline.isSame(newest, kept)) return
        keepText(path, newest, log)
        kept = newest
      },
    },
    {
      name: 'mark history',
      everyMs: markMs,
      isOwn: true,
      async work() {
        // Commands of other processes: each is in the audit log.
        const [entry] = await operators.log({ before: undefined, operator: undefined, action: undefined, limit: 1 })
        if (entry?.seq !== newestEntry) timeline.noteChange()
        newestEntry = entry?.seq
        await timeline.markChanges()
      },
    },
    {
      name: 'forget history',
      everyMs: forgetMs,
      async work() {
        await timeline.forget()
        await fleet.forgetLost(Date.now() - lostKeptMs)
      },
    },
  ]
}

/**
 * Compares the database with the mark in the data folder before a command changes it, as a shop does at its start. The
 * result writes a mark after the change: a stopped shop writes none, and would not notice that the change was lost.
 */
export async function followCommand(
  { folder }: Pick<Config, 'folder'>,
  { db, timeline }: Pick<Services, 'db' | 'timeline'>,
  log: Log,
): Promise<() => Promise<void>> {
  const path = join(folder, fileName)
  timeline.onChange((rewind) => log.warn(...toEntry(rewind)))
  await timeline.look((await hasCounters(db)) ? findMark(path) : undefined)
  timeline.onMark((token) => {
    // A command on the PostgreSQL of a shop on another machine has no data folder; that shop keeps the mark.
    if (existsSync(folder)) keepText(path, token, log)
  })
  return async () => {
    // The change is committed, so the command has not failed.
    await timeline.cover().catch((fault: unknown) => log.warn('history not marked', { fault }))
  }
}

/** Warns of a clock that is behind a mark; the looks are counted, because the clock cannot time them. */
function createClockWarning(aheadMs: () => number, log: Log): () => void {
  let silentLooks = 0
  return () => {
    silentLooks = Math.max(0, silentLooks - 1)
    if (aheadMs() <= maxMarkAheadMs || silentLooks > 0) return
    silentLooks = warnEveryLooks
    const explanation =
      'The clock of this machine or of another shop is or was wrong: run an NTP client on all of them.'
    log.warn('clock behind the newest mark', { behind_ms: aheadMs(), explanation })
  }
}

/** Logs once that the file of a running shop was moved or replaced, and leaves a note for `doctor`. */
function followFile(config: Pick<Config, 'folder' | 'databaseUrl'>, log: Log): Job {
  const path = databaseAddress(config)
  const note = join(config.folder, movedNote)
  const isInPlace = pinFile(path)
  let wasInPlace = true
  rmSync(note, { force: true })
  return {
    name: 'follow the file',
    everyMs: lookMs,
    isOwn: true,
    async work() {
      const isThere = isInPlace()
      if (isThere === wasInPlace) return
      wasInPlace = isThere
      if (isThere) log.info('database in place again', { path })
      else log.error('database moved', { path, explanation: movedExplanation })
      if (isThere) rmSync(note, { force: true })
      else keepText(note, path, log)
    },
  }
}

const movedExplanation =
  'The file was moved, deleted or replaced while the shop had it open. The shop refuses every change with 503, so no ' +
  'change is lost. Restart the shop on the file that is to be used.'

const explanation =
  'The database is in an earlier state than this shop and its nodes have seen: a failover to a replica that lagged, ' +
  'a restored dump or a replaced file. Nodes take the whole state, and nothing of a node is sold before it has. ' +
  '"turnpike doctor" lists what was lost.'

const toEntry = (rewind: Rewind | undefined): [event: string, fields: Record<string, string | number>] =>
  rewind
    ? ['database went back', { back_to: toIso(rewind.backTo), lost_until: toIso(rewind.lostUntil), explanation }]
    : ['database changed', { explanation: 'Another shop has found that the database went back in time.' }]

function findMark(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** A full disk must not keep nodes from their state, which has a witness less without the file. */
function keepText(path: string, text: string, log: Log): void {
  // A command may write beside the shop.
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, `${text}\n`, { mode: 0o600 })
    renameSync(draft, path)
  } catch (fault) {
    log.warn('file not kept', { path, fault })
  }
}
