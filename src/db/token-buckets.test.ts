import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../test/harness/clock.ts'
import { makeTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { readMigrations } from '../app/shop/database.ts'
import { prefetchTokenBuckets, type SharedTokenBuckets } from '../core/token-buckets.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { deleteFullBuckets, openTokenBuckets } from './token-buckets.ts'
import type { Database } from './transaction.ts'

/** A refill of one token per hour, so that no token is added while a test runs. */
const rate = { perSecond: 1 / 3600, burst: 200 }

describe('token buckets of several shops', () => {
  let testDatabase: TestDatabase
  let shops: Database[]
  beforeAll(async () => {
    testDatabase = await makeTestDatabase('postgres')
    shops = Array.from({ length: 3 }, () => openDatabase(testDatabase.address))
    await migrate(shops[0] as Database, readMigrations())
  })
  afterAll(async () => {
    await Promise.all(shops.map((each) => each.close()))
    await testDatabase.remove()
  })
  const clock = new HandClock()
  const buckets = (purpose: string, of = rate) =>
    shops.map((db) => openTokenBuckets(db, () => clock.nowMs)(purpose, of))

  test('three shops together grant exactly the burst of 200 tokens of a shared bucket', async () => {
    const prefetched = buckets('reads').map((each) => prefetchTokenBuckets(each, rate, () => clock.nowMs))
    const requests = Array.from({ length: 600 }, (_, index) => prefetched[index % 3]?.take('token'))
    const answers = await Promise.all(requests.map(async (each) => each))
    expect(answers.filter((each) => each?.isAllowed)).toHaveLength(rate.burst)
    for (const each of prefetched) expect(await each.take('token')).toMatchObject({ isAllowed: false })
    expect(await prefetched[0]?.take('another')).toEqual({ isAllowed: true, level: rate.burst - 1 })
  })

  test('prefetchTokenBuckets takes a burst of 200 tokens in 20 queries, and refuses from memory when it is empty', async () => {
    const [shared] = buckets('few')
    if (!shared) throw new Error('no bucket')
    let queries = 0
    const counted: SharedTokenBuckets = {
      ...shared,
      take(name, want) {
        queries += 1
        return shared.take(name, want)
      },
    }
    const prefetched = prefetchTokenBuckets(counted, rate, () => clock.nowMs)
    for (let round = 0; round < rate.burst; round += 1)
      expect(await prefetched.take('token')).toMatchObject({ isAllowed: true })
    expect(queries).toBe(20)
    // An empty bucket refuses from memory.
    for (let round = 0; round < 1000; round += 1) await prefetched.take('token')
    expect(queries).toBeLessThanOrEqual(21)
  })

  test('a bucket gives again after 2 refills of 1 h, although the clock of its shops was set back by 300 hours', async () => {
    const [shared] = buckets('set back')
    expect(await shared?.take('token', 5)).toMatchObject({ taken: 5 })
    clock.advance(-300 * 3_600_000)
    expect(await shared?.take('token', 1)).toEqual({ taken: 0, level: 0 })
    clock.advance(2 * 3_600_000)
    expect(await shared?.take('token', 5)).toEqual({ taken: 2, level: 0 })
    clock.advance(298 * 3_600_000)
  })

  test('takeAll takes 150 of 200 shared tokens, and then refuses 100 and takes none', async () => {
    const [first, second] = buckets('all or none')
    expect(await first?.takeAll('customer', 150)).toEqual({ isAllowed: true, level: 50 })
    expect(await second?.takeAll('customer', 100)).toEqual({ isAllowed: false, level: 50 })
    expect(await first?.takeAll('customer', 50)).toEqual({ isAllowed: true, level: 0 })
  })

  test('a shared token bucket refills with time, and every shop can take a token that one shop returned', async () => {
    const fast = { perSecond: 100, burst: 10 }
    const [one, other] = buckets('fast', fast)
    expect((await one?.take('x', 50))?.taken).toBe(10)
    expect((await other?.take('x', 50))?.taken).toBe(0)
    clock.advance(100)
    expect((await other?.take('x', 50))?.taken).toBe(10)
    const [slow, same] = buckets('slow')
    await slow?.take('y', rate.burst)
    await slow?.give('y')
    expect((await same?.take('y', 5))?.taken).toBe(1)
  })

  test('deleteFullBuckets deletes full token buckets and no others', async () => {
    const [one] = buckets('forgotten', { perSecond: 1000, burst: 1 })
    await one?.take('soon full', 1)
    const [slow] = buckets('kept')
    await slow?.take('in use', 5)
    clock.advance(20)
    await deleteFullBuckets(shops[0] as Database, clock.nowMs, 1000)
    const names = await (shops[0] as Database).all<{ name: string }>('SELECT name FROM rate_buckets ORDER BY name')
    const purposes = names.map((each) => each.name.split(' ')[0])
    expect(purposes).toContain('kept')
    expect(purposes).not.toContain('forgotten')
    expect(JSON.stringify(names)).not.toMatch(/in use|soon full/)
  })
})
