import { expect } from 'bun:test'

type Worker = Bun.Subprocess<'ignore' | 'pipe', 'pipe', 'inherit'>

/**
 * Reads a worker's output and sends SIGKILL once the lines are those that `isDue` wants, in the middle of its other
 * work. Returns all whole lines, those included that were in the pipe when it died. `onChunk` runs after each chunk
 * and gets whether SIGKILL has been sent.
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
