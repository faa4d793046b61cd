import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { refusalOf } from '../../test/harness/failure.ts'
import { type Postgres, startPostgres } from '../../test/harness/postgres.ts'
import { untilTrue } from '../../test/harness/turnpike.ts'
import { until } from '../../test/harness/until.ts'
import type { Refusal } from '../core/refusal.ts'
import { answersWithinMs, isReachable } from './open.ts'
import { shippedLimits } from './pool.ts'
import { openPostgres } from './postgres.ts'
import { Silence } from './silence.ts'
import type { Database } from './transaction.ts'

/** Counted in ticks of 250 ms that the test makes, so that a slow machine does not look like a hung server. */
const limits = { ...shippedLimits, poolWaitMs: 300, silentMs: 1_000 }
const unavailable = { kind: 'unavailable', code: 'unavailable' }

test('the shipped limits refuse a request to a silent database before the HTTP idle timeout of 30 s', () => {
  const { poolWaitMs, silentMs, statementMs } = shippedLimits
  expect(silentMs).toBeGreaterThan(statementMs)
  // A caller whose connection is refused waits once more, for the connection of another caller.
  expect(2 * poolWaitMs + silentMs).toBeLessThan(30_000)
})

describe('a hung PostgreSQL server', () => {
  let server: Postgres
  let db: Database
  let watcher: Database
  let tick: () => void
  const silence = new Silence((_, act) => {
    tick = act
    return () => {}
  })
  /** While the server hangs: ticks until the work is refused. */
  const refusedIn = async (work: Promise<unknown>): Promise<Refusal> => {
    let isOver = false
    const refusal = refusalOf(work).finally(() => {
      isOver = true
    })
    await until(() => {
      tick()
      return isOver
    })
    return refusal
  }
  beforeAll(async () => {
    server = await startPostgres({ own: true })
    db = openPostgres(server.url, 3, limits, silence)
    watcher = openPostgres(server.url, 1)
    await db.transact((tx) => tx.run('CREATE TABLE things (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)'))
  })
  afterEach(() => server.resume())
  afterAll(async () => {
    await db.close()
    await watcher.close()
    await server.stop()
  })
  const add = (id: number) => db.transact((tx) => tx.run('INSERT INTO things VALUES ($1, 1)', [id]))
  const isThere = async (id: number) => (await watcher.all('SELECT 1 FROM things WHERE id = $1', [id])).length === 1
  const isBack = () => untilTrue(() => isReachable(db))
  const untilFew = () =>
    untilTrue(async () => {
      const found = await watcher.first<{ n: bigint }>(
        `SELECT COUNT(*) AS n FROM pg_stat_activity WHERE application_name = 'turnpike' AND pid <> pg_backend_pid()`,
      )
      return Number(found?.n) <= 3
    })

  test('reads and transactions are refused as unavailable while PostgreSQL hangs, and work again afterwards', async () => {
    await Promise.all([add(1), db.first('SELECT 1 AS one')])
    server.hang()
    const refused = await Promise.all([
      ...Array.from({ length: 4 }, () => refusedIn(db.first('SELECT 1 AS one'))),
      ...Array.from({ length: 6 }, (_, index) => refusedIn(add(10 + index))),
    ])
    for (const each of refused) expect(each).toMatchObject(unavailable)
    server.resume()
    expect(await isBack()).toBeTrue()
    await add(2)
    expect(await isThere(2)).toBeTrue()
    expect(await untilFew()).toBeTrue()
  })

  test('no caller gets the answer to another caller’s statement after a hang of PostgreSQL', async () => {
    server.hang()
    const late = Promise.all(
      Array.from({ length: 6 }, (_, n) => refusedIn(db.transact((tx) => tx.first('SELECT $1 AS n', [`old ${n}`])))),
    )
    const lateReads = Promise.all(Array.from({ length: 6 }, (_, n) => refusedIn(db.first('SELECT $1 AS n', [`o${n}`]))))
    await Promise.all([late, lateReads])
    server.resume()
    await isBack()
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        n % 2 === 0
          ? db.first<{ n: string }>('SELECT $1 AS n', [`new ${n}`])
          : db.transact((tx) => tx.first<{ n: string }>('SELECT $1 AS n', [`new ${n}`])),
      ),
    )
    expect(answers.map((each) => each?.n)).toEqual(Array.from({ length: 60 }, (_, n) => `new ${n}`))
  })

  test('a hang of PostgreSQL rolls an open transaction back, and only its repetition has an effect', async () => {
    const inside = Promise.withResolvers<void>()
    const hung = Promise.withResolvers<void>()
    const cut = db.transact(async (tx) => {
      await tx.run('INSERT INTO things VALUES (20, 1)')
      inside.resolve()
      await hung.promise
      await tx.run('UPDATE things SET n = n + 1 WHERE id = 20')
    })
    await inside.promise
    server.hang()
    hung.resolve()
    expect(await refusedIn(cut)).toMatchObject(unavailable)
    server.resume()
    await isBack()
    const once = () =>
      db.transact((tx) => tx.run('INSERT INTO things VALUES (20, 2) ON CONFLICT (id) DO UPDATE SET n = 2'))
    await once()
    expect(await watcher.all('SELECT n FROM things WHERE id = 20')).toEqual([{ n: 2n }])
  })

  test('transactLong() survives a hang of PostgreSQL in which reads are refused', async () => {
    const inside = Promise.withResolvers<void>()
    const readsGaveUp = Promise.withResolvers<void>()
    const job = db.transactLong(async (tx) => {
      await tx.run('INSERT INTO things VALUES (30, 1)')
      inside.resolve()
      await readsGaveUp.promise
      await tx.run('UPDATE things SET n = 2 WHERE id = 30')
    })
    await inside.promise
    server.hang()
    await Promise.all([1, 2, 3].map(() => refusedIn(db.first('SELECT 1 AS one'))))
    server.resume()
    readsGaveUp.resolve()
    await job
    expect(await watcher.all('SELECT n FROM things WHERE id = 30')).toEqual([{ n: 2n }])
    expect(await untilFew()).toBeTrue()
  })

  test('one refused query after a hang of PostgreSQL replaces all 3 idle connections', async () => {
    const pids = async () => {
      const rows = await Promise.all(
        [1, 2, 3].map(() => db.transact((tx) => tx.first<{ pid: number }>('SELECT pg_backend_pid() AS pid'))),
      )
      return rows.map((row) => Number(row?.pid))
    }
    const old = await pids()
    server.hang()
    expect(await refusedIn(db.first('SELECT 1 AS one'))).toMatchObject(unavailable)
    server.resume()
    expect((await pids()).filter((pid) => old.includes(pid))).toEqual([])
  })

  test('isReachable returns false for a hung PostgreSQL, sooner than a caller stops waiting for a connection', async () => {
    expect(answersWithinMs).toBeLessThan(shippedLimits.poolWaitMs)
    server.hang()
    expect(await isReachable(watcher, 50)).toBeFalse()
    server.resume()
    expect(await untilTrue(() => isReachable(watcher))).toBeTrue()
  })

  test('a statement that PostgreSQL cancels at its statement timeout is refused with the error 57014', async () => {
    const own = openPostgres(server.url, 1, { ...shippedLimits, statementMs: 50 })
    const slow = await refusalOf(own.transact((tx) => tx.run('SELECT pg_sleep(60)')))
    expect(slow).toMatchObject(unavailable)
    expect((slow.cause as { errno?: string }).errno).toBe('57014')
    await own.close()
  })

  test('a transaction of 39 ticks is not refused as silent when each statement is answered within 3 ticks', async () => {
    const tickThrice = () => [1, 2, 3].forEach(() => tick())
    const many = await db.transact(async (tx) => {
      for (let round = 0; round < 13; round += 1) {
        const query = tx.run('SELECT 1')
        tickThrice()
        await query
      }
      return 'done'
    })
    expect(many).toBe('done')
  })
})
