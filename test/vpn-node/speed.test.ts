import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { netAddresses } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { type Client, type Customer, makeCustomer, openClient, openScene, type Scene } from '../harness/vpn-tunnel.ts'
import { toolsWithinMs } from '../harness/wireguard.ts'

const { test, isPossible } = await findNetnsSupport()
const megabit = 1_000_000 / 8

describe('speed limits of a VPN device', () => {
  let scene: Scene
  let customer: Customer
  let client: Client

  beforeAll(async () => {
    if (!isPossible) return
    scene = await openScene()
    customer = await makeCustomer(0, scene.publicKey)
    await scene.node.ask('replace', { peers: [customer.peer] })
    client = await openClient(scene.net, 0, customer.config)
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  async function timeOf(work: () => Promise<unknown>): Promise<number> {
    const beganMs = performance.now()
    await work()
    return performance.now() - beganMs
  }
  const receive = (host: string, count: number) =>
    client.worker.ask('drain', { url: `http://${host}/bytes?count=${count}` })
  const send = (host: string, count: number) => client.worker.ask('send', { url: `http://${host}/sink`, count })

  test('a VPN device limited to 16 Mbit/s needs more than 430 ms for 8 Mbit in each direction, over IPv4 and IPv6', async () => {
    await scene.node.ask('apply', { peers: [{ ...customer.peer, speed_mbit: 16 }] })
    expect(await scene.node.ask<{ event: string }[]>('log')).not.toContainEqual(
      expect.objectContaining({ level: 'warn' }),
    )
    // 8 Mbit at 16 Mbit/s take 0.5 s; the burst is less than a tenth of that. A busy machine only makes it longer.
    for (const host of [netAddresses.origin4, `[${netAddresses.origin6}]`]) {
      expect(await timeOf(() => receive(host, 8 * megabit))).toBeGreaterThan(430)
      expect(await timeOf(() => send(host, 8 * megabit))).toBeGreaterThan(430)
    }
  })

  test('a changed speed limit of a VPN device applies at once, and its removal leaves no queue', async () => {
    await scene.node.ask('apply', { peers: [{ ...customer.peer, speed_mbit: 4 }] })
    // 500 ms, less what the bucket had saved.
    expect(await timeOf(() => receive(netAddresses.origin4, 2 * megabit))).toBeGreaterThan(300)
    await scene.node.ask('apply', { peers: [{ ...customer.peer, speed_mbit: null }] })
    const classes = await scene.net.inside(scene.net.node, ['tc', 'class', 'show', 'dev', scene.deviceName])
    expect(classes.trim()).toBe('')
    await receive(netAddresses.origin4, 8 * megabit)
  })
})
