import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { readDump } from '../../src/dataplane/wireguard/peers.ts'
import type { NodePeer } from '../../src/node-protocol/state.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { makePeers, openScene, type Scene, until } from '../harness/vpn-tunnel.ts'
import { toolsWithinMs } from '../harness/wireguard.ts'

const { test, isPossible } = await findNetnsSupport()
const many = 1000

/** `npm run bench -- vpn-node` measures the times. */
describe('1000 VPN devices', () => {
  let scene: Scene
  const peers = makePeers(many)

  beforeAll(async () => {
    if (isPossible) scene = await openScene()
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  /** The peers named in calls of `wg set` since the last call, and the number of calls. */
  async function setCalls(): Promise<{ calls: number; named: string[] }> {
    const calls = (await scene.node.ask<string[][]>('calls')).filter(([wg, set]) => wg === 'wg' && set === 'set')
    const named = calls.flatMap((args) => args.filter((_, index) => args[index - 1] === 'peer'))
    return { calls: calls.length, named }
  }
  const expectOnDevice = async (wanted: readonly NodePeer[]) => {
    const dump = readDump(await scene.net.inside(scene.net.node, ['wg', 'show', scene.deviceName, 'dump']))
    const sorted = (each: readonly { key: string; allowed: string[] }[]) =>
      each.toSorted((a, b) => (a.key < b.key ? -1 : 1))
    expect(sorted(dump.peers.map((each) => ({ key: each.publicKey, allowed: each.allowed.toSorted() })))).toEqual(
      sorted(wanted.map((each) => ({ key: each.public_key, allowed: each.allowed.toSorted() }))),
    )
  }

  test('a VPN node applies 1000 devices exactly, in at most 3 calls of wg set', async () => {
    await setCalls()
    await scene.node.ask('replace', { peers })
    const { calls, named } = await setCalls()
    expect(calls).toBeLessThanOrEqual(3)
    expect(named).toHaveLength(many)
    await expectOnDevice(peers)
  })

  test('a VPN node applies a change of one of 1000 devices in one call of wg set that names only that device', async () => {
    const [first, second, ...others] = peers as [NodePeer, NodePeer, ...NodePeer[]]
    const moved = { ...first, allowed: ['10.66.200.1/32'] }
    for (const peer of [moved, { ...second, state: 'down' as const }, second, first]) {
      await scene.node.ask('apply', { peers: [peer] })
      expect(await setCalls()).toEqual({ calls: 1, named: [peer.public_key] })
    }
    await expectOnDevice([first, second, ...others])
  })

  test('a VPN node calls wg set for no device of a repeated state of 1000 devices', async () => {
    await scene.node.ask('apply', { peers: peers.slice(0, 500) })
    await scene.node.ask('replace', { peers })
    expect(await setCalls()).toEqual({ calls: 0, named: [] })
  })

  test('a VPN node reads the counters of 1000 devices three times in more than 1500 ms, after 20 changes', async () => {
    for (const peer of peers.slice(0, 20)) await scene.node.ask('apply', { peers: [peer] })
    await scene.node.ask('calls')
    const beganMs = performance.now()
    let reads = 0
    await until(
      'three looks',
      async () => {
        reads += (await scene.node.ask<string[][]>('calls')).filter(([, , , what]) => what === 'dump').length
        return reads >= 3
      },
      toolsWithinMs,
    )
    // Two pauses lie between; a busy machine only makes them longer.
    expect(performance.now() - beganMs).toBeGreaterThan(1500)
  })
})
