import { expect } from 'bun:test'
import type { udp } from 'bun'
import type { Made } from './certificates.ts'
import { untilTrue } from './turnpike.ts'

type TakePayload = (payload: Uint8Array) => void

/** A local UDP port for one client: `pass` takes its datagrams, and answers go back to it. Counts bytes of payload. */
class UdpForwarder {
  sent = 0
  received = 0
  private client: { readonly address: string; readonly port: number } | undefined

  private constructor(private readonly socket: udp.Socket<'buffer'>) {}

  static async open(pass: TakePayload): Promise<UdpForwarder> {
    const socket = await Bun.udpSocket({
      hostname: '127.0.0.1',
      socket: {
        data(_, bytes, port, address) {
          forwarder.client = { address, port }
          forwarder.sent += bytes.length
          pass(bytes)
        },
        error() {},
      },
    })
    const forwarder = new UdpForwarder(socket)
    return forwarder
  }

  get port(): number {
    return this.socket.port
  }

  answer(payload: Uint8Array): void {
    if (!this.client) return
    this.received += payload.length
    this.socket.send(payload, this.client.port, this.client.address)
  }

  stop(): void {
    this.socket.close()
  }
}

/** An HTTP/3 server that answers with the bytes it was sent, behind a port that counts. */
async function startHttp3Origin(certificate: Made) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: certificate,
    http1: false,
    http3: true,
    development: false,
    fetch: async (request) => new Response(await request.arrayBuffer()),
  })
  const upstream = await Bun.udpSocket({
    connect: { hostname: '127.0.0.1', port: server.port ?? 0 },
    socket: { data: (_, bytes) => counter.answer(bytes), error() {} },
  })
  const counter = await UdpForwarder.open((payload) => void upstream.send(payload))
  return {
    counter,
    async stop() {
      counter.stop()
      upstream.close()
      await server.stop(true)
    },
  }
}

/**
 * Sends three requests of up to 600,000 bytes over HTTP/3 through a gateway, and checks their answers and the billed
 * bytes: all that arrived at both ends, and no more than was sent. Both are the same unless a datagram was lost.
 */
export async function checkHttp3(
  certificate: Made,
  openPath: (originPort: number, onAnswer: TakePayload) => Promise<TakePayload>,
  used: () => Promise<number>,
): Promise<void> {
  const origin = await startHttp3Origin(certificate)
  const send = await openPath(origin.counter.port, (payload) => client.answer(payload))
  const client = await UdpForwarder.open(send)
  for (const length of [1, 60_000, 600_000]) {
    const body = Uint8Array.from({ length }, (_, at) => (at * at) % 251)
    // With a certificate authority of the caller, Bun 1.4 fails with HTTP3Unsupported.
    const init = { method: 'POST', body, protocol: 'http3', tls: { rejectUnauthorized: false } } as const
    const answer = await fetch(`https://127.0.0.1:${client.port}/`, init)
    expect(Buffer.from(await answer.bytes()).equals(body)).toBe(true)
  }
  const arrived = (): number => origin.counter.sent + client.received
  expect(arrived()).toBeGreaterThan(2 * 660_000)
  expect(await untilTrue(async () => (await used()) >= arrived())).toBe(true)
  expect(await used()).toBeLessThanOrEqual(client.sent + origin.counter.received)
  client.stop()
  await origin.stop()
}
