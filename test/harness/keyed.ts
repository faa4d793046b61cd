import { expect } from 'bun:test'
import * as fc from 'fast-check'
import { formatAuthority } from '../../src/dataplane/gateway/ways-in/authority.ts'
import { type KeyedWayIn, KeyReader } from '../../src/dataplane/gateway/ways-in/key-reader.ts'
import type { ClientEvent } from '../../src/dataplane/gateway/ways-in/request.ts'
import { atMainPort, byteByByte, splitAt, toText } from './protocol.ts'
import { scaled } from './scale.ts'

/** Events of a parser of VLESS or Trojan for these pieces, until it refuses, and the bytes after the request. */
export function summarizeKeyed(protocol: KeyedWayIn, pieces: readonly Uint8Array[]): string[] {
  const reader = new KeyReader(atMainPort, protocol)
  const lines: string[] = []
  for (const piece of pieces) {
    // The reader must not keep the memory of a chunk.
    const chunk = new Uint8Array(piece)
    for (const event of reader.feed(chunk)) lines.push(format(event))
    chunk.fill(0xee)
    if (lines.includes('refuse')) return lines
  }
  const rest = toText(reader.rest())
  return rest === '' ? lines : [...lines, `rest ${rest}`]
}

function format(event: ClientEvent): string {
  if (event.type !== 'request') return event.type
  const { request } = event
  const key = request.claim.kind === 'key' ? request.claim.key : ''
  const target = 'target' in request && request.target ? formatAuthority(request.target) : '*'
  return `${request.asks} ${target} by ${key}`
}

/** The events of the bytes must be the same byte by byte and for random splits. */
export function summarizeSplits(protocol: KeyedWayIn, bytes: Uint8Array, expected: readonly string[]): void {
  expect(summarizeKeyed(protocol, byteByByte(bytes))).toEqual([...expected])
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 6 }), (cuts) => {
      expect(summarizeKeyed(protocol, splitAt(bytes, cuts))).toEqual([...expected])
    }),
    { numRuns: scaled(100) },
  )
}
