import { Database as Connection } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmodSync, copyFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { makeTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { refusalOf } from '../../test/harness/failure.ts'
import { inMemory, openSqlite } from './sqlite.ts'
import type { Database } from './transaction.ts'

const nextTick = () => new Promise((resolve) => setImmediate(resolve))

describe('SQLite', () => {
  let testDatabase: TestDatabase
  let db: Database
  beforeEach(async () => {
    testDatabase = await makeTestDatabase('sqlite')
    db = openSqlite(testDatabase.address)
    await db.transact((tx) => tx.run('CREATE TABLE things (id TEXT PRIMARY KEY, amount BIGINT)'))
  })
  afterEach(async () => {
    await db.close()
    await testDatabase.remove()
  })
  const add = (id: string) => db.transact((tx) => tx.run('INSERT INTO things (id, amount) VALUES ($1, 1)', [id]))

  /** Commits as another process sees them: `data_version` changes after a commit. */
  function countCommits(): { read(): number; close(): void } {
    const watcher = new Connection(testDatabase.address, { readonly: true })
    return {
      read: () => (watcher.query('PRAGMA data_version').get() as { data_version: number }).data_version,
      close: () => watcher.close(),
    }
  }

  /** Holds the database's write lock in another process until it is released. */
  async function holdLock() {
    const script = `
      const { Database } = await import('bun:sqlite')
      const held = new Database(process.argv[1])
      held.run('BEGIN IMMEDIATE')
      held.run("INSERT INTO things VALUES ('theirs', 1)")
      console.log('held')
      for await (const _ of Bun.stdin.stream()) break
      held.run('COMMIT')
      held.close()`
    const child = Bun.spawn([process.execPath, '-e', script, testDatabase.address], { stdin: 'pipe', stdout: 'pipe' })
    const { value } = await child.stdout.getReader().read()
    expect(new TextDecoder().decode(value)).toBe('held\n')
    return async () => {
      await child.stdin.write('go\n')
      await child.stdin.end()
      expect(await child.exited).toBe(0)
    }
  }

  const modeOf = (path: string): number => statSync(path).mode & 0o777

  test('20 transactions that began before the file was replaced are refused with database_moved and charged: false, and reads answer', async () => {
    const { address } = testDatabase
    await add('before')
    const held = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const during = db.transact(async (tx) => {
      await tx.run("INSERT INTO things (id, amount) VALUES ('during', 1)")
      started.resolve()
      await held.promise
    })
    await started.promise
    copyFileSync(address, `${address}.copy`)
    renameSync(`${address}.copy`, address)
    for (const suffix of ['-wal', '-shm']) rmSync(address + suffix)
    const refusals = [during, ...Array.from({ length: 19 }, (_, id) => add(String(id)))].map(refusalOf)
    held.resolve()
    for (const refusal of await Promise.all(refusals))
      expect(refusal).toMatchObject({ reason: 'database_moved', kind: 'unavailable', details: { charged: false } })
    expect(await db.findWriteProblem()).toBe('moved')
    expect(await db.all('SELECT id FROM things')).toEqual([{ id: 'before' }])
  })

  test('openSqlite creates the file, -wal and -shm with mode 0600, whatever the umask and the folder mode are', async () => {
    const files = ['', '-wal', '-shm'].map((suffix) => testDatabase.address + suffix)
    expect(files.map(modeOf)).toEqual([0o600, 0o600, 0o600])
    const before = process.umask(0)
    const other = await makeTestDatabase('sqlite')
    try {
      chmodSync(other.folder, 0o777)
      const fresh = openSqlite(other.address)
      await fresh.transact((tx) => tx.run('CREATE TABLE things (id TEXT PRIMARY KEY)'))
      expect(['', '-wal', '-shm'].map((suffix) => modeOf(other.address + suffix))).toEqual([0o600, 0o600, 0o600])
      await fresh.close()
    } finally {
      process.umask(before)
      await other.remove()
    }
  })

  test('an in-memory SQLite database creates no file in the working directory', async () => {
    const other = await makeTestDatabase('sqlite')
    const before = process.cwd()
    process.chdir(other.folder)
    const fresh = openSqlite(inMemory)
    process.chdir(before)
    expect(await fresh.transact((tx) => tx.first('SELECT 1 AS one'))).toEqual({ one: 1n })
    await fresh.close()
    expect(readdirSync(other.folder)).toEqual([])
    await other.remove()
  })

  test('openSqlite changes the mode of an existing file, -wal and -shm from 0666 to 0600', async () => {
    const other = await makeTestDatabase('sqlite')
    writeFileSync(other.address, '')
    for (const suffix of ['', '-wal', '-shm']) {
      writeFileSync(other.address + suffix, '')
      chmodSync(other.address + suffix, 0o666)
    }
    const opened = openSqlite(other.address)
    await opened.transact((tx) => tx.run('CREATE TABLE things (id TEXT PRIMARY KEY)'))
    expect(['', '-wal', '-shm'].map((suffix) => modeOf(other.address + suffix))).toEqual([0o600, 0o600, 0o600])
    await opened.close()
    await other.remove()
  })

  test('a full disk refuses all transactions of a SQLite commit as unavailable, and later ones succeed', async () => {
    const limitTo = (pages: bigint) => db.transact((tx) => tx.first(`PRAGMA max_page_count = ${pages}`))
    const row = await db.first<{ page_count: bigint }>('PRAGMA page_count')
    await limitTo(row?.page_count ?? 0n)
    const large = 'x'.repeat(20_000)
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        refusalOf(db.transact((tx) => tx.run('INSERT INTO things VALUES ($1, 1)', [name + large]))),
      ),
    )
    for (const refusal of outcomes)
      expect([refusal.code, codeOf(refusal.cause)]).toEqual(['unavailable', 'SQLITE_FULL'])
    await limitTo(1_000_000n)
    await add('later')
    expect(await db.all('SELECT id FROM things')).toEqual([{ id: 'later' }])
  })

  test('SQLite runs in WAL mode with synchronous = FULL, so a commit is on disk before it is answered', async () => {
    expect(await db.first('PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' })
    const settings = await db.transact(async (tx) => tx.first<{ synchronous: bigint }>('PRAGMA synchronous'))
    expect(settings).toEqual({ synchronous: 2n })
  })

  test('100 concurrent transactions share fewer than 20 SQLite commits, and each is visible when answered', async () => {
    const commits = countCommits()
    const before = commits.read()
    const watcher = new Connection(testDatabase.address, { readonly: true })
    const find = watcher.query('SELECT id FROM things WHERE id = ?')
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await add(`row-${index}`)
        expect(find.get(`row-${index}`)).toEqual({ id: `row-${index}` })
      }),
    )
    // `data_version` shows only that there was a commit, so the commit frames of the write-ahead log are counted.
    expect(commits.read()).toBeGreaterThan(before)
    expect(await countLoggedCommits(`${testDatabase.address}-wal`)).toBeLessThan(20)
    commits.close()
    find.finalize()
    watcher.close()
  })

  test('10 sequential transactions make 10 SQLite commits', async () => {
    const before = await countLoggedCommits(`${testDatabase.address}-wal`)
    for (let index = 0; index < 10; index += 1) await add(`row-${index}`)
    expect((await countLoggedCommits(`${testDatabase.address}-wal`)) - before).toBe(10)
  })

  test('a transaction waits while another process holds the SQLite write lock, and reads continue', async () => {
    const release = await holdLock()
    let done = false
    const waiting = add('ours').finally(() => {
      done = true
    })
    for (let round = 0; round < 20; round += 1) {
      await nextTick()
      expect(await db.all('SELECT id FROM things')).toEqual([])
    }
    expect(done).toBe(false)
    await release()
    await waiting
    expect(await db.all('SELECT id FROM things ORDER BY id')).toEqual([{ id: 'ours' }, { id: 'theirs' }])
  })

  test('closing a SQLite database waits for 20 running transactions', async () => {
    const began = Array.from({ length: 20 }, (_, index) => add(`row-${index}`))
    await db.close()
    await Promise.all(began)
    db = openSqlite(testDatabase.address)
    expect(await db.all('SELECT id FROM things')).toHaveLength(20)
  })

  test('1,100 different statements work, more than the cache of prepared statements holds', async () => {
    for (let index = 0; index < 1100; index += 1) {
      expect(await db.first(`SELECT ${index} AS n`)).toEqual({ n: BigInt(index) })
    }
  })
})

/**
 * Frames of the write-ahead log whose header names the size of the database: the last of each commit (fileformat2,
 * 4.1).
 */
async function countLoggedCommits(path: string): Promise<number> {
  const log = new DataView(await Bun.file(path).arrayBuffer())
  const pageSize = log.getUint32(8)
  let commits = 0
  for (let at = 32; at + 24 + pageSize <= log.byteLength; at += 24 + pageSize) {
    const ofThisLog = log.getUint32(at + 8) === log.getUint32(16) && log.getUint32(at + 12) === log.getUint32(20)
    if (ofThisLog && log.getUint32(at + 4) !== 0) commits += 1
  }
  return commits
}

const codeOf = (cause: unknown): unknown => (cause instanceof Error && 'code' in cause ? cause.code : cause)
