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

/** A TLS connection with one protocol of ALPN, and from another address of this machine if one is named. */
export async function openTls(
  tlsPort: number,
  made: Made,
  protocol = 'http/1.1',
  localAddress?: string,
): Promise<TLSSocket> {
  const line = connect({
    host: '127.0.0.1',
    port: tlsPort,
    ...(localAddress !== undefined && { localAddress }),
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
export async function openTlsStream(tlsPort: number, made: Made, localAddress?: string): Promise<DeviceStream> {
  const line = await openTls(tlsPort, made, 'http/1.1', localAddress)
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

/** A masked binary frame (RFC 6455, 5.2). */
function toMaskedFrame(bytes: Uint8Array, opcode = 2): Buffer {
  const { length } = bytes
  const size = length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 255] : undefined
  const head = size ? Buffer.from(size) : Buffer.concat([Buffer.of(127), toUint64(length)])
  head[0] = (head[0] ?? 0) | 0x80
  const mask = [17, 34, 51, 68]
  const masked = bytes.map((byte, index) => byte ^ (mask[index & 3] ?? 0))
  return Buffer.concat([Buffer.of(0x80 | opcode), head, Buffer.from(mask), masked])
}

function toUint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

/** Passes the payloads of a server's frames on until the connection ends. */
async function readFrames(from: Inbox, to: Inbox): Promise<void> {
  for (;;) {
    const head = await from.read(2)
    const short = head[1] ?? 0
    if (head.length < 2 || (head[0] ?? 0) !== 0x82) break
    const length =
      short === 126
        ? (await from.read(2)).readUInt16BE()
        : short === 127
          ? Number((await from.read(8)).readBigUInt64BE())
          : short
    to.add(await from.read(length))
  }
  to.end()
}

/** A WebSocket on a path of a gateway; `early` goes in the request. */
export async function openWebSocket(
  tlsPort: number,
  made: Made,
  path: string,
  early?: Uint8Array,
  localAddress?: string,
): Promise<DeviceStream & { readonly status: number }> {
  const line = await openTls(tlsPort, made, 'http/1.1', localAddress)
  const [wire, inbox] = [new Inbox(), new Inbox()]
  line.on('data', (bytes: Buffer) => wire.add(bytes))
  const closed = closeOf(line)
  void closed.then(() => wire.end())
  const fields = [
    `GET ${path} HTTP/1.1`,
    'Host: site.example',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...(early ? [`Sec-WebSocket-Protocol: ${Buffer.from(early).toString('base64url')}`] : []),
  ]
  line.write(`${fields.join('\r\n')}\r\n\r\n`)
  const head = (await wire.readUntil('\r\n\r\n')).toString('latin1')
  void readFrames(wire, inbox)
  return {
    status: Number(head.slice(9, 12)),
    send: (bytes) => void line.write(toMaskedFrame(bytes)),
    read: (length) => inbox.read(length),
    close: () => void line.destroy(),
    closed,
  }
}
