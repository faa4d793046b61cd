import { formatPrefix, readAddress, readPrefix } from '../../core/address.ts'
import { deviceNamePattern } from '../../dataplane/wireguard/device.ts'
import type { VpnSettings } from '../../domains/vpn/index.ts'
import { isPool4, isPool6, type TunnelPool } from '../../domains/vpn/rules.ts'
import { partsOf, type Reading, type Setting, setting } from './reading.ts'

export type VpnConfig = Readonly<ReturnType<typeof readVpnConfig>>

export const vpnSettings = {
  publicUrl: setting(
    'TURNPIKE_PUBLIC_URL',
    'URL',
    '',
    'where customers reach the shop, for links in answers; else where it listens',
  ),
  vpnHost: setting(
    'TURNPIKE_VPN_HOST',
    'ADDRESS',
    '127.0.0.1',
    'where customers reach a VPN node that has no endpoint of its own',
  ),
  vpnPort: setting('TURNPIKE_VPN_PORT', 'PORT', '51820', 'on which UDP port'),
  vpnDns: setting(
    'TURNPIKE_VPN_DNS',
    'ADDRESSES',
    '1.1.1.1,2606:4700:4700::1111',
    'name servers in VPN configurations, separated by commas; empty for none',
  ),
  vpnMtu: setting('TURNPIKE_VPN_MTU', 'BYTES', '1420', 'largest packet inside the tunnel, 1280 to 1500'),
  vpnAllowed: setting(
    'TURNPIKE_VPN_ALLOWED_IPS',
    'PREFIXES',
    '0.0.0.0/0,::/0',
    'what devices send through the tunnel, separated by commas',
  ),
  vpnKeepalive: setting(
    'TURNPIKE_VPN_KEEPALIVE',
    'SECONDS',
    '25',
    'how often an idle device shows that it is there, so that NAT remembers it; 0 is never',
  ),
  vpnPool: setting(
    'TURNPIKE_VPN_POOL',
    'PREFIX',
    '10.66.0.0/16',
    'IPv4 addresses of devices inside the tunnel, /8 to /29',
  ),
  vpnUla: setting(
    'TURNPIKE_VPN_ULA',
    'PREFIX',
    'fd74:7572:6e70::/64',
    'IPv6 addresses of devices inside the tunnel, of at most 96 bits',
  ),
  linksPerMinute: setting(
    'TURNPIKE_RATE_LINKS',
    'N',
    '60',
    'openings of secret VPN links a minute and source address; 0 is no limit',
  ),
  vpnDevice: setting(
    'TURNPIKE_VPN_DEVICE',
    'NAME',
    'tpvpn0',
    'what a VPN node calls its network device on this machine, up to 14 characters',
  ),
} satisfies Record<string, Setting>

type VpnReading = Reading<keyof typeof vpnSettings>

export function readVpnConfig(reading: VpnReading) {
  return {
    publicUrl: readUrl(reading),
    vpnHost: reading.host('vpnHost'),
    vpnPort: reading.whole('vpnPort', 1, 65_535),
    vpnDns: readDns(reading),
    // RFC 8200, section 5: IPv6 needs links of at least 1280 bytes.
    vpnMtu: reading.whole('vpnMtu', 1280, 1500),
    vpnAllowed: readAllowed(reading),
    vpnKeepalive: reading.whole('vpnKeepalive', 0, 65_535),
    ...readPool(reading),
    linksPerMinute: reading.whole('linksPerMinute', 0, 10_000_000),
    vpnDevice: readDevice(reading),
  }
}

export const vpnSettingsOf = (config: VpnConfig): VpnSettings => ({
  tunnel: {
    endpoint: { host: config.vpnHost, port: config.vpnPort },
    dns: config.vpnDns,
    mtu: config.vpnMtu,
    allowed: config.vpnAllowed,
    keepaliveSeconds: config.vpnKeepalive,
  },
  pool: { v4: config.vpnPool, v6: config.vpnUla },
})

export const shippedVpn: VpnSettings = vpnSettingsOf(
  readVpnConfig({
    text: (name) => vpnSettings[name].fallback,
    whole: (name) => Number(vpnSettings[name].fallback),
    host: (name) => vpnSettings[name].fallback,
    bad: (name, problem) => new RangeError(`the shipped ${name} ${problem}`),
  }),
)

function readUrl(reading: VpnReading): string | undefined {
  const text = reading.text('publicUrl')
  if (text === '') return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const plain =
    url && ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === '' && !url.username
  if (!plain) throw reading.bad('publicUrl', 'must be an http:// or https:// address')
  return url.href.replace(/\/+$/, '')
}

function readDevice(reading: VpnReading): string {
  const text = reading.text('vpnDevice')
  if (deviceNamePattern.test(text)) return text
  throw reading.bad('vpnDevice', 'must begin with a letter and have up to 14 letters, digits, - and _, all small')
}

function readDns(reading: VpnReading): string[] {
  const parts = partsOf(reading.text('vpnDns'))
  if (!parts.every((part) => readAddress(part))) throw reading.bad('vpnDns', 'must be addresses, separated by commas')
  return parts
}

function readAllowed(reading: VpnReading): string[] {
  const parts = partsOf(reading.text('vpnAllowed'))
  const prefixes = parts.map((part) => readPrefix(part))
  if (parts.length === 0 || prefixes.includes(undefined)) {
    throw reading.bad('vpnAllowed', 'must be prefixes like 0.0.0.0/0, separated by commas')
  }
  return prefixes.flatMap((prefix) => (prefix ? [formatPrefix(prefix)] : []))
}

function readPool(reading: VpnReading): { vpnPool: TunnelPool['v4']; vpnUla: TunnelPool['v6'] } {
  const [v4, v6] = [readPrefix(reading.text('vpnPool')), readPrefix(reading.text('vpnUla'))]
  if (!v4 || !isPool4(v4)) throw reading.bad('vpnPool', 'must be an IPv4 block from /8 to /29, like 10.66.0.0/16')
  if (!v6 || !isPool6(v6)) {
    throw reading.bad('vpnUla', 'must be an IPv6 prefix of at most 96 bits, like fd74:7572:6e70::/64')
  }
  return { vpnPool: v4, vpnUla: v6 }
}
