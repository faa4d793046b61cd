import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../test/harness/clients.ts'

const startMs = 15_000
const pollMs = 50

/** Writes a configuration, which has keys, where only this user reads it. */
function putConfiguration(configuration: string) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-client-'))
  const file = join(folder, 'config.json')
  writeFileSync(file, configuration, { mode: 0o600 })
  return { folder, file, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** A client reads a whole configuration, without starting it. */
export async function checkConfiguration(path: string, configuration: string): Promise<void> {
  const { file, remove } = putConfiguration(configuration)
  const { exit, out, err } = await run(path, 'check', '-c', file)
  remove()
  if (exit !== 0) throw new Error(`${out}${err}`.trim())
}

/** A client that runs, with the last words of its log. */
export type Running = { readonly lastLines: () => string; stop(): Promise<void> }

const isOpen = async (port: number): Promise<boolean> => {
  try {
    const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } })
    socket.end()
    return true
  } catch {
    return false
  }
}

/**
 * Starts a client and waits for its local port. `trusted` is a file of certificates that it trusts beside those of the
 * machine.
 */
export async function startProgram(
  path: string,
  configuration: object,
  port: number,
  trusted: string,
): Promise<Running> {
  const { folder, file, remove } = putConfiguration(JSON.stringify(configuration))
  const log = join(folder, 'log')
  const output = openSync(log, 'w', 0o600)
  const child = Bun.spawn([path, 'run', '-c', file], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, SSL_CERT_FILE: trusted },
    stdin: 'ignore',
    stdout: output,
    stderr: output,
  })
  closeSync(output)
  const end = (): void => child.kill('SIGKILL')
  process.once('exit', end)
  const lastLines = (): string => readFileSync(log, 'utf8').trim().split('\n').slice(-3).join('\n')
  const stop = async (): Promise<void> => {
    end()
    await child.exited
    process.off('exit', end)
    remove()
  }
  const giveUpAt = performance.now() + startMs
  while (!(await isOpen(port))) {
    if (child.exitCode === null && performance.now() < giveUpAt) {
      await Bun.sleep(pollMs)
      continue
    }
    const words = lastLines()
    await stop()
    throw new Error(`the client did not open its port:\n${words}`)
  }
  return { lastLines, stop }
}
