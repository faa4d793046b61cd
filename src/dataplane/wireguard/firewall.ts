import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { formatPrefix, type Prefix, withoutNested } from '../../core/address.ts'
import { mailPorts, specialPrefixes } from '../../core/reserved.ts'
import type { NodeLog } from '../agent/runtime.ts'
import { type MachineChange, type MachineChanges, undoChanges, writeSetting } from './changes.ts'
import type { TunnelAddress } from './desired.ts'
import { must, type RunProgram } from './run.ts'

type FirewallPlan = {
  readonly device: string
  readonly networks: readonly TunnelAddress[]
  /** Before the node's changes. */
  readonly forwarding: Forwarding
  readonly limits: ConnectionLimits
}

/** Limits of one device's tracked connections, for IPv4 and for IPv6 each. */
export type ConnectionLimits = {
  readonly inAll: number
  readonly perDestination: number
  readonly newPerSecond: number
}

/** Devices share the node's address, so each takes its source ports from one of these parts of 1024 to 65535. */
const portShares = 16
const firstPort = 1024
export const portsPerShare = (65_536 - firstPort) / portShares
/** A burst of new connections: several pages that a browser opens at once. */
const burstSeconds = 4
/** An IPv4 pool has up to 2^24 addresses; a set grows with the devices that send. */
const maxDevices = 1 << 24
/** Pairs of device and destination. A pair is removed within seconds of its last connection. */
const maxPairs = 1 << 20

const tableOf = (device: string): string => `turnpike_vpn_${device.replaceAll('-', '_')}`
/** Apart from the rules: `nft list table` reads all elements of the sets of a table, 60,000 in half a second. */
const limitsTableOf = (device: string): string => `${tableOf(device)}_limits`

/** The node's nftables tables, replaced together in one transaction. Drops by other tables still apply. */
export const toRuleset = (plan: FirewallPlan): string =>
  [tableOf(plan.device), limitsTableOf(plan.device)]
    .map((table) => `add table inet ${table}\ndelete table inet ${table}\n`)
    .concat(toRules(plan), toLimitsTable(plan))
    .join('')

function toRules({ device, networks, forwarding }: FirewallPlan): string {
  return `table inet ${tableOf(device)} {
${toSets(4, networks)}
${toSets(6, networks)}

  # Nothing on the node itself is there for its peers, at whichever of its addresses.
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "${device}" drop
  }

  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "${device}" jump from_tunnel
    oifname "${device}" jump to_tunnel
    ip daddr @tunnel4 drop comment "the tunnel is down while the node restarts"
    ip6 daddr @tunnel6 drop
${forwarding.v4 ? '' : `    meta nfproto ipv4 drop comment "this machine did not forward before the node came"\n`}${
  forwarding.v6 === false
    ? `    meta nfproto ipv6 drop comment "this machine did not forward before the node came"\n`
    : ''
}  }

  chain from_tunnel {
    oifname "${device}" goto refuse
    ip daddr @special4 goto refuse
    ip6 daddr != 2000::/3 goto refuse
    ip6 daddr @special6 goto refuse
    meta l4proto { tcp, udp } th dport { ${mailPorts.join(', ')} } goto refuse
    ip saddr @tunnel4 accept
    ip6 saddr @tunnel6 accept
    drop
  }

  # An answer, so that programs give up at once. The kernel sends few ICMP messages a second, but any number of resets.
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject with icmpx type admin-prohibited
  }

  chain to_tunnel {
    ct state established,related accept
    drop
  }

${toTranslation(device)}
}
`
}

/** Sees the packets that the other table lets pass, and of these only the first packet of each connection. */
const toLimitsTable = ({ device, limits }: FirewallPlan): string => `table inet ${limitsTableOf(device)} {
${toCountingSets(4)}
${toCountingSets(6)}

  # The rate comes first: it bounds what counting costs during a flood.
  chain new_connection {
    type filter hook forward priority filter + 1; policy accept;
    iifname != "${device}" accept
    ct status confirmed accept
${toLimits(4, limits)}
${toLimits(6, limits)}
  }
}
`

/** All devices leave from the node's address, each with ports of its share. */
const toTranslation = (device: string): string => `  chain leaving {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "${device}" return
    ip saddr @tunnel4 ip saddr & ${sharesMask(4)} vmap { ${toShareMap(4)} }
    ip6 saddr @tunnel6 ip6 saddr & ${sharesMask(6)} vmap { ${toShareMap(6)} }
    ip saddr @tunnel4 masquerade
    ip6 saddr @tunnel6 masquerade
  }

${shareNumbers.map(toShareChain).join('\n')}`

const shareNumbers = Array.from({ length: portShares }, (_, share) => share)

/** A device's share is the last four bits of its address, equal in IPv4 and IPv6, so neighbours have different ones. */
const shareAddress = (version: 4 | 6, share: number): string =>
  version === 4 ? `0.0.0.${share}` : `::${share.toString(16)}`
const sharesMask = (version: 4 | 6): string => shareAddress(version, portShares - 1)
const toShareMap = (version: 4 | 6): string =>
  shareNumbers.map((share) => `${shareAddress(version, share)} : jump ports_${share}`).join(', ')

/** A chain per share: nft 1.0.6 loses the end of a port range that is in a map. */
function toShareChain(share: number): string {
  const first = firstPort + share * portsPerShare
  return `  chain ports_${share} { meta l4proto { tcp, udp } masquerade to :${first}-${first + portsPerShare - 1}; }`
}

function toSets(version: 4 | 6, networks: readonly TunnelAddress[]): string {
  const type = `ipv${version}_addr`
  const own = networks.map((each) => each.network).filter((network) => network.base.version === version)
  return `${toSet(`tunnel${version}`, type, own)}
${toSet(`special${version}`, type, withoutNested(specialPrefixes(version)))}`
}

function toCountingSets(version: 4 | 6): string {
  const type = `ipv${version}_addr`
  return `  set rate${version} { type ${type}; size ${maxDevices}; flags dynamic,timeout; timeout 1m; }
  set held${version} { type ${type}; size ${maxDevices}; flags dynamic; }
  set pairs${version} { type ${type} . ${type}; size ${maxPairs}; flags dynamic; }`
}

function toLimits(version: 4 | 6, { inAll, perDestination, newPerSecond }: ConnectionLimits): string {
  const ip = version === 4 ? 'ip' : 'ip6'
  const burst = newPerSecond * burstSeconds
  return `    update @rate${version} { ${ip} saddr limit rate over ${newPerSecond}/second burst ${burst} packets } drop
    add @pairs${version} { ${ip} saddr . ${ip} daddr ct count over ${perDestination} } drop
    add @held${version} { ${ip} saddr ct count over ${inAll} } drop`
}

export type Firewall = Awaited<ReturnType<typeof raiseFirewall>>

export async function raiseFirewall(plan: FirewallPlan, changes: MachineChanges, run: RunProgram, log: NodeLog) {
  const [name, limitsName] = [tableOf(plan.device), limitsTableOf(plan.device)]
  const load = () => must(run, ['nft', '-f', '-'], toRuleset(plan))
  // The limits change with every connection, so only the presence of their chain is checked.
  const list = async () => {
    const chains = await must(run, ['nft', 'list', 'chains', 'inet'])
    const rules = await must(run, ['nft', 'list', 'table', 'inet', name])
    return { rules, hasLimits: chains.includes(`table inet ${limitsName} {\n\tchain new_connection`) }
  }
  changes.note({ kind: 'table', name }, { kind: 'table', name: limitsName })
  await load()
  const loaded = await list()
  // The operator may have renamed the device between two runs.
  for (const change of changes.list()) {
    if (change.kind !== 'table' || change.name === name || change.name === limitsName) continue
    await undoChanges([change], run)
    changes.strike(change)
  }
  return {
    /**
     * Loads both tables again if another program has removed or changed one: Debian's nftables.conf begins with `flush
     * ruleset`. False if that fails: then no peer may pass.
     */
    async keep(): Promise<boolean> {
      if (Bun.deepEquals(await list().catch(() => undefined), loaded)) return true
      try {
        await load()
        log.error('another program had removed or changed the firewall: it is loaded again', { table: name })
        return true
      } catch (error) {
        log.error('the firewall is gone and cannot be loaded: all peers are held', { table: name, error })
        return false
      }
    },
  }
}

/** An interval set must not contain nested blocks. */
function toSet(name: string, type: string, prefixes: readonly Prefix[]): string {
  const elements = prefixes.length === 0 ? '' : ` elements = { ${prefixes.map(formatPrefix).join(', ')} }`
  return `  set ${name} { type ${type}; flags interval;${elements} }`
}

const net = '/proc/sys/net'

/** Whether the machine forwards packets; undefined without that protocol. */
type Forwarding = { readonly v4: boolean; readonly v6: boolean | undefined }

/** Without the changes that a previous run has left to this one. */
export function readForwarding(kept: readonly MachineChange[] = []): Forwarding {
  const [path4, path6] = [`${net}/ipv4/ip_forward`, `${net}/ipv6/conf/all/forwarding`]
  const isOn = (path: string) =>
    read(path) === '1' && !kept.some((each) => each.kind === 'setting' && each.path === path && each.before === '0')
  return { v4: isOn(path4), v6: existsSync(path6) ? isOn(path6) : undefined }
}

type Setting = Extract<MachineChange, { kind: 'setting' }>

/** Turns IP forwarding on. When the node stops, settings that the kernel changed with it are restored last. */
export function turnOnForwarding(changes: MachineChanges): void {
  const { v4, v6 } = readForwarding()
  const settings = [...(v4 ? [] : plan4()), ...(v6 === false ? plan6() : [])]
  changes.note(...settings)
  for (const { path, before, after } of settings) if (before !== after) writeSetting(path, after)
}

const plan4 = (): Setting[] => [
  ...kept(`${net}/ipv4/conf/all/accept_redirects`, '0'),
  ...devicesOf('ipv4').flatMap((device) => kept(`${net}/ipv4/conf/${device}/forwarding`, '1')),
  ...changed(`${net}/ipv4/ip_forward`, '0', '1'),
]

/** A forwarding machine ignores router advertisements, and loses its default route, unless accept_ra is 2. */
const plan6 = (): Setting[] => [
  ...devicesOf('ipv6').flatMap((device) => [
    ...kept(`${net}/ipv6/conf/${device}/forwarding`, '1'),
    ...(device === 'default' ? [] : changed(`${net}/ipv6/conf/${device}/accept_ra`, '1', '2')),
  ]),
  ...changed(`${net}/ipv6/conf/all/forwarding`, '0', '1'),
]

/** A setting with another value is the operator's and stays. */
const changed = (path: string, before: string, after: string): Setting[] =>
  read(path) === before ? [{ kind: 'setting', path, before, after }] : []

/** Changed by the kernel as a side effect. */
const kept = (path: string, value: string): Setting[] => changed(path, value, value)

const devicesOf = (family: string): string[] =>
  readdirSync(`${net}/${family}/conf`).filter((name) => name !== 'all' && name !== 'lo')

const read = (path: string): string => readFileSync(path, 'utf8').trim()
