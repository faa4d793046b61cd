import { closeSync, fdatasync, fsync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import type { PeerCount, ProxyCount, SubuserCount } from './carrier.ts'
import { openOwn } from './own-file.ts'
import { createLimitedLog, type Log, parseJson, type Timing } from './runtime.ts'

/**
 * What is billed by, and must outlive the process. Where the bytes went is for the eye only and is not written down.
 */
export type KeptCounts = {
  readonly proxies: readonly ProxyCount[]
  readonly subusers: readonly SubuserCount[]
  readonly peers: readonly PeerCount[]
}

type KeptCount =
  | { readonly of: 'proxy'; readonly count: ProxyCount }
  | { readonly of: 'subuser'; readonly count: SubuserCount }
  | { readonly of: 'peer'; readonly count: PeerCount }

/** Each subject's name within a journal. A sub-user's id and pool hold no line break. */
export function keyOf(kept: KeptCount): string {
  if (kept.of === 'subuser') return `s${kept.count.id}\n${kept.count.pool}`
  return kept.of === 'proxy' ? `p${kept.count.id}` : `v${kept.count.id}`
}

export function* eachKept(counts: KeptCounts): Generator<KeptCount> {
  for (const count of counts.proxies) yield { of: 'proxy', count }
  for (const count of counts.subusers) yield { of: 'subuser', count }
  for (const count of counts.peers) yield { of: 'peer', count }
}

/**
 * Every checksum begins with whose journal it is, so that a record of another boot that turns up in this file (an old
 * disk block, a file that was renamed) does not check out, however whole it is.
 */
export const saltOf = (node: string, boot: string): number => crc32(`${node} ${boot}`)

/** One line: the checksum in eight hexadecimal digits, then an array that stands for itself. */
export function toRecord(kept: KeptCount, salt: number): string {
  const payload = JSON.stringify(toFields(kept))
  return `${toDigits(crc32(payload, salt))} ${payload}\n`
}

function toFields({ of, count }: KeptCount): readonly unknown[] {
  if (of === 'proxy') return ['p', count.id, count.received, count.sent]
  if (of === 'subuser') return ['s', count.id, count.pool, count.received, count.sent]
  return ['v', count.id, count.received, count.sent, count.handshake_at]
}

const toDigits = (checksum: number): string => checksum.toString(16).padStart(8, '0')

/**
 * Reads whatever checks out of a journal, however it was cut or damaged. Of several records of a subject the largest
 * counts are taken: counts never fall, so that is the latest that can still be proved, and never more than was carried.
 */
export function readRecords(text: string, salt: number): { counts: KeptCounts; damaged: number } {
  const latest = new Map<string, KeptCount>()
  let damaged = 0
  for (const line of text.split('\n')) {
    if (line === '') continue
    const kept = readRecord(line, salt)
    if (!kept) damaged += 1
    else {
      const key = keyOf(kept)
      latest.set(key, larger(latest.get(key), kept))
    }
  }
  return { counts: toCounts(latest.values()), damaged }
}

function toCounts(all: Iterable<KeptCount>): KeptCounts {
  const counts = { proxies: [] as ProxyCount[], subusers: [] as SubuserCount[], peers: [] as PeerCount[] }
  for (const kept of all) {
    if (kept.of === 'proxy') counts.proxies.push(kept.count)
    else if (kept.of === 'subuser') counts.subusers.push(kept.count)
    else counts.peers.push(kept.count)
  }
  return counts
}

function readRecord(line: string, salt: number): KeptCount | undefined {
  const payload = line.slice(9)
  if (line.slice(0, 9) !== `${toDigits(crc32(payload, salt))} `) return undefined
  // One damaged line in four thousand million has a fitting checksum: it may still be no array.
  const fields = parseJson(payload)
  return Array.isArray(fields) ? fromFields(fields) : undefined
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

function fromFields(fields: readonly unknown[]): KeptCount | undefined {
  const [of, id, ...rest] = fields
  if (of === 'p' && isCount(id) && isCount(rest[0]) && isCount(rest[1])) {
    return { of: 'proxy', count: { id, received: rest[0], sent: rest[1] } }
  }
  if (typeof id !== 'string') return undefined
  const [first, second, third] = rest
  if (of === 's' && typeof first === 'string' && isCount(second) && isCount(third)) {
    return { of: 'subuser', count: { id, pool: first, received: second, sent: third } }
  }
  const isPeer = of === 'v' && isCount(first) && isCount(second) && (third === null || isCount(third))
  return isPeer ? { of: 'peer', count: { id, received: first, sent: second, handshake_at: third } } : undefined
}

function larger(a: KeptCount | undefined, b: KeptCount): KeptCount {
  if (!a) return b
  const received = Math.max(a.count.received, b.count.received)
  const sent = Math.max(a.count.sent, b.count.sent)
  if (b.of === 'proxy') return { of: 'proxy', count: { ...b.count, received, sent } }
  if (b.of === 'subuser') return { of: 'subuser', count: { ...b.count, received, sent } }
  const seen = a.of === 'peer' ? a.count.handshake_at : null
  const handshake_at =
    seen === null || b.count.handshake_at === null
      ? (b.count.handshake_at ?? seen)
      : Math.max(seen, b.count.handshake_at)
  return { of: 'peer', count: { id: b.count.id, received, sent, handshake_at } }
}

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
