import { ptr } from 'bun:ffi'
import type { Address } from '../../../../core/address.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import {
  type BindFailure,
  type DatagramOwner,
  type DatagramSocket,
  maxDatagramBytes,
  type OpenDatagrams,
} from '../../relay/udp/datagram-socket.ts'
import { connectRefusalOf } from '../../system/kernel.ts'
import type { Libc } from '../../system/libc.ts'
import {
  EADDRINUSE,
  EAGAIN,
  EINTR,
  EMFILE,
  ENOBUFS,
  EPOLLIN,
  MSG_DONTWAIT,
  MSG_NOSIGNAL,
} from '../../system/numbers.ts'
import { maxSocketAddressBytes, readSocketAddress, writeSocketAddress } from '../../system/structures.ts'
import type { Pollable, Reactor } from './reactor.ts'

/** Datagrams per call. */
const maxInBatch = 64
/** Full batches that one socket may read before the others have their turn. */
const maxBatchesPerTurn = 4

/** `struct mmsghdr`: a `struct msghdr` of 56 bytes and the length received, 64-bit little-endian. */
const messageBytes = 64
const at = { name: 0, nameLength: 8, vectors: 16, vectorCount: 24, length: 56 } as const
/** `struct iovec`. */
const vectorBytes = 16
/** A header and a payload. */
const vectorsPerMessage = 2
const addressBytes = 32
/** The longest SOCKS5 header to a client has 22 bytes. */
const maxHeaderBytes = 32
const payloadBytes = maxDatagramBytes + 1

/** `struct mmsghdr` with its vectors and addresses, for up to 64 datagrams. */
class Messages {
  private readonly memory = new Uint8Array(
    maxInBatch * (messageBytes + vectorsPerMessage * vectorBytes + addressBytes + maxHeaderBytes),
  )
  readonly view = new DataView(this.memory.buffer)
  readonly base = Number(ptr(this.memory))
  private readonly vectorsAt = maxInBatch * messageBytes
  private readonly addressesAt = this.vectorsAt + maxInBatch * vectorsPerMessage * vectorBytes
  private readonly headersAt = this.addressesAt + maxInBatch * addressBytes

  constructor(vectors: number) {
    for (let index = 0; index < maxInBatch; index += 1) {
      this.setPointer(this.at(index) + at.name, this.base + this.addressAt(index))
      this.setPointer(this.at(index) + at.vectors, this.base + this.vectorAt(index, 0))
      this.view.setUint32(this.at(index) + at.vectorCount, vectors, true)
      this.resetLength(index)
    }
  }

  at(index: number): number {
    return index * messageBytes
  }

  addressAt(index: number): number {
    return this.addressesAt + index * addressBytes
  }

  setVector(index: number, which: number, pointer: number, length: number): void {
    const start = this.vectorAt(index, which)
    this.setPointer(start, pointer)
    this.view.setUint32(start + 8, length, true)
  }

  setHeader(index: number, header: Uint8Array): void {
    const start = this.headersAt + index * maxHeaderBytes
    this.memory.set(header, start)
    this.setVector(index, 0, this.base + start, header.length)
  }

  setNameLength(index: number, length: number): void {
    this.view.setUint32(this.at(index) + at.nameLength, length, true)
  }

  /** The kernel writes the length of each address that it received. */
  resetLength(index: number): void {
    this.setNameLength(index, maxSocketAddressBytes)
  }

  lengthOf(index: number): number {
    return this.view.getUint32(this.at(index) + at.length, true)
  }

  private vectorAt(index: number, which: number): number {
    return this.vectorsAt + (index * vectorsPerMessage + which) * vectorBytes
  }

  private setPointer(offset: number, pointer: number): void {
    this.view.setUint32(offset, pointer >>> 0, true)
    this.view.setUint32(offset + 4, Math.floor(pointer / 2 ** 32), true)
  }
}

type Queued = { readonly payload: Uint8Array; readonly receipt: DatagramReceipt }

/**
 * Batches of datagrams in preallocated memory, one object per reactor. Payloads that were just received are sent from
 * the memory that they were received into.
 */
export class DatagramBatch {
  private readonly arena = new Uint8Array(maxInBatch * payloadBytes)
  private readonly base = Number(ptr(this.arena))
  private readonly incoming = new Messages(1)
  private readonly outgoing = new Messages(vectorsPerMessage)
  private received = 0
  private isReading = false
  /** The socket of the queued datagrams. */
  private sender = -1
  private queued: Queued[] = []

  constructor(private readonly libc: Libc) {
    for (let index = 0; index < maxInBatch; index += 1) {
      this.incoming.setVector(index, 0, this.base + index * payloadBytes, payloadBytes)
    }
  }

  /** Reads one batch and passes it on; returns whether it was full. `isOpen` ends the batch early. */
  read(descriptor: number, take: DatagramOwner['onDatagram'], isOpen: () => boolean): boolean {
    for (let index = 0; index < this.received; index += 1) this.incoming.resetLength(index)
    this.received = this.libc.recvmmsg(descriptor, this.incoming.base, maxInBatch, MSG_DONTWAIT, 0)
    // EAGAIN, or an ICMP error about one datagram, which this call has cleared.
    if (this.received <= 0) return false
    this.isReading = true
    try {
      for (let index = 0; index < this.received && isOpen(); index += 1) {
        const from = readSocketAddress(this.incoming.view, this.incoming.addressAt(index))
        const start = index * payloadBytes
        if (from) take(this.arena.subarray(start, start + this.incoming.lengthOf(index)), from.address, from.port)
      }
    } finally {
      this.isReading = false
      this.flush()
    }
    return this.received === maxInBatch
  }

  /** Queues a datagram until the current batch is handled; outside a batch it is sent at once. */
  send(
    descriptor: number,
    header: Uint8Array,
    payload: Uint8Array,
    to: Address,
    port: number,
    receipt: DatagramReceipt,
  ): void {
    if (this.queued.length === maxInBatch || this.sender !== descriptor) this.flush()
    this.sender = descriptor
    const index = this.queued.length
    const { outgoing } = this
    outgoing.setHeader(index, header)
    outgoing.setVector(index, 1, this.pointerTo(payload), payload.length)
    outgoing.setNameLength(index, writeSocketAddress(outgoing.view, outgoing.addressAt(index), to, port))
    this.queued.push({ payload, receipt })
    if (!this.isReading) this.flush()
  }

  private pointerTo(payload: Uint8Array): number {
    if (payload.buffer === this.arena.buffer) return this.base + payload.byteOffset
    return payload.length === 0 ? this.base : Number(ptr(payload))
  }

  private flush(): void {
    const { queued, sender } = this
    if (queued.length === 0) return
    this.queued = []
    for (let sent = 0; sent < queued.length; ) {
      const start = this.outgoing.base + this.outgoing.at(sent)
      const count = this.libc.sendmmsg(sender, start, queued.length - sent, MSG_DONTWAIT | MSG_NOSIGNAL)
      const error = count < 0 ? (this.libc.errno[0] ?? 0) : 0
      if (error === EINTR) continue
      // With a full buffer none of the rest is taken; another error is about the first of them only.
      const isFull = error === EAGAIN || error === ENOBUFS
      const until = count > 0 ? sent + count : isFull ? queued.length : sent + 1
      for (; sent < until; sent += 1) {
        const each = queued[sent]
        each?.receipt.settle(each.payload.length, count > 0)
      }
    }
  }
}

/** A UDP socket of the reactor. It is level-triggered: unread datagrams are read in the next turn. */
class ReactorDatagramSocket implements DatagramSocket, Pollable {
  readonly port: number
  private owner: DatagramOwner | undefined
  private isClosed = false

  constructor(
    private readonly reactor: Reactor,
    private readonly batch: DatagramBatch,
    private readonly descriptor: number,
  ) {
    this.port = reactor.kernel.portOf(descriptor)
    reactor.watch(descriptor, this, EPOLLIN)
  }

  own(owner: DatagramOwner): void {
    this.owner = owner
  }

  onEvents(): void {
    for (let batches = 0; batches < maxBatchesPerTurn && !this.isClosed; batches += 1) {
      if (!this.batch.read(this.descriptor, this.take, this.isOpen)) return
    }
  }

  onFault(): void {
    this.owner?.onFault()
    this.close()
  }

  send(header: Uint8Array, payload: Uint8Array, to: Address, port: number, receipt: DatagramReceipt): void {
    if (this.isClosed) receipt.settle(payload.length, false)
    else this.batch.send(this.descriptor, header, payload, to, port, receipt)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.reactor.forget(this.descriptor)
    this.reactor.descriptors.release(this.descriptor)
  }

  private readonly take: DatagramOwner['onDatagram'] = (bytes, from, port) => this.owner?.onDatagram(bytes, from, port)

  private readonly isOpen = (): boolean => !this.isClosed
}

const toFailure = (error: number): BindFailure => ({
  refusal: connectRefusalOf(error),
  isPortTaken: error === EADDRINUSE,
})

export const openDatagramsBy =
  (reactor: Reactor, batch: DatagramBatch): OpenDatagrams =>
  (address, port) => {
    const descriptor = reactor.kernel.openDatagrams(address, port)
    if (descriptor < 0) return toFailure(-descriptor)
    if (!reactor.descriptors.own(descriptor)) return toFailure(EMFILE)
    return new ReactorDatagramSocket(reactor, batch, descriptor)
  }
