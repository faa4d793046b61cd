import { crc32 } from 'node:zlib'
import type { PeerCount, ProxyCount, SubuserCount } from './carrier.ts'
import { parseJson } from './json.ts'

/**
 * What is billed by, and must outlive the process. Where the bytes went is for the eye only and is not written down.
 */
export type KeptCounts = {
  readonly proxies: readonly ProxyCount[]
  readonly subusers: readonly SubuserCount[]
  readonly peers: readonly PeerCount[]
}

export type KeptCount =
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
