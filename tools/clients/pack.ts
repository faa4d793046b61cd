import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runProgram } from '../program.ts'
import { writeClientFiles } from './files.ts'

const root = resolve(import.meta.dir, '../..')
const limitMs = 300_000

async function runOrFail(...command: readonly string[]): Promise<string> {
  const { exitCode, output } = await runProgram(command, limitMs)
  if (exitCode !== 0) throw new Error(`${command.slice(0, 3).join(' ')} failed: ${output}`)
  return output
}

/** Compiles and packs both clients into `folder`: a package for npm, and a wheel. */
export async function packClients(folder: string): Promise<{ readonly npm: string; readonly wheel: string }> {
  await writeClientFiles()
  const source = join(root, 'packages/client')
  const staged = mkdtempSync(join(tmpdir(), 'turnpike-client-'))
  try {
    mkdirSync(folder, { recursive: true })
    await runOrFail(join(root, 'node_modules/.bin/tsc'), '-p', source, '--outDir', join(staged, 'dist'))
    for (const name of ['package.json', 'README.md']) cpSync(join(source, name), join(staged, name))
    cpSync(join(root, 'LICENSE'), join(staged, 'LICENSE'))
    const packed = await runOrFail('npm', 'pack', staged, '--silent', '--ignore-scripts', '--pack-destination', folder)
    const wheel = await runOrFail('python3', join(root, 'packages/python/backend.py'), folder)
    return { npm: join(folder, packed.trim()), wheel: join(folder, wheel.trim()) }
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
}
