import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { netAddresses } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
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

const resolverPort = 53
const numbers = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)

describe('the firewall of a VPN node', () => {
  let scene: Scene
  let customers: readonly [Customer, Customer]
  let a: Client
  let b: Client

  beforeAll(async () => {
    if (!isPossible) return
    scene = await openScene()
    const { net, node, origin, publicKey } = scene
    // No tracked connection ends during the test, however slow the machine.
    await net.inside(net.node, ['sysctl', '-q', '-w', 'net.netfilter.nf_conntrack_udp_timeout=86400'])
    await net.inside(net.origin, ['ip', 'address', 'add', `${otherResolver}/24`, 'dev', 'w0'])
    for (const host of [netAddresses.origin4, otherResolver]) await origin.ask('echo', { host, port: resolverPort })
    customers = [await makeCustomer(0, publicKey), await makeCustomer(1, publicKey)]
    await node.ask('replace', { peers: customers.map((each) => each.peer) })
    a = await openClient(net, 0, customers[0].config)
    b = await openClient(net, 1, customers[1].config)
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  const otherResolver = '45.12.0.3'
  /** Opens flows from these local ports. Returns the source ports that the resolver saw: one for each answered flow. */
  const flowsOf = (client: Client, localPorts: readonly number[], count: number, host: string = netAddresses.origin4) =>
    client.worker.ask<number[]>('flows', { host, port: resolverPort, localPorts, count })
  const nft = (...args: string[]) => scene.net.inside(scene.net.node, ['nft', ...args])
  const rulesOf = () => nft('--terse', 'list', 'ruleset')
  const isLoaded = async () => (await rulesOf()).includes('masquerade')
  const countPeers = async () => {
    const keys = await scene.net.inside(scene.net.node, ['wg', 'show', scene.deviceName, 'peers'])
    return keys.split('\n').filter((key) => key !== '').length
  }

  // Linux translates ports below 512 to free ports below 512, so 511 flows took all of them from the other device.
  test('a device that opens 511 flows to a resolver keeps 500, and another device gets 10 of 10 answers from it', async () => {
    const ofA = await flowsOf(a, numbers(1, 511), 500)
    const ofB = await flowsOf(b, numbers(1, 10), 10)
    expect(ofB).toHaveLength(10)
    expect(ofA).toHaveLength(500)
  })

  test('the resolver sees each device with ports of its own share of 4,032', async () => {
    const isOfShare = (share: number) => (port: number) => Math.floor((port - 1024) / 4032) === share
    expect((await flowsOf(a, [0], 1, otherResolver)).every(isOfShare(2))).toBe(true)
    expect((await flowsOf(b, [0], 1)).every(isOfShare(3))).toBe(true)
  })

  test('a device keeps 30 flows in all if that is its limit, 20 to one destination, and another device 10 of 10', async () => {
    await scene.node.ask('close')
    await openNode(scene, { inAll: 30, perDestination: 20, newPerSecond: 1000 })
    await scene.node.ask('replace', { peers: customers.map((each) => each.peer) })
    for (const client of [a, b]) await client.connect()
    expect(await flowsOf(a, numbers(2001, 25), 20)).toHaveLength(20)
    expect(await flowsOf(a, numbers(3001, 25), 10, otherResolver)).toHaveLength(10)
    expect(await flowsOf(b, numbers(2001, 10), 10)).toHaveLength(10)
  })

  test('a VPN node loads its firewall again after `nft flush ruleset`, and when a chain is emptied or the limits are deleted', async () => {
    const before = await rulesOf()
    const table = `turnpike_vpn_${scene.deviceName}`
    const damages = [`flush ruleset`, `flush chain inet ${table} from_tunnel`, `delete table inet ${table}_limits`]
    for (const damage of damages) {
      await nft(...damage.split(' '))
      await until(`the firewall after ${damage}`, async () => (await rulesOf()) === before)
    }
    expect(await a.worker.ask<string>('connect', { host: netAddresses.private4, port: 80 })).toStartWith('refused')
    expect(await countPeers()).toBe(2)
  })

  test('a VPN node removes all peers while it cannot load its firewall, and adds them again after it has', async () => {
    await scene.node.ask('fail', { program: 'nft' })
    await nft('flush', 'ruleset')
    await until('no peers', async () => (await countPeers()) === 0)
    await scene.node.ask('log')
    await scene.node.ask('fail')
    await until('both peers', async () => (await countPeers()) === 2)
    expect(await isLoaded()).toBe(true)
    expect(await scene.node.ask<unknown[]>('log')).toContainEqual({
      level: 'error',
      event: 'another program had removed or changed the firewall: it is loaded again',
      table: `turnpike_vpn_${scene.deviceName}`,
    })
  })
})
