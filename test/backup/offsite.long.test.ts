import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, run } from '../harness/apt.ts'
import { openTestDatabase } from '../harness/database.ts'
import { fencesOf } from '../harness/markdown.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { installTurnpike, type OwnMachine, openOwnMachine, packagedPath } from '../harness/own-machine.ts'
import { addCustomer, wire } from '../harness/wired.ts'

const { test, isPossible } = await findNetnsSupport('tests of backups with restic')

const docs = join(import.meta.dir, '../../docs')
const repository = '/var/lib/repository'
const page = readFileSync(join(docs, 'operate/backup-and-upgrade.md'), 'utf8')

/** The documented commands. A test machine has these sources in place of the package, and no systemd. */
const commandsWith = (part: string): string[] =>
  (fencesOf(page).find(({ lines }) => lines.some((line) => line.includes(part)))?.lines ?? []).map((line) =>
    line
      .replace(/^server# /, '')
      .replace('/usr/share/doc/turnpike', docs)
      .replace('/usr/local/sbin', packagedPath)
      .replace('/etc/systemd/system', '/etc/turnpike'),
  )

describe('the documented backup with restic', () => {
  let machine: OwnMachine

  const sh = async (script: string): Promise<string> => {
    const { code, out, err } = await machine.inside(['sh', '-ec', `PATH=${packagedPath}:$PATH\n${script}`])
    expect({ script, code, err: code === 0 ? '' : err }).toEqual({ script, code: 0, err: '' })
    return out
  }
  /** Runs the unit's command with its settings, as systemd does. */
  const service = `(set -a; . /etc/turnpike/offsite.env; ${packagedPath}/turnpike-offsite)`
  const snapshots = async (): Promise<{ tags: string[]; paths: string[] }[]> =>
    JSON.parse(await sh('(set -a; . /etc/turnpike/offsite.env; restic snapshots --json)'))

  beforeAll(async () => {
    if (!isPossible) return
    const problem = Bun.which('restic') === null ? await installPackages(['restic']) : undefined
    if (problem !== undefined) throw new Error(`restic is missing: ${problem}`)
    machine = await openOwnMachine({ hasOwnNetwork: true })
    await installTurnpike(machine, { TURNPIKE_SECRET_KEY: '00'.repeat(32) })
    const { db, testDatabase } = await openTestDatabase('sqlite')
    await addCustomer(wire(db), 100_000n)
    await db.close()
    copyFileSync(join(testDatabase.folder, 'turnpike.db'), machine.outside('/var/lib/turnpike/turnpike.db'))
    await testDatabase.remove()
    await machine.inside(['chown', '-R', 'turnpike:', '/var/lib/turnpike'])
  })
  afterAll(() => machine?.close())

  test('the documented commands make an encrypted backup, keep as many as set, and restore one', async () => {
    const install = commandsWith('restic init').filter((line) => !/^(apt|editor|systemctl) /.test(line))
    const [settings, ...rest] = install.splice(install.findIndex((line) => line.includes('offsite.env /etc')))
    await sh([...install, settings].join('\n'))
    const env = machine.outside('/etc/turnpike/offsite.env')
    const edited = readFileSync(env, 'utf8').replace(/^RESTIC_REPOSITORY=.*$/m, `RESTIC_REPOSITORY=${repository}`)
    writeFileSync(env, `${edited}RESTIC_CACHE_DIR=/var/lib/cache\n`)
    await sh(rest.join('\n'))
    await sh(service)
    expect(await snapshots()).toMatchObject([{ tags: ['turnpike'], paths: ['/var/lib/turnpike/offsite'] }])
    writeFileSync(env, `${readFileSync(env, 'utf8')}OFFSITE_KEEP="--keep-last 2"\n`)
    for (let runs = 0; runs < 2; runs += 1) await sh(service)
    expect(await snapshots()).toHaveLength(2)
    expect(readdirSync(machine.outside('/var/lib/turnpike'))).not.toContain('offsite')
    const plain = await run(['grep', '-rlE', 'SQLite format 3|"tables"', machine.outside(repository)])
    expect(plain).toMatchObject({ code: 1, out: '' })
    const [fetch = '', own = '', restore = '', verify = '', clean = ''] = commandsWith('restic restore')
    await sh([fetch, own].join('\n'))
    expect(JSON.parse(await sh(`${restore} --json`))).toMatchObject({ restored: true, verify: { ok: true } })
    expect(JSON.parse(await sh(`${verify} --json`))).toMatchObject({ ok: true })
    await sh(clean)
  })

  test('a failed backup sends nothing, deletes nothing and ends with the error', async () => {
    const before = await snapshots()
    await sh('mv /var/lib/turnpike/turnpike.db /var/lib/turnpike/away.db')
    const failed = await machine.inside(['sh', '-c', `PATH=${packagedPath}:$PATH; ${service}`])
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining('There is no shop to back up') })
    expect(await snapshots()).toEqual(before)
  })

  test('systemd accepts the unit and the timer of the backup', async () => {
    if (Bun.which('systemd-analyze') === null) return
    const folder = machine.outside('/etc/turnpike')
    const unit = join(folder, 'turnpike-offsite.service')
    writeFileSync(unit, readFileSync(unit, 'utf8').replace(/^ExecStart=.*$/m, 'ExecStart=/bin/true'))
    const { code, err } = await run(['systemd-analyze', 'verify', unit, join(folder, 'turnpike-offsite.timer')])
    expect({ code, err }).toEqual({ code: 0, err: '' })
  })
})
