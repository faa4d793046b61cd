import { createKernel } from './kernel.ts'
import { openLibc } from './libc.ts'
import { openRouteLookup } from './routes.ts'
import type { Processor } from './structures.ts'

const processors: readonly string[] = ['x64', 'arm64'] satisfies Processor[]

/** Why this engine cannot run on this machine; undefined when it can. The calls that a sandbox may forbid are tried. */
export function findLack(platform: string, processor: string): string | undefined {
  if (platform !== 'linux') return `it needs Linux, and this is ${platform}`
  if (!processors.includes(processor)) return `it knows no ${processor} processors`
  try {
    return tryCalls(processor as Processor)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function tryCalls(processor: Processor): string | undefined {
  const libc = openLibc()
  const kernel = createKernel(libc, processor)
  kernel.close(openRouteLookup(libc).descriptor)
  const [poll, bell] = [kernel.openPoll(), kernel.openBell()]
  const pipe = kernel.openPipe(0)
  const opened = typeof pipe === 'number' ? [poll, bell] : [poll, bell, pipe.readEnd, pipe.writeEnd]
  for (const descriptor of opened) if (descriptor >= 0) kernel.close(descriptor)
  if (poll < 0) return `epoll_create1 fails with ${-poll}`
  if (bell < 0) return `eventfd fails with ${-bell}`
  return typeof pipe === 'number' ? `pipe2 fails with ${-pipe}` : undefined
}
