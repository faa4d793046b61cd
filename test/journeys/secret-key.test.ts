import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLog } from '../../src/adapters/log.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { BadSetting } from '../../src/app/settings/reading.ts'
import { openShop, type Shop } from '../../src/app/shop/shop.ts'
import { type Beginning, enginesOf, makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { freePort } from '../harness/gateway.ts'
import { isLong } from '../harness/scale.ts'
import {
  type Ended,
  endStarted,
  type Running,
  runCommand,
  runTurnpike,
  startTurnpike,
  testDatabaseEnv,
} from '../harness/turnpike.ts'

const otherKey = 'ab'.repeat(32)

const openInside = (env: Record<string, string>): Promise<Shop> =>
  openShop(
    readConfig(env),
    createLog('error', 'shop', () => {}),
  )

/** The result of a shop that must not open; as a process in a long run. */
async function refusedShop(env: Record<string, string>): Promise<Ended> {
  if (isLong) return runTurnpike(['shop'], env)
  const failure = await failureOf(openInside(env))
  expect(failure).toBeInstanceOf(BadSetting)
  return { exit: 2, out: '', err: failure.message }
}

describe.each([...enginesOf('sqlite')])('the secret key of a shop on %s', (engine) => {
  let testDatabase: TestDatabase
  let key: string
  async function begin(beginning: Beginning): Promise<void> {
    testDatabase = await makePreparedTestDatabase(engine, beginning)
    key = join(testDatabase.folder, 'secret.key')
  }
  beforeEach(() => begin('migrated'))
  afterEach(async () => {
    await endStarted()
    await testDatabase.remove()
  })
  // A production shop opens without stocking a sandbox, which takes 0.5 s.
  const settings = (env: Record<string, string> = {}) => ({
    TURNPIKE_SANDBOX: 'off',
    ...testDatabaseEnv(testDatabase),
    TURNPIKE_PORT: '0',
    TURNPIKE_GATEWAY_PORT: String(freePort()),
    ...env,
  })
  async function openOnce(env: Record<string, string> = {}): Promise<void> {
    if (!isLong) return (await openInside(settings(env))).stop()
    const shop = startTurnpike(['shop'], settings(env))
    await shop.until(/open at/)
    shop.kill('SIGTERM')
    expect(await shop.exited).toBe(0)
  }
  function expectError({ exit, out, err }: Ended, text: string): void {
    expect([exit, out]).toEqual([2, ''])
    expect(err).toContain(text)
    expect(err).not.toContain(otherKey)
  }
  async function expectRefused(text: string, env: Record<string, string> = {}): Promise<void> {
    expectError(await refusedShop(settings(env)), text)
  }

  test('a production shop exits 2 when its key is missing or wrong, and creates no new key', async () => {
    await openOnce()
    renameSync(key, `${key}.away`)
    expectError(await runTurnpike(['shop'], settings()), 'There is no')
    expectError(await runCommand(['customer', 'list'], settings()), 'There is no')
    expect(existsSync(key)).toBe(false)
    writeFileSync(key, `${otherKey}\n`)
    await expectRefused('is not the encryption key of this shop')
    await expectRefused('is not the encryption key of this shop', { TURNPIKE_SECRET_KEY: otherKey })
    renameSync(`${key}.away`, key)
    await openOnce()
    expect((await runCommand(['verify'], settings())).exit).toBe(0)
  })

  test('a shop refuses a key whose database is missing and creates no new one', async () => {
    await openOnce()
    const elsewhere = join(testDatabase.folder, 'away')
    mkdirSync(elsewhere)
    const lost = {
      TURNPIKE_SANDBOX: 'off',
      TURNPIKE_DATA: elsewhere,
      TURNPIKE_PORT: '0',
      TURNPIKE_GATEWAY_PORT: String(freePort()),
    }
    copyFileSync(key, join(elsewhere, 'secret.key'))
    expectError(await refusedShop(lost), 'is the key of a shop')
    expect(readdirSync(elsewhere)).toEqual(['secret.key'])
  })

  test('a sandbox exits 2 without its key', async () => {
    await testDatabase.remove()
    await begin('stocked')
    await openOnce({ TURNPIKE_SANDBOX: 'on' })
    renameSync(key, `${key}.away`)
    await expectRefused('There is no', { TURNPIKE_SANDBOX: 'on' })
  })
})

describe('two shops that open one database at once', () => {
  /** Opens in this process; as a process in a long run. */
  async function tryOpening(env: Record<string, string>): Promise<Shop | Running | undefined> {
    if (!isLong) return openInside(env).catch(() => undefined)
    const shop = startTurnpike(['shop'], env)
    const opened = shop.until(/open at/).then(() => shop)
    return opened.catch(() => undefined)
  }

  test('one of two shops with different keys opens; the other is refused and leaves no key file', async () => {
    const testDatabase = await makePreparedTestDatabase('postgres', 'migrated')
    const folders = ['one', 'two'].map((name) => join(testDatabase.folder, name))
    const opened = await Promise.all(
      folders.map((folder) =>
        tryOpening({
          TURNPIKE_SANDBOX: 'off',
          TURNPIKE_DATA: folder,
          TURNPIKE_PORT: '0',
          TURNPIKE_DATABASE_URL: testDatabase.address,
        }),
      ),
    )
    expect(opened.filter((shop) => shop !== undefined)).toHaveLength(1)
    const keys = folders.map((folder) => existsSync(join(folder, 'secret.key')))
    expect(keys).toEqual(opened.map((shop) => shop !== undefined))
    for (const shop of opened) if (shop && 'stop' in shop) await shop.stop()
    await endStarted()
    await testDatabase.remove()
  })
})
