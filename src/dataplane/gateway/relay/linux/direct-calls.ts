import { type Call, type Libc, openCalls } from './libc.ts'
import type { Processor } from './structures.ts'

/** Numbers of the kernel's calls, by the names of its headers. */
const numbersOf = {
  x64: { accept4: 288, close: 3, connect: 42, recvfrom: 45, sendto: 44 },
  arm64: { accept4: 242, close: 57, connect: 203, recvfrom: 207, sendto: 206 },
} as const satisfies Record<Processor, Record<string, number>>

/**
 * The same calls without what the C library does around each of these, so that somebody may cancel the thread in the
 * middle of it. Nobody does, and in a process of several threads it costs as much as the call of an idle socket.
 */
export function makeDirect(libc: Libc, processor: Processor): Libc {
  const numbers = numbersOf[processor]
  const one = openSyscall(['i32', 'i32'])
  const four = openSyscall(['i32', 'i32', 'ptr', 'ptr', 'i32'])
  const six = openSyscall(['i32', 'i32', 'ptr', 'ptr', 'i32', 'ptr', 'ptr'])
  return {
    ...libc,
    close: (descriptor) => one(numbers.close, descriptor),
    accept4: (descriptor, address, length, flags) => four(numbers.accept4, descriptor, address, length, flags),
    connect: (descriptor, address, length) => four(numbers.connect, descriptor, address, length, 0),
    recv: (descriptor, at, most, flags) => six(numbers.recvfrom, descriptor, at, most, flags, 0, 0),
    send: (descriptor, at, bytes, flags) => six(numbers.sendto, descriptor, at, bytes, flags, 0, 0),
  }
}

/** `syscall` with as many arguments, and of such kinds, as one call takes. */
const openSyscall = (args: ('i32' | 'ptr')[]): Call => openCalls({ syscall: { args, returns: 'i32' } }).syscall
