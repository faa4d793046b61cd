import { resolve } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }

export const root = resolve(import.meta.dir, '../..')
export const { version } = manifest

/** Runs a program, by default in the project's root. Returns its output, or throws if it fails. */
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
 * The time of the sources in seconds, so that the same sources always give the same package. Packagers set it in
 * `SOURCE_DATE_EPOCH`.
 */
export async function writtenAtSeconds(): Promise<number> {
  const given = Number(process.env['SOURCE_DATE_EPOCH'] ?? Number.NaN)
  if (Number.isInteger(given)) return given
  return Number((await run(['git', 'log', '-1', '--format=%ct'])).trim())
}
