import { waitLimitMs } from './until.ts'

export type Ran = { readonly exit: number; readonly out: string; readonly err: string }

type RunOptions = { readonly folder?: string; readonly env?: Readonly<Record<string, string>>; readonly input?: string }

/** Runs a program to its end, with only PATH and HOME of this process's environment. */
export async function runProgram(command: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = Bun.spawn([...command], {
    ...(options.folder !== undefined && { cwd: options.folder }),
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...options.env },
    stdin: Buffer.from(options.input ?? ''),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: waitLimitMs,
    killSignal: 'SIGKILL',
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { exit: await child.exited, out, err }
}
