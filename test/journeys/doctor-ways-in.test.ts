import { afterAll, beforeAll, expect, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { createServer, type TLSSocket } from 'node:tls'
import { adviseWaysIn } from '../../src/app/doctor/ways-in/gateways.ts'
import { tryDevice, tryProxy, tryTlsProxy, type WayInOutcome } from '../../src/app/doctor/ways-in/probe.ts'
import { type GatewayProtocol, gatewayProtocols } from '../../src/core/vpn-protocols.ts'
import { makeCertificate } from '../harness/certificates.ts'
import { freePort } from '../harness/gateway.ts'
import { KeyClient, vlessHead } from '../harness/key-client.ts'
import { runCommand, testDatabaseEnv, untilTrue } from '../harness/turnpike.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'

let gateway: VpnGateway
beforeAll(async () => {
  gateway = await openVpnGateway()
})
afterAll(() => gateway.stop())

const node = async () => {
  const found = (await gateway.shop.services.fleet.nodes('gateway')).find(({ health }) => health?.isForVpn)
  return found ?? expect.unreachable()
}
const pinned = async () => {
  const { health } = await node()
  return { host: '127.0.0.1', port: gateway.tlsPort, pin: health?.tls?.pin ?? null }
}
const keys = async () => gateway.shop.services.vpn.doctorDevice((await node()).id)
const tryProtocol = async (protocol: GatewayProtocol, at?: Awaited<ReturnType<typeof pinned>>) =>
  tryDevice(protocol, at ?? (await pinned()), await keys(), new URL(gateway.shop.url))
const failureOf = (outcome: WayInOutcome) => (outcome.works ? undefined : outcome.stage)

test.each([...gatewayProtocols])('doctor sees the shop’s answer through %s', async (protocol) => {
  expect(await tryProtocol(protocol)).toMatchObject({ way: `VPN ${protocol}`, works: true })
})

test('doctor finds the ways in for proxies of a gateway, without a login', async () => {
  const plain = { host: '127.0.0.1', port: gateway.shop.port }
  const at = await pinned()
  const all = [tryProxy('http', plain), tryProxy('socks5', plain), tryTlsProxy('https', at), tryTlsProxy('h2', at)]
  expect((await Promise.all(all)).map(({ way, works }) => [way, works])).toEqual([
    ['http', true],
    ['socks5', true],
    ['https', true],
    ['h2', true],
  ])
})

test('the device of doctor reaches the shop and nothing else, is in no table and is not billed', async () => {
  const device = await keys()
  const client = await KeyClient.open(gateway.tlsPort, gateway.made, vlessHead(device, gateway.echo.spot, 'tcp'))
  client.send('hello')
  expect(await client.readText(5)).not.toBe('hello')
  client.close()
  const { db } = gateway.shop.services
  expect(await db.first('SELECT COUNT(*) AS n FROM vpn_peers WHERE id = $1', [device.id])).toEqual({ n: 0n })
  const { data } = await gateway.shop.get('/vpn/info')
  expect(JSON.stringify(data)).not.toContain(device.id)
  const other = gateway.shop.services.vpn.doctorDevice('nod_another')
  expect([other.id === device.id, other.uuid === device.uuid, other.password === device.password]).toEqual([
    false,
    false,
    false,
  ])
})

test('doctor names the step that failed: DNS, TCP, the certificate or the protocol', async () => {
  const at = await pinned()
  expect(failureOf(await tryProtocol('vless', { ...at, host: 'gate.invalid' }))).toBe('dns')
  expect(failureOf(await tryProtocol('trojan', { ...at, port: freePort() }))).toBe('tcp')
  expect(failureOf(await tryProtocol('naive', { ...at, pin: '0'.repeat(64) }))).toBe('certificate')
  // Without a pin, a public authority must have signed it.
  expect(failureOf(await tryProtocol('xhttp', { ...at, pin: null }))).toBe('certificate')
  expect(failureOf(await tryTlsProxy('https', { ...at, pin: null }))).toBe('certificate')
})

test('doctor names the address of the shop that did not answer through a protocol', async () => {
  const shop = `http://127.0.0.1:${freePort()}`
  const outcome = await tryDevice('vless', await pinned(), await keys(), new URL(shop))
  expect(outcome).toMatchObject({ works: false, problem: expect.stringContaining(`the shop (${shop}) did not answer`) })
})

test('a program that only shows a web site fails every protocol', async () => {
  const port = freePort()
  const made = await makeCertificate('vpn')
  const site = createServer({ ...made, ALPNProtocols: ['http/1.1'] }, (line: TLSSocket) => {
    line.on('error', () => {}).once('data', () => line.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'))
  })
  await new Promise<void>((resolve) => site.listen(port, '127.0.0.1', resolve))
  const pin = new X509Certificate(made.cert).fingerprint256.replaceAll(':', '').toLowerCase()
  for (const protocol of ['vless', 'websocket', 'http', 'naive'] as const)
    expect(failureOf(await tryProtocol(protocol, { host: '127.0.0.1', port, pin }))).toBe('protocol')
  site.close()
})

test('doctor says per gateway which ways in work, which failed and which are off', async () => {
  const { name } = await node()
  const { services, testDatabase } = gateway.shop
  await services.fleet.setVpnLinks(name, { protocols: ['vless', 'trojan'] })
  await untilTrue(async () => failureOf(await tryProtocol('websocket')) === 'protocol')
  const { out } = await runCommand(['doctor', '--json', '--role', 'shop'], {
    ...testDatabaseEnv(testDatabase),
    TURNPIKE_PUBLIC_URL: gateway.shop.url,
    TURNPIKE_GATEWAY_PORT: String(gateway.shop.port),
    TURNPIKE_GATEWAY_VPN: 'on',
  })
  const advice = (JSON.parse(out).advice as { of: string; state: string; says: string }[]).filter(
    ({ of }) => of === `ways in of gateway ${name}`,
  )
  expect(advice.map(({ state, says }) => [state, says])).toEqual([
    [
      'ok',
      'http, socks5, https, h2, VPN vless, VPN trojan work from here; off: VPN xhttp, VPN websocket, VPN http, VPN naive, VPN trusttunnel',
    ],
  ])
})

test('ways in that failed in the same way share a line', () => {
  const at = { host: '2001:db8::1', port: 443 }
  const failed = (way: string) => ({ way, at, works: false, stage: 'tcp', problem: 'refused' }) as const
  const advice = adviseWaysIn('gate-1', [failed('https'), failed('vless')], [])
  expect(advice.map(({ state, says }) => [state, says])).toEqual([
    ['wrong', 'https, vless fail at [2001:db8::1]:443, TCP: refused'],
  ])
})
