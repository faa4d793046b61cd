import { constants } from 'node:os'
import { readAddress } from '../../../../core/address.ts'
import { noRoom } from '../engine.ts'
import type { Kernel } from './kernel.ts'
import type { ReactorThread } from './thread.ts'

const backlog = 4096

/** Listening ports. Opened on the main thread, where errors are known at once; they outlive a reactor. */
export function createPorts(kernel: Kernel, thread: Pick<ReactorThread, 'post' | 'isRunning'>, max: number) {
  /** Descriptors by port; `leaving` are those that the reactor must release first. */
  const open = new Map<number, number>()
  const releasing = new Set<number>()
  /** From the previous process, not used yet. */
  const inherited = new Map<number, number>()
  let hostname = ''
  let mainPort = 0

  function listen(port: number): number {
    const address = readAddress(hostname)
    if (!address) throw systemError('EINVAL', `${hostname} is not an address`)
    const handed = inherited.get(port)
    inherited.delete(port)
    if (handed !== undefined && kernel.adopt(handed, backlog) === 0) {
      open.set(port, handed)
      return port
    }
    const descriptor = kernel.listen(address, port, backlog)
    if (descriptor < 0) throw systemError(nameOf(-descriptor), `cannot listen on ${hostname} port ${port}`)
    const opened = port === 0 ? kernel.portOf(descriptor) : port
    open.set(opened, descriptor)
    return opened
  }

  const announceOne = (port: number, descriptor: number): void =>
    thread.post({ type: 'listen', descriptor, port, isMain: port === mainPort })

  function drop(port: number, descriptor: number): void {
    open.delete(port)
    if (!thread.isRunning) kernel.close(descriptor)
    else {
      releasing.add(descriptor)
      thread.post({ type: 'unlisten', descriptor })
    }
  }

  return {
    openMain(at: string, port: number, handed: ReadonlyMap<number, number> = new Map()): number {
      hostname = at
      for (const [each, descriptor] of handed) inherited.set(each, descriptor)
      mainPort = listen(port)
      return mainPort
    },

    /** Announces all ports to a new reactor. */
    announce(): void {
      // The dead reactor did not release these.
      for (const descriptor of releasing) kernel.close(descriptor)
      releasing.clear()
      for (const [port, descriptor] of open) announceOne(port, descriptor)
    },

    /** Opens and closes customer ports. */
    openThese(wanted: ReadonlySet<number>, note: (port: number, error: unknown) => void): void {
      for (const [port, descriptor] of open) if (port !== mainPort && !wanted.has(port)) drop(port, descriptor)
      const missing = [...wanted].filter((port) => !open.has(port))
      const room = Math.max(0, max - (open.size - 1))
      for (const port of missing.slice(0, room)) {
        try {
          announceOne(listen(port), open.get(port) ?? -1)
        } catch (error) {
          note(port, error)
        }
      }
      if (missing.length > room) note(missing[room] ?? 0, noRoom(missing.length - room, max))
      // Ports without a customer.
      for (const descriptor of inherited.values()) kernel.close(descriptor)
      inherited.clear()
    },

    list: () => [...open].map(([port, descriptor]) => ({ port, descriptor })),

    closeAll(): void {
      for (const [port, descriptor] of open) drop(port, descriptor)
    },

    /** The reactor has released it. */
    close(descriptor: number): void {
      if (releasing.delete(descriptor)) kernel.close(descriptor)
    },

    get count(): number {
      return open.size
    },

    get closing(): number {
      return releasing.size
    },
  }
}

const systemError = (code: string, message: string): Error => Object.assign(new Error(`${code}: ${message}`), { code })

const names = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]))
const nameOf = (error: number): string => names.get(error) ?? String(error)
