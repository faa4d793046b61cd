import { constants } from 'node:os'
import { readAddress } from '../../../../core/address.ts'
import type { Snapshot } from '../../../agent/snapshot.ts'
import type { Kernel } from '../../system/kernel.ts'
import { noRoom } from '../shared/engine.ts'
import type { ReactorThread } from './thread.ts'

const backlog = 4096

/** Listening ports. Opened on the main thread, where errors are known at once; they outlive a reactor. */
export class ListeningPorts {
  /** Descriptors by port. */
  readonly open = new Map<number, number>()
  /** Descriptors that the reactor must release before they are closed. */
  readonly releasing = new Set<number>()
  /** From the previous process, not used yet. */
  private readonly inherited = new Map<number, number>()
  private hostname = ''
  mainPort = 0

  constructor(
    private readonly kernel: Kernel,
    private readonly thread: Pick<ReactorThread, 'post' | 'isRunning'>,
    private readonly max: number,
  ) {}

  openMain(at: string, port: number, handed: ReadonlyMap<number, number> = new Map()): number {
    this.hostname = at
    for (const [each, descriptor] of handed) this.inherited.set(each, descriptor)
    this.mainPort = this.listen(port)
    return this.mainPort
  }

  /** Announces all ports to a new reactor. */
  announce(): void {
    // The dead reactor did not release these.
    for (const descriptor of this.releasing) this.kernel.close(descriptor)
    this.releasing.clear()
    for (const [port, descriptor] of this.open) this.announceOne(port, descriptor)
  }

  /** Opens and closes customer ports. */
  openThese(wanted: Snapshot['ports'], note: (port: number, error: unknown) => void): void {
    for (const [port, descriptor] of this.open)
      if (port !== this.mainPort && !wanted.has(port)) this.drop(port, descriptor)
    const missing = [...wanted.keys()].filter((port) => !this.open.has(port))
    const room = Math.max(0, this.max - (this.open.size - 1))
    for (const port of missing.slice(0, room)) {
      try {
        this.announceOne(this.listen(port), this.open.get(port) ?? -1)
      } catch (error) {
        note(port, error)
      }
    }
    if (missing.length > room) note(missing[room] ?? 0, noRoom(missing.length - room, this.max))
    // Ports without a customer.
    for (const descriptor of this.inherited.values()) this.kernel.close(descriptor)
    this.inherited.clear()
  }

  list() {
    return [...this.open].map(([port, descriptor]) => ({ port, descriptor }))
  }

  closeAll(): void {
    for (const [port, descriptor] of this.open) this.drop(port, descriptor)
  }

  /** The reactor has released it. */
  close(descriptor: number): void {
    if (this.releasing.delete(descriptor)) this.kernel.close(descriptor)
  }

  private listen(port: number): number {
    const handed = this.inherited.get(port)
    this.inherited.delete(port)
    if (handed !== undefined && this.kernel.adopt(handed, backlog) === 0) {
      this.open.set(port, handed)
      return port
    }
    const descriptor = openListener(this.kernel, this.hostname, port)
    const opened = port === 0 ? this.kernel.portOf(descriptor) : port
    this.open.set(opened, descriptor)
    return opened
  }

  private announceOne(port: number, descriptor: number): void {
    this.thread.post({ type: 'listen', descriptor, port })
  }

  private drop(port: number, descriptor: number): void {
    this.open.delete(port)
    if (!this.thread.isRunning) this.kernel.close(descriptor)
    else {
      this.releasing.add(descriptor)
      this.thread.post({ type: 'unlisten', descriptor })
    }
  }
}

/** Throws if the port cannot be opened. */
export function openListener(kernel: Kernel, hostname: string, port: number): number {
  const address = readAddress(hostname)
  if (!address) throw systemError('EINVAL', `${hostname} is not an address`)
  const descriptor = kernel.listen(address, port, backlog)
  if (descriptor < 0) throw systemError(nameOf(-descriptor), `cannot listen on ${hostname} port ${port}`)
  return descriptor
}

const systemError = (code: string, message: string): Error => Object.assign(new Error(`${code}: ${message}`), { code })

const names = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]))
const nameOf = (error: number): string => names.get(error) ?? String(error)
