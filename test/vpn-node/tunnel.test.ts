import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { NamespaceWorker } from '../harness/namespace.ts'
import { netAddresses } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { type Client, makeCustomer, openClient, openScene, type Scene } from '../harness/vpn-tunnel.ts'
import { toolsWithinMs } from '../harness/wireguard.ts'

const { test, isPossible } = await findNetnsSupport()

describe('isolation of two VPN devices', () => {
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
    // Services that the devices must not reach.
    await b.worker.ask('serve', { ports: [8080] })
    await scene.node.ask('serve', { ports: [22, 8080] })
  }, toolsWithinMs)
  afterAll(() => scene?.net.close())

  const connect = (from: NamespaceWorker, host: string, port: number) => from.ask<string>('connect', { host, port })
  /** Dropped packets get no answer, which is assumed after 400 ms. */
  const connectBriefly = (from: NamespaceWorker, host: string, port: number) =>
    from.ask<string>('connect', { host, port, withinMs: 400 })

  test('a VPN device works with the sold configuration, and the origin sees the address of the node', async () => {
    for (const client of [a, b]) {
      expect(await client.worker.ask<string>('fetch', { url: `http://${netAddresses.origin4}/who` })).toBe(
        netAddresses.node4,
      )
    }
  })

  test('a VPN device relays IPv6 as well as IPv4', async () => {
    for (const client of [a, b]) {
      expect(await client.worker.ask<string>('fetch', { url: `http://[${netAddresses.origin6}]/who` })).toBe(
        netAddresses.node6,
      )
    }
  })

  test('two VPN devices cannot reach each other, over IPv4 or IPv6', async () => {
    expect(await connect(b.worker, '10.66.0.3', 8080)).toBe('open')
    for (const host of ['10.66.0.3', 'fd74:7572:6e70::a42:3']) {
      expect(await connect(a.worker, host, 8080)).toStartWith('refused')
    }
  })

  test('a VPN device cannot reach services of the node at any of its addresses', async () => {
    expect(await connect(scene.origin, netAddresses.node4, 22)).toBe('open')
    await scene.net.inside(scene.net.node, ['ip', 'route', 'add', 'local', '45.12.7.0/24', 'dev', 'lo'])
    const own = ['10.66.0.1', 'fd74:7572:6e70::1', netAddresses.node4, netAddresses.node6, '192.168.77.1']
    const hosts = [...own, '45.12.7.9']
    const outcomes = await Promise.all(hosts.map((host) => connectBriefly(a.worker, host, 22)))
    expect(outcomes).not.toContain('open')
  })

  test('a VPN device cannot reach private, link-local and metadata addresses that the node reaches', async () => {
    for (const host of [netAddresses.private4, netAddresses.private6, netAddresses.metadata]) {
      expect(await connect(scene.node, host, 80)).toBe('open')
      expect(await connect(a.worker, host, 80)).toStartWith('refused')
    }
  })

  test('a VPN device cannot reach ports 25, 465, 587 and 2525, while other ports of the same host are open', async () => {
    for (const host of [netAddresses.origin4, netAddresses.origin6]) {
      expect(await connect(a.worker, host, 8080)).toBe('open')
      for (const port of [25, 465, 587, 2525]) {
        expect(await connect(scene.node, host, port)).toBe('open')
        expect(await connect(a.worker, host, port)).toStartWith('refused')
      }
    }
  })

  test('a VPN device cannot be reached from outside', async () => {
    const outcomes = await Promise.all(
      ['10.66.0.3', 'fd74:7572:6e70::a42:3'].map((host) => connectBriefly(scene.origin, host, 8080)),
    )
    expect(outcomes).not.toContain('open')
  })

  test('a VPN device cannot send from an address that is not its own', async () => {
    await scene.net.inside(a.namespace, ['ip', 'address', 'add', '10.66.0.77/32', 'dev', a.device])
    const from = ['ip', 'route', 'replace', netAddresses.origin4, 'dev', a.device, 'src', '10.66.0.77']
    await scene.net.inside(a.namespace, from)
    expect(await connectBriefly(a.worker, netAddresses.origin4, 8080)).toBe('no answer')
    await scene.net.inside(a.namespace, ['ip', 'route', 'delete', netAddresses.origin4])
    await scene.net.inside(a.namespace, ['ip', 'address', 'delete', '10.66.0.77/32', 'dev', a.device])
    expect(await connect(a.worker, netAddresses.origin4, 8080)).toBe('open')
  })

  test('a machine without IP forwarding forwards only the tunnel', async () => {
    // The origin acts as a foreign host that uses the node as a router.
    const { net } = scene
    await net.inside(net.origin, ['ip', 'route', 'add', '172.30.2.2/32', 'via', netAddresses.node4])
    await net.inside(b.namespace, ['ip', 'route', 'add', `${netAddresses.origin4}/32`, 'via', '172.30.2.1'])
    expect(await connectBriefly(scene.origin, '172.30.2.2', 8080)).not.toBe('open')
    await net.inside(b.namespace, ['ip', 'route', 'delete', `${netAddresses.origin4}/32`])
  })

  test('the private key of the node is in no argument, log or file', async () => {
    const { setup, folder } = scene
    const [calls, log] = [await scene.node.ask<string[][]>('calls'), await scene.node.ask<unknown[]>('log')]
    expect(calls.length).toBeGreaterThan(5)
    expect(JSON.stringify([calls, log])).not.toContain(setup.private_key)
    const files = new Bun.Glob('**/*').scan({ cwd: folder, absolute: true, dot: true })
    for await (const path of files) expect(await Bun.file(path).text()).not.toContain(setup.private_key)
  })
})
