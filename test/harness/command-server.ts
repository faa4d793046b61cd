import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLong } from './scale.ts'
import { type Ended, runtimeCommand } from './turnpike.ts'

/** Commands that run until they are ended, each in a process of its own. */
const keepRunning = ['up', 'shop', 'gateway', 'vpn-node']

/**
 * Performs commands as on another machine, all in one process there: a process for each costs 0.6 s. In a long run each
 * command is a process.
 */
export type CommandServer = {
  run(args: readonly string[], env: Record<string, string>): Promise<Ended>
  /** A function of bash, called `name`, that runs a command like `turnpike`. */
  toShellFunction(name: string): string
  close(): Promise<void>
}

/** `prefix` starts a program on the other machine. `env` holds what the runtime reads when it starts. */
export async function openCommandServer(
  prefix: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<CommandServer> {
  if (isLong) return runProcesses(prefix)
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-commands-'))
  const socket = join(folder, 'socket')
  const program = [
    process.execPath,
    '--no-install',
    '--no-env-file',
    join(import.meta.dir, 'command-worker.ts'),
    socket,
  ]
  const worker = Bun.spawn([...prefix, ...program], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const { value } = await worker.stdout.getReader().read()
  if (!Buffer.from(value ?? []).includes('open')) throw new Error('the commands of another machine cannot be run')
  return {
    async run(args, own) {
      const result = mkdtempSync(join(folder, 'result-'))
      const variables = Object.entries(own).map(([name, text]) => `${name}=${text}`)
      const body = [result, process.cwd(), ...variables, '', ...args].map((text) => `${text}\0`).join('')
      const answer = await fetch('http://worker/', { method: 'POST', body, unix: socket })
      if (!answer.ok) throw new Error(await answer.text())
      const read = (name: string) => readFileSync(join(result, name), 'utf8')
      return { exit: Number(read('exit')), out: read('out'), err: read('err') }
    },
    toShellFunction: (name) => `${name}() {
  case " ${keepRunning.join(' ')} " in *" $1 "*) ${runtimeCommand.join(' ')} "$@"; return ;; esac
  local result; result=$(mktemp -d -p ${folder})
  { printf '%s\\0' "$result" "$PWD"; env -0; printf '\\0'; printf '%s\\0' "$@"; } |
    curl -sS --unix-socket ${socket} --data-binary @- http://worker/
  cat "$result/out"; cat "$result/err" >&2; return "$(cat "$result/exit")"
}`,
    async close() {
      await worker.stdin.end()
      await worker.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const runProcesses = (prefix: readonly string[]): CommandServer => ({
  async run(args, env) {
    const child = Bun.spawn([...prefix, ...runtimeCommand, ...args], { env, stdout: 'pipe', stderr: 'pipe' })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    return { exit: await child.exited, out, err }
  },
  toShellFunction: (name) => `${name}() { ${runtimeCommand.join(' ')} "$@"; }`,
  close: async () => {},
})
