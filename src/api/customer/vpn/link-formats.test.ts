import { expect, test } from 'bun:test'
import { usualLinks, type VpnLinks } from '../../../domains/fleet/rules.ts'
import { type AppFormat, writeLink } from './link-formats.ts'

const pin = { certificate: 'ab'.repeat(32), key: 'q80=' }
const content = {
  device: 'dev_1',
  path: '/0123',
  keys: { uuid: '11111111-1111-4111-8111-111111111111', password: 'secret' },
  gateways: [{ name: 'de gw-1', host: 'gw.example', port: 443, pin, links: usualLinks }],
  notForApp: 'not for this app',
}
const write = (format: AppFormat, given: object = {}) => writeLink(format, { ...content, ...given }).text
const links = (given?: object) => Buffer.from(write('base64', given), 'base64').toString().split('\n')

test('every format has the pin of a certificate that no authority has signed, and none of another', () => {
  const [first] = JSON.parse(write('xray'))
  expect(links()[0]).toContain(`&pcs=${pin.certificate}#`)
  expect(write('mihomo')).toContain(`"fingerprint":"${pin.certificate}"`)
  expect(JSON.parse(write('singbox')).outbounds[2].tls.certificate_public_key_sha256).toEqual([pin.key])
  expect(first.outbounds[0].streamSettings.tlsSettings.pinnedPeerCertSha256).toBe(pin.certificate)
  const trusted = { gateways: content.gateways.map((each) => ({ ...each, pin: null })) }
  for (const format of ['base64', 'mihomo', 'singbox', 'xray'] as const)
    expect(write(format, trusted)).not.toMatch(/pcs|"fingerprint":"ab|certificate_public_key|pinned/)
})

test('a notice is the only entry of every format', () => {
  const notice = 'Все устройства заняты'
  expect(links({ notice }).map((link) => decodeURIComponent(link.split('#')[1] ?? ''))).toEqual([notice])
  expect(JSON.parse(write('singbox', { notice })).outbounds[0].outbounds).toEqual(['Auto', notice])
  expect(JSON.parse(write('xray', { notice })).map((each: { remarks: string }) => each.remarks)).toEqual([notice])
  expect(Bun.YAML.parse(write('mihomo', { notice }))).toMatchObject({
    proxies: [{ name: notice, server: '127.0.0.1' }],
  })
})

const withLinks = (given: Partial<VpnLinks>) => ({
  gateways: content.gateways.map((each) => ({ ...each, links: { ...usualLinks, ...given } })),
})

test('the fingerprint and ALPN of a gateway are in all formats, and h2 is not offered for VLESS and Trojan', () => {
  const given = withLinks({ fingerprint: 'edge', alpn: ['h2'] })
  expect(links(given)[0]).toContain('fp=edge')
  expect(links(given)[0]).not.toContain('alpn')
  const { outbounds } = JSON.parse(write('singbox', given))
  expect(outbounds.slice(2, 6).map((each: { tls: { alpn: string[] } }) => each.tls.alpn)).toEqual([[], [], [], ['h2']])
  expect(outbounds[2].tls.utls.fingerprint).toBe('edge')
  expect(write('mihomo', given)).toContain('"client-fingerprint":"edge"')
})

test('the connections for XHTTP of a gateway are in every format that has XHTTP, and by default in none', () => {
  const given = withLinks({ xmux: 1 })
  const renewal = { hMaxRequestTimes: '600-900', hMaxReusableSecs: '1800-3000' }
  const extra = { xmux: { maxConnections: 1, ...renewal } }
  expect(JSON.parse(new URL(links(given)[1] ?? '').searchParams.get('extra') ?? '')).toEqual(extra)
  expect(JSON.parse(write('xray', given))[1].outbounds[0].streamSettings.xhttpSettings.extra).toEqual(extra)
  expect(Bun.YAML.parse(write('mihomo', given))).toMatchObject({
    proxies: [{}, { 'xhttp-opts': { 'reuse-settings': { 'max-connections': '1' } } }, {}, {}, {}],
  })
  for (const format of ['base64', 'mihomo', 'xray'] as const) {
    const text = write(format)
    expect(format === 'base64' ? links().join() : text).not.toMatch(/extra|reuse-settings/)
  }
})

test('XHTTP is offered with h2 also where a gateway has ALPN http/1.1, which Xray would speak after it agreed on h2', () => {
  const alpnOf = (link = '') => new URL(link).searchParams.get('alpn')
  const offered = (given: Partial<VpnLinks>) => links(withLinks(given)).slice(0, 2).map(alpnOf)
  expect(offered({ alpn: ['http/1.1'] })).toEqual(['http/1.1', 'h2'])
  expect(offered({ alpn: ['h2', 'http/1.1'] })).toEqual(['http/1.1', 'h2,http/1.1'])
  expect(offered({ alpn: [] })).toEqual([null, null])
})

test('a protocol that is off at a gateway is in none of its links', () => {
  const given = withLinks({ protocols: ['trojan'] })
  expect(links(given).map((link) => link.split(':')[0])).toEqual(['trojan'])
  expect(JSON.parse(write('singbox', given)).outbounds.map((each: { type: string }) => each.type)).toEqual([
    'selector',
    'urltest',
    'trojan',
    'direct',
  ])
})

test('a format without an entry for the protocols of the gateways has a notice, and sends no traffic past it', () => {
  const { outbounds, route } = JSON.parse(write('singbox', withLinks({ protocols: ['xhttp'] })))
  expect([outbounds[0].outbounds, route.final]).toEqual([['Auto', 'not for this app'], 'Proxy'])
  for (const format of ['base64', 'xray'] as const) {
    const text = write(format, withLinks({ protocols: ['http'] }))
    const shown = format === 'xray' ? text : decodeURIComponent(Buffer.from(text, 'base64').toString())
    expect(shown).toContain('not for this app')
  }
})

test('VLESS over XHTTP and WebSocket has the path of the device, and sing-box gets no XHTTP', () => {
  const at = 'path=%2F0123&host=gw.example'
  expect(links()[1]).toContain(`?encryption=none&security=tls&type=xhttp&${at}&mode=auto&sni=gw.example&alpn=h2&`)
  expect(links()[2]).toContain(`?encryption=none&security=tls&type=ws&${at}&sni=gw.example&alpn=http%2F1.1&`)
  const types = JSON.parse(write('singbox')).outbounds.map(
    (each: { transport?: { type: string } }) => each.transport?.type,
  )
  expect(types.filter((type?: string) => type !== undefined)).toEqual(['ws'])
  expect(Bun.YAML.parse(write('mihomo'))).toMatchObject({
    proxies: [
      { network: 'tcp', udp: true },
      { network: 'xhttp', 'xhttp-opts': { path: '/0123', host: 'gw.example' } },
      { network: 'ws', 'ws-opts': { path: '/0123' } },
      { type: 'trojan' },
      { type: 'http' },
    ],
  })
})
