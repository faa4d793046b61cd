import { ptr } from 'bun:ffi'
import { openLibc } from './libc.ts'

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
