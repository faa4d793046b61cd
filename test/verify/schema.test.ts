import { Database as Sqlite } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { SQL } from 'bun'
import { readMigrations } from '../../src/app/shop/database.ts'
import { at, note, sayFinding } from '../../src/core/finding.ts'
import { createIntegrityVerifier, createSchemaVerifier } from '../../src/db/integrity.ts'
import { openDatabase } from '../../src/db/open.ts'
import { engines, makeTestDatabase, openTestDatabase } from '../harness/database.ts'
import { dumpInto } from '../harness/dump.ts'
import { isLong } from '../harness/scale.ts'

setDefaultTimeout(isLong ? 600_000 : 120_000)

/** Every guard in a long run, every seventh otherwise. */
const sampled = <Item>(items: readonly Item[]): Item[] => items.filter((_, index) => isLong || index % 7 === 0)

type Guard = { readonly name: string; readonly drop: string }

async function guardsOf(engine: 'sqlite' | 'postgres', address: string): Promise<Guard[]> {
  if (engine === 'sqlite') {
    const file = new Sqlite(address, { readonly: true })
    const rows = file
      // Views come last: dropping a view drops its triggers.
      .query(
        `SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'index', 'view') AND sql IS NOT NULL ORDER BY type`,
      )
      .all() as { type: string; name: string }[]
    file.close()
    return rows.map(({ type, name }) => ({ name: `${type} ${name}`, drop: `DROP ${type} ${name}` }))
  }
  const sql = new SQL(address, { max: 1 })
  const guards = (await sql.unsafe(
    `SELECT 'trigger ' || tgname || ' of ' || relname AS name,
       'ALTER TABLE ' || relname || ' DISABLE TRIGGER ' || tgname AS drop
     FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE NOT tgisinternal
     UNION ALL SELECT 'constraint ' || conname || ' of ' || relname, 'ALTER TABLE ' || relname || ' DROP CONSTRAINT ' || conname
     FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
     WHERE contype IN ('c', 'u', 'f') AND connamespace = 'public'::regnamespace
     UNION ALL SELECT 'index ' || indexname, 'DROP INDEX ' || indexname FROM pg_indexes
     WHERE schemaname = 'public' AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = indexname) ORDER BY 1`,
  )) as Guard[]
  await sql.close()
  return guards
}

describe.each([...engines])('the schema on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
  })
  afterAll(() => opened.close())

  const wrong = async (): Promise<string[]> => {
    const { findings } = await createSchemaVerifier({ db: opened.db, migrations: readMigrations }).verify()
    return findings.map((each) => `${sayFinding(each).where}: ${each.reason}`)
  }

  test('verify finds no schema difference after ANALYZE', async () => {
    await opened.db.transact((tx) => tx.run('ANALYZE'))
    expect(await wrong()).toEqual([])
  })

  test('verify names each dropped trigger, constraint, index and view, and an added rule or trigger', async () => {
    expect(await wrong()).toEqual([])
    const guards = await guardsOf(engine, opened.testDatabase.address)
    expect(guards.length).toBeGreaterThan(50)
    for (const { name, drop } of sampled(guards)) {
      await opened.db.transact((tx) => tx.run(drop))
      expect((await wrong()).filter((each) => each.startsWith(`${name}: `))).toHaveLength(1)
    }
    const before = await wrong()
    await opened.db.transact(async (tx) => {
      if (engine === 'sqlite') {
        await tx.run('CREATE TRIGGER quiet BEFORE INSERT ON postings BEGIN SELECT RAISE(IGNORE); END')
        return
      }
      await tx.run('CREATE RULE quiet AS ON INSERT TO postings DO INSTEAD NOTHING')
    })
    expect((await wrong()).filter((each) => !before.includes(each))).toEqual([
      engine === 'sqlite' ? 'trigger quiet: part_unknown' : 'rule quiet of postings: part_unknown',
    ])
  })
})

describe('a database that pg_restore has made from a dump of pg_dump', () => {
  test('verify finds no schema difference after pg_dump and pg_restore, and names 1 weakened constraint', async () => {
    const opened = await openTestDatabase('postgres')
    const copy = await makeTestDatabase('postgres')
    await dumpInto(opened.testDatabase.address, copy.address)
    const db = openDatabase(copy.address)
    const wrong = async () =>
      (await createSchemaVerifier({ db, migrations: readMigrations }).verify()).findings.map((each) => each.where)
    expect(await wrong()).toEqual([])
    await db.transact(async (tx) => {
      await tx.run('ALTER TABLE token_spending DROP CONSTRAINT token_spending_spent_check')
      await tx.run('ALTER TABLE token_spending ADD CONSTRAINT token_spending_spent_check CHECK (spent >= -1)')
    })
    expect(await wrong()).toEqual([at('named', { name: 'constraint token_spending_spent_check of token_spending' })])
    await db.close()
    await copy.remove()
    await opened.close()
  })
})

describe('a PostgreSQL user without the right to create a schema', () => {
  test('verify notes that the schema was not compared without the right to create one, and checks the constraints', async () => {
    const opened = await openTestDatabase('postgres')
    const role = `clerk_${Math.random().toString(36).slice(2)}`
    const url = new URL(opened.testDatabase.address)
    await opened.db.transact(async (tx) => {
      await tx.run(`CREATE ROLE ${role} LOGIN PASSWORD 'clerk'`)
      await tx.run(`GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO ${role}`)
    })
    Object.assign(url, { username: role, password: 'clerk' })
    const db = openDatabase(url.href)
    // The expected schema of the same migrations is cached by the tests above, so this text differs.
    const migrations = () => readMigrations().map((each) => ({ ...each, text: `${each.text}\n-- unseen` }))
    const audit = await createSchemaVerifier({ db, migrations }).verify()
    expect(audit).toEqual({ findings: [], covered: {}, notes: [note('schema_not_compared')] })
    const whole = createIntegrityVerifier({ db, migrations })
    const before = await whole.verify()
    expect(before.findings).toEqual([])
    expect(before.covered['constraints']).toBeGreaterThan(50)
    await opened.db.transact(async (tx) => {
      await tx.run('SET LOCAL session_replication_role = replica')
      await tx.run(`INSERT INTO tokens (id, customer_id, digest, hint, name, scopes, allowed_from, created_at)
        VALUES ('tok', 'nobody', '\\x00', 'h', 'n', '', '', 1)`)
    })
    const { findings } = await whole.verify()
    expect(findings.map((each) => each.where)).toContainEqual(
      at('constraint', { table: 'tokens', name: 'tokens_customer_id_fkey' }),
    )
    await db.close()
    await opened.db.transact((tx) => tx.run(`DROP OWNED BY ${role}`))
    await opened.db.transact((tx) => tx.run(`DROP ROLE ${role}`))
    await opened.close()
  })
})

describe('an edited SQLite schema', () => {
  test('verify names a table whose constraint was erased from the schema text', async () => {
    const opened = await openTestDatabase('sqlite')
    await opened.db.close()
    // The schema is plain text in the file.
    const bytes = readFileSync(opened.testDatabase.address)
    const start = bytes.indexOf('CHECK (spent >= 0)')
    bytes.fill(' ', start, start + 'CHECK (spent >= 0)'.length)
    writeFileSync(opened.testDatabase.address, bytes)
    const db = openDatabase(opened.testDatabase.address)
    const { findings } = await createSchemaVerifier({ db, migrations: readMigrations }).verify()
    expect(findings.map((each) => each.where)).toEqual([at('named', { name: 'table token_spending' })])
    await db.close()
    await opened.testDatabase.remove()
  })
})
