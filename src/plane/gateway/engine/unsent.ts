import { dlopen, ptr } from 'bun:ffi'

/** `isOver`: reset, or closed by both. What was not acknowledged by then never will be. */
type Standing = { readonly acknowledged: number; readonly isOver: boolean }

/** A second descriptor of a socket, kept after the first is closed, to learn how much of what was written has arrived. */
export type Watch = {
  /** Of all that was written since the connection began, what the peer's machine has acknowledged; one more once it has acknowledged the end. */
  standing(): Standing
  /** Nothing more is written or read; what was written still goes out. */
  shut(): void
  /** Lets go of the socket; with `reset`, what has not gone out never does. */
  close(reset: boolean): void
}

export type WatchSocket = (descriptor: number) => Watch | undefined

const ipProtoTcp = 6
const tcpInfo = 11
const tcpNotSentLowWater = 25
const solSocket = 1
const soLinger = 13
const bothWays = 2
/** Of `struct tcp_info`: its first byte, where TCP_CLOSE is 7, and `tcpi_bytes_acked`, which an accepted connection counts from 0. */
const stateClosed = 7
const acknowledgedAt = 120
const infoBytes = 128
/**
 * How much the system takes ahead of what it can send. Left alone it takes megabytes from whoever reads slowly, and goes on delivering them, uncounted,
 * when this process is killed. What is on its way is not limited, so neither is the speed.
 */
const mostAhead = 256 * 1024

/**
 * On Linux the system tells what the peer's machine has acknowledged (TCP_INFO), also after a reset. Elsewhere undefined, and what was written counts
 * as delivered. What is still to be acknowledged (SIOCOUTQ) would not do: it holds the end of the stream as one more byte, or not, and after a
 * reset nobody can tell which.
 */
export function createWatchSocket(platform: NodeJS.Platform): WatchSocket {
  const libc = platform === 'linux' ? openLibc() : undefined
  if (!libc) return () => undefined
  const { dup, close, getsockopt, setsockopt, shutdown } = libc.symbols
  const info = new DataView(new ArrayBuffer(infoBytes))
  const length = new Uint32Array(1)
  const lingerForNothing = Int32Array.of(1, 0)
  const ahead = Int32Array.of(mostAhead)

  return (descriptor) => {
    const own = descriptor < 0 ? -1 : dup(descriptor)
    if (own < 0) return undefined
    setsockopt(own, ipProtoTcp, tcpNotSentLowWater, ptr(ahead), ahead.byteLength)
    let isClosed = false
    return {
      standing() {
        length[0] = infoBytes
        if (getsockopt(own, ipProtoTcp, tcpInfo, ptr(info), ptr(length)) !== 0) return { acknowledged: 0, isOver: true }
        return {
          acknowledged: Number(info.getBigUint64(acknowledgedAt, true)),
          isOver: info.getUint8(0) === stateClosed,
        }
      },
      shut: () => void shutdown(own, bothWays),
      close(reset) {
        if (isClosed) return
        isClosed = true
        if (reset) setsockopt(own, solSocket, soLinger, ptr(lingerForNothing), lingerForNothing.byteLength)
        close(own)
      },
    }
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
