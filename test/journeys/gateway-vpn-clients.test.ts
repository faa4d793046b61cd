import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathOfDevice } from '../../src/core/device-path.ts'
import { hasProgram, run } from '../harness/clients.ts'
import { TestAssociation } from '../harness/udp.ts'
import { type ClientForm, clientLogin, startTrojan, startV2ray } from '../harness/v2ray.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-vpn-clients-'))
const [sent, received, certificate] = ['sent', 'received', 'tls.crt'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
]
const payload = randomBytes(1_000_000)
const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

let gateway: VpnGateway
let origin: ReturnType<typeof Bun.serve>
beforeAll(async () => {
  gateway = await openVpnGateway()
  writeFileSync(sent, payload)
  writeFileSync(certificate, gateway.made.cert)
  origin = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    fetch: async (request) => new Response(await request.bytes()),
  })
})
afterAll(async () => {
  await origin.stop(true)
  await gateway.stop()
  rmSync(folder, { recursive: true })
})

/** Uploads 1 MB through a SOCKS5 port and downloads it again. */
async function expectCarried(port: number, login: string): Promise<void> {
  rmSync(received, { force: true })
  const proxy = `socks5h://${login}127.0.0.1:${port}`
  const url = `http://127.0.0.1:${origin.port}/`
  const { exit, err } = await run('curl', '-sS', '-x', proxy, '--data-binary', `@${sent}`, '-o', received, url)
  expect({ exit, err }).toEqual({ exit: 0, err: '' })
  expect(digestOf(readFileSync(received))).toBe(digestOf(payload))
}

const where = () => ({ tlsPort: gateway.tlsPort, certificate, device: gateway.device })

const forms: readonly (readonly [string, ClientForm])[] = [
  ['VLESS over TLS', { protocol: 'vless', network: 'tcp', alpn: 'http/1.1' }],
  ['VLESS over TLS with Mux', { protocol: 'vless', network: 'tcp', alpn: 'http/1.1', mux: 8 }],
  ['VLESS over WebSocket', { protocol: 'vless', network: 'ws', alpn: 'http/1.1' }],
  ['Trojan over TLS', { protocol: 'trojan', network: 'tcp', alpn: 'http/1.1' }],
  ['Trojan over WebSocket', { protocol: 'trojan', network: 'ws', alpn: 'http/1.1' }],
]

test.each(forms)('v2ray carries 1 MB up and down and a datagram both ways by %s', async (_, form) => {
  if (!hasProgram('v2ray')) return
  const { device, udpEcho } = gateway
  const path = pathOfDevice(createHash('sha256').update(device.uuid).digest('hex'))
  const client = await startV2ray(['v2ray', '-config'], { ...form, path }, where())
  await expectCarried(client.port, `${clientLogin.username}:${clientLogin.password}@`)
  const datagrams = await TestAssociation.open(client.port, clientLogin.username, clientLogin.password)
  await datagrams.mark(udpEcho, 'a datagram')
  datagrams.close()
  await client.stop()
})

test('trojan carries 1 MB up and down', async () => {
  if (!hasProgram('trojan')) return
  const client = await startTrojan(where())
  await expectCarried(client.port, '')
  await client.stop()
})
