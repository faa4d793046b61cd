import { describe, expect, test } from 'bun:test'
import type { NodePeer } from '../../node-protocol/state.ts'
import { DesiredPeers, readTunnelAddress, type TunnelAddress } from './desired.ts'

const networks = ['10.66.0.1/16', 'fd74:7572:6e70::1/64'].map((text) => readTunnelAddress(text) as TunnelAddress)
const keyOf = (index: number): string => Buffer.alloc(32, index + 1).toString('base64')
const peer = (index: number, change: Partial<NodePeer> = {}): NodePeer => ({
  id: `vpn_${index}`,
  public_key: keyOf(index),
  allowed: [`10.66.0.${index + 2}/32`, `fd74:7572:6e70::${index + 2}/128`],
  state: 'up',
  expires_at: 1000,
  speed_mbit: null,
  left: null,
  ...change,
})

function open() {
  const totals = new Map<string, number>()
  const taken = new Map<string, number>()
  const refused: string[] = []
  const desired = new DesiredPeers({
    networks,
    counts: { totalOf: (id) => totals.get(id) ?? 0, takenOf: (id) => taken.get(id) ?? 0 },
    refuse: (id, problem) => refused.push(`${id} ${problem}`),
  })
  return { desired, totals, taken, refused, passing: (nowMs = 0) => desired.passing(nowMs).map((each) => each.id) }
}

describe('DesiredPeers', () => {
  test('a peer passes until the millisecond of its expiry, and again after a later expiry', () => {
    const { desired, passing } = open()
    desired.replace([peer(1)])
    expect(passing(999)).toEqual(['vpn_1'])
    expect(passing(1000)).toEqual([])
    desired.take([peer(1, { expires_at: 2000 })])
    expect(passing(1000)).toEqual(['vpn_1'])
  })

  test('a peer stops passing when its traffic is used up, and a repeated page grants no traffic', () => {
    const { desired, totals, taken, passing } = open()
    taken.set('vpn_1', 500)
    totals.set('vpn_1', 520)
    desired.take([peer(1, { left: 100 })])
    totals.set('vpn_1', 599)
    taken.set('vpn_1', 599)
    desired.take([peer(1, { left: 100 })])
    expect(passing()).toEqual(['vpn_1'])
    totals.set('vpn_1', 600)
    expect(passing()).toEqual([])
    // Renewed: the shop has counted the bytes that the agent had taken.
    desired.take([peer(1, { left: 300 })])
    expect(passing()).toEqual(['vpn_1'])
    totals.set('vpn_1', 899)
    expect(passing()).toEqual([])
  })

  test('a peer with 0 bytes left does not pass', () => {
    const { desired, passing } = open()
    desired.take([peer(1, { left: 0 }), peer(2, { left: null })])
    expect(passing()).toEqual(['vpn_2'])
  })

  test('DesiredPeers.replace() drops peers that it does not name', () => {
    const { desired, passing } = open()
    desired.take([peer(1), peer(2)])
    desired.replace([peer(2), peer(3)])
    expect(passing()).toEqual(['vpn_2', 'vpn_3'])
    desired.take([peer(2, { state: 'down' })])
    expect(passing()).toEqual(['vpn_3'])
  })

  test('DesiredPeers.take() refuses a peer with a foreign, missing or malformed block or a bad key, with the reason', () => {
    const bad: [Partial<NodePeer>, string][] = [
      [{ allowed: ['0.0.0.0/0'] }, 'outside the tunnel'],
      [{ allowed: ['10.0.0.0/8'] }, 'outside the tunnel'],
      [{ allowed: ['10.67.0.2/32'] }, 'outside the tunnel'],
      [{ allowed: ['10.66.0.1/32'] }, "the node's own"],
      [{ allowed: ['10.66.0.0/30'] }, "the node's own"],
      [{ allowed: ['fd74:7572:6e70::1/128'] }, "the node's own"],
      [{ allowed: [] }, 'no address'],
      [{ allowed: ['10.66.0.2/32,10.66.0.3/32'] }, 'not a block'],
      [{ public_key: 'short' }, 'no proper public key'],
    ]
    for (const [change, problem] of bad) {
      const { desired, passing, refused } = open()
      desired.take([peer(1, change), peer(2)])
      expect(passing()).toEqual(['vpn_2'])
      expect(refused).toEqual([expect.stringContaining(problem)])
    }
  })

  test('DesiredPeers.take() refuses a peer whose addresses another peer has', () => {
    const { desired, passing, refused } = open()
    desired.take([peer(1), peer(2, { allowed: peer(1).allowed })])
    expect(passing()).toEqual(['vpn_1'])
    expect(refused[0]).toContain('which vpn_1 has already')
  })

  test('DesiredPeers.ownerOf() returns the newest peer of a key, and undefined after forgetAllBut()', () => {
    const { desired, passing } = open()
    desired.take([peer(1)])
    desired.take([peer(1, { state: 'down' }), peer(2, { public_key: keyOf(1) })])
    expect(passing()).toEqual(['vpn_2'])
    expect(desired.ownerOf(keyOf(1))).toBe('vpn_2')
    desired.take([peer(2, { state: 'down' })])
    desired.forgetAllBut(new Set())
    expect(desired.size).toBe(0)
    expect(desired.ownerOf(keyOf(1))).toBeUndefined()
  })
})

test('readTunnelAddress requires an address with a valid prefix length', () => {
  expect(readTunnelAddress('10.66.0.1/16')).toMatchObject({ text: '10.66.0.1/16', network: { length: 16 } })
  for (const text of ['10.66.0.1', '10.66.0.1/33', '10.66.0.1/0', '10.66.0.1/16/2', 'x/16', 'fd74::1/129']) {
    expect(readTunnelAddress(text)).toBeUndefined()
  }
})
