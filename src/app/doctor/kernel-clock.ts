import { dlopen, ptr } from 'bun:ffi'

/** Larger than `struct timex` is anywhere. */
const timexBytes = 512
/** What adjtimex(2) returns while nobody disciplines the clock. */
const unsynchronised = 5

/** Whether something keeps the machine's clock set, as the kernel knows it; undefined where it does not say. */
export function isClockSet(platform: NodeJS.Platform): boolean | undefined {
  if (platform !== 'linux') return undefined
  try {
    const libc = dlopen('libc.so.6', { adjtimex: { args: ['ptr'], returns: 'i32' } })
    const state = libc.symbols.adjtimex(ptr(new Uint8Array(timexBytes)))
    libc.close()
    return state < 0 ? undefined : state !== unsynchronised
  } catch {
    return undefined
  }
}
