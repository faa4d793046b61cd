import type { Address } from '../../../../core/address.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import type { Side } from '../../sides/side.ts'
import type { ConnectTarget } from '../../ways-in/authority.ts'
import { toDatagramFrame } from '../../ways-in/vless/mux.ts'
import type { UdpAssociation, UdpClient } from '../udp/association.ts'

/** What a UDP sub-stream needs of its connection. */
export type DatagramCarrier = {
  readonly side: Side
  /** Bytes wait for the client's socket. */
  readonly isFull: boolean
  sendDatagram(frame: Uint8Array): void
  sendEnd(id: number, hasFailed: boolean): void
  forget(id: number): void
}

/** Bytes of datagrams that wait for a slow client, or for the association to open; further ones are dropped. */
const maxQueuedBytes = 128 * 1024

type Queued = { readonly frame: Uint8Array; readonly payloadBytes: number; readonly receipt: DatagramReceipt }
type Early = { readonly target: ConnectTarget; readonly payload: Uint8Array }

/** A UDP sub-stream of a client's connection: XUDP, or an ordinary one of Mux.Cool. */
export class MuxDatagrams implements UdpClient {
  association: UdpAssociation | undefined
  private early: Early[] = []
  private queue: Queued[] = []
  private queuedBytes = 0
  isClosed = false

  constructor(
    readonly id: number,
    private readonly carrier: DatagramCarrier,
    /** Of datagrams without their own. */
    private readonly target: ConnectTarget | undefined,
    /** Names the client's UDP socket, which may continue on another connection. */
    readonly name: string | undefined,
    /** The association has ended. */
    private readonly onOver: () => void,
  ) {}

  begin(association: UdpAssociation): void {
    this.association = association
    association.start(this)
    const { early } = this
    this.early = []
    this.queuedBytes = 0
    for (const { target, payload } of early) association.send(target, payload)
  }

  // --- from the connection ---

  receive(target: ConnectTarget | undefined, payload: Uint8Array): void {
    const own = target ?? this.target
    if (!own || this.isClosed) return
    if (this.association) return this.association.send(own, payload)
    if (this.queuedBytes + payload.length > maxQueuedBytes) return
    this.queuedBytes += payload.length
    this.early.push({ target: own, payload: new Uint8Array(payload) })
  }

  receiveEnd(): void {
    this.close()
    this.association?.end()
  }

  wake(): void {
    this.flush()
  }

  /** The connection is gone. */
  lose(): void {
    this.close()
    // A named one waits for the client's next connection, until its idle time.
    if (this.name === undefined) this.association?.end()
    else this.association?.detach()
  }

  /** Ends the sub-stream, and not the association: another connection may continue with it. */
  leave(): void {
    if (!this.isClosed) this.carrier.sendEnd(this.id, false)
    this.close()
  }

  // --- from the association ---

  deliver(source: Address, port: number, payload: Uint8Array, receipt: DatagramReceipt): void {
    const frame = toDatagramFrame(this.id, payload, source, port)
    if (this.isClosed || this.queuedBytes + frame.length > maxQueuedBytes) {
      receipt.settle(payload.length, false)
      return
    }
    this.queue.push({ frame, payloadBytes: payload.length, receipt })
    this.queuedBytes += frame.length
    this.flush()
  }

  onEnded(): void {
    this.leave()
    this.onOver()
  }

  /** Writes while the client keeps up: a datagram is billed when the client has acknowledged its last byte. */
  private flush(): void {
    while (this.queue.length > 0 && !this.carrier.isFull) {
      const next = this.queue.shift()
      if (!next) return
      this.queuedBytes -= next.frame.length
      this.carrier.sendDatagram(next.frame)
      this.association?.capsules?.noteWritten(next.payloadBytes)
    }
  }

  get isWaiting(): boolean {
    return this.queue.length > 0
  }

  private close(): void {
    if (this.isClosed) return
    this.isClosed = true
    for (const { payloadBytes, receipt } of this.queue) receipt.settle(payloadBytes, false)
    this.queue = []
    this.early = []
    this.carrier.forget(this.id)
  }
}
