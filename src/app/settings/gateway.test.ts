import { describe, expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { readAddress } from '../../core/address.ts'
import { isPortAllowed, mayName, mayReach, toUdpPolicy } from '../../dataplane/gateway/access/policy.ts'
import { readConfig } from './config.ts'
import { engineLimitsOf, policyOf } from './gateway.ts'
import { BadSetting } from './reading.ts'

function reach(env: Record<string, string>, mode: 'sandbox' | 'production', host: string, port = 443) {
  const address = readAddress(host)
  if (!address) throw new Error(`${host} is not an address`)
  return mayReach(address, port, policyOf(readConfig(env), mode))
}

describe('default gateway settings', () => {
  test('a gateway listens on :: by default, has no shop URL and limits each customer to 4,000 tunnels', () => {
    const config = readConfig({})
    expect(config).toMatchObject({ shopUrl: undefined, nodeKey: undefined, gatewayListen: '::' })
    expect(engineLimitsOf(config)).toEqual({
      handshakeMs: 10_000,
      betweenRequestsMs: 30_000,
      connectMs: 10_000,
      idleMs: 600_000,
      refusalDelayMs: 250,
      exitRetryMs: 1000,
      connections: 20_000,
      ports: Number.POSITIVE_INFINITY,
      customer: { tunnels: 4000, newPerSecond: 500, namesPerSecond: 200 },
      udp: {
        isOn: true,
        ports: undefined,
        packetsPerSecond: 20_000,
        idleMs: 120_000,
        destinations: { association: 256, customer: 10_000, gateway: 100_000 },
      },
    })
  })

  test('the default policy allows public addresses, and in a sandbox loopback, except on port 25', () => {
    for (const mode of ['sandbox', 'production'] as const) {
      expect(reach({}, mode, '8.8.8.8')).toBeUndefined()
      expect(reach({}, mode, '10.0.0.1')).toBe('destination_not_public')
      expect(reach({}, mode, '8.8.8.8', 25)).toBe('port_denied')
    }
    expect(reach({}, 'production', '127.0.0.1')).toBe('destination_not_public')
    expect(reach({}, 'sandbox', '127.0.0.1')).toBeUndefined()
    expect(reach({}, 'sandbox', '::1', 8080)).toBeUndefined()
  })
})

describe('gateway settings of the operator', () => {
  test.each([
    ['shop', { kind: 'shop' }],
    ['off', { kind: 'off' }],
    ['files:/srv/site', { kind: 'files', folder: '/srv/site' }],
  ] as const)('TURNPIKE_GATEWAY_SITE=%s is read', (text, site) => {
    expect(readConfig({ TURNPIKE_GATEWAY_SITE: text }).gatewaySite).toEqual(site)
  })

  test.each(['', 'files:', 'http://127.0.0.1:8080', 'https://shop.example.net', '[::1]:8080', 'a b'])(
    'TURNPIKE_GATEWAY_SITE="%s" is refused',
    (text) => expect(() => readConfig({ TURNPIKE_GATEWAY_SITE: text })).toThrow(BadSetting),
  )

  test('gateway limits are read as counts, and gateway timeouts as seconds', () => {
    const config = readConfig({
      TURNPIKE_GATEWAY_CONNECTIONS: '5',
      TURNPIKE_GATEWAY_TUNNELS: '4',
      TURNPIKE_GATEWAY_NEW: '3',
      TURNPIKE_GATEWAY_NAMES: '2',
      TURNPIKE_GATEWAY_IDLE: '60',
      TURNPIKE_GATEWAY_CONNECT: '7',
    })
    expect(engineLimitsOf(config)).toMatchObject({
      connections: 5,
      idleMs: 60_000,
      connectMs: 7000,
      customer: { tunnels: 1, newPerSecond: 3, namesPerSecond: 2 },
    })
  })

  test.each([
    // Connections, configured tunnels of a customer, open files, resulting tunnels of a customer.
    [20_000, 4000, 1_048_576, 4000],
    [20_000, 100, 1_048_576, 100],
    [20_000, 1_000_000, 1_048_576, 5000],
    [20_000, 4000, 20_000, 1166],
    [20_000, 4000, 64, 2],
    [3, 4000, 1_048_576, 1],
  ])(
    'a gateway with %d connections, %d tunnels per customer and %d open files gives a customer %d tunnels over TLS',
    (connections, tunnels, files, max) => {
      const config = readConfig({
        TURNPIKE_GATEWAY_CONNECTIONS: String(connections),
        TURNPIKE_GATEWAY_TUNNELS: String(tunnels),
      })
      expect(engineLimitsOf({ ...config, gatewayTlsPort: 10_801 }, files).customer.tunnels).toBe(max)
    },
  )

  test.each(['auto', 'portable', 'linux'] as const)(
    'TURNPIKE_GATEWAY_ENGINE and --engine accept %s',
    (gatewayEngine) => {
      expect(readConfig({ TURNPIKE_GATEWAY_ENGINE: gatewayEngine })).toMatchObject({ gatewayEngine })
      expect(readConfig({}, { engine: gatewayEngine })).toMatchObject({ gatewayEngine })
    },
  )

  test('TURNPIKE_GATEWAY_ALLOW_PORTS replaces the default ports, and port 25 stays closed', () => {
    const { ports } = policyOf(readConfig({ TURNPIKE_GATEWAY_ALLOW_PORTS: '443, 20-30 ,65535' }), 'production')
    const open = [19, 20, 24, 25, 26, 30, 31, 80, 443, 65_535].filter((port) => isPortAllowed(port, ports))
    expect(open).toEqual([20, 24, 26, 30, 443, 65_535])
  })

  test('port 53 is open over UDP and closed over TCP, and only if TURNPIKE_GATEWAY_ALLOW_PORTS has it', () => {
    const portsOf = (env: Record<string, string>) => {
      const policy = policyOf(readConfig(env), 'production')
      return [policy, toUdpPolicy(policy)].map(({ ports }) => isPortAllowed(53, ports))
    }
    expect(portsOf({})).toEqual([false, true])
    expect(portsOf({ TURNPIKE_GATEWAY_ALLOW_PORTS: '443' })).toEqual([false, false])
  })

  test('TURNPIKE_GATEWAY_UDP=off, TURNPIKE_GATEWAY_UDP_PORTS and TURNPIKE_GATEWAY_PACKETS set the limits of UDP', () => {
    const env = {
      TURNPIKE_GATEWAY_UDP: 'off',
      TURNPIKE_GATEWAY_UDP_PORTS: '30000-39999',
      TURNPIKE_GATEWAY_PACKETS: '5',
    }
    expect(engineLimitsOf(readConfig(env)).udp).toMatchObject({
      isOn: false,
      ports: { first: 30_000, last: 39_999 },
      packetsPerSecond: 5,
    })
  })

  test('TURNPIKE_GATEWAY_DENY_NAMES denies names with their subdomains, in any case and with a trailing dot', () => {
    const policy = policyOf(readConfig({ TURNPIKE_GATEWAY_DENY_NAMES: ' Bad.Example. ,worse.example' }), 'production')
    for (const name of ['bad.example', 'www.bad.example', 'a.b.worse.example']) {
      expect(mayName(name, policy)).toBe('destination_denied')
    }
    for (const name of ['notbad.example', 'example', 'bad.example.org']) expect(mayName(name, policy)).toBeUndefined()
  })

  test('TURNPIKE_GATEWAY_DENY_PREFIXES denies prefixes, also in a sandbox', () => {
    const env = { TURNPIKE_GATEWAY_DENY_PREFIXES: '8.8.8.0/24, 2606:4700::/32 ,127.66.0.0/16' }
    expect(reach(env, 'production', '8.8.8.8')).toBe('destination_denied')
    expect(reach(env, 'production', '8.8.9.8')).toBeUndefined()
    expect(reach(env, 'production', '2606:4700::1111')).toBe('destination_denied')
    expect(reach(env, 'sandbox', '127.66.0.1')).toBe('destination_denied')
  })

  test('a gateway has as many reactors as cores by default, at most 16, or the number that is set', () => {
    expect(readConfig({}).gatewayReactors).toBe(Math.min(16, availableParallelism()))
    expect(readConfig({ TURNPIKE_GATEWAY_REACTORS: '3' }).gatewayReactors).toBe(3)
  })

  test.each([
    ['TURNPIKE_SHOP_URL', 'ftp://shop.example'],
    ['TURNPIKE_SHOP_URL', 'shop.example'],
    ['TURNPIKE_GATEWAY_ALLOW_PORTS', ''],
    ['TURNPIKE_GATEWAY_ALLOW_PORTS', '0'],
    ['TURNPIKE_GATEWAY_ALLOW_PORTS', '80,65536'],
    ['TURNPIKE_GATEWAY_ALLOW_PORTS', '90-80'],
    ['TURNPIKE_GATEWAY_ALLOW_PORTS', '80;443'],
    ['TURNPIKE_GATEWAY_ALLOW_PORTS', 'http'],
    ['TURNPIKE_GATEWAY_DENY_PREFIXES', '8.8.8.8/33'],
    ['TURNPIKE_GATEWAY_DENY_PREFIXES', '8.8.8.1/24'],
    ['TURNPIKE_GATEWAY_DENY_PREFIXES', 'example.com'],
    ['TURNPIKE_GATEWAY_CONNECTIONS', '0'],
    ['TURNPIKE_GATEWAY_TUNNELS', '-1'],
    ['TURNPIKE_GATEWAY_NEW', '1.5'],
    ['TURNPIKE_GATEWAY_NAMES', 'many'],
    ['TURNPIKE_GATEWAY_IDLE', '86401'],
    ['TURNPIKE_GATEWAY_CONNECT', '0'],
    ['TURNPIKE_GATEWAY_ENGINE', 'fast'],
    ['TURNPIKE_GATEWAY_REACTORS', '0'],
    ['TURNPIKE_GATEWAY_REACTORS', '17'],
    ['TURNPIKE_GATEWAY_REACTORS', 'all'],
    ['TURNPIKE_GATEWAY_UDP', 'yes'],
    ['TURNPIKE_GATEWAY_UDP_PORTS', '80-90'],
    ['TURNPIKE_GATEWAY_UDP_PORTS', '39999-30000'],
  ])('readConfig refuses %s=%p with a message that names the setting', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(BadSetting)
    expect(() => readConfig({ [name]: value })).toThrow(name)
  })
})
