import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from '../harness/service.ts'
import { waitLimitMs } from '../harness/until.ts'

/**
 * The generator of others, in a project of its own: it needs another major version of TypeScript than ours, and brings
 * 50 packages.
 */
const packages = ['@hey-api/openapi-ts@0.99.0', 'typescript@5.9.3']

const program = `
import { client } from './client/client.gen'
import { buyDedicated, getBalance, listDedicated, setMetadata } from './client/sdk.gen'

declare const process: { readonly argv: string[] }
const [url = '', token = ''] = process.argv.slice(2)
client.setConfig({ baseUrl: url, auth: token })
const body = { country_code: 'DE', period: 30, count: 2, ipv: 4 as const, metadata: { client: '4711' } }
const headers = { 'Idempotency-Key': 'foreign-1' }
const first = await buyDedicated({ body, headers })
const again = await buyDedicated({ body, headers })
if (first.error || again.error) throw new Error(first.error?.error.message ?? again.error?.error.message)
const { order_id, proxies } = first.data.data
const ids: number[] = proxies.map((each) => each.id)
const found = await listDedicated({ query: { metadata: { client: '4711' } } })
const set = await setMetadata({ body: { kind: 'proxy', id: ids[0] ?? 0, metadata: { client: null, city: 'Bonn' } } })
const refused = await buyDedicated({ body: { ...body, country_code: 'AQ' } })
const reason: 'country_not_sold' | undefined =
  refused.error?.error.reason === 'country_not_sold' ? refused.error.error.reason : undefined
console.log(
  JSON.stringify({
    isSame: again.data.data.order_id === order_id,
    works: proxies.every((each) => each.password !== null),
    found: found.data?.data.proxies.map((each) => each.id).toSorted((a, b) => a - b).join() === ids.join(),
    metadata: set.data?.data.metadata,
    reason,
    balance: (await getBalance()).data?.data.balance_rub === first.data.data.balance_rub,
  }),
)
`

const settings = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'ES2023',
    module: 'ESNext',
    moduleResolution: 'Bundler',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    types: [],
  },
  include: ['main.ts', 'client'],
}

test('a client that @hey-api/openapi-ts generates from openapi.json compiles under strict and buys once under a key', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-foreign-'))
  const service = await startService('sqlite')
  const run = async (...command: string[]): Promise<string> => {
    const child = Bun.spawn(command, { cwd: folder, stdout: 'pipe', stderr: 'pipe', timeout: waitLimitMs })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${out}${err}`)
    return out
  }
  const bun = [process.execPath, '--no-env-file']
  try {
    writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    writeFileSync(join(folder, 'main.ts'), program)
    await Bun.write(join(folder, 'openapi.json'), await fetch(`${service.url}/api/v1/openapi.json`))
    await run('npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages)
    const generator = join(folder, 'node_modules/@hey-api/openapi-ts/bin/run.js')
    await run(...bun, generator, '-i', 'openapi.json', '-o', 'client', '-c', '@hey-api/client-fetch')
    await run(...bun, join(folder, 'node_modules/typescript/bin/tsc'), '-p', '.')
    const printed = await run(...bun, 'main.ts', `${service.url}/api/v1`, service.token)
    expect(JSON.parse(printed)).toEqual({
      isSame: true,
      works: true,
      found: true,
      metadata: { city: 'Bonn' },
      reason: 'country_not_sold',
      balance: true,
    })
  } finally {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
