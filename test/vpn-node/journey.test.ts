import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Answer } from '../harness/answers.ts'
import { type CommandServer, openCommandServer } from '../harness/command-server.ts'
import { prepareFolder } from '../harness/database.ts'
import { longTest } from '../harness/long-test.ts'
import type { NamespaceWorker } from '../harness/namespace.ts'
import { type Net, netAddresses, openNet } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { isLong } from '../harness/scale.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { runtimeCommand } from '../harness/turnpike.ts'
import { type Client, openClient, until } from '../harness/vpn-tunnel.ts'
import { toolsWithinMs } from '../harness/wireguard.ts'

const { test, isPossible } = await findNetnsSupport()

const program = join(import.meta.dir, '..', '..', 'src', 'app', 'turnpike.ts')
const token = 'a-token-of-the-sandbox'
const shop = 'http://127.0.0.1:8080'
const megabyte = 1_000_000

/** The shop, the node and the operator's tool in their own processes, all in the node's namespace. */
describe('a VPN subscription bought over the API', () => {
  let net: Net
  let caller: NamespaceWorker
  let folder: string
  let node: Bun.Subprocess
  let client: Client
  let publicKey: string
  let commands: CommandServer

  const fromSources = [process.execPath, '--no-env-file', program]
  const leash = () => ['ip', 'netns', 'exec', net.node, 'setpriv', '--pdeathsig', 'KILL']
  const under = (...args: string[]) => [...leash(), ...runtimeCommand, ...args]
  const env = (of: 'shop' | 'node', more: Record<string, string> = {}) => ({
    PATH: process.env['PATH'] ?? '',
    TURNPIKE_DATA: join(folder, of),
    TURNPIKE_LOG: 'warn',
    TURNPIKE_VPN_DEVICE: `j${net.tag}`,
    TURNPIKE_VPN_HOST: netAddresses.endpoint,
    TURNPIKE_SANDBOX_TOKEN: token,
    ...more,
  })
  async function tool(of: 'shop' | 'node', ...args: string[]) {
    const { exit, out, err } = await commands.run([...args, '--json'], env(of))
    expect([exit, err]).toEqual([0, ''])
    return JSON.parse(out)
  }
  async function startNode(more: Record<string, string> = {}, runner = runtimeCommand) {
    node = Bun.spawn([...leash(), ...runner, 'vpn-node'], {
      env: env('node', { TURNPIKE_SHOP_URL: shop, ...more }),
      stdout: 'inherit',
      stderr: 'inherit',
    })
    await until('the device of the node', async () => (await peersOfNode()) !== undefined)
  }
  const peersOfNode = () =>
    net.inside(net.node, ['wg', 'show', `j${net.tag}`, 'peers']).then(
      (text) => text.trim().split('\n'),
      () => undefined,
    )
  /** Every answer is checked against the shop's OpenAPI description. */
  const call = async (path: string, body?: unknown) => {
    const answer = await caller.ask<Pick<Answer, 'status' | 'data'>>('call', { url: shop, token, path, body })
    expect(answer.status).toBe(200)
    return answer.data
  }
  const isKnown = async () => (await peersOfNode())?.includes(publicKey) ?? false
  const usedBytes = async (): Promise<number> => (await call('/vpn/info')).traffic.rx_bytes
  const download = async (count: number) =>
    expect(
      await client.worker.ask<number>('drain', { url: `http://${netAddresses.origin4}/bytes?count=${count}` }),
    ).toBe(count)

  beforeAll(async () => {
    if (!isPossible) return
    net = await openNet()
    folder = mkdtempSync(join(tmpdir(), 'turnpike-vpn-'))
    net.atEnd(() => rmSync(folder, { recursive: true, force: true }))
    const origin = await net.start(net.origin)
    await origin.ask('serve', { ports: [80] })
    caller = await net.start(net.node)
    commands = await openCommandServer(leash())
    prepareFolder(join(folder, 'shop'), 'stocked')
    const running = Bun.spawn(under('shop'), { env: env('shop'), stdout: 'ignore', stderr: 'inherit' })
    net.atEnd(async () => {
      running.kill()
      await running.exited
    })
    const isUp = () =>
      caller.ask('fetch', { url: `${shop}/healthz` }).then(
        () => true,
        () => false,
      )
    await until('the shop', isUp)
    const { key } = await tool('shop', 'node', 'add', 'here', '--kind=vpn', '--location=here')
    await startNode({ TURNPIKE_NODE_KEY: key }, fromSources)
  }, toolsWithinMs)
  afterAll(async () => {
    node?.kill('SIGKILL')
    await node?.exited
    await commands?.close()
    await net?.close()
  })

  test('the WireGuard text of a bought subscription’s secret link opens a tunnel over IPv4 and IPv6', async () => {
    const bought = await call('/vpn/buy', { period: 1, name: 'phone', location: 'here' })
    publicKey = (await call('/vpn/info')).devices[0].public_key
    await until('the device', isKnown)
    const { pathname } = new URL(bought.subscription_url)
    const imported = await caller.ask<string>('fetch', { url: `${shop}${pathname}?format=wireguard` })
    expect(imported.trim()).toBe(bought.config.trim())
    client = await openClient(net, 0, imported)
    expect(await client.worker.ask<string>('fetch', { url: `http://${netAddresses.origin4}/who` })).toBe(
      netAddresses.node4,
    )
    expect(await client.worker.ask<string>('fetch', { url: `http://[${netAddresses.origin6}]/who` })).toBe(
      netAddresses.node6,
    )
  })

  test("GET /vpn/info counts a subscription's bytes, also after the node was killed by SIGKILL and restarted", async () => {
    await download(3 * megabyte)
    await until('the count', async () => (await usedBytes()) >= 3 * megabyte)
    const before = await usedBytes()
    node.kill('SIGKILL')
    await node.exited
    expect((await tool('node', 'vpn-node', 'status')).state).toBe('killed')
    await startNode()
    await until('the device', isKnown)
    expect(await usedBytes()).toBeGreaterThanOrEqual(before)
    await client.connect()
    await download(3 * megabyte)
    await until('the count', async () => (await usedBytes()) >= before + 3 * megabyte)
    expect((await call('/vpn/info')).node).toBe('online')
  })

  test('a VPN node with a new secret, after node revoke, open, key and a restart, serves the same configuration', async () => {
    const secretOf = async () => (await Bun.file(join(folder, 'node', 'vpn-node', 'node.json')).json()).secret
    const before = await secretOf()
    await tool('shop', 'node', 'revoke', 'here')
    await tool('shop', 'node', 'open', 'here')
    const { key } = await tool('shop', 'node', 'key', 'here')
    await until('no device with the old secret', async () => !(await isKnown()))
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    await startNode({ TURNPIKE_NODE_KEY: key })
    await until('the device', isKnown)
    await client.connect()
    await download(megabyte)
    expect(await secretOf()).not.toBe(before)
  })

  test('a download continues when the VPN node gets the signals of a restart of its unit', async () => {
    const ofSystemd = { NOTIFY_SOCKET: join(folder, 'notify.sock') }
    node.kill('SIGTERM')
    await node.exited
    await startNode(ofSystemd)
    await until('the device', isKnown)
    await client.connect()
    const browser = await net.start(client.namespace)
    const transfer = () => browser.ask<{ bytes: number; isDone: boolean; problem: string | null }>('transfer')
    await browser.ask('receive', { url: `http://${netAddresses.origin4}/slow` })
    await until('the download', async () => (await transfer()).bytes > 0)
    node.kill('SIGHUP')
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    const { bytes } = await transfer()
    await startNode(ofSystemd)
    await until('more bytes', async () => {
      const now = await transfer()
      return now.isDone || now.bytes > bytes
    })
    expect(await transfer()).toMatchObject({ isDone: false, problem: null })
    await browser.kill()
  })

  test('a deleted VPN subscription is cut off within 5 s', async () => {
    const stopwatch = startStopwatch()
    await call('/vpn/delete', {})
    await until('the end', async () => !(await isKnown()))
    expect(stopwatch.elapsedMs()).toBeLessThan(5000)
    const url = `http://${netAddresses.origin4}/who`
    const outcome = client.worker.ask('fetch', { url, withinMs: 500 }).then(
      () => 'passed',
      () => 'cut off',
    )
    expect(await outcome).toBe('cut off')
  })

  test(`a closed VPN node cuts its device off${isLong ? ', and adds it again when it is open' : ''}`, async () => {
    await call('/vpn/buy', { period: 1, name: 'tablet', location: 'here' })
    publicKey = (await call('/vpn/info')).devices[0].public_key
    await until('the device', isKnown)
    await tool('shop', 'node', 'close', 'here')
    await until('the end', async () => !(await isKnown()))
    await tool('shop', 'node', 'open', 'here')
    // A refused node retries after up to 10 s.
    if (isLong) await until('the device', isKnown)
  })

  test('a stopped VPN node leaves no nftables rules and no IP forwarding', async () => {
    const status = await tool('node', 'vpn-node', 'status')
    expect(status).toMatchObject({ state: 'running', missing: [] })
    expect(status.changes).toContain(`network device j${net.tag}: the tunnel`)
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    expect(await tool('node', 'vpn-node', 'status')).toMatchObject({ state: 'stopped', changes: [] })
    expect(await net.inside(net.node, ['nft', 'list', 'ruleset'])).toBe('')
    expect((await net.inside(net.node, ['cat', '/proc/sys/net/ipv4/ip_forward'])).trim()).toBe('0')
  })

  /** `turnpike up` on its own data folder, in the same namespace, with its output. */
  function startUp(of = 'up', ...before: string[]) {
    const [, , , , ...rest] = under('up')
    const child = Bun.spawn(['ip', 'netns', 'exec', net.node, ...before, ...rest], {
      env: {
        PATH: process.env['PATH'] ?? '',
        TURNPIKE_DATA: join(folder, of),
        TURNPIKE_PORT: '8081',
        TURNPIKE_METRICS_LISTEN: '',
        TURNPIKE_LOG: 'warn',
        TURNPIKE_VPN_HOST: netAddresses.endpoint,
        TURNPIKE_SANDBOX_TOKEN: token,
      },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const up = { child, out: '' }
    void (async () => {
      for await (const chunk of child.stdout) up.out += Buffer.from(chunk).toString()
    })()
    net.atEnd(() => child.kill('SIGKILL'))
    return up
  }
  const callUp = async (path: string, body?: unknown) => {
    const sent = { url: 'http://127.0.0.1:8081', token, path, body }
    upCaller ??= await net.start(net.node)
    const answer = await upCaller.ask<Answer>('call', sent)
    expect(answer.status).toBe(200)
    return answer
  }
  const who = { url: `http://${netAddresses.origin4}/who` }
  const node1 = /A VPN node runs on this machine: network device tpvpn1, UDP port 51821\./
  const devices = () => net.inside(net.node, ['ip', '-brief', 'link'])
  /** A worker calls one shop. */
  let upCaller: NamespaceWorker | undefined

  longTest('turnpike up plans no VPN node for a sandbox beside another node on the machine', async () => {
    await net.inside(net.node, ['nft', 'add', 'table', 'inet', 'turnpike_vpn_other'])
    const plan = `const { planSandboxVpn } = await import('${join(program, '../sandbox-vpn.ts')}')
      const { readConfig } = await import('${join(program, '../settings/config.ts')}')
      console.log(JSON.stringify(await planSandboxVpn(readConfig({ TURNPIKE_DATA: '${join(folder, 'plan')}' }), {})))`
    const planned = await net.inside(net.node, [process.execPath, '-e', plan])
    expect(JSON.parse(planned).problem).toContain('Another VPN node is on this machine')
    await net.inside(net.node, ['nft', 'delete', 'table', 'inet', 'turnpike_vpn_other'])
  })

  test('turnpike up of a sandbox starts a VPN node on a free device, which serves purchases also after SIGKILL', async () => {
    await net.inside(net.node, ['ip', 'link', 'add', 'tpvpn0', 'type', 'veth', 'peer', 'name', 'tpother'])
    prepareFolder(join(folder, 'up'), 'stocked')
    let up = startUp()
    await until('the node', () => node1.test(up.out))
    expect((await callUp('/vpn/quote?period=1')).data.available).toBe(true)
    const { config } = (await callUp('/vpn/buy', { period: 1, name: 'phone' })).data
    expect(config).toContain(`Endpoint = ${netAddresses.endpoint}:51821`)
    const sold = await openClient(net, 1, config)
    expect(await sold.worker.ask<string>('fetch', who)).toBe(netAddresses.node4)
    // Killed by SIGKILL, it leaves its changes; the next start clears them and uses the same device.
    up.child.kill('SIGKILL')
    await until('the end of its shop', () =>
      caller.ask('fetch', { url: 'http://127.0.0.1:8081/healthz' }).then(
        () => false,
        () => true,
      ),
    )
    up = startUp()
    await until('the node', () => node1.test(up.out))
    await sold.connect()
    expect(await sold.worker.ask<string>('fetch', who)).toBe(netAddresses.node4)
    up.child.kill('SIGTERM')
    expect(await up.child.exited).toBe(0)
    expect(await devices()).not.toContain('tpvpn1')
    expect(await net.inside(net.node, ['nft', 'list', 'tables'])).not.toContain('turnpike')
  })

  longTest('turnpike up without CAP_NET_ADMIN changes no device, and sells a VPN over TLS', async () => {
    const before = await devices()
    prepareFolder(join(folder, 'bare'), 'stocked')
    const up = startUp(
      'bare',
      'setpriv',
      '--pdeathsig',
      'KILL',
      '--bounding-set',
      '-net_admin',
      '--inh-caps',
      '-net_admin',
    )
    await until('the banner', () => up.out.includes('This is a sandbox'))
    await until('the gateway', async () => (await callUp('/vpn/quote?period=1')).data.available === true)
    expect((await callUp('/vpn/buy', { period: 1, name: 'phone' })).data.node).toBe('online')
    expect(await devices()).toBe(before)
    up.child.kill('SIGTERM')
    expect(await up.child.exited).toBe(0)
  })
})
