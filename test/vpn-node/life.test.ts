import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { Reported } from '../../src/dataplane/agent/data-path.ts'
import { netAddresses } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { waitLimitMs } from '../harness/until.ts'
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

const { test, isPossible } = await findNetnsSupport()

/** The time limit for cutting off an expired device. */
const cutWithinMs = 5_000
const endless = 1_000_000_000
type Transfer = { bytes: number; isDone: boolean; problem: string | null }

describe('VPN devices during the transfer of another device', () => {
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
    // Slow enough to last for all tests without loading a shared machine.
    await scene.node.ask('apply', { peers: [{ ...customers[1].peer, speed_mbit: 20 }] })
    await b.worker.ask('receive', { url: `http://${netAddresses.origin4}/bytes?count=${endless}` })
    await until('the transfer', async () => (await transferOf(b)).bytes > 0)
    await scene.node.ask('calls')
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  const transferOf = (client: Client) => client.worker.ask<Transfer>('transfer')
  const apply = (change: Partial<Customer['peer']>) =>
    scene.node.ask('apply', { peers: [{ ...customers[0].peer, ...change }] })
  const passes = (withinMs: number) =>
    a.worker.ask<string>('fetch', { url: `http://${netAddresses.origin4}/who`, withinMs }).then(
      () => true,
      () => false,
    )
  /** Limited only by the limit against hangs. */
  const passesEventually = () => passes(waitLimitMs)
  /** The peer is gone: no answer arrives within 400 ms. */
  const isSilent = async () => !(await passes(400))
  const isCutOff = async (): Promise<boolean> => {
    const dump = await scene.net.inside(scene.net.node, ['wg', 'show', scene.deviceName, 'peers'])
    return !dump.includes(customers[0].peer.public_key)
  }
  /** As a phone does: a new handshake with the same key, repeated if one is lost. */
  const reconnect = async () => {
    for (let attempt = 1; ; attempt += 1) {
      await a.connect()
      if (await passes(2000 * attempt)) return
      if (attempt === 8) throw new Error('the device does not come back')
    }
  }

  test('a VPN node cuts a removed device off, which works again with the same key when it is added', async () => {
    expect(await passesEventually()).toBe(true)
    await apply({ state: 'down' })
    expect(await isCutOff()).toBe(true)
    expect(await isSilent()).toBe(true)
    await apply({})
    await reconnect()
  })

  test('a VPN device is cut off within 5 s of its expiry, not before, and renewal restores it with the same key', async () => {
    const stopwatch = startStopwatch()
    const endsAt = Date.now() + 1_000
    await apply({ expires_at: endsAt })
    await until('the end', isCutOff)
    expect(stopwatch.elapsedMs()).toBeLessThan(1_000 + cutWithinMs)
    expect(Date.now()).toBeGreaterThanOrEqual(endsAt)
    expect(await isSilent()).toBe(true)
    await apply({ expires_at: Date.now() + 86_400_000 })
    await reconnect()
  })

  test('a VPN node cuts off a device whose traffic is used up, however often the shop repeats its state', async () => {
    const left = 3_000_000
    const countOf = async () => {
      const counts = await scene.node.ask<Reported<'peers'>[]>('counts')
      const own = counts.find((each) => each.id === customers[0].peer.id)
      return own ? own.received + own.sent : before
    }
    let before = 0
    before = await countOf()
    for (let times = 0; times < 3; times += 1) await apply({ left })
    await a.worker.ask('receive', { url: `http://${netAddresses.origin4}/bytes?count=${endless}` })
    await until('the limit', async () => {
      await apply({ left })
      return isCutOff()
    })
    const relayed = (await countOf()) - before
    expect(relayed).toBeGreaterThanOrEqual(left)
    const { bytes } = await transferOf(a)
    expect(bytes).toBeLessThan(endless)
    await apply({ left: null })
    await reconnect()
  })

  test('a VPN node cuts off a device that is missing from a whole state', async () => {
    await scene.node.ask('replace', { peers: [{ ...customers[1].peer, speed_mbit: 20 }] })
    expect(await isCutOff()).toBe(true)
    await apply({})
    await reconnect()
  })

  test('a VPN node names the other device in no call of wg set, and its transfer continues', async () => {
    const calls = await scene.node.ask<string[][]>('calls')
    const named = calls.filter(([wg, set]) => wg === 'wg' && set === 'set')
    expect(named.filter((args) => args.includes(customers[0].peer.public_key))).not.toEqual([])
    expect(named.filter((args) => args.includes(customers[1].peer.public_key))).toEqual([])
    const { bytes } = await transferOf(b)
    await until('more bytes', async () => (await transferOf(b)).bytes > bytes + 100_000)
    expect(await transferOf(b)).toMatchObject({ isDone: false, problem: null })
  })
})
