import { dlopen, ptr } from 'bun:ffi'

/** System calls that move a thread between network namespaces and create a device. */
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
/** IFF_TUN and IFF_NO_PI: whole IP packets without a prefix. */
const plainTun = 0x1001

/**
 * A private network namespace of this thread: sockets opened from now on belong to it, and so do those of new threads.
 */
export type OwnNetwork = {
  readonly calls: NetworkCalls
  /** Runs `ip` with these arguments. */
  ip(...args: string[]): void
  /** A TUN device whose other end is the caller: packets that the kernel sends are read from the descriptor. */
  openTun(name: string): number
  /** Returns the thread to its previous network. */
  leave(): void
}

const cString = (text: string): Buffer => Buffer.from(`${text}\0`)

/** Enters a network with only a loopback device. Needs root. */
export function enterOwnNetwork(): OwnNetwork {
  const calls = openLibc()
  const home = calls.open(ptr(cString('/proc/thread-self/ns/net')), closeOnExec)
  if (home < 0 || calls.unshare(newNetwork) !== 0) throw new Error('no network of its own can be made: is this root?')
  const ip = (...args: string[]): void => {
    const { exitCode, stderr } = Bun.spawnSync(['ip', ...args])
    if (exitCode !== 0) throw new Error(`ip ${args.join(' ')} failed: ${stderr.toString().trim()}`)
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
