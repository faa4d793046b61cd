import { dlopen, ptr } from 'bun:ffi'
import { readAddress } from '../../../core/address.ts'
import type { IsDeliveredHere } from '../dial/dial.ts'
import { nothingShown, type Transmission, type Watch } from '../metering/tunnel-meter.ts'
import type { Target } from '../protocol/authority.ts'
import { createKernel } from './linux/kernel.ts'
import { openLibc as openCalls } from './linux/libc.ts'
import { EADDRNOTAVAIL } from './linux/numbers.ts'
import { openRouteLookup } from './linux/routes.ts'
import { type Processor, readTcpInfo, tcpInfoBytes } from './linux/structures.ts'
/** Socket operations of the kernel that Bun lacks. */
export type Sockets = {
  /**
   * Starts to connect to a literal address, optionally from a local address; returns a descriptor or negative errno.
   * Without it, attempts cannot be cancelled.
   */
  readonly connect?: (there: Target, from: string | undefined) => number
  /** Opens a route lookup; Linux only. */
  readonly openRoutes?: () => IsDeliveredHere
  /** Undefined if the platform cannot track delivery: written bytes count as delivered. */
  watch(descriptor: number): Watch | undefined
  /** Acknowledged bytes; undefined if unknown. */
  acknowledged(descriptor: number): number | undefined
  /** Limits the receive buffer, so that one read is at most 256 KiB. */
  narrow(descriptor: number): void
  /** Lets the kernel size the receive buffer. */
  widen(descriptor: number): void
}

const ipProtoTcp = 6
const tcpInfo = 11
const tcpNotSentLowWater = 25
const solSocket = 1
const soLinger = 13
const soReceiveBuffer = 8
const soBufferLock = 72
const bothWays = 2
/** The kernel doubles it. */
const narrowBytes = 131_072
/**
 * Limit of unsent bytes in the kernel. Otherwise it takes megabytes for a slow reader and delivers them, uncounted,
 * after this process is killed. Bytes in flight are not limited.
 */
const maxAhead = 256 * 1024

/**
 * Linux reports acknowledged bytes (TCP_INFO), also after a reset. SIOCOUTQ is no replacement: it may or may not count
 * the FIN.
 */
export function createSockets(platform: NodeJS.Platform): Sockets {
  const libc = platform === 'linux' ? openLibc() : undefined
  if (!libc) return { watch: () => undefined, acknowledged: () => undefined, narrow() {}, widen() {} }
  const { dup, close, getsockopt, setsockopt, shutdown } = libc.symbols
  const info = new DataView(new ArrayBuffer(tcpInfoBytes))
  const length = new Uint32Array(1)
  const value = new Int32Array(1)
  const lingerForNothing = Int32Array.of(1, 0)

  function set(descriptor: number, level: number, option: number, to: number): void {
    value[0] = to
    setsockopt(descriptor, level, option, ptr(value), value.byteLength)
  }

  function transmissionOf(descriptor: number): Transmission {
    length[0] = tcpInfoBytes
    const asked = getsockopt(descriptor, ipProtoTcp, tcpInfo, ptr(info), ptr(length))
    return asked === 0 ? readTcpInfo(info, 0) : nothingShown
  }

  return {
    connect: createConnect(),
    openRoutes: () => openRouteLookup(openCalls()).isDeliveredHere,
    acknowledged: (descriptor) => transmissionOf(descriptor).acknowledged,
    narrow: (descriptor) => set(descriptor, solSocket, soReceiveBuffer, narrowBytes),
    // Needs Linux 5.17; otherwise the buffer stays small.
    widen: (descriptor) => set(descriptor, solSocket, soBufferLock, 0),
    watch(descriptor) {
      const own = descriptor < 0 ? -1 : dup(descriptor)
      if (own < 0) return undefined
      set(own, ipProtoTcp, tcpNotSentLowWater, maxAhead)
      let isClosed = false
      return {
        transmission: () => transmissionOf(own),
        shut: () => void shutdown(own, bothWays),
        close(reset) {
          if (isClosed) return
          isClosed = true
          if (reset) setsockopt(own, solSocket, soLinger, ptr(lingerForNothing), lingerForNothing.byteLength)
          close(own)
        },
      }
    },
  }
}

function createConnect(): NonNullable<Sockets['connect']> {
  const kernel = createKernel(openCalls(), process.arch as Processor)
  return (there, from) => {
    const address = readAddress(there.host)
    const own = from === undefined ? undefined : readAddress(from)
    return address && (from === undefined || own) ? kernel.connect(address, there.port, own, false) : -EADDRNOTAVAIL
  }
}

function openLibc() {
  for (const name of ['libc.so.6', 'libc.so']) {
    try {
      return dlopen(name, {
        dup: { args: ['i32'], returns: 'i32' },
        close: { args: ['i32'], returns: 'i32' },
        shutdown: { args: ['i32', 'i32'], returns: 'i32' },
        getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
        setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
      })
    } catch {
      // The next name may exist; without any, written bytes count as delivered.
    }
  }
  return undefined
}
