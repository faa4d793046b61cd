import { until, waitLimitMs } from './until.ts'

/** Some commands start a process that starts another. */
const commandMs = 2 * waitLimitMs

/** One shell into which a reader pastes one command after another. */
export function openShell(cwd: string, env: Record<string, string>) {
  const shell = Bun.spawn(['bash', '--norc'], { cwd, env, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  const texts = { out: '', err: '' }
  const collect = async (name: 'out' | 'err', stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) texts[name] += decoder.decode(chunk, { stream: true })
  }
  const drained = Promise.all([collect('out', shell.stdout), collect('err', shell.stderr)])
  let pasted = 0
  // Each job is its own process group, to be ended as one.
  void shell.stdin.write('set -m\n')
  const write = (text: string): void => {
    void shell.stdin.write(text)
    void shell.stdin.flush()
  }

  return {
    out: () => texts.out,
    err: () => texts.err,

    /** Runs one command to its end. */
    async run(command: string): Promise<{ exit: number; out: string; err: string }> {
      pasted += 1
      const [outFrom, errFrom] = [texts.out.length, texts.err.length]
      const mark = `--- ${pasted} ended with`
      write(`${command}\necho "${mark} $?"; echo "${mark}" >&2\n`)
      await until(() => texts.out.includes(mark) && texts.err.includes(mark), commandMs).catch((cause: unknown) => {
        const printed = texts.out.slice(outFrom) + texts.err.slice(errFrom)
        throw new Error(`it did not end: ${command}\nIt printed: ${printed}`, { cause })
      })
      const out = texts.out.slice(outFrom)
      const err = texts.err.slice(errFrom, texts.err.indexOf(mark))
      return { exit: Number(out.split(`${mark} `)[1]?.trim()), out: out.slice(0, out.indexOf(mark)), err }
    },

    /** Starts a command that keeps running, as in another shell. */
    start: (command: string): void => write(`{ ${command}\n} < /dev/null &\n`),

    async end(): Promise<void> {
      write('for job in $(jobs -p); do kill -- -$job; done; wait; exit\n')
      await shell.exited
      await drained
    },
  }
}
