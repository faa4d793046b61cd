import { ptr } from 'bun:ffi'
import { openLibc } from './libc.ts'

const unixFamily = 1
const datagram = 2
const closeOnExec = 0o2000000
const socketLevel = 1
const sendTimeout = 21
/** Send timeout of 1 second (struct timeval). */
const maxWait = BigInt64Array.of(1n, 0n)
/** The size of `sun_path`. */
const maxPathBytes = 107

/**
 * Sends a state to systemd's socket (sd_notify(3)). False if there is none or it does not listen. Neither Bun nor Node
 * has Unix datagram sockets, so the C library sends it.
 */
export function tellServiceManager(socketPath: string | undefined, message: string): boolean {
  if (socketPath === undefined || !/^[/@]/.test(socketPath)) return false
  const path = new TextEncoder().encode(socketPath)
  if (path.length > maxPathBytes) return false
  // An abstract name begins with a zero byte; a path ends with one.
  if (path[0] === 0x40) path[0] = 0
  const address = new Uint8Array(2 + path.length + (path[0] === 0 ? 0 : 1))
  address[0] = unixFamily
  address.set(path, 2)
  const libc = openLibc({
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    sendto: { args: ['i32', 'ptr', 'u64', 'i32', 'ptr', 'u32'], returns: 'i64' },
    setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
    close: { args: ['i32'], returns: 'i32' },
  })
  const fd = libc?.socket(unixFamily, datagram | closeOnExec, 0) ?? -1
  if (!libc || fd < 0) return false
  libc.setsockopt(fd, socketLevel, sendTimeout, ptr(maxWait), maxWait.byteLength)
  const bytes = new TextEncoder().encode(message)
  const sent = libc.sendto(fd, ptr(bytes), bytes.length, 0, ptr(address), address.length)
  libc.close(fd)
  return Number(sent) === bytes.length
}
