import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accepts } from './accepts.ts'
import { gatewayEngine } from './engine.ts'
import type { Service } from './service.ts'
import { untilTrue } from './turnpike.ts'

const program = join(import.meta.dir, '../../src/main/turnpike.ts')

/** A gateway as an operator runs one: a process of its own that can be killed and started again. */
export type GatewayProcess = {
  readonly name: string
  readonly port: number
  readonly folder: string
  start(): Promise<void>
  /** Ends it without a word, as the power would. */
  kill(): Promise<void>
  /** Ends it in order. */
  stop(): Promise<void>
  /** True while counts of an earlier life wait for the shop. */
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
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-gateway-'))
  const settings = {
    PATH: process.env['PATH'] ?? '',
    TURNPIKE_DATA: folder,
    TURNPIKE_SHOP_URL: service.url,
    TURNPIKE_NODE_KEY: key,
    TURNPIKE_METRICS_LISTEN: '',
    TURNPIKE_GATEWAY_PORT: String(port),
    TURNPIKE_GATEWAY_ENGINE: gatewayEngine,
    TURNPIKE_LOG: 'error',
    ...env,
  }
  let child: Bun.Subprocess | undefined

  async function isOpen(): Promise<boolean> {
    if (child?.exitCode !== null) throw new Error(`the gateway ended with ${child?.exitCode}`)
    return accepts(port)
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    child?.kill(signal)
    await child?.exited
    child = undefined
  }

  return {
    name,
    port,
    folder,
    async start() {
      child = Bun.spawn([process.execPath, program, 'gateway'], { env: settings, stdin: 'ignore', stderr: 'inherit' })
      if (!(await untilTrue(isOpen))) throw new Error('the gateway did not open')
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    hasJournals() {
      const place = join(folder, 'gateway')
      return existsSync(place) && readdirSync(place).some((each) => each.startsWith('journal-'))
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
