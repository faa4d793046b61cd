import { afterEach, describe, expect } from 'bun:test'
import { createChanges, describeChange, readChanges } from '../../src/dataplane/wireguard/changes.ts'
import { openDevice } from '../../src/dataplane/wireguard/device.ts'
import { startNamespaceWorker } from '../harness/namespace.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { openNode, openScene, type Scene, until } from '../harness/vpn-tunnel.ts'

const { test } = await findNetnsSupport()

describe('changes of a VPN node on its machine', () => {
  let scene: Scene | undefined
  afterEach(async () => {
    await scene?.net.close()
    scene = undefined
  })

  /** All state that a node could leave behind. */
  async function readMachineState({ net }: Scene): Promise<string> {
    const settings = [
      'ipv4/ip_forward',
      'ipv4/conf/all/accept_redirects',
      'ipv6/conf/all/forwarding',
      'ipv6/conf/w0/accept_ra',
    ]
    const parts = [
      ['nft', 'list', 'ruleset'],
      ['ip', '-o', 'address', 'show'],
      ['ip', 'route', 'show', 'table', 'all'],
      ['tc', 'qdisc', 'show'],
      ['cat', ...settings.map((name) => `/proc/sys/net/${name}`)],
    ]
    const texts = []
    for (const command of parts) texts.push(await net.inside(net.node, command))
    // Link-local addresses appear with a delay.
    const lines = texts.join('\n').split('\n')
    return lines.filter((line) => !line.includes('fe80:')).join('\n')
  }

  async function openUndone(): Promise<{ scene: Scene; before: string }> {
    const opened = await openScene()
    scene = opened
    await opened.node.ask('close')
    await opened.net.inside(opened.net.node, ['sysctl', '-q', '-w', 'net.ipv4.conf.all.accept_redirects=0'])
    return { scene: opened, before: await readMachineState(opened) }
  }

  test('a VPN node lists its changes while it runs, and reverts them when it stops', async () => {
    const { scene: here, before } = await openUndone()
    await openNode(here)
    await here.node.ask('apply', { peers: [limited] })
    const listed = readChanges(here.folder)
    expect(listed?.runs).toBe(true)
    expect(listed?.changes.map(describeChange)).toEqual([
      `nftables: table inet turnpike_vpn_${here.deviceName}`,
      `nftables: table inet turnpike_vpn_${here.deviceName}_limits`,
      '/proc/sys/net/ipv4/conf/all/accept_redirects: 0 again at the end',
      '/proc/sys/net/ipv4/ip_forward: 1, was 0',
      ...['u1', 'u2', 'w0'].map((device) => `/proc/sys/net/ipv6/conf/${device}/accept_ra: 2, was 1`),
      '/proc/sys/net/ipv6/conf/all/forwarding: 1, was 0',
      `network device ${here.deviceName}: the tunnel`,
      `network device ${here.deviceName}u: queues what peers send`,
    ])
    expect(await readMachineState(here)).not.toBe(before)
    await here.node.ask('close')
    expect(await readMachineState(here)).toBe(before)
    expect(readChanges(here.folder)).toBeUndefined()
  })

  test('the next start of a VPN node takes over the changes of a killed one, and its stop reverts them', async () => {
    const { scene: here, before } = await openUndone()
    await openNode(here)
    await here.node.ask('apply', { peers: [limited] })
    await here.node.kill()
    // The tunnel ends with the node that managed it, because expiry needs a running node.
    await until(
      'wireguard-go',
      async () => !(await here.net.inside(here.net.node, ['ip', 'link'])).includes(`${here.deviceName}:`),
    )
    expect(readChanges(here.folder)).toMatchObject({ runs: false })
    const node = await here.net.start(here.net.node)
    await openNode({ ...here, node })
    expect(await node.ask<unknown[]>('log')).toContainEqual(
      expect.objectContaining({ event: 'firewall and sessions taken over' }),
    )
    await node.ask('close')
    expect(await readMachineState(here)).toBe(before)
    expect(readChanges(here.folder)).toBeUndefined()
  })

  test('a VPN node that is closed for a restart keeps its firewall and no device, and a later stop reverts all', async () => {
    const { scene: here, before } = await openUndone()
    await openNode(here)
    await here.node.ask('apply', { peers: [limited] })
    const rules = () => here.net.inside(here.net.node, ['nft', 'list', 'ruleset'])
    const during = await rules()
    await here.node.ask('close', { restarts: true })
    expect(await rules()).toBe(during)
    expect(await here.net.inside(here.net.node, ['ip', 'link'])).not.toContain(here.deviceName)
    const renamed = { ...here, deviceName: `r${here.net.tag}` }
    await openNode(renamed)
    expect(await rules()).toBe(during.replaceAll(here.deviceName, renamed.deviceName))
    await here.node.ask('close')
    expect(await readMachineState(here)).toBe(before)
    expect(readChanges(here.folder)).toBeUndefined()
  })

  test('a second VPN node in the same folder is refused and changes nothing', async () => {
    const opened = await openScene()
    scene = opened
    const during = await readMachineState(opened)
    const second = await opened.net.start(opened.net.node)
    expect(await problemOf(openNode({ ...opened, node: second }))).toContain('runs here already')
    expect(await readMachineState(opened)).toBe(during)
  })

  test('a VPN node refuses to start when a device of its name exists, and changes nothing', async () => {
    const { scene: here } = await openUndone()
    await here.net.inside(here.net.node, ['ip', 'tuntap', 'add', 'dev', here.deviceName, 'mode', 'tun'])
    const before = await readMachineState(here)
    expect(await problemOf(openNode(here))).toContain('Another program made the network device')
    expect(await readMachineState(here)).toBe(before)
    expect(readChanges(here.folder)).toBeUndefined()
  })

  test('a VPN node without CAP_NET_ADMIN changes nothing, and its refusal names the missing right', async () => {
    const { scene: here, before } = await openUndone()
    const weak = startNamespaceWorker(here.net.node, [
      'setpriv',
      '--bounding-set',
      '-net_admin',
      '--inh-caps',
      '-net_admin',
    ])
    here.net.atEnd(() => weak.end())
    expect(await problemOf(openNode({ ...here, node: weak }))).toMatch(/CAP_NET_ADMIN\)\. Run it as root/)
    expect(await readMachineState(here)).toBe(before)
    expect(readChanges(here.folder)).toBeUndefined()
  })

  test('a failed start of wireguard-go is reported with its reason and without its banner', async () => {
    const { scene: here } = await openUndone()
    const plan = { name: 'a-name-that-is-too-long', setup: here.setup, networks: [] }
    const changes = createChanges(here.folder, here.deviceName)
    const withoutKernel = async () => ({ code: 1, out: '', err: 'Operation not supported' })
    const problem = await problemOf(openDevice(plan, changes, withoutKernel, { error() {}, warn() {}, info() {} }))
    expect(problem).toMatch(/^Error: wireguard-go did not start: ERROR: .*interface name too long[^\n]*$/)
  })
})

const problemOf = (opening: Promise<unknown>): Promise<string> =>
  opening.then(
    () => 'none',
    (error: unknown) => String(error),
  )

/** With a speed limit, so that queues exist too. */
const limited = {
  id: 'vpn_limited',
  public_key: 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=',
  allowed: ['10.66.0.9/32', 'fd74:7572:6e70::a42:9/128'],
  state: 'up',
  expires_at: 4_000_000_000_000,
  speed_mbit: 10,
  left: null,
}
