import type { udp } from 'bun'
import { type Address, formatAddress, readAddressCached } from '../../../../core/address.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import {
  type DatagramOwner,
  type DatagramSocket,
  maxDatagramBytes,
  type OpenDatagrams,
} from '../../relay/udp/datagram-socket.ts'
import { codeOf, toRefusal } from './dialler.ts'

type BunSocket = udp.Socket<'uint8array'>

/** A UDP socket of Bun. */
class PortableDatagramSocket implements DatagramSocket {
  private owner: DatagramOwner | undefined
  private socket: BunSocket | undefined

  constructor(private readonly onFault: (fault: unknown) => void) {}

  async open(at: Address, port: number): Promise<void> {
    const hostname = formatAddress(at)
    const socket = {
      data: (_: BunSocket, bytes: Uint8Array, fromPort: number, from: string, { truncated }: udp.ReceiveFlags) => {
        if (!truncated) this.take(bytes, from, fromPort)
      },
      // An ICMP error about one datagram.
      error() {},
    }
    this.socket = await Bun.udpSocket({ hostname, port, binaryType: 'uint8array', socket })
  }

  get port(): number {
    return this.socket?.port ?? 0
  }

  own(owner: DatagramOwner): void {
    this.owner = owner
  }

  send(header: Uint8Array, payload: Uint8Array, to: Address, port: number, receipt: DatagramReceipt): void {
    receipt.settle(payload.length, this.trySend(header, payload, to, port))
  }

  close(): void {
    this.socket?.close()
    this.socket = undefined
  }

  /** The kernel reports an ICMP error about an earlier datagram at the next send, which sends nothing then. */
  private trySend(header: Uint8Array, payload: Uint8Array, to: Address, port: number): boolean {
    const send = (): boolean => this.socket?.send(join(header, payload), port, formatAddress(to)) ?? false
    try {
      return send()
    } catch {
      return orFalse(send)
    }
  }

  private take(bytes: Uint8Array, text: string, port: number): void {
    const from = readAddressCached(text)
    if (!from || !this.socket) return
    try {
      this.owner?.onDatagram(bytes, from, port)
    } catch (fault) {
      this.onFault(fault)
      this.owner?.onFault()
      this.close()
    }
  }
}

/** Bun throws errors about one datagram, such as a missing route. */
function orFalse(send: () => boolean): boolean {
  try {
    return send()
  } catch {
    return false
  }
}

const joined = new Uint8Array(2 * maxDatagramBytes)

function join(header: Uint8Array, payload: Uint8Array): Uint8Array {
  if (header.length === 0) return payload
  joined.set(header)
  joined.set(payload, header.length)
  return joined.subarray(0, header.length + payload.length)
}

export const openDatagramsWithBun =
  (onFault: (fault: unknown) => void): OpenDatagrams =>
  async (at, port) => {
    const socket = new PortableDatagramSocket(onFault)
    try {
      await socket.open(at, port)
      return socket
    } catch (error) {
      return { refusal: toRefusal(error), isPortTaken: codeOf(error) === 'EADDRINUSE' }
    }
  }
