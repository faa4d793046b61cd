import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import type { Made } from './certificates.ts'

/** Bytes that have arrived, for a reader that waits for so many. */
export class Inbox {
  private held = Buffer.alloc(0)
  private wake = Promise.withResolvers<void>()
  private hasEnded = false

  add(bytes: Uint8Array): void {
    this.held = Buffer.concat([this.held, bytes])
    this.notify()
  }

  end(): void {
    this.hasEnded = true
    this.notify()
  }

  /** The next bytes, or fewer after the end. */
  async read(length: number): Promise<Buffer> {
    while (this.held.length < length && !this.hasEnded) await this.wake.promise
    const taken = this.held.subarray(0, length)
    this.held = this.held.subarray(taken.length)
    return taken
  }

  /** Up to and with a text; all bytes if the end comes first. */
  async readUntil(text: string): Promise<Buffer> {
    for (;;) {
      const at = this.held.indexOf(text)
      if (at >= 0 || this.hasEnded) return this.read(at >= 0 ? at + text.length : this.held.length)
      await this.wake.promise
    }
  }

  private notify(): void {
    this.wake.resolve()
    this.wake = Promise.withResolvers<void>()
  }
}

/** A device's stream of bytes to a gateway, whatever carries it. */
export type DeviceStream = {
  send(bytes: Uint8Array): void
  read(length: number): Promise<Buffer>
  close(): void
  readonly closed: Promise<unknown>
}

/** A TLS connection with one protocol of ALPN. */
export async function openTls(tlsPort: number, made: Made, protocol = 'http/1.1'): Promise<TLSSocket> {
  const line = connect({
    host: '127.0.0.1',
    port: tlsPort,
    ca: made.cert,
    ALPNProtocols: [protocol],
    checkServerIdentity: () => undefined,
  })
  line.on('error', () => {})
  await once(line, 'secureConnect')
  return line
}

/** Resolves when the socket has closed. */
const closeOf = (line: TLSSocket): Promise<void> => new Promise((resolve) => line.once('close', () => resolve()))

/** The bytes of a TLS connection itself. */
export async function openTlsStream(tlsPort: number, made: Made): Promise<DeviceStream> {
  const line = await openTls(tlsPort, made)
  const inbox = new Inbox()
  line.on('data', (bytes: Buffer) => inbox.add(bytes))
  const closed = closeOf(line)
  void closed.then(() => inbox.end())
  return {
    send: (bytes) => void line.write(bytes),
    read: (length) => inbox.read(length),
    close: () => void line.destroy(),
    closed,
  }
}
