import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { until } from '../harness/until.ts'

const program = join(import.meta.dir, '../../bin/turnpike.mjs')
const serviceUid = 65_534
const isRoot = process.getuid?.() === 0
/** Runs as a user that owns none of the code; without root, the current user is such a user. */
const asServiceUser = isRoot ? ['setpriv', `--reuid=${serviceUid}`, `--regid=${serviceUid}`, '--clear-groups'] : []

describe('a service user without write access to the code', () => {
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
    if (isRoot) chownSync(own, serviceUid, serviceUid)
    mkdirSync(join(folder, 'closed'), { mode: 0o555 })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const start = (args: readonly string[], cwd: string, env: Record<string, string> = {}) =>
    Bun.spawn([...asServiceUser, linked, ...args], {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })

  test('a service user without a home runs up and commands and writes only to its data folder', async () => {
    const settings = {
      TURNPIKE_DATA: join(own, 'data'),
      TURNPIKE_PORT: String(freePort()),
      TURNPIKE_GATEWAY_PORT: String(freePort()),
    }
    const data = prepareFolder(settings.TURNPIKE_DATA, 'stocked')
    if (isRoot)
      for (const path of [data, ...readdirSync(data).map((name) => join(data, name))])
        chownSync(path, serviceUid, serviceUid)
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

  test('a shop whose user may not write the data folder exits 2 with one line', async () => {
    const closed = join(folder, 'closed')
    const shop = start(['shop'], closed)
    const err = await shop.stderr.text()
    expect(await shop.exited).toBe(2)
    expect(err).toBe(
      `turnpike: This user has no access to ${join(closed, 'data')}. ` +
        'Set another path; for the shop itself TURNPIKE_DATA (--data).\n',
    )
  })
})
