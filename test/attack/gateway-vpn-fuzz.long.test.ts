import { afterAll, beforeAll, expect, test } from 'bun:test'
import { realRuntime } from '../../src/app/shop/services.ts'
import { type Made, makeCertificate, putCertificate } from '../harness/certificates.ts'
import { buyVpn, freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { KeyClient, vlessHead } from '../harness/key-client.ts'
import { loadProcess } from '../harness/process-load.ts'
import { type Service, startService } from '../harness/service.ts'
import { startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { startUdpEcho } from '../harness/udp.ts'
import { fuzzAddresses, fuzzDevice } from '../harness/vpn-fuzz.ts'

/** TURNPIKE_TEST_FUZZ=1000000 sets another number. */
const count = Number(process.env['TURNPIKE_TEST_FUZZ'] ?? 50_000)
/** Above the memory after the first tenth. */
const maxGrowthBytes = 256 * 1024 * 1024
/** All networks but 127.0.0.0/8: mutated targets leave no other address of this machine. */
const elsewhere = '0.0.0.0/2,64.0.0.0/3,96.0.0.0/4,112.0.0.0/5,120.0.0.0/6,124.0.0.0/7,126.0.0.0/8,128.0.0.0/1,::/0'

const [port, tlsPort] = [freePort(), freePort()]
const echo = startEcho()
let made: Made
let udpEcho: Awaited<ReturnType<typeof startUdpEcho>>
let service: Service
let gateway: GatewayProcess
let files: ReturnType<typeof putCertificate>

beforeAll(async () => {
  udpEcho = await startUdpEcho()
  const shop = { TURNPIKE_GATEWAY_PORT: String(port), TURNPIKE_GATEWAY_VPN: 'on' }
  service = await startService('sqlite', shop, realRuntime, false)
  made = await makeCertificate('vpn-fuzz')
  files = putCertificate(made)
  gateway = await makeGatewayProcess(service, port, {
    ...files.env,
    TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
    TURNPIKE_GATEWAY_VPN: 'on',
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
  udpEcho.stop()
  await service.stop()
})

test(`${count} mutated streams of a VPN device by all ways in crash nothing and leak no descriptor of a gateway`, async () => {
  const device = await buyVpn(service)
  // Each address counts as a machine with a copied key.
  await service.services.db.transact((tx) => tx.run(`UPDATE vpn_subscriptions SET device_limit = ${2 * fuzzAddresses}`))
  const carries = async (): Promise<boolean> => {
    const client = await KeyClient.open(tlsPort, made, vlessHead(device, echo.spot, 'tcp'))
    client.send('hello')
    const text = await client.readText(5)
    client.close()
    return text === 'hello'
  }
  await untilTrue(carries)
  const where = { tlsPort, made, device, echoPort: echo.spot.port, udpPort: udpEcho.port }
  await loadProcess(gateway, { what: 'streams', count, maxGrowthBytes }, (dice) => fuzzDevice(where, dice))
  expect(await carries()).toBe(true)
}, 3_600_000)
