import { ptr } from 'bun:ffi'
import { type Address, formatAddress } from '../../../core/address.ts'
import { nothingShown, type Transmission } from '../metering/tunnel-meter.ts'
import { shyUnsentBytes } from '../sides/sockets.ts'
import type { RefusalCode } from '../ways-in/refusals.ts'
import { type Libc, openLibc } from './libc.ts'
import * as n from './numbers.ts'
import {
  eventLayoutOf,
  maxSocketAddressBytes,
  type Processor,
  readQuadAt,
  readSocketAddress,
  readTcpInfo,
  tcpInfoBytes,
  writeEvent,
  writeSocketAddress,
} from './structures.ts'

/** Bytes per read, and so the most held for a slow peer. */
export const readBytes = 64 * 1024
/** Wanted for bursts; the kernel's limit (rmem_max, wmem_max) may be lower. */
const datagramBufferBytes = 1024 * 1024
const maxEvents = 512
const maxSources = 4096

/** Layout of the arena: one allocation with a fixed address. */
const eventsAt = 0
const scratchAt = 16 * 1024
const addressAt = scratchAt
const lengthAt = scratchAt + 64
const valueAt = scratchAt + 80
const infoAt = scratchAt + 128
const pairAt = scratchAt + 384
const readAt = 64 * 1024
const writeAt = readAt + readBytes
const arenaBytes = writeAt + readBytes

export type KernelPipe = { readonly readEnd: number; readonly writeEnd: number; held: number }

/** The calls of a relay; tests replace them. */
export type ByteCalls = Pick<
  Kernel,
  | 'receive'
  | 'peek'
  | 'pass'
  | 'received'
  | 'send'
  | 'fill'
  | 'drain'
  | 'reclaim'
  | 'shutdownWrite'
  | 'transmissionOf'
  | 'limitUnsent'
>

/** System calls on preallocated memory. Errors are returned as negative errno. Only poll() waits. */
export class Kernel {
  private readonly layout
  private readonly arena = new Uint8Array(new ArrayBuffer(arenaBytes))
  private readonly view = new DataView(this.arena.buffer)
  private readonly base = Number(ptr(this.arena))
  private readonly events
  /** Texts of IPv4 client addresses. */
  private readonly sources = new Map<number, string>()
  /** Buffer of receive(); overwritten by the next call. */
  readonly received = this.arena.subarray(readAt, readAt + readBytes)

  constructor(
    private readonly libc: Libc,
    processor: Processor,
  ) {
    this.layout = eventLayoutOf(processor)
    this.events = new Int32Array(this.arena.buffer, eventsAt, (maxEvents * this.layout.bytes) / 4)
  }

  receive(descriptor: number, max: number): number {
    return this.orError(this.libc.recv(descriptor, this.base + readAt, Math.min(max, readBytes), 0))
  }

  /** Into memory of another owner. */
  receiveAt(descriptor: number, address: number, max: number): number {
    return this.orError(this.libc.recv(descriptor, address, max, 0))
  }

  /** `endsSoon`: more bytes or the FIN follow at once, in the same segment. */
  sendFrom(descriptor: number, address: number, bytes: number, endsSoon: boolean): number {
    const flags = endsSoon ? n.MSG_NOSIGNAL | n.MSG_MORE : n.MSG_NOSIGNAL
    return this.orError(this.libc.send(descriptor, address, bytes, flags))
  }

  /** Bytes into `received`, which stay in the kernel's buffer. */
  peekUpTo(descriptor: number, max: number): number {
    return this.orError(this.libc.recv(descriptor, this.base + readAt, Math.min(max, readBytes), n.MSG_PEEK))
  }

  peek(descriptor: number): number {
    return this.orError(this.libc.recv(descriptor, this.base + valueAt, 1, n.MSG_PEEK))
  }

  /** Sends bytes just received. `isLast`: the FIN follows at once, in the same segment. */
  pass(descriptor: number, bytes: number, isLast: boolean): number {
    return this.orError(
      this.libc.send(descriptor, this.base + readAt, bytes, isLast ? n.MSG_NOSIGNAL | n.MSG_MORE : n.MSG_NOSIGNAL),
    )
  }

  send(descriptor: number, bytes: Uint8Array): number {
    const part = bytes.length > readBytes ? bytes.subarray(0, readBytes) : bytes
    this.arena.set(part, writeAt)
    return this.orError(this.libc.send(descriptor, this.base + writeAt, part.length, n.MSG_NOSIGNAL))
  }

  /** From a socket into an empty pipe: EAGAIN means that the socket is empty. */
  fill(descriptor: number, pipe: KernelPipe, max: number): number {
    return this.orError(this.libc.splice(descriptor, 0, pipe.writeEnd, 0, max, n.SPLICE_F_MOVE | n.SPLICE_F_NONBLOCK))
  }

  /** From a non-empty pipe into a socket: EAGAIN means that the socket is full. */
  drain(pipe: KernelPipe, descriptor: number): number {
    return this.orError(
      this.libc.splice(pipe.readEnd, 0, descriptor, 0, pipe.held, n.SPLICE_F_MOVE | n.SPLICE_F_NONBLOCK),
    )
  }

  reclaim(pipe: KernelPipe): Uint8Array {
    const bytes = new Uint8Array(pipe.held)
    for (let at = 0; at < bytes.length; ) {
      const got = this.libc.read(pipe.readEnd, this.base + readAt, Math.min(readBytes, bytes.length - at))
      if (got <= 0) throw new Error('a pipe holds less than it should')
      bytes.set(this.arena.subarray(readAt, readAt + got), at)
      at += got
    }
    pipe.held = 0
    return bytes
  }

  openPipe(bytes: number): KernelPipe | number {
    const made = this.orError(this.libc.pipe2(this.base + pairAt, n.NONBLOCK_CLOEXEC))
    if (made < 0) return made
    const pipe = { readEnd: this.view.getInt32(pairAt, true), writeEnd: this.view.getInt32(pairAt + 4, true), held: 0 }
    this.libc.fcntl(pipe.writeEnd, n.F_SETPIPE_SZ, bytes)
    return pipe
  }

  /** `keepsMessages`: each receive() returns what one send() has sent. */
  openPair(keepsMessages = false): readonly [number, number] | number {
    const type = keepsMessages ? n.SOCK_SEQPACKET : n.SOCK_STREAM
    const made = this.orError(this.libc.socketpair(n.AF_UNIX, type | n.NONBLOCK_CLOEXEC, 0, this.base + pairAt))
    return made < 0 ? made : [this.view.getInt32(pairAt, true), this.view.getInt32(pairAt + 4, true)]
  }

  duplicate(descriptor: number): number {
    return this.orError(this.libc.fcntl(descriptor, n.F_DUPFD_CLOEXEC, 0))
  }

  shutdownWrite(descriptor: number): void {
    this.libc.shutdown(descriptor, n.SHUT_WR)
  }

  shutdownBoth(descriptor: number): void {
    this.libc.shutdown(descriptor, n.SHUT_RDWR)
  }

  close(descriptor: number): void {
    this.libc.close(descriptor)
  }

  /** Closing sends RST and discards unsent bytes. */
  resetOnClose(descriptor: number): void {
    this.view.setInt32(valueAt, 1, true)
    this.view.setInt32(valueAt + 4, 0, true)
    this.libc.setsockopt(descriptor, n.SOL_SOCKET, n.SO_LINGER, this.base + valueAt, 8)
  }

  /** For `::` accepts IPv4 too. */
  listen(address: Address, port: number, backlog: number): number {
    const descriptor = this.openSocket(address)
    if (descriptor < 0) return descriptor
    this.setOption(descriptor, n.SOL_SOCKET, n.SO_REUSEADDR, 1)
    // Inherited by accepted connections.
    this.setOption(descriptor, n.IPPROTO_TCP, n.TCP_NODELAY, 1)
    if (address.version === 6) this.setOption(descriptor, n.IPPROTO_IPV6, n.IPV6_V6ONLY, 0)
    const bound = this.bindTo(descriptor, address, port)
    if (bound < 0) return this.failed(descriptor, bound)
    const listening = this.beginListening(descriptor, backlog)
    return listening < 0 ? this.failed(descriptor, listening) : descriptor
  }

  /** A UDP socket, for any peer. */
  openDatagrams(address: Address, port: number): number {
    const descriptor = this.openSocket(address, n.SOCK_DGRAM)
    if (descriptor < 0) return descriptor
    this.setOption(descriptor, n.SOL_SOCKET, n.SO_RCVBUF, datagramBufferBytes)
    this.setOption(descriptor, n.SOL_SOCKET, n.SO_SNDBUF, datagramBufferBytes)
    const bound = this.bindTo(descriptor, address, port)
    return bound < 0 ? this.failed(descriptor, bound) : descriptor
  }

  /** Prepares a listening socket of another process. */
  adopt(descriptor: number, backlog: number): number {
    this.setOption(descriptor, n.IPPROTO_TCP, n.TCP_NODELAY, 1)
    return this.beginListening(descriptor, backlog)
  }

  /** 0 if a socket can be bound to the address. */
  tryAddress(address: Address): number {
    const descriptor = this.openSocket(address)
    if (descriptor < 0) return descriptor
    return this.failed(descriptor, this.bindTo(descriptor, address, 0))
  }

  portOf(descriptor: number): number {
    return this.nameOf(descriptor)?.port ?? 0
  }

  /** The local address of a connection. */
  addressOf(descriptor: number): Address | undefined {
    return this.nameOf(descriptor)?.address
  }

  private nameOf(descriptor: number) {
    this.view.setInt32(lengthAt, maxSocketAddressBytes, true)
    const failed = this.libc.getsockname(descriptor, this.base + addressAt, this.base + lengthAt)
    return failed < 0 ? undefined : readSocketAddress(this.view, addressAt)
  }

  accept(descriptor: number): number {
    this.view.setInt32(lengthAt, maxSocketAddressBytes, true)
    return this.orError(this.libc.accept4(descriptor, this.base + addressAt, this.base + lengthAt, n.NONBLOCK_CLOEXEC))
  }

  /** Copies the socket address of the last accept(). */
  readonly copyAccepted = (into: Int32Array, at: number): void => {
    for (let word = 0; word < maxSocketAddressBytes / 4; word += 1)
      into[at + word] = this.view.getInt32(addressAt + word * 4, true)
  }

  /** The client address in a copy of another thread. */
  sourceIn(from: Int32Array, at: number): string {
    for (let word = 0; word < maxSocketAddressBytes / 4; word += 1)
      this.view.setInt32(addressAt + word * 4, from[at + word] ?? 0, true)
    return this.acceptedFrom()
  }

  /** Client address of the last accept(); empty if unknown. */
  acceptedFrom(): string {
    const quad = readQuadAt(this.view, addressAt)
    const known = quad === undefined ? undefined : this.sources.get(quad)
    if (known !== undefined) return known
    const read = readSocketAddress(this.view, addressAt)
    const text = read ? formatAddress(read.address) : ''
    if (quad === undefined) return text
    if (this.sources.size >= maxSources) this.sources.clear()
    this.sources.set(quad, text)
    return text
  }

  /**
   * Starts to connect; the socket becomes writable when done. `isQuiet` saves a packet: the handshake's ACK travels
   * with the first bytes, or is sent by speakUp().
   */
  connect(there: Address, port: number, from: Address | undefined, isQuiet: boolean): number {
    const descriptor = this.openSocket(there)
    if (descriptor < 0) return descriptor
    this.setOption(descriptor, n.IPPROTO_TCP, n.TCP_NODELAY, 1)
    if (isQuiet) this.setOption(descriptor, n.IPPROTO_TCP, n.TCP_QUICKACK, 0)
    if (from) {
      this.setOption(descriptor, n.IPPROTO_IP, n.IP_BIND_ADDRESS_NO_PORT, 1)
      const bound = this.bindTo(descriptor, from, 0)
      if (bound < 0) return this.failed(descriptor, bound)
    }
    const length = writeSocketAddress(this.view, addressAt, there, port)
    const begun = this.orError(this.libc.connect(descriptor, this.base + addressAt, length))
    return begun < 0 && begun !== -n.EINPROGRESS ? this.failed(descriptor, begun) : descriptor
  }

  /** Sends a delayed ACK. */
  speakUp(descriptor: number): void {
    this.setOption(descriptor, n.IPPROTO_TCP, n.TCP_QUICKACK, 1)
  }

  takeError(descriptor: number): number {
    this.view.setInt32(lengthAt, 4, true)
    const result = this.orError(
      this.libc.getsockopt(descriptor, n.SOL_SOCKET, n.SO_ERROR, this.base + valueAt, this.base + lengthAt),
    )
    return result < 0 ? -result : this.view.getInt32(valueAt, true)
  }

  /** Also after a reset, while the descriptor is open. */
  transmissionOf(descriptor: number): Transmission {
    this.view.setInt32(lengthAt, tcpInfoBytes, true)
    const result = this.libc.getsockopt(descriptor, n.IPPROTO_TCP, n.TCP_INFO, this.base + infoAt, this.base + lengthAt)
    return result < 0 ? nothingShown : readTcpInfo(this.view, infoAt)
  }

  /** Limits unsent bytes in the kernel's buffer; `undefined` lifts the limit. */
  limitUnsent(descriptor: number, bytes: number | undefined): void {
    this.setOption(descriptor, n.IPPROTO_TCP, n.TCP_NOTSENT_LOWAT, bytes ?? 0)
  }

  /** Limits the receive buffer; the kernel doubles the value. */
  limitReceive(descriptor: number, bytes: number): void {
    this.setOption(descriptor, n.SOL_SOCKET, n.SO_RCVBUF, bytes)
  }

  /** Lets the kernel size the receive buffer; needs Linux 5.17. */
  unlimitReceive(descriptor: number): void {
    this.setOption(descriptor, n.SOL_SOCKET, n.SO_BUF_LOCK, 0)
  }

  openPoll(): number {
    return this.orError(this.libc.epoll_create1(n.CLOEXEC))
  }

  openBell(): number {
    return this.orError(this.libc.eventfd(0, n.NONBLOCK_CLOEXEC))
  }

  ring(bell: number): void {
    this.view.setUint32(valueAt, 1, true)
    this.view.setUint32(valueAt + 4, 0, true)
    this.libc.write(bell, this.base + valueAt, 8)
  }

  watch(poll: number, descriptor: number, wanted: number, life: number): number {
    writeEvent(this.view, valueAt, this.layout, { events: wanted, descriptor, life })
    return this.orError(this.libc.epoll_ctl(poll, n.EPOLL_CTL_ADD, descriptor, this.base + valueAt))
  }

  rewatch(poll: number, descriptor: number, wanted: number, life: number): number {
    writeEvent(this.view, valueAt, this.layout, { events: wanted, descriptor, life })
    return this.orError(this.libc.epoll_ctl(poll, n.EPOLL_CTL_MOD, descriptor, this.base + valueAt))
  }

  unwatch(poll: number, descriptor: number): void {
    this.libc.epoll_ctl(poll, n.EPOLL_CTL_DEL, descriptor, this.base + valueAt)
  }

  /** Waits for events; returns their number. */
  poll(poll: number, maxMs: number): number {
    return this.orError(this.libc.epoll_wait(poll, this.base + eventsAt, maxEvents, maxMs))
  }

  /** Accessors of the events found by poll(). */
  eventsOf(index: number): number {
    return this.events[(index * this.layout.bytes) / 4] ?? 0
  }

  descriptorOf(index: number): number {
    return this.events[(index * this.layout.bytes + this.layout.oursAt) / 4] ?? -1
  }

  lifeOf(index: number): number {
    return this.events[(index * this.layout.bytes + this.layout.oursAt) / 4 + 1] ?? 0
  }

  private orError(result: number): number {
    return result < 0 ? -(this.libc.errno[0] ?? 0) : result
  }

  private setOption(descriptor: number, level: number, option: number, value: number): number {
    this.view.setInt32(valueAt, value, true)
    return this.orError(this.libc.setsockopt(descriptor, level, option, this.base + valueAt, 4))
  }

  private bindTo(descriptor: number, address: Address, port: number): number {
    const length = writeSocketAddress(this.view, addressAt, address, port)
    return this.orError(this.libc.bind(descriptor, this.base + addressAt, length))
  }

  private openSocket({ version }: Address, type = n.SOCK_STREAM): number {
    return this.orError(this.libc.socket(version === 4 ? n.AF_INET : n.AF_INET6, type | n.NONBLOCK_CLOEXEC, 0))
  }

  private failed(descriptor: number, error: number): number {
    this.libc.close(descriptor)
    return error
  }

  private beginListening(descriptor: number, backlog: number): number {
    const listening = this.orError(this.libc.listen(descriptor, backlog))
    // Inherited by accepted connections: the ACK of a request travels with the response. listen() resets it.
    this.setOption(descriptor, n.IPPROTO_TCP, n.TCP_QUICKACK, 0)
    // Inherited too: a relay raises it for a client that reads.
    this.limitUnsent(descriptor, shyUnsentBytes)
    return listening
  }
}

/** The kernel of this machine. Throws if there is no C library. */
export const openKernel = (): Kernel => new Kernel(openLibc(), process.arch === 'x64' ? 'x64' : 'arm64')

/** Local shortages are `gateway_full`, not failures of the destination. */
const refusals = new Map<number, RefusalCode>([
  [n.ECONNREFUSED, 'connect_refused'],
  [n.ETIMEDOUT, 'connect_timeout'],
  [n.EADDRNOTAVAIL, 'address_unavailable'],
  [n.EADDRINUSE, 'address_unavailable'],
  [n.EMFILE, 'gateway_full'],
  [n.ENFILE, 'gateway_full'],
  [n.ENOBUFS, 'gateway_full'],
  [n.ENOMEM, 'gateway_full'],
])

export const connectRefusalOf = (error: number): RefusalCode => refusals.get(error) ?? 'unreachable'
