import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { Reported } from '../../src/dataplane/agent/data-path.ts'
import { netAddresses } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { isLong } from '../harness/scale.ts'
import {
  type Client,
  type Customer,
  makeCustomer,
  openClient,
  openNode,
  openScene,
  type Scene,
  until,
} from '../harness/vpn-tunnel.ts'
import { toolsWithinMs } from '../harness/wireguard.ts'

const { test, isPossible } = await findNetnsSupport()

/** WireGuard's overhead per packet, which it counts: a header of 16 bytes and a tag of 16 (whitepaper, 5.4.6). */
const overheadBytes = 32
const tolerance = 0.02
const megabyte = 1_000_000
/** A factor for the transferred bytes. */
const size = isLong ? 4 : 1

describe('byte counts of a VPN device', () => {
  let scene: Scene
  let customer: Customer
  let client: Client
  /** Counts of earlier boots of the node, as the shop adds them. */
  let earlier = { received: 0, sent: 0 }
  let current = { received: 0, sent: 0 }

  /** WireGuard reports handshakes in whole seconds. */
  const startedAt = Math.floor(Date.now() / 1000) * 1000

  beforeAll(async () => {
    if (!isPossible) return
    scene = await openScene()
    customer = await makeCustomer(0, scene.publicKey)
    await scene.node.ask('replace', { peers: [customer.peer] })
    client = await openClient(scene.net, 0, customer.config)
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  async function counted() {
    const own = (await scene.node.ask<Reported<'peers'>[]>('counts')).find((each) => each.id === customer.peer.id)
    if (own) {
      expect(own.received).toBeGreaterThanOrEqual(current.received)
      expect(own.sent).toBeGreaterThanOrEqual(current.sent)
      current = { received: own.received, sent: own.sent }
    }
    return { received: earlier.received + current.received, sent: earlier.sent + current.sent }
  }

  /** Bytes of tunnels that are gone. */
  let before = { received: 0, sent: 0 }

  /** Bytes through the node's device, which has one peer, with WireGuard's overhead. Packets lost later count too. */
  async function relayed() {
    const path = (name: string) => `/sys/class/net/${scene.deviceName}/statistics/${name}`
    const names = ['tx_bytes', 'tx_packets', 'rx_bytes', 'rx_packets'].map(path)
    const text = await scene.net.inside(scene.net.node, ['cat', ...names])
    const [tx = 0, txPackets = 0, rx = 0, rxPackets = 0] = text.trim().split('\n').map(Number)
    return {
      received: before.received + tx + txPackets * overheadBytes,
      sent: before.sent + rx + rxPackets * overheadBytes,
    }
  }

  async function transfer(): Promise<void> {
    await client.worker.ask('drain', { url: `http://${netAddresses.origin4}/bytes?count=${2 * size * megabyte}` })
    await client.worker.ask('send', { url: `http://${netAddresses.origin4}/sink`, count: size * megabyte })
  }

  async function expectAgreement(): Promise<void> {
    const real = await relayed()
    await until('the count', async () => (await counted()).received >= real.received * (1 - tolerance))
    await until('the count', async () => (await counted()).sent >= real.sent * (1 - tolerance))
    const count = await counted()
    expect(count.received).toBeLessThanOrEqual(real.received * (1 + tolerance))
    expect(count.sent).toBeLessThanOrEqual(real.sent * (1 + tolerance))
  }

  test("a VPN node counts a device's bytes within 2 %, with the time of its last handshake", async () => {
    await transfer()
    const real = await relayed()
    expect(real.received).toBeGreaterThan(2 * size * megabyte)
    expect(real.sent).toBeGreaterThan(size * megabyte)
    await expectAgreement()
    await transfer()
    await until('a new count', async () => {
      const [own] = await scene.node.ask<Reported<'peers'>[]>('counts')
      if (!own) return false
      current = { received: own.received, sent: own.sent }
      expect(own.handshake_at).toBeWithin(startedAt, Date.now() + 1)
      return true
    })
    expect(await scene.node.ask<{ tunnels: number }>('health')).toMatchObject({ tunnels: 1 })
  })

  test('a VPN node continues the count of a device that was removed and added again', async () => {
    await scene.node.ask('apply', { peers: [{ ...customer.peer, state: 'down' }] })
    await scene.node.ask('apply', { peers: [customer.peer] })
    await client.connect()
    await transfer()
    await expectAgreement()
  })

  test('a VPN node continues the count of a device after its tunnel was deleted and recreated', async () => {
    await expectAgreement()
    before = await relayed()
    await scene.net.inside(scene.net.node, ['ip', 'link', 'delete', 'dev', scene.deviceName])
    await until('a new tunnel', () =>
      scene.net.inside(scene.net.node, ['wg', 'show', scene.deviceName, 'peers']).then(
        (peers) => peers.includes(customer.peer.public_key),
        () => false,
      ),
    )
    await client.connect()
    await transfer()
    await expectAgreement()
  })

  test('the count of a device never falls when its VPN node is killed by SIGKILL and started again', async () => {
    await expectAgreement()
    before = await relayed()
    earlier = await counted()
    await scene.node.kill()
    current = { received: 0, sent: 0 }
    scene = { ...scene, node: await scene.net.start(scene.net.node) }
    await openNode(scene)
    await scene.node.ask('replace', { peers: [customer.peer] })
    await client.connect()
    await transfer()
    await expectAgreement()
  })

  test('a stopping VPN node counts the last megabyte of a device', async () => {
    await transfer()
    await expectAgreement()
    await client.worker.ask('drain', { url: `http://${netAddresses.origin4}/bytes?count=${megabyte}` })
    const [last] = await scene.node.ask<Reported<'peers'>[]>('close')
    expect((last?.received ?? 0) - current.received).toBeGreaterThan(megabyte)
  })
})
