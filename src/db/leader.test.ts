import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { untilTrue } from '../../test/harness/turnpike.ts'
import { createLeaders, type Leaders } from './leader.ts'
import { openDatabase } from './open.ts'
import type { Database } from './transaction.ts'

describe('job leaders of several shops on one PostgreSQL', () => {
  let testDatabase: TestDatabase
  let db: Database
  let shops: Leaders[]
  beforeAll(async () => {
    testDatabase = await makeTestDatabase('postgres')
    db = openDatabase(testDatabase.address)
    shops = Array.from({ length: 3 }, () => createLeaders(testDatabase.address))
  })
  afterAll(async () => {
    await Promise.all(shops.map((each) => each.stop()))
    await db.close()
    await testDatabase.remove()
  })

  const leadersOf = async (name: string): Promise<number[]> => {
    const leads = await Promise.all(shops.map((each) => each.leads(name)))
    return leads.flatMap((yes, index) => (yes ? [index] : []))
  }

  test('each job has one leader across repeated calls, and different shops may lead different jobs', async () => {
    const [first = -1, ...more] = await leadersOf('renew proxies')
    expect(more).toEqual([])
    for (let round = 0; round < 3; round += 1) expect(await leadersOf('renew proxies')).toEqual([first])
    const other = (first + 1) % shops.length
    expect(await shops[other]?.leads('forget events')).toBe(true)
    expect(await leadersOf('forget events')).toEqual([other])
    expect(await leadersOf('renew proxies')).toEqual([first])
  })

  test('a shop that loses its connection loses the lead of a job, and the next shop that requests it gets it', async () => {
    const [leader = -1] = await leadersOf('lapse leases')
    await db.all(
      `SELECT CAST(pg_terminate_backend(pid) AS TEXT) AS ended FROM pg_locks
       WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    const next = (leader + 1) % shops.length
    // The first query on the cut connection reports the loss.
    for (const shop of shops) await shop.leads('nothing').catch(() => false)
    expect(await shops[next]?.leads('lapse leases')).toBe(true)
    expect(await shops[leader]?.leads('lapse leases')).toBe(false)
  })

  test('a shop that stops releases the lead of a job to another shop', async () => {
    const [leader = -1] = await leadersOf('expire traffic')
    await shops[leader]?.stop()
    shops = shops.filter((_, index) => index !== leader)
    // The server releases the lock some time after the connection has ended.
    expect(await untilTrue(async () => (await leadersOf('expire traffic')).length === 1)).toBe(true)
  })

  test('the server drops a connection whose client is silent for 10 s and leaves 3 probes of 5 s without an answer', async () => {
    // SHOW reads the values from the server's socket.
    for (const [name, value] of [
      ['tcp_keepalives_idle', '10'],
      ['tcp_keepalives_interval', '5'],
      ['tcp_keepalives_count', '3'],
      ['tcp_user_timeout', '25000'],
    ] as const) {
      expect(await db.first(`SHOW ${name}`)).toEqual({ [name]: value })
    }
  })

  test('a shop on a SQLite file always leads every job', async () => {
    expect(await createLeaders(undefined).leads('renew proxies')).toBe(true)
  })
})
