import type { Address } from '../../../../core/address.ts'
import type { Access } from '../../access/admission.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import type { Side, SideOwner } from '../../sides/side.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import type { ProxyRequest } from '../../ways-in/request.ts'
import type { UdpAssociation, UdpClient } from './association.ts'
import type { UdpAssociations } from './associations.ts'

/** Bytes of datagrams that wait for a slow client; further ones are dropped. */
const maxQueuedBytes = 128 * 1024

type Queued = { readonly capsule: Uint8Array; readonly payloadBytes: number; readonly receipt: DatagramReceipt }

type CapsuleRequest = Extract<ProxyRequest, { asks: 'capsules' }>

/** Datagrams in capsules, on the connection of the request. It ends with that connection. */
class CapsuleClient implements UdpClient, SideOwner {
  private queue: Queued[] = []
  private queuedBytes = 0
  private hasEnded = false

  constructor(
    private readonly side: Side,
    private readonly request: CapsuleRequest,
    private readonly association: UdpAssociation,
  ) {}

  /** `early`: capsules that came before the answer. */
  start(early: Uint8Array): void {
    this.side.own(this)
    this.association.start(this)
    if (this.side.isClosed) this.association.end()
    else {
      this.onData(early)
      this.side.resume()
    }
  }

  /** The client has gone before the answer. */
  drop(): void {
    this.association.end()
  }

  onData(bytes: Uint8Array): void {
    const { codec, target } = this.request
    const isValid = codec.feed(bytes, (payload, own = target) => {
      if (own) this.association.send(own, payload)
    })
    if (!isValid) this.association.end()
  }

  onEnd(): void {
    this.hasEnded = true
    this.association.end()
  }

  onDrain(): void {
    this.flush()
  }

  onClose(): void {
    this.association.end()
  }

  deliver(source: Address, port: number, payload: Uint8Array, receipt: DatagramReceipt): void {
    const capsule = this.request.codec.toCapsule(payload, source, port)
    if (this.queuedBytes + capsule.length > maxQueuedBytes) {
      receipt.settle(payload.length, false)
      return
    }
    this.queue.push({ capsule, payloadBytes: payload.length, receipt })
    this.queuedBytes += capsule.length
    this.flush()
  }

  onEnded(): void {
    for (const { payloadBytes, receipt } of this.queue) receipt.settle(payloadBytes, false)
    this.queue = []
    if (this.hasEnded) this.side.release()
    else this.side.abort()
  }

  /** Writes while the client keeps up: a datagram is billed when the client has acknowledged its last byte. */
  private flush(): void {
    while (this.queue.length > 0 && this.side.heldBytes === 0 && !this.side.isClosed) {
      const next = this.queue.shift()
      if (!next) return
      this.queuedBytes -= next.capsule.length
      this.side.write(next.capsule)
      this.association.capsules?.noteWritten(next.payloadBytes)
    }
  }
}

export type OpenCapsules = (
  access: Access,
  request: CapsuleRequest,
  side: Side,
  isGone: () => boolean,
) => Promise<CapsuleClient | { readonly refusal: RefusalCode }>

export const createOpenCapsules =
  (associations: UdpAssociations): OpenCapsules =>
  async (access, request, side, isGone) => {
    const association = await associations.open(access, isGone, { target: request.target, side })
    return 'refusal' in association ? association : new CapsuleClient(side, request, association)
  }
