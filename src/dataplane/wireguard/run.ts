/** What a command left behind. */
type Outcome = { readonly code: number; readonly out: string; readonly err: string }

/** Runs one program with its arguments as they are, no shell in between, within a bounded time. */
export type Run = (command: readonly string[], input?: string) => Promise<Outcome>

/** Where system programs are, whatever the environment of whoever started this says. */
export const programPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export const findProgram = (name: string): string | undefined => Bun.which(name, { PATH: programPath }) ?? undefined

const withinMs = 10_000
/** A dump of as many peers as a node may have, with room. */
const mostOutput = 64 * 1024 * 1024

/** The input is put where the program can read it again as a file, /dev/stdin, and never on a disk. */
export const runProgram: Run = async (command, input = '') => {
  const [name = '', ...words] = command
  const program = findProgram(name)
  if (program === undefined) return { code: 127, out: '', err: `${name} is not installed` }
  const child = Bun.spawn([program, ...words], {
    env: { PATH: programPath, LC_ALL: 'C' },
    stdin: Buffer.from(input),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: withinMs,
    killSignal: 'SIGKILL',
    maxBuffer: mostOutput,
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  const cut = child.signalCode === null ? '' : ` (ended by ${child.signalCode})`
  return { code: child.exitCode ?? 1, out, err: err + cut }
}

/** A system program that did not do what it was told. Its input is not shown: a key may be in it. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed'

  constructor(command: readonly string[], { code, err }: Outcome) {
    const words = command.slice(0, 12).join(' ')
    super(`${words}${command.length > 12 ? ' …' : ''} failed with ${code}: ${err.trim().slice(0, 500)}`)
  }
}

export async function must(run: Run, command: readonly string[], input?: string): Promise<string> {
  const outcome = await run(command, input)
  if (outcome.code !== 0) throw new CommandFailed(command, outcome)
  return outcome.out
}
