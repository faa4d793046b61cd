import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { memoryFolder } from './memory.ts'
import { until, waitLimitMs } from './until.ts'

/** Some commands start a process that starts another. */
const commandMs = 2 * waitLimitMs

/**
 * One shell into which a reader pastes one command after another. It prints into files: now and then the end of what
 * it printed did not come through a pipe.
 */
export function openShell(cwd: string, env: Record<string, string>) {
  const folder = mkdtempSync(join(memoryFolder, 'turnpike-shell-'))
  const [outFile, errFile] = [join(folder, 'out'), join(folder, 'err')]
  const [stdout, stderr] = [openSync(outFile, 'a'), openSync(errFile, 'a')]
  const shell = Bun.spawn(['bash', '--norc'], { cwd, env, stdin: 'pipe', stdout, stderr })
  for (const descriptor of [stdout, stderr]) closeSync(descriptor)
  const readOut = (): string => readFileSync(outFile, 'utf8')
  const readErr = (): string => readFileSync(errFile, 'utf8')
  let pasted = 0
  // Each job is its own process group, to be ended as one.
  void shell.stdin.write('set -m\n')
  const write = (text: string): void => {
    void shell.stdin.write(text)
    void shell.stdin.flush()
  }

  return {
    out: readOut,
    err: readErr,

    /** Runs one command to its end. */
    async run(command: string): Promise<{ exit: number; out: string; err: string }> {
      pasted += 1
      const [outFrom, errFrom] = [readOut().length, readErr().length]
      const mark = `--- ${pasted} ended with`
      write(`${command}\necho "${mark} $?"; echo "${mark}" >&2\n`)
      await until(() => readOut().includes(mark) && readErr().includes(mark), commandMs).catch((cause: unknown) => {
        const printed = readOut().slice(outFrom) + readErr().slice(errFrom)
        throw new Error(`it did not end: ${command}\nIt printed: ${printed}`, { cause })
      })
      const out = readOut().slice(outFrom)
      const printed = readErr()
      const err = printed.slice(errFrom, printed.indexOf(mark))
      return { exit: Number(out.split(`${mark} `)[1]?.trim()), out: out.slice(0, out.indexOf(mark)), err }
    },

    /** Starts a command that keeps running, as in another shell. */
    start: (command: string): void => write(`{ ${command}\n} < /dev/null &\n`),

    async end(): Promise<void> {
      write('for job in $(jobs -p); do kill -- -$job; done; wait; exit\n')
      await shell.exited
      rmSync(folder, { recursive: true })
    },
  }
}
