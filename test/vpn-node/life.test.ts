import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { PeerCount } from '../../src/plane/agent/carrier.ts'
import { findGround } from '../harness/ground.ts'
import { places } from '../harness/netns.ts'
import {
  type Client,
  type Customer,
  makeCustomer,
  openClient,
  openScene,
  type Scene,
  until,
} from '../harness/vpn-tunnel.ts'
import { toolsWithinMs } from '../harness/wireguard.ts'

const { test, isPossible } = await findGround()

/** What an issue promises; a healthy machine takes a second. */
const cutWithinMs = 5_000
/** A pause in a transfer that nobody would call a gap: shorter than any retransmission after a loss of the tunnel. */
const gapMs = 1_000

type Transfer = { bytes: number; longestGapMs: number; quietMs: number; isDone: boolean; problem: string | null }

describe('while another transfer goes on', () => {
  let scene: Scene
  let customers: readonly [Customer, Customer]
  let a: Client
  let b: Client

  beforeAll(async () => {
    if (!isPossible) return
    scene = await openScene()
    customers = [await makeCustomer(0, scene.publicKey), await makeCustomer(1, scene.publicKey)]
    await scene.node.ask('replace', { peers: customers.map((each) => each.peer) })
    a = await openClient(scene.net, 0, customers[0].config)
    b = await openClient(scene.net, 1, customers[1].config)
    // Slow enough to be going on all the while, and shared machines stay usable.
    await scene.node.ask('apply', { peers: [{ ...customers[1].peer, speed_mbit: 20 }] })
    await b.worker.ask('receive', { url: `http://${places.origin4}/bytes?count=1000000000` })
    await until('the transfer', async () => (await transferOf(b)).bytes > 0)
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  const transferOf = (client: Client) => client.worker.ask<Transfer>('transfer')
  const apply = (change: Partial<Customer['peer']>) =>
    scene.node.ask('apply', { peers: [{ ...customers[0].peer, ...change }] })
  const passes = () =>
    a.worker.ask<string>('fetch', { url: `http://${places.origin4}/who`, withinMs: 400 }).then(
      () => true,
      () => false,
    )
  const isCutOff = async (): Promise<boolean> => {
    const dump = await scene.net.inside(scene.net.node, ['wg', 'show', scene.deviceName, 'peers'])
    return !dump.includes(customers[0].peer.public_key)
  }
  /** As a phone does that notices: a new handshake with the same key, tried again should one be lost. */
  const comesBack = async () => {
    for (let attempt = 1; ; attempt += 1) {
      await a.connect()
      if ((await passes()) || (await passes())) return
      if (attempt === 5) throw new Error('the device does not come back')
    }
  }

  test('a device that is taken away stops, and with the same key comes back', async () => {
    expect(await passes()).toBe(true)
    await apply({ state: 'down' })
    expect(await isCutOff()).toBe(true)
    expect(await passes()).toBe(false)
    await apply({})
    await comesBack()
  })

  test('a device whose time ends stops by itself, and renewal brings it back with the same key', async () => {
    const endsAt = Date.now() + 1_000
    await apply({ expires_at: endsAt })
    expect(await passes()).toBe(true)
    await until('the end', isCutOff, 1_000 + cutWithinMs)
    expect(Date.now()).toBeGreaterThanOrEqual(endsAt)
    expect(await passes()).toBe(false)
    await apply({ expires_at: Date.now() + 86_400_000 })
    await comesBack()
  })

  test('a device whose traffic is used up stops by itself, however often the shop repeats itself', async () => {
    const left = 3_000_000
    const countOf = async () => {
      const counts = await scene.node.ask<PeerCount[]>('counts')
      const own = counts.find((each) => each.id === customers[0].peer.id)
      return own ? own.received + own.sent : before
    }
    let before = 0
    before = await countOf()
    await apply({ left })
    await a.worker.ask('receive', { url: `http://${places.origin4}/bytes?count=200000000` })
    let took = 0
    await until('the limit', async () => {
      await apply({ left })
      took += 1
      return isCutOff()
    })
    expect(took).toBeGreaterThan(1)
    const carried = (await countOf()) - before
    expect(carried).toBeGreaterThanOrEqual(left)
    const { bytes } = await transferOf(a)
    expect(bytes).toBeLessThan(200_000_000)
    await apply({ left: null })
    await comesBack()
  })

  test('a device that the whole state does not name any more is cut off', async () => {
    await scene.node.ask('replace', { peers: [{ ...customers[1].peer, speed_mbit: 20 }] })
    expect(await isCutOff()).toBe(true)
    await apply({})
    await comesBack()
  })

  test('and the other transfer had no gap', async () => {
    const { bytes, longestGapMs, quietMs, isDone } = await transferOf(b)
    expect({ isDone, problem: null }).toEqual({ isDone: false, problem: null })
    expect(bytes).toBeGreaterThan(1_000_000)
    expect(Math.max(longestGapMs, quietMs)).toBeLessThan(gapMs)
  })
})
