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
/** What the system can tell of sockets, and be told about them, beyond what Bun's have. */
export type Sockets = {
  /**
   * Begins to connect to a literal address, from an address of this machine if one is named, and returns the descriptor
   * or, negative, the system's number for what is in the way. Absent where only Bun can: then a connection that is
   * being made cannot be given up.
   */
  readonly connect?: (there: Target, from: string | undefined) => number
  /** Asks the system's routing tables. Absent where only Bun can connect. */
  readonly openRoutes?: () => IsDeliveredHere
  /** Undefined where the system cannot tell: then what was written counts as delivered. */
  watch(descriptor: number): Watch | undefined
  /** Of all that was written, what the peer's machine has acknowledged; undefined where the system cannot tell. */
  acknowledged(descriptor: number): number | undefined
  /** So little may stand ready to be read that one read gives at most 256 KiB. */
  narrow(descriptor: number): void
  /** The system may let more come, as it sees fit. */
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
/** The system doubles it, for its own books; what can be read at once stays below 256 KiB. */
const narrowBytes = 131_072
/**
 * How much the system takes ahead of what it can send. Left alone it takes megabytes from whoever reads slowly, and
 * goes on delivering them, uncounted, when this process is killed. What is on its way is not limited, so neither is the
 * speed.
 */
const mostAhead = 256 * 1024

/**
 * On Linux the system tells what the peer's machine has acknowledged (TCP_INFO), also after a reset. Elsewhere nothing
 * is told or set. What is still to be acknowledged (SIOCOUTQ) would not do: it holds the end of the stream as one more
 * byte, or not, and after a reset nobody can tell which.
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

  function standingOf(descriptor: number): Transmission {
    length[0] = tcpInfoBytes
    const asked = getsockopt(descriptor, ipProtoTcp, tcpInfo, ptr(info), ptr(length))
    return asked === 0 ? readTcpInfo(info, 0) : nothingShown
  }

  return {
    connect: createConnect(),
    openRoutes: () => openRouteLookup(openCalls()).isDeliveredHere,
    acknowledged: (descriptor) => standingOf(descriptor).acknowledged,
    narrow: (descriptor) => set(descriptor, solSocket, soReceiveBuffer, narrowBytes),
    // Linux before 5.17 does not know it, and the buffer stays small.
    widen: (descriptor) => set(descriptor, solSocket, soBufferLock, 0),
    watch(descriptor) {
      const own = descriptor < 0 ? -1 : dup(descriptor)
      if (own < 0) return undefined
      set(own, ipProtoTcp, tcpNotSentLowWater, mostAhead)
      let isClosed = false
      return {
        standing: () => standingOf(own),
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
      // The next name may be there; without any, written is delivered.
    }
  }
  return undefined
}
