import { afterAll, beforeAll, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectPlain } from 'node:net'
import { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { realRuntime } from '../../src/app/shop/services.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import type { Dice } from '../harness/dice.ts'
import { type BoughtProxy, buyWhenSold, freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { loadProcess } from '../harness/process-load.ts'
import { isLong } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { basic } from '../harness/transfers.ts'
import { startEcho } from '../harness/tunnel.ts'
import { WireClient } from '../harness/wire-client.ts'

/** TURNPIKE_TEST_HANDSHAKES and TURNPIKE_TEST_TUNNELS set other numbers. */
const handshakes = Number(process.env['TURNPIKE_TEST_HANDSHAKES'] ?? (isLong ? 100_000 : 400))
const tunnels = Number(process.env['TURNPIKE_TEST_TUNNELS'] ?? (isLong ? 100_000 : 400))
/**
 * Above the memory after the first tenth, because the garbage collector runs late. A TLS object that is not freed is
 * 10 KB of each connection, 900 MiB in a long run.
 */
const maxGrowthBytes = 256 * 1024 * 1024
/** A ClientHello and a Finished of Bun have 500 to 600 bytes; above it the handshake completes. */
const maxSentBytes = 700
const addresses = 100
const streamsPerConnection = 25

const [port, tlsPort] = [freePort(), freePort()]
const echo = startEcho()
const payload = Buffer.from('x'.repeat(100))
let service: Service
let gateway: GatewayProcess
let files: ReturnType<typeof putCertificate>
let proxy: BoughtProxy

beforeAll(async () => {
  service = await startService('sqlite', { TURNPIKE_GATEWAY_PORT: String(port) }, realRuntime, false)
  files = putCertificate(await makeCertificate('leaks'))
  gateway = await makeGatewayProcess(service, port, {
    ...files.env,
    TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
    TURNPIKE_GATEWAY_NEW: '1000000',
  })
  await gateway.start()
  proxy = await buyWhenSold(service)
})
afterAll(async () => {
  await gateway.stop()
  gateway.remove()
  files.remove()
  echo.stop()
  await service.stop()
})

/** One address may begin 400 handshakes a second. */
const drawAddress = (dice: Dice): string => `127.0.2.${1 + dice(addresses)}`

/** Ends the connection after a random number of bytes of the client's handshake, with a FIN or a reset. */
async function breakOff(dice: Dice): Promise<number> {
  let left = 1 + dice(maxSentBytes)
  const isReset = dice(2) === 0
  const wire = connectPlain({ port: tlsPort, host: '127.0.0.1', localAddress: drawAddress(dice) })
  wire.on('error', () => {})
  const closed = new Promise((resolve) => wire.once('close', resolve))
  const end = (): void => void (isReset ? wire.resetAndDestroy() : wire.destroy())
  const duplex = new Duplex({
    read() {},
    write(bytes: Uint8Array, _, done) {
      const part = bytes.subarray(0, left)
      left -= part.length
      wire.write(part, left === 0 ? end : undefined)
      done()
    },
  })
  wire.on('data', (bytes) => void duplex.push(bytes))
  await once(wire, 'connect')
  const client = connect({ socket: duplex, rejectUnauthorized: false }, end)
  client.on('error', () => {})
  await closed
  client.destroy()
  return 1
}

test(`${handshakes} TLS handshakes broken off at random bytes leave no descriptor and no memory of a gateway behind`, async () => {
  await loadProcess(gateway, { what: 'handshakes', count: handshakes, maxGrowthBytes }, breakOff)
}, 3_600_000)

/** A tunnel with a TLS connection of its own. */
async function passOne(dice: Dice): Promise<number> {
  const client = await WireClient.connect(tlsPort, '127.0.0.1', drawAddress(dice), true)
  const at = `${echo.spot.host}:${echo.spot.port}`
  const login = basic({ ...proxy, port: tlsPort })
  await client.send(Buffer.from(`CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\nProxy-Authorization: ${login}\r\n\r\n`))
  await client.until(() => client.kept.includes('\r\n\r\n') || client.hasEnded)
  // While the gateway is busy with the handshakes of the test before, it refuses addresses that it does not know.
  if (client.kept.length === 0) {
    client.close()
    return 0
  }
  expect(client.kept.toString('latin1', 0, 12)).toBe('HTTP/1.1 200')
  const head = client.total
  await client.send(payload)
  await client.until(() => client.total >= head + payload.length || client.hasEnded)
  expect(client.total).toBe(head + payload.length)
  client.close()
  return 1
}

/** Tunnels that are streams of one connection. */
async function passMany(): Promise<number> {
  const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { rejectUnauthorized: false })
  const fields = {
    ':method': 'CONNECT',
    ':authority': `${echo.spot.host}:${echo.spot.port}`,
    'proxy-authorization': basic({ ...proxy, port: tlsPort }),
  }
  const pass = async (): Promise<void> => {
    const stream = session.request(fields)
    let got = 0
    const isBack = new Promise<void>((resolve, reject) => {
      stream.on('error', reject)
      stream.on('close', () => reject(new Error('the stream is closed')))
      stream.on('data', (bytes: Buffer) => {
        got += bytes.length
        if (got === payload.length) resolve()
      })
    })
    stream.write(payload)
    await isBack
    stream.destroy()
  }
  await Promise.all(Array.from({ length: streamsPerConnection }, pass))
  session.destroy()
  return streamsPerConnection
}

test(`${tunnels} tunnels over TLS, half of them HTTP/2 streams, leave no descriptor and no memory of a gateway behind`, async () => {
  await loadProcess(gateway, { what: 'tunnels', count: tunnels, maxGrowthBytes }, (dice) =>
    dice(streamsPerConnection + 1) === 0 ? passMany() : passOne(dice),
  )
}, 3_600_000)
