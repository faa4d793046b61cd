import {
  type Address,
  addressFromNumber,
  formatAddress,
  readAddress,
  readAddressCached,
} from '../../../../core/address.ts'
import { classify } from '../../../../core/reserved.ts'
import type { Access } from '../../access/admission.ts'
import { type NameCounts, shareOf, type UdpLimits } from '../../access/limits.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import type { Side, SideOwner } from '../../sides/side.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import type { DatagramCodec, ProxyRequest } from '../../ways-in/request.ts'
import type { UdpAssociation, UdpClient } from './association.ts'
import type { UdpAssociations } from './associations.ts'
import { type DatagramOwner, type DatagramSocket, isSameAddress, type OpenDatagrams } from './datagram-socket.ts'

type Refused = { readonly refusal: RefusalCode }

/** Bytes that a client may send on the control connection; they mean nothing. */
const maxIgnored = 64 * 1024
/** Ports that are tried before an association is refused. */
const maxPortTries = 64

/**
 * Datagrams of many destinations through a UDP socket for the client (RFC 1928, 7). It accepts datagrams only from
 * the address of the control connection and from the first port that sends a valid one. It ends with that connection.
 */
class SocketClient implements UdpClient, SideOwner, DatagramOwner {
  private clientPort = 0
  private ignoredBytes = 0
  private hasEnded = false

  constructor(
    private readonly side: Side,
    private readonly client: Address,
    private readonly socket: DatagramSocket,
    private readonly association: UdpAssociation,
    private readonly codec: DatagramCodec,
    /** Where the client sends its datagrams. */
    readonly bound: { readonly address: Address; readonly port: number },
    private readonly onClosed: () => void,
  ) {}

  start(): void {
    this.side.own(this)
    this.socket.own(this)
    this.association.start(this)
    if (this.side.isClosed) this.association.end()
    else this.side.resume()
  }

  /** The client has gone before the answer. */
  drop(): void {
    this.association.end()
    this.closeSocket()
  }

  onData(bytes: Uint8Array): void {
    this.ignoredBytes += bytes.length
    if (this.ignoredBytes > maxIgnored) this.association.end()
  }

  onEnd(): void {
    this.hasEnded = true
    this.association.end()
  }

  onDrain(): void {}

  onClose(): void {
    this.association.end()
  }

  onDatagram(bytes: Uint8Array, from: Address, port: number): void {
    if ((port !== this.clientPort && this.clientPort !== 0) || !isSameAddress(from, this.client)) return
    const datagram = this.codec.read(bytes)
    if (!datagram) return
    this.clientPort = port
    this.association.send(datagram.target, datagram.payload)
  }

  onFault(): void {
    this.association.end()
  }

  deliver(source: Address, port: number, payload: Uint8Array, receipt: DatagramReceipt): void {
    this.socket.send(this.codec.toHeader(source, port), payload, this.client, this.clientPort, receipt)
  }

  onEnded(): void {
    this.closeSocket()
    if (this.hasEnded) this.side.release()
    else this.side.abort()
  }

  private closeSocket(): void {
    this.socket.close()
    this.onClosed()
  }
}

type DatagramRequest = Extract<ProxyRequest, { asks: 'datagrams' }>

export type OpenSocket = (
  access: Access,
  request: DatagramRequest,
  side: Side,
  isGone: () => boolean,
) => Promise<SocketClient | Refused>

/** Opens an association with a socket for its client, at the address that the client connected to. */
export function createOpenSocket(deps: {
  associations: UdpAssociations
  openDatagrams: OpenDatagrams
  ports: UdpLimits['ports']
  random: () => number
  /** Ports of the range that a customer has at an address. */
  taken: NameCounts
}): OpenSocket {
  const { taken } = deps

  async function bind(at: Address, name: string): Promise<DatagramSocket | Refused> {
    const { ports, openDatagrams } = deps
    if (!ports) return openDatagrams(at, 0)
    const count = ports.last - ports.first + 1
    if (taken.of(name) > shareOf(count)) return { refusal: 'too_many_tunnels' }
    const start = Math.floor(deps.random() * count)
    for (let tried = 0; tried < Math.min(count, maxPortTries); tried += 1) {
      const bound = await openDatagrams(at, ports.first + ((start + tried) % count))
      if (!('refusal' in bound && bound.isPortTaken)) return bound
    }
    return { refusal: 'gateway_full' }
  }

  return async (access, { source, codec }, side, isGone) => {
    const at = side.localAddress === undefined ? undefined : readAddress(side.localAddress)
    const client = readAddressCached(source)
    // Over TLS the datagrams would not be encrypted.
    if (!at || !client) return { refusal: 'udp_unsupported' }
    const association = await deps.associations.open(access, isGone)
    if ('refusal' in association) return association
    const name = `${access.owner} ${formatAddress(at)}`
    taken.take(name)
    const release = (): void => taken.release(name)
    const socket = await bind(at, name)
    if ('refusal' in socket) {
      release()
      association.end()
      return socket
    }
    const bound = { address: shownAddress(at, client), port: socket.port }
    return new SocketClient(side, client, socket, association, codec, bound, release)
  }
}

/** Behind NAT a public client cannot reach the local address; zeros mean the address that it connected to. */
export const shownAddress = (at: Address, client: Address): Address =>
  classify(client) === 'public' && classify(at) !== 'public' ? addressFromNumber(at.version, 0n) : at
