import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { findGround, places } from '../harness/netns.ts'
import { type Client, makeCustomer, openClient, openScene, type Scene } from '../harness/tunnel.ts'
import { toolsWithinMs } from '../harness/wireguard.ts'

const { test, isPossible } = await findGround()

describe('two devices at a node', () => {
  let scene: Scene
  let a: Client
  let b: Client

  beforeAll(async () => {
    if (!isPossible) return
    scene = await openScene()
    const customers = [await makeCustomer(0, scene.publicKey), await makeCustomer(1, scene.publicKey)] as const
    await scene.node.ask('replace', { peers: customers.map((each) => each.peer) })
    a = await openClient(scene.net, 0, customers[0].config)
    b = await openClient(scene.net, 1, customers[1].config)
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  test('pass traffic with the configuration as it was sold, and the origin sees the address of the node', async () => {
    for (const client of [a, b]) {
      expect(await client.worker.ask<string>('fetch', { url: `http://${places.origin4}/who` })).toBe(places.node4)
    }
  })

  test('pass IPv6 as well as IPv4', async () => {
    for (const client of [a, b]) {
      expect(await client.worker.ask<string>('fetch', { url: `http://[${places.origin6}]/who` })).toBe(places.node6)
    }
  })
})
