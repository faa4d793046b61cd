import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { formatPrefix, type Prefix, withoutNested } from '../../core/address.ts'
import { mailPorts, specialPrefixes } from '../../core/reserved.ts'
import { type MachineChange, type MachineChanges, undoChanges, writeSetting } from './changes.ts'
import type { TunnelAddress } from './desired.ts'
import { must, type RunProgram } from './run.ts'

type FirewallPlan = {
  readonly device: string
  readonly networks: readonly TunnelAddress[]
  /** Before the node's changes. */
  readonly forwarding: Forwarding
}

const tableOf = (device: string): string => `turnpike_vpn_${device.replaceAll('-', '_')}`

/** The node's nftables table, replaced atomically. Drops by other tables still apply. */
export function toRuleset({ device, networks, forwarding }: FirewallPlan): string {
  const table = tableOf(device)
  const own = (version: 4 | 6) => networks.filter(({ network }) => network.base.version === version)
  return `add table inet ${table}
delete table inet ${table}
table inet ${table} {
${toSet('tunnel4', 'ipv4_addr', prefixesOf(own(4)))}
${toSet('tunnel6', 'ipv6_addr', prefixesOf(own(6)))}
${toSet('special4', 'ipv4_addr', withoutNested(specialPrefixes(4)))}
${toSet('special6', 'ipv6_addr', withoutNested(specialPrefixes(6)))}

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

  chain leaving {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "${device}" return
    ip saddr @tunnel4 masquerade
    ip6 saddr @tunnel6 masquerade
  }
}
`
}

export async function raiseFirewall(plan: FirewallPlan, changes: MachineChanges, run: RunProgram): Promise<void> {
  const name = tableOf(plan.device)
  changes.note({ kind: 'table', name })
  await must(run, ['nft', '-f', '-'], toRuleset(plan))
  // The operator may have renamed the device between two runs.
  for (const change of changes.list()) {
    if (change.kind !== 'table' || change.name === name) continue
    await undoChanges([change], run)
    changes.strike(change)
  }
}

const prefixesOf = (networks: readonly TunnelAddress[]): Prefix[] => networks.map((each) => each.network)

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
