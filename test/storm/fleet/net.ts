import { existsSync, writeFileSync } from 'node:fs'
import { run } from '../../harness/apt.ts'
import { batch, removeLeftovers } from '../../harness/netns.ts'
import { enterOwnNetwork } from '../../harness/own-network.ts'

/** Public addresses, because gateways reach no others; no packet leaves its namespaces. */
export const netAddresses = { shop: '45.20.0.1', origin: '45.20.0.2' } as const

/** One machine with a gateway: its own namespace, and its initial addresses. */
export type Machine = {
  readonly name: string
  readonly namespace: string
  /** Its address for customers. */
  readonly host: string
  readonly link: string
  /** Ranges of eight addresses, none adjacent, so that each can be moved alone. */
  readonly prefixes: readonly string[]
  /** Exit addresses of premium traffic. */
  readonly exits: readonly string[]
}

const rangeSize = 8
const rangesOfBlock = 12
const exitsOfMachine = 2
/** Every gateway tries every exit, so a large fleet has fewer of them. */
const smallFleet = 6

/** The reason why this machine cannot run a fleet, or undefined. */
export async function findFleetObstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'it needs Linux'
  if (process.getuid?.() !== 0) return 'it needs root, for network namespaces'
  const missing = ['ip', 'nft', 'setpriv'].filter((name) => Bun.which(name) === null)
  if (missing.length > 0) return `it needs ${missing.join(' and ')} (iproute2, nftables, util-linux)`
  const name = `tpt${process.pid}-try`
  const added = await run(['ip', 'netns', 'add', name])
  await run(['ip', 'netns', 'delete', name])
  return added.code === 0 ? undefined : `no network namespace can be made (${added.err.trim()})`
}

/** The eight addresses of a range. */
export function addressesOf(prefix: string): string[] {
  const [a = '', b = '', c = '', d = ''] = prefix.split(/[./]/)
  return Array.from({ length: rangeSize }, (_, at) => `${a}.${b}.${c}.${Number(d) + at}`)
}

/** The range that an address is in. */
export function rangeOf(address: string): string {
  const [a = '', b = '', c = '', d = ''] = address.split('.')
  return `${a}.${b}.${c}.${Number(d) - (Number(d) % rangeSize)}/29`
}

function planMachine(number: number, ranges: number, exits: number): Machine {
  const prefixes = Array.from({ length: ranges }, (_, index) => {
    const [block, at] = [Math.floor(index / rangesOfBlock), index % rangesOfBlock]
    return `45.${21 + block}.${number}.${at * 2 * rangeSize}/29`
  })
  return {
    name: `gateway-${number}`,
    namespace: `tpt${process.pid}-fleet-${number}`,
    host: `45.20.${number}.2`,
    link: `g${number}`,
    prefixes,
    exits: Array.from({ length: exits }, (_, at) => `45.21.${number}.${248 + at}`),
  }
}

/**
 * The process's thread in its own network, with shops, customers and the origin, and machines around it, each on its
 * own link. All faults of links and addresses are made here. Needs root.
 */
export class FleetNet {
  private readonly at = new Map<string, Machine>()
  private readonly lost = new Set<string>()

  private constructor(readonly machines: readonly Machine[]) {
    for (const machine of machines) for (const prefix of machine.prefixes) this.at.set(prefix, machine)
  }

  static async open(count: number, ranges: number): Promise<FleetNet> {
    await removeLeftovers()
    enterOwnNetwork()
    const exits = count > smallFleet ? 1 : exitsOfMachine
    const net = new FleetNet(Array.from({ length: count }, (_, at) => planMachine(at + 1, ranges, exits)))
    try {
      await net.lay()
      return net
    } catch (error) {
      await net.close()
      throw error
    }
  }

  /** The machine that has an address, or would have it if it were not lost. */
  machineOf(address: string): Machine | undefined {
    return (
      this.at.get(rangeOf(address)) ??
      this.machines.find(({ host, exits }) => host === address || exits.includes(address))
    )
  }

  prefixesAt(machine: Machine): string[] {
    return [...this.at].filter(([, each]) => each === machine).map(([prefix]) => prefix)
  }

  /** Removes an address from its machine, as a mistyped command does. */
  async lose(address: string): Promise<void> {
    this.lost.add(address)
    await batch([`address del ${address}/32 dev lo`], this.machineOf(address)?.namespace)
  }

  async restore(address: string): Promise<void> {
    this.lost.delete(address)
    await batch([`address add ${address}/32 dev lo`], this.machineOf(address)?.namespace)
  }

  /** Cuts a machine from the shops; customers and other machines still reach it. */
  cut(machine: Machine): Promise<void> {
    return filter(`add element inet fleet cut { "${machine.link}" }`)
  }

  heal(machine: Machine): Promise<void> {
    return filter(`delete element inet fleet cut { "${machine.link}" }`)
  }

  unplug(machine: Machine): Promise<void> {
    return batch([`link set dev ${machine.link} down`])
  }

  async plug(machine: Machine): Promise<void> {
    await batch([`link set dev ${machine.link} up`])
    await batch(this.prefixesAt(machine).map((prefix) => routeTo(prefix, machine)))
    await batch(machine.exits.map((exit) => routeTo(`${exit}/32`, machine)))
  }

  /** Moves a range from one machine to another, as when its route changes. */
  async move(prefix: string, to: Machine): Promise<void> {
    const from = this.at.get(prefix)
    const kept = addressesOf(prefix).filter((address) => !this.lost.has(address))
    await batch(
      kept.map((address) => `address del ${address}/32 dev lo`),
      from?.namespace,
    )
    this.at.set(prefix, to)
    await batch(
      kept.map((address) => `address add ${address}/32 dev lo`),
      to.namespace,
    )
    await batch([routeTo(prefix, to)])
  }

  async close(): Promise<void> {
    for (const { namespace } of this.machines) await run(['ip', 'netns', 'delete', namespace])
  }

  /** The same, synchronously: for a process that ends. */
  abandon(): void {
    for (const { namespace } of this.machines) {
      if (existsSync(`/run/netns/${namespace}`)) Bun.spawnSync(['ip', 'netns', 'delete', namespace])
    }
  }

  private async lay(): Promise<void> {
    writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
    await batch(Object.values(netAddresses).map((address) => `address add ${address}/32 dev lo`))
    for (const [at, machine] of this.machines.entries()) {
      const here = `45.20.${at + 1}.1`
      await batch([`netns add ${machine.namespace}`])
      await batch([`link add ${machine.link} type veth peer name up0 netns ${machine.namespace}`])
      await batch([`address add ${here}/30 dev ${machine.link}`, `link set dev ${machine.link} up`])
      const own = [...machine.prefixes.flatMap(addressesOf), ...machine.exits]
      await batch(
        [
          'link set dev lo up',
          `address add ${machine.host}/30 dev up0`,
          'link set dev up0 up',
          `route add default via ${here}`,
          ...own.map((address) => `address add ${address}/32 dev lo`),
        ],
        machine.namespace,
      )
      await this.plug(machine)
    }
    await filter(
      [
        'add table inet fleet',
        'add set inet fleet cut { type ifname; }',
        'add chain inet fleet in { type filter hook input priority 0; }',
        'add chain inet fleet out { type filter hook output priority 0; }',
        `add rule inet fleet in iifname @cut ip daddr ${netAddresses.shop} drop`,
        `add rule inet fleet out oifname @cut ip saddr ${netAddresses.shop} drop`,
      ].join('\n'),
    )
  }
}

const routeTo = (prefix: string, machine: Machine): string => `route replace ${prefix} via ${machine.host}`

async function filter(lines: string): Promise<void> {
  const { code, err } = await run(['nft', '-f', '-'], `${lines}\n`)
  if (code !== 0) throw new Error(`the filter was not set: ${err.trim()}`)
}
