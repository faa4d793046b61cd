import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { realRuntime } from '../../src/app/shop/services.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { type Dice, mutate } from '../harness/dice.ts'
import { type BoughtProxy, buyWhenSold, freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { fuzzConnection, makeBlocks } from '../harness/http2-fuzz.ts'
import { loadProcess } from '../harness/process-load.ts'
import { isLong } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { basic, openTunnel } from '../harness/transfers.ts'
import { startEcho } from '../harness/tunnel.ts'
import { TestAssociation, toDatagram } from '../harness/udp.ts'

/** As many as fit in 10 minutes on a busy machine with 2 cores. TURNPIKE_TEST_FUZZ=10000000 sets another number. */
const count = Number(process.env['TURNPIKE_TEST_FUZZ'] ?? (isLong ? 2_000_000 : 1500))
/** Above the memory after the first tenth of the frames or datagrams. */
const maxGrowthBytes = 256 * 1024 * 1024

/** All networks but 127.0.0.0/8: mutated datagrams leave no other address of this machine. */
const elsewhere = '0.0.0.0/2,64.0.0.0/3,96.0.0.0/4,112.0.0.0/5,120.0.0.0/6,124.0.0.0/7,126.0.0.0/8,128.0.0.0/1,::/0'

const [port, tlsPort] = [freePort(), freePort()]
const echo = startEcho()
let udpEcho: Bun.udp.Socket<'buffer'>
let service: Service
let gateway: GatewayProcess
let files: ReturnType<typeof putCertificate>

beforeAll(async () => {
  udpEcho = await Bun.udpSocket({
    hostname: '127.0.0.1',
    socket: { data: (socket, bytes, from, address) => void socket.send(bytes, from, address), error() {} },
  })
  service = await startService('sqlite', { TURNPIKE_GATEWAY_PORT: String(port) }, realRuntime, false)
  files = putCertificate(await makeCertificate('fuzz'))
  gateway = await makeGatewayProcess(service, port, {
    ...files.env,
    TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
    TURNPIKE_GATEWAY_NEW: '1000000',
    TURNPIKE_GATEWAY_PACKETS: '1000000',
    TURNPIKE_GATEWAY_DENY_PREFIXES: elsewhere,
    TURNPIKE_GATEWAY_ALLOW_PORTS: `${echo.spot.port},${udpEcho.port}`,
  })
  await gateway.start()
})
afterAll(async () => {
  await gateway.stop()
  gateway.remove()
  files.remove()
  echo.stop()
  udpEcho.close()
  await service.stop()
})

test(`${count} fuzzed HTTP/2 frames crash nothing and leak no descriptor of a gateway with a site`, async () => {
  const proxy = await buyWhenSold(service)
  const udp = { host: '127.0.0.1', port: udpEcho.port }
  const blocks = makeBlocks(basic({ ...proxy, port: tlsPort }), echo.spot, udp)
  await loadProcess(gateway, { what: 'frames', count, maxGrowthBytes }, (dice) => fuzzConnection(tlsPort, dice, blocks))
  const pass = { ...proxy, port: tlsPort, isTls: true }
  const { client, handshake } = await openTunnel(pass, 'connect', echo.spot, Buffer.from('hello'))
  await client.until(() => client.total >= handshake + 5)
  expect(client.kept.toString('latin1', handshake)).toBe('hello')
  client.close()
  const site = await fetch(`https://127.0.0.1:${tlsPort}/`, { tls: { rejectUnauthorized: false } })
  expect(await site.text()).toBe('404 page not found\n')
}, 3_600_000)

const datagramsPerBatch = 100
const batchesPerAssociation = isLong ? 200 : 10

/** Datagrams that the kernel has dropped because the gateway was too slow. */
function countDropped(localPort: number): number {
  const at = `:${localPort.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync('/proc/net/udp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  return Number(lines.find(([, local]) => local?.endsWith(at))?.at(-1) ?? 0)
}

/** Sends mutated datagrams through one association, and returns how many of them have reached the gateway. */
async function fuzzAssociation(proxy: BoughtProxy, dice: Dice): Promise<number> {
  const association = await TestAssociation.open(port, proxy.username, proxy.password)
  expect(association.code).toBe(0)
  const { peer, port: relayPort, host } = association
  const seeds = ['', 'payload'].map((text) => toDatagram('127.0.0.1', udpEcho.port, text))
  seeds.push(toDatagram('::1', udpEcho.port, 'payload'))
  let sent = 0
  for (let batch = 0; batch < batchesPerAssociation; batch += 1) {
    for (let each = 0; each < datagramsPerBatch; each += 1) {
      const bytes = Uint8Array.from(mutate(seeds, dice))
      // Names are fuzzed where the test has a resolver of its own.
      if (bytes[3] === 3) bytes[3] = 1
      peer.send(bytes, relayPort, host)
    }
    sent += datagramsPerBatch
    await association.mark(udpEcho, `batch ${batch}`)
    peer.received.length = 0
  }
  const dropped = countDropped(relayPort)
  association.close()
  return sent - dropped
}

test(`${count} fuzzed datagrams crash nothing and leak no descriptor of a gateway`, async () => {
  const proxy = await buyWhenSold(service, 'socks')
  await loadProcess(gateway, { what: 'datagrams', count, maxGrowthBytes }, (dice) => fuzzAssociation(proxy, dice))
  const association = await TestAssociation.open(port, proxy.username, proxy.password)
  await association.mark(udpEcho, 'hello')
  association.close()
}, 3_600_000)
