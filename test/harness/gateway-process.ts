import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { realTiming } from '../../src/dataplane/agent/runtime.ts'
import { findPredecessor } from '../../src/dataplane/gateway/handover/handover.ts'
import { accepts } from './accepts.ts'
import { gatewayEngine, gatewayReactors } from './engine.ts'
import { memoryFolder } from './memory.ts'
import type { Service } from './service.ts'
import { runtimeCommand, untilTrue } from './turnpike.ts'

const maxAttempts = 3

/** A gateway in its own process, which can be killed and started again. */
export type GatewayProcess = {
  readonly name: string
  readonly port: number
  readonly folder: string
  /** The environment that it is started with. */
  readonly env: Readonly<Record<string, string>>
  start(): Promise<void>
  /**
   * Starts another process that takes over from the running one, with the other engine or other settings if requested.
   * Returns the pid that serves now, and the exit code of the previous process once it has ended.
   */
  takeOver(
    engine?: string,
    more?: Record<string, string>,
  ): Promise<{ readonly pid: number; readonly ended: Promise<number> }>
  /** The process that was started last, and the one that serves now. */
  readonly pid: number | undefined
  serving(): Promise<number | undefined>
  /** All that its processes have written to stderr so far. */
  readonly errors: string
  /** Kills it with SIGKILL. */
  kill(): Promise<void>
  /** Settles when the process that was started last has ended. */
  readonly ended: Promise<number>
  /** Kills the processes that were taken over from, with SIGKILL by default. */
  killDraining(signal?: NodeJS.Signals): void
  /** Ends it with SIGTERM. */
  stop(): Promise<void>
  /** True while counts of an earlier process wait for the shop. */
  hasJournals(): boolean
  /** After the last stop. */
  remove(): void
}

/** A new node of the shop; nothing runs before start(). */
export async function makeGatewayProcess(
  service: Pick<Service, 'services' | 'url'>,
  port: number,
  env: Record<string, string> = {},
): Promise<GatewayProcess> {
  const { db, fleet } = service.services
  const name = `gateway-${port}`
  const endpoint = { host: '127.0.0.1', port }
  await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'test', endpoint }))
  const { text: key } = await fleet.issueKey(name)
  const folder = mkdtempSync(join(memoryFolder, 'turnpike-gateway-'))
  const settings = {
    PATH: process.env['PATH'] ?? '',
    TURNPIKE_DATA: folder,
    TURNPIKE_SHOP_URL: service.url,
    TURNPIKE_NODE_KEY: key,
    TURNPIKE_METRICS_LISTEN: '',
    TURNPIKE_GATEWAY_PORT: String(port),
    TURNPIKE_GATEWAY_ENGINE: gatewayEngine,
    TURNPIKE_GATEWAY_REACTORS: String(gatewayReactors),
    TURNPIKE_LOG: 'error',
    ...env,
  }
  // It opens after the first port.
  const tlsPort = env['TURNPIKE_GATEWAY_TLS_PORT']
  let child: Bun.Subprocess | undefined
  let errors = ''
  const draining = new Set<Bun.Subprocess>()

  async function isOpen(): Promise<boolean> {
    if (child?.exitCode !== null) throw new Error(`the gateway ended with ${child?.exitCode}`)
    return (await accepts(port)) && (tlsPort === undefined || (await accepts(Number(tlsPort))))
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const all = [...draining, ...(child ? [child] : [])]
    for (const each of all) each.kill(signal)
    await Promise.all(all.map((each) => each.exited))
    draining.clear()
    child = undefined
  }

  const spawn = (flags: readonly string[], more: Record<string, string> = {}) =>
    Bun.spawn([...runtimeCommand, 'gateway', ...flags], {
      env: { ...settings, ...more },
      stdin: 'ignore',
      stderr: 'pipe',
    })

  /** Copies the stderr of a process to this one's, and returns a function for its whole text. */
  function listenTo({ stderr }: ReturnType<typeof spawn>): () => Promise<string> {
    let text = ''
    const decoder = new TextDecoder()
    const all = (async () => {
      for await (const chunk of stderr) {
        const piece = decoder.decode(chunk, { stream: true })
        text += piece
        errors += piece
        process.stderr.write(chunk)
      }
    })()
    return () => all.then(() => text)
  }

  async function serving(): Promise<number | undefined> {
    const found = await findPredecessor(join(folder, 'gateway'), realTiming)
    found?.close()
    return found?.who.pid
  }

  async function isServedBy(pid: number): Promise<boolean> {
    if (child?.exitCode !== null) throw new Error(`the gateway ended with ${child?.exitCode}`)
    return (await serving()) === pid
  }

  return {
    name,
    port,
    folder,
    env: settings,
    async start() {
      const begun = spawn([])
      listenTo(begun)
      child = begun
      if (!(await untilTrue(isOpen))) throw new Error('the gateway did not open')
    },
    async takeOver(engine = gatewayEngine, more = {}) {
      const before = child
      if (!before) throw new Error('nobody to take over from')
      for (let attempt = 1; ; attempt += 1) {
        const successor = spawn(['--take-over'], { TURNPIKE_GATEWAY_ENGINE: engine, ...more })
        const complaints = listenTo(successor)
        draining.add(before)
        child = successor
        const isOver = async () => successor.exitCode !== null || (await isServedBy(successor.pid))
        if (!(await untilTrue(isOver))) throw new Error('nobody has taken over')
        if (successor.exitCode === null)
          return { pid: successor.pid, ended: before.exited.finally(() => draining.delete(before)) }
        draining.delete(before)
        child = before
        // A new process that gets no processor time for 5 s does not reach the shop, and an operator starts another.
        const isStarved = (await complaints()).includes('cannot reach the shop')
        if (!isStarved || attempt === maxAttempts) throw new Error(`the new process ended with ${successor.exitCode}`)
      }
    },
    serving,
    get pid() {
      return child?.pid
    },
    get errors() {
      return errors
    },
    get ended() {
      return child?.exited ?? Promise.resolve(0)
    },
    killDraining(signal = 'SIGKILL') {
      for (const each of draining) each.kill(signal)
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    hasJournals() {
      const journalFolder = join(folder, 'gateway')
      return existsSync(journalFolder) && readdirSync(journalFolder).some((each) => each.startsWith('journal-'))
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
