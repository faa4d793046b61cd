import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Engine, engines, makeTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { failureOf } from '../../test/harness/failure.ts'
import { scaled } from '../../test/harness/scale.ts'
import { readMigrations } from '../app/shop/database.ts'
import { appliedTo, type Migration, migrate, pending, statementsOf } from './migrate.ts'
import { openDatabase } from './open.ts'
import type { Database } from './transaction.ts'

const first: Migration = { name: '0001-first', text: 'CREATE TABLE things (id TEXT PRIMARY KEY);\n' }
const second: Migration = {
  name: '0002-second',
  text: `CREATE TABLE others (id BIGINT PRIMARY KEY);\nINSERT INTO others VALUES (1);\nCREATE TABLE more (id BIGINT);\n`,
}
/** A slow migration, so that a kill hits it between two statements. */
const slow: Migration = {
  name: '0002-slow',
  text: `CREATE TABLE many (i BIGINT);
INSERT INTO many WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT i FROM n;
CREATE INDEX many_i ON many (i);
CREATE TABLE afterwards (id TEXT);
`,
}

/** A migration that never ends, so that every kill hits it in the middle. */
const endlessOn = (engine: Engine): Migration => ({
  name: slow.name,
  text: `${slow.text}CREATE TABLE never AS ${
    engine === 'postgres'
      ? 'SELECT CAST(pg_sleep(3600) AS TEXT) AS i'
      : 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i > 0) SELECT MAX(i) AS i FROM n'
  };
`,
})

const script = `
  const { migrate } = await import(${JSON.stringify(join(import.meta.dir, 'migrate.ts'))})
  const { openDatabase } = await import(${JSON.stringify(join(import.meta.dir, 'open.ts'))})
  const db = openDatabase(process.argv[1])
  console.log('begun')
  const applied = await migrate(db, JSON.parse(process.argv[2]))
  console.log(JSON.stringify(applied))
  await db.close()`

const startProcess = (address: string, migrations: readonly Migration[]) =>
  Bun.spawn([process.execPath, '-e', script, address, JSON.stringify(migrations)], {
    stdout: 'pipe',
    stderr: 'inherit',
  })

describe.each([...engines])('migrations on %s', (engine) => {
  let testDatabase: TestDatabase
  let db: Database
  beforeEach(async () => {
    testDatabase = await makeTestDatabase(engine)
    db = openDatabase(testDatabase.address)
  })
  afterEach(async () => {
    await db.close()
    await testDatabase.remove()
  })
  /** Ends other connections: the server does not notice a dead client while its statement waits. */
  const endOthers = () =>
    db.first(
      `SELECT COUNT(pg_terminate_backend(pid, 60000)) AS n FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    )
  const exists = (table: string) =>
    db.first(`SELECT COUNT(*) AS n FROM ${table}`).then(
      () => true,
      () => false,
    )

  test('migrate applies the shipped schema once, and a second call applies nothing', async () => {
    const shipped = readMigrations()
    expect(await pending(db, shipped)).toEqual(shipped.map((each) => each.name))
    expect(await migrate(db, shipped)).toEqual(shipped.map((each) => each.name))
    expect(await migrate(db, shipped)).toEqual([])
    expect(await pending(db, shipped)).toEqual([])
  })

  test('pending() lists every migration for a database that has only tables of another program', async () => {
    await db.transact((tx) => tx.run('CREATE TABLE strangers (name TEXT)'))
    expect(await pending(db, [first])).toEqual([first.name])
  })

  test('migrate applies new migrations only', async () => {
    await migrate(db, [first])
    await db.transact((tx) => tx.run(`INSERT INTO things VALUES ('kept')`))
    expect(await migrate(db, [first, second])).toEqual(['0002-second'])
    expect(await db.all('SELECT id FROM things')).toEqual([{ id: 'kept' }])
  })

  test('exactly one of three processes that call migrate() at the same time applies each migration', async () => {
    const starters = Array.from({ length: 3 }, () => startProcess(testDatabase.address, [first, second]))
    const outputs = await Promise.all(starters.map((each) => each.stdout.text()))
    expect(await Promise.all(starters.map((each) => each.exited))).toEqual([0, 0, 0])
    const applied = outputs.flatMap((output) => JSON.parse(output.split('\n')[1] ?? '') as string[])
    expect(applied.toSorted()).toEqual(['0001-first', '0002-second'])
    expect(await db.all('SELECT id FROM others')).toEqual([{ id: 1n }])
  })

  test('a migration that is killed in the middle leaves no table behind, and the next migrate() applies it', async () => {
    await migrate(db, [first])
    const kills = Math.max(2, scaled(20))
    const endless = endlessOn(engine)
    for (let kill = 0; kill < kills; kill += 1) {
      const child = startProcess(testDatabase.address, [first, endless])
      await child.stdout.getReader().read()
      await Bun.sleep(20 + ((kill * 37) % 130))
      child.kill('SIGKILL')
      await child.exited
      if (engine === 'postgres') await endOthers()
      expect(await pending(db, [first, endless])).toEqual([endless.name])
      expect([await exists('many'), await exists('afterwards')]).toEqual([false, false])
    }
    await migrate(db, [first, slow])
    expect(await db.first('SELECT COUNT(*) AS n FROM many')).toEqual({ n: 400_000n })
    expect(await exists('afterwards')).toBe(true)
    expect(await pending(db, [first, slow])).toEqual([])
  })

  test('a migration that fails is rolled back and remains pending', async () => {
    const broken: Migration = {
      name: '0002-broken',
      text: 'CREATE TABLE half (id TEXT);\nCREATE TABLE things (id TEXT);\n',
    }
    await migrate(db, [first])
    expect(await failureOf(migrate(db, [first, broken]))).toBeInstanceOf(Error)
    expect(await exists('half')).toBe(false)
    expect(await pending(db, [first, broken])).toEqual(['0002-broken'])
  })

  test('migrate and pending refuse a migration whose text changed after it was applied, and name it', async () => {
    await migrate(db, [first])
    const changed = { ...first, text: `${first.text}-- changed\n` }
    for (const attempt of [() => migrate(db, [changed, second]), () => pending(db, [changed, second])]) {
      expect((await failureOf(attempt())).message).toContain('0001-first is not the text that was applied')
    }
    expect(await exists('others')).toBe(false)
  })

  test('the previous version opens a database with a later additive migration, and refuses to back it up', async () => {
    const adding = { name: '0002-adding', text: 'CREATE TABLE later (id TEXT PRIMARY KEY);\n' }
    await migrate(db, [first, adding])
    expect(await migrate(db, [first])).toEqual([])
    expect(await pending(db, [first])).toEqual([])
    expect(await migrate(db, [first, adding])).toEqual([])
    expect((await failureOf(appliedTo(db, [first]))).message).toContain('0002-adding')
    const changed = { ...adding, text: `${adding.text}-- changed\n` }
    expect((await failureOf(migrate(db, [first, changed]))).message).toContain('0002-adding is not the text')
  })

  test('the previous version refuses a database with a later "contracts" migration and names the remedy', async () => {
    const taking = { name: '0002-taking', text: '-- contracts: 0.3 reads them no more\nDROP TABLE things;\n' }
    await migrate(db, [first, taking])
    const { message } = await failureOf(migrate(db, [first]))
    expect(message).toContain('0002-taking, which this version of Turnpike does not know and cannot run beside')
    expect(message).toContain('start the version that brought it')
  })
})

test('a migration on PostgreSQL has a statement timeout of 30 min, and a later transaction one of 15 s', async () => {
  const testDatabase = await makeTestDatabase('postgres')
  const db = openDatabase(testDatabase.address)
  const limits = `SELECT current_setting('statement_timeout') AS run, current_setting('lock_timeout') AS wait`
  await migrate(db, [{ name: '0001-limits', text: `CREATE TABLE limits AS ${limits};\n` }])
  expect(await db.all('SELECT run, wait FROM limits')).toEqual([{ run: '30min', wait: '30min' }])
  expect(await db.transact((tx) => tx.first(limits))).toEqual({ run: '15s', wait: '5s' })
  await db.close()
  await testDatabase.remove()
})

describe('statementsOf', () => {
  test('statementsOf splits a script at the ends of its statements, and keeps trigger and function bodies whole', () => {
    const text = `-- A comment; with a semicolon.
CREATE TABLE a (
  id TEXT, -- more; text
  other TEXT
);
CREATE TRIGGER t BEFORE UPDATE ON a
BEGIN
  SELECT RAISE(ABORT, 'no');
  SELECT 2;
END;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'no';
END;
$$;
INSERT INTO a VALUES ('1', '2');
`
    const statements = statementsOf(text)
    expect(statements.map((each) => each.split(/\s+/).slice(0, 3).join(' '))).toEqual([
      'CREATE TABLE a',
      'CREATE TRIGGER t',
      'CREATE FUNCTION f()',
      'INSERT INTO a',
    ])
    expect(statements[1]).toContain('SELECT 2;\nEND')
    expect(statements[2]).toContain(`RAISE EXCEPTION 'no';\nEND;\n$$`)
    expect(statements.some((each) => each.includes('--'))).toBe(false)
  })

  test('statementsOf throws for a script that ends in the middle of a statement', () => {
    expect(() => statementsOf('CREATE TABLE a (id TEXT);\nCREATE TABLE b (id TEXT)')).toThrow('in the middle')
    expect(() => statementsOf('CREATE FUNCTION f() AS $$\nBEGIN\nEND;\n')).toThrow('in the middle')
  })

  test('statementsOf returns no statement for a script of comments only', () => {
    expect(statementsOf('\n-- only words\n')).toEqual([])
  })
})
