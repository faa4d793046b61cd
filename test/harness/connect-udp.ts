import type { Duplex } from 'node:stream'
import { CapsuleReader, toDatagramCapsule } from '../../src/dataplane/gateway/ways-in/connect-udp/capsules.ts'
import { RawClient } from './raw-client.ts'
import { sendUntilBack } from './udp.ts'

/** The path of the default template (RFC 9298, 2). */
export const udpPath = (host: string, port: number): string =>
  `/.well-known/masque/udp/${encodeURIComponent(host)}/${port}/`

/** The head of a connect-udp request over HTTP/1.1 (RFC 9298, 3.2), without a login. */
export const udpRequest = (host: string, port: number, ...lines: string[]): string =>
  [
    `GET ${udpPath(host, port)} HTTP/1.1`,
    'Host: gateway.example',
    'Connection: Upgrade',
    'Upgrade: connect-udp',
    'Capsule-Protocol: ?1',
    ...lines,
    '\r\n',
  ].join('\r\n')

/** A byte stream after its request was accepted. */
type ByteStream = {
  send(bytes: Uint8Array): void
  /** The bytes that have arrived since the last call. */
  read(): Uint8Array
  /** The gateway has ended or reset it. */
  readonly isOver: boolean
}

/** Datagrams of one destination in capsules. */
export class ConnectUdpClient {
  isMalformed = false
  /** Called with each payload as it arrives over TLS. */
  onAnswer: ((payload: Uint8Array) => void) | undefined
  private readonly known: string[] = []
  private readonly reader = new CapsuleReader()

  constructor(
    readonly status: number,
    readonly stream: ByteStream,
  ) {}

  /** Sends a request over plain HTTP/1.1. */
  static async open(
    gateway: number,
    request: string,
  ): Promise<ConnectUdpClient & { readonly head: string; readonly client: RawClient }> {
    const client = await RawClient.open(gateway)
    client.send(request)
    await client.readUntil((text) => text.includes('\r\n\r\n'))
    const head = client.text.slice(0, client.text.indexOf('\r\n\r\n') + 4)
    let taken = head.length
    const stream = {
      send: (bytes: Uint8Array) => client.send(bytes),
      read() {
        const fresh = client.bytes.subarray(taken)
        taken += fresh.length
        return fresh
      },
      get isOver() {
        return client.hasEnded || client.isClosed
      },
    }
    return Object.assign(new ConnectUdpClient(Number(head.split(' ')[1]), stream), { head, client })
  }

  /** A request whose answer has been read from the stream; `early` came with it. */
  static of(status: number, duplex: Duplex, early: Uint8Array = new Uint8Array(0)): ConnectUdpClient {
    let fresh = [early]
    let isOver = false
    duplex.on('data', (bytes: Buffer) => {
      fresh.push(bytes)
      if (client.onAnswer) void client.answers
    })
    for (const event of ['end', 'close', 'error']) duplex.on(event, () => void (isOver = true))
    const client = new ConnectUdpClient(status, {
      send: (bytes) => void duplex.write(bytes),
      read() {
        const all = Buffer.concat(fresh)
        fresh = []
        return all
      },
      get isOver() {
        return isOver
      },
    })
    return client
  }

  /** The payloads that have come back. */
  get answers(): readonly string[] {
    const isValid = this.reader.feed(this.stream.read(), (payload) => {
      this.known.push(Buffer.from(payload).toString('latin1'))
      this.onAnswer?.(payload)
    })
    if (!isValid) this.isMalformed = true
    return this.known
  }

  send(payload: string | Uint8Array): void {
    this.stream.send(toDatagramCapsule(Buffer.from(payload)))
  }

  /** Sends a datagram to an echo until it has come back. Everything sent before has been handled then. */
  async mark(text: string): Promise<void> {
    if (this.status !== 101 && this.status !== 200) throw new Error(`connect-udp was answered with ${this.status}`)
    const send = () => {
      if (this.stream.isOver) throw new Error('the gateway has ended the stream')
      this.send(text)
    }
    await sendUntilBack(send, () => this.answers.includes(text))
  }

  /** The bytes of all answers. */
  get receivedBytes(): number {
    return this.answers.reduce((sum, text) => sum + text.length, 0)
  }
}
