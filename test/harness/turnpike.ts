import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { perform } from '../../src/app/perform.ts'
import { settings } from '../../src/app/settings/config.ts'
import type { TestDatabase } from './database.ts'
import { isLong } from './scale.ts'
import { waitLimitMs } from './until.ts'

/** The `turnpike` program as an operator starts it. */
export const turnpikeProgram = join(import.meta.dir, '../../bin/turnpike.mjs')

export type Ended = { readonly exit: number; readonly out: string; readonly err: string }

export const launcher = ['node', turnpikeProgram]

/** The same program from its sources, without Node's search for the runtime, which takes 0.1 s each time. */
const sourceCommand: readonly string[] = [
  process.execPath,
  '--no-install',
  '--no-env-file',
  join(import.meta.dir, '../../src/app/turnpike.ts'),
]

/** The packed program that the test command built from these sources, unless the run is long or has a PATH. */
export const packedProgram = process.env['TURNPIKE_TEST_PROGRAM'] || undefined

/** Starts the program in the cheapest way: packed, it takes half the processor time. */
export const runtimeCommand: readonly string[] = packedProgram === undefined ? sourceCommand : [packedProgram]

/** The environment of a child: PATH, and the compiler limit that the test command sets. */
const childEnv = (): Record<string, string> => {
  const compiling = process.env['BUN_JSC_useDFGJIT']
  return { PATH: process.env['PATH'] ?? '', ...(compiling !== undefined && { BUN_JSC_useDFGJIT: compiling }) }
}

/** Without arguments it is a worker that is `up` itself. */
const isUp = (args: readonly string[]): boolean => args.length === 0 || args[0] === 'up'
/** Tests run several `up` at once, as root: none changes the machine's network unless a test requests it. */
export const withoutVpn = { TURNPIKE_LOCAL_NODES: 'gateway' } as const

/** Runs one command as a process to its end. */
export async function runTurnpike(
  args: readonly string[],
  env: Record<string, string> = {},
  withinMs = waitLimitMs,
): Promise<Ended> {
  const child = Bun.spawn([...runtimeCommand, ...args], {
    env: { ...childEnv(), ...(isUp(args) && withoutVpn), ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: withinMs,
    killSignal: 'SIGKILL',
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { exit: await child.exited, out, err }
}

/**
 * The same for commands that only act on a shop: in this process, and as a process only in a long run, because each
 * start takes a third of a second.
 */
export async function runCommand(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  if (isLong) return runTurnpike(args, env)
  const printed = { out: '', err: '' }
  const exit = await perform([...args, ...flagsOf(env)], {
    out: async (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
  })
  return { exit, ...printed }
}

/** Runs a command with `--json` and parses its output. */
export async function runJson(args: readonly string[], env: Record<string, string>) {
  const ended = await runCommand([...args, '--json'], env)
  return { ...ended, json: ended.out === '' ? undefined : JSON.parse(ended.out) }
}

/** Settings that direct a command to the shop of a test database. */
export const testDatabaseEnv = ({ folder, address }: TestDatabase): Record<string, string> => ({
  TURNPIKE_DATA: folder,
  ...(address.startsWith('postgres') && { TURNPIKE_DATABASE_URL: address }),
})

/** Settings as flags, so that this process's environment is not changed. */
function flagsOf(env: Record<string, string>): string[] {
  return Object.entries(env).map(([name, value]) => {
    const setting = Object.values(settings).find((each) => each.env === name)
    if (!setting) throw new Error(`${name} is no setting`)
    return `--${setting.flag}=${value}`
  })
}

/** A command that keeps running, with its output so far. */
export type Running = {
  readonly pid: number
  readonly exited: Promise<number>
  out(): string
  err(): string
  /** Waits until either stream holds the pattern, and returns the match. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): void
}

const started = new Set<Bun.Subprocess>()

/** For the end of a test file: ends processes that a failed test left running. */
export async function endStarted(): Promise<void> {
  for (const child of started) child.kill('SIGTERM')
  await Promise.all([...started].map((child) => child.exited))
  started.clear()
}

/** `by` is the command: the runtime itself, or the launcher that an operator uses. */
export function startTurnpike(
  args: readonly string[],
  env: Record<string, string> = {},
  by: readonly string[] = runtimeCommand,
): Running {
  const child = Bun.spawn([...by, ...args], {
    env: { ...childEnv(), ...(isUp(args) && withoutVpn), ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  started.add(child)
  const texts = { out: '', err: '' }
  const collect = async (name: 'out' | 'err', stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) texts[name] += decoder.decode(chunk, { stream: true })
  }
  const drained = Promise.all([collect('out', child.stdout), collect('err', child.stderr)])
  return {
    pid: child.pid,
    exited: drained.then(() => child.exited),
    out: () => texts.out,
    err: () => texts.err,
    async until(pattern) {
      for (let waitedMs = 0; waitedMs < waitLimitMs; waitedMs += 20) {
        const found = pattern.exec(texts.out) ?? pattern.exec(texts.err)
        if (found) return found
        if (child.exitCode !== null) break
        await Bun.sleep(20)
      }
      throw new Error(`${String(pattern)} was not printed:\n${texts.out}\n${texts.err}`)
    },
    kill: (signal) => child.kill(signal),
  }
}

/** The pid of a part of `turnpike up`, from the debug log of `up`. */
export function pidOf(up: Running, part: string): number {
  const pattern = new RegExp(`"event":"started","part":"${part}","pid":(\\d+)`, 'g')
  return Number([...up.err().matchAll(pattern)].at(-1)?.[1] ?? Number.NaN)
}

/** Whether a process runs; a zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] !== 'Z'
  } catch {
    return false
  }
}

/** Longest pause between two polls, which adds to every measured time. */
const maxPauseMs = 100

/**
 * Polls until the condition holds. Throws at the time limit, so that no test continues without it. A condition that
 * takes long to read, such as a command, is polled less often: it costs a quarter of a processor at most.
 */
export async function untilTrue(ask: () => boolean | Promise<boolean>, everyMs = 25): Promise<boolean> {
  const giveUpAt = performance.now() + waitLimitMs
  while (performance.now() < giveUpAt) {
    const askedAt = performance.now()
    if (await ask()) return true
    const tookMs = performance.now() - askedAt
    await Bun.sleep(Math.max(everyMs, Math.min(maxPauseMs, 3 * tookMs)))
  }
  throw new Error(`the condition did not hold within ${waitLimitMs / 1000} s: ${ask.toString().slice(0, 200)}`)
}
