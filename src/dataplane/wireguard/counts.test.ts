import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { PeerCounts } from './counts.ts'
import type { DevicePeer } from './peers.ts'

const state = (publicKey: string, sent: number, received: number, handshakeAt: number | null = null): DevicePeer => ({
  publicKey,
  allowed: [],
  sent,
  received,
  handshakeAt,
  endpoint: null,
})
const owner = (key: string) => `id of ${key}`

describe('PeerCounts', () => {
  test('PeerCounts counts each byte once and never decreases when peers are removed or the device is recreated', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('transfer' as const),
        key: fc.constantFrom('a', 'b'),
        sent: fc.nat(9),
        received: fc.nat(9),
      }),
      fc.record({ kind: fc.constant('remove' as const), key: fc.constantFrom('a', 'b') }),
      fc.constant({ kind: 'recreate' as const }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const counts = new PeerCounts()
        const device = new Map<string, { sent: number; received: number }>()
        const totals = new Map<string, number>()
        const last = new Map<string, number>()
        const read = () =>
          counts.absorb(
            [...device].map(([key, of]) => state(key, of.sent, of.received)),
            owner,
          )
        for (const each of steps) {
          if (each.kind === 'transfer') {
            const held = device.get(each.key) ?? { sent: 0, received: 0 }
            device.set(each.key, { sent: held.sent + each.sent, received: held.received + each.received })
            totals.set(each.key, (totals.get(each.key) ?? 0) + each.sent + each.received)
          } else {
            // Read before removing, as the node does.
            read()
            if (each.kind === 'remove') device.delete(each.key)
            else {
              device.clear()
              counts.absorb([], owner)
            }
          }
          read()
          for (const { id, sent, received } of counts.takeChanged()) {
            expect(sent + received).toBeGreaterThanOrEqual(last.get(id) ?? 0)
            last.set(id, sent + received)
          }
        }
        for (const [key, total] of totals) expect(counts.totalOf(owner(key))).toBe(total)
        expect(counts.totalBytes).toBe([...totals.values()].reduce((sum, each) => sum + each, 0))
      }),
    )
  })

  test('PeerCounts adds a device counter that has decreased as a new one', () => {
    const counts = new PeerCounts()
    counts.absorb([state('a', 100, 1000)], owner)
    counts.absorb([state('a', 40, 10)], owner)
    expect(counts.takeChanged()).toEqual([{ id: 'id of a', sent: 140, received: 1010, handshake_at: null }])
  })

  test('bytes before a key moves count for its first owner, later bytes for its second', () => {
    const counts = new PeerCounts()
    counts.absorb([state('a', 100, 0)], () => 'first')
    counts.absorb([state('a', 130, 0)], () => 'second')
    expect(counts.takeChanged().map(({ id, sent }) => [id, sent])).toEqual([
      ['first', 100],
      ['second', 30],
    ])
  })

  test('PeerCounts.takeChanged() returns changes, also of a handshake; a peer is up for 180 s after it', () => {
    const counts = new PeerCounts()
    counts.absorb([state('a', 0, 0)], owner)
    expect(counts.takeChanged()).toEqual([])
    counts.absorb([state('a', 0, 0, 5000)], owner)
    expect(counts.takeChanged()).toEqual([{ id: 'id of a', sent: 0, received: 0, handshake_at: 5000 }])
    counts.absorb([state('a', 1, 0)], owner)
    expect(counts.takeChanged()).toEqual([{ id: 'id of a', sent: 1, received: 0, handshake_at: 5000 }])
    expect(counts.upAt(184_999)).toBe(1)
    expect(counts.upAt(185_000)).toBe(0)
  })
})
