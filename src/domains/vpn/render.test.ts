import { describe, expect, test } from 'bun:test'
import { configText, type Peer, type TunnelSettings } from './rules.ts'

const peer = { id: 'dev_1', name: 'phone', ipv4: 0x0a42_0005n, ipv6: 'fd74::5' } as Partial<Peer> as Peer
const node = { name: 'vpn-1', publicKey: 'NODE=', endpoint: { host: '192.0.2.1', port: 51_820 } }
const tunnel: TunnelSettings = {
  endpoint: node.endpoint,
  dns: ['192.0.2.53', '2001:db8::53'],
  mtu: 1420,
  allowed: ['0.0.0.0/0', '::/0'],
  keepaliveSeconds: 25,
}

const linesOf = (change: Partial<TunnelSettings>, privateKey: string | undefined = 'KEY=', host = '192.0.2.1') =>
  configText(peer, privateKey, { ...node, endpoint: { host, port: 51_820 } }, { ...tunnel, ...change }).split('\n')

describe('configText', () => {
  test('configText writes the [Interface] and the [Peer] section with all settings', () => {
    expect(linesOf({})).toEqual([
      '[Interface]',
      '# phone (dev_1) at vpn-1',
      'PrivateKey = KEY=',
      'Address = 10.66.0.5/32, fd74::5/128',
      'DNS = 192.0.2.53, 2001:db8::53',
      'MTU = 1420',
      '',
      '[Peer]',
      'PublicKey = NODE=',
      'Endpoint = 192.0.2.1:51820',
      'AllowedIPs = 0.0.0.0/0, ::/0',
      'PersistentKeepalive = 25',
      '',
    ])
  })

  test('configText omits DNS without servers and PersistentKeepalive of 0 s', () => {
    expect(linesOf({ keepaliveSeconds: 0, dns: [] })).toEqual(
      linesOf({}).filter((line) => !/^(?:DNS|PersistentKeepalive)/.test(line)),
    )
    expect(linesOf({ keepaliveSeconds: 1 })).toContain('PersistentKeepalive = 1')
  })

  test('configText writes a placeholder for a private key that only the customer has', () => {
    const lines = configText(peer, undefined, node, tunnel).split('\n')
    expect(lines[2]).toBe('# PrivateKey = (the one that belongs to your public key)')
  })

  test('configText writes an IPv6 endpoint in brackets', () => {
    expect(linesOf({}, 'KEY=', '2001:db8::1')).toContain('Endpoint = [2001:db8::1]:51820')
  })
})
