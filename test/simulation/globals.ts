import { AsyncResource } from 'node:async_hooks'
import { currentProcess, never, type Process } from './process.ts'

/** The runtime's own, for the test's own code. */
const real = {
  now: Date.now.bind(Date),
  performanceNow: performance.now.bind(performance),
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  random: Math.random.bind(Math),
  fetch: globalThis.fetch,
  timeout: AbortSignal.timeout.bind(AbortSignal),
  sleep: Bun.sleep.bind(Bun),
}

export const realImmediate = real.setImmediate

/** A timer of the simulated time, with the methods of a real one. */
class SimulatedTimer {
  private cancelEvent: () => void = () => {}
  private isOver = false

  constructor(
    private readonly process: Process,
    private readonly ms: number,
    private readonly act: () => void,
    private readonly repeats: boolean,
  ) {
    this.plan()
  }

  private plan(): void {
    const label = `timer of ${this.ms} ms`
    this.cancelEvent = this.process.world.schedule(this.process, Math.max(this.ms, 1), label, () => {
      if (this.isOver) return
      if (this.repeats) this.plan()
      else this.isOver = true
      this.act()
    })
  }

  cancel(): void {
    this.isOver = true
    this.cancelEvent()
  }

  unref(): this {
    return this
  }

  ref(): this {
    return this
  }
}

type Act = (...values: unknown[]) => void

let isInstalled = false

/**
 * Gives simulated processes the time, the timers, the randomness and the network of their world, wherever they take
 * them from: a shop has more than forty timers, and a forgotten one would make a simulation depend on the machine. Code
 * outside of a simulated process gets the runtime's own.
 */
export function installGlobals(): void {
  if (isInstalled) return
  isInstalled = true
  const timer = (repeats: boolean, otherwise: (act: Act, ms?: number, ...values: unknown[]) => unknown) =>
    Object.assign((act: Act, ms = 0, ...values: unknown[]): unknown => {
      const process = currentProcess()
      return process ? new SimulatedTimer(process, ms, () => act(...values), repeats) : otherwise(act, ms, ...values)
    })
  const cancel = (otherwise: (given: never) => void) => (given: unknown) => {
    if (given instanceof SimulatedTimer) given.cancel()
    else otherwise(given as never)
  }
  const pause = (process: Process, ms: number): Promise<void> =>
    new Promise((resolve) => void new SimulatedTimer(process, ms, resolve, false))
  Object.assign(globalThis, {
    setTimeout: timer(false, real.setTimeout as never),
    setInterval: timer(true, real.setInterval as never),
    clearTimeout: cancel(real.clearTimeout),
    clearInterval: cancel(real.clearInterval),
    setImmediate: (act: Act, ...values: unknown[]): unknown => {
      const process = currentProcess()
      if (!process) return real.setImmediate(act, ...values)
      process.world.immediates += 1
      const bound = AsyncResource.bind(() => act(...values))
      return real.setImmediate(() => {
        process.world.immediates -= 1
        bound()
      })
    },
    fetch: Object.assign((input: string | URL, init?: RequestInit): Promise<Response> => {
      const process = currentProcess()
      if (!process) return real.fetch(input, init)
      return process.isAlive ? process.world.fetch(process, new URL(input), init ?? {}) : never()
    }, real.fetch),
  })
  Object.assign(Date, { now: () => currentProcess()?.clock() ?? real.now() })
  Object.assign(Math, { random: () => randomOf(currentProcess()) })
  Object.assign(performance, { now: () => currentProcess()?.world.nowMs ?? real.performanceNow() })
  Object.assign(AbortSignal, {
    timeout(ms: number): AbortSignal {
      const process = currentProcess()
      if (!process) return real.timeout(ms)
      const timeout = new AbortController()
      void new SimulatedTimer(
        process,
        ms,
        () => timeout.abort(new DOMException('The operation timed out.', 'TimeoutError')),
        false,
      )
      return timeout.signal
    },
  })
  Object.assign(Bun, {
    sleep: (ms: number | Date) => {
      const process = currentProcess()
      return process ? pause(process, Number(ms)) : real.sleep(ms)
    },
  })
}

const steps = 2 ** 30

const randomOf = (process: Process | undefined): number =>
  process ? process.world.chance('random number', steps) / steps : real.random()
