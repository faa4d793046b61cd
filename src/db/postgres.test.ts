import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { failureOf, refusalOf } from '../../test/harness/failure.ts'
import { startPostgres } from '../../test/harness/postgres.ts'
import { untilTrue } from '../../test/harness/turnpike.ts'
import { waitLimitMs } from '../../test/harness/until.ts'
import { shippedLimits } from './pool.ts'
import { openPostgres } from './postgres.ts'
import type { Database, Tx } from './transaction.ts'

/** Ends all other connections to the database, as a restart of the server does. */
const endOthers = `
  const sql = new Bun.SQL(process.env.ADDRESS)
  const ended = await sql.unsafe(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
      "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'turnpike'",
  )
  console.log(ended.length)
  await sql.close()
`

describe('PostgreSQL', () => {
  let testDatabase: TestDatabase
  let db: Database
  beforeAll(async () => {
    testDatabase = await makeTestDatabase('postgres')
    db = openPostgres(testDatabase.address)
    await db.transact(async (tx) => {
      await tx.run('CREATE TABLE things (id TEXT PRIMARY KEY, amount BIGINT NOT NULL)')
      await tx.run(`INSERT INTO things VALUES ('a', 0), ('b', 0)`)
    })
  })
  afterAll(async () => {
    await db.close()
    await testDatabase.remove()
  })

  test('a read, a snapshot and a transaction are refused with database_unavailable while a table is missing', async () => {
    const sql = 'SELECT COUNT(*) AS n FROM dropped_by_a_restore'
    for (const read of [
      () => db.all(sql),
      () => db.first(sql),
      () => db.snapshot((reader) => reader.first(sql)),
      () => db.transact((tx) => tx.first(sql)),
    ]) {
      expect(await refusalOf(read())).toMatchObject({ reason: 'database_unavailable', params: { problem: 'changed' } })
    }
  })

  test('a read and a transaction are refused with database_unavailable while the database does not exist', async () => {
    const url = new URL(testDatabase.address)
    url.pathname = '/dropped_by_a_restore'
    const dropped = openPostgres(url.href)
    const sql = 'SELECT 1 AS one'
    for (const read of [() => dropped.first(sql), () => dropped.transact((tx) => tx.first(sql))]) {
      expect(await refusalOf(read())).toMatchObject({ reason: 'database_unavailable', params: { problem: 'missing' } })
    }
    await dropped.close()
  })

  test('a read and a transaction are refused with database_unavailable while the database or the role admits no connection', async () => {
    const name = 'not_admitted'
    const url = new URL(testDatabase.address)
    const own = new Bun.SQL({ url: url.href, max: 1 })
    await own.unsafe(`CREATE DATABASE ${name} ALLOW_CONNECTIONS false`)
    await own.unsafe(`CREATE ROLE ${name} NOLOGIN`)
    await own.unsafe(`CREATE ROLE full_${name} LOGIN CONNECTION LIMIT 0`)
    const closed = new URL(url)
    closed.pathname = `/${name}`
    const barred = new URL(url)
    barred.username = name
    const full = new URL(url)
    full.username = `full_${name}`
    for (const address of [closed.href, barred.href, full.href]) {
      const refusing = openPostgres(address)
      const sql = 'SELECT 1 AS one'
      for (const read of [() => refusing.first(sql), () => refusing.transact((tx) => tx.first(sql))]) {
        expect(await refusalOf(read())).toMatchObject({ reason: 'database_unavailable', params: { problem: 'closed' } })
      }
      await refusing.close()
    }
    await own.unsafe(`DROP DATABASE ${name}`)
    await own.unsafe(`DROP ROLE ${name}, full_${name}`)
    await own.close()
  })

  test('a statement is refused with database_unavailable while its unique constraint is missing, as in a restore', async () => {
    await db.transact((tx) => tx.run('CREATE TABLE half_restored (id TEXT NOT NULL)'))
    const sql = `INSERT INTO half_restored VALUES ('a') ON CONFLICT (id) DO NOTHING`
    for (const write of [
      () => db.transact((tx) => tx.run(sql)),
      () => db.transact(async (tx) => tx.send(sql)),
      () => db.transact((tx) => tx.first(`${sql} RETURNING id`)),
    ]) {
      expect(await refusalOf(write())).toMatchObject({ reason: 'database_unavailable', params: { problem: 'changed' } })
    }
    await db.transact((tx) => tx.run('DROP TABLE half_restored'))
  })

  test('PostgreSQL error 57P03 (starting up or shutting down) is refused as unavailable', async () => {
    const starts = `DO $$ BEGIN RAISE EXCEPTION 'starting up' USING ERRCODE = '57P03'; END $$`
    expect((await refusalOf(db.transact((tx) => tx.run(starts)))).code).toBe('unavailable')
  })

  test('a snapshot on PostgreSQL has a statement timeout of 30 min, and a later transaction one of 15 s', async () => {
    const limits = `SELECT current_setting('statement_timeout') AS run,
      current_setting('idle_in_transaction_session_timeout') AS rest`
    expect(await db.snapshot((reader) => reader.first(limits))).toEqual({ run: '30min', rest: '30min' })
    expect(await db.transact((tx) => tx.first(limits))).toEqual({ run: '15s', rest: '15s' })
  })

  /** Deadlock: two transactions each lock one row and then the other's, so PostgreSQL ends one of them. */
  async function deadlock(bump: (tx: Tx, id: string) => Promise<unknown>): Promise<number> {
    const locked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const ended = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const tries = [0, 0]
    const move = async (mine: 0 | 1, first: string, second: string) => {
      const other = mine === 0 ? 1 : 0
      await db.transact(async (tx) => {
        tries[mine] = (tries[mine] ?? 0) + 1
        // The retry waits for the other transaction, so that there is one deadlock only.
        if (tries[mine] > 1) await ended[other].promise
        await tx.run('UPDATE things SET amount = amount + 1 WHERE id = $1', [first])
        locked[mine].resolve()
        await locked[other].promise
        await bump(tx, second)
      })
      ended[mine].resolve()
    }
    await Promise.all([move(0, 'a', 'b'), move(1, 'b', 'a')])
    return (tries[0] ?? 0) + (tries[1] ?? 0)
  }

  test('PostgreSQL errors 53100 (disk full) and 53200 (out of memory) are refused as unavailable', async () => {
    for (const state of ['53100', '53200']) {
      const lack = `DO $$ BEGIN RAISE EXCEPTION 'nothing left' USING ERRCODE = '${state}'; END $$`
      expect((await refusalOf(db.transact((tx) => tx.run(lack)))).code).toBe('unavailable')
    }
  })

  test('two deadlocked transactions both succeed after one retry, each with one effect', async () => {
    const attempts = await deadlock((tx, id) => tx.run('UPDATE things SET amount = amount + 1 WHERE id = $1', [id]))
    expect(attempts).toBe(3)
    expect(await db.all('SELECT id, amount FROM things ORDER BY id')).toEqual([
      { id: 'a', amount: 2n },
      { id: 'b', amount: 2n },
    ])
  })

  test('two transactions deadlocked by unawaited statements both succeed after one retry', async () => {
    const attempts = await deadlock(async (tx, id) => {
      tx.send('UPDATE things SET amount = amount + 1 WHERE id = $1', [id])
      await tx.first('SELECT amount FROM things WHERE id = $1', [id])
    })
    expect(attempts).toBe(3)
    expect(await db.first('SELECT CAST(SUM(amount) AS BIGINT) AS all FROM things')).toEqual({ all: 8n })
  })

  test('60 concurrent transactions succeed on a pool of 2 connections', async () => {
    const small = openPostgres(testDatabase.address, 2)
    const rows = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        small.transact((tx) => tx.first<{ n: bigint }>('SELECT CAST($1 AS BIGINT) AS n', [index])),
      ),
    )
    expect(rows.map((row) => Number(row?.n))).toEqual(Array.from({ length: 60 }, (_, index) => index))
    await small.close()
  })

  test('a connection that PostgreSQL closes is replaced, and only the transaction on it is refused', async () => {
    const own = openPostgres(testDatabase.address, 3)
    const cut = own.transact(async (tx) => {
      const me = await tx.first<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await db.first('SELECT pg_terminate_backend($1::int)', [me?.pid ?? 0])
      await tx.run(`UPDATE things SET amount = 1000 WHERE id = 'a'`)
    })
    expect(await refusalOf(cut)).toMatchObject({ kind: 'unavailable', code: 'unavailable' })
    for (let attempt = 0; attempt < 6; attempt += 1) {
      expect(await own.transact((tx) => tx.first('SELECT 1 AS one'))).toBeDefined()
    }
    expect(await db.first(`SELECT id FROM things WHERE amount = 1000`)).toBeUndefined()
    await own.close()
  })

  test('idle connections that PostgreSQL closes are replaced without a refusal', async () => {
    const own = openPostgres(testDatabase.address, 3)
    const pids = () =>
      Promise.all(
        Array.from({ length: 3 }, () =>
          own.transact(async (tx) => Number((await tx.first<{ pid: number }>('SELECT pg_backend_pid() AS pid'))?.pid)),
        ),
      )
    const old = await pids()
    expect(new Set(old).size).toBe(3)
    for (const pid of old) await db.first('SELECT pg_terminate_backend($1::int)', [pid])
    await untilTrue(
      async () => (await db.all('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [old[2] ?? 0])).length < 1,
    )
    const renewed = await pids()
    expect(renewed.some((pid) => old.includes(pid))).toBeFalse()
    expect(await Promise.all(Array.from({ length: 9 }, () => own.first('SELECT 1 AS one')))).toHaveLength(9)
    await own.close()
  })

  test('a query on a closed connection that the pool has not noticed yet succeeds on another connection', async () => {
    const own = openPostgres(testDatabase.address, 3)
    const use = () =>
      Promise.all([
        own.transact((tx) => tx.run(`UPDATE things SET amount = amount + 1 WHERE id = 'a'`)),
        own.transact((tx) => tx.first('SELECT 1 AS one')),
        own.first('SELECT 1 AS one'),
      ])
    const amount = async () => (await db.first<{ amount: bigint }>(`SELECT amount FROM things WHERE id = 'a'`))?.amount
    await use()
    const before = await amount()
    // spawnSync blocks the event loop, so the pool does not notice the closed connections before its next statement.
    const ended = Bun.spawnSync([process.execPath, '-e', endOthers], {
      env: { ...process.env, ADDRESS: testDatabase.address },
    })
    expect(ended.stdout.toString().trim()).not.toBe('0')
    await use()
    expect(await amount()).toBe((before ?? 0n) + 1n)
    await own.close()
  })

  test('PostgreSQL refuses a write outside of a transaction with the error 25006', async () => {
    const write = db.first(`UPDATE things SET amount = 7 WHERE id = 'a' RETURNING id`)
    expect(await failureOf(write)).toMatchObject({ errno: '25006' })
  })

  test('a transaction on PostgreSQL is applied whole or not at all when its statements are cancelled', async () => {
    const own = openPostgres(testDatabase.address, 8)
    await db.transact((tx) => tx.run(`CREATE TABLE sides (name TEXT PRIMARY KEY, amount BIGINT NOT NULL)`))
    await db.transact((tx) => tx.run(`INSERT INTO sides VALUES ('left', 0), ('right', 0)`))
    let [moves, cancels] = [0, 0]
    const isEnough = (): boolean => moves >= 300 && cancels >= 100
    const move = async (): Promise<void> => {
      while (!isEnough()) {
        const moved = own.transact(async (tx) => {
          await tx.first(`SELECT amount FROM sides WHERE name = 'left' FOR UPDATE`)
          await tx.run(`UPDATE sides SET amount = amount + 1 WHERE name = 'left'`)
          tx.send(`UPDATE sides SET amount = amount - 1 WHERE name = 'right'`)
        })
        await moved.then(
          () => (moves += 1),
          (error: unknown) => expect(error).toMatchObject({ kind: 'unavailable' }),
        )
      }
    }
    const cancel = async (): Promise<void> => {
      const others = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
      while (!isEnough()) {
        await db.transact((tx) => tx.first(others))
        cancels += 1
      }
    }
    await Promise.all([cancel(), ...Array.from({ length: 8 }, move)])
    expect(await db.first('SELECT CAST(SUM(amount) AS BIGINT) AS all, MAX(amount) > 0 AS some FROM sides')).toEqual({
      all: 0n,
      some: true,
    })
    await own.close()
  })

  test('a query whose cached plan is outdated by ALTER TABLE is retried, except in a snapshot', async () => {
    const own = openPostgres(testDatabase.address, 3)
    await db.transact((tx) => tx.run(`CREATE TABLE growing AS SELECT 1 AS one`))
    const look = 'SELECT * FROM growing WHERE one > $1'
    const inMidTransaction = () =>
      own.transact(async (tx) => {
        await tx.run('UPDATE growing SET one = one + 1')
        return tx.first(look, [0])
      })
    const use = () => Promise.all([inMidTransaction(), own.transact((tx) => tx.first(look, [0])), own.first(look, [0])])
    for (const [round, column] of ['two', 'three'].entries()) {
      await use()
      await db.transact((tx) => tx.run(`ALTER TABLE growing ADD COLUMN ${column} TEXT`))
      expect((await use()).map((row) => Object.keys(row as object).length)).toEqual([round + 2, round + 2, round + 2])
    }
    expect(await db.first('SELECT one FROM growing')).toEqual({ one: 5 })
    // A snapshot is not retried: its reader may have side effects.
    let runs = 0
    const copy = () =>
      own.snapshot((reader) => {
        runs += 1
        return reader.first(look, [0])
      })
    await copy()
    await db.transact((tx) => tx.run('ALTER TABLE growing ADD COLUMN four TEXT'))
    await failureOf(copy())
    expect(runs).toBe(2)
    await own.close()
  })

  test('a pool of 6 connections serves all callers on a server that allows 2', async () => {
    await db.transact((tx) => tx.run('CREATE ROLE few LOGIN CONNECTION LIMIT 2'))
    const url = new URL(testDatabase.address)
    url.username = 'few'
    // A long wait for a connection, so that no caller is refused on a slow machine.
    const own = openPostgres(url.href, 6, { ...shippedLimits, poolWaitMs: waitLimitMs })
    const works = (count: number) =>
      Promise.all(Array.from({ length: count }, () => own.transact((tx) => tx.first('SELECT pg_sleep(0.005)'))))
    const reads = (count: number) =>
      Promise.all(Array.from({ length: count }, () => own.first('SELECT COUNT(*) AS n FROM pg_stat_activity')))
    await Promise.all([works(20), reads(20)])
    await Promise.all([works(20), reads(20)])
    await own.close()
    await db.transact((tx) => tx.run('DROP ROLE few'))
  })

  test('closing the database waits for running transactions and refuses new ones', async () => {
    const own = openPostgres(testDatabase.address, 1)
    const begun = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const running = own.transact(async (tx) => {
      await tx.run(`INSERT INTO things VALUES ('while closing', 1)`)
      begun.resolve()
      await finish.promise
    })
    await begun.promise
    const closing = own.close()
    expect(await refusalOf(own.first('SELECT 1 AS one'))).toMatchObject({ kind: 'unavailable' })
    finish.resolve()
    await Promise.all([running, closing])
    expect(await db.first(`SELECT amount FROM things WHERE id = 'while closing'`)).toEqual({ amount: 1n })
  })

  test('an unreachable PostgreSQL server refuses reads, snapshots and transactions as unavailable', async () => {
    const nowhere = openPostgres('postgres://turnpike@127.0.0.1:1/none')
    for (const attempt of [
      () => nowhere.transact(async (tx) => tx.first('SELECT 1 AS one')),
      () => nowhere.snapshot(async (reader) => reader.first('SELECT 1 AS one')),
      () => nowhere.first('SELECT 1 AS one'),
    ]) {
      expect(await refusalOf(attempt())).toMatchObject({ kind: 'unavailable', code: 'unavailable' })
    }
    await nowhere.close()
  })

  test('running and new transactions are refused as unavailable when the PostgreSQL server stops', async () => {
    const server = await startPostgres({ source: 'system' }).catch(() => startPostgres({ source: 'embedded' }))
    const own = openPostgres(server.url)
    expect(await own.transact((tx) => tx.first('SELECT 1 AS one'))).toBeDefined()
    const sleeping = failureOf(own.transact((tx) => tx.run('SELECT pg_sleep(60)')))
    await own.first('SELECT 1 AS one')
    await server.stop()
    expect(await sleeping).toMatchObject({ code: 'unavailable' })
    const after = await Promise.all(
      Array.from({ length: 20 }, () => failureOf(own.transact((tx) => tx.first('SELECT 1 AS one')))),
    )
    for (const failure of after) expect(failure).toMatchObject({ code: 'unavailable' })
    expect(await failureOf(own.first('SELECT 1 AS one'))).toMatchObject({ code: 'unavailable' })
    await own.close()
  })
})
