import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { readDump } from '../../src/dataplane/wireguard/peers.ts'
import type { NodePeer } from '../../src/node-protocol/state.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { makePeers, openScene, type Scene, until } from '../harness/vpn-tunnel.ts'
import { toolsWithinMs } from '../harness/wireguard.ts'

const { test, isPossible } = await findNetnsSupport()
const many = 1000

/** How long any of it takes is measured by `npm run bench -- vpn-node`. */
describe('a thousand devices', () => {
  let scene: Scene
  const peers = makePeers(many)

  beforeAll(async () => {
    if (isPossible) scene = await openScene()
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  /** Which peers `wg set` was told of since the last look, in how many calls. */
  async function setCalls(): Promise<{ calls: number; named: string[] }> {
    const calls = (await scene.node.ask<string[][]>('calls')).filter(([wg, set]) => wg === 'wg' && set === 'set')
    const named = calls.flatMap((words) => words.filter((_, index) => words[index - 1] === 'peer'))
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

  test('are applied in a handful of calls, exactly as they were told', async () => {
    await setCalls()
    await scene.node.ask('replace', { peers })
    const { calls, named } = await setCalls()
    expect(calls).toBeLessThanOrEqual(3)
    expect(named).toHaveLength(many)
    await expectOnDevice(peers)
  })

  test('are not touched when one of them changes, goes or comes', async () => {
    const [first, second, ...others] = peers as [NodePeer, NodePeer, ...NodePeer[]]
    const moved = { ...first, allowed: ['10.66.200.1/32'] }
    for (const peer of [moved, { ...second, state: 'down' as const }, second, first]) {
      await scene.node.ask('apply', { peers: [peer] })
      expect(await setCalls()).toEqual({ calls: 1, named: [peer.public_key] })
    }
    await expectOnDevice([first, second, ...others])
  })

  test('are not touched at all when the shop repeats them', async () => {
    await scene.node.ask('apply', { peers: peers.slice(0, 500) })
    await scene.node.ask('replace', { peers })
    expect(await setCalls()).toEqual({ calls: 0, named: [] })
  })

  test('are looked at after pauses of 900 ms, however much was said of them', async () => {
    for (const peer of peers.slice(0, 20)) await scene.node.ask('apply', { peers: [peer] })
    await scene.node.ask('calls')
    const beganMs = performance.now()
    let looks = 0
    await until(
      'three looks',
      async () => {
        looks += (await scene.node.ask<string[][]>('calls')).filter(([, , , what]) => what === 'dump').length
        return looks >= 3
      },
      toolsWithinMs,
    )
    // Two pauses lie between; a busy machine only makes them longer.
    expect(performance.now() - beganMs).toBeGreaterThan(1500)
  })
})
