import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Smallest size of the real program: without its install script, the package `bun` has a short text file instead. */
const leastProgramBytes = 1_000_000

/** Bun fetches no missing package and reads no .env file: only the operator sets the environment. */
const flags = ['--no-install', '--no-env-file']

/** Paths in node_modules that may have the program, most likely first. The install script moves it out of `@oven`. */
function places() {
  const cpu = process.arch === 'arm64' ? 'aarch64' : process.arch
  const plain = `@oven/bun-${process.platform}-${cpu}`
  const musl = `${plain}-musl`
  const builds = existsSync('/etc/alpine-release') ? [musl, plain] : [plain, musl]
  return ['bun/bin/bun.exe', ...builds.map((build) => `${build}/bin/bun`)]
}

function isProgram(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.isFile() && found.size >= leastProgramBytes
}

/** Searches every node_modules from here upwards: npm may hoist packages above this one. */
function findRuntime(from = root) {
  for (let folder = from; ; folder = dirname(folder)) {
    for (const place of places()) {
      const path = join(folder, 'node_modules', place)
      if (isProgram(path)) return path
    }
    if (folder === dirname(folder)) return undefined
  }
}

/**
 * Replaces this process with the runtime (execve) where Node can; otherwise starts it as a child, forwards signals to
 * it and exits with its code. TURNPIKE_LEASH names a pipe that closes if this process is killed; then the child ends.
 */
export function run(args, env = process.env) {
  const program = findRuntime()
  if (program === undefined) {
    process.stderr.write(`turnpike: The Bun runtime is not installed. Run "npm install" in ${root}.\n`)
    process.exit(1)
  }
  const all = [...flags, ...args]
  if (typeof process.execve === 'function') process.execve(program, [program, ...all], env)
  const child = spawn(program, all, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...env, TURNPIKE_LEASH: '3' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`turnpike: cannot start ${program}: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
