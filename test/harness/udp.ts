import type { udp } from 'bun'
import { formatAddress, readAddress } from '../../src/core/address.ts'
import { RawClient } from './raw-client.ts'
import { greet } from './socks-client.ts'
import { until, waitLimitMs } from './until.ts'

type Received = { readonly bytes: Buffer; readonly address: string; readonly port: number }

/** A UDP socket of a test, with everything that it has received. */
export class UdpPeer {
  readonly received: Received[] = []
  /** Called with each datagram as it arrives. */
  onReceived: ((bytes: Buffer) => void) | undefined
  private socket: udp.Socket<'buffer'> | undefined

  private constructor(private readonly isEcho: boolean) {}

  static async open(hostname = '127.0.0.1', isEcho = false): Promise<UdpPeer> {
    const peer = new UdpPeer(isEcho)
    peer.socket = await Bun.udpSocket({
      hostname,
      socket: {
        data: (_, bytes, port, address) => peer.take({ bytes: Buffer.from(bytes), address, port }),
        error() {},
      },
    })
    return peer
  }

  get port(): number {
    return this.socket?.port ?? 0
  }

  get texts(): string[] {
    return this.received.map(({ bytes }) => bytes.toString())
  }

  send(bytes: string | Uint8Array, port: number, address: string): void {
    this.socket?.send(bytes, port, address)
  }

  stop(): void {
    this.socket?.close()
  }

  private take(received: Received): void {
    this.received.push(received)
    this.onReceived?.(received.bytes)
    if (this.isEcho) this.send(received.bytes, received.port, received.address)
  }
}

export const startUdpEcho = (hostname?: string): Promise<UdpPeer> => UdpPeer.open(hostname, true)

/** RFC 1928, 7: a client's datagram to a name or address. */
export function toDatagram(host: string, port: number, payload: string | Uint8Array, fragment = 0): Buffer {
  const address = readAddress(host)
  const spot = address
    ? [address.version === 4 ? 1 : 4, ...address.bytes]
    : [3, host.length, ...Buffer.from(host, 'latin1')]
  return Buffer.concat([Uint8Array.of(0, 0, fragment, ...spot, port >> 8, port & 255), Buffer.from(payload)])
}

/** The address and port of a reply or datagram, and where they end. */
function readSpot(bytes: Buffer) {
  const version = bytes[3] === 1 ? 4 : 6
  const end = version === 4 ? 8 : 20
  if (bytes.length < end + 2) return undefined
  return {
    host: formatAddress({ version, bytes: bytes.subarray(4, end) }),
    port: bytes.readUInt16BE(end),
    end: end + 2,
  }
}

/** RFC 1928, 7: where a datagram of the gateway comes from, and its payload. */
export function readDatagram(bytes: Buffer) {
  const spot = readSpot(bytes)
  return { from: `${spot?.host} ${spot?.port}`, payload: bytes.subarray(spot?.end ?? 0) }
}

/** RFC 1928, 4: a request for an association. */
export const associateRequest = '\x05\x03\0\x01\0\0\0\0\0\0'

/** An association of a client: its control connection and its UDP socket. */
export class TestAssociation {
  private constructor(
    readonly control: RawClient,
    readonly peer: UdpPeer,
    /** The reply code of RFC 1928; the rest is set if it is 0. */
    readonly code: number,
    readonly host: string,
    readonly port: number,
  ) {}

  /** The client connects to `at`, and sends datagrams from it too. */
  static async open(gateway: number, username: string, password?: string, at = '127.0.0.1'): Promise<TestAssociation> {
    const control = await greet(gateway, username, password, at)
    control.send(associateRequest)
    await control.readUntil((text) => text.length >= 14 && text.length >= (text.charCodeAt(7) === 4 ? 26 : 14))
    const reply = control.bytes.subarray(4)
    const spot = readSpot(reply)
    return new TestAssociation(control, await UdpPeer.open(at), reply[1] ?? -1, spot?.host ?? '', spot?.port ?? 0)
  }

  /** Sends a datagram through the association. */
  send(host: string, port: number, payload: string | Uint8Array, fragment = 0): void {
    this.peer.send(toDatagram(host, port, payload, fragment), this.port, this.host)
  }

  /** The payloads that have come back. */
  get answers(): string[] {
    return this.peer.received.map(({ bytes }) => readDatagram(bytes).payload.toString())
  }

  /** Sends a datagram to an echo until it has come back. Everything sent before has been handled then. */
  async mark(echo: { readonly port: number }, text: string, host = '127.0.0.1'): Promise<void> {
    const send = () => this.send(host, echo.port, text)
    await sendUntilBack(send, () => this.answers.includes(text))
  }

  close(): void {
    this.control.finish()
    this.peer.stop()
  }
}

/** UDP may lose a datagram when a buffer is full. */
const againMs = 2000
const maxAttempts = waitLimitMs / againMs

/** Sends a datagram again every 2 s until its echo has come back. */
export async function sendUntilBack(send: () => void, isBack: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    send()
    const againAt = performance.now() + againMs
    await until(() => isBack() || performance.now() > againAt)
    if (isBack()) return
  }
  throw new Error(`${maxAttempts} datagrams were sent and none came back`)
}
