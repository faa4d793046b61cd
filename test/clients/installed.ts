import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packClients } from '../../tools/clients/pack.ts'
import { type Ran, runProgram } from '../harness/run-program.ts'

/** Both clients, packed and installed from the packed files in an empty folder. */
export type Installed = {
  readonly folder: string
  readonly wheel: string
  /** Runs a program there, with `env` as its whole environment but PATH and HOME. */
  run(command: readonly string[], env?: Record<string, string>, input?: string): Promise<Ran>
  start(command: readonly string[], env: Record<string, string>): Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  remove(): void
}

export async function installClients(): Promise<Installed> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-clients-'))
  const packed = await packClients(join(folder, 'packed'))
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  mkdirSync(join(folder, 'home'))
  cpSync(join(import.meta.dir, 'programs'), folder, { recursive: true })
  const base = {
    PATH: process.env['PATH'] ?? '',
    HOME: join(folder, 'home'),
    PYTHONPATH: join(folder, 'site'),
    LANG: 'C.UTF-8',
  }
  const run = (command: readonly string[], env = {}, input = ''): Promise<Ran> =>
    runProgram(command, { folder, env: { ...base, ...env }, input })
  const npm = await run(['npm', 'install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', packed.npm])
  if (npm.exit !== 0) throw new Error(`npm could not install the client: ${npm.err}`)
  // The wheel is pure Python, so unpacking it is what pip does; a long run installs it with pip too.
  const unpacked = await run(['python3', '-m', 'zipfile', '-e', packed.wheel, join(folder, 'site')])
  if (unpacked.exit !== 0) throw new Error(`the wheel is damaged: ${unpacked.err}`)
  return {
    folder,
    wheel: packed.wheel,
    run,
    start: (command, env) =>
      Bun.spawn([...command], {
        cwd: folder,
        env: { ...base, ...env },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
