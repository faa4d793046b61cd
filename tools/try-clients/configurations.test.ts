import { afterAll, beforeAll, expect, test } from 'bun:test'
import { entriesOfShareLinks, entriesOfSingBox, entriesOfXray } from './configurations.ts'
import { openSandbox } from './sandbox.ts'

const login = { username: 'try', password: 'secret' }
let sandbox: Awaited<ReturnType<typeof openSandbox>>
beforeAll(async () => {
  sandbox = await openSandbox()
})
afterAll(() => sandbox.stop())

const endsOf = (names: readonly string[]): string[] => names.map((name) => name.replace(/^test gateway-\d+ /, ''))

test('every entry of the secret link can be tried', async () => {
  const shared = entriesOfShareLinks(await sandbox.link('base64'))
  const xray = entriesOfXray(await sandbox.link('xray'))
  const singBox = entriesOfSingBox(await sandbox.link('singbox'))
  expect(endsOf(shared.map(({ name }) => name))).toEqual(expect.arrayContaining(['VLESS', 'Trojan']))
  expect(xray.map(({ name }) => name)).toEqual(shared.map(({ name }) => name))
  expect(endsOf(singBox.map(({ name }) => name))).toEqual(expect.arrayContaining(['VLESS', 'Trojan', 'HTTPS']))
})

test('a client gets one local port with a password, and no device or route of the machine', async () => {
  const entries = [
    ...entriesOfShareLinks(await sandbox.link('base64')),
    ...entriesOfXray(await sandbox.link('xray')),
    ...entriesOfSingBox(await sandbox.link('singbox')),
  ]
  for (const { configure } of entries) {
    const { inbounds, outbounds, ...rest } = configure(1234, login) as Record<string, object[]>
    expect(inbounds).toHaveLength(1)
    expect(outbounds).toHaveLength(1)
    expect(JSON.stringify(inbounds)).toContain('127.0.0.1')
    expect(JSON.stringify(inbounds)).toContain(login.password)
    expect(Object.keys(rest)).not.toContain('route')
  }
})
