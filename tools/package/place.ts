import { resolve } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }

export const root = resolve(import.meta.dir, '../..')
export const { version } = manifest

/** Runs a program to its end, in the project's folder unless told otherwise; what it printed, or what went wrong. */
export async function run(command: readonly string[], cwd = root, env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, LC_ALL: 'C', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: withinMs,
    killSignal: 'SIGKILL',
  })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${(err + out).trim().slice(-2000)}`)
  return out
}

const withinMs = 600_000

/**
 * When what is packed was written, in seconds: the same sources make the same package, whenever that is done.
 * `SOURCE_DATE_EPOCH` is how packagers hand it in.
 */
export async function writtenAtSeconds(): Promise<number> {
  const given = Number(process.env['SOURCE_DATE_EPOCH'] ?? Number.NaN)
  if (Number.isInteger(given)) return given
  return Number((await run(['git', 'log', '-1', '--format=%ct'])).trim())
}
