import { availableParallelism, networkInterfaces } from 'node:os'
import { resolve } from 'node:path'
import { type Prefix, readPrefix, withoutNested } from '../../core/address.ts'
import { refusalDelayMs } from '../../dataplane/gateway/access/admission.ts'
import { exitRetryMs } from '../../dataplane/gateway/access/exit-health.ts'
import { roomWithin, shippedLimits, shippedUdp, tunnelsWithin } from '../../dataplane/gateway/access/limits.ts'
import { type Policy, type PortPolicy, shippedPorts } from '../../dataplane/gateway/access/policy.ts'
import type { EngineLimits } from '../../dataplane/gateway/engines/shared/engine.ts'
import {
  anyText,
  type ConfigOf,
  listOf,
  matching,
  oneOf,
  onOff,
  optional,
  parsed,
  partsOf,
  portRange,
  type Read,
  setting,
  whole,
} from './reading.ts'

const readShopUrl = parsed((text) => {
  if (/^unix:\/./.test(text)) return text
  const url = URL.parse(text)
  return url && ['http:', 'https:'].includes(url.protocol) ? url.href : undefined
}, 'must be an http:// or https:// address, or unix:/ and the path of a socket')

/** What a client without a login gets on the TLS port. */
export type GatewaySite =
  | { readonly kind: 'shop' | 'builtin' | 'off' }
  | { readonly kind: 'files'; readonly folder: string }

const siteProblem = 'must be shop, builtin, off, or files: and a folder. Other web servers are not shown since 0.3'

const readSite = parsed((text): GatewaySite | undefined => {
  if (text === 'shop' || text === 'builtin' || text === 'off') return { kind: text }
  if (text.startsWith('files:'))
    return text === 'files:' ? undefined : { kind: 'files', folder: resolve(text.slice(6)) }
  return undefined
}, siteProblem)

const readChallengeHost: Read<string> = (text, bad) =>
  matching(/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/, 'must be a host name')(text.toLowerCase(), bad)

const readEngine = oneOf(['auto', 'portable', 'linux'], 'must be one of auto, portable, linux')

const maxReactors = 16

const readPorts: Read<PortPolicy['allow']> = (text, bad) => {
  const ranges = partsOf(text).map((part) => {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part)
    const from = Number(match?.[1] ?? 0)
    const to = Number(match?.[2] ?? from)
    if (from < 1 || to > 65_535 || to < from) throw bad('must be ports or ranges of ports, like 80,443,1024-65535')
    return { from, to }
  })
  if (ranges.length === 0) throw bad('must name at least one port')
  return ranges
}

const readNames = listOf((name) => name.toLowerCase().replace(/\.$/, ''))
const readPrefixes = listOf(parsed(readPrefix, 'must be addresses or prefixes, separated by commas'))
const readReactors = parsed((text) => {
  if (text === 'auto') return Math.min(maxReactors, availableParallelism())
  return /^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= maxReactors ? Number(text) : undefined
}, `must be "auto" or a whole number from 1 to ${maxReactors}`)
const upToMillion = whole(1, 1_000_000)
const { tunnels, newPerSecond, namesPerSecond } = shippedLimits

export const gatewaySettings = {
  shopUrl: setting('TURNPIKE_SHOP_URL', 'URL', '', optional(readShopUrl)),
  nodeKey: setting('TURNPIKE_NODE_KEY', 'KEY', '', optional(anyText)),
  gatewayListen: setting('TURNPIKE_GATEWAY_LISTEN', 'ADDRESS', '::', anyText),
  gatewayEngine: setting('TURNPIKE_GATEWAY_ENGINE', 'ENGINE', 'auto', readEngine, 'engine'),
  gatewayReactors: setting('TURNPIKE_GATEWAY_REACTORS', 'N|auto', 'auto', readReactors),
  gatewayPorts: setting('TURNPIKE_GATEWAY_ALLOW_PORTS', 'PORTS', '53,80,443,1024-65535', readPorts),
  gatewayDenyNames: setting('TURNPIKE_GATEWAY_DENY_NAMES', 'NAMES', '', readNames),
  gatewayDenyPrefixes: setting('TURNPIKE_GATEWAY_DENY_PREFIXES', 'PREFIXES', '', readPrefixes),
  gatewayConnections: setting('TURNPIKE_GATEWAY_CONNECTIONS', 'N', '20000', upToMillion),
  gatewayTunnels: setting('TURNPIKE_GATEWAY_TUNNELS', 'N', String(tunnels), upToMillion),
  gatewayNewPerSecond: setting('TURNPIKE_GATEWAY_NEW', 'N', String(newPerSecond), upToMillion),
  gatewayNamesPerSecond: setting('TURNPIKE_GATEWAY_NAMES', 'N', String(namesPerSecond), upToMillion),
  gatewayIdleSeconds: setting('TURNPIKE_GATEWAY_IDLE', 'SECONDS', '600', whole(1, 86_400)),
  gatewayConnectSeconds: setting('TURNPIKE_GATEWAY_CONNECT', 'SECONDS', '10', whole(1, 120)),
  gatewayUdp: setting('TURNPIKE_GATEWAY_UDP', 'on|off', 'on', onOff),
  gatewayUdpPorts: setting('TURNPIKE_GATEWAY_UDP_PORTS', 'FIRST-LAST', '', optional(portRange)),
  gatewayPackets: setting('TURNPIKE_GATEWAY_PACKETS', 'N', String(shippedUdp.packetsPerSecond), upToMillion),
  gatewaySite: setting('TURNPIKE_GATEWAY_SITE', 'SITE', 'builtin', readSite),
  gatewayChallengeHost: setting('TURNPIKE_GATEWAY_CHALLENGE_HOST', 'NAME', '', optional(readChallengeHost)),
  gatewayVpn: setting('TURNPIKE_GATEWAY_VPN', 'on|off', 'off', onOff),
  gatewayDrainSeconds: setting('TURNPIKE_GATEWAY_CARRY_ON', 'SECONDS', '3600', whole(0, 604_800)),
}

export type GatewayConfig = ConfigOf<typeof gatewaySettings>

/** `files` is how many the process may have open. */
export const engineLimitsOf = (
  config: GatewayConfig & { readonly gatewayTlsPort?: number },
  files = Number.POSITIVE_INFINITY,
): EngineLimits => {
  const room = roomWithin(config.gatewayConnections, files, (config.gatewayTlsPort ?? 0) > 0)
  return {
    handshakeMs: 10_000,
    betweenRequestsMs: 30_000,
    connectMs: config.gatewayConnectSeconds * 1000,
    idleMs: config.gatewayIdleSeconds * 1000,
    refusalDelayMs,
    exitRetryMs,
    ...room,
    customer: {
      tunnels: tunnelsWithin(config.gatewayTunnels, room.connections),
      newPerSecond: config.gatewayNewPerSecond,
      namesPerSecond: config.gatewayNamesPerSecond,
    },
    udp: {
      ...shippedUdp,
      isOn: config.gatewayUdp,
      ports: config.gatewayUdpPorts,
      packetsPerSecond: config.gatewayPackets,
    },
  }
}

/** Egress policy: nothing that the shop lists as its own. Only a sandbox may reach the machine itself. */
export const policyOf = (
  config: GatewayConfig,
  mode: 'sandbox' | 'production',
  listed: readonly Prefix[] = [],
): Policy => ({
  allowLoopback: mode === 'sandbox',
  ownAddresses: withoutNested([...interfaceAddresses(), ...listed]),
  denyPrefixes: config.gatewayDenyPrefixes,
  denyNames: new Set(config.gatewayDenyNames),
  ports: { allow: config.gatewayPorts, deny: shippedPorts.deny },
})

function interfaceAddresses(): Prefix[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return all.flatMap(({ address }) => readPrefix(address.split('%', 1)[0] ?? '') ?? [])
}
