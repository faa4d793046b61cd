import { afterAll, beforeAll, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect } from 'node:tls'
import { realRuntime } from '../../src/app/shop/services.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { gatewayEngine } from '../harness/engine.ts'
import { freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { type Service, startService } from '../harness/service.ts'

const secret = 'one-secret-of-the-gateways-of-one-name'
const anotherSecret = 'another-secret-after-the-first-was-lost'
const tlsPorts = [freePort(), freePort()] as const

let service: Service
const gateways: GatewayProcess[] = []
const files: ReturnType<typeof putCertificate>[] = []

beforeAll(async () => {
  service = await startService('sqlite', {}, realRuntime, false)
  for (const tlsPort of tlsPorts) {
    const certificate = putCertificate(await makeCertificate('localhost'))
    files.push(certificate)
    gateways.push(
      await makeGatewayProcess(service, freePort(), {
        ...certificate.env,
        TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
        TURNPIKE_GATEWAY_TICKET_SECRET: secret,
      }),
    )
  }
  await Promise.all(gateways.map((gateway) => gateway.start()))
})
afterAll(async () => {
  for (const gateway of gateways) {
    await gateway.stop()
    gateway.remove()
  }
  for (const each of files) each.remove()
  await service.stop()
})

/** Connects with a session, if there is one. Returns a session to resume, and whether this one was resumed. */
async function visit(port: number, session?: Buffer): Promise<{ session: Buffer; isResumed: boolean }> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...(session && { session }) })
  const ticket = once(socket, 'session') as Promise<[Buffer]>
  // Tickets of TLS 1.3 may travel with an answer.
  socket.once('secureConnect', () => socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'))
  const [next] = await ticket
  const isResumed = socket.isSessionReused()
  socket.destroy()
  return { session: next, isResumed }
}

// The portable engine's keys are Bun's, which shares them with no other process.
if (gatewayEngine === 'linux')
  test('a TLS session resumes at another gateway with the same TURNPIKE_GATEWAY_TICKET_SECRET, after a reload too, and not with another secret', async () => {
    const [first, second] = gateways as [GatewayProcess, GatewayProcess]
    const { session } = await visit(tlsPorts[0])
    expect((await visit(tlsPorts[1], session)).isResumed).toBeTrue()
    await (await first.takeOver()).ended
    expect((await visit(tlsPorts[0], session)).isResumed).toBeTrue()
    await (await second.takeOver(gatewayEngine, { TURNPIKE_GATEWAY_TICKET_SECRET: anotherSecret })).ended
    expect((await visit(tlsPorts[1], session)).isResumed).toBeFalse()
    expect((await visit(tlsPorts[0], session)).isResumed).toBeTrue()
  })
