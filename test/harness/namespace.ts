import { join } from 'node:path'
import { waitLimitMs } from './until.ts'

const endsWithinMs = 5_000

type Answer = { readonly id: number; readonly result?: unknown; readonly problem?: string }

/** A worker process in a network namespace, which runs one action after another. */
export type NamespaceWorker = {
  readonly pid: number
  ask<Result>(verb: string, given?: Record<string, unknown>): Promise<Result>
  /** Kills it with SIGKILL. */
  kill(): Promise<void>
  /** Closes its input, so that it cleans up. */
  end(): Promise<void>
}

/** `under` is a wrapper program that removes privileges from the worker. */
export function startNamespaceWorker(namespace: string, under: readonly string[] = []): NamespaceWorker {
  const worker = join(import.meta.dir, 'namespace-worker.ts')
  const child = Bun.spawn(['ip', 'netns', 'exec', namespace, ...under, process.execPath, '--no-env-file', worker], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  let lastId = 0
  void readLines(child.stdout, (line) => {
    const answer = JSON.parse(line) as Answer
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  }).finally(() => {
    for (const [id, answer] of waiting) answer({ id, problem: 'the worker has ended' })
  })
  return {
    pid: child.pid,
    async ask<Result>(verb: string, given: Record<string, unknown> = {}): Promise<Result> {
      lastId += 1
      const id = lastId
      const { promise, resolve } = Promise.withResolvers<Answer>()
      waiting.set(id, resolve)
      const timer = setTimeout(() => resolve({ id, problem: 'no answer' }), waitLimitMs)
      await child.stdin.write(`${JSON.stringify({ id, verb, given })}\n`)
      await child.stdin.flush()
      const answer = await promise
      clearTimeout(timer)
      if (answer.problem !== undefined) throw new Error(`${verb} in ${namespace}: ${answer.problem}`)
      return answer.result as Result
    },
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
    async end() {
      if (child.exitCode === null && child.signalCode === null) await child.stdin.end()
      const killer = setTimeout(() => child.kill('SIGKILL'), endsWithinMs)
      await child.exited
      clearTimeout(killer)
    },
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of stream) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}
