import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './apt.ts'
import { runtimeCommand } from './turnpike.ts'

/** The number of the user `turnpike` on such a machine. */
const serviceUid = 64_999

/** Processes with their own /etc and /var/lib, and on request their own network. Needs root. */
export type OwnMachine = {
  /** A path of the machine, as other processes see it. */
  outside(path: string): string
  /** A command that runs in the machine. */
  toInside(command: readonly string[]): string[]
  inside(command: readonly string[]): Promise<{ code: number; out: string; err: string }>
  close(): Promise<void>
}

/** The machine ends with the test process: its first process reads from it. */
export async function openOwnMachine(options: { readonly hasOwnNetwork: boolean }): Promise<OwnMachine> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-machine-'))
  await run(['chmod', '755', folder])
  await run(['cp', '-a', '/etc', folder])
  appendFileSync(join(folder, 'etc/passwd'), `turnpike:x:${serviceUid}:${serviceUid}::/nonexistent:/usr/sbin/nologin\n`)
  appendFileSync(join(folder, 'etc/group'), `turnpike:x:${serviceUid}:\n`)
  mkdirSync(join(folder, 'var/lib'), { recursive: true })
  const mounts = ['etc', 'var/lib'].map((path) => `mount --bind ${folder}/${path} /${path}`).join(' && ')
  const spaces = ['--mount', ...(options.hasOwnNetwork ? ['--net'] : [])]
  const network = options.hasOwnNetwork ? 'ip link set lo up && ' : ''
  const holder = Bun.spawn(['unshare', ...spaces, 'sh', '-c', `${mounts} && ${network}echo open && exec cat`], {
    stdin: 'pipe',
    stdout: 'pipe',
  })
  const { value } = await holder.stdout.getReader().read()
  if (!Buffer.from(value ?? []).includes('open')) throw new Error('no machine of its own can be made')
  const toInside = (command: readonly string[]) => ['nsenter', '--target', String(holder.pid), ...spaces, ...command]
  return {
    outside: (path) => join(folder, path),
    toInside,
    inside: (command) => run(toInside(command)),
    async close() {
      await holder.stdin.end()
      await holder.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The folder of the command that `installTurnpike` installs. */
export const packagedPath = '/etc/turnpike/bin'

/** Installs the command, settings and data folder of the Debian package, with the program of these sources. */
export async function installTurnpike(machine: OwnMachine, settings: Readonly<Record<string, string>>): Promise<void> {
  mkdirSync(machine.outside(packagedPath), { recursive: true })
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(machine.outside('/etc/turnpike/turnpike.env'), lines.join(''), { mode: 0o600 })
  const command = readFileSync(join(import.meta.dir, '../../tools/package/debian/turnpike.sh'), 'utf8')
  const programs = {
    turnpike: command.replace(/^program=.*$/m, `program=${packagedPath}/program`),
    program: `#!/bin/sh\nexec ${runtimeCommand.join(' ')} "$@"\n`,
  }
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(machine.outside(`${packagedPath}/${name}`), text, { mode: 0o755 })
  }
  await machine.inside(['install', '-d', '-o', 'turnpike', '-g', 'turnpike', '-m', '700', '/var/lib/turnpike'])
}
