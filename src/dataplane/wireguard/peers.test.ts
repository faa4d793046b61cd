import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type DevicePeer, diffPeers, readDump, toDeviceCall, toSetCalls, type WantedPeer } from './peers.ts'

const keyOf = (index: number): string => Buffer.alloc(32, index + 1).toString('base64')
const privateKey = Buffer.alloc(32, 0x55).toString('base64')

/** A model of `wg set` and `wg show dump`. A block that is given to one peer is taken from another peer (wg(8)). */
class Model {
  readonly peers = new Map<string, { allowed: Set<string>; rx: number; tx: number; handshake: number }>()
  readonly touched = new Set<string>()

  constructor(held: readonly WantedPeer[], counts: readonly number[]) {
    for (const [index, { public_key: key, allowed }] of held.entries()) {
      const rx = counts[index] ?? 0
      this.peers.set(key, { allowed: new Set(allowed), rx, tx: rx * 3, handshake: rx % 2 })
    }
  }

  run([wg, set, device, ...args]: readonly string[]): void {
    expect([wg, set, device]).toEqual(['wg', 'set', 'tp0'])
    while (args.length > 0) {
      expect(args.shift()).toBe('peer')
      const key = args.shift() ?? ''
      this.touched.add(key)
      if (args[0] === 'remove') {
        args.shift()
        this.peers.delete(key)
        continue
      }
      expect(args.shift()).toBe('allowed-ips')
      const allowed = new Set((args.shift() ?? '').split(','))
      for (const other of this.peers.values()) for (const block of allowed) other.allowed.delete(block)
      this.peers.set(key, { ...(this.peers.get(key) ?? { rx: 0, tx: 0, handshake: 0 }), allowed })
    }
  }

  dump(): string {
    const lines = [...this.peers].map(([key, { allowed, rx, tx, handshake }]) =>
      [key, '(none)', '192.0.2.1:5000', [...allowed].join(',') || '(none)', handshake, rx, tx, 'off'].join('\t'),
    )
    return `${[`${privateKey}\t${keyOf(99)}\t51820\toff`, ...lines].join('\n')}\n`
  }
}

/** Peers with keys of their own that share no block. */
const peers = fc.uniqueArray(fc.nat(30), { maxLength: 20 }).chain((keys) =>
  fc
    .shuffledSubarray(
      Array.from({ length: 60 }, (_, index) => index),
      { minLength: keys.length * 2, maxLength: keys.length * 2 },
    )
    .map((blocks) =>
      keys.map((key, index): WantedPeer => {
        const [a = 0, b = 0] = blocks.slice(index * 2)
        return { public_key: keyOf(key), allowed: [`10.66.0.${a}/32`, `fd74::${(b + 1).toString(16)}/128`] }
      }),
    ),
)

const sorted = (all: readonly (DevicePeer | WantedPeer)[]) =>
  all
    .map((each) => ({
      key: 'publicKey' in each ? each.publicKey : each.public_key,
      allowed: [...each.allowed].toSorted(),
    }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))

describe('diffPeers', () => {
  test('diffPeers sets a peer with extra or missing blocks again, and ignores the order of blocks', () => {
    const [a, b] = ['10.66.0.1/32', 'fd74::1/128']
    const wanted = { public_key: keyOf(1), allowed: [a, b] }
    const setFor = (allowed: string[]) => diffPeers([{ publicKey: keyOf(1), allowed }], [wanted]).set
    for (const allowed of [[a, b, '10.66.0.2/32'], [a], [], [a, '10.66.0.2/32']]) {
      expect(setFor(allowed)).toEqual([wanted])
    }
    expect(setFor([b, a])).toEqual([])
  })

  test('the calls of diffPeers turn any device into exactly the wanted peers and leave equal peers untouched', () => {
    fc.assert(
      fc.property(peers, peers, fc.array(fc.nat(), { minLength: 20, maxLength: 20 }), (held, wanted, counts) => {
        const device = new Model(held, counts)
        const before = readDump(device.dump()).peers
        for (const call of toSetCalls('tp0', diffPeers(before, wanted))) device.run(call)
        const after = readDump(device.dump()).peers
        expect(sorted(after)).toEqual(sorted(wanted))
        expect(diffPeers(after, wanted)).toEqual({ remove: [], set: [] })
        for (const peer of before) {
          const same = wanted.some((each) => JSON.stringify(sorted([each])) === JSON.stringify(sorted([peer])))
          if (same) expect(device.touched.has(peer.publicKey)).toBe(false)
          if (same) expect(after).toContainEqual(peer)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('toSetCalls sets 5,000 peers with fewer than 10 calls of less than 128 KiB each', () => {
    const set = Array.from({ length: 5000 }, (_, index) => ({
      public_key: keyOf(index % 200),
      allowed: [`10.66.${index >> 8}.${index & 255}/32`, `fd74:7572:6e70::a42:${index.toString(16)}/128`],
    }))
    const calls = toSetCalls('tp0', { remove: [], set })
    expect(calls.length).toBeLessThan(10)
    for (const call of calls) expect(call.join(' ').length).toBeLessThan(128 * 1024)
    expect(toSetCalls('tp0', { remove: [], set: [] })).toEqual([])
  })
})

test('toSetCalls sets a known endpoint with its peer, and turns off the keepalive that renews the session', () => {
  const set = [1, 2].map((number) => ({ public_key: keyOf(number), allowed: [`10.66.0.${number}/32`] }))
  const calls = toSetCalls('tp0', { remove: [], set }, new Map([[keyOf(1), '192.0.2.7:4500']]))
  expect(calls.map((call) => call.join(' '))).toEqual([
    `wg set tp0 peer ${keyOf(1)} endpoint 192.0.2.7:4500 persistent-keepalive 25 allowed-ips 10.66.0.1/32 ` +
      `peer ${keyOf(2)} allowed-ips 10.66.0.2/32 peer ${keyOf(1)} persistent-keepalive off`,
  ])
})

test('toDeviceCall reads the private key from /dev/stdin, not from an argument', () => {
  expect(toDeviceCall('tp0', 51_820)).toEqual(['wg', 'set', 'tp0', 'listen-port', '51820', 'private-key', '/dev/stdin'])
})
