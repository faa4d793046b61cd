import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toContent } from './content.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-content-'))
afterAll(() => rmSync(folder, { recursive: true }))
mkdirSync(join(folder, 'dir'))
writeFileSync(join(folder, 'index.html'), 'start')
writeFileSync(join(folder, 'dir', 'index.html'), 'inner')
writeFileSync(join(folder, 'big.bin'), new Uint8Array(300_000))
writeFileSync(join(folder, '.hidden'), 'no')
symlinkSync('/etc/passwd', join(folder, 'out'))

async function get(path: string) {
  const request = { method: 'GET', path, host: 'a', fields: [], body: new Uint8Array(0), source: '127.0.0.1' }
  const { status, body } = await toContent({ kind: 'files', folder })(request, new AbortController().signal)
  return {
    status,
    text: Buffer.from(body instanceof Uint8Array ? body : (body.read(0, body.size) ?? [])).toString(),
  }
}

test.each([
  ['/', 'start'],
  ['/index.html', 'start'],
  ['/index.html?a=1', 'start'],
  ['/dir/', 'inner'],
  ['/big.bin', '\0'.repeat(300_000)],
])('the site of a folder answers %s with the file', async (path, text) => {
  expect(await get(path)).toEqual({ status: 200, text })
})

test.each(['/missing', '/.hidden', '/out', '/../etc/passwd', '/%2e%2e/x', '/index.html/'])(
  'the site of a folder answers %s with 404',
  async (path) => {
    expect((await get(path)).status).toBe(404)
  },
)

test('the site of a folder redirects a folder without a slash', async () => {
  expect((await get('/dir')).status).toBe(301)
})
