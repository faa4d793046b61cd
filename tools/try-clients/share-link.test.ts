import { expect, test } from 'bun:test'
import { readShareLink } from './share-link.ts'

const uuid = '11111111-2222-4333-8444-555555555555'

test('a VLESS link becomes an outbound with its key, TLS name, ALPN, fingerprint and pin', () => {
  const query = 'encryption=none&security=tls&type=tcp&sni=a.example&alpn=h2%2Chttp%2F1.1&fp=firefox&pcs=ab12'
  expect(readShareLink(`vless://${uuid}@192.0.2.1:443?${query}#a%20VLESS`)).toEqual({
    tag: 'a VLESS',
    protocol: 'vless',
    settings: { vnext: [{ address: '192.0.2.1', port: 443, users: [{ id: uuid, encryption: 'none' }] }] },
    streamSettings: {
      network: 'tcp',
      security: 'tls',
      tlsSettings: {
        serverName: 'a.example',
        alpn: ['h2', 'http/1.1'],
        fingerprint: 'firefox',
        pinnedPeerCertSha256: 'ab12',
      },
    },
  })
})

test('a Trojan link over WebSocket to an IPv6 address keeps its path, host and password', () => {
  const link = 'trojan://a%2Fb@[2001:db8::1]:8443?security=tls&type=ws&path=%2Fw&host=a.example#t'
  expect(readShareLink(link)).toMatchObject({
    protocol: 'trojan',
    settings: { servers: [{ address: '2001:db8::1', port: 8443, password: 'a/b' }] },
    streamSettings: {
      network: 'ws',
      tlsSettings: { serverName: '2001:db8::1' },
      wsSettings: { path: '/w', host: 'a.example' },
    },
  })
})

test('a link with XHTTP keeps its mode and the JSON of its extra settings', () => {
  const extra = encodeURIComponent('{"scMaxEachPostBytes":1000}')
  const link = `vless://${uuid}@192.0.2.1:443?security=tls&type=xhttp&path=%2Fx&mode=packet-up&extra=${extra}`
  expect(readShareLink(link).streamSettings).toMatchObject({
    xhttpSettings: { path: '/x', mode: 'packet-up', extra: { scMaxEachPostBytes: 1000 } },
  })
})

test.each([
  ['the unknown field pbk', 'vless', 'security=tls&type=tcp&pbk=a'],
  ['the unknown field path', 'vless', 'security=tls&type=tcp&path=a'],
  ['the unknown transport kcp', 'vless', 'security=tls&type=kcp'],
  ['the unknown scheme ss', 'ss', 'security=tls&type=tcp'],
  ['not over TLS', 'vless', 'type=tcp'],
])('a link is refused: %s', (reason, scheme, query) => {
  expect(() => readShareLink(`${scheme}://${uuid}@192.0.2.1:443?${query}`)).toThrow(reason)
})
