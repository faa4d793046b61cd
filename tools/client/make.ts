import { join, resolve } from 'node:path'
import { startService } from '../../test/harness/service.ts'
import { toReasonsPage } from './reasons.ts'
import { type Description, findShared, toClient, toShared } from './types.ts'

const root = resolve(import.meta.dir, '../..')

/** Where each API describes itself, and the module that is made of it. */
const sources = [
  { description: '/api/v1/openapi.json', file: 'src/console/client/customer.ts', name: '/api/v1' },
  { description: '/auth/v1/openapi.json', file: 'src/console/client/sign-in.ts', name: '/auth/v1' },
  { description: '/admin/v1/openapi.json', file: 'src/console/client/operator.ts', name: '/admin/v1' },
] as const

/** The shapes that all of them share. */
const sharedFile = 'src/console/client/shapes.ts'

export type Made = { readonly file: string; readonly text: string }

/** The modules as they should be, from the descriptions that a shop of this source serves. */
export async function makeClients(): Promise<readonly Made[]> {
  const service = await startService('sqlite')
  try {
    const described = await Promise.all(
      sources.map(async (each) => (await (await fetch(service.url + each.description)).json()) as Description),
    )
    const shared = findShared(described)
    const texts = described.map((each, index) => ({
      file: sources[index]?.file ?? '',
      text: toClient(each, sources[index]?.name ?? '', shared),
    }))
    const once = { file: sharedFile, text: toShared(described[0] ?? { paths: {} }, shared) }
    const page = { file: join(root, 'docs/api/reasons.md'), text: toReasonsPage() }
    const modules = await Promise.all(
      [once, ...texts].map(async ({ file, text }) => ({ file: join(root, file), text: await format(text, file) })),
    )
    return [...modules, page]
  } finally {
    await service.stop()
  }
}

async function format(text: string, file: string): Promise<string> {
  const biome = join(root, 'node_modules/.bin/biome')
  const child = Bun.spawn([biome, 'format', `--stdin-file-path=${file}`], {
    cwd: root,
    stdin: new Blob([text]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, exit] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (exit !== 0) throw new Error(err)
  return out
}
