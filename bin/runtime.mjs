import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds package.json, wherever the command was called from. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Without its install script the package `bun` holds a short text in place of the program. */
const leastProgramBytes = 1_000_000

/** Never fetch a missing package, and never read a stray .env: the environment is what the operator set. */
const flags = ['--no-install', '--no-env-file']

/** Where npm may have put the program, likeliest first. The install script moves it out of `@oven`. */
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

/** Looks in every node_modules from here upwards, as npm may hoist packages above this one. */
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
 * Becomes the runtime where Node can replace itself; otherwise stands in front of it, passing signals down and its end
 * up. The child is then given a pipe, named in TURNPIKE_LEASH, that breaks should this process be killed outright.
 */
export function run(args) {
  const program = findRuntime()
  if (program === undefined) {
    process.stderr.write('turnpike: the Bun runtime is not installed; run npm install\n')
    process.exit(1)
  }
  const all = [...flags, ...args]
  if (typeof process.execve === 'function') process.execve(program, [program, ...all], process.env)
  const child = spawn(program, all, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, TURNPIKE_LEASH: '3' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`turnpike: cannot start ${program}: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
