import { expect } from 'bun:test'
import { join } from 'node:path'
import type { udp } from 'bun'
import { type Made, putCertificate } from './certificates.ts'
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
    try {
      this.socket.send(payload, this.client.port, this.client.address)
    } catch {
      // The client has exited; QUIC repeats what it has not acknowledged.
    }
  }

  stop(): void {
    this.socket.close()
  }
}

const worker = join(import.meta.dir, 'http3-worker.ts')
/** The worker ends when its stdin is closed, also by the end of this process. */
const startWorker = (...args: string[]) =>
  Bun.spawn([process.execPath, '--no-env-file', worker, ...args], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })

/** An HTTP/3 server that answers with the bytes it was sent, behind a port that counts. */
async function startHttp3Origin(certificate: Made) {
  const files = putCertificate(certificate)
  const server = startWorker('server', files.cert, files.key)
  const { value } = await server.stdout.getReader().read()
  const port = Number(Buffer.from(value ?? []).toString())
  const upstream = await Bun.udpSocket({
    connect: { hostname: '127.0.0.1', port },
    socket: { data: (_, bytes) => counter.answer(bytes), error() {} },
  })
  const counter = await UdpForwarder.open((payload) => void upstream.send(payload))
  return {
    counter,
    async stop() {
      counter.stop()
      upstream.close()
      server.kill()
      await server.exited
      files.remove()
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
  let client: UdpForwarder | undefined
  try {
    const send = await openPath(origin.counter.port, (payload) => client?.answer(payload))
    client = await UdpForwarder.open(send)
    await checkTransfers(origin.counter, client, used)
  } finally {
    client?.stop()
    await origin.stop()
  }
}

async function checkTransfers(origin: UdpForwarder, client: UdpForwarder, used: () => Promise<number>): Promise<void> {
  expect(await startWorker('client', String(client.port)).stdout.text()).toBe('equal\n')
  const arrived = (): number => origin.sent + client.received
  expect(arrived()).toBeGreaterThan(2 * 660_000)
  expect(await untilTrue(async () => (await used()) >= arrived())).toBe(true)
  expect(await used()).toBeLessThanOrEqual(client.sent + origin.received)
}
