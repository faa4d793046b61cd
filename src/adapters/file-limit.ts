import { dlopen, ptr } from 'bun:ffi'

/** RLIMIT_NOFILE, where its number is known. */
const fileLimit: Partial<Record<NodeJS.Platform, number>> = { linux: 7, darwin: 8 }
const libraries = ['libc.so.6', 'libc.so', 'libSystem.dylib']

/** Raises the limit of open files (RLIMIT_NOFILE) to its hard limit. Returns it; Infinity where it is unknown. */
export function raiseFileLimit(platform: NodeJS.Platform): number {
  const kind = fileLimit[platform]
  const libc = kind === undefined ? undefined : openLibc()
  if (kind === undefined || !libc) return Number.POSITIVE_INFINITY
  const limits = new BigUint64Array(2)
  if (libc.getrlimit(kind, ptr(limits)) !== 0) return Number.POSITIVE_INFINITY
  const [soft = 0n, hard = 0n] = limits
  if (soft >= hard) return Number(soft)
  limits[0] = hard
  return Number(libc.setrlimit(kind, ptr(limits)) === 0 ? hard : soft)
}

function openLibc() {
  for (const name of libraries) {
    try {
      return dlopen(name, {
        getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
        setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
      }).symbols
    } catch {
      // The next name may be there; without any, the limit is not known.
    }
  }
  return undefined
}
