import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import type { Made } from './certificates.ts'
import type { BoughtDevice } from './gateway.ts'

type Where = { readonly host?: string; readonly port: number }
type Network = 'tcp' | 'udp'

/** Destinations are on 127.0.0.1 unless named. */
const loopback = [127, 0, 0, 1]
const portBytes = (port: number): number[] => [port >> 8, port & 255]

/** The head of a VLESS request, written for the tests from its description. */
export const vlessHead = (
  { uuid }: BoughtDevice,
  { host = loopback.join('.'), port }: Where,
  network: Network,
): Uint8Array =>
  Buffer.from([
    0,
    ...Buffer.from(uuid.replaceAll('-', ''), 'hex'),
    0,
    network === 'tcp' ? 1 : 2,
    ...portBytes(port),
    1,
    ...host.split('.').map(Number),
  ])

/** The head of a Trojan request. For UDP the target is in each datagram. */
export function trojanHead({ password }: BoughtDevice, { port }: Where, network: Network): Uint8Array {
  const key = createHash('sha224').update(password).digest('hex')
  const target = [network === 'tcp' ? 1 : 3, 1, ...loopback, ...portBytes(port)]
  return Buffer.from([...Buffer.from(`${key}\r\n`), ...target, 13, 10])
}

/** A client of VLESS or Trojan over TLS, with HTTP/1.1 as its only protocol of ALPN. */
export class KeyClient {
  private held = Buffer.alloc(0)
  private wake = Promise.withResolvers<void>()
  private isClosed = false
  readonly closed: Promise<unknown>

  private constructor(
    private readonly line: TLSSocket,
    private readonly isVless: boolean,
  ) {
    line.on('data', (bytes: Buffer) => {
      this.held = Buffer.concat([this.held, bytes])
      this.notify()
    })
    line.on('error', () => {})
    this.closed = new Promise<void>((resolve) => {
      line.once('close', () => {
        this.isClosed = true
        this.notify()
        resolve()
      })
    })
  }

  /** Sends the head in one TLS record. */
  static async open(tlsPort: number, made: Pick<Made, 'cert'>, head: Uint8Array): Promise<KeyClient> {
    const line = connect({
      host: '127.0.0.1',
      port: tlsPort,
      ca: made.cert,
      ALPNProtocols: ['http/1.1'],
      checkServerIdentity: () => undefined,
    })
    await once(line, 'secureConnect')
    line.write(head)
    return new KeyClient(line, head[0] === 0)
  }

  send(text: string): void {
    this.line.write(text)
  }

  close(): void {
    this.line.destroy()
  }

  /** The next bytes, without the answer of VLESS, or less if the connection closes. */
  async readText(length: number): Promise<string> {
    return (await this.take(length)).toString('latin1')
  }

  sendDatagram(text: string, port: number): void {
    const length = portBytes(text.length)
    const head = this.isVless ? length : [1, ...loopback, ...portBytes(port), ...length, 13, 10]
    this.line.write(Buffer.concat([Buffer.from(head), Buffer.from(text)]))
  }

  async readDatagram(): Promise<string> {
    if (!this.isVless) await this.take(7)
    const length = (await this.take(2)).readUInt16BE()
    if (!this.isVless) await this.take(2)
    return (await this.take(length)).toString('latin1')
  }

  private hasAnswer = false

  private async take(length: number): Promise<Buffer> {
    for (;;) {
      const isAnswered = this.isVless && !this.hasAnswer && this.held.length >= 2
      if (isAnswered) {
        this.hasAnswer = true
        // The site's answer begins with a letter.
        if (this.held[0] === 0) this.held = this.held.subarray(2)
      }
      const isReady = this.held.length >= length && (!this.isVless || this.hasAnswer)
      if (isReady || this.isClosed) break
      await this.wake.promise
    }
    const taken = this.held.subarray(0, length)
    this.held = this.held.subarray(taken.length)
    return taken
  }

  private notify(): void {
    this.wake.resolve()
    this.wake = Promise.withResolvers<void>()
  }
}
