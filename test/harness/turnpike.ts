import { join } from 'node:path'

/** The operator's tool, as an operator starts it. */
export const turnpikeProgram = join(import.meta.dir, '../../bin/turnpike.mjs')

export type Ended = { readonly exit: number; readonly out: string; readonly err: string }

/** Runs one command as a real process to its end. Nothing of this process's own settings reaches it. */
export async function runTurnpike(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = Bun.spawn(['node', turnpikeProgram, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { exit: await child.exited, out, err }
}
