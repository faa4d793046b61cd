import { dlopen, type FFIFunction, type Pointer, toArrayBuffer } from 'bun:ffi'
import type { Processor } from './structures.ts'

/** `size_t` is `ptr`, to pass numbers without BigInt; `ssize_t` is `i32`: no call moves 2 GiB. */
const symbols = {
  socketpair: { args: ['i32', 'i32', 'i32', 'ptr'], returns: 'i32' },
  socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
  listen: { args: ['i32', 'i32'], returns: 'i32' },
  accept4: { args: ['i32', 'ptr', 'ptr', 'i32'], returns: 'i32' },
  connect: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
  recv: { args: ['i32', 'ptr', 'ptr', 'i32'], returns: 'i32' },
  sendmsg: { args: ['i32', 'ptr', 'i32'], returns: 'i32' },
  recvmsg: { args: ['i32', 'ptr', 'i32'], returns: 'i32' },
  sendmmsg: { args: ['i32', 'ptr', 'u32', 'i32'], returns: 'i32' },
  recvmmsg: { args: ['i32', 'ptr', 'u32', 'i32', 'ptr'], returns: 'i32' },
  send: { args: ['i32', 'ptr', 'ptr', 'i32'], returns: 'i32' },
  read: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  write: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  close: { args: ['i32'], returns: 'i32' },
  shutdown: { args: ['i32', 'i32'], returns: 'i32' },
  setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  epoll_create1: { args: ['i32'], returns: 'i32' },
  epoll_ctl: { args: ['i32', 'i32', 'i32', 'ptr'], returns: 'i32' },
  epoll_wait: { args: ['i32', 'ptr', 'i32', 'i32'], returns: 'i32' },
  eventfd: { args: ['u32', 'i32'], returns: 'i32' },
  splice: { args: ['i32', 'ptr', 'i32', 'ptr', 'ptr', 'u32'], returns: 'i32' },
  pipe2: { args: ['ptr', 'i32'], returns: 'i32' },
  fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  __errno_location: { args: [], returns: 'ptr' },
} as const

type Call = (...args: number[]) => number

export type Libc = Readonly<Record<Exclude<keyof typeof symbols, '__errno_location'>, Call>> & {
  /** This thread's errno as memory, which is faster than a call. */
  readonly errno: Int32Array
}

/** Throws if the library is missing. */
export function openLibc(): Libc {
  const calls = openCalls(symbols)
  const address = calls['__errno_location']() as Pointer
  return { ...calls, errno: new Int32Array(toArrayBuffer(address, 0, Int32Array.BYTES_PER_ELEMENT)) }
}

/** Tries glibc, then musl. */
function openCalls<Name extends string>(wanted: Readonly<Record<Name, FFIFunction>>): Record<Name, Call> {
  let fault: unknown
  for (const name of ['libc.so.6', 'libc.so']) {
    try {
      return dlopen(name, wanted).symbols as unknown as Record<Name, Call>
    } catch (error) {
      fault = error
    }
  }
  throw new Error('the C library cannot be opened', { cause: fault })
}

const syscallNumbers = {
  x64: { accept4: 288, close: 3, connect: 42, recvfrom: 45, sendto: 44 },
  arm64: { accept4: 242, close: 57, connect: 203, recvfrom: 207, sendto: 206 },
} as const satisfies Record<Processor, Record<string, number>>

/** Bypasses the C library's thread-cancellation wrappers, which cost as much as a call on an idle socket. */
export function makeDirect(libc: Libc, processor: Processor): Libc {
  const numbers = syscallNumbers[processor]
  const one = openSyscall(['i32', 'i32'])
  const four = openSyscall(['i32', 'i32', 'ptr', 'ptr', 'i32'])
  const six = openSyscall(['i32', 'i32', 'ptr', 'ptr', 'i32', 'ptr', 'ptr'])
  return {
    ...libc,
    close: (descriptor) => one(numbers.close, descriptor),
    accept4: (descriptor, address, length, flags) => four(numbers.accept4, descriptor, address, length, flags),
    connect: (descriptor, address, length) => four(numbers.connect, descriptor, address, length, 0),
    recv: (descriptor, at, max, flags) => six(numbers.recvfrom, descriptor, at, max, flags, 0, 0),
    send: (descriptor, at, bytes, flags) => six(numbers.sendto, descriptor, at, bytes, flags, 0, 0),
  }
}

const openSyscall = (args: ('i32' | 'ptr')[]): Call => openCalls({ syscall: { args, returns: 'i32' } }).syscall
