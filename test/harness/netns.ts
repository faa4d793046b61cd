import { existsSync } from 'node:fs'
import { installPackages, run } from './apt.ts'
import { type NamespaceWorker, startNamespaceWorker } from './namespace.ts'

const programs = {
  wg: 'wireguard-tools',
  'wireguard-go': 'wireguard-go',
  nft: 'nftables',
  tc: 'iproute2',
  ip: 'iproute2',
}

let obstacle: Promise<string | undefined> | undefined

/**
 * The reason why tunnels cannot be tested on this machine, or undefined. Missing programs are installed if possible.
 */
export function findObstacle(): Promise<string | undefined> {
  obstacle ??= searchObstacle()
  return obstacle
}

async function searchObstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'they need Linux'
  if (process.getuid?.() !== 0) return 'they need root, for network namespaces'
  const missing = Object.entries(programs).filter(([name]) => Bun.which(name) === null)
  if (missing.length > 0) {
    const packages = [...new Set(missing.map(([, name]) => name))]
    const problem = await installPackages(packages)
    if (problem !== undefined) return `without ${packages.join(', ')}, and ${problem}`
  }
  if (!existsSync('/dev/net/tun')) return 'there is no /dev/net/tun'
  const name = `tpt${process.pid}-try`
  const added = await run(['ip', 'netns', 'add', name])
  if (added.code !== 0) return `no network namespace can be made (${added.err.trim()})`
  const tun = await run(['ip', '-n', name, 'tuntap', 'add', 'dev', 'try', 'mode', 'tun'])
  await run(['ip', 'netns', 'delete', name])
  return tun.code === 0 ? undefined : `no TUN device can be made (${tun.err.trim()})`
}

/**
 * Addresses of the test network. They are public, because a node refuses private destinations; no packet leaves its
 * namespaces.
 */
export const netAddresses = {
  endpoint: '45.13.0.1',
  node4: '45.12.0.1',
  node6: '2a0c:aaaa::1',
  origin4: '45.12.0.2',
  origin6: '2a0c:aaaa::2',
  private4: '192.168.77.2',
  private6: 'fd00:77::2',
  metadata: '169.254.169.254',
} as const

export type Net = {
  /** Distinguishes this net's devices from others: sockets of wireguard-go share one folder. */
  readonly tag: string
  readonly node: string
  readonly clients: readonly [string, string]
  readonly origin: string
  /** Runs a program in one of the namespaces; a non-zero exit is an error. */
  inside(namespace: string, command: readonly string[], input?: string): Promise<string>
  /** Starts the worker in one of the namespaces. */
  start(namespace: string): Promise<NamespaceWorker>
  /** Registers a cleanup action of a test. */
  atEnd(action: () => unknown): void
  close(): Promise<void>
}

let opened = 0

/** A node between two clients and an origin, in four private namespaces. */
export async function openNet(): Promise<Net> {
  await removeLeftovers()
  opened += 1
  const tag = `${process.pid.toString(36)}${opened.toString(36)}`
  const name = (part: string) => `tpt${process.pid}-${opened}-${part}`
  const [node, a, b, origin] = [name('node'), name('a'), name('b'), name('origin')]
  const undo: (() => unknown)[] = []
  const inside = async (namespace: string, command: readonly string[], input?: string) => {
    const outcome = await run(['ip', 'netns', 'exec', namespace, ...command], input)
    if (outcome.code !== 0) throw new Error(`${command.join(' ')} in ${namespace} failed: ${outcome.err.trim()}`)
    return outcome.out
  }
  const net: Net = {
    tag,
    node,
    clients: [a, b],
    origin,
    inside,
    async start(namespace) {
      const worker = startNamespaceWorker(namespace)
      undo.push(() => worker.end())
      await worker.ask('hello')
      return worker
    },
    atEnd: (action) => void undo.push(action),
    async close() {
      for (let action = undo.pop(); action; action = undo.pop()) await action()
      for (const each of [node, a, b, origin]) await run(['ip', 'netns', 'delete', each])
    },
  }
  try {
    await lay(net)
  } catch (error) {
    await net.close()
    throw error
  }
  return net
}

async function lay(net: Net): Promise<void> {
  const { node, origin } = net
  const [a, b] = net.clients
  await batch([node, a, b, origin].map((each) => `netns add ${each}`))
  // A new namespace copies the IPv4 settings of the machine, which may be a router.
  await net.inside(node, ['sysctl', '-q', '-w', 'net.ipv4.ip_forward=0'])
  await batch([
    `link add u1 netns ${node} type veth peer name u0 netns ${a}`,
    `link add u2 netns ${node} type veth peer name u0 netns ${b}`,
    `link add w0 netns ${node} type veth peer name w0 netns ${origin}`,
  ])
  const up = (...links: string[]) => ['lo', ...links].map((link) => `link set dev ${link} up`)
  await batch(
    [
      ...up('u1', 'u2', 'w0'),
      `address add ${netAddresses.endpoint}/32 dev lo`,
      'address add 172.30.1.1/30 dev u1',
      'address add 172.30.2.1/30 dev u2',
      `address add ${netAddresses.node4}/24 dev w0`,
      `address add ${netAddresses.node6}/64 dev w0 nodad`,
      'address add 192.168.77.1/24 dev w0',
      'address add fd00:77::1/64 dev w0 nodad',
      `route add ${netAddresses.metadata}/32 via ${netAddresses.origin4}`,
    ],
    node,
  )
  for (const [index, client] of [a, b].entries()) {
    await batch(
      [
        ...up('u0'),
        `address add 172.30.${index + 1}.2/30 dev u0`,
        `route add ${netAddresses.endpoint}/32 via 172.30.${index + 1}.1`,
      ],
      client,
    )
  }
  await batch(
    [
      ...up('w0'),
      `address add ${netAddresses.origin4}/24 dev w0`,
      `address add ${netAddresses.origin6}/64 dev w0 nodad`,
      `address add ${netAddresses.private4}/24 dev w0`,
      `address add ${netAddresses.private6}/64 dev w0 nodad`,
      `address add ${netAddresses.metadata}/32 dev lo`,
      // The return route for packets without the node's address: a leak is seen and not lost.
      `route add 10.66.0.0/16 via ${netAddresses.node4}`,
      `route add fd74:7572:6e70::/64 via ${netAddresses.node6}`,
    ],
    origin,
  )
}

/** Runs lines of `ip`, in a namespace if one is named. */
export async function batch(lines: readonly string[], namespace?: string): Promise<void> {
  const command = ['ip', ...(namespace === undefined ? [] : ['-n', namespace]), '-batch', '-']
  const { code, err } = await run(command, `${lines.join('\n')}\n`)
  if (code !== 0) throw new Error(`the net could not be laid: ${err.trim()}`)
}

/** Removes namespaces of a killed run: their names begin with its pid. */
export async function removeLeftovers(): Promise<void> {
  const { out } = await run(['ip', 'netns', 'list'])
  for (const [, name = '', pid = ''] of out.matchAll(/^(tpt(\d+)-\S+)/gm)) {
    if (!existsSync(`/proc/${pid}`)) await run(['ip', 'netns', 'delete', name])
  }
}
