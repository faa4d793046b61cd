import { formatPrefix, readAddress, readPrefix } from '../../core/address.ts'
import { deviceNamePattern } from '../../dataplane/wireguard/device.ts'
import { type ConnectionLimits, portsPerShare } from '../../dataplane/wireguard/firewall.ts'
import type { VpnSettings } from '../../domains/vpn/index.ts'
import { isPool4, isPool6 } from '../../domains/vpn/rules.ts'
import {
  type ConfigOf,
  host,
  listOf,
  matching,
  optional,
  parsed,
  partsOf,
  type Read,
  readSettings,
  setting,
  whole,
} from './reading.ts'

const readUrl = parsed((text) => {
  const url = URL.parse(text)
  const isPlain =
    url && ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === '' && !url.username
  return isPlain ? url.href.replace(/\/+$/, '') : undefined
}, 'must be an http:// or https:// address')

const readDns = listOf(parsed((text) => readAddress(text) && text, 'must be addresses, separated by commas'))

const readAllowed = parsed((text) => {
  const prefixes = partsOf(text).map((part) => readPrefix(part))
  if (prefixes.length === 0 || prefixes.includes(undefined)) return undefined
  return prefixes.flatMap((prefix) => (prefix ? [formatPrefix(prefix)] : []))
}, 'must be prefixes like 0.0.0.0/0, separated by commas')

const readPool4 = parsed((text) => {
  const prefix = readPrefix(text)
  return prefix && isPool4(prefix) ? prefix : undefined
}, 'must be an IPv4 block from /8 to /29, like 10.66.0.0/16')

const readPool6 = parsed((text) => {
  const prefix = readPrefix(text)
  return prefix && isPool6(prefix) ? prefix : undefined
}, 'must be an IPv6 prefix of at most 96 bits, like fd74:7572:6e70::/64')

const maxPayHosts = 99
const payHostProblem = `must be up to ${maxPayHosts} host names, like pay.example.net, without ports`
const readPayHosts: Read<readonly string[]> = (text, bad) => {
  const hosts = listOf(matching(/^(?=.{4,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)+$/, payHostProblem))(text.toLowerCase(), bad)
  if (hosts.length > maxPayHosts) throw bad(payHostProblem)
  return hosts
}

const deviceProblem = 'must begin with a letter and have up to 14 letters, digits, - and _, all small'

export const vpnSettings = {
  publicUrl: setting('TURNPIKE_PUBLIC_URL', 'URL', '', optional(readUrl)),
  vpnHost: setting('TURNPIKE_VPN_HOST', 'ADDRESS', '127.0.0.1', host),
  vpnPort: setting('TURNPIKE_VPN_PORT', 'PORT', '51820', whole(1, 65_535)),
  vpnDns: setting('TURNPIKE_VPN_DNS', 'ADDRESSES', '1.1.1.1,2606:4700:4700::1111', readDns),
  // RFC 8200, section 5: IPv6 needs links of at least 1280 bytes.
  vpnMtu: setting('TURNPIKE_VPN_MTU', 'BYTES', '1420', whole(1280, 1500)),
  vpnAllowed: setting('TURNPIKE_VPN_ALLOWED_IPS', 'PREFIXES', '0.0.0.0/0,::/0', readAllowed),
  vpnKeepalive: setting('TURNPIKE_VPN_KEEPALIVE', 'SECONDS', '25', whole(0, 65_535)),
  vpnPool: setting('TURNPIKE_VPN_POOL', 'PREFIX', '10.66.0.0/16', readPool4),
  vpnUla: setting('TURNPIKE_VPN_ULA', 'PREFIX', 'fd74:7572:6e70::/64', readPool6),
  vpnGraceDays: setting('TURNPIKE_VPN_GRACE_DAYS', 'N', '7', whole(0, 30)),
  vpnPayHosts: setting('TURNPIKE_VPN_PAY_HOSTS', 'NAMES', '', readPayHosts),
  linksPerMinute: setting('TURNPIKE_RATE_LINKS', 'N', '60', whole(0, 10_000_000)),
  vpnDevice: setting('TURNPIKE_VPN_DEVICE', 'NAME', 'tpvpn0', matching(deviceNamePattern, deviceProblem)),
  vpnConnections: setting('TURNPIKE_VPN_CONNECTIONS', 'N', '2048', whole(64, 1_000_000)),
  // At most an eighth of a port share by default, so that no customer with five devices can fill one.
  vpnConnectionsPerDestination: setting(
    'TURNPIKE_VPN_CONNECTIONS_PER_DESTINATION',
    'N',
    '500',
    whole(16, portsPerShare),
  ),
  vpnNewConnections: setting('TURNPIKE_VPN_NEW_CONNECTIONS', 'N', '256', whole(16, 100_000)),
}

export const connectionLimitsOf = (config: ConfigOf<typeof vpnSettings>): ConnectionLimits => ({
  inAll: config.vpnConnections,
  perDestination: config.vpnConnectionsPerDestination,
  newPerSecond: config.vpnNewConnections,
})

/** Resolvers that a device reaches after its end, besides those of its configuration. */
const knownResolvers = ['1.1.1.1', '1.0.0.1', '8.8.8.8', '8.8.4.4', '9.9.9.9', '77.88.8.8', '77.88.8.1']
const webPorts = [80, 443]

/** What gateways let a VPN device reach after its end: the shop, and the pages where its customer pays. */
export function graceOf({ vpnPayHosts, vpnDns }: ConfigOf<typeof vpnSettings>, publicUrl: string) {
  const { hostname, port, protocol } = new URL(publicUrl)
  const shop = hostname.replace(/^\[|\]$/g, '')
  const shopPort = Number(port) || (protocol === 'https:' ? 443 : 80)
  const pages = vpnPayHosts.map((name) => ({ host: name, ports: webPorts }))
  const resolvers = [...new Set([...vpnDns, ...knownResolvers])].slice(0, 20)
  return { hosts: [{ host: shop, ports: [shopPort] }, ...pages], resolvers }
}

export const vpnSettingsOf = (
  config: ConfigOf<typeof vpnSettings> & { readonly gatewayVpn?: boolean },
): VpnSettings => ({
  graceMs: config.gatewayVpn === true ? config.vpnGraceDays * 86_400_000 : 0,
  tunnel: {
    endpoint: { host: config.vpnHost, port: config.vpnPort },
    dns: config.vpnDns,
    mtu: config.vpnMtu,
    allowed: config.vpnAllowed,
    keepaliveSeconds: config.vpnKeepalive,
  },
  pool: { v4: config.vpnPool, v6: config.vpnUla },
})

const shipped = readSettings(vpnSettings, ({ fallback }) => fallback)
export const shippedVpn: VpnSettings = vpnSettingsOf(shipped)
export const shippedConnectionLimits: ConnectionLimits = connectionLimitsOf(shipped)
