import { formatAddress, readAddress } from '../../../../core/address.ts'
import { type ConnectTarget, readHost, readPort } from '../authority.ts'

/** RFC 9298, 5: a longer UDP payload cannot exist. */
export const maxUdpPayload = 65_527

/** RFC 9297, 3.5: the type of a DATAGRAM capsule. */
const datagram = 0
/** RFC 9298, 4: the context of UDP payloads. */
const udpContext = 0

const pathPattern = /^\/\.well-known\/masque\/udp\/([^/?#]{1,260})\/(\d{1,5})\/$/

/** The target in the path of a connect-udp request (RFC 9298, 2 and 3). The path is the default template's. */
export function readUdpPath(path: string): ConnectTarget | undefined {
  const [, hostText = '', portText = ''] = pathPattern.exec(path) ?? []
  const text = decodePercent(hostText)
  const address = text.includes(':') ? readAddress(text) : undefined
  const host = address ? formatAddress(address) : readHost(text)
  const port = readPort(portText)
  return host === undefined || port === undefined ? undefined : { host, port }
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** Writes a UDP payload as a DATAGRAM capsule: type, length, context, payload. */
export function toDatagramCapsule(payload: Uint8Array): Uint8Array {
  const length = payload.length + 1
  const lengthBytes = length < 64 ? 1 : length < 16_384 ? 2 : 4
  const capsule = new Uint8Array(1 + lengthBytes + length)
  const view = new DataView(capsule.buffer)
  if (lengthBytes === 1) view.setUint8(1, length)
  else if (lengthBytes === 2) view.setUint16(1, 0x40_00 | length)
  else view.setUint32(1, 0x80_00_00_00 + length)
  capsule.set(payload, capsule.length - payload.length)
  return capsule
}

type Field = 'type' | 'length' | 'context' | 'payload' | 'skipped'

/**
 * Incremental reader of capsules (RFC 9297, 3.2). It skips unknown types and unknown contexts without buffering them,
 * and buffers at most one UDP payload.
 */
export class CapsuleReader {
  private field: Field = 'type'
  private type = 0
  /** Bytes of the capsule's value that are still to come. */
  private left = 0
  private varint = 0
  private varintLeft = -1
  private varintBytes = 0
  /** A payload of which only a part has arrived. */
  private partial: Uint8Array | undefined

  /** Passes each UDP payload on, as a view or a copy. False if the client violates the format; feed nothing then. */
  feed(chunk: Uint8Array, onPayload: (payload: Uint8Array) => void): boolean {
    let at = 0
    while (at < chunk.length) {
      if (this.field === 'payload' || this.field === 'skipped') {
        const bytes = chunk.subarray(at, at + this.left)
        at += bytes.length
        this.takeValue(bytes, onPayload)
      } else {
        const isComplete = this.takeVarintByte(chunk[at] ?? 0)
        at += 1
        if (isComplete && !this.takeNumber(onPayload)) return false
      }
    }
    return true
  }

  private takeValue(bytes: Uint8Array, onPayload: (payload: Uint8Array) => void): void {
    const isPayload = this.field === 'payload'
    const isWhole = bytes.length === this.left && !this.partial
    if (isPayload && !isWhole) {
      this.partial ??= new Uint8Array(this.left)
      this.partial.set(bytes, this.partial.length - this.left)
    }
    this.left -= bytes.length
    if (this.left > 0) return
    const payload = this.partial ?? bytes
    this.partial = undefined
    this.field = 'type'
    if (isPayload) onPayload(payload)
  }

  /** RFC 9000, 16. True once the integer is complete. */
  private takeVarintByte(byte: number): boolean {
    if (this.varintLeft < 0) {
      this.varintBytes = 1 << (byte >> 6)
      this.varintLeft = this.varintBytes
      this.varint = byte & 0x3f
    } else this.varint = this.varint * 256 + byte
    this.varintLeft -= 1
    if (this.varintLeft > 0) return false
    this.varintLeft = -1
    return true
  }

  private takeNumber(onPayload: (payload: Uint8Array) => void): boolean {
    if (this.field === 'type') {
      this.type = this.varint
      this.field = 'length'
      return true
    }
    if (this.field === 'length') {
      this.left = this.varint
      this.field = this.type === datagram ? 'context' : 'skipped'
      // A datagram without a context is malformed.
      if (this.left === 0 && this.type === datagram) return false
    } else {
      this.left -= this.varintBytes
      this.field = this.varint === udpContext ? 'payload' : 'skipped'
      if (this.left < 0 || (this.field === 'payload' && this.left > maxUdpPayload)) return false
    }
    if (this.left === 0) this.takeValue(nothing, onPayload)
    return true
  }
}

const nothing = new Uint8Array(0)
