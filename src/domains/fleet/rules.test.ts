import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { NodeId } from '../../core/ids.ts'
import { noStalls, runningSince } from '../../core/stall-monitor.ts'
import { chooseNode, isLink, isLive, isOnline, locationsOf, type Node } from './rules.ts'
import { usualLinks } from './rules-links.ts'

const nowMs = 1_000_000_000
const since = runningSince({ clock: () => nowMs, stalls: noStalls })

const node = (id: string, of: Partial<Node> = {}): Node => ({
  id: id as NodeId,
  kind: 'vpn',
  name: id,
  location: 'here',
  countryCode: null,
  city: null,
  endpoint: null,
  publicKey: 'key',
  state: 'open',
  version: null,
  lastSeenAt: nowMs,
  createdAt: 0,
  joinedAt: null,
  key: null,
  health: null,
  linkMegabits: 10_000,
  drainedAt: null,
  entry: null,
  hopTls: null,
  hops: [],
  vpnLinks: usualLinks,
  awaitsState: false,
  ...of,
})

const fleet = Array.from({ length: 8 }, (_, index) => node(`nod_${index}`))
const subjects = Array.from({ length: 4000 }, (_, index) => `dev_${index}`)

describe('the rules of nodes', () => {
  test('isLive is true for 90 s after the last report of a node, and false for a closed node', () => {
    expect(isLive(node('a', { lastSeenAt: nowMs - 90_000 }), since)).toBe(true)
    expect(isLive(node('a', { lastSeenAt: nowMs - 90_001 }), since)).toBe(false)
    expect(isLive(node('a', { lastSeenAt: null }), since)).toBe(false)
    expect(isLive(node('a', { state: 'closed' }), since)).toBe(false)
  })

  test('isOnline is true for 10 s after the last report of a gateway, 30 s for a VPN node, and not while it stops', () => {
    for (const [kind, lastMs] of [
      ['gateway', 10_000],
      ['vpn', 30_000],
    ] as const) {
      expect(isOnline(node('a', { kind, lastSeenAt: nowMs - lastMs }), since)).toBe(true)
      expect(isOnline(node('a', { kind, lastSeenAt: nowMs - lastMs - 1 }), since)).toBe(false)
      expect(isOnline(node('a', { kind, lastSeenAt: null }), since)).toBe(false)
      expect(isOnline(node('a', { kind, state: 'closed' }), since)).toBe(false)
      expect(isOnline({ ...node('a', { kind }), health: { isStopping: true } }, since)).toBe(false)
    }
  })

  test('isLink accepts 1 to 1,000,000 whole Mbit/s', () => {
    expect([1, 10_000, 1_000_000].map(isLink)).toEqual([true, true, true])
    expect([0, -1, 1.5, 1_000_001, Number.NaN].some(isLink)).toBe(false)
  })

  test('chooseNode gives each of 8 nodes between half and twice its share of 4,000 subjects', () => {
    const counts = new Map<string, number>()
    for (const subject of subjects) {
      const id = chooseNode(fleet, subject, since)?.id ?? ''
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    const share = subjects.length / fleet.length
    for (const { id } of fleet) {
      expect(counts.get(id) ?? 0).toBeGreaterThan(share / 2)
      expect(counts.get(id) ?? 0).toBeLessThan(share * 2)
    }
  })

  test('chooseNode moves only the subjects of a removed node, and ignores the order of the list', () => {
    fc.assert(
      fc.property(fc.nat(fleet.length - 1), fc.constantFrom(...subjects), (removed, subject) => {
        const before = chooseNode(fleet, subject, since)
        const left = fleet.filter((_, index) => index !== removed)
        expect(chooseNode(fleet.toReversed(), subject, since)).toBe(before as Node)
        if (before !== fleet[removed]) expect(chooseNode(left, subject, since)).toBe(before as Node)
      }),
    )
  })

  test('chooseNode prefers a live node to a silent one, and never chooses a closed one', () => {
    const quiet = fleet.map((each) => ({ ...each, lastSeenAt: 0 }))
    const live = node('nod_awake')
    for (const subject of subjects.slice(0, 100)) {
      expect(chooseNode([...quiet, live], subject, since)).toBe(live)
      expect(chooseNode(quiet, subject, since)).toBeDefined()
      expect(chooseNode([node('nod_closed', { state: 'closed' })], subject, since)).toBeUndefined()
    }
  })

  test('locationsOf lists a location while one of its nodes is open', () => {
    const locations = locationsOf([
      node('a', { location: 'oslo', city: 'Oslo', countryCode: 'NO' }),
      node('b', { location: 'bern', state: 'closed' }),
      node('c', { location: 'oslo' }),
    ])
    expect(locations.map((location) => [location.name, location.nodes.length, location.city])).toEqual([
      ['oslo', 2, 'Oslo'],
    ])
  })
})
