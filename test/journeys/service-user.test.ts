import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTestDatabase, prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { longTest } from '../harness/long-test.ts'
import { runTurnpike } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'
import { addCustomer, wire } from '../harness/wired.ts'

const program = join(import.meta.dir, '../../bin/turnpike.mjs')
const serviceUid = 65_534
const isRoot = process.getuid?.() === 0
/** Runs as a user that owns none of the code; without root, the current user is such a user. */
const asServiceUser = isRoot ? ['setpriv', `--reuid=${serviceUid}`, `--regid=${serviceUid}`, '--clear-groups'] : []

function giveToServiceUser(folder: string): void {
  if (!isRoot) return
  for (const path of [folder, ...readdirSync(folder).map((name) => join(folder, name))])
    chownSync(path, serviceUid, serviceUid)
}

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

  longTest('a service user without a home runs up and commands and writes only to its data folder', async () => {
    const settings = {
      TURNPIKE_DATA: join(own, 'data'),
      TURNPIKE_PORT: String(freePort()),
      TURNPIKE_GATEWAY_PORT: String(freePort()),
    }
    const data = prepareFolder(settings.TURNPIKE_DATA, 'stocked')
    giveToServiceUser(data)
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

  longTest("restore and doctor call a backup that the service's user cannot read denied, and not missing", async () => {
    const { db, testDatabase } = await openTestDatabase('sqlite')
    await addCustomer(wire(db), 100_000n)
    await db.close()
    const [data, backups] = [join(own, 'denied'), join(folder, 'backups')]
    cpSync(testDatabase.folder, data, { recursive: true })
    await testDatabase.remove()
    mkdirSync(backups)
    const denied = join(backups, 'turnpike-20260401T000000Z')
    const env = { TURNPIKE_DATA: data, TURNPIKE_SECRET_KEY: '00'.repeat(32) }
    expect(await runTurnpike(['backup', denied], env)).toMatchObject({ exit: 0 })
    chmodSync(denied, isRoot ? 0o700 : 0)
    giveToServiceUser(data)
    const user = Bun.spawnSync([...asServiceUser, 'id', '-un'])
      .stdout.toString()
      .trim()
    const restored = start(['restore', denied], own, { TURNPIKE_DATA: join(own, 'restored') })
    expect([await restored.stderr.text(), await restored.exited]).toEqual([
      `turnpike: Permission denied reading ${denied}/manifest.json. ` +
        `Run the command as root, or copy the backup where the user ${user} can read it.\n`,
      1,
    ])
    const tokenFile = `${denied}/manifest.json`
    const remote = start(['customer', 'list', '--shop', 'https://shop.example', '--token-file', tokenFile], own, env)
    expect(await remote.stderr.text()).toContain(`Permission denied reading ${tokenFile} (--token-file).`)
    const doctor = start(['doctor', '--json'], own, { ...env, TURNPIKE_BACKUP_FOLDER: backups })
    const { advice } = JSON.parse(await doctor.stdout.text()) as {
      advice: { of: string; says: string; todo: string }[]
    }
    expect(advice.find((each) => each.of === 'backups')).toMatchObject({
      state: 'wrong',
      says: `permission denied reading ${denied}/manifest.json`,
      todo: `let the user ${user} read it, or run the command as root`,
    })
    chmodSync(denied, 0o700)
    const copy = join(own, 'copy')
    cpSync(denied, copy, { recursive: true })
    giveToServiceUser(copy)
    const again = start(['restore', copy], own, { TURNPIKE_DATA: join(own, 'restored') })
    expect([await again.exited, await again.stderr.text()]).toEqual([0, ''])
  })
})
