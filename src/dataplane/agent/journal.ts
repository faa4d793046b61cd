import { closeSync, fdatasync, fsync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { gatewayProtocols } from '../../core/vpn-protocols.ts'
import type { NodeCounts, Reported } from './data-path.ts'
import { openOwn } from './own-file.ts'
import { createLimitedLog, type NodeLog, parseJson, type Timing } from './runtime.ts'

/** Billed counts, which must survive the process. Counts per host are not billed and not kept. */
export type KeptCounts = Pick<NodeCounts, 'proxies' | 'subusers' | 'peers'>

type KeptCount =
  | { readonly of: 'proxy'; readonly count: Reported<'proxies'> }
  | { readonly of: 'subuser'; readonly count: Reported<'subusers'> }
  | { readonly of: 'peer'; readonly count: Reported<'peers'> }

/** The key of a subject. A sub-user's id and pool, and a device's protocol, contain no line break. */
export function keyOf(kept: KeptCount): string {
  if (kept.of === 'subuser') return `s${kept.count.id}\n${kept.count.pool}`
  return kept.of === 'proxy' ? `p${kept.count.id}` : `v${kept.count.id}\n${kept.count.protocol ?? ''}`
}

export function* eachKept(counts: KeptCounts): Generator<KeptCount> {
  for (const count of counts.proxies) yield { of: 'proxy', count }
  for (const count of counts.subusers) yield { of: 'subuser', count }
  for (const count of counts.peers) yield { of: 'peer', count }
}

/** Checksum seed: records of another node or boot do not verify. */
export const saltOf = (node: string, boot: string): number => crc32(`${node} ${boot}`)

/** One line: eight hex digits of CRC-32, then a JSON array. */
export function toRecord(kept: KeptCount, salt: number): string {
  const payload = JSON.stringify(toFields(kept))
  return `${toDigits(crc32(payload, salt))} ${payload}\n`
}

function toFields({ of, count }: KeptCount): readonly unknown[] {
  if (of === 'proxy') return ['p', count.id, count.received, count.sent]
  if (of === 'subuser') return ['s', count.id, count.pool, count.received, count.sent]
  const { id, received, sent, handshake_at: at, protocol } = count
  return ['v', id, received, sent, at, ...(protocol === undefined ? [] : [protocol])]
}

const toDigits = (checksum: number): string => checksum.toString(16).padStart(8, '0')

/** Reads all records that verify; the largest counts of a subject win, because counts never fall. */
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
  const all = [...latest.values()]
  const counts = {
    proxies: all.flatMap((kept) => (kept.of === 'proxy' ? kept.count : [])),
    subusers: all.flatMap((kept) => (kept.of === 'subuser' ? kept.count : [])),
    peers: all.flatMap((kept) => (kept.of === 'peer' ? kept.count : [])),
  }
  return { counts, damaged }
}

function readRecord(line: string, salt: number): KeptCount | undefined {
  const payload = line.slice(9)
  if (line.slice(0, 9) !== `${toDigits(crc32(payload, salt))} `) return undefined
  // A damaged line may still match its checksum.
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
  const [first, second, third, fourth] = rest
  if (of === 's' && typeof first === 'string' && isCount(second) && isCount(third)) {
    return { of: 'subuser', count: { id, pool: first, received: second, sent: third } }
  }
  const isPeer = of === 'v' && isCount(first) && isCount(second) && (third === null || isCount(third))
  if (!isPeer) return undefined
  const protocol = gatewayProtocols.find((each) => each === fourth)
  const count = { id, received: first, sent: second, handshake_at: third }
  return { of: 'peer', count: protocol ? { ...count, protocol } : count }
}

function larger(a: KeptCount | undefined, b: KeptCount): KeptCount {
  if (!a) return b
  const received = Math.max(a.count.received, b.count.received)
  const sent = Math.max(a.count.sent, b.count.sent)
  if (b.of === 'proxy') return { of: 'proxy', count: { ...b.count, received, sent } }
  if (b.of === 'subuser') return { of: 'subuser', count: { ...b.count, received, sent } }
  const seen = a.of === 'peer' ? a.count.handshake_at : null
  const handshake_at = seen === null ? b.count.handshake_at : Math.max(seen, b.count.handshake_at ?? 0)
  return { of: 'peer', count: { ...b.count, received, sent, handshake_at } }
}

const flushFile = promisify(fdatasync)
const flushFolder = promisify(fsync)

/** The journal compacts a file beyond this size if live records are at most a quarter of it. */
const shipped = { maxBytes: 4 * 1024 * 1024, maxTimesLive: 4 }

export const journalName = (boot: string): string => `journal-${boot}.log`

/** `isTorn`: the last write was incomplete, so the next one starts on a new line. */
type JournalFile = { readonly fd: number; bytes: number; isTorn: boolean; isBroken: boolean }

/**
 * Append-only journal of one boot's counts: note() writes, which survives `kill -9`; sync() flushes, for power
 * failures. The next write repeats a failed one. The first count creates the file.
 */
export class Journal {
  private readonly limits
  private readonly path
  private readonly salt
  private readonly limitedLog
  /** Latest record of each subject that the shop has not confirmed. */
  private readonly live = new Map<string, { readonly count: KeptCount['count']; readonly record: string }>()
  private readonly unwritten = new Set<string>()
  private liveBytes = 0
  private file: JournalFile | undefined
  /** The compacted file while it is written; each record goes to both files. */
  private compacted: JournalFile | undefined
  private syncing: Promise<void> | undefined

  constructor(
    private readonly deps: {
      readonly folder: string
      readonly node: string
      readonly boot: string
      readonly timing: Timing
      readonly log: NodeLog
      readonly limits?: typeof shipped
    },
  ) {
    this.limits = deps.limits ?? shipped
    this.path = join(deps.folder, journalName(deps.boot))
    this.salt = saltOf(deps.node, deps.boot)
    this.limitedLog = createLimitedLog(deps.log, deps.timing.now)
  }

  /** Flushes, and compacts a long file. Concurrent calls share one run. */
  sync(): Promise<void> {
    this.syncing ??= this.syncOnce().finally(() => {
      this.syncing = undefined
    })
    return this.syncing
  }

  /** Records counts; failures are logged. */
  note(counts: KeptCounts): void {
    for (const kept of eachKept(counts)) {
      const key = keyOf(kept)
      const record = toRecord(kept, this.salt)
      this.forget(key)
      this.live.set(key, { count: kept.count, record })
      this.liveBytes += record.length
      this.unwritten.add(key)
    }
    this.write()
  }

  /** Drops counts that the shop confirmed, unless they have changed since. */
  taken(counts: KeptCounts): void {
    for (const kept of eachKept(counts)) {
      const key = keyOf(kept)
      if (this.live.get(key)?.count === kept.count) this.forget(key)
    }
  }

  /** Deletes the file if the shop has confirmed everything. */
  async close(): Promise<void> {
    await this.sync()
    if (!this.file) return
    closeSync(this.file.fd)
    this.file = undefined
    if (this.live.size === 0) rmSync(this.path, { force: true })
  }

  private forget(key: string): void {
    this.liveBytes -= this.live.get(key)?.record.length ?? 0
    this.live.delete(key)
  }

  private openFile(at: string, flags: 'a' | 'w'): JournalFile {
    mkdirSync(this.deps.folder, { recursive: true, mode: 0o700 })
    // An existing file may end in an incomplete record.
    return { fd: openOwn(at, flags), bytes: 0, isTorn: flags === 'a', isBroken: false }
  }

  private write(): void {
    if (this.unwritten.size === 0) return
    let text = ''
    for (const key of this.unwritten) text += this.live.get(key)?.record ?? ''
    if (this.compacted && !this.compacted.isBroken) {
      try {
        append(this.compacted, text)
      } catch {
        // Only the compaction fails; the main file decides whether counts are safe.
        this.compacted.isBroken = true
      }
    }
    try {
      this.file ??= this.openFile(this.path, 'a')
      append(this.file, text)
      this.unwritten.clear()
    } catch (error) {
      this.limitedLog('error', 'journal not written', { fault: error })
    }
  }

  /** Compacts the journal into a new file and renames it over the old one. */
  private async rewrite(old: JournalFile): Promise<void> {
    const newPath = `${this.path}.new`
    const fresh = this.openFile(newPath, 'w')
    try {
      let text = ''
      for (const each of this.live.values()) text += each.record
      append(fresh, text)
      this.compacted = fresh
      await flushFile(fresh.fd)
      if (fresh.isBroken) throw new Error('the shorter journal could not be written')
      renameSync(newPath, this.path)
    } catch (error) {
      closeSync(fresh.fd)
      rmSync(newPath, { force: true })
      throw error
    } finally {
      this.compacted = undefined
    }
    this.file = fresh
    closeSync(old.fd)
    const folder = openSync(this.deps.folder, 'r')
    try {
      await flushFolder(folder)
    } finally {
      closeSync(folder)
    }
  }

  private async syncOnce(): Promise<void> {
    this.write()
    const open = this.file
    if (!open) return
    try {
      await flushFile(open.fd)
      const isLong = open.bytes > this.limits.maxBytes && open.bytes > this.liveBytes * this.limits.maxTimesLive
      if (isLong) await this.rewrite(open)
    } catch (error) {
      this.limitedLog('error', 'journal not flushed', { fault: error })
    }
  }
}

function append(to: JournalFile, text: string): void {
  const bytes = Buffer.from(to.isTorn ? `\n${text}` : text)
  to.isTorn = true
  let done = 0
  // A write that takes no bytes would loop forever.
  while (done < bytes.length) {
    const taken = writeSync(to.fd, bytes, done)
    if (taken === 0) throw new Error('the disk accepts no more bytes')
    done += taken
    to.bytes += taken
  }
  to.isTorn = false
}
