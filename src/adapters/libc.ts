import { dlopen, type FFIFunction, ptr } from 'bun:ffi'

const libraries = ['libc.so.6', 'libc.so', 'libSystem.dylib']

/** Functions of the C library; undefined if it has none of these names. */
export function openLibc<const Functions extends Record<string, FFIFunction>>(functions: Functions) {
  for (const name of libraries) {
    try {
      return dlopen(name, functions).symbols
    } catch {
      // The next name is tried.
    }
  }
  return undefined
}

/** RLIMIT_NOFILE, where its number is known. */
const fileLimit: Partial<Record<NodeJS.Platform, number>> = { linux: 7, darwin: 8 }

const limitCall = { args: ['i32', 'ptr'], returns: 'i32' } as const

/** Raises the limit of open files (RLIMIT_NOFILE) to its hard limit. Returns it; Infinity where it is unknown. */
export function raiseFileLimit(platform: NodeJS.Platform): number {
  const kind = fileLimit[platform]
  const libc = kind && openLibc({ getrlimit: limitCall, setrlimit: limitCall })
  const limits = new BigUint64Array(2)
  if (!libc || libc.getrlimit(kind, ptr(limits)) !== 0) return Number.POSITIVE_INFINITY
  const [soft = 0n, hard = 0n] = limits
  if (soft >= hard) return Number(soft)
  limits[0] = hard
  return Number(libc.setrlimit(kind, ptr(limits)) === 0 ? hard : soft)
}
