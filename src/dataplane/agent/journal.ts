import { closeSync, fdatasync, fsync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eachKept, type KeptCount, type KeptCounts, keyOf, saltOf, toRecord } from './journal-record.ts'
import { openOwn } from './own-file.ts'
import { createLimitedLog, type Log, type Timing } from './surroundings.ts'

const flushFile = promisify(fdatasync)
const flushFolder = promisify(fsync)

/** A journal is rewritten once it is this long, and many times as long as what still matters in it. */
const shipped = { mostBytes: 4 * 1024 * 1024, mostTimesLive: 4 }

export const journalName = (boot: string): string => `journal-${boot}.log`

/**
 * An open file and how long it is. `isTorn`: the last write ended in the middle, so the next one begins on a line of
 * its own.
 */
type Sheet = { readonly fd: number; bytes: number; isTorn: boolean; isBroken: boolean }

export type Journal = ReturnType<typeof openJournal>

/**
 * The counts of one boot on disk, so that they outlive the process: one write for each note(), which is enough for
 * `kill -9`, and a flush with each sync(), for the day the power fails. A disk that is full or gone is said in the log;
 * the node goes on, and what could not be written is written when that works again. The file is made with the first
 * count.
 */
export function openJournal(deps: {
  readonly folder: string
  readonly node: string
  readonly boot: string
  readonly timing: Timing
  readonly log: Log
  readonly limits?: typeof shipped
}) {
  const limits = deps.limits ?? shipped
  const path = join(deps.folder, journalName(deps.boot))
  const salt = saltOf(deps.node, deps.boot)
  const limitedLog = createLimitedLog(deps.log, deps.timing.now)
  /** What the shop has not confirmed, the latest of each subject, as it stands in the file. */
  const live = new Map<string, { readonly count: KeptCount['count']; readonly record: string }>()
  const unwritten = new Set<string>()
  let liveBytes = 0
  let sheet: Sheet | undefined
  /** The shorter file that is to take the sheet's place; until it does, everything is written to both. */
  let next: Sheet | undefined
  let syncing: Promise<void> | undefined

  function forget(key: string): void {
    liveBytes -= live.get(key)?.record.length ?? 0
    live.delete(key)
  }

  function openSheet(at: string, flags: 'a' | 'w'): Sheet {
    mkdirSync(deps.folder, { recursive: true, mode: 0o700 })
    // A file that is there already may end in the middle of a record.
    return { fd: openOwn(at, flags), bytes: 0, isTorn: flags === 'a', isBroken: false }
  }

  /** All of it, or the reason why not. A part may be in the file even then. */
  function append(to: Sheet, text: string): void {
    const bytes = Buffer.from(to.isTorn ? `\n${text}` : text)
    to.isTorn = true
    let done = 0
    // A write that takes nothing and says nothing would go round for ever.
    while (done < bytes.length) {
      const taken = writeSync(to.fd, bytes, done)
      if (taken === 0) throw new Error('the disk takes no more')
      done += taken
      to.bytes += taken
    }
    to.isTorn = false
  }

  function write(): void {
    if (unwritten.size === 0) return
    let text = ''
    for (const key of unwritten) text += live.get(key)?.record ?? ''
    if (next && !next.isBroken) {
      try {
        append(next, text)
      } catch {
        // Only the rewriting is given up; the sheet below decides whether the counts are safe.
        next.isBroken = true
      }
    }
    try {
      sheet ??= openSheet(path, 'a')
      append(sheet, text)
      unwritten.clear()
    } catch (error) {
      limitedLog('error', 'journal not written', { fault: error })
    }
  }

  /** Writes what still matters to a new file and puts it in the place of the old one, whole or not at all. */
  async function rewrite(old: Sheet): Promise<void> {
    const newPath = `${path}.new`
    const fresh = openSheet(newPath, 'w')
    try {
      let text = ''
      for (const each of live.values()) text += each.record
      append(fresh, text)
      next = fresh
      await flushFile(fresh.fd)
      if (fresh.isBroken) throw new Error('the shorter journal could not be written')
      renameSync(newPath, path)
    } catch (error) {
      closeSync(fresh.fd)
      rmSync(newPath, { force: true })
      throw error
    } finally {
      next = undefined
    }
    sheet = fresh
    closeSync(old.fd)
    await flushNames()
  }

  async function flushNames(): Promise<void> {
    const folder = openSync(deps.folder, 'r')
    try {
      await flushFolder(folder)
    } finally {
      closeSync(folder)
    }
  }

  async function syncOnce(): Promise<void> {
    write()
    const open = sheet
    if (!open) return
    try {
      await flushFile(open.fd)
      const isLong = open.bytes > limits.mostBytes && open.bytes > liveBytes * limits.mostTimesLive
      if (isLong) await rewrite(open)
    } catch (error) {
      limitedLog('error', 'journal not flushed', { fault: error })
    }
  }

  function sync(): Promise<void> {
    syncing ??= syncOnce().finally(() => {
      syncing = undefined
    })
    return syncing
  }

  return {
    /** Takes counts in and writes them down. Returns when they would outlive the process, or the log says why not. */
    note(counts: KeptCounts): void {
      for (const kept of eachKept(counts)) {
        const key = keyOf(kept)
        const record = toRecord(kept, salt)
        forget(key)
        live.set(key, { count: kept.count, record })
        liveBytes += record.length
        unwritten.add(key)
      }
      write()
    },

    /**
     * The shop has these counts, the very ones that were noted: unless they have moved since, they need not be kept any
     * more.
     */
    taken(counts: KeptCounts): void {
      for (const kept of eachKept(counts)) {
        const key = keyOf(kept)
        if (live.get(key)?.count === kept.count) forget(key)
      }
    },

    /**
     * Flushes to the disk, and rewrites a file that has grown long. One at a time; while one runs, another is the same.
     */
    sync,

    /** The file is gone afterwards if the shop has everything that was in it. */
    async close(): Promise<void> {
      await sync()
      if (!sheet) return
      closeSync(sheet.fd)
      sheet = undefined
      if (live.size === 0) rmSync(path, { force: true })
    },
  }
}
