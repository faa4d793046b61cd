import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The program as started from its sources. */
export const fromSources: readonly string[] = ['node', join(import.meta.dir, '../bin/turnpike.mjs')]
const openWithinMs = 30_000
const stopWithinMs = 15_000

/** A shop in its own processes, as an operator starts it. */
export type ShopProcess = { readonly pid: number; readonly port: number; readonly stop: () => Promise<void> }

/**
 * The command with as many descriptors as ten thousand tunnels need, if this user may have them: distributions give
 * servers more than a shell.
 */
export const withManyFiles = (command: readonly string[]): string[] => [
  'sh',
  '-c',
  'ulimit -n 65536 2>/dev/null; exec "$@"',
  'sh',
  ...command,
]

/** The resulting limit of descriptors. */
export const filesAllowed = (): number =>
  Number(Bun.spawnSync(withManyFiles(['sh', '-c', 'ulimit -n'])).stdout.toString()) || Number.POSITIVE_INFINITY

/** Starts the operator's tool without this process's settings. */
export function spawnTurnpike(args: readonly string[], env: Record<string, string>, program = fromSources) {
  return Bun.spawn(withManyFiles([...program, ...args]), {
    env: {
      PATH: process.env['PATH'] ?? '',
      TURNPIKE_RATE_READS: '0',
      TURNPIKE_RATE_CHARGES: '0',
      TURNPIKE_LOG: 'error',
      // A VPN node would change the network of this machine.
      ...(args[0] === 'up' && { TURNPIKE_LOCAL_NODES: 'gateway' }),
      ...env,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
}

export type TurnpikeProcess = ReturnType<typeof spawnTurnpike>

/** Sends SIGTERM, and SIGKILL after the time limit. */
export async function stopTurnpike(child: TurnpikeProcess): Promise<void> {
  child.kill('SIGTERM')
  const killer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
  await child.exited
  clearTimeout(killer)
}

/** Resolves once the shop has printed its address. */
export async function startShop(
  args: readonly string[],
  env: Record<string, string>,
  program = fromSources,
): Promise<ShopProcess> {
  const child = spawnTurnpike(args, { TURNPIKE_PORT: '0', ...env }, program)
  const tooLate = setTimeout(() => child.kill('SIGKILL'), openWithinMs)
  try {
    return { pid: child.pid, port: await readPort(child), stop: () => stopTurnpike(child) }
  } catch (error) {
    await stopTurnpike(child)
    throw error
  } finally {
    clearTimeout(tooLate)
  }
}

async function readPort(child: TurnpikeProcess): Promise<number> {
  const reader = child.stdout.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) throw new Error('the shop ended before it was open')
    text += decoder.decode(value, { stream: true })
    const port = /open at https?:\/\/[^\s]*:(\d+)\s/.exec(text)?.[1]
    if (port === undefined) continue
    // Further output is read and dropped, so that the shop never waits for a full pipe.
    void drop(reader)
    return Number(port)
  }
}

async function drop(reader: { read(): Promise<{ done: boolean }> }): Promise<void> {
  while (!(await reader.read()).done);
}

/** A process and all its descendants, itself first. */
export const familyOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(familyOf)]

/** A process that has ended meanwhile has no children. */
function childrenOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`
  try {
    return readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch (error) {
    if (existsSync(path)) throw error
    return []
  }
}

/** The resident memory of a process. */
export function residentMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kb ?? Number.NaN) / 1024
}

export const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
