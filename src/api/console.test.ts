import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { failureOf } from '../../test/harness/failure.ts'
import { randomBytes } from '../adapters/crypto.ts'
import { Refusal } from '../core/refusal.ts'
import { openConsole } from './console.ts'

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-console-'))
  await Bun.write(join(folder, 'page.html'), '<meta name="nonce" content="{nonce}">')
  for (const [name, text] of [
    ['main-1.js', 'plain'],
    ['main-1.js.br', 'brotli'],
    ['main-1.js.gz', 'gzip'],
  ] as const) {
    await Bun.write(join(folder, name), text)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const opened = () => openConsole(pathToFileURL(`${folder}/`), randomBytes)
const request = async (path: string, accepted = ''): Promise<Response> => {
  const route = opened().find((each) => each.path === path || (path.startsWith('/console/') && each.path.includes(':')))
  if (!route) throw new Error(`nothing is at ${path}`)
  return route.answer(new Request(`http://shop.test${path}`, { headers: { 'Accept-Encoding': accepted } }))
}

describe('the console', () => {
  test('the console page has a Content-Security-Policy without "unsafe" and with a new nonce per request', async () => {
    const nonces = new Set<string>()
    for (const path of ['/', '/operator', '/']) {
      const answer = await request(path)
      const policy = answer.headers.get('content-security-policy') ?? ''
      const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
      expect(policy).not.toContain('unsafe')
      expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-")
      expect(await answer.text()).toContain(`content="${nonce}"`)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      nonces.add(nonce)
    }
    expect(nonces.size).toBe(3)
  })

  test('the shop serves console files as immutable, in the smallest encoding that the browser accepts', async () => {
    for (const [accepted, text, coding] of [
      ['gzip, deflate, br', 'brotli', 'br'],
      ['gzip', 'gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip', 'gzip'],
      ['', 'plain', null],
    ] as const) {
      const answer = await request('/console/main-1.js', accepted)
      expect([await answer.text(), answer.headers.get('content-encoding')]).toEqual([text, coding])
      expect(answer.headers.get('cache-control')).toContain('immutable')
      expect(answer.headers.get('content-type')).toStartWith('text/javascript')
    }
  })

  test('the shop refuses a path below /console that is not a built file', async () => {
    for (const name of ['nothing.js', 'page.html', '..%2fpackage.json', 'main-1.js.br', '.env', '']) {
      expect(await failureOf(request(`/console/${name}`)), name).toBeInstanceOf(Refusal)
    }
  })

  test('a console that was not built answers 503 with the command that builds it', async () => {
    const [page] = openConsole(pathToFileURL(`${folder}/nowhere/`), randomBytes)
    const answer = await page?.answer(new Request('http://shop.test/'))
    expect([answer?.status, (await answer?.text())?.includes('npm run console')]).toEqual([503, true])
  })
})
