import type { Descriptors } from './descriptors.ts'
import type { Pipe } from './kernel.ts'

/** A user without privileges may have 64 MiB in pipes, as shipped; what is opened beyond is small and slow. */
const mostPipes = 200
/** One for every so many connections: they are made of descriptors too. */
const connectionsOfPipe = 8
export const pipeBytes = 256 * 1024

export type Pipes = Pick<PipePool, 'take' | 'give'>

/**
 * Pipes for splice(2), used again while they are empty: one that still holds somebody's bytes is closed, never handed
 * on.
 */
export class PipePool {
  private readonly idle: Pipe[] = []
  private count = 0
  private readonly most: number

  constructor(
    private readonly open: (bytes: number) => Pipe | number,
    private readonly descriptors: Pick<Descriptors, 'own' | 'release'>,
    private readonly isStrict: boolean,
    connections: number,
  ) {
    this.most = Math.min(mostPipes, Math.ceil(connections / connectionsOfPipe))
  }

  /** Undefined when there are too many: then bytes are copied. */
  take(): Pipe | undefined {
    const known = this.idle.pop()
    if (known) {
      if (this.isStrict && known.held !== 0) throw new Error('a pipe in the pool holds bytes')
      return known
    }
    if (this.count >= this.most) return undefined
    const made = this.open(pipeBytes)
    if (typeof made === 'number') return undefined
    this.descriptors.own(made.readEnd)
    this.descriptors.own(made.writeEnd)
    this.count += 1
    return made
  }

  give(pipe: Pipe): void {
    if (this.isStrict && this.idle.includes(pipe)) throw new Error('a pipe is given back twice')
    if (pipe.held === 0) {
      this.idle.push(pipe)
      return
    }
    this.count -= 1
    this.descriptors.release(pipe.readEnd)
    this.descriptors.release(pipe.writeEnd)
  }

  /** How many exist, and how many of them wait to be used. */
  get standing(): { readonly open: number; readonly idle: number } {
    return { open: this.count, idle: this.idle.length }
  }
}
