import { Bridge, innerHandlers } from '../../../tls/bridge.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import type { TlsClient } from '../sockets.ts'
import type { Kernel } from './kernel.ts'
import { makeTlsMemory, type TlsMemory, viewTlsMemory } from './shared-memory.ts'
import type { ReactorThread } from './thread.ts'

const lookEveryMs = 100
/** Longest wait for acknowledgements after a close. */
const settleMs = 30_000

class TlsLine {
  private closedAt: number | undefined

  constructor(
    private readonly tls: Pick<TlsClient, 'isClosed' | 'terminate'>,
    private readonly memory: TlsMemory,
    private readonly watch: DeliveryWatch | undefined,
  ) {}

  /** Publishes acknowledgements to the reactor. */
  publish(): void {
    if (!this.watch) return
    const { acknowledged, sent, isOver } = this.watch.transmission()
    this.memory.note(acknowledged, sent)
    if (this.tls.isClosed) this.memory.isGone = true
    if (isOver && this.tls.isClosed) this.memory.isOver = true
  }

  /** False once settled. */
  look(nowMs: number): boolean {
    this.publish()
    if (this.memory.isCut && !this.tls.isClosed) this.tls.terminate()
    if (!this.tls.isClosed) return true
    this.closedAt ??= nowMs
    const isWaiting = this.watch && !this.memory.isOver && !this.memory.isCut && nowMs - this.closedAt < settleMs
    if (isWaiting && this.memory.acknowledged < this.memory.sent) return true
    this.memory.isOver = true
    this.watch?.close(this.memory.isCut)
    return false
  }
}

/** Terminates TLS on the main thread and passes plaintext to the reactor by a socket pair. */
export function createTlsLines(deps: {
  readonly kernel: Kernel
  readonly thread: Pick<ReactorThread, 'post' | 'isRunning'>
}) {
  const { kernel, thread } = deps
  const lines = new Set<TlsLine>()
  /** Descriptors that the reactor has not duplicated yet. */
  const handed = new Set<number>()
  let timer: ReturnType<typeof setInterval> | undefined

  function look(): void {
    const nowMs = performance.now()
    for (const line of lines) if (!line.look(nowMs)) lines.delete(line)
    if (lines.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function letGo(descriptor: number): void {
    if (handed.delete(descriptor)) kernel.close(descriptor)
  }

  return {
    take(client: TlsClient): void {
      const pair = thread.isRunning ? kernel.openPair() : -1
      if (typeof pair === 'number') return client.terminate()
      const [near, far] = pair
      const shared = makeTlsMemory()
      const memory = viewTlsMemory(shared)
      const line = new TlsLine(client, memory, client.follow())
      const data = new Bridge(client, { onMoved: () => line.publish(), isCut: () => memory.isCut })
      lines.add(line)
      timer ??= setInterval(look, lookEveryMs)
      handed.add(far)
      thread.post({ type: 'tls', descriptor: far, source: client.source, memory: shared })
      void Bun.connect<Bridge>({ fd: near, allowHalfOpen: true, data, socket: innerHandlers } as never)
    },

    taken: letGo,

    /** Closes descriptors that the reactor had not taken. */
    reactorDied: (): void => handed.forEach(letGo),

    stop(): void {
      handed.forEach(letGo)
      look()
    },
  }
}
