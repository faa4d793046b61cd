import { type Address, contains, isWithinSorted, type Prefix, unmap } from '../../../core/address.ts'
import { mailPorts } from '../../../core/mail-ports.ts'
import { classify } from '../../../core/reserved.ts'

export type Denial = 'port_denied' | 'destination_not_public' | 'destination_is_ours' | 'destination_denied'

/** Which ports may be reached: those within a range, less the denied ones. */
export type Ports = {
  readonly allow: readonly { readonly from: number; readonly to: number }[]
  readonly deny: ReadonlySet<number>
}

export type Policy = {
  /** For the sandbox alone, which serves nobody but this machine. */
  readonly allowLoopback: boolean
  /** For tests whose origin is on the gateway's machine: what the system delivers to the machine itself is reached. */
  readonly allowLocalDelivery?: boolean
  /**
   * Addresses of this machine's interfaces, and the ranges and exits that the shop lists, as withoutNested sorts them.
   * What else the system delivers to this machine, the system is asked.
   */
  readonly ownAddresses: readonly Prefix[]
  readonly denyPrefixes: readonly Prefix[]
  /** Names in lower case without a trailing dot; each stands for its subdomains too. */
  readonly denyNames: ReadonlySet<string>
  readonly ports: Ports
}

/**
 * May a customer reach this address and port? Undefined for yes, or why not. To be asked of every address before it is
 * dialled.
 */
export function mayReach(address: Address, port: number, policy: Policy): Denial | undefined {
  if (!isPortAllowed(port, policy.ports)) return 'port_denied'
  const plain = unmap(address)
  const place = classify(plain)
  if (place === 'loopback' && policy.allowLoopback)
    return isWithin(policy.denyPrefixes, plain) ? 'destination_denied' : undefined
  if (place !== 'public') return 'destination_not_public'
  if (isWithinSorted(policy.ownAddresses, plain)) return 'destination_is_ours'
  return isWithin(policy.denyPrefixes, plain) ? 'destination_denied' : undefined
}

/** May a customer ask for this name? To be asked before it is resolved; `name` as readAuthority gives it. */
export function mayName(name: string, policy: Policy): Denial | undefined {
  if (policy.denyNames.size === 0) return undefined
  for (let rest = name; ; rest = rest.slice(rest.indexOf('.') + 1)) {
    if (policy.denyNames.has(rest)) return 'destination_denied'
    if (!rest.includes('.')) return undefined
  }
}

export const isPortAllowed = (port: number, ports: Ports): boolean =>
  !ports.deny.has(port) && ports.allow.some(({ from, to }) => port >= from && port <= to)

/** RPC, NetBIOS and SMB. */
const fileSharingPorts = [135, 137, 138, 139, 445]
/** Quote, chargen, DNS, TFTP, portmap, NTP, SNMP, LDAP, RIP; SSDP, WS-Discovery, mDNS, LLMNR, memcached. */
const amplifierPorts = [17, 19, 53, 69, 111, 123, 161, 389, 520, 1900, 3702, 5353, 5355, 11_211]

/**
 * As shipped: the web, and what programs open for themselves. Denied also to an operator who allows more, unless he
 * says so: mail, because one spammer costs an address its name; Windows file sharing, because nothing but worms crosses
 * the internet there; and the services that are abused to multiply traffic. 8080 and 8443 lie within the last range.
 */
export const shippedPorts: Ports = {
  allow: [
    { from: 80, to: 80 },
    { from: 443, to: 443 },
    { from: 1024, to: 65_535 },
  ],
  deny: new Set([...mailPorts, ...fileSharingPorts, ...amplifierPorts]),
}

const isWithin = (prefixes: readonly Prefix[], address: Address): boolean =>
  prefixes.some((prefix) => contains(prefix, address))
