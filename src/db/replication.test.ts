import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Detour } from '../../test/harness/detour.ts'
import { refusalOf } from '../../test/harness/failure.ts'
import { freePort } from '../../test/harness/gateway.ts'
import { joinNode, reportOf } from '../../test/harness/node.ts'
import { type Postgres, startPostgres } from '../../test/harness/postgres.ts'
import { startService } from '../../test/harness/service.ts'
import { untilTrue } from '../../test/harness/turnpike.ts'
import { until } from '../../test/harness/until.ts'
import { addCustomer, buy, wire } from '../../test/harness/wired.ts'
import { readMigrations } from '../app/shop/database.ts'
import type { CustomerId } from '../core/ids.ts'
import { migrate } from './migrate.ts'
import { shippedLimits } from './pool.ts'
import { openPostgres } from './postgres.ts'
import { onStandby, withReadStandby } from './read-standby.ts'
import { readReplication } from './replication.ts'
import { Silence } from './silence.ts'
import type { Database } from './transaction.ts'

const size = 8
/** 8 connections without the 2 that are kept for reads. */
const writers = 6
/** Each commit is confirmed, and no confirmation is too slow for a busy machine. */
const limits = { ...shippedLimits, poolWaitMs: 1_000, commitMs: 1_000, trustedCommitMs: -1, confirmMs: 600_000 }
const isCommitted = 'SELECT n FROM things WHERE id = $1'
const isUnconfirmed = { reason: 'database_unavailable', params: { problem: 'unconfirmed' } }
const isStalled = { reason: 'database_unavailable', params: { problem: 'stalled' } }

describe('a PostgreSQL server with a synchronous standby', () => {
  let primary: Postgres
  let standby: Postgres
  /** Not limited by the standby. */
  let watcher: Bun.SQL
  let db: Database
  let tick: () => void
  let customer: CustomerId
  beforeAll(async () => {
    const settings = ['synchronous_commit=on', 'wal_sender_timeout=0']
    primary = await startPostgres({ own: true, settings })
    standby = await startPostgres({ own: true, standbyOf: primary })
    watcher = new Bun.SQL(primary.url, { max: 1 })
    const plain = openPostgres(primary.url)
    await migrate(plain, readMigrations())
    await plain.transact((tx) => tx.run('CREATE TABLE things (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)'))
    customer = await addCustomer(wire(plain), 1_000n)
    await watcher.unsafe('CREATE ROLE plain LOGIN')
    await plain.close()
    await watcher.unsafe(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
    await watcher.unsafe('SELECT pg_reload_conf()')
    await untilTrue(async () => (await ask(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).length === 1)
  })
  beforeEach(() => {
    db = openOther()
  })
  afterEach(async () => {
    standby.resume()
    await db.close()
  })
  afterAll(async () => {
    await watcher.close()
    await standby.stop()
    await primary.stop()
  })

  const ask = async (sql: string): Promise<Record<string, unknown>[]> => watcher.unsafe(sql)
  const askStandby = async (sql: string): Promise<void> => {
    const own = new Bun.SQL(standby.url, { max: 1 })
    await own.unsafe(sql)
    await own.close()
  }
  const waiting = async () => (await ask(`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)).length
  const untilWaiting = (count: number) => untilTrue(async () => (await waiting()) === count)
  const cancelWaiting = () => ask(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
  const add = (id: number, on = db) => on.transact((tx) => tx.run('INSERT INTO things VALUES ($1, 1)', [id]))
  const isThere = async (id: number) => (await ask(`SELECT 1 FROM things WHERE id = ${id}`)).length === 1
  const tickUntilOver = async (work: Promise<unknown>): Promise<void> => {
    let isOver = false
    const end = () => {
      isOver = true
    }
    work.then(end, end)
    await until(() => {
      tick()
      return isOver
    })
  }
  /** The refusal of work whose commit waits. The clock moves only then: no other limit depends on the machine. */
  const refusedIn = async (work: Promise<unknown>) => {
    const refusal = refusalOf(work)
    await untilWaiting(1)
    await tickUntilOver(refusal)
    return refusal
  }
  /** Another shop, which has no waiting commit of its own. From now on the ticks are its own. */
  const openOther = (connections = size, url = primary.url) => {
    const silence = new Silence((_, act) => {
      tick = act
      return () => {}
    })
    return openPostgres(url, connections, limits, silence)
  }
  const isDone = (work: Promise<unknown>): Promise<boolean> =>
    work.then(
      () => true,
      () => false,
    )

  test('a commit that no standby confirms within its limit is refused as unconfirmed, and is there when the standby is back', async () => {
    standby.hang()
    expect(await refusedIn(add(1))).toMatchObject(isUnconfirmed)
    standby.resume()
    expect(await untilTrue(() => isThere(1))).toBeTrue()
    await add(2)
    expect(await isThere(2)).toBeTrue()
  })

  test('40 purchases on 8 connections leave 6 waiting commits and 2 connections for reads, and later ones are refused at once', async () => {
    standby.hang()
    const commits = Array.from({ length: 40 }, (_, index) => refusalOf(add(100 + index)))
    await untilWaiting(writers)
    expect(await db.first(isCommitted, [100])).toBeUndefined()
    await tickUntilOver(Promise.all(commits))
    const problems = (await Promise.all(commits)).map(({ params }) => (params as { problem: string }).problem)
    expect(problems.filter((problem) => problem === 'unconfirmed')).toHaveLength(writers)
    // Without a tick: it does not wait for a connection.
    expect(await refusalOf(add(99))).toMatchObject(isStalled)
    expect(await db.all('SELECT 1 AS one')).toHaveLength(1)
    const connections = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'turnpike'`
    expect((await ask(connections)).length).toBeLessThanOrEqual(size)
    standby.resume()
    await untilWaiting(0)
    expect(await untilTrue(() => isDone(add(99)))).toBeTrue()
  })

  test('a commit whose wait for the standby is cancelled is refused as unconfirmed, although the server answers success', async () => {
    standby.hang()
    const commit = refusalOf(add(200))
    await untilWaiting(1)
    await cancelWaiting()
    await untilTrue(() => isThere(200))
    await untilWaiting(1)
    // The proof is cancelled too. Without a tick: the positions of the standbys show that it proves nothing.
    await cancelWaiting()
    expect(await commit).toMatchObject(isUnconfirmed)
  })

  test('a role that may not see the standbys trusts a cancelled commit only if its second commit is quick', async () => {
    await ask('GRANT ALL ON things TO plain')
    const url = primary.url.replace('turnpike@', 'plain@')
    const silence = new Silence((_, act) => {
      tick = act
      return () => {}
    })
    const hidden = openPostgres(url, 1, { ...limits, confirmMs: -1 }, silence)
    await untilWaiting(0)
    standby.hang()
    const commit = refusalOf(add(250, hidden))
    await untilWaiting(1)
    await cancelWaiting()
    await untilTrue(() => isThere(250))
    await untilWaiting(1)
    await cancelWaiting()
    expect(await commit).toMatchObject(isUnconfirmed)
    await hidden.close()
  })

  test('a replay under an idempotency key is refused while its purchase is on the primary only, and is answered later', async () => {
    const services = wire(db)
    await buy(services, { customer, token: null }, 10n, { key: 'before' })
    standby.hang()
    const first = refusalOf(buy(services, { customer, token: null }, 30n, { key: 'once' }))
    await untilWaiting(1)
    await cancelWaiting()
    const isVisible = async () => (await ask(`SELECT 1 FROM orders WHERE price = 30`)).length === 1
    expect(await untilTrue(isVisible)).toBeTrue()
    await untilWaiting(1)
    await tickUntilOver(first)
    expect(await first).toMatchObject(isUnconfirmed)
    await cancelWaiting()
    await untilWaiting(0)
    const other = openOther()
    const replay = buy(wire(other), { customer, token: null }, 30n, { key: 'once' })
    expect(await refusedIn(replay)).toMatchObject(isUnconfirmed)
    await cancelWaiting()
    await untilWaiting(0)
    // A transaction that takes no lock waits as well.
    expect(await refusedIn(other.transact((tx) => tx.first('SELECT 1 AS one')))).toMatchObject(isUnconfirmed)
    standby.resume()
    const again = await buy(wire(other), { customer, token: null }, 30n, { key: 'once' })
    expect(again.replayed).toBeTrue()
    expect(await ask('SELECT balance::text FROM accounts WHERE balance = 960')).toHaveLength(1)
    await other.close()
  })

  test('a crash of the primary shows a commit that no standby has, and a transaction that only reads it is refused', async () => {
    standby.hang()
    const cut = refusalOf(add(300))
    await untilWaiting(1)
    const [row] = await ask(`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
    process.kill(Number(row?.['pid']), 'SIGKILL')
    expect(await cut).toMatchObject({ reason: 'database_unavailable', params: { problem: 'late' } })
    await watcher.close()
    watcher = new Bun.SQL(primary.url, { max: 1 })
    expect(await untilTrue(() => isThere(300).catch(() => false))).toBeTrue()
    expect(await refusedIn(db.transact((tx) => tx.first(isCommitted, [300])))).toMatchObject(isUnconfirmed)
    standby.resume()
    expect(await untilTrue(() => isDone(db.transact((tx) => tx.first(isCommitted, [300]))))).toBeTrue()
  })

  test('a waiting commit whose server process is gone without a word gives its connection back', async () => {
    const { port } = new URL(primary.url)
    const detour = new Detour(freePort(), Number(port))
    await detour.open()
    const away = openOther(1, primary.url.replace(port, String(detour.port)))
    await away.transact((tx) => tx.first('SELECT 1 AS one'))
    standby.hang()
    expect(await refusedIn(add(400, away))).toMatchObject(isUnconfirmed)
    detour.freeze()
    await ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
    standby.resume()
    await untilWaiting(0)
    const again = untilTrue(() => isDone(add(401, away)))
    await tickUntilOver(again)
    expect(await again).toBeTrue()
    await away.close()
    await detour.close()
  })

  test('the state of the replication names the standby, its slot and the commits that wait, to a role that may see them', async () => {
    expect(await readReplication(db)).toMatchObject({
      isSynchronous: true,
      standbys: [{ name: 'standby', state: 'sync', lagBytes: 0 }],
      slots: [],
      waitingCommits: 0,
    })
    await ask(`SELECT pg_create_physical_replication_slot('unread', true)`)
    standby.hang()
    const refused = refusalOf(add(500))
    await untilWaiting(1)
    const found = await readReplication(db)
    expect(found).toMatchObject({ waitingCommits: 1, slots: [{ name: 'unread', isRead: false }] })
    expect(found.standbys[0]?.lagBytes).toBeGreaterThan(0)
    const plain = openPostgres(primary.url.replace('turnpike@', 'plain@'), 1)
    expect((await readReplication(plain)).standbys).toMatchObject([{ state: null, lagBytes: null }])
    await plain.close()
    standby.resume()
    expect(await isDone(refused)).toBeFalse()
    await ask(`SELECT pg_drop_replication_slot('unread')`)
  })

  test('a list is read from the standby with what was committed before it, and from the primary while the standby is behind', async () => {
    const reads = openPostgres(standby.url, 2, limits, new Silence())
    let now = 0
    const both = withReadStandby(db, reads, { now: () => now, sleep: async () => {} })
    const isStandby = 'SELECT pg_is_in_recovery() AS is_standby'
    const list = (id: number) =>
      onStandby(async () => {
        const found = await both.first<{ is_standby: boolean }>(isStandby)
        return { is_standby: found?.is_standby, rows: (await both.all(isCommitted, [id])).length }
      })
    // No test may depend on how soon the standby replays: until it has, the primary answers.
    const untilStandby = (id: number) =>
      untilTrue(async () => {
        now += 10_000
        const found = await list(id)
        expect(found.rows).toBe(1)
        return found.is_standby === true
      })
    await both.transact((tx) => tx.run('INSERT INTO things VALUES (600, 1)'))
    expect(await untilStandby(600)).toBeTrue()
    expect(await both.first(isStandby)).toEqual({ is_standby: false })
    expect(await onStandby(() => both.snapshot((reader) => reader.first(isStandby)))).toEqual({
      is_standby: true,
    })
    expect(await both.snapshot((reader) => reader.first(isStandby))).toEqual({ is_standby: false })
    await askStandby('SELECT pg_wal_replay_pause()')
    await both.transact((tx) => tx.run('INSERT INTO things VALUES (601, 1)'))
    now += 10_000
    expect(await list(601)).toMatchObject({ is_standby: false, rows: 1 })
    await askStandby('SELECT pg_wal_replay_resume()')
    expect(await list(601)).toMatchObject({ is_standby: false, rows: 1 })
    expect(await untilStandby(601)).toBeTrue()
    expect(both.reads.standby).toBeGreaterThanOrEqual(3)
    expect(both.reads.primary).toBeGreaterThanOrEqual(2)
    await reads.close()
  })

  test('a transaction on a standby is refused as closed, with a new connection for the next one', async () => {
    const away = openOther(1, standby.url)
    const pid = async () => (await away.first<{ pid: number }>('SELECT pg_backend_pid() AS pid'))?.pid
    const before = await pid()
    const write = () => away.transact((tx) => tx.run('INSERT INTO things VALUES (700, 1)'))
    for (const attempt of [write, () => away.transact((tx) => tx.first('SELECT 1 AS one'))])
      expect(await refusalOf(attempt())).toMatchObject({
        reason: 'database_unavailable',
        params: { problem: 'closed' },
      })
    expect(await pid()).not.toBe(before)
    await away.close()
  })

  test('a read that the standby cannot answer is repeated on the primary', async () => {
    const gone = withReadStandby(db, openPostgres('postgres://turnpike@127.0.0.1:1/none', 1), { sleep: async () => {} })
    expect(await onStandby(() => gone.first('SELECT 1 AS one'))).toMatchObject({ one: 1 })
    expect(gone.reads).toEqual({ standby: 0, primary: 1 })
    // A former primary is no standby, however far its log is.
    const other = openOther(1)
    const former = withReadStandby(db, other, { sleep: async () => {} })
    expect(await onStandby(() => former.first('SELECT 1 AS one'))).toMatchObject({ one: 1 })
    expect(former.reads).toEqual({ standby: 0, primary: 1 })
    await other.close()
  })

  test('a new customer reads over HTTP, a node that reports is seen, and a purchase is refused, while no standby confirms', async () => {
    await ask('CREATE DATABASE shop')
    const { href } = new URL('shop', primary.url)
    const settings = { TURNPIKE_DATABASE_URL: href, TURNPIKE_RATE_READS: '600', TURNPIKE_RATE_CHARGES: '600' }
    const shop = await startService('postgres', { ...settings, TURNPIKE_DATABASE_CONNECTIONS: '8' }, undefined, false)
    const node = await joinNode(shop)
    const seenSql = 'SELECT last_seen_at AS at FROM nodes WHERE id = $1'
    const seenAt = async () => (await shop.services.db.first<{ at: bigint }>(seenSql, [node.id]))?.at ?? 0n
    const { token } = await shop.newCustomer(1_000n)
    const other = await shop.newCustomer(1_000n)
    standby.hang()
    // Commits that wait use up all permits of the shop.
    const stalled = Promise.allSettled(
      Array.from({ length: writers }, () => shop.services.db.transact((tx) => tx.first('SELECT 1'))),
    )
    await untilTrue(async () => (await waiting()) >= writers)
    const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
    // 40 reads are more than one prefetch of 30 tokens.
    for (let read = 0; read < 40; read += 1) expect((await shop.get('/balance', { token })).status).toBe(200)
    expect((await shop.get('/dedicated/list', { token: other.token })).status).toBe(200)
    const seenBefore = await seenAt()
    shop.clock.advance(7_000)
    const report = reportOf({ proxies: [{ id: 1, received: 1, sent: 1 }] })
    const buying = shop.post('/dedicated/buy', order, { token, key: 'stalled' })
    // The counts are refused, and the node is there nevertheless.
    expect(await node.ask('POST', 'report', report)).toMatchObject({ status: 503 })
    expect(await seenAt()).toBeGreaterThan(seenBefore)
    expect((await buying).status).toBe(503)
    standby.resume()
    await stalled
    await shop.stop()
  })
})
