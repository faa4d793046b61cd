import { dlopen, ptr } from 'bun:ffi'

/** Where a connection stands in the system's own books. */
type Standing = {
  /** Bytes taken by the system that the peer's machine has not acknowledged. */
  readonly unsent: number
  /** Over: reset, or closed by both. What was not acknowledged never will be. */
  readonly isOver: boolean
}

/** A second descriptor of a socket, kept after the first is closed, to learn how much of what was written has arrived. */
export type Watch = {
  standing(): Standing
  /** Nothing more is written or read; what was written still goes out. */
  shut(): void
  /** Lets go of the socket; with `reset`, what has not gone out never does. */
  close(reset: boolean): void
}

export type WatchSocket = (descriptor: number) => Watch | undefined

const sioCoutq = 0x5411n
const ipProtoTcp = 6
const tcpInfo = 11
const solSocket = 1
const soLinger = 13
const bothWays = 2
/** The first byte of `struct tcp_info`: TCP_CLOSE. */
const stateClosed = 7

/**
 * On Linux the system tells what the peer's machine has acknowledged (SIOCOUTQ), also after a reset. Elsewhere undefined, and what was written counts
 * as delivered.
 */
export function createWatchSocket(platform: NodeJS.Platform): WatchSocket {
  const libc = platform === 'linux' ? openLibc() : undefined
  if (!libc) return () => undefined
  const { dup, close, ioctl, getsockopt, setsockopt, shutdown } = libc.symbols
  const amount = new Int32Array(1)
  const state = new Uint8Array(8)
  const length = new Uint32Array(1)
  const lingerForNothing = Int32Array.of(1, 0)

  return (descriptor) => {
    const own = descriptor < 0 ? -1 : dup(descriptor)
    if (own < 0) return undefined
    let isClosed = false
    return {
      standing() {
        amount[0] = 0
        length[0] = state.length
        state[0] = stateClosed
        const isRead = ioctl(own, sioCoutq, ptr(amount)) === 0
        getsockopt(own, ipProtoTcp, tcpInfo, ptr(state), ptr(length))
        return { unsent: isRead ? Math.max(0, amount[0] ?? 0) : 0, isOver: state[0] === stateClosed }
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
        ioctl: { args: ['i32', 'u64', 'ptr'], returns: 'i32' },
        getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
        setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
      })
    } catch {
      // The next name may be there; without any, written is delivered.
    }
  }
  return undefined
}
