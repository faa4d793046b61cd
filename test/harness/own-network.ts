import { dlopen, ptr } from 'bun:ffi'

/** Calls that move a thread between networks and make a device. */
const openLibc = () =>
  dlopen('libc.so.6', {
    unshare: { args: ['i32'], returns: 'i32' },
    setns: { args: ['i32', 'i32'], returns: 'i32' },
    open: { args: ['ptr', 'i32'], returns: 'i32' },
    close: { args: ['i32'], returns: 'i32' },
    ioctl: { args: ['i32', 'u64', 'ptr'], returns: 'i32' },
    read: { args: ['i32', 'ptr', 'u64'], returns: 'i32' },
    write: { args: ['i32', 'ptr', 'u64'], returns: 'i32' },
  }).symbols

type NetworkCalls = ReturnType<typeof openLibc>

const newNetwork = 0x40000000
const nonBlocking = 0x800
const closeOnExec = 0x80000
const readWrite = 2
const setInterface = 0x400454ca
/** IFF_TUN and IFF_NO_PI: whole IP packets, with nothing before them. */
const plainTun = 0x1001

/**
 * A network of this thread's own, that nobody else sees: sockets that are opened from here on belong to it, and so do
 * those of threads that are started.
 */
export type OwnNetwork = {
  readonly calls: NetworkCalls
  /** Runs `ip` with these words. */
  ip(...words: string[]): void
  /** A device whose other end is the caller: what the system sends there is read from the descriptor. */
  openTun(name: string): number
  /** Goes back to where the thread came from. */
  leave(): void
}

const cString = (text: string): Buffer => Buffer.from(`${text}\0`)

/** Enters a network with nothing in it but loopback. Needs root. */
export function enterOwnNetwork(): OwnNetwork {
  const calls = openLibc()
  const home = calls.open(ptr(cString('/proc/thread-self/ns/net')), closeOnExec)
  if (home < 0 || calls.unshare(newNetwork) !== 0) throw new Error('no network of its own can be made: is this root?')
  const ip = (...words: string[]): void => {
    const { exitCode, stderr } = Bun.spawnSync(['ip', ...words])
    if (exitCode !== 0) throw new Error(`ip ${words.join(' ')} failed: ${stderr.toString().trim()}`)
  }
  ip('link', 'set', 'lo', 'up')
  return {
    calls,
    ip,
    openTun(name) {
      const descriptor = calls.open(ptr(cString('/dev/net/tun')), readWrite | nonBlocking | closeOnExec)
      const request = Buffer.alloc(40)
      request.write(name)
      request.writeUInt16LE(plainTun, 16)
      if (descriptor < 0 || calls.ioctl(descriptor, setInterface, ptr(request)) !== 0) {
        throw new Error('no TUN device can be made')
      }
      return descriptor
    },
    leave() {
      if (calls.setns(home, newNetwork) !== 0) throw new Error('the thread cannot go back to its network')
      calls.close(home)
    },
  }
}
