import { networkInterfaces } from 'node:os'
import { type Prefix, readPrefix, withoutNested } from '../../core/address.ts'
import { refusalDelayMs } from '../../dataplane/gateway/access/admission.ts'
import { exitRetryMs } from '../../dataplane/gateway/access/exit-health.ts'
import { roomWithin, shippedLimits, tunnelsWithin } from '../../dataplane/gateway/access/limits.ts'
import { type Policy, type PortPolicy, shippedPorts } from '../../dataplane/gateway/access/policy.ts'
import type { EngineLimits } from '../../dataplane/gateway/relay/engine.ts'
import { givenOf, partsOf, type Reading, type Setting, setting } from './reading.ts'

const engineChoices = ['auto', 'portable', 'linux'] as const
export type EngineChoice = (typeof engineChoices)[number]

export type GatewayConfig = Readonly<ReturnType<typeof readGatewayConfig>>

export const gatewaySettings = {
  shopUrl: setting(
    'TURNPIKE_SHOP_URL',
    'URL',
    '',
    'where a node finds its shop, https:// unless on this machine, or unix:/path/of/its/data/join/shop.sock; ' +
      'else the shop of this data folder, or where the shop of these settings listens',
  ),
  nodeKey: setting(
    'TURNPIKE_NODE_KEY',
    'KEY',
    '',
    'the one-time key that "turnpike node add" printed, for the first start of a node',
  ),
  gatewayListen: setting(
    'TURNPIKE_GATEWAY_LISTEN',
    'ADDRESS',
    '::',
    'where the gateway listens; :: is every address of this machine, IPv4 too',
  ),
  gatewayEngine: setting(
    'TURNPIKE_GATEWAY_ENGINE',
    'ENGINE',
    'auto',
    'what moves the bytes: linux (epoll and splice), portable, or auto, the fastest that this machine allows',
    'engine',
  ),
  gatewayPorts: setting(
    'TURNPIKE_GATEWAY_ALLOW_PORTS',
    'PORTS',
    '80,443,1024-65535',
    'ports that customers may reach; mail, file sharing and amplifiers never are',
  ),
  gatewayDenyNames: setting(
    'TURNPIKE_GATEWAY_DENY_NAMES',
    'NAMES',
    '',
    'names that customers may not reach, with all names below them, separated by commas',
  ),
  gatewayDenyPrefixes: setting(
    'TURNPIKE_GATEWAY_DENY_PREFIXES',
    'PREFIXES',
    '',
    'addresses that customers may not reach, separated by commas',
  ),
  gatewayConnections: setting(
    'TURNPIKE_GATEWAY_CONNECTIONS',
    'N',
    '20000',
    'connections that a gateway carries at once',
  ),
  gatewayTunnels: setting(
    'TURNPIKE_GATEWAY_TUNNELS',
    'N',
    String(shippedLimits.tunnels),
    'of which one customer may have so many, and a quarter at most',
  ),
  gatewayNewPerSecond: setting(
    'TURNPIKE_GATEWAY_NEW',
    'N',
    String(shippedLimits.newPerSecond),
    'new connections a second and customer',
  ),
  gatewayNamesPerSecond: setting(
    'TURNPIKE_GATEWAY_NAMES',
    'N',
    String(shippedLimits.namesPerSecond),
    'names to be looked up a second and customer',
  ),
  gatewayIdleSeconds: setting('TURNPIKE_GATEWAY_IDLE', 'SECONDS', '600', 'how long a connection may carry nothing'),
  gatewayConnectSeconds: setting(
    'TURNPIKE_GATEWAY_CONNECT',
    'SECONDS',
    '10',
    'how long a destination may take to answer',
  ),
  gatewayCarryOnSeconds: setting(
    'TURNPIKE_GATEWAY_CARRY_ON',
    'SECONDS',
    '3600',
    'how long a gateway that another process has taken over from carries on what it has open',
  ),
} satisfies Record<string, Setting>

type GatewayReading = Reading<keyof typeof gatewaySettings>

export function readGatewayConfig(reading: GatewayReading) {
  const { text, whole } = reading
  return {
    shopUrl: readShopUrl(reading),
    nodeKey: givenOf(text('nodeKey')),
    gatewayListen: text('gatewayListen'),
    gatewayEngine: readEngine(reading),
    gatewayPorts: readPorts(reading),
    gatewayDenyNames: partsOf(text('gatewayDenyNames')).map((name) => name.toLowerCase().replace(/\.$/, '')),
    gatewayDenyPrefixes: partsOf(text('gatewayDenyPrefixes')).map((part) => {
      const prefix = readPrefix(part)
      if (!prefix) throw reading.bad('gatewayDenyPrefixes', 'must be addresses or prefixes, separated by commas')
      return prefix
    }),
    gatewayConnections: whole('gatewayConnections', 1, 1_000_000),
    gatewayTunnels: whole('gatewayTunnels', 1, 1_000_000),
    gatewayNewPerSecond: whole('gatewayNewPerSecond', 1, 1_000_000),
    gatewayNamesPerSecond: whole('gatewayNamesPerSecond', 1, 1_000_000),
    gatewayIdleSeconds: whole('gatewayIdleSeconds', 1, 86_400),
    gatewayConnectSeconds: whole('gatewayConnectSeconds', 1, 120),
    gatewayCarryOnSeconds: whole('gatewayCarryOnSeconds', 0, 604_800),
  }
}

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
  }
}

/**
 * Egress policy of this machine: nothing that the shop lists as its own. Only a sandbox may reach the machine itself.
 */
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

function readEngine(reading: GatewayReading): EngineChoice {
  const text = reading.text('gatewayEngine')
  const choice = engineChoices.find((each) => each === text)
  if (!choice) throw reading.bad('gatewayEngine', `must be one of ${engineChoices.join(', ')}`)
  return choice
}

function readShopUrl(reading: GatewayReading): string | undefined {
  const text = reading.text('shopUrl')
  if (text === '') return undefined
  if (/^unix:\/./.test(text)) return text
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw reading.bad('shopUrl', 'must be an http:// or https:// address, or unix:/ and the path of a socket')
  }
  return url.href
}

function readPorts(reading: GatewayReading): PortPolicy['allow'] {
  const ranges = partsOf(reading.text('gatewayPorts')).map((part) => {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part)
    const from = Number(match?.[1] ?? 0)
    const to = Number(match?.[2] ?? from)
    if (from < 1 || to > 65_535 || to < from) {
      throw reading.bad('gatewayPorts', 'must be ports or ranges of ports, like 80,443,1024-65535')
    }
    return { from, to }
  })
  if (ranges.length === 0) throw reading.bad('gatewayPorts', 'must name at least one port')
  return ranges
}
