import { renameSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readModel } from './model.ts'
import { toPython } from './python.ts'
import { toCommandTable, toTypeScript } from './typescript.ts'

const root = resolve(import.meta.dir, '../..')

/** Biome leaves a file that git ignores as it is, so the text has another name here. */
function formatted(path: string, text: string): string {
  const biome = join(root, 'node_modules/.bin/biome')
  const { exitCode, stdout, stderr } = Bun.spawnSync([biome, 'format', '--stdin-file-path=generated.ts'], {
    cwd: root,
    stdin: Buffer.from(text),
  })
  if (exitCode !== 0) throw new Error(`${path} cannot be formatted: ${stderr.toString()}`)
  return stdout.toString()
}

/** The generated files of both clients, by path. */
function makeClientFiles(): ReadonlyMap<string, string> {
  const model = readModel()
  const typescript = 'packages/client/src/operations.ts'
  const commands = 'packages/client/src/command/table.ts'
  return new Map([
    [typescript, formatted(typescript, toTypeScript(model))],
    [commands, formatted(commands, toCommandTable(model))],
    ['packages/python/turnpike_client/_operations.py', toPython(model)],
  ])
}

/** Writes the files that differ, each at once: two tests may do it at the same time. */
export async function writeClientFiles(): Promise<void> {
  for (const [path, text] of makeClientFiles()) {
    const file = Bun.file(join(root, path))
    if ((await file.exists()) && (await file.text()) === text) continue
    const written = join(root, `${path}.${process.pid}.new`)
    await Bun.write(written, text)
    renameSync(written, join(root, path))
  }
}
