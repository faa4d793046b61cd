import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { until } from '../harness/until.ts'

const program = join(import.meta.dir, '../../bin/turnpike.mjs')
const nobody = 65_534
const isRoot = process.getuid?.() === 0
/** Somebody who owns nothing of the code; where we are nobody in particular ourselves, that is us. */
const asSomebody = isRoot ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : []

describe('a service user, over code that it may not write', () => {
  let folder: string
  let own: string
  let linked: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-service-'))
    chmodSync(folder, 0o755)
    // As an operator links it: /usr/local/bin/turnpike.
    linked = join(folder, 'turnpike')
    symlinkSync(program, linked)
    own = join(folder, 'own')
    mkdirSync(own)
    if (isRoot) chownSync(own, nobody, nobody)
    mkdirSync(join(folder, 'closed'), { mode: 0o555 })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const start = (args: readonly string[], cwd: string, env: Record<string, string> = {}) =>
    Bun.spawn([...asSomebody, linked, ...args], {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })

  test('runs everything and uses the tool, with no home and nothing but its data folder to write to', async () => {
    const settings = {
      TURNPIKE_DATA: join(own, 'data'),
      TURNPIKE_PORT: String(freePort()),
      TURNPIKE_GATEWAY_PORT: String(freePort()),
    }
    const data = prepareFolder(settings.TURNPIKE_DATA, 'stocked')
    if (isRoot)
      for (const path of [data, ...readdirSync(data).map((name) => join(data, name))]) chownSync(path, nobody, nobody)
    const up = start(['up'], '/', settings)
    let out = ''
    const reading = (async () => {
      for await (const chunk of up.stdout) out += Buffer.from(chunk).toString()
    })()
    await until(() => out.includes('Turnpike is open') || up.exitCode !== null)
    expect(out).toContain('Turnpike is open')
    const listed = start(['customer', 'list', '--json'], '/', settings)
    expect([JSON.parse(await listed.stdout.text()), await listed.exited]).toEqual([
      { items: [expect.anything()], next_cursor: null },
      0,
    ])
    up.kill('SIGTERM')
    await reading
    expect(await up.exited).toBe(0)
  })

  test('is told in one line when the data folder is not its own', async () => {
    const closed = join(folder, 'closed')
    const shop = start(['shop'], closed)
    const err = await shop.stderr.text()
    expect(await shop.exited).toBe(2)
    expect(err).toBe(
      `turnpike: ${join(closed, 'data')} may not be used by this user. ` +
        'Name a place of its own, for the shop itself with TURNPIKE_DATA (--data).\n',
    )
  })
})
