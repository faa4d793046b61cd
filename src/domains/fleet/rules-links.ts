import { type GatewayProtocol, gatewayProtocols } from '../../core/vpn-protocols.ts'

/** The ClientHello that apps imitate, by the names of their library. */
export const fingerprints = ['firefox', 'chrome', 'safari', 'edge', 'ios', 'android', 'random', 'randomized'] as const
export const linkAlpn = ['h2', 'http/1.1'] as const

/** How links name a gateway, and what it serves. Null follows the default: the port that it reports, all protocols. */
export type VpnLinks = {
  readonly fingerprint: (typeof fingerprints)[number] | null
  /** Protocols over TLS that apps offer; an empty list offers none. */
  readonly alpn: readonly (typeof linkAlpn)[number][] | null
  readonly port: number | null
  /** Protocols that the gateway serves to VPN devices, and that are in links. */
  readonly protocols: readonly GatewayProtocol[] | null
  /** Nodes of a group share a part of each subscription's traffic (`vpn.groups` of the price list). */
  readonly group: string | null
  /** Connections that an app opens for XHTTP (`maxConnections` of XMUX); null leaves it to the app. */
  readonly xmux: number | null
}

/** Of XMUX. More would be what filters that count connections look for. */
export const maxXmux = 16

/** The name of a group of nodes. */
export const isLinkGroup = (text: string): boolean => /^[a-z0-9][a-z0-9-]{0,31}$/.test(text)

export const usualLinks: VpnLinks = {
  fingerprint: null,
  alpn: null,
  port: null,
  protocols: null,
  group: null,
  xmux: null,
}

/** The settings from their stored form, JSON; another text has none. */
export function readVpnLinks(text: string | null): VpnLinks {
  const value: unknown = text === null ? null : JSON.parse(text)
  if (typeof value !== 'object' || value === null) return usualLinks
  const fields = new Map<string, unknown>(Object.entries(value))
  const among = <Item extends string>(name: string, all: readonly Item[]): readonly Item[] | null => {
    const given = fields.get(name)
    return Array.isArray(given) ? all.filter((each) => given.includes(each)) : null
  }
  const within = (name: string, max: number): number | null => {
    const given = fields.get(name)
    return typeof given === 'number' && Number.isSafeInteger(given) && given >= 1 && given <= max ? given : null
  }
  const group = fields.get('group')
  return {
    fingerprint: fingerprints.find((each) => each === fields.get('fingerprint')) ?? null,
    alpn: among('alpn', linkAlpn),
    port: within('port', 65_535),
    protocols: among('protocols', gatewayProtocols),
    group: typeof group === 'string' && isLinkGroup(group) ? group : null,
    xmux: within('xmux', maxXmux),
  }
}
