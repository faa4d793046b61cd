import { expect, test } from 'bun:test'
import { join } from 'node:path'

const transpiler = new Bun.Transpiler({ loader: 'ts' })

/** Packages and modules of the runtime that a file imports, itself or through other files; types are not loaded. */
async function findLoaded(entry: string): Promise<Set<string>> {
  const loaded = new Set<string>()
  const files = [entry]
  for (const file of files) {
    const imported = transpiler.scanImports(await Bun.file(file).text()).map(({ path }) => path)
    for (const path of imported) {
      const target = join(file, '..', path)
      if (!path.startsWith('.')) loaded.add(path)
      else if (!files.includes(target)) files.push(target)
    }
  }
  return loaded
}

test('a thread of a reactor loads neither zod nor node:http, which would double the time of its start', async () => {
  const loaded = await findLoaded(join(import.meta.dir, 'worker.ts'))
  expect([...loaded]).toContain('bun:ffi')
  expect([...loaded].filter((name) => name.startsWith('zod') || name === 'node:http')).toEqual([])
})
