import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVault } from '../../src/adapters/crypto.ts'
import { backUp } from '../../src/app/backup/backup.ts'
import { move } from '../../src/app/backup/move.ts'
import { restore } from '../../src/app/backup/restore.ts'
import { assertOpen, readMigrations } from '../../src/app/shop/database.ts'
import { auditOf, sayFinding, type Verifier } from '../../src/core/finding.ts'
import { heldBy, tablesOf } from '../../src/db/copy/copy.ts'
import { migrate, pending } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import { copySqlite, readSqlite } from '../../src/db/sqlite-file.ts'
import { configOfTestDatabase, ignoreProgress } from '../harness/backups.ts'
import { type Engine, engines, enginesOf, makeTestDatabase, type TestDatabase } from '../harness/database.ts'
import { openFilledShop } from '../harness/filled.ts'
import { isLong } from '../harness/scale.ts'
import { waitLimitMs } from '../harness/until.ts'

/** The key that encrypts the filled shop. */
const key = { TURNPIKE_SECRET_KEY: '05'.repeat(32) }

/** The findings of `verify` as text, so that a failure names the part. */
async function findings(verifiers: readonly Verifier[]): Promise<string[]> {
  const found: string[] = []
  for (const verifier of verifiers) {
    for (const each of (await auditOf(verifier)).findings.map((finding) => sayFinding(finding)))
      found.push(`${each.promise}: ${each.where}: ${each.problem}`)
  }
  return found
}

function work() {
  const wrong: string[] = []
  return {
    wrong,
    clock: Date.now,
    onProgress: ignoreProgress,
    async verify(verifiers: readonly Verifier[]) {
      wrong.push(...(await findings(verifiers)))
      return wrong.length === 0
    },
  }
}

const failing = (doing: Promise<unknown>): Promise<string> =>
  doing.then(
    () => 'nothing was refused',
    (error: unknown) => String(error),
  )

describe.each([...enginesOf('postgres')])('backup, restore and move of a filled shop on %s', (engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-backup-'))
  const backup = join(folder, 'one')
  let testDatabase: TestDatabase
  beforeAll(async () => {
    const opened = await openFilledShop(engine)
    testDatabase = opened.testDatabase
    await opened.db.close()
    await backUp(configOfTestDatabase(engine, testDatabase, key), backup, Date.now, ignoreProgress)
  })
  afterAll(async () => {
    await testDatabase.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  test('backUp writes a file of rows, a separate key and a manifest, all with mode 0600', () => {
    const manifest = JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'))
    expect(manifest).toMatchObject({ format: 1, engine, checkpoint: { number: 3 } })
    expect(manifest.tables.postings.rows).toBeGreaterThan(10)
    expect(readFileSync(join(backup, 'secret.key'), 'utf8').trim()).toBe('05'.repeat(32))
    expect(JSON.stringify(manifest)).not.toContain('05'.repeat(8))
    for (const name of ['shop.db', 'secret.key', 'manifest.json']) {
      expect(statSync(join(backup, name)).mode & 0o777).toBe(0o600)
    }
  })

  test.each([...engines])(
    'restore copies a backup onto %s with every row the same, and verify finds nothing wrong',
    async (onto) => {
      const empty = await makeTestDatabase(onto)
      const config = configOfTestDatabase(onto, empty)
      const watching = work()
      expect(await restore(config, backup, watching)).toMatchObject({ isRight: true })
      expect(watching.wrong).toEqual([])
      expect(readFileSync(join(empty.folder, 'secret.key'), 'utf8').trim()).toBe('05'.repeat(32))
      expect(await failing(restore(config, backup, work()))).toContain('already')
      if (!isLong) return empty.remove()
      // Backed up and restored once more from there, nothing is lost.
      const second = join(folder, `second-${onto}`)
      await backUp(config, second, Date.now, ignoreProgress)
      const again = await makeTestDatabase(engine)
      const last = work()
      expect(await restore(configOfTestDatabase(engine, again), second, last)).toMatchObject({ isRight: true })
      expect(last.wrong).toEqual([])
      await Promise.all([empty.remove(), again.remove()])
    },
  )

  test('restore refuses a backup with a changed row, file or key, and creates nothing', async () => {
    const empty = await makeTestDatabase('sqlite')
    const config = configOfTestDatabase('sqlite', empty)
    const bad = join(folder, 'bad')
    mkdirSync(bad)
    expect(await failing(restore(config, bad, work()))).toContain('no backup')
    for (const name of ['shop.db', 'secret.key', 'manifest.json']) {
      writeFileSync(join(bad, name), readFileSync(join(backup, name)))
    }
    const text = readFileSync(join(bad, 'manifest.json'), 'utf8')
    writeFileSync(join(bad, 'manifest.json'), text.replace(/"digest": "[0-9a-f]{8}/, '"digest": "00000000'))
    expect(await failing(restore(config, bad, work()))).toContain('damaged')
    writeFileSync(join(bad, 'manifest.json'), '{}')
    expect(await failing(restore(config, bad, work()))).toContain('manifest')
    writeFileSync(join(bad, 'manifest.json'), text)
    const rows = readFileSync(join(backup, 'shop.db'))
    for (const other of [
      rows.subarray(0, rows.length / 2),
      rows.subarray(0, 300),
      Buffer.from('no rows'),
      Buffer.of(),
    ]) {
      writeFileSync(join(bad, 'shop.db'), other)
      expect(await failing(restore(config, bad, work()))).toMatch(/damaged.*Take another one/)
    }
    writeFileSync(join(bad, 'shop.db'), rows)
    writeFileSync(join(bad, 'secret.key'), '06'.repeat(32))
    expect(await failing(restore(config, bad, work()))).toContain('key')
    rmSync(join(bad, 'secret.key'))
    expect(await failing(restore(config, bad, work()))).toContain('TURNPIKE_SECRET_KEY')
    expect(existsSync(join(empty.folder, 'turnpike.db'))).toBeFalse()
    await empty.remove()
  })

  test('a restore that does not verify stays closed, and a second restore can replace it', async () => {
    const empty = await makeTestDatabase(engine)
    const config = configOfTestDatabase(engine, empty)
    expect(await restore(config, backup, { ...work(), verify: async () => false })).toMatchObject({ isRight: false })
    if (engine === 'postgres') {
      const db = openDatabase(empty.address)
      expect(await failing(assertOpen(db))).toContain('closed')
      await db.close()
    } else expect(existsSync(empty.address)).toBeFalse()
    expect(await restore(config, backup, work())).toMatchObject({ isRight: true })
    const db = openDatabase(empty.address)
    await assertOpen(db)
    await db.close()
    await empty.remove()
  })

  test(`move copies every table to the other database${isLong ? ' and back' : ''}, and closes the old one`, async () => {
    const other: Engine = engine === 'sqlite' ? 'postgres' : 'sqlite'
    const [from, to, back, further] = [
      await makeTestDatabase(engine, testDatabase),
      await makeTestDatabase(other),
      await makeTestDatabase(engine),
      await makeTestDatabase(other),
    ]
    const addressOf = (kind: Engine, each: TestDatabase) => (kind === 'postgres' ? each.address : each.folder)
    const moving = (watching: ReturnType<typeof work>) => ({ ...watching, goneWithinMs: waitLimitMs })
    const there = work()
    const moved = await move(configOfTestDatabase(engine, from, key), addressOf(other, to), moving(there))
    expect(moved.isRight).toBeTrue()
    expect(moved.to).not.toContain('password')
    expect(there.wrong).toEqual([])
    const old = openDatabase(from.address)
    expect(await failing(assertOpen(old))).toContain('moved')
    await old.close()
    const again = move(configOfTestDatabase(engine, from, key), addressOf(other, further), moving(work()))
    expect(await failing(again)).toContain('closed')
    const onto = move(configOfTestDatabase(other, to, key), addressOf(engine, from), moving(work()))
    expect(await failing(onto)).toContain('already')
    if (isLong) {
      const home = work()
      expect(
        (await move(configOfTestDatabase(other, to, key), addressOf(engine, back), moving(home))).isRight,
      ).toBeTrue()
      expect(home.wrong).toEqual([])
    }
    await Promise.all([from, to, back, further].map((each) => each.remove()))
  })

  test('restore migrates a backup of an earlier version', async () => {
    const [old, empty] = [await makeTestDatabase('sqlite'), await makeTestDatabase(engine)]
    const earlier = readMigrations().slice(0, -1)
    const { fingerprint } = createVault(new Uint8Array(32).fill(5))
    const db = openDatabase(old.address)
    await migrate(db, earlier)
    // In SQL, because services of this version may need the last migration.
    await db.transact((tx) =>
      tx.run(`INSERT INTO shop (one, mode, opened_at, key_fingerprint) VALUES (1, 'production', 7, $1)`, [fingerprint]),
    )
    await db.close()
    const made = join(folder, 'earlier')
    expect(await failing(backUp(configOfTestDatabase('sqlite', old, key), made, Date.now, ignoreProgress))).toContain(
      'earlier',
    )
    mkdirSync(made)
    copySqlite(old.address, join(made, 'shop.db'))
    const file = readSqlite(join(made, 'shop.db'))
    const tables = await heldBy({ engine: 'sqlite', reader: file.reader }, await tablesOf(earlier), ignoreProgress)
    file.close()
    const manifest = JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'))
    writeFileSync(join(made, 'manifest.json'), JSON.stringify({ ...manifest, tables, schema: earlier.at(-1)?.name }))
    const watching = work()
    expect(await restore(configOfTestDatabase(engine, empty, key), made, watching)).toMatchObject({ isRight: true })
    expect(watching.wrong).toEqual([])
    const restored = openDatabase(empty.address)
    expect(await pending(restored, readMigrations())).toEqual([])
    expect(await restored.first('SELECT mode, opened_at FROM shop')).toEqual({ mode: 'production', opened_at: 7n })
    await restored.close()
    await Promise.all([old.remove(), empty.remove()])
  })

  test('move refuses while another process is connected, and creates no new database', async () => {
    const [from, to] = [await makeTestDatabase(engine, testDatabase), await makeTestDatabase('sqlite')]
    const selling = openDatabase(from.address)
    await selling.first('SELECT 1 AS one')
    const moving = { ...work(), goneWithinMs: 0 }
    expect(await failing(move(configOfTestDatabase(engine, from, key), to.folder, moving))).toContain('Stop')
    await selling.close()
    expect(existsSync(to.address)).toBeFalse()
    await Promise.all([from.remove(), to.remove()])
  })
})
