import { type Address, formatAddress } from '../../../../core/address.ts'
import type { ConnectTarget } from '../authority.ts'
import { joinBytes } from '../bytes.ts'
import { maxUdpPayload } from '../connect-udp/capsules.ts'
import type { CapsuleCodec } from '../request.ts'

const lengthBytes = 4
/** Addresses have 16 bytes; IPv4 follows 12 zero bytes. */
const addressBytes = 16
const spotBytes = addressBytes + 2
/** Source, destination, length of the app's name. */
const fixedBytes = 2 * spotBytes + 1
const maxNameBytes = 255
/** Client sockets that are remembered for answers. */
const maxSources = 256
const nothing = new Uint8Array(0)

/** The address of 16 bytes. */
const addressAt = (bytes: Uint8Array, at: number): Address =>
  bytes.subarray(at, at + 12).every((byte) => byte === 0)
    ? { version: 4, bytes: bytes.slice(at + 12, at + addressBytes) }
    : { version: 6, bytes: bytes.slice(at, at + addressBytes) }

const spotKey = (address: Address, port: number): string => `${formatAddress(address)} ${port}`

/**
 * Datagrams of all of a client's UDP sockets in one stream (TrustTunnel). An answer goes to the socket that last sent
 * to its source. It buffers at most one datagram.
 */
export class TrustTunnelDatagrams implements CapsuleCodec {
  private held: Uint8Array = nothing
  /** Client sockets by the destination that they sent to, oldest first. */
  private readonly sources = new Map<string, Uint8Array>()

  readonly feed = (chunk: Uint8Array, onPayload: (payload: Uint8Array, target?: ConnectTarget) => void): boolean => {
    const bytes = this.held.length === 0 ? chunk : joinBytes([this.held, chunk])
    let at = 0
    while (bytes.length - at >= lengthBytes) {
      const length = new DataView(bytes.buffer, bytes.byteOffset + at, lengthBytes).getUint32(0)
      if (length < fixedBytes || length > fixedBytes + maxNameBytes + maxUdpPayload) return false
      const from = at + lengthBytes
      if (bytes.length < from + length) break
      const name = bytes[from + fixedBytes - 1] ?? 0
      if (fixedBytes + name > length) return false
      const port = ((bytes[from + 2 * spotBytes - 2] ?? 0) << 8) | (bytes[from + 2 * spotBytes - 1] ?? 0)
      const address = addressAt(bytes, from + spotBytes)
      this.remember(spotKey(address, port), bytes.slice(from, from + spotBytes))
      const payload = bytes.subarray(from + fixedBytes + name, from + length)
      if (port > 0) onPayload(payload, { host: formatAddress(address), port })
      at = from + length
    }
    this.held = at === bytes.length ? nothing : new Uint8Array(bytes.subarray(at))
    return true
  }

  toCapsule(payload: Uint8Array, source: Address, port: number): Uint8Array {
    const capsule = new Uint8Array(lengthBytes + 2 * spotBytes + payload.length)
    new DataView(capsule.buffer).setUint32(0, 2 * spotBytes + payload.length)
    capsule.set(source.bytes, lengthBytes + addressBytes - source.bytes.length)
    capsule.set([port >> 8, port & 255], lengthBytes + addressBytes)
    capsule.set(this.sources.get(spotKey(source, port)) ?? nothing, lengthBytes + spotBytes)
    capsule.set(payload, lengthBytes + 2 * spotBytes)
    return capsule
  }

  private remember(key: string, source: Uint8Array): void {
    this.sources.delete(key)
    this.sources.set(key, source)
    const [oldest] = this.sources.keys()
    if (this.sources.size > maxSources && oldest !== undefined) this.sources.delete(oldest)
  }
}
