import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shippedVpn } from '../../src/app/settings/vpn.ts'
import { socketPath } from '../../src/dataplane/wireguard/changes.ts'
import { isListening } from '../../src/dataplane/wireguard/device.ts'
import type { ConnectionLimits } from '../../src/dataplane/wireguard/firewall.ts'
import { configText, type Peer } from '../../src/domains/vpn/rules.ts'
import type { VpnSetup } from '../../src/node-protocol/join.ts'
import type { NodePeer } from '../../src/node-protocol/state.ts'
import type { NamespaceWorker } from './namespace.ts'
import { type Net, netAddresses, openNet } from './netns.ts'
import { waitLimitMs } from './until.ts'
import { readConf, wgPrivateKey, wgPublicKey, wgQuickStrip } from './wireguard.ts'

const listenPort = 51_820

/** One customer's device: the node's record of it, and the customer's configuration. */
export type Customer = { readonly peer: NodePeer; readonly config: string }

/** A device as the shop sells it: its configuration is the text that the API returns. */
export async function makeCustomer(index: number, nodePublicKey: string): Promise<Customer> {
  const privateKey = await wgPrivateKey()
  const peer: Pick<Peer, 'id' | 'name' | 'publicKey' | 'ipv4' | 'ipv6'> = {
    id: `vpn_device_${index}` as Peer['id'],
    name: `device ${index}`,
    publicKey: await wgPublicKey(privateKey),
    ipv4: BigInt(0x0a420002 + index),
    ipv6: `fd74:7572:6e70::a42:${(2 + index).toString(16)}`,
  }
  const node = { name: 'node', publicKey: nodePublicKey, endpoint: { host: netAddresses.endpoint, port: listenPort } }
  return {
    config: configText(peer, privateKey, node, shippedVpn.tunnel),
    peer: {
      id: peer.id,
      public_key: peer.publicKey,
      allowed: [`10.66.0.${2 + index}/32`, `${peer.ipv6}/128`],
      state: 'up',
      expires_at: Date.now() + 86_400_000,
      speed_mbit: null,
      left: null,
    },
  }
}

/** Devices without clients. Any 32 bytes below the prime are a valid public key. */
export const makePeers = (count: number): NodePeer[] =>
  Array.from({ length: count }, (_, index) => {
    const key = Buffer.from(new Bun.SHA256().update(`device ${index}`).digest('hex'), 'hex')
    key[31] = (key[31] ?? 0) & 63
    const [high, low] = [(index >> 8) + 1, index & 255]
    return {
      id: `vpn_many_${index}`,
      public_key: key.toString('base64'),
      allowed: [`10.66.${high}.${low}/32`, `fd74:7572:6e70::a42:${((high << 8) | low).toString(16)}/128`],
      state: 'up',
      expires_at: 4_000_000_000_000,
      speed_mbit: null,
      left: null,
    }
  })

export async function makeSetup(): Promise<{ setup: VpnSetup; publicKey: string }> {
  const privateKey = await wgPrivateKey()
  const addresses = ['10.66.0.1/16', 'fd74:7572:6e70::1/64']
  return {
    setup: { private_key: privateKey, listen_port: listenPort, mtu: shippedVpn.tunnel.mtu, addresses },
    publicKey: await wgPublicKey(privateKey),
  }
}

/** A node with an origin behind it and a worker in its namespace, without peers. */
export type Scene = {
  readonly net: Net
  readonly node: NamespaceWorker
  readonly origin: NamespaceWorker
  readonly deviceName: string
  readonly folder: string
  readonly setup: VpnSetup
  readonly publicKey: string
}

export async function openScene(): Promise<Scene> {
  const net = await openNet()
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-vpn-'))
  net.atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const { setup, publicKey } = await makeSetup()
  const origin = await net.start(net.origin)
  await origin.ask('serve', { ports: [25, 80, 465, 587, 2525, 8080] })
  const node = await net.start(net.node)
  const deviceName = `n${net.tag}`
  const scene = { net, node, origin, deviceName, folder, setup, publicKey }
  await openNode(scene)
  return scene
}

/** Starts the node in the worker; a test that killed the first worker passes another. */
export const openNode = (
  { node, deviceName, folder, setup }: Pick<Scene, 'deviceName' | 'folder' | 'setup' | 'node'>,
  limits?: ConnectionLimits,
): Promise<string> => node.ask('open', { deviceName, folder, setup, limits })

export type Client = {
  readonly namespace: string
  readonly device: string
  readonly worker: NamespaceWorker
  connect(): Promise<void>
}

/**
 * Configures a client as `wg-quick` does: `wg setconf` with the stripped text, addresses, MTU and routes. Then it
 * performs the handshake.
 */
export async function openClient(net: Net, index: 0 | 1, config: string): Promise<Client> {
  const namespace = net.clients[index]
  const device = `c${index}${net.tag}`
  await startWireguardGo(net, namespace, device)
  const stripped = await wgQuickStrip(config)
  const { Address = '', MTU = '' } = readConf(config)['Interface'] ?? {}
  const addresses = Address.split(', ').map(
    (each) => `address add ${each} dev ${device}${each.includes(':') ? ' nodad' : ''}`,
  )
  const ip = (lines: readonly string[]) => net.inside(namespace, ['ip', '-batch', '-'], `${lines.join('\n')}\n`)
  const connect = async () => void (await net.inside(namespace, ['wg', 'setconf', device, '/dev/stdin'], stripped))
  await connect()
  await ip([
    ...addresses,
    `link set dev ${device} mtu ${MTU} up`,
    `route add default dev ${device}`,
    `route add ::/0 dev ${device}`,
  ])
  return { namespace, device, worker: await net.start(namespace), connect }
}

/** A wireguard-go process that lives as long as the test. */
export async function startWireguardGo(net: Net, namespace: string, device: string): Promise<void> {
  const command = ['ip', 'netns', 'exec', namespace, 'setpriv', '--pdeathsig', 'KILL', 'wireguard-go', '-f', device]
  const child = Bun.spawn(command, {
    env: { ...process.env, LOG_LEVEL: 'error' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  net.atEnd(async () => {
    child.kill('SIGTERM')
    await child.exited
  })
  await until(`wireguard-go for ${device}`, async () => {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`wireguard-go for ${device} has ended: ${await child.stderr.text()}`)
    }
    return isListening(socketPath(device))
  })
}

/** Polls until the condition holds. */
export async function until(
  what: string,
  isSo: () => Promise<boolean> | boolean,
  withinMs = waitLimitMs,
): Promise<number> {
  const beganMs = performance.now()
  while (!(await isSo())) {
    if (performance.now() - beganMs > withinMs) throw new Error(`${what}: not within ${withinMs} ms`)
    await Bun.sleep(25)
  }
  return performance.now() - beganMs
}
