import { resolve } from 'node:path'

/** The project's folder, in which every tool runs. */
export const projectRoot = resolve(import.meta.dir, '..')

export const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

export type Outcome = { readonly exitCode: number; readonly output: string; readonly tookMs: number }

/** Runs a program to its end; `onText` receives its output as it comes. */
export async function runProgram(
  command: readonly string[],
  limitMs: number,
  env: Record<string, string> = {},
  onText: (text: string) => void = () => {},
): Promise<Outcome> {
  const startedAt = performance.now()
  const child = Bun.spawn([...command], {
    cwd: projectRoot,
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: limitMs,
    killSignal: 'SIGKILL',
  })
  let output = ''
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      const text = decoder.decode(chunk, { stream: true })
      output += text
      onText(text)
    }
  }
  await Promise.all([collect(child.stdout), collect(child.stderr), child.exited])
  const tookMs = performance.now() - startedAt
  if (child.signalCode !== null) output += `\nended by ${child.signalCode} after ${inSeconds(tookMs)}\n`
  return { exitCode: child.exitCode ?? 1, output, tookMs }
}
