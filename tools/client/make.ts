import { join, resolve } from 'node:path'
import { startService } from '../../test/harness/service.ts'
import { type Description, toClient } from './types.ts'

const root = resolve(import.meta.dir, '../..')

/** Where each API describes itself, and the module that is made of it. */
const sources = [
  { description: '/api/v1/openapi.json', file: 'src/console/client/customer.ts', name: '/api/v1' },
  { description: '/auth/v1/openapi.json', file: 'src/console/client/sign-in.ts', name: '/auth/v1' },
  { description: '/admin/v1/openapi.json', file: 'src/console/client/operator.ts', name: '/admin/v1' },
] as const

export type Made = { readonly file: string; readonly text: string }

/** The modules as they should be, from the descriptions that a shop of this source serves. */
export async function makeClients(): Promise<readonly Made[]> {
  const service = await startService('sqlite')
  try {
    return await Promise.all(
      sources.map(async ({ description, file, name }) => {
        const described = (await (await fetch(service.url + description)).json()) as Description
        return { file: join(root, file), text: await format(toClient(described, name), file) }
      }),
    )
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
