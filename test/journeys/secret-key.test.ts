import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../src/db/open.ts'
import { enginesOf, makePreparedPlace, type Place } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { endStarted, runTurnpike, startTurnpike } from '../harness/turnpike.ts'

const another = 'ab'.repeat(32)

describe.each([...enginesOf('sqlite')])('the secret key on %s', (engine) => {
  let place: Place
  let key: string
  beforeEach(async () => {
    place = await makePreparedPlace(engine, 'migrated')
    key = join(place.folder, 'secret.key')
  })
  afterEach(async () => {
    await endStarted()
    await place.remove()
  })
  const settings = (env: Record<string, string> = {}) => ({
    TURNPIKE_DATA: place.folder,
    TURNPIKE_PORT: '0',
    TURNPIKE_GATEWAY_PORT: String(freePort()),
    ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: place.address }),
    ...env,
  })
  async function openOnce(env: Record<string, string> = {}): Promise<void> {
    const shop = startTurnpike(['shop'], settings(env))
    await shop.until(/open at/)
    shop.kill('SIGTERM')
    expect(await shop.exited).toBe(0)
  }
  async function expectRefused(
    text: string,
    env: Record<string, string> = {},
    commands: readonly string[][] = [['shop']],
  ): Promise<void> {
    for (const command of commands) {
      const ended = await runTurnpike(command, settings(env))
      expect([ended.exit, ended.out]).toEqual([2, ''])
      expect(ended.err).toContain(text)
      expect(ended.err).not.toContain(another)
    }
  }

  test('that is missing, or another one, keeps the shop shut, and no new one is made', async () => {
    await openOnce()
    renameSync(key, `${key}.away`)
    await expectRefused('There is no', {}, [['shop'], ['customer', 'list']])
    expect(existsSync(key)).toBe(false)
    writeFileSync(key, `${another}\n`)
    await expectRefused('is not the one')
    await expectRefused('is not the one', { TURNPIKE_SECRET_KEY: another })
    renameSync(`${key}.away`, key)
    await openOnce()
    expect((await runTurnpike(['verify'], settings())).exit).toBe(0)
  })

  test('without its database opens no new shop in its place', async () => {
    await openOnce()
    const elsewhere = join(place.folder, 'away')
    mkdirSync(elsewhere)
    const lost = { TURNPIKE_DATA: elsewhere, TURNPIKE_PORT: '0', TURNPIKE_GATEWAY_PORT: String(freePort()) }
    copyFileSync(key, join(elsewhere, 'secret.key'))
    const ended = await runTurnpike(['shop'], lost)
    expect([ended.exit, ended.out]).toEqual([2, ''])
    expect(ended.err).toContain('is the key of a shop')
    expect(readdirSync(elsewhere)).toEqual(['secret.key'])
  })

  test('of a production shop that has sold nothing yet is its key too', async () => {
    await openOnce({ TURNPIKE_SANDBOX: 'off' })
    renameSync(key, `${key}.away`)
    await expectRefused('There is no', { TURNPIKE_SANDBOX: 'off' })
  })

  test('of a shop from before keys were noted is noted by the next start, which makes none either', async () => {
    await openOnce()
    const db = openDatabase(place.address)
    await db.transact((tx) => tx.run('UPDATE shop SET key_fingerprint = NULL'))
    copyFileSync(key, `${key}.away`)
    renameSync(key, `${key}.kept`)
    await expectRefused('There is no')
    renameSync(`${key}.kept`, key)
    await openOnce()
    await db.close()
    await expectRefused('is not the one', { TURNPIKE_SECRET_KEY: another })
  })
})

describe('two shops that open one database at once', () => {
  test('with keys of their own: one opens, the other is refused and leaves no key behind', async () => {
    const place = await makePreparedPlace('postgres', 'migrated')
    const folders = ['one', 'two'].map((name) => join(place.folder, name))
    const started = folders.map((folder) =>
      startTurnpike(['shop'], { TURNPIKE_DATA: folder, TURNPIKE_PORT: '0', TURNPIKE_DATABASE_URL: place.address }),
    )
    const outcomes = await Promise.all(
      started.map((shop) =>
        Promise.race([
          shop.until(/open at/).then(
            () => 'open',
            () => 'refused',
          ),
          shop.exited.then(() => 'refused'),
        ]),
      ),
    )
    expect(outcomes.toSorted()).toEqual(['open', 'refused'])
    const keys = folders.map((folder) => existsSync(join(folder, 'secret.key')))
    expect(keys).toEqual(outcomes.map((outcome) => outcome === 'open'))
    await endStarted()
    await place.remove()
  })
})

describe('the data folder', () => {
  test('has files for their owner alone, whatever it and they were before', async () => {
    const place = await makePreparedPlace('sqlite', 'migrated')
    const env = { TURNPIKE_DATA: place.folder, TURNPIKE_PORT: '0', TURNPIKE_GATEWAY_PORT: String(freePort()) }
    const files = () =>
      readdirSync(place.folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
    const open = async () => {
      const up = startTurnpike(['up'], env)
      await up.until(/open at/)
      return up
    }
    chmodSync(place.folder, 0o777)
    const first = await open()
    first.kill('SIGTERM')
    await first.exited
    for (const each of files()) chmodSync(join(each.parentPath, each.name), 0o666)
    await open()
    const modes = files().map((each) => [each.name, statSync(join(each.parentPath, each.name)).mode & 0o777])
    expect(modes.map(([name]) => name)).toEqual(expect.arrayContaining(['secret.key', 'turnpike.db', 'node.json']))
    expect(modes.filter(([, mode]) => mode !== 0o600)).toEqual([])
    await endStarted()
    await place.remove()
  })
})
