import { type Address, contains, isWithinSorted, type Prefix, unmap } from '../../../core/address.ts'
import { classify, mailPorts } from '../../../core/reserved.ts'

export type Denial = 'port_denied' | 'destination_not_public' | 'destination_is_ours' | 'destination_denied'

/** Allowed ranges, minus denied ports. */
export type PortPolicy = {
  readonly allow: readonly { readonly from: number; readonly to: number }[]
  readonly deny: ReadonlySet<number>
}

/** Hosts with their ports and last known addresses, and resolvers that may be asked for these hosts. */
export type Grace = {
  readonly hosts: readonly {
    readonly host: string
    readonly ports: readonly number[]
    readonly prefixes: readonly Prefix[]
  }[]
  readonly resolvers: readonly Prefix[]
}

export type Policy = {
  /** Sandbox only. */
  readonly allowLoopback: boolean
  /** For tests: destinations on this machine are reachable. */
  readonly allowLocalDelivery?: boolean
  /** Interface addresses, ranges and exits, sorted by withoutNested; routes tell the others. */
  readonly ownAddresses: readonly Prefix[]
  readonly denyPrefixes: readonly Prefix[]
  /** Lower case, without a trailing dot; subdomains included. */
  readonly denyNames: ReadonlySet<string>
  readonly ports: PortPolicy
  /** What VPN devices reach after their end. */
  readonly grace?: Grace
}

/** Why an address and port may not be reached; undefined if allowed. Asked for every address before it is dialled. */
export function mayReach(address: Address, port: number, policy: Policy): Denial | undefined {
  if (!isPortAllowed(port, policy.ports)) return 'port_denied'
  const plain = unmap(address)
  const addressClass = classify(plain)
  if (addressClass === 'loopback' && policy.allowLoopback)
    return isWithin(policy.denyPrefixes, plain) ? 'destination_denied' : undefined
  if (addressClass !== 'public') return 'destination_not_public'
  if (isWithinSorted(policy.ownAddresses, plain)) return 'destination_is_ours'
  return isWithin(policy.denyPrefixes, plain) ? 'destination_denied' : undefined
}

/** Why a name may not be requested; asked before it is resolved. */
export function mayName(name: string, policy: Policy): Denial | undefined {
  if (policy.denyNames.size === 0) return undefined
  for (let rest = name; ; rest = rest.slice(rest.indexOf('.') + 1)) {
    if (policy.denyNames.has(rest)) return 'destination_denied'
    if (!rest.includes('.')) return undefined
  }
}

export const isPortAllowed = (port: number, ports: PortPolicy): boolean =>
  !ports.deny.has(port) && ports.allow.some(({ from, to }) => port >= from && port <= to)

/** RPC, NetBIOS and SMB. */
const fileSharingPorts = [135, 137, 138, 139, 445]
/** RFC 1035. Over UDP it is allowed: programs resolve names through the proxy. */
const dnsPort = 53
/** Quote, chargen, DNS, TFTP, portmap, NTP, SNMP, LDAP, RIP; SSDP, WS-Discovery, mDNS, LLMNR, memcached. */
const amplifierPorts = [17, 19, dnsPort, 69, 111, 123, 161, 389, 520, 1900, 3702, 5353, 5355, 11_211]

/**
 * Default: DNS, web and unprivileged ports. Mail, Windows file sharing and traffic amplifiers are denied even if an
 * operator allows a range around them.
 */
export const shippedPorts: PortPolicy = {
  allow: [
    { from: dnsPort, to: dnsPort },
    { from: 80, to: 80 },
    { from: 443, to: 443 },
    { from: 1024, to: 65_535 },
  ],
  deny: new Set([...mailPorts, ...fileSharingPorts, ...amplifierPorts]),
}

/** More services that answer one datagram with many bytes: SLP, ARMS, CoAP, Ubiquiti, Quake, Jenkins, Dahua. */
const udpAmplifierPorts = [427, 3283, 5683, 10_001, 27_960, 33_848, 37_810]
const udpDeny = new WeakMap<PortPolicy['deny'], PortPolicy['deny']>()

/** The policy for UDP: DNS is allowed, and more amplifiers are denied than for TCP. */
export function toUdpPolicy(policy: Policy): Policy {
  const { allow, deny } = policy.ports
  let denied = udpDeny.get(deny)
  if (!denied) {
    denied = new Set([...deny, ...udpAmplifierPorts].filter((port) => port !== dnsPort))
    udpDeny.set(deny, denied)
  }
  return { ...policy, ports: { allow, deny: denied } }
}

const isWithin = (prefixes: readonly Prefix[], address: Address): boolean =>
  prefixes.some((prefix) => contains(prefix, address))
