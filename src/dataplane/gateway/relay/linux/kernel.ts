import { ptr } from 'bun:ffi'
import { type Address, formatAddress } from '../../../../core/address.ts'
import type { RefusalCode } from '../../access/refusals.ts'
import { nothingShown, type Transmission } from '../../metering/tunnel-meter.ts'
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

export type Kernel = ReturnType<typeof createKernel>
/** The calls of a relay; tests replace them. */
export type ByteCalls = Pick<
  Kernel,
  'receive' | 'peek' | 'pass' | 'received' | 'send' | 'fill' | 'drain' | 'takeBack' | 'shutWrite'
>

/** Caches the text of client addresses. */
function createSourceReader() {
  const known = new Map<number, string>()
  const format = (view: DataView, at: number): string => {
    const read = readSocketAddress(view, at)
    return read ? formatAddress(read.address) : ''
  }
  return {
    read(view: DataView, at: number): string {
      const quad = readQuadAt(view, at)
      if (quad === undefined) return format(view, at)
      const before = known.get(quad)
      if (before !== undefined) return before
      const text = format(view, at)
      if (known.size >= maxSources) known.clear()
      known.set(quad, text)
      return text
    },
  }
}

/** System calls on preallocated memory. Errors are returned as negative errno. Only poll() waits. */
export function createKernel(libc: Libc, processor: Processor) {
  const { errno } = libc
  const layout = eventLayoutOf(processor)
  const arena = new Uint8Array(new ArrayBuffer(arenaBytes))
  const view = new DataView(arena.buffer)
  const base = Number(ptr(arena))
  const events = new Int32Array(arena.buffer, eventsAt, (maxEvents * layout.bytes) / 4)

  const sources = createSourceReader()

  const orError = (result: number): number => (result < 0 ? -(errno[0] ?? 0) : result)

  function setOption(descriptor: number, level: number, option: number, value: number): number {
    view.setInt32(valueAt, value, true)
    return orError(libc.setsockopt(descriptor, level, option, base + valueAt, 4))
  }

  function bindTo(descriptor: number, address: Address, port: number): number {
    const length = writeSocketAddress(view, addressAt, address, port)
    return orError(libc.bind(descriptor, base + addressAt, length))
  }

  const openSocket = ({ version }: Address): number =>
    orError(libc.socket(version === 4 ? n.AF_INET : n.AF_INET6, n.SOCK_STREAM | n.NONBLOCK_CLOEXEC, 0))

  function failed(descriptor: number, error: number): number {
    libc.close(descriptor)
    return error
  }

  function beginListening(descriptor: number, backlog: number): number {
    const listening = orError(libc.listen(descriptor, backlog))
    // Inherited by accepted connections: the ACK of a request travels with the response. listen() resets it.
    setOption(descriptor, n.IPPROTO_TCP, n.TCP_QUICKACK, 0)
    return listening
  }

  return {
    /** Buffer of receive(); overwritten by the next call. */
    received: arena.subarray(readAt, readAt + readBytes),

    receive: (descriptor: number, max: number): number =>
      orError(libc.recv(descriptor, base + readAt, Math.min(max, readBytes), 0)),

    peek: (descriptor: number): number => orError(libc.recv(descriptor, base + valueAt, 1, n.MSG_PEEK)),

    /** Sends bytes just received. `isLast`: the FIN follows at once, in the same segment. */
    pass: (descriptor: number, bytes: number, isLast: boolean): number =>
      orError(libc.send(descriptor, base + readAt, bytes, isLast ? n.MSG_NOSIGNAL | n.MSG_MORE : n.MSG_NOSIGNAL)),

    send(descriptor: number, bytes: Uint8Array): number {
      const part = bytes.length > readBytes ? bytes.subarray(0, readBytes) : bytes
      arena.set(part, writeAt)
      return orError(libc.send(descriptor, base + writeAt, part.length, n.MSG_NOSIGNAL))
    },

    /** From a socket into an empty pipe: EAGAIN means that the socket is empty. */
    fill: (descriptor: number, pipe: KernelPipe, max: number): number =>
      orError(libc.splice(descriptor, 0, pipe.writeEnd, 0, max, n.SPLICE_F_MOVE | n.SPLICE_F_NONBLOCK)),

    /** From a non-empty pipe into a socket: EAGAIN means that the socket is full. */
    drain: (pipe: KernelPipe, descriptor: number): number =>
      orError(libc.splice(pipe.readEnd, 0, descriptor, 0, pipe.held, n.SPLICE_F_MOVE | n.SPLICE_F_NONBLOCK)),

    takeBack(pipe: KernelPipe): Uint8Array {
      const bytes = new Uint8Array(pipe.held)
      for (let at = 0; at < bytes.length; ) {
        const got = libc.read(pipe.readEnd, base + readAt, Math.min(readBytes, bytes.length - at))
        if (got <= 0) throw new Error('a pipe holds less than it should')
        bytes.set(arena.subarray(readAt, readAt + got), at)
        at += got
      }
      pipe.held = 0
      return bytes
    },

    openPipe(bytes: number): KernelPipe | number {
      const made = orError(libc.pipe2(base + pairAt, n.NONBLOCK_CLOEXEC))
      if (made < 0) return made
      const pipe = { readEnd: view.getInt32(pairAt, true), writeEnd: view.getInt32(pairAt + 4, true), held: 0 }
      libc.fcntl(pipe.writeEnd, n.F_SETPIPE_SZ, bytes)
      return pipe
    },

    openPair(): readonly [number, number] | number {
      const made = orError(libc.socketpair(n.AF_UNIX, n.SOCK_STREAM | n.NONBLOCK_CLOEXEC, 0, base + pairAt))
      return made < 0 ? made : [view.getInt32(pairAt, true), view.getInt32(pairAt + 4, true)]
    },

    duplicate: (descriptor: number): number => orError(libc.fcntl(descriptor, n.F_DUPFD_CLOEXEC, 0)),

    shutWrite: (descriptor: number): void => void libc.shutdown(descriptor, n.SHUT_WR),
    shutBoth: (descriptor: number): void => void libc.shutdown(descriptor, n.SHUT_RDWR),
    close: (descriptor: number): void => void libc.close(descriptor),

    /** Closing sends RST and discards unsent bytes. */
    resetOnClose(descriptor: number): void {
      view.setInt32(valueAt, 1, true)
      view.setInt32(valueAt + 4, 0, true)
      libc.setsockopt(descriptor, n.SOL_SOCKET, n.SO_LINGER, base + valueAt, 8)
    },

    /** For `::` accepts IPv4 too. */
    listen(address: Address, port: number, backlog: number): number {
      const descriptor = openSocket(address)
      if (descriptor < 0) return descriptor
      setOption(descriptor, n.SOL_SOCKET, n.SO_REUSEADDR, 1)
      // Inherited by accepted connections.
      setOption(descriptor, n.IPPROTO_TCP, n.TCP_NODELAY, 1)
      if (address.version === 6) setOption(descriptor, n.IPPROTO_IPV6, n.IPV6_V6ONLY, 0)
      const bound = bindTo(descriptor, address, port)
      if (bound < 0) return failed(descriptor, bound)
      const listening = beginListening(descriptor, backlog)
      return listening < 0 ? failed(descriptor, listening) : descriptor
    },

    /** Prepares a listening socket of another process. */
    adopt(descriptor: number, backlog: number): number {
      setOption(descriptor, n.IPPROTO_TCP, n.TCP_NODELAY, 1)
      return beginListening(descriptor, backlog)
    },

    /** 0 if a socket can be bound to the address. */
    tryAddress(address: Address): number {
      const descriptor = openSocket(address)
      if (descriptor < 0) return descriptor
      return failed(descriptor, bindTo(descriptor, address, 0))
    },

    portOf(descriptor: number): number {
      view.setInt32(lengthAt, maxSocketAddressBytes, true)
      libc.getsockname(descriptor, base + addressAt, base + lengthAt)
      return readSocketAddress(view, addressAt)?.port ?? 0
    },

    accept(descriptor: number): number {
      view.setInt32(lengthAt, maxSocketAddressBytes, true)
      return orError(libc.accept4(descriptor, base + addressAt, base + lengthAt, n.NONBLOCK_CLOEXEC))
    },

    /** Client address of the last accept(); empty if unknown. */
    acceptedFrom: (): string => sources.read(view, addressAt),

    /**
     * Starts to connect; the socket becomes writable when done. `isQuiet` saves a packet: the handshake's ACK travels
     * with the first bytes, or is sent by speakUp().
     */
    connect(there: Address, port: number, from: Address | undefined, isQuiet: boolean): number {
      const descriptor = openSocket(there)
      if (descriptor < 0) return descriptor
      setOption(descriptor, n.IPPROTO_TCP, n.TCP_NODELAY, 1)
      if (isQuiet) setOption(descriptor, n.IPPROTO_TCP, n.TCP_QUICKACK, 0)
      if (from) {
        setOption(descriptor, n.IPPROTO_IP, n.IP_BIND_ADDRESS_NO_PORT, 1)
        const bound = bindTo(descriptor, from, 0)
        if (bound < 0) return failed(descriptor, bound)
      }
      const length = writeSocketAddress(view, addressAt, there, port)
      const begun = orError(libc.connect(descriptor, base + addressAt, length))
      return begun < 0 && begun !== -n.EINPROGRESS ? failed(descriptor, begun) : descriptor
    },

    /** Sends a delayed ACK. */
    speakUp: (descriptor: number): void => void setOption(descriptor, n.IPPROTO_TCP, n.TCP_QUICKACK, 1),

    takeError(descriptor: number): number {
      view.setInt32(lengthAt, 4, true)
      const asked = orError(libc.getsockopt(descriptor, n.SOL_SOCKET, n.SO_ERROR, base + valueAt, base + lengthAt))
      return asked < 0 ? -asked : view.getInt32(valueAt, true)
    },

    /** Also after a reset, while the descriptor is open. */
    transmissionOf(descriptor: number): Transmission {
      view.setInt32(lengthAt, tcpInfoBytes, true)
      const asked = libc.getsockopt(descriptor, n.IPPROTO_TCP, n.TCP_INFO, base + infoAt, base + lengthAt)
      return asked < 0 ? nothingShown : readTcpInfo(view, infoAt)
    },

    /** Limits unsent bytes in the kernel's buffer. */
    limitAhead: (descriptor: number, bytes: number): void =>
      void setOption(descriptor, n.IPPROTO_TCP, n.TCP_NOTSENT_LOWAT, bytes),

    /** Limits the receive buffer; the kernel doubles the value. */
    limitReceive: (descriptor: number, bytes: number): void =>
      void setOption(descriptor, n.SOL_SOCKET, n.SO_RCVBUF, bytes),

    /** Lets the kernel size the receive buffer; needs Linux 5.17. */
    unlimitReceive: (descriptor: number): void => void setOption(descriptor, n.SOL_SOCKET, n.SO_BUF_LOCK, 0),

    openPoll: (): number => orError(libc.epoll_create1(n.CLOEXEC)),
    openBell: (): number => orError(libc.eventfd(0, n.NONBLOCK_CLOEXEC)),

    ring(bell: number): void {
      view.setUint32(valueAt, 1, true)
      view.setUint32(valueAt + 4, 0, true)
      libc.write(bell, base + valueAt, 8)
    },

    hush: (bell: number): void => void libc.read(bell, base + valueAt, 8),

    watch(poll: number, descriptor: number, wanted: number, life: number): number {
      writeEvent(view, valueAt, layout, { events: wanted, descriptor, life })
      return orError(libc.epoll_ctl(poll, n.EPOLL_CTL_ADD, descriptor, base + valueAt))
    },

    unwatch: (poll: number, descriptor: number): void =>
      void libc.epoll_ctl(poll, n.EPOLL_CTL_DEL, descriptor, base + valueAt),

    /** Waits for events; returns their number. */
    poll: (poll: number, maxMs: number): number => orError(libc.epoll_wait(poll, base + eventsAt, maxEvents, maxMs)),

    /** Accessors of the events found by poll(). */
    eventsOf: (index: number): number => events[(index * layout.bytes) / 4] ?? 0,
    descriptorOf: (index: number): number => events[(index * layout.bytes + layout.oursAt) / 4] ?? -1,
    lifeOf: (index: number): number => events[(index * layout.bytes + layout.oursAt) / 4 + 1] ?? 0,
  }
}

/** The kernel of this machine. Throws if there is no C library. */
export const openKernel = (): Kernel => createKernel(openLibc(), process.arch === 'x64' ? 'x64' : 'arm64')

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
