import { expect } from 'bun:test'

type Worker = Bun.Subprocess<'ignore' | 'pipe', 'pipe', 'inherit'>

/**
 * Reads a worker's output and sends SIGKILL once `isDue` accepts its lines, in the middle of its other work. Returns
 * all complete lines, including those in the pipe at its death. `onChunk` runs after each chunk with whether SIGKILL
 * was sent.
 */
export async function killWhen(
  worker: Worker,
  isDue: (lines: readonly string[]) => boolean,
  onChunk?: (isKilled: boolean) => Promise<void>,
): Promise<string[]> {
  const lines: string[] = []
  let rest = ''
  let isKilled = false
  const decoder = new TextDecoder()
  for await (const chunk of worker.stdout) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    isKilled ||= isDue(lines)
    if (isKilled) worker.kill('SIGKILL')
    await onChunk?.(isKilled)
  }
  await worker.exited
  expect(worker.signalCode).toBe('SIGKILL')
  return lines
}
